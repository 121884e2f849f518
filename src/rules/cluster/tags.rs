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
        let lower = tag.to_lowercase();
        let name = lower.strip_prefix(PREFIX)?;
        let (why, help) = fault(name, field.text().unwrap_or_default())?;
        let finding = field.finding("C48", message!("the tag {tag} {why}", tag));
        Some(world.of_experiment(finding.help(help)))
    });
    faults.collect()
}

/// What is wrong with an experiment, and what to write instead.
fn fault(name: &str, value: &str) -> Option<(&'static str, &'static str)> {
    const KNOWN: &str = "the known experiments are single-replica, size-override, control-plane-operator-image-override, control-plane-exact-version, max-creation-duration, max-deletion-duration and disable-swift";
    match (name, value) {
        ("single-replica", "" | "SingleReplica") | ("size-override", "" | "Minimal") => None,
        ("single-replica", _) => Some(("must be SingleReplica or empty", "write `SingleReplica`")),
        ("size-override", _) => Some(("must be Minimal or empty", "write `Minimal`")),
        ("control-plane-operator-image-override", image) => {
            let is_blank = !image.is_empty() && image.trim().is_empty();
            is_blank.then_some(("is blank", "write an image, or remove the tag"))
        }
        ("control-plane-exact-version", version) => Version::parse_with_build(version)
            .is_none()
            .then_some(("is not a full version", "write a version such as 4.20.8")),
        ("max-creation-duration" | "max-deletion-duration", "") => None,
        ("max-creation-duration" | "max-deletion-duration", value) => match seconds(value) {
            None => Some(("is not a duration", "write a duration such as 90m or 1h30m")),
            Some(seconds) if seconds < 60.0 => Some(("is less than a minute", "write 1m or more")),
            Some(_) => None,
        },
        // C52 checks it.
        ("disable-swift", _) => None,
        _ => Some(("is not a known experiment", KNOWN)),
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
            ("control-plane-exact-version", "4.20.8+build", true),
            ("control-plane-exact-version", "4.20", false),
            ("control-plane-exact-version", "", false),
            ("control-plane-operator-image-override", "", true),
            ("control-plane-operator-image-override", "  ", false),
            ("max-creation-duration", "", true),
            ("max-deletion-duration", "", true),
            ("max-deletion-duration", " ", false),
            ("disable-swift", "yes", true),
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
