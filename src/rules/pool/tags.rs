//! N26: experimental tags of node pools.

use crate::model::{Finding, message};
use crate::rules::arm::{Resource, World};
use crate::rules::duration;

const PREFIX: &str = "aro-hcp.experimental.nodepool.";
const DEADLINE: &str = "max-creation-duration";

/// N26: an experimental tag is a known one with a valid value.
pub(super) fn experimental_tags_are_known(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let tags = pool.field("spec.tags");
    let fault = |(key, value): (&str, crate::rules::arm::Field<'_>)| {
        let name = key.to_lowercase().strip_prefix(PREFIX)?.to_owned();
        if name != DEADLINE {
            let message = message!("unknown experimental tag {key}", key);
            let help = "remove it; the only known experiment is max-creation-duration";
            return Some(value.finding("N26", message).help(help));
        }
        let text = value.text().filter(|text| !text.is_empty())?;
        let long_enough = duration::seconds(text).is_some_and(|seconds| seconds >= 60.0);
        let message = message!("{text:?} is not a duration of at least one minute", text);
        let help = "write a duration such as 90m or 1h30m";
        (!long_enough).then(|| value.finding("N26", message).help(help))
    };
    let faults = tags.entries().filter_map(fault);
    faults.map(|fault| world.of_experiment(fault)).collect()
}
