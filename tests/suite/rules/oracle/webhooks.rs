//! The provider's webhooks (facts/aro-controllers.md §2 and §9): what they refuse, with their words.

use super::super::fixture::compiled;
use capstan::model::Severity;
use capstan::model::cut;

/// The ids and words of the errors in a document.
fn errors(document: &str) -> Vec<String> {
    let findings = compiled(&[("example.yaml", document)])
        .checked
        .findings
        .into_iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    errors
        .map(|finding| format!("{} {}", finding.id, finding.message))
        .collect()
}

/// The errors of a carrier with these resources, in flow style.
fn carrying(kind: &str, resources: &str) -> Vec<String> {
    let group = match kind {
        "AROControlPlane" => "controlplane",
        _ => "infrastructure",
    };
    errors(&format!(
        "apiVersion: {group}.cluster.x-k8s.io/v1beta2\nkind: {kind}\nmetadata: {{name: a, namespace: b}}\nspec: {{resources: {resources}}}\n"
    ))
}

#[test]
fn carriers_carry_resources() {
    const NONE: &str =
        "V01 resources mode is required; field-based configuration is no longer supported";
    let group = "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: a}, spec: {location: uksouth}}";
    for kind in ["AROControlPlane", "AROMachinePool"] {
        for (resources, expected) in [
            ("[]", NONE),
            ("null", NONE),
            ("[null]", "V02 resource cannot be empty"),
            (
                "[\"{invalid json\"]",
                "V02 resource must be valid JSON: it must be a map",
            ),
            (
                "[{kind: A, metadata: {name: a}}]",
                "V02 resource must have apiVersion",
            ),
            (
                "[{apiVersion: v1, metadata: {name: a}}]",
                "V02 resource must have kind",
            ),
            (
                "[{apiVersion: v1, kind: A}]",
                "V02 resource must have metadata",
            ),
            (
                "[{apiVersion: v1, kind: A, metadata: {}}]",
                "V02 resource must have metadata.name",
            ),
        ] {
            assert_eq!(carrying(kind, resources), [expected], "{kind} {resources}");
        }
        // The webhook accepts any resource; the controller does not.
        let accepted = carrying(kind, &format!("[{group}]"));
        let ids: Vec<_> = accepted.iter().map(|one| cut::head(one, 3)).collect();
        assert!(ids == ["D01"] || ids == ["D02"], "{kind}: {accepted:?}");
    }
    // A cluster may carry none.
    assert_eq!(carrying("AROCluster", "[]"), [] as [&str; 0]);
}

/// The errors of an identity with these fields.
fn identity(fields: &str) -> Vec<String> {
    errors(&format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\nmetadata: {{name: a, namespace: b}}\nspec: {{clientID: 6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f, tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31, {fields}}}\n"
    ))
}

#[test]
fn identities_fit_their_type() {
    const PATH: &str = "userAssignedIdentityCredentialsPath: /p";
    const CLOUD: &str = "userAssignedIdentityCredentialsCloudType";
    let file = "type: UserAssignedIdentityCredential";
    let secret = "clientSecret: {name: s, namespace: b}";
    for (fields, errors) in [
        (format!("type: ServicePrincipal, {secret}"), 0),
        (
            format!("type: ServicePrincipal, {secret}, resourceID: /r"),
            1,
        ),
        ("type: ServicePrincipal".to_owned(), 1),
        ("type: ManualServicePrincipal".to_owned(), 1),
        (format!("type: ServicePrincipalCertificate, {secret}"), 0),
        (
            "type: ServicePrincipalCertificate, certPath: /c".to_owned(),
            0,
        ),
        ("type: UserAssignedMSI".to_owned(), 0),
        ("type: UserAssignedMSI, resourceID: /r".to_owned(), 0),
        (
            format!("type: WorkloadIdentity, {PATH}, {CLOUD}: public"),
            2,
        ),
        (format!("{file}, {PATH}"), 0),
        (format!("{file}, {PATH}, {CLOUD}: public"), 0),
        (format!("{file}, {PATH}, {CLOUD}: PUBLIC"), 0),
        (format!("{file}, {PATH}, {CLOUD}: China"), 0),
        (format!("{file}, {PATH}, {CLOUD}: usgovernment"), 0),
        (format!("{file}, {PATH}, {CLOUD}: \"\""), 0),
        (format!("{file}, {PATH}, {CLOUD}: germany"), 1),
    ] {
        let found = identity(&fields);
        assert_eq!(found.len(), errors, "{fields}: {found:?}");
        assert!(
            found.iter().all(|error| error.starts_with("V06 ")),
            "{found:?}"
        );
    }
    let words = identity(&format!("type: WorkloadIdentity, {PATH}"));
    let expected = "V06 /p can only be set when AzureClusterIdentity is of type UserAssignedIdentityCredential";
    assert_eq!(words, [expected]);
}
