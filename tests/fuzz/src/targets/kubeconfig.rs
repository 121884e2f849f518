//! Any bytes as a kubeconfig from a Secret: reading ends, runs no program, reads no file, and says nothing of it.
#![no_main]

use capstan_fuzz::adapters::kubernetes::{connect, rewrite};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    connect(text);
    rewrite(text);
});
