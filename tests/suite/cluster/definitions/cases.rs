//! Objects of the ARO kinds, and which part of them a cluster refuses.

use serde_json::{Value as Json, json};

/// One object, and whether it is valid.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) object: Json,
    /// The part that is refused; none when it is valid.
    pub(super) refused: Option<&'static str>,
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const IDENTITY: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
const TIME: &str = "2026-02-08T10:00:00Z";

fn case(
    (api_version, kind): (&str, &str),
    name: &str,
    refused: Option<&'static str>,
    parts: &Json,
) -> Case {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": "it", "namespace": "default"}});
    for part in ["spec", "status"] {
        if !parts[part].is_null() {
            object[part] = parts[part].clone();
        }
    }
    Case {
        name: format!("{kind}: {name}"),
        object,
        refused,
    }
}

fn of(
    kind: (&str, &str),
    part: &'static str,
    valid: Vec<(&str, Json)>,
    refused: Vec<(&str, Json)>,
) -> Vec<Case> {
    let valid = valid.into_iter().map(|(name, value)| (name, value, None));
    let refused = refused
        .into_iter()
        .map(|(name, value)| (name, value, Some(part)));
    valid
        .chain(refused)
        .map(|(name, value, refused)| {
            let mut parts = json!({part: value});
            if part == "status" && kind.1 == "AROMachinePool" {
                parts["spec"] = json!({"resources": []});
            }
            if part == "status" && kind.1 == "AzureClusterIdentity" {
                parts["spec"] = identity(&json!({}));
            }
            case(kind, name, refused, &parts)
        })
        .collect()
}

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        case((INFRASTRUCTURE, "AROCluster"), "no spec", None, &json!({})),
        case(
            (CONTROL_PLANE, "AROControlPlane"),
            "no spec",
            None,
            &json!({}),
        ),
        case(
            (INFRASTRUCTURE, "AROMachinePool"),
            "no spec",
            None,
            &json!({}),
        ),
        case(
            (IDENTITY, "AzureClusterIdentity"),
            "no spec",
            None,
            &json!({}),
        ),
    ];
    all.extend(clusters());
    all.extend(control_planes());
    all.extend(machine_pools());
    all.extend(identities());
    for kind in [
        (INFRASTRUCTURE, "AROCluster"),
        (CONTROL_PLANE, "AROControlPlane"),
        (INFRASTRUCTURE, "AROMachinePool"),
    ] {
        all.extend(conditions(kind));
        all.extend(resources(kind));
    }
    all
}

/// With the fields that CAPZ dropped.
pub(super) fn added() -> Vec<Case> {
    let reference = json!({"kind": "AzureClusterIdentity", "name": "cluster-identity"});
    let resource = json!({"group": "resources.azure.com", "version": "v1api20200601", "kind": "ResourceGroup",
        "name": "rg", "apiVersion": "resources.azure.com/v1api20200601", "namespace": "default"});
    let ready = json!([{"resource": resource, "ready": false, "message": "it differs in tags"}]);
    let kinds = [
        (
            INFRASTRUCTURE,
            "AROCluster",
            json!({"subscriptionID": "s", "identityRef": reference}),
        ),
        (
            CONTROL_PLANE,
            "AROControlPlane",
            json!({"subscriptionID": "s", "identityRef": reference}),
        ),
        (INFRASTRUCTURE, "AROMachinePool", json!({"resources": []})),
    ];
    kinds
        .into_iter()
        .map(|(api_version, kind, spec)| {
            let mut status = json!({"resources": ready});
            if kind != "AROCluster" {
                status["ready"] = json!(false);
            }
            case(
                (api_version, kind),
                "what is added",
                None,
                &json!({"spec": spec, "status": status}),
            )
        })
        .collect()
}

fn clusters() -> Vec<Case> {
    let endpoint = |endpoint: Json| json!({"controlPlaneEndpoint": endpoint});
    let kind = (INFRASTRUCTURE, "AROCluster");
    let mut all = of(
        kind,
        "spec",
        vec![
            ("an empty spec", json!({})),
            ("a host", endpoint(json!({"host": "api.example.com"}))),
            ("a port", endpoint(json!({"port": 65535}))),
            (
                "an IPv6 host",
                endpoint(json!({"host": "[2001:db8::1]", "port": 443})),
            ),
            ("no resources", json!({"resources": []})),
            (
                "any resources",
                json!({"resources": [{}, {"kind": "X", "spec": {"a": [1, {"b": null}]}}]}),
            ),
        ],
        vec![
            ("an empty endpoint", endpoint(json!({}))),
            ("an empty host", endpoint(json!({"host": ""}))),
            ("a long host", endpoint(json!({"host": "a".repeat(513)}))),
            ("port 0", endpoint(json!({"port": 0}))),
            ("port 65536", endpoint(json!({"port": 65536}))),
            ("a port as text", endpoint(json!({"port": "443"}))),
            ("a resource as text", json!({"resources": ["text"]})),
            ("resources as a map", json!({"resources": {}})),
        ],
    );
    let zone = |zone: Json| json!({"failureDomains": [zone]});
    all.extend(of(
        kind,
        "status",
        vec![
            ("an empty status", json!({})),
            (
                "ready",
                json!({"ready": true, "initialization": {"provisioned": true}}),
            ),
            (
                "a zone",
                zone(json!({"name": "1", "controlPlane": true, "attributes": {"a": "b"}})),
            ),
        ],
        vec![
            ("a zone without a name", zone(json!({}))),
            ("a zone with an empty name", zone(json!({"name": ""}))),
            (
                "a zone with a long name",
                zone(json!({"name": "a".repeat(257)})),
            ),
            ("ready as text", json!({"ready": "true"})),
        ],
    ));
    all
}

fn operation() -> Json {
    json!({"type": "PUT", "serviceName": "hcp", "name": "c", "resourceGroup": "rg", "data": "e30="})
}

fn control_planes() -> Vec<Case> {
    let kind = (CONTROL_PLANE, "AROControlPlane");
    let reference = |reference: Json| json!({"identityRef": reference});
    let mut all = of(
        kind,
        "spec",
        vec![
            ("an empty spec", json!({})),
            (
                "all of it",
                json!({"subscriptionID": "s", "azureEnvironment": "AzurePublicCloud", "resources": [{}],
                "identityRef": {"kind": "AzureClusterIdentity", "name": "i", "namespace": "n"}}),
            ),
            ("an empty reference", reference(json!({}))),
        ],
        vec![
            ("a reference as text", reference(json!("i"))),
            ("a number as subscription", json!({"subscriptionID": 1})),
        ],
    );
    let mut half = operation();
    half.as_object_mut().expect("a map").remove("data");
    all.extend(of(
        kind,
        "status",
        vec![
            ("not ready by default", json!({"version": "4.20"})),
            ("all of it", json!({"ready": true, "initialization": {"controlPlaneInitialized": true}, "id": "/i",
                "apiURL": "https://a", "consoleURL": "https://c", "version": "4.20", "failureMessage": "f",
                "availableUpgrades": ["4.21"], "longRunningOperationStates": [operation()]})),
        ],
        vec![
            ("ready as text", json!({"ready": "yes"})),
            ("an operation without data", json!({"longRunningOperationStates": [half]})),
        ],
    ));
    all
}

fn machine_pools() -> Vec<Case> {
    let kind = (INFRASTRUCTURE, "AROMachinePool");
    let mut all = of(
        kind,
        "spec",
        vec![
            ("no resources", json!({"resources": []})),
            (
                "nodes",
                json!({"resources": [{}], "providerIDList": ["azure:///a", "azure:///b"]}),
            ),
        ],
        vec![
            ("resources are missing", json!({})),
            (
                "an ID as number",
                json!({"resources": [{}], "providerIDList": [1]}),
            ),
        ],
    );
    all.extend(of(
        kind,
        "status",
        vec![
            ("not ready by default", json!({"replicas": 0})),
            ("all of it", json!({"ready": true, "replicas": 3, "initialization": {"provisioned": true}, "id": "/i",
                "provisioningState": "Succeeded", "version": "4.20.17", "failureMessage": "f",
                "availableUpgrades": ["4.21.0"], "longRunningOperationStates": [operation()]})),
        ],
        vec![("replicas as text", json!({"replicas": "3"}))],
    ));
    all
}

fn identity(more: &Json) -> Json {
    let mut identity = json!({"type": "ServicePrincipal", "clientID": "c", "tenantID": "t"});
    for (key, value) in more.as_object().into_iter().flatten() {
        identity[key] = value.clone();
    }
    identity
}

fn identities() -> Vec<Case> {
    let kind = (IDENTITY, "AzureClusterIdentity");
    let allowed = |allowed: Json| identity(&json!({"allowedNamespaces": allowed}));
    let types = [
        "ServicePrincipal",
        "UserAssignedMSI",
        "ManualServicePrincipal",
        "ServicePrincipalCertificate",
        "WorkloadIdentity",
        "UserAssignedIdentityCredential",
    ];
    let mut valid: Vec<(&str, Json)> = types
        .into_iter()
        .map(|kind| (kind, identity(&json!({"type": kind}))))
        .collect();
    valid.extend([
        ("all fields", identity(&json!({"resourceID": "/i", "certPath": "/c", "clientSecret": {"name": "s", "namespace": "n"},
            "userAssignedIdentityCredentialsPath": "/p", "userAssignedIdentityCredentialsCloudType": "China"}))),
        ("an empty reference", identity(&json!({"clientSecret": {}}))),
        ("null allows nobody", allowed(Json::Null)),
        ("all namespaces", allowed(json!({}))),
        ("a list", allowed(json!({"list": ["a", "b"]}))),
        ("a null list", allowed(json!({"list": null, "selector": {"matchLabels": {"a": "b"}}}))),
        ("expressions", allowed(json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}))),
    ]);
    let without = |field: &str| {
        let mut identity = identity(&json!({}));
        identity.as_object_mut().expect("a map").remove(field);
        identity
    };
    let mut all = of(
        kind,
        "spec",
        valid,
        vec![
            ("an unknown type", identity(&json!({"type": "Password"}))),
            ("no type", without("type")),
            ("no client", without("clientID")),
            ("no tenant", without("tenantID")),
            ("a list as allowed namespaces", allowed(json!(["a"]))),
            (
                "an expression without a key",
                allowed(json!({"selector": {"matchExpressions": [{"operator": "Exists"}]}})),
            ),
        ],
    );
    let condition = |more: Json| {
        let mut condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": TIME});
        for (key, value) in more.as_object().into_iter().flatten() {
            condition[key] = value.clone();
        }
        json!({"conditions": [condition]})
    };
    all.extend(of(
        kind,
        "status",
        vec![
            ("a condition", condition(json!({}))),
            (
                "a severity",
                condition(json!({"severity": "Error", "reason": "R", "message": "m"})),
            ),
        ],
        vec![
            (
                "a long severity",
                condition(json!({"severity": "a".repeat(33)})),
            ),
            ("an empty reason", condition(json!({"reason": ""}))),
            ("an empty type", condition(json!({"type": ""}))),
            (
                "a long message",
                condition(json!({"message": "a".repeat(10241)})),
            ),
            (
                "a time that is none",
                condition(json!({"lastTransitionTime": "yesterday"})),
            ),
        ],
    ));
    all
}

/// Conditions of the API conventions.
fn conditions(kind: (&str, &str)) -> Vec<Case> {
    let condition = |more: Json| {
        let mut condition = json!({"type": "Ready", "status": "True", "reason": "Succeeded", "message": "",
            "lastTransitionTime": TIME, "observedGeneration": 1});
        for (key, value) in more.as_object().into_iter().flatten() {
            condition[key] = value.clone();
        }
        let map = condition.as_object_mut().expect("a map");
        map.retain(|_, value| !value.is_null());
        json!({"conditions": [condition], "ready": true})
    };
    of(
        kind,
        "status",
        vec![
            ("a condition", condition(json!({}))),
            (
                "a condition of a domain",
                condition(json!({"type": "example.com/Ready"})),
            ),
            (
                "a long message",
                condition(json!({"message": "a".repeat(32768)})),
            ),
            (
                "a reason of Azure",
                condition(json!({"reason": "AzureResourceNotFound"})),
            ),
        ],
        vec![
            ("an empty reason", condition(json!({"reason": ""}))),
            (
                "a reason with spaces",
                condition(json!({"reason": "not found"})),
            ),
            (
                "a long reason",
                condition(json!({"reason": "a".repeat(1025)})),
            ),
            ("a type with spaces", condition(json!({"type": "Is Ready"}))),
            (
                "a status in lower case",
                condition(json!({"status": "true"})),
            ),
            (
                "a message that is too long",
                condition(json!({"message": "a".repeat(32769)})),
            ),
            (
                "a negative generation",
                condition(json!({"observedGeneration": -1})),
            ),
            ("no reason", condition(json!({"reason": null}))),
            ("no message", condition(json!({"message": null}))),
            ("no time", condition(json!({"lastTransitionTime": null}))),
        ],
    )
}

/// The state of embedded resources.
fn resources(kind: (&str, &str)) -> Vec<Case> {
    let entry = |without: &str| {
        let mut resource = json!({"group": "g", "version": "v1", "kind": "K", "name": "n"});
        resource.as_object_mut().expect("a map").remove(without);
        let mut entry = json!({"resource": resource, "ready": true});
        entry.as_object_mut().expect("a map").remove(without);
        json!({"resources": [entry], "ready": true})
    };
    let refused = ["group", "version", "kind", "name", "ready", "resource"];
    let refused = refused.map(|field| (field, entry(field)));
    of(
        kind,
        "status",
        vec![("a resource", entry("-"))],
        refused.into_iter().collect(),
    )
}
