//! Any bytes as a delivery of each forge: reading ends, and nobody is let in.
#![no_main]

use capstan_fuzz::adapters::http::deliver;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| deliver(bytes));
