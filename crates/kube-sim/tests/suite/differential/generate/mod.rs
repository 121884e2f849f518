//! Sequences at random: one seed, one sequence.

mod built_in;
mod kind;
mod metadata;
mod shapes;
mod steady;
mod step;
mod strategic;
mod things;

use super::sequence::{Step, Verb};
use crate::random::Random;
use kind::KINDS;
use step::Maker;

const VERBS: &[(usize, Verb)] = &[
    (42, Verb::Apply),
    (3, Verb::Create),
    (20, Verb::Replace),
    (14, Verb::Merge),
    (12, Verb::Patch),
    (5, Verb::Delete),
    (1, Verb::Get),
];

/// The sequence of `seed`.
pub(super) fn sequence(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let kind = random.weighed(KINDS);
    if kind.is_built_in() || random.chance(60) {
        random.be_careful();
    }
    let objects: &[&str] = if random.chance(80) {
        &["a"]
    } else {
        &["a", "b"]
    };
    let mut steps = Vec::new();
    for at in 0..5 + random.below(16) {
        let name = *random.pick(objects);
        let verb = match at {
            0 => *random.weighed(&[(6, Verb::Apply), (4, Verb::Create)]),
            _ => *random.weighed(VERBS),
        };
        // Kinds of definitions take no such patch.
        let verb = match verb {
            Verb::Merge | Verb::Patch if kind.is_built_in() && random.chance(60) => Verb::Strategic,
            verb => verb,
        };
        let mut step = Maker::new(&mut random, kind, name).step(verb);
        steady::make(&mut step, kind, at);
        steps.push(step);
    }
    steps
}
