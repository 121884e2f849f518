//! E: Azure's rules for external auths (facts/aro-rules.md §3.3).

mod claims;
mod clients;
mod issuer;

use crate::model::{Finding, message};
use crate::rules::ResourceRule;
use crate::rules::arm::{Resource, World};
use crate::rules::azure_name::{self, Limits};

/// The kind they apply to.
pub(super) const KIND: &str = "HcpOpenShiftClustersExternalAuth";

/// The rules of external auths, in order of id.
pub(super) const RULES: &[ResourceRule] = &[
    is_named,
    is_the_only_one,
    issuer::url_is_safe,
    issuer::audiences_are_given,
    issuer::authority_is_pem,
    clients::clients_are_whole,
    clients::clients_are_apart,
    clients::clients_are_in_the_audience,
    clients::only_the_console_is_confidential,
    claims::username_has_a_claim,
    claims::groups_have_a_claim,
    claims::validation_rules_are_whole,
];

const NAMES: Limits = Limits {
    id: "E01",
    most: 15,
    least_in_older: 2,
};

/// E01: the name in Azure has at most 15 characters.
fn is_named(world: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    azure_name::fault(&NAMES, world, auth).into_iter().collect()
}

/// E02: a cluster has one external auth. The finding points at those after the first.
fn is_the_only_one(world: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let Some(cluster) = world.owner(auth) else {
        return Vec::new();
    };
    let first = world.parts_of(&cluster.id, KIND).next();
    let Some(first) = first.filter(|first| first.id != auth.id) else {
        return Vec::new();
    };
    let message = message!(
        "{cluster} already has {first}, and may have only one external auth",
        cluster = cluster.id,
        first = first.id
    );
    let finding = auth.field("metadata.name").finding("E02", message);
    vec![finding.help("remove one of them")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_kind;

    const SOUND: &str = "\
apiVersion: redhatopenshift.azure.com/v1api20251223preview
kind: HcpOpenShiftClustersExternalAuth
metadata: {name: one-ea}
spec:
  properties:
    issuer: {url: https://login.example.com, audiences: [app]}
    claim:
      mappings: {username: {claim: email, prefixPolicy: None}, groups: {claim: groups}}
    clients:
    - {clientId: app, component: {name: console, authClientNamespace: openshift-console}, type: Confidential}
";

    /// The rules that the valid one breaks after a replacement.
    fn findings_of(from: &str, to: &str) -> Vec<String> {
        assert!(SOUND.contains(from), "{from}");
        let yaml = SOUND.replace(from, to);
        let each = RULES
            .iter()
            .flat_map(|rule| findings_of_kind(*rule, KIND, &yaml));
        each.map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn a_valid_one_has_no_findings() {
        assert_eq!(findings_of("one-ea", "one-ea"), [""; 0]);
    }

    #[test]
    fn every_fault_is_reported_by_its_rule() {
        let long = |length: usize| "a".repeat(length);
        let many = |count: usize| vec!["app"; count].join(", ");
        // Stands before the client that is there.
        let other = |name: &str, kind: &str| {
            format!(
                "- {{clientId: app, component: {{name: {name}, authClientNamespace: ns}}, type: {kind}}}\n    "
            )
        };
        let others = |count: usize| {
            let each = (0..count).map(|at| other(&format!("c{at}"), "Public"));
            each.collect::<String>() + "- {clientId"
        };
        for (from, to, expected) in [
            ("one-ea", "e".to_owned(), &["E01"][..]),
            ("one-ea", "ea".to_owned(), &[]),
            ("one-ea", "one-ea-".to_owned(), &["E01"]),
            ("https://login.example.com", "http://login.example.com".to_owned(), &["E03"]),
            ("https://login.example.com", "aaa".to_owned(), &["E03"]),
            ("https://login.example.com", "\"\"".to_owned(), &["E03"]),
            ("https://login.example.com", "https://".to_owned(), &["E03"]),
            ("[app]", "[]".to_owned(), &["E04", "E08"]),
            ("[app]", format!("[{}]", many(10)), &[]),
            ("[app]", format!("[{}]", many(11)), &["E04"]),
            ("[app]", "[app, \"\"]".to_owned(), &["E04"]),
            ("[app]", "[\"app \"]".to_owned(), &["E08"]),
            ("[app]", "[app], ca: not a pem".to_owned(), &["E05"]),
            ("name: console", format!("name: {}", long(257)), &["E06", "E09"]),
            ("openshift-console", long(64), &["E06", "E09"]),
            ("clientId: app", "clientId: \"\"".to_owned(), &["E06"]),
            ("Confidential", "\"\"".to_owned(), &["E06"]),
            ("Confidential", "Bogus".to_owned(), &["E06"]),
            ("Confidential}", "Confidential, extraScopes: [\"\"]}".to_owned(), &["E06"]),
            ("- {clientId", others(19), &[]),
            ("- {clientId", others(20), &["E06"]),
            ("- {clientId", other("a", "Confidential") + "- {clientId", &["E09"]),
            ("- {clientId", other("a", "Public").repeat(2) + "- {clientId", &["E07"]),
            ("Confidential", "Public".to_owned(), &["E09"]),
            ("claim: email", "claim: \"\"".to_owned(), &["E10"]),
            ("claim: email", format!("claim: {}", long(257)), &["E10"]),
            ("prefixPolicy: None", "prefixPolicy: Prefix".to_owned(), &["E10"]),
            ("prefixPolicy: None", "prefixPolicy: Prefix, prefix: x".to_owned(), &[]),
            ("prefixPolicy: None", "prefixPolicy: NoPrefix, prefix: x".to_owned(), &["E10"]),
            ("prefixPolicy: None", "prefix: x".to_owned(), &["E10"]),
            ("prefixPolicy: None", "prefixPolicy: Bogus".to_owned(), &["E10"]),
            ("groups: {claim: groups}", "groups: {prefix: x}".to_owned(), &["E11"]),
            ("    clients:", "      validationRules: [{type: RequiredClaim, requiredClaim: {claim: a}}]\n    clients:".to_owned(), &["E12"]),
            ("    clients:", "      validationRules: [{type: RequiredClaim}]\n    clients:".to_owned(), &["E12"]),
            ("    clients:", "      validationRules: [{requiredClaim: {claim: a, requiredValue: b}}]\n    clients:".to_owned(), &["E12"]),
            ("    clients:", "      validationRules: [{type: \"\", requiredClaim: {claim: a, requiredValue: b}}]\n    clients:".to_owned(), &["E12"]),
            ("prefixPolicy: None", "prefixPolicy: Bogus, prefix: x".to_owned(), &["E10"]),
            ("    clients:", "      validationRules: [{type: Other, requiredClaim: {claim: a, requiredValue: b}}]\n    clients:".to_owned(), &["E12"]),
            ("    clients:", "      validationRules: [{type: RequiredClaim, requiredClaim: {claim: a, requiredValue: b}}]\n    clients:".to_owned(), &[]),
        ] {
            assert_eq!(findings_of(from, &to), expected, "{from} -> {to}");
        }
    }
}
