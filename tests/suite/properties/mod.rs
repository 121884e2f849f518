//! What holds for every input, tried on inputs at random: the same ones each time, until `CAPSTAN_SEED`
//! sets another number. What fails is made as small as it gets and shown with its seed.

mod merging;
mod reading;
mod rendering;
mod values;

use proptest::prelude::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Holds `property` to `cases` inputs.
#[track_caller]
fn hold<S: Strategy>(
    cases: u32,
    inputs: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let seed = std::env::var("CAPSTAN_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let bytes: Vec<u8> = (0u64..4)
        .flat_map(|at| (seed ^ at << 56).to_le_bytes())
        .collect();
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(inputs, property) {
        panic!("CAPSTAN_SEED={seed}: {failure}");
    }
}
