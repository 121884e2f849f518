//! C48: tags that ask for experiments.

use crate::model::Finding;
use crate::rules::arm::{Resource, World};
use crate::rules::duration::seconds;
use crate::rules::version::Version;

const PREFIX: &str = "aro-hcp.experimental.cluster.";

/// C48: an experimental tag is one that Azure knows, with a value that it takes.
/// With the subscription's feature for experiments it is refused otherwise, without it is ignored.
pub(in crate::rules) fn experimental(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let tags = cluster.field("spec.tags");
    let faults = tags.entries().filter_map(|(tag, field)| {
        let name = tag.strip_prefix(PREFIX)?;
        let why = fault(name, field.text().unwrap_or_default())?;
        let finding = field.finding("C48", format!("the tag {tag} {why}"));
        Some(world.of_experiment(finding))
    });
    faults.collect()
}

fn fault(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("single-replica", "" | "SingleReplica") | ("size-override", "" | "Minimal") => None,
        ("single-replica", _) => Some("must be SingleReplica or empty"),
        ("size-override", _) => Some("must be Minimal or empty"),
        ("control-plane-operator-image-override", _) => None,
        ("control-plane-exact-version", version) => Version::parse(version)
            .is_none()
            .then_some("must be a whole version such as 4.20.8"),
        ("max-creation-duration" | "max-deletion-duration", value) => match seconds(value) {
            None => Some("must be a length of time such as 90m or 1h30m"),
            Some(seconds) => (seconds < 60.0).then_some("must be at least 1m"),
        },
        _ => Some("is no experiment that Azure knows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_held_to_what_each_tag_is_for() {
        for (name, value, right) in [
            ("single-replica", "SingleReplica", true),
            ("single-replica", "", true),
            ("single-replica", "yes", false),
            ("size-override", "Minimal", true),
            ("size-override", "Small", false),
            ("control-plane-operator-image-override", "quay.io/x:y", true),
            ("control-plane-exact-version", "4.20.8", true),
            ("control-plane-exact-version", "4.21.0-rc.1", true),
            ("control-plane-exact-version", "4.20", false),
            ("max-creation-duration", "1h30m", true),
            ("max-creation-duration", "1.5h", true),
            ("max-deletion-duration", "1m0s", true),
            ("max-deletion-duration", "59s", false),
            ("max-deletion-duration", "0", false),
            ("max-deletion-duration", "90", false),
            ("max-deletion-duration", "ä", false),
            ("other", "", false),
        ] {
            assert_eq!(fault(name, value).is_none(), right, "{name}: {value}");
        }
    }
}
