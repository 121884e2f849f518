//! C48: experimental tags.

use crate::model::{Finding, message};
use crate::rules::arm::{Resource, World};
use crate::rules::duration::seconds;
use crate::rules::version::Version;

const PREFIX: &str = "aro-hcp.experimental.cluster.";

/// C48: an experimental tag is a known one with a valid value. Azure rejects others if the subscription has the
/// feature for experiments, and ignores all of them otherwise.
pub(in crate::rules) fn experimental(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let tags = cluster.field("spec.tags");
    let faults = tags.entries().filter_map(|(tag, field)| {
        let name = tag.strip_prefix(PREFIX)?;
        let why = fault(name, field.text().unwrap_or_default())?;
        let finding = field.finding("C48", message!("the tag {tag} {why}", tag));
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
            .then_some("must be a full version such as 4.20.8"),
        ("max-creation-duration" | "max-deletion-duration", value) => match seconds(value) {
            None => Some("must be a duration such as 90m or 1h30m"),
            Some(seconds) => (seconds < 60.0).then_some("must be at least 1m"),
        },
        _ => Some("is not a known experiment"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tag_has_its_own_values() {
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
