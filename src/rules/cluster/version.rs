//! C03 to C05 and C49: the OpenShift version and its channel, the version of Azure's API, and its size limit.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::fields::{missing, one_of};
use crate::api::arm_version::{ArmVersion, AsoVersion};
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, Message, Node, Severity, Value, message};
use crate::rules::arm::{Resource, World};
use crate::rules::wording::and_others;

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

/// A version as written, with as many parts as were written.
struct Written {
    major: u64,
    minor: u64,
    /// Whether it has a patch version.
    is_exact: bool,
    /// Whether it is older than the first patch.
    is_early: bool,
}

fn read(text: &str) -> Option<Written> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, ending) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let parts: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
    let (major, minor, patch) = match parts.ok()?.as_slice() {
        [major, minor] if ending.is_empty() => (*major, *minor, None),
        [major, minor, patch] => (*major, *minor, Some(*patch)),
        _ => return None,
    };
    Some(Written {
        major,
        minor,
        is_exact: patch.is_some(),
        is_early: patch == Some(0) && ending.starts_with('-'),
    })
}

/// C03: the version is `X.Y`.
pub(in crate::rules) fn is_major_minor(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let fault = written_as(cluster, world.experimental);
    fault.into_iter().collect()
}

fn written_as(cluster: &Resource<'_>, experimental: bool) -> Option<Finding> {
    let field = cluster.field("spec.properties.version.id");
    if let Some(finding) = missing("C03", &field) {
        return Some(finding.help("write a version such as \"4.20\""));
    }
    let text = field.text()?;
    match read(text) {
        Some(version) if version.is_exact && !experimental => {
            let (major, minor) = (version.major, version.minor);
            let message = message!(
                "version.id {text:?} has a patch version, which Azure chooses",
                text
            );
            let help = format!("write \"{major}.{minor}\"");
            Some(field.finding("C03", message).help(help))
        }
        Some(_) => None,
        None => {
            let message = message!(
                "version.id {text:?} is not a version such as \"4.20\"",
                text
            );
            Some(field.finding("C03", message))
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
    let version = read(text)?;
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
    Some(field.finding("C04", message))
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
    one_of("C05", &field, &allowed)
}

/// C49: ARO HCP resources use a known version of Azure's API.
pub(in crate::rules) fn api_versions(world: &World<'_>) -> Vec<Finding> {
    let ours = |resource: &&Resource<'_>| resource.id.group == RED_HAT_OPENSHIFT;
    let unknown = world.all().filter(ours).filter(|resource| {
        ArmVersion::from_aso(&resource.version).is_none() || is_storage(resource)
    });
    let mut firsts: BTreeMap<&str, (&Resource<'_>, usize)> = BTreeMap::new();
    for resource in unknown {
        let entry = firsts.entry(&resource.version).or_insert((resource, 0));
        entry.1 += 1;
    }
    let finding = |(version, (first, count)): (&str, (&Resource<'_>, usize))| {
        unknown_version(first, version, count - 1)
    };
    firsts.into_iter().map(finding).collect()
}

/// A version that may be newer than this release is only a warning.
fn unknown_version(first: &Resource<'_>, version: &str, others: usize) -> Finding {
    let others = and_others(others);
    let newest = ArmVersion::ALL.last().copied().unwrap_or_default();
    let (severity, what) = match AsoVersion::parse(version) {
        Some(parsed) if parsed.storage => {
            (Severity::Error, "is only for ASO's own storage".to_owned())
        }
        Some(_) => (
            Severity::Warning,
            format!("is unknown: the rules of {} are applied", newest.arm()),
        ),
        None => (
            Severity::Error,
            "is not a version of Azure's API".to_owned(),
        ),
    };
    let message = message!("version {version}{others} {what}", version);
    let known: Vec<&str> = ArmVersion::ALL.iter().map(|known| known.aso()).collect();
    let help = format!("known versions: {}", known.join(", "));
    let finding = first.field("apiVersion").finding("C49", message).help(help);
    Finding {
        severity,
        ..finding
    }
}

/// C49: a request to Azure has at most 4 MiB.
pub(in crate::rules) fn bodies_are_small(world: &World<'_>) -> Vec<Finding> {
    const MOST: usize = 4 << 20;
    let ours = |resource: &&Resource<'_>| resource.id.group == RED_HAT_OPENSHIFT;
    let large = world.all().filter(ours).filter_map(|resource| {
        let spec = resource.field("spec");
        let size = weight(spec.node?);
        let message = message!(
            "{resource} has {size} bytes, more than the {MOST} (4 MiB) that Azure accepts",
            resource = resource.id,
            size
        );
        let finding = resource.field("metadata.name").finding("C49", message);
        (size > MOST).then(|| Finding {
            severity: Severity::Error,
            ..finding.help("shorten its lists, such as image mirrors and authorized networks")
        })
    });
    large.collect()
}

/// A lower estimate of its size as JSON, in bytes.
fn weight(node: &Node) -> usize {
    match &node.value {
        Value::Map(map) => {
            let entries = map.iter();
            entries.fold(2, |sum, (key, node)| {
                sum + key.name.len() + 4 + weight(node)
            })
        }
        Value::List(items) => items.iter().fold(2, |sum, node| sum + 1 + weight(node)),
        _ => node.as_str().map_or(1, |text| text.len() + 2),
    }
}

fn is_storage(resource: &Resource<'_>) -> bool {
    AsoVersion::parse(&resource.version).is_some_and(|version| version.storage)
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
    fn an_unknown_version_is_reported_once_and_may_be_newer() {
        let of = |version: &str| {
            let yaml = |name: &str| {
                format!(
                    "apiVersion: redhatopenshift.azure.com/{version}\nkind: HcpOpenShiftCluster\nmetadata: {{name: {name}}}\n"
                )
            };
            let text = ["a", "b", "c"].map(yaml).join("---\n");
            let path = std::sync::Arc::from("test.yaml");
            let (documents, _) = crate::yaml::read(&path, text.as_bytes());
            let objects = documents.into_iter();
            let objects: Vec<_> = objects
                .filter_map(|node| crate::model::Object::from_node(node, "default"))
                .collect();
            let found = api_versions(&World::of(&objects));
            assert!(found.len() < 2, "{found:?}");
            found.into_iter().next()
        };
        assert_eq!(of("v1api20251223preview"), None);
        for known in [
            "v20260630preview",
            "v20260901preview",
            "v1api20260901preview",
        ] {
            assert_eq!(of(known), None, "{known}");
        }
        let newer = of("v20270101preview").expect("a finding");
        assert_eq!(newer.severity, Severity::Warning);
        assert!(newer.message.contains("in 2 more resources"), "{newer}");
        for wrong in [
            "v1beta1",
            "v1api20260630previewstorage",
            "v20260901previewstorage",
        ] {
            assert_eq!(of(wrong).expect("a finding").severity, Severity::Error);
        }
    }

    #[test]
    fn a_body_has_up_to_4_mib() {
        fn all(world: &World<'_>, _: &Resource<'_>) -> Vec<Finding> {
            bodies_are_small(world)
        }
        let spec = |size: usize| format!("{{tags: {{a: {:?}}}}}", "x".repeat(size));
        assert_eq!(findings_of(all, &spec(4_000_000)).len(), 0);
        assert_eq!(findings_of(all, &spec(4_200_000)).len(), 1);
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
