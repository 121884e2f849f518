//! E10 to E12: the claims of a token.

use crate::model::Finding;
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording;

const CLAIM: &str = "spec.properties.claim";
const POLICIES: &[&str] = &["None", "Prefix", "NoPrefix"];
const LONGEST: usize = 256;

/// E10: a claim gives the username; a prefix is set if and only if the policy is Prefix.
pub(super) fn username_has_a_claim(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let username = auth.field(CLAIM).key("mappings").key("username");
    let (prefix, policy) = (username.key("prefix"), username.key("prefixPolicy"));
    let claim = wording::missing_or_long(&username.key("claim"), "E10", LONGEST);
    let unknown = wording::one_of(&policy, "E10", POLICIES);
    let given = prefix.is_given() && prefix.text() != Some("");
    let asked = policy.text() == Some("Prefix");
    let unfit = match (asked, given) {
        (true, false) => {
            let finding = policy.finding("E10", "prefixPolicy is Prefix, but no prefix is set");
            Some(finding.help("add `prefix`, or write `prefixPolicy: NoPrefix`"))
        }
        (false, true) if unknown.is_none() => {
            let finding = prefix.finding("E10", "a prefix is set, but prefixPolicy is not Prefix");
            Some(finding.help("write `prefixPolicy: Prefix`, or remove the prefix"))
        }
        _ => None,
    };
    claim.into_iter().chain(unknown).chain(unfit).collect()
}

/// E11: a claim gives the groups, if groups are mapped.
pub(super) fn groups_have_a_claim(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let groups = auth.field(CLAIM).key("mappings").key("groups");
    let fault = wording::missing_or_long(&groups.key("claim"), "E11", LONGEST);
    fault.filter(|_| groups.is_given()).into_iter().collect()
}

/// E12: a validation rule has a type, a claim and its required value.
pub(super) fn validation_rules_are_whole(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let rules = auth.field(CLAIM).key("validationRules");
    rules.items().flat_map(|rule| missing(&rule)).collect()
}

fn missing(rule: &Field<'_>) -> Vec<Finding> {
    let (kind, required) = (rule.key("type"), rule.key("requiredClaim"));
    let absent = wording::missing_or_long(&kind, "E12", usize::MAX);
    let absent = absent.map(|finding| finding.help("write `type: RequiredClaim`"));
    let kind = absent.or_else(|| wording::one_of(&kind, "E12", &["RequiredClaim"]));
    let parts = match required.is_given() {
        true => vec![required.key("claim"), required.key("requiredValue")],
        false => vec![required],
    };
    let parts = parts.into_iter();
    let parts = parts.filter_map(|part| wording::missing_or_long(&part, "E12", usize::MAX));
    let help = "write `requiredClaim: {claim: ..., requiredValue: ...}`, neither of them empty";
    kind.into_iter()
        .chain(parts.map(|finding| finding.help(help)))
        .collect()
}
