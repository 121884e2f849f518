//! `cargo bench`: the pure pipeline for 1, 100 and 500 definitions, and the simulated cluster.
//!
//! Divan prints times and, since the allocator is counted, the most memory each run held at once
//! (`max alloc`).

mod generate;
mod pipeline;
mod simulator;

#[global_allocator]
static COUNTED: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}
