//! HyperShift's kinds: how many nodes a change rolls, and which changes are errors. The table is compared with the real CRDs, if they are
//! there: every rule has a row, and every row a rule.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::*;

fn hosted(kind: &str, name: &str, spec: &Json) -> Json {
    json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": kind,
        "metadata": {"name": name, "namespace": "ns"}, "spec": spec})
}

#[test]
fn the_nodes_of_hosted_clusters_are_counted() {
    let pool = |name: &str, size: &Json, image: &str| {
        let mut spec = size.clone();
        spec["clusterName"] = json!("c");
        spec["release"] = json!({"image": image});
        hosted("NodePool", name, &spec)
    };
    let cluster = |secret: &str| {
        let spec = json!({"pullSecret": {"name": secret}, "release": {"image": "old"}});
        hosted("HostedCluster", "c", &spec)
    };
    let (three, up) = (
        json!({"replicas": 3}),
        json!({"autoScaling": {"min": 1, "max": 5}}),
    );
    let after = [
        cluster("new"),
        pool("a", &three, "new"),
        pool("b", &up, "old"),
    ];
    let rolled = |before: &Json, after: &Json, all: &[Json]| {
        let found = consequences(before, after);
        Rolled::count(all.iter(), found.iter()).to_string()
    };
    let upgraded = rolled(&pool("a", &three, "old"), &after[1], &after);
    assert_eq!(upgraded, "rolls 3 nodes of 1 cluster");
    let secret = rolled(&cluster("old"), &after[0], &after);
    assert_eq!(secret, "rolls 8 nodes of 1 cluster");
}

/// Returns true if a change of the spec of a HostedCluster is an error.
fn is_error(before: &Json, after: &Json) -> bool {
    let [one, other] = [before, after].map(|spec| hosted("HostedCluster", "c", spec));
    consequences(&one, &other).iter().any(Consequence::is_error)
}

#[test]
fn what_hyper_shift_keeps_is_not_removed() {
    let azure = |fields: Json| json!({"platform": {"azure": fields}});
    for (before, after, is_refused) in [
        (json!({}), azure(json!({"topology": "Public"})), false),
        (azure(json!({"topology": "Public"})), azure(json!({})), true),
        (
            azure(json!({"topology": "Private"})),
            azure(json!({"topology": "PublicAndPrivate"})),
            false,
        ),
        (
            azure(json!({"endpointAccess": "Private"})),
            azure(json!({"endpointAccess": "PublicAndPrivate"})),
            true,
        ),
        (
            azure(json!({"privateConnectivity": {"natSubnetID": "a"}})),
            azure(json!({"privateConnectivity": {"natSubnetID": "b"}})),
            true,
        ),
        (json!({"infraID": "a"}), json!({}), true),
        (
            json!({"secretEncryption": {"type": "aescbc"}}),
            json!({}),
            true,
        ),
        (
            json!({}),
            json!({"secretEncryption": {"type": "aescbc"}}),
            false,
        ),
    ] {
        assert_eq!(is_error(&before, &after), is_refused, "{before} to {after}");
    }
}

#[test]
fn what_the_rules_allow_is_no_error() {
    let driver = |kind: Json| json!({"platform": {"kubevirt": {"storageDriver": kind}}});
    let operator =
        |fields: Json| json!({"operatorConfiguration": {"clusterNetworkOperator": fields}});
    let vault = |fields: Json| json!({"secretEncryption": {"kms": {"azure": fields}}});
    let domain = |name: &str| json!({"dns": {"baseDomain": name}});
    let manual = json!({"storageClassMapping": []});
    for (before, after, is_refused) in [
        (domain(""), domain("a.example.com"), false),
        (domain("a.example.com"), domain("b.example.com"), true),
        (domain("a.example.com"), domain(""), true),
        (
            json!({}),
            operator(json!({"disableMultiNetwork": true})),
            false,
        ),
        (
            operator(json!({"disableMultiNetwork": false})),
            operator(json!({"disableMultiNetwork": true})),
            true,
        ),
        (
            driver(json!({"manual": manual})),
            driver(json!({"type": "Default", "manual": manual})),
            false,
        ),
        (
            driver(json!({"manual": manual})),
            driver(json!({"type": "Manual", "manual": manual})),
            true,
        ),
        (
            json!({}),
            vault(json!({"keyVaultType": "ManagedHSM"})),
            false,
        ),
        (
            json!({"controllerAvailabilityPolicy": "HighlyAvailable"}),
            json!({}),
            false,
        ),
        (
            json!({}),
            json!({"controllerAvailabilityPolicy": "SingleReplica"}),
            true,
        ),
    ] {
        assert_eq!(is_error(&before, &after), is_refused, "{before} to {after}");
    }
}

/// The fields that a rule about `oldSelf` in a schema is about.
fn guarded(schema: &Json, at: &str, found: &mut Vec<String>) {
    let rules = schema["x-kubernetes-validations"].as_array();
    let rules = rules.into_iter().flatten();
    let is_old = |rule: &Json| {
        rule["rule"]
            .as_str()
            .is_some_and(|rule| rule.contains("oldSelf"))
    };
    if rules.clone().any(is_old) {
        found.push(at.to_owned());
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        guarded(below, &format!("{at}/{name}"), found);
    }
    if schema["items"].is_object() {
        guarded(&schema["items"], &format!("{at}/*"), found);
    }
}

/// A rule that only forbids to leave a set of features, which is left to the API server.
const LEAVING: &str = "/spec/configuration/featureGate/featureSet";

/// Fields of the proposal, which the CRDs do not have.
const PROPOSED: [&str; 2] = [
    "/spec/platform/azure/endpointAccess",
    "/spec/platform/azure/privateConnectivity",
];

#[test]
fn what_is_immutable_in_hyper_shift_is_what_its_crds_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/crds/hypershift");
    let mut compared = 0;
    for (plural, kind) in [
        ("hostedclusters", "HostedCluster"),
        ("nodepools", "NodePool"),
    ] {
        let file = root.join(format!("{plural}.hypershift.openshift.io.yaml"));
        let Ok(text) = std::fs::read(&file) else {
            // They are test data, used when present.
            return;
        };
        let (documents, _) = crate::yaml::read(&Arc::from(plural), &text);
        let crd = documents[0].to_json();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut rules = Vec::new();
        guarded(&schema["properties"]["spec"], "/spec", &mut rules);
        let fields = rows().find(|(_, other, _)| *other == kind);
        let fields = fields.expect("it is in the table").2.iter();
        let fixed: Vec<&str> = fields
            .filter(|field| field.change == Change::Replace)
            .map(|field| field.at)
            .collect();
        // A rule of a map may be about a field in it, and one of a field is covered by that of a map.
        let is_near = |one: &str, other: &str| {
            let within = |outer: &str, inner: &str| {
                inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            within(one, other) || within(other, one)
        };
        for rule in &rules {
            let is_covered = fixed.iter().any(|at| is_near(rule, at));
            assert!(is_covered || rule == LEAVING, "{kind}: no row for {rule}");
        }
        for at in fixed.into_iter().filter(|at| !PROPOSED.contains(at)) {
            assert!(
                rules.iter().any(|rule| is_near(rule, at)),
                "{kind}: no rule for {at}"
            );
        }
        compared += rules.len();
    }
    assert!(compared > 50, "{compared}");
}
