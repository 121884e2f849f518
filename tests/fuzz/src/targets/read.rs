//! Any bytes as a file: reading ends, and what was read is written so that it reads the same.
#![no_main]

use capstan_fuzz::{can_be_mended, documents, is_a_fixed_point};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let (documents, findings) = documents("a.yaml", text);
    findings.iter().for_each(can_be_mended);
    is_a_fixed_point(&documents);
});
