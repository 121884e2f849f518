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
    let unknown = wording::not_one_of(&policy, "E10", POLICIES);
    let given = prefix.text().is_some_and(|text| !text.is_empty());
    let asked = policy.text() == Some("Prefix");
    let unfit = match (asked, given) {
        (true, false) => {
            Some(policy.finding("E10", "prefixPolicy is Prefix, but no prefix is set"))
        }
        (false, true) => {
            Some(prefix.finding("E10", "a prefix is set, but prefixPolicy is not Prefix"))
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

/// E12: a validation rule has a claim and its required value.
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
