//! E10 to E12: what is taken from a token.

use crate::model::Finding;
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording;

const CLAIM: &str = "spec.properties.claim";
const POLICIES: &[&str] = &["None", "Prefix", "NoPrefix"];
const LONGEST: usize = 256;

/// E10: users are named by a claim; they have a prefix if, and only if, the policy says so.
pub(super) fn username_has_a_claim(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let username = auth.field(CLAIM).key("mappings").key("username");
    let (prefix, policy) = (username.key("prefix"), username.key("prefixPolicy"));
    let claim = wording::missing_or_long(&username.key("claim"), "E10", LONGEST);
    let unknown = wording::not_one_of(&policy, "E10", POLICIES);
    let given = prefix.text().is_some_and(|text| !text.is_empty());
    let asked = policy.text() == Some("Prefix");
    let unfit = match (asked, given) {
        (true, false) => {
            Some(policy.finding("E10", "prefixPolicy is Prefix, and there is no prefix"))
        }
        (false, true) => {
            Some(prefix.finding("E10", "a prefix is given, and prefixPolicy is not Prefix"))
        }
        _ => None,
    };
    claim.into_iter().chain(unknown).chain(unfit).collect()
}

/// E11: groups, where they are mapped, are named by a claim.
pub(super) fn groups_have_a_claim(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let groups = auth.field(CLAIM).key("mappings").key("groups");
    let fault = wording::missing_or_long(&groups.key("claim"), "E11", LONGEST);
    fault.filter(|_| groups.is_given()).into_iter().collect()
}

/// E12: a validation rule says which claim must have which value.
pub(super) fn validation_rules_are_whole(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let rules = auth.field(CLAIM).key("validationRules");
    let faults = |rule: Field<'_>| {
        let required = rule.key("requiredClaim");
        let kind = wording::not_one_of(&rule.key("type"), "E12", &["RequiredClaim"]);
        let missing = ["claim", "requiredValue"]
            .map(|name| wording::missing_or_long(&required.key(name), "E12", usize::MAX));
        kind.into_iter()
            .chain(missing.into_iter().flatten())
            .collect::<Vec<_>>()
    };
    rules.items().flat_map(faults).collect()
}
