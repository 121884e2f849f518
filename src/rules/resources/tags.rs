//! A02: tags of resources.

use std::collections::BTreeSet;

use crate::model::{Finding, Message, message};
use crate::rules::arm::{Resource, World};

/// The maximum number of tags of a resource. An embedded one has the ownership tag besides.
const MOST: usize = 50;
/// The maximum number of characters of a tag's name.
const LONGEST_NAME: usize = 512;
/// The maximum number of characters of a tag's value.
const LONGEST_VALUE: usize = 256;
/// What names of tags must not contain.
const FORBIDDEN: &[char] = &['<', '>', '%', '&', '\\', '?', '/'];
/// What names of tags must not begin with, in whatever case.
const RESERVED: [&str; 3] = ["azure", "microsoft", "windows"];

/// A02: Azure accepts the tags of a resource. A definition's tags are on many resources, and reported once.
pub(super) fn are_valid(world: &World<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut places = BTreeSet::new();
    for finding in world.all().flat_map(of_resource) {
        if places.insert((finding.span.clone(), finding.message.clone())) {
            found.push(finding);
        }
    }
    found
}

fn of_resource(resource: &Resource<'_>) -> Vec<Finding> {
    if resource.is_read_only() {
        return Vec::new();
    }
    let tags = resource.field("spec.tags");
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    for (name, field) in tags.entries() {
        let value = field.text().unwrap_or_default();
        let fault = match names.insert(name.to_lowercase()) {
            true => fault(name, value),
            false => Some((
                message!(
                    "the tag {name:?} is there twice: Azure ignores the case of names",
                    name
                ),
                "remove one of them",
            )),
        };
        let finding = |(message, help): (Message, &str)| field.finding("A02", message).help(help);
        found.extend(fault.map(finding));
    }
    let count = names.len();
    if count > MOST {
        let message = message!(
            "there are {count} tags, and Azure allows {most}",
            count,
            most = MOST
        );
        found.push(
            tags.finding("A02", message)
                .help("put several values into one tag"),
        );
    }
    found
}

/// What is wrong with a tag, and what to do.
fn fault(name: &str, value: &str) -> Option<(Message, &'static str)> {
    let lower = name.to_lowercase();
    let length = name.chars().count();
    if name.trim().is_empty() {
        let message = message!("the name {name:?} of a tag is empty", name);
        return Some((message, "give the tag a name"));
    }
    if let Some(character) = name.chars().find(|character| FORBIDDEN.contains(character)) {
        let message = message!("the tag {name:?} contains `{character}`", name, character);
        return Some((message, "leave out <, >, %, &, \\, ? and /"));
    }
    if let Some(prefix) = RESERVED
        .into_iter()
        .find(|prefix| lower.starts_with(prefix))
    {
        let message = message!("the tag {name:?} begins with `{prefix}`", name, prefix);
        return Some((
            message,
            "choose another name: Azure reserves azure, microsoft and windows",
        ));
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
            "my-azure",
            "ä",
            &"a".repeat(512),
        ] {
            assert!(!is_wrong(name, ""), "{name}");
        }
        let bad = [
            "",
            " ",
            "a/b",
            "a?",
            "a\\b",
            "a%",
            "a&b",
            "<a>",
            "AzureTeam",
            "windows",
            "Microsoft.x",
        ];
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
        assert_eq!(
            found(&resource("{team: a, Team: b}")),
            ["A02 5:25 the tag \"Team\" is there twice: Azure ignores the case of names"]
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
