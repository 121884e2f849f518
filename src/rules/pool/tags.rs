//! N26: tags that try what the service does not promise.

use crate::model::Finding;
use crate::rules::arm::{Resource, World};
use crate::rules::duration;

const PREFIX: &str = "aro-hcp.experimental.nodepool.";
const DEADLINE: &str = "max-creation-duration";

/// N26: an experimental tag of node pools is one that there is, and holds what it is for.
pub(super) fn experimental_tags_are_known(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let tags = pool.field("spec.tags");
    let fault = |(key, value): (&str, crate::rules::arm::Field<'_>)| {
        let name = key.to_lowercase().strip_prefix(PREFIX)?.to_owned();
        if name != DEADLINE {
            let message = format!("there is no experimental tag {key}");
            return Some(value.finding("N26", message));
        }
        let text = value.text().unwrap_or_default();
        let long_enough = duration::seconds(text).is_some_and(|seconds| seconds >= 60.0);
        let message = format!("{text:?} is no time of at least a minute, such as 1h30m");
        (!long_enough).then(|| value.finding("N26", message))
    };
    let faults = tags.entries().filter_map(fault);
    faults.map(|fault| world.of_experiment(fault)).collect()
}
