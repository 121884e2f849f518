//! The program: everything but its allocator is in the library.

use std::process::ExitCode;

/// JSON and YAML trees are many small allocations, and one thread frees what another allocated. With glibc's
/// allocator that took half of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    capstan::cli::main()
}
