//! V06: the fields of an AzureClusterIdentity fit its type (facts/aro-controllers.md §1, §2).

use super::placeholder;
use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{Finding, Message, Node, Object, Path, Value, message};

/// Fields that only one type has, with that type.
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
    let of_another = ONLY_OF
        .iter()
        .filter_map(|(field, of)| of_another_type(object, field, of));
    let others = of_another.chain(without_secret(object));
    let others = others.chain(unknown_cloud(object));
    let ids = ["clientID", "tenantID"].into_iter();
    others
        .chain(ids.filter_map(|id| malformed_id(object, id)))
        .collect()
}

/// Entra ID knows applications by GUID, and tenants by GUID or by domain. A placeholder is filled in later. The message
/// does not repeat the value, which may be a password in the wrong place.
fn malformed_id(object: &Object, field: &str) -> Option<Finding> {
    let id = object.node.at(&["spec", field])?.as_str()?.trim();
    let is_domain = field == "tenantID" && id.contains('.');
    if is_guid(id) || is_domain || placeholder::stands_for_a_secret(id) {
        return None;
    }
    let message = message!("spec.{field} is not a GUID", field);
    let help = match field {
        "tenantID" => "write the tenant's ID: `az account show --query tenantId`",
        _ => "write the application (client) ID, not the name or the object ID of the identity",
    };
    Some(finding(object, field, message).help(help))
}

/// Whether a text is 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_guid(text: &str) -> bool {
    let groups = text.split('-');
    let is_hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.clone().map(str::len).eq([8, 4, 4, 4, 12]) && groups.into_iter().all(is_hex)
}

/// A finding if the field is set and the identity is not of the type that has it.
fn of_another_type(object: &Object, field: &str, of: &str) -> Option<Finding> {
    let given = value(object, field)?.as_str()?;
    let message = message!(
        "{given} can only be set when AzureClusterIdentity is of type {of}",
        given,
        field
    );
    let help = format!("remove {field}, or write `type: {of}`");
    (kind(object) != of).then(|| finding(object, field, message).help(help))
}

fn without_secret(object: &Object) -> Option<Finding> {
    let given = |field| value(object, field).is_some();
    let kind = kind(object);
    let needed = match kind {
        "ServicePrincipal" | "ManualServicePrincipal" => !given("clientSecret"),
        "ServicePrincipalCertificate" => !given("clientSecret") && !given("certPath"),
        _ => false,
    };
    let message = message!(
        "clientSecret is required when AzureClusterIdentity is of type {kind}",
        kind
    );
    let help = "name the Secret with the credential: `clientSecret: {name: ..., namespace: ...}`";
    needed.then(|| finding(object, "clientSecret", message).help(help))
}

/// The provider knows three clouds and ignores case (facts/aro-controllers.md §1, §9).
fn unknown_cloud(object: &Object) -> Option<Finding> {
    const FIELD: &str = "userAssignedIdentityCredentialsCloudType";
    let cloud = value(object, FIELD)?.as_str()?;
    let known = ["public", "china", "usgovernment"];
    if known.iter().any(|known| known.eq_ignore_ascii_case(cloud)) {
        return None;
    }
    let message = message!(
        "the provider does not know the Azure cloud {cloud:?}",
        cloud
    );
    let help = format!("write {}", known.join(", ").replace(", us", " or us"));
    Some(finding(object, FIELD, message).help(help))
}

fn kind(object: &Object) -> &str {
    object.node.text(&["spec", "type"]).unwrap_or_default()
}

/// A field of the spec that is neither empty nor null.
fn value<'o>(object: &'o Object, field: &str) -> Option<&'o Node> {
    let written = object.node.at(&["spec", field]);
    written.filter(|node| node.as_str() != Some("") && node.value != Value::Null)
}

fn finding(object: &Object, field: &str, message: Message) -> Finding {
    let path = Path::dotted("spec").key(field);
    Finding::error("V06", message)
        .at(object.node.nearest(&path).span())
        .of(&object.id)
        .field(&path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of;

    #[test]
    fn messages_are_worded_as_in_the_providers_webhook() {
        let yaml = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\nmetadata: {name: i}\nspec:\n  type: WorkloadIdentity\n  userAssignedIdentityCredentialsPath: /p\n";
        assert_eq!(
            findings_of(fields_fit_the_type, yaml),
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
                "type: UserAssignedIdentityCredential, userAssignedIdentityCredentialsCloudType: PUBLIC",
                0,
            ),
            (
                "type: UserAssignedIdentityCredential, userAssignedIdentityCredentialsCloudType: germany",
                1,
            ),
            (
                "type: WorkloadIdentity, clientID: 6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f, tenantID: contoso.onmicrosoft.com",
                0,
            ),
            (
                "type: WorkloadIdentity, clientID: my-app, tenantID: contoso",
                2,
            ),
            ("type: WorkloadIdentity, clientID: app.contoso.com", 1),
            ("type: WorkloadIdentity, clientID: '', tenantID: ' '", 2),
            (
                "type: WorkloadIdentity, clientID: '${CLIENT_ID}', tenantID: <tenant>",
                0,
            ),
            (
                "type: WorkloadIdentity, clientID: 6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4",
                1,
            ),
            (
                "type: WorkloadIdentity, clientID: 6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4g",
                1,
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
            assert_eq!(
                findings_of(fields_fit_the_type, &yaml).len(),
                count,
                "{spec}"
            );
        }
    }
}
