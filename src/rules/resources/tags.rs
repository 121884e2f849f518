//! A02: tags of resources.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Finding, Message, message};
use crate::rules::arm::{Resource, World};

/// The maximum number of tags of a resource. An embedded one has the controllers' own besides.
const MOST: usize = 50;
/// The maximum number of characters of a tag's name.
const LONGEST_NAME: usize = 512;
/// The maximum number of characters of a tag's value.
const LONGEST_VALUE: usize = 256;
/// What names of tags must not contain.
const FORBIDDEN: &[char] = &['<', '>', '%', '&', '\\', '?', '/'];
/// The beginning of names that portals and services give, which may contain ids of resources.
const HIDDEN: &str = "hidden-";

/// A02: Azure accepts the tags of a resource. A definition's tags are on many resources, and reported once for each
/// definition.
pub(super) fn are_valid(world: &World<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut places = BTreeSet::new();
    for resource in world.all() {
        for finding in of_resource(resource) {
            let definition = resource.carrier.definition.as_ref();
            let (span, message) = (finding.span.clone(), finding.message.clone());
            if places.insert((definition, span, message)) {
                found.push(finding);
            }
        }
    }
    found
}

fn of_resource(resource: &Resource<'_>) -> Vec<Finding> {
    if resource.is_read_only() {
        return Vec::new();
    }
    let tags = resource.field("spec.tags");
    let mut names = BTreeMap::new();
    let mut found = Vec::new();
    for (name, field) in tags.entries() {
        let value = field.text().unwrap_or_default();
        let fault = match names.insert(name.to_lowercase(), name) {
            None => fault(name, value),
            Some(other) => Some((
                message!(
                    "the tags {other:?} and {name:?} differ only in case, which Azure ignores",
                    other,
                    name
                ),
                "remove one of them",
            )),
        };
        let finding = |(message, help): (Message, &str)| field.finding("A02", message).help(help);
        found.extend(fault.map(finding));
    }
    let count = names.len();
    let (most, others) = match resource.path.0.is_empty() {
        true => (MOST, ""),
        false => (MOST - 1, " beside the one of the controllers"),
    };
    if count > most {
        let message = message!(
            "there are {count} tags, and Azure allows {most}{others}",
            count,
            most,
            others
        );
        let finding = tags.finding("A02", message);
        found.push(finding.help("put several values into one tag"));
    }
    found
}

/// What is wrong with a tag, and what to do.
fn fault(name: &str, value: &str) -> Option<(Message, &'static str)> {
    let length = name.chars().count();
    if name.trim().is_empty() {
        let message = message!("the name {name:?} of a tag is empty", name);
        return Some((message, "give the tag a name"));
    }
    let is_forbidden = |character: &char| FORBIDDEN.contains(character);
    let forbidden = name.chars().find(is_forbidden);
    if let Some(character) = forbidden.filter(|_| !name.starts_with(HIDDEN)) {
        let message = message!("the tag {name:?} contains `{character}`", name, character);
        return Some((message, "leave out <, >, %, &, \\, ? and /"));
    }
    if length > LONGEST_NAME {
        let message = message!(
            "the name of the tag has {length} characters, and Azure allows {most}",
            length,
            most = LONGEST_NAME
        );
        return Some((message, "shorten it"));
    }
    let length = value.chars().count();
    (length > LONGEST_VALUE).then(|| {
        let message = message!(
            "the value of the tag {name:?} has {length} characters, and Azure allows {most}",
            name,
            length,
            most = LONGEST_VALUE
        );
        (message, "shorten it, or split it into several tags")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_fleet;

    fn is_wrong(name: &str, value: &str) -> bool {
        fault(name, value).is_some()
    }

    #[test]
    fn names_and_values_have_limits() {
        for name in [
            "a",
            "cost center",
            "team:a",
            "azure",
            "hidden-link:/subscriptions/s/resourceGroups/r",
            "ä",
            &"a".repeat(512),
        ] {
            assert!(!is_wrong(name, ""), "{name}");
        }
        let bad = ["", " ", "a/b", "a?", "a\\b", "a%", "a&b", "<a>"];
        for name in bad.into_iter().chain([&*"a".repeat(513)]) {
            assert!(is_wrong(name, ""), "{name}");
        }
        assert!(!is_wrong("a", &"ä".repeat(256)));
        assert!(is_wrong("a", &"ä".repeat(257)));
    }

    #[test]
    fn a_resource_has_fifty_tags_whose_names_differ_in_more_than_case() {
        let resource = |tags: &str| {
            format!(
                "apiVersion: keyvault.azure.com/v1\nkind: Vault\nmetadata: {{name: abc}}\nspec:\n  tags: {tags}\n"
            )
        };
        let many = |count: usize| {
            let tags = (0..count).map(|number| format!("t{number}: x"));
            resource(&format!("{{{}}}", tags.collect::<Vec<_>>().join(", ")))
        };
        let found = |yaml: &str| findings_of_fleet(are_valid, yaml);
        assert_eq!(found(&many(50)), [""; 0]);
        assert_eq!(
            found(&many(51)),
            ["A02 5:9 there are 51 tags, and Azure allows 50"]
        );
        let embedded = |count: usize| {
            let lines = many(count);
            let lines = lines.lines().map(|line| format!("    {line}\n"));
            format!(
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AROCluster\nmetadata: {{name: c}}\nspec:\n  resources:\n  -\n{}",
                lines.collect::<String>()
            )
        };
        assert_eq!(found(&embedded(49)), [""; 0]);
        assert_eq!(
            found(&embedded(50)),
            ["A02 11:13 there are 50 tags, and Azure allows 49 beside the one of the controllers"]
        );
        assert_eq!(
            found(&resource("{team: a, Team: b}")),
            ["A02 5:25 the tags \"team\" and \"Team\" differ only in case, which Azure ignores"]
        );
    }

    #[test]
    fn what_is_only_read_keeps_its_tags() {
        let yaml = "apiVersion: keyvault.azure.com/v1\nkind: Vault\nmetadata: {name: abc, annotations: {serviceoperator.azure.com/reconcile-policy: skip}}\nspec: {tags: {a/b: c}}\n";
        assert_eq!(findings_of_fleet(are_valid, yaml), [""; 0]);
        let managed = yaml.replace("skip", "manage");
        assert_eq!(findings_of_fleet(are_valid, &managed).len(), 1);
    }
}
