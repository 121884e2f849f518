//! V06: the fields of an AzureClusterIdentity fit its type (facts/aro-controllers.md §1, §2).

use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{Finding, Node, Object, Path, Value};

/// Fields of one type only, with that type.
const ONLY_OF: &[(&str, &str)] = &[
    ("resourceID", "UserAssignedMSI"),
    (
        "userAssignedIdentityCredentialsPath",
        "UserAssignedIdentityCredential",
    ),
    (
        "userAssignedIdentityCredentialsCloudType",
        "UserAssignedIdentityCredential",
    ),
];

/// V06: each field is set only for the types that use it, and a type that needs a secret has one.
pub(super) fn fields_fit_the_type(object: &Object) -> Vec<Finding> {
    if !object.id.is(INFRASTRUCTURE, "AzureClusterIdentity") {
        return Vec::new();
    }
    let kind = object.node.text(&["spec", "type"]).unwrap_or_default();
    let value = |field: &str| {
        object
            .node
            .at(&["spec", field])
            .filter(|node| node.as_str() != Some("") && node.value != Value::Null)
    };
    let finding = |field: &str, message: String, help: &str| {
        let path = Path::dotted("spec").key(field);
        Finding::error("V06", message)
            .at(object.node.nearest(&path).span())
            .of(&object.id)
            .field(&path)
            .help(help)
    };
    let mut found = Vec::new();
    for (field, of) in ONLY_OF {
        let given = value(field).filter(|_| kind != *of).and_then(Node::as_str);
        if let Some(given) = given {
            let message =
                format!("{given} can only be set when AzureClusterIdentity is of type {of}");
            let help = format!("remove {field}, or write `type: {of}`");
            found.push(finding(field, message, &help));
        }
    }
    let secret = value("clientSecret").is_some();
    let certificate = value("certPath").is_some();
    let needs_secret = match kind {
        "ServicePrincipal" | "ManualServicePrincipal" => !secret,
        "ServicePrincipalCertificate" => !secret && !certificate,
        _ => false,
    };
    if needs_secret {
        let message =
            format!("clientSecret is required when AzureClusterIdentity is of type {kind}");
        found.push(finding("clientSecret", message, "name the Secret that holds the credential: `clientSecret: {name: ..., namespace: ...}`"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn the_words_are_those_of_the_providers_webhook() {
        let yaml = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\nmetadata: {name: i}\nspec:\n  type: WorkloadIdentity\n  userAssignedIdentityCredentialsPath: /p\n";
        assert_eq!(
            said(fields_fit_the_type, yaml),
            [
                "V06 6:40 /p can only be set when AzureClusterIdentity is of type UserAssignedIdentityCredential"
            ]
        );
    }

    #[test]
    fn fields_are_set_only_where_the_type_uses_them() {
        let cases = [
            ("type: ServicePrincipal, clientSecret: {name: s}", 0),
            ("type: ServicePrincipal", 1),
            ("type: ServicePrincipal, clientSecret: null", 1),
            (
                "type: ServicePrincipal, clientSecret: {name: s}, resourceID: /r",
                1,
            ),
            ("type: UserAssignedMSI", 0),
            ("type: UserAssignedMSI, resourceID: /r", 0),
            ("type: WorkloadIdentity", 0),
            ("type: ServicePrincipalCertificate, certPath: /c", 0),
            ("type: ServicePrincipalCertificate", 1),
            (
                "type: UserAssignedIdentityCredential, userAssignedIdentityCredentialsPath: /p",
                0,
            ),
            (
                "type: WorkloadIdentity, userAssignedIdentityCredentialsPath: /p, userAssignedIdentityCredentialsCloudType: public",
                2,
            ),
        ];
        for (spec, count) in cases {
            let yaml = format!(
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\nmetadata: {{name: i}}\nspec: {{{spec}}}\n"
            );
            assert_eq!(said(fields_fit_the_type, &yaml).len(), count, "{spec}");
        }
    }
}
