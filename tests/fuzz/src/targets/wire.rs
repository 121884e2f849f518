//! Any bytes as the answer of a server of git, and as an object in it: reading ends, and what is wrong is said in one line.
#![no_main]

use capstan_fuzz::adapters::git;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let size = bytes.first().map_or(1, |byte| usize::from(*byte));
    git::wire::talk(bytes, size);
    git::objects(bytes, &[]);
});
