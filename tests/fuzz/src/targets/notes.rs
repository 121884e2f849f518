//! Any bytes as a note, and as the directory that notes are in: they are read back, and what others wrote stays when a check
//! is written again.
#![no_main]

use capstan_fuzz::adapters::{checks, git};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    git::notes(bytes, |old| checks::rewritten_twice(old));
    checks::note(&String::from_utf8_lossy(bytes));
});
