//! C07, N06 and N07: the changes of a version that Azure refuses.
//!
//! In: a version before and after. Out: why Azure refuses the change, and what to write instead. It does not know whose
//! version it is, or whether Azure ever took the one before.

use super::cluster::version::next_major;
use super::data;
use super::version::Minor;

/// A change that Azure refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedUpgrade {
    /// Says what the version does, before `from 4.20 to 4.23`.
    pub(crate) verb: &'static str,
    /// The reason.
    pub(crate) why: &'static str,
    /// What to write instead.
    pub(crate) help: String,
    /// The version is lower than before.
    pub(crate) is_down: bool,
}

const DOWN: &str = "goes down";
const SKIPS: &str = "skips minor versions";
const CROSSES: &str = "changes the major version";

/// Returns why Azure refuses to change the version of a control plane (C07). `None` if it does not, or if one of them is
/// not a version. Azure chooses the patch version, so that does not count.
pub(crate) fn of_control_plane(from: &str, to: &str) -> Option<RefusedUpgrade> {
    let (old, new) = (Minor::read(from)?, Minor::read(to)?);
    let across = next_major((old.major, old.minor)).map(Minor::from);
    if new < old {
        return Some(RefusedUpgrade {
            verb: DOWN,
            why: "Azure never lowers the version of a control plane",
            help: format!("keep \"{old}\""),
            is_down: true,
        });
    }
    let (verb, why, next) = match new.major - old.major {
        0 if new <= old.later(1) => return None,
        0 => (
            SKIPS,
            "Azure upgrades a control plane by one minor version at a time",
            old.later(1),
        ),
        1 if across == Some(new) => return None,
        _ => (
            CROSSES,
            "Azure upgrades a control plane to the next major version from few minor versions, and to one of it",
            across.unwrap_or(old.later(1)),
        ),
    };
    Some(RefusedUpgrade {
        verb,
        why,
        help: format!("write \"{next}\", and go on when the control plane runs it"),
        is_down: false,
    })
}

/// Returns why Azure refuses to change the version of a node pool (N06, N07). `None` if it does not, or if one of them is
/// not a version. Down is allowed, since the nodes are replaced.
pub(crate) fn of_node_pool(from: &str, to: &str) -> Option<RefusedUpgrade> {
    let (old, new) = (Minor::read(from)?, Minor::read(to)?);
    if old.major == new.major && new < old || is_near(old.min(new), old.max(new)) {
        return None;
    }
    let (verb, why, first) = if old.major == new.major {
        let why = "Azure upgrades a node pool by at most two minor versions at a time";
        (SKIPS, why, vec![old.later(1), old.later(2)])
    } else {
        let other = |(low, high): (Minor, Minor)| match new > old {
            true => (high == new).then_some(low),
            false => (low == new).then_some(high),
        };
        let why = "Azure changes the major version of a node pool only between few minor versions";
        (CROSSES, why, pairs().filter_map(other).collect())
    };
    let first: Vec<String> = first.iter().map(ToString::to_string).collect();
    let help = match first.join(" or ") {
        none if none.is_empty() => format!("keep a version of {old}"),
        first => format!("write a version of {first} first, and go on when the nodes run it"),
    };
    Some(RefusedUpgrade {
        verb,
        why,
        help,
        is_down: new < old,
    })
}

/// Whether a version is at most two minor versions below another one, as Azure counts across major versions.
pub(super) fn is_near(low: Minor, high: Minor) -> bool {
    match low.major == high.major {
        true => low <= high && high <= low.later(2),
        false => pairs().any(|pair| pair == (low, high)),
    }
}

/// The pairs of versions that are near each other across major versions.
fn pairs() -> impl Iterator<Item = (Minor, Minor)> {
    data::across_majors().filter_map(|pair| {
        let (low, high) = pair.split_once('/')?;
        Some((Minor::read(low)?, Minor::read(high)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The refusal in short: the verb and the help.
    fn said(refused: Option<RefusedUpgrade>) -> String {
        refused.map_or_else(String::new, |one| format!("{}; {}", one.verb, one.help))
    }

    #[test]
    fn a_control_plane_goes_up_step_by_step() {
        let then = "and go on when the control plane runs it";
        for (from, to, expected) in [
            ("4.20", "4.21", ""),
            ("4.22", "5.0", ""),
            ("4.23", "5.1", ""),
            // Azure chooses the patch version.
            ("4.21", "4.21.7", ""),
            ("4.21.7", "4.21.3", ""),
            ("4.21.7", "4.22.0-rc.1+build", ""),
            ("4.21", "4.20", "goes down; keep \"4.21\""),
            ("5.0", "4.22", "goes down; keep \"5.0\""),
            ("4.20", "4.22", "skips minor versions; write \"4.21\", "),
            ("4.20", "4.23", "skips minor versions; write \"4.21\", "),
            ("4.21", "5.0", "changes the major version; write \"4.22\", "),
            ("4.22", "5.1", "changes the major version; write \"5.0\", "),
            ("4.23", "5.0", "changes the major version; write \"5.1\", "),
            ("4.22", "6.0", "changes the major version; write \"5.0\", "),
            ("4", "6", "changes the major version; write \"4.1\", "),
        ] {
            let expected = match expected.strip_suffix(", ") {
                Some(begin) => format!("{begin}, {then}"),
                None => expected.to_owned(),
            };
            assert_eq!(said(of_control_plane(from, to)), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_node_pool_goes_up_by_two_and_down() {
        let then = "first, and go on when the nodes run it";
        for (from, to, expected) in [
            ("4.20.8", "4.20.9", ""),
            ("4.20.8", "4.22.0", ""),
            ("4.22.8", "4.20.8", ""),
            ("4.21.8", "5.0.0", ""),
            ("4.22.8", "5.1.0", ""),
            ("5.1.0", "4.23.1", ""),
            (
                "4.20.8",
                "4.23.0",
                "skips minor versions; write a version of 4.21 or 4.22 ",
            ),
            (
                "4.20.8",
                "5.0.0",
                "changes the major version; write a version of 4.21 or 4.22 ",
            ),
            (
                "5.2.0",
                "4.22.0",
                "changes the major version; write a version of 5.0 or 5.1 ",
            ),
            (
                "4.22.0",
                "6.0.0",
                "changes the major version; keep a version of 4.22",
            ),
        ] {
            let expected = match expected.strip_suffix(' ') {
                Some(begin) => format!("{begin} {then}"),
                None => expected.to_owned(),
            };
            assert_eq!(said(of_node_pool(from, to)), expected, "{from} {to}");
        }
    }

    #[test]
    fn what_is_no_version_is_not_compared() {
        let most = format!("4.{}", u64::MAX);
        let texts = [
            "",
            "four",
            "4.",
            "-",
            "4.20.1.2",
            "4.99999999999999999999",
            "é",
        ];
        for text in texts {
            for sound in ["4.20", "4.20.8", text] {
                for (from, to) in [(text, sound), (sound, text)] {
                    assert_eq!(of_control_plane(from, to), None, "{from} {to}");
                    assert_eq!(of_node_pool(from, to), None, "{from} {to}");
                }
            }
        }
        assert!(of_control_plane("4.20", &most).is_some() && of_node_pool("4.20", &most).is_some());
        assert!(of_control_plane(&most, &most).is_none() && of_node_pool(&most, "4.20").is_none());
        assert!(of_control_plane(&most, "5.0").is_some());
    }
}
