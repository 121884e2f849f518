//! C03 to C05: the OpenShift version of a cluster and its channel.

use std::sync::OnceLock;

use serde::Deserialize;

use super::fields::missing;
use crate::model::cut;
use crate::model::{Finding, Message, Severity, message};
use crate::rules::arm::{Resource, World};
use crate::rules::version::Version;
use crate::rules::wording::one_of;

#[derive(Deserialize)]
struct Releases {
    clusters: ClusterReleases,
}

/// The versions and channels that Azure supports for a cluster.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterReleases {
    minimum: (u64, u64),
    majors: u64,
    /// The newest minor version of each major version that this release of Capstan knows.
    newest: Vec<(u64, u64)>,
    /// From which minor version to which one a control plane goes to the next major version.
    across_majors: Vec<((u64, u64), (u64, u64))>,
    channel_groups: Vec<String>,
    experimental_channel_groups: Vec<String>,
}

fn releases() -> &'static ClusterReleases {
    static RELEASES: OnceLock<ClusterReleases> = OnceLock::new();
    RELEASES.get_or_init(|| {
        let read: Result<Releases, _> = serde_json::from_str(include_str!("../data/releases.json"));
        read.expect("the table of releases is valid").clusters
    })
}

/// The only version of the next major version to which a control plane of this minor version goes, if there is one.
pub(in crate::rules) fn next_major(of: (u64, u64)) -> Option<(u64, u64)> {
    let mut known = releases().across_majors.iter();
    known.find(|(from, _)| *from == of).map(|(_, to)| *to)
}

/// A version as written, with as many parts as were written.
struct Written {
    major: u64,
    minor: u64,
    /// Whether it has a patch version.
    is_exact: bool,
    /// Whether it is older than the first patch.
    is_early: bool,
}

/// Reads a version. With the experimental features, Azure also accepts a major version alone.
fn read(text: &str, experimental: bool) -> Option<Written> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, ending) = cut::until(text, |c| matches!(c, '-' | '+'));
    let number = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| digits)
    };
    let parts: Option<Vec<u64>> = numbers.split('.').map(number).collect();
    let is_sound = || Version::parse_with_build(&format!("0.0.0{ending}")).is_some();
    let (major, minor, patch) = match parts?.as_slice() {
        [major] if ending.is_empty() && experimental => (*major, 0, None),
        [major, minor] if ending.is_empty() => (*major, *minor, None),
        [major, minor, patch] if is_sound() => (*major, *minor, Some(*patch)),
        _ => return None,
    };
    Some(Written {
        major,
        minor,
        is_exact: patch.is_some(),
        is_early: patch == Some(0) && ending.starts_with('-'),
    })
}

/// The major and the minor version of a cluster that Azure supports.
pub(in crate::rules) fn minor_of(cluster: &Resource<'_>, experimental: bool) -> Option<(u64, u64)> {
    let text = cluster.field("spec.properties.version.id").text()?;
    let version =
        read(text, experimental).filter(|_| supported(cluster, experimental).is_none())?;
    Some((version.major, version.minor))
}

/// What to do about a version that cannot be read or is not supported.
fn such() -> String {
    let (major, minor) = releases().minimum;
    format!("write a version such as \"{major}.{minor}\", in quotes")
}

/// C03: the version is `X.Y`.
pub(in crate::rules) fn is_major_minor(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let fault = written_as(cluster, world.experimental);
    fault.into_iter().collect()
}

fn written_as(cluster: &Resource<'_>, experimental: bool) -> Option<Finding> {
    let field = cluster.field("spec.properties.version.id");
    if let Some(finding) = missing("C03", &field) {
        return Some(finding.help(such()));
    }
    let (name, text) = (field.name_or("version.id"), field.text()?);
    match read(text, experimental) {
        Some(version) if version.is_exact && !experimental => {
            let (major, minor) = (version.major, version.minor);
            let message = message!(
                "{name} {text:?} has a patch version, which Azure chooses",
                name,
                text
            );
            let help = format!("write \"{major}.{minor}\"");
            Some(field.finding("C03", message).help(help))
        }
        Some(_) => None,
        None => {
            let message = message!("{name} {text:?} is not a version of OpenShift", name, text);
            Some(field.finding("C03", message).help(such()))
        }
    }
}

/// C04: Azure supports the version.
pub(in crate::rules) fn is_supported(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let fault = supported(cluster, world.experimental);
    fault.into_iter().collect()
}

/// C04 with the experimental features or without.
pub(in crate::rules) fn supported(cluster: &Resource<'_>, experimental: bool) -> Option<Finding> {
    let field = cluster.field("spec.properties.version.id");
    let text = field.text()?;
    let version = read(text, experimental)?;
    let known = releases();
    let (major, minor) = known.minimum;
    let asked = (version.major, version.minor);
    let message = if asked < known.minimum || asked == known.minimum && version.is_early {
        message!(
            "version {text} is too old: the oldest supported version is {major}.{minor}",
            text
        )
    } else if version.major > known.majors && !experimental {
        let majors = known.majors;
        message!(
            "version {text} is too new: Azure supports OpenShift up to {majors}",
            text
        )
    } else {
        let help = "correct the version; if Azure has it by now, allow this warning";
        return unknown(asked, known).map(|message| Finding {
            severity: Severity::Warning,
            ..field.finding("C04", message).help(help)
        });
    };
    Some(field.finding("C04", message).help(within(known)))
}

/// The versions to choose from.
fn within(known: &ClusterReleases) -> String {
    let (major, minor) = known.minimum;
    let newest = known.newest.iter().find(|(of, _)| *of == known.majors);
    match newest {
        Some((to, newest)) => {
            format!("write a version from \"{major}.{minor}\" to \"{to}.{newest}\"")
        }
        None => such(),
    }
}

/// What is unusual about a version that is newer than all known ones. There may be newer ones by now.
fn unknown((major, minor): (u64, u64), known: &ClusterReleases) -> Option<Message> {
    let of_major = known.newest.iter().find(|(of, _)| *of == major);
    let (newest_major, newest) = of_major.or_else(|| known.newest.last())?;
    let message = message!(
        "version {major}.{minor} is unknown: the newest known version is {newest_major}.{newest}",
        major,
        minor
    );
    ((major, minor) > (*newest_major, *newest)).then_some(message)
}

/// C05: the channel group is a known one.
pub(in crate::rules) fn channel_group(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let fault = channel(cluster, world.experimental);
    fault.into_iter().collect()
}

fn channel(cluster: &Resource<'_>, experimental: bool) -> Option<Finding> {
    let field = cluster.field("spec.properties.version.channelGroup");
    let known = releases();
    let more = known.experimental_channel_groups.iter();
    let more = more.filter(|_| experimental);
    let allowed = known.channel_groups.iter().chain(more);
    let allowed: Vec<&str> = allowed.map(String::as_str).collect();
    one_of(&field, "C05", &allowed)
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;
    use crate::rules::rule::ResourceRule;

    fn spec(version: &str) -> String {
        format!("{{properties: {{version: {version}}}}}")
    }

    #[test]
    fn a_version_is_two_numbers_that_azure_supports() {
        for (id, c03, c04) in [
            ("\"4.20\"", 0, 0),
            ("\"4.21\"", 0, 0),
            ("\"4.19\"", 0, 1),
            ("\"4.20.8\"", 1, 0),
            ("\"4.21.0-rc.1\"", 1, 0),
            ("\"5.0\"", 0, 1),
            ("\"\"", 1, 0),
            ("\"4\"", 1, 0),
            ("\"5\"", 1, 0),
            ("\"+4.21\"", 1, 0),
            ("\"four\"", 1, 0),
            ("4.2", 1, 0),
            ("null", 1, 0),
        ] {
            let spec = spec(&format!("{{id: {id}}}"));
            assert_eq!(findings_of(is_major_minor, &spec).len(), c03, "{id}");
            assert_eq!(findings_of(is_supported, &spec).len(), c04, "{id}");
        }
    }

    #[test]
    fn a_subscription_with_the_feature_may_use_more() {
        fn as_written(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
            let faults = [written_as(cluster, true), supported(cluster, true)];
            let faults = faults.into_iter().chain([channel(cluster, true)]);
            faults.flatten().collect()
        }
        for (version, faults) in [
            ("{id: 4.21.0-rc.1, channelGroup: candidate}", 0),
            ("{id: \"5.0\", channelGroup: nightly}", 0),
            ("{id: 4.20.0-rc.1}", 1),
            ("{id: \"5\"}", 0),
            ("{id: \"4\"}", 1),
            ("{id: 4.21.0+build}", 0),
            ("{id: 4.21.0-}", 1),
            ("{id: \"+4.21\"}", 1),
            ("{id: \"4.20\", channelGroup: blah}", 1),
        ] {
            assert_eq!(
                findings_of(as_written, &spec(version)).len(),
                faults,
                "{version}"
            );
        }
    }

    #[test]
    fn a_version_newer_than_all_known_ones_is_a_warning() {
        for (id, experimental, expected) in [
            ("4.23", false, None),
            (
                "4.99",
                false,
                Some("4.99 is unknown: the newest known version is 4.23"),
            ),
            ("5.2", true, None),
            (
                "5.9",
                true,
                Some("5.9 is unknown: the newest known version is 5.2"),
            ),
            (
                "6.0",
                true,
                Some("6.0 is unknown: the newest known version is 5.2"),
            ),
        ] {
            let rule: ResourceRule = match experimental {
                true => |_, cluster| supported(cluster, true).into_iter().collect(),
                false => is_supported,
            };
            let found = findings_of(rule, &spec(&format!("{{id: {id:?}}}")));
            let expected = expected.map(|text| format!("version {text}"));
            assert_eq!(found, Vec::from_iter(expected), "{id}");
        }
    }

    #[test]
    fn two_channels_are_supported_everywhere() {
        for (group, faults) in [
            ("stable", 0),
            ("fast", 0),
            ("candidate", 1),
            ("nightly", 1),
            ("\"\"", 1),
        ] {
            let spec = spec(&format!("{{channelGroup: {group}}}"));
            assert_eq!(findings_of(channel_group, &spec).len(), faults, "{group}");
        }
    }
}
