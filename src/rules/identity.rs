//! V06: the fields of an AzureClusterIdentity fit its type (facts/aro-controllers.md §1, §2).

use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{Finding, Object, Path};

const USER_ASSIGNED_CREDENTIAL: &str = "UserAssignedIdentityCredential";

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
            .filter(|node| node.as_str() != Some(""))
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
    if value("resourceID").is_some() && kind != "UserAssignedMSI" {
        let message =
            "resourceID can only be set when AzureClusterIdentity is of type UserAssignedMSI"
                .to_owned();
        found.push(finding("resourceID", message, "remove resourceID"));
    }
    for field in [
        "userAssignedIdentityCredentialsPath",
        "userAssignedIdentityCredentialsCloudType",
    ] {
        if value(field).is_some() && kind != USER_ASSIGNED_CREDENTIAL {
            let message = format!(
                "{field} can only be set when AzureClusterIdentity is of type {USER_ASSIGNED_CREDENTIAL}"
            );
            found.push(finding(
                field,
                message,
                "remove the field, or change the type",
            ));
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
    fn fields_are_set_only_where_the_type_uses_them() {
        let cases = [
            ("type: ServicePrincipal, clientSecret: {name: s}", 0),
            ("type: ServicePrincipal", 1),
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
