//! Paths that are written as literals lead to fields that exist.
//!
//! In: the source of `src`, comments and tests cut off, and the schemas of our kinds and of Azure Service Operator's. Out:
//! paths that no schema has. A field that is renamed compiles without this, and what reads it finds nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capstan::api::cluster_definition::Platform;
use capstan::api::{arm_properties, azure_fields, crds, hyper_shift_fields};
use capstan::yaml;
use serde_json::{Value as Json, json};

/// The kinds that one module alone reads; other modules read what is in a cluster.
const DOCUMENTS: &[(&str, &str)] = &[
    ("api/cluster_definition/", "ClusterDefinition"),
    ("api/fleet/", "Fleet"),
    ("api/overlay/", "Overlay"),
    ("compile/explain.rs", "Overlay"),
    ("compile/pools.rs", "ClusterDefinition"),
];
/// Our kinds that are in a cluster.
const OURS: [&str; 5] = [
    "AzurePrivateLinkService",
    "AROCluster",
    "AROControlPlane",
    "AROMachinePool",
    "AzureClusterIdentity",
];
/// Files whose paths do not lead into objects of Kubernetes, and the module whose paths lead into definitions of kinds.
const OTHERS: [&str; 4] = [
    "adapters/checks/",
    "api/crds.rs",
    "provider/request/",
    "rules/shape.rs",
];

/// Fields that are read of kinds without a schema here, and the file of the CRD that has them; those of Kubernetes itself
/// have none.
const FOREIGN: &[(&str, &str)] = &[
    (
        "cluster-api/clusters.cluster.x-k8s.io",
        "spec.controlPlaneEndpoint spec.controlPlaneRef spec.infrastructureRef spec.paused spec.topology
         status.conditions status.controlPlaneReady status.failureMessage status.failureReason
         status.infrastructureReady status.initialization.controlPlaneInitialized
         status.initialization.infrastructureProvisioned status.observedGeneration status.phase",
    ),
    (
        "cluster-api/machinepools.cluster.x-k8s.io",
        "spec.clusterName spec.providerIDList spec.replicas spec.template.spec.bootstrap.dataSecretName
         spec.template.spec.infrastructureRef status.readyReplicas status.replicas",
    ),
    (
        "aso-2.19/hcpopenshiftclusters.redhatopenshift.azure.com",
        "status.id status.properties.api.url status.properties.console.url
         status.properties.dns.baseDomainPrefix status.properties.provisioningState
         status.properties.version.id status.tags",
    ),
    (
        "aso-2.19/hcpopenshiftclustersnodepools.redhatopenshift.azure.com",
        "status.properties.replicas",
    ),
    (
        "aso-2.19/privateendpoints.network.azure.com",
        "spec.manualPrivateLinkServiceConnections status.manualPrivateLinkServiceConnections",
    ),
    (
        "aso-2.19/privatelinkservices.network.azure.com",
        "status.alias",
    ),
    (
        "hypershift/hostedclusters.hypershift.openshift.io",
        "status.kubeconfig.name status.version.history",
    ),
    (
        "hypershift/nodepools.hypershift.openshift.io",
        "status.nodesInfo.nodeVersions status.version",
    ),
    (
        "hypershift/hostedcontrolplanes.hypershift.openshift.io",
        "spec.dns.baseDomain spec.platform.azure spec.platform.type spec.releaseImage spec.services
         status.controlPlaneEndpoint status.versionStatus.desired.version status.versionStatus.history",
    ),
    (
        "hub/agents.agent-install.openshift.io",
        "spec.approved spec.clusterDeploymentName.name status.inventory.cpu.count status.inventory.disks
         status.inventory.memory.physicalBytes",
    ),
    (
        "",
        "spec.clusterIP spec.containers spec.platform.azure.endpointAccess spec.ports
         spec.platform.azure.azureAuthenticationConfig.workloadIdentities.privateLinkService.clientID spec.group spec.holderIdentity spec.leaseDurationSeconds spec.names.kind
         spec.progressDeadlineSeconds spec.renewTime spec.scope spec.selector.matchLabels spec.suspend
         spec.template.spec.containers spec.type spec.updateStrategy.rollingUpdate.partition
         spec.updateStrategy.type spec.versions status.active status.containerStatuses status.currentRevision
         status.desiredNumberScheduled status.loadBalancer.ingress status.phase status.startTime status.storedVersions status.succeeded
         status.updateRevision",
    ),
];

/// The calls in `expand` that take a path in a definition, and which argument it is.
const CALLS: [(&str, usize); 6] = [
    (".value(", 0),
    (".made_from(", 0),
    (".items(", 0),
    (".refused(", 0),
    (".with(", 1),
    (".onto(", 1),
];

/// Sources: a file below `src`, and its code.
type Sources<'a> = &'a [(&'a str, &'a str)];

/// The paths in `sources` that lead nowhere.
pub(super) fn faults(sources: Sources<'_>) -> Vec<String> {
    let ours = OURS.iter().flat_map(|kind| schemas_of(kind));
    let in_cluster: Vec<Json> = ours.chain(azure()).chain(hyper_shift()).collect();
    let foreign = FOREIGN.iter().flat_map(|(_, paths)| known(paths));
    let foreign: Vec<String> = foreign.map(|path| path + ".").collect();
    let mut faults = Vec::new();
    for (file, code) in sources {
        if OTHERS.iter().any(|other| file.starts_with(other)) {
            continue;
        }
        let document = DOCUMENTS
            .iter()
            .find(|(module, _)| file.starts_with(module));
        let of_document = document.map(|(_, kind)| schemas_of(kind));
        let schemas = of_document.as_ref().unwrap_or(&in_cluster);
        for path in literals(code, file.starts_with("reconcile/")) {
            let whole = path.join(".") + ".";
            let is_known = |known: &String| known.starts_with(&whole);
            let is_foreign = document.is_none() && foreign.iter().any(is_known);
            if !is_foreign && !schemas.iter().any(|schema| has(schema, &path)) {
                faults.push(format!("src/{file}: no kind has {}", path.join(".")));
            }
        }
    }
    faults.extend(expanded(sources));
    faults
}

/// The paths in `expand` that a definition does not have: a value at one would be dropped.
fn expanded(sources: Sources<'_>) -> Vec<String> {
    let definitions = Platform::ALL.map(crds::definition);
    let of_expand = sources
        .iter()
        .filter(|(file, _)| file.starts_with("expand/"));
    let mut faults = Vec::new();
    for (file, code) in of_expand {
        let [aro, hyper_shift] = &definitions;
        let definition = match file.starts_with("expand/hyper_shift/") {
            true => hyper_shift,
            false => aro,
        };
        let spec = &definition["properties"]["spec"];
        let pool = &spec["properties"]["nodePools"]["items"];
        for path in CALLS.iter().flat_map(|call| arguments(code, *call)) {
            let keys: Vec<&str> = path.split('.').collect();
            if ![spec, pool].iter().any(|schema| has(schema, &keys)) {
                faults.push(format!("src/{file}: a definition has no {path}"));
            }
        }
    }
    faults
}

/// The paths of [`FOREIGN`] that the CRDs below `root` do not have.
fn foreign_faults(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, paths) in FOREIGN.iter().filter(|(file, _)| !file.is_empty()) {
        let path = root.join(format!("{file}.yaml"));
        let text = fs::read(&path).expect("the CRD is readable");
        let (nodes, _) = yaml::read(&Arc::from(*file), &text);
        let crds: Vec<Json> = nodes.iter().map(|node| node.to_json()).collect();
        let versions = crds
            .iter()
            .filter_map(|crd| crd["spec"]["versions"].as_array());
        let schemas: Vec<&Json> = versions
            .flatten()
            .map(|version| &version["schema"]["openAPIV3Schema"])
            .collect();
        for path in known(paths) {
            let keys: Vec<&str> = path.split('.').collect();
            if !schemas.iter().any(|schema| has(schema, &keys)) {
                faults.push(format!("{file} has no {path}"));
            }
        }
    }
    faults
}

fn known(paths: &str) -> impl Iterator<Item = String> {
    paths.split_whitespace().map(str::to_owned)
}

fn schemas_of(kind: &str) -> Vec<Json> {
    match kind {
        crds::DEFINITION => Platform::ALL.map(crds::definition).to_vec(),
        _ => vec![crds::schema(kind).expect("it is one of our kinds")],
    }
}

fn hyper_shift() -> impl Iterator<Item = Json> {
    let specs = hyper_shift_fields::specs();
    specs.map(|(_, spec)| json!({"properties": {"spec": spec}}))
}

/// The schemas of Azure Service Operator's kinds, those of `spec.properties` filled in.
fn azure() -> Vec<Json> {
    let specs = azure_fields::specs().map(|((_, kind, _), mut spec)| {
        let properties = arm_properties::json(kind);
        if arm_properties::schema(kind).is_some() {
            spec["properties"]["properties"] = properties;
        }
        json!({"properties": {"spec": spec}})
    });
    specs.collect()
}

/// Returns true if a schema has a field at a path.
fn has(schema: &Json, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else {
        return true;
    };
    match (&schema["properties"], &schema["additionalProperties"]) {
        (Json::Object(fields), _) if fields.contains_key(*key) => has(&fields[*key], rest),
        (_, values @ Json::Object(_)) => has(values, rest),
        _ if schema["items"].is_object() => has(&schema["items"], path),
        (Json::Null, _) => schema["x-kubernetes-preserve-unknown-fields"] == true,
        _ => false,
    }
}

/// The paths into a spec or a status that are literals: arrays of texts, and chains of indices. Where a status is written,
/// a chain begins with the variable.
fn literals(code: &str, writes: bool) -> Vec<Vec<&str>> {
    let mut paths = Vec::new();
    for top in ["spec", "status"] {
        let quoted = format!("\"{top}\"");
        for found in code.match_indices(&quoted) {
            let (before, after) = super::beside(code, found);
            if before.trim_end().ends_with('[') {
                let keys = match after.strip_prefix(']') {
                    Some(after) => chain(after),
                    None => array(after),
                };
                paths.push([vec![top], keys].concat());
            }
        }
        let variable = format!("{top}[\"");
        for (at, _) in code
            .match_indices(&variable)
            .filter(|_| writes && top == "status")
        {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"');
            let (before, after) = super::beside(code, (at, top));
            if !before.ends_with(is_part) {
                paths.push([vec![top], chain(after)].concat());
            }
        }
    }
    paths
}

/// The texts that go on an array, up to what is no text.
fn array(after: &str) -> Vec<&str> {
    let items = after
        .split(']')
        .next()
        .unwrap_or_default()
        .split(',')
        .skip(1);
    let items = items.map(str::trim);
    items.map_while(text).collect()
}

/// The texts of indices that follow each other.
fn chain(mut after: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    while let Some((index, rest)) = after
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        let Some(key) = text(index) else { break };
        keys.push(key);
        after = rest;
    }
    keys
}

/// What is in the quotes of a literal.
fn text(code: &str) -> Option<&str> {
    let inner = code.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('"')).then_some(inner)
}

/// The literal paths that calls get as this argument.
fn arguments<'a>(code: &'a str, (call, place): (&str, usize)) -> Vec<&'a str> {
    let calls = code.match_indices(call);
    let found = calls.filter_map(|found| {
        let argument = split(super::beside(code, found).1).into_iter().nth(place)?;
        text(argument.trim())
    });
    found.collect()
}

/// The arguments of a call, whose opening bracket is cut off.
fn split(code: &str) -> Vec<&str> {
    let (mut arguments, mut depth, mut start, mut quoted) = (Vec::new(), 0, 0, false);
    let mut before = ' ';
    for (at, c) in code.char_indices() {
        match c {
            '"' if before != '\\' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ')' | ',' if depth == 0 => {
                arguments.extend(code.get(start..at));
                start = at + 1;
                if c == ')' {
                    break;
                }
            }
            _ => {}
        }
        before = c;
    }
    arguments
}

#[test]
fn the_fields_of_other_kinds_are_in_their_crds() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/crds");
    let root = std::env::var_os("CAPSTAN_CRDS").map_or(beside, PathBuf::from);
    if root.exists() {
        assert_eq!(foreign_faults(&root), [""; 0]);
    }
}

#[test]
fn a_field_that_no_kind_has_is_found() {
    let sources = [
        (
            "reconcile/a.rs",
            "live.at(&[\"spec\", \"identityReference\", name]); patch[\"status\"][\"readi\"] = x;
             status[\"readyy\"] = y; live.list(&[\n\"status\",\n\"resources\",\n])",
        ),
        ("api/fleet/b.rs", "[\"spec\", \"resources\"]"),
        (
            "expand/c.rs",
            "b.value(\"network.podCidr\"); pool.with(properties(b, \"x\"), \"properties\"); b.items(\"nodepools\")",
        ),
    ];
    let expected = [
        "src/reconcile/a.rs: no kind has spec.identityReference",
        "src/reconcile/a.rs: no kind has status.readi",
        "src/reconcile/a.rs: no kind has status.readyy",
        "src/api/fleet/b.rs: no kind has spec.resources",
        "src/expand/c.rs: a definition has no network.podCidr",
        "src/expand/c.rs: a definition has no nodepools",
    ];
    assert_eq!(faults(&sources), expected);
}

/// The test would pass if it found nothing to look at.
pub(super) fn counted(sources: Sources<'_>) -> BTreeMap<&'static str, usize> {
    let all = sources
        .iter()
        .map(|(file, code)| literals(code, file.starts_with("reconcile/")).len());
    let expand = sources
        .iter()
        .filter(|(file, _)| file.starts_with("expand/"));
    let expand = expand.flat_map(|(_, code)| CALLS.iter().map(|call| arguments(code, *call).len()));
    BTreeMap::from([("literals", all.sum()), ("expand", expand.sum())])
}
