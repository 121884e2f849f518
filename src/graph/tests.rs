//! Small fleets and the graphs they make.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::api::fleet::OutsideObject;
use crate::model::{Finding, Object};

fn objects(yaml: &str) -> Vec<Object> {
    let (documents, findings) = crate::yaml::read(&Arc::from("fleet.yaml"), yaml.as_bytes());
    assert_eq!(findings, [], "the test's YAML is sound");
    documents
        .into_iter()
        .filter_map(|document| Object::from_node(document, "ns"))
        .collect()
}

fn built(yaml: &str) -> (Graph, Vec<Finding>) {
    build(&objects(yaml))
}

/// `Kind/name -> Kind/name until executor`, sorted.
fn edges(graph: &Graph) -> Vec<String> {
    let name = |at: usize| {
        format!(
            "{}/{}",
            graph.vertices[at].id.kind, graph.vertices[at].id.name
        )
    };
    let mut lines: Vec<String> = graph
        .edges
        .iter()
        .filter(|edge| graph.vertices[edge.to].id.kind != "Namespace")
        .map(|edge| {
            format!(
                "{} -> {} {:?} {:?}",
                name(edge.from),
                name(edge.to),
                edge.until,
                edge.executor
            )
        })
        .collect();
    lines.sort();
    lines
}

fn reported(findings: &[Finding]) -> Vec<String> {
    let place = |finding: &Finding| {
        finding
            .span
            .as_ref()
            .map(|span| span.start.line)
            .unwrap_or_default()
    };
    let reported = findings
        .iter()
        .filter(|finding| !finding.message.contains("Namespace/"));
    reported
        .map(|finding| format!("{} {}: {}", finding.id, place(finding), finding.message))
        .collect()
}

const CLUSTER: &str = "\
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c}, spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AROControlPlane, name: c}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AROCluster, name: c}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AROControlPlane
metadata: {name: c}
spec:
  identityRef: {kind: AzureClusterIdentity, name: id}
  resources:
  - {apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {name: c}, spec: {owner: {name: rg}}}
  - {apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftClustersExternalAuth, metadata: {name: ea}, spec: {owner: {name: c}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AROCluster
metadata: {name: c}
spec:
  resources:
  - {apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg}, spec: {location: uksouth}}
  - {apiVersion: managedidentity.azure.com/v1api20230131, kind: UserAssignedIdentity, metadata: {name: kms}, spec: {owner: {name: rg}, operatorSpec: {configMaps: {principalId: {name: map-kms, key: principalId}}}}}
  - {apiVersion: authorization.azure.com/v1api20220401, kind: RoleAssignment, metadata: {name: role}, spec: {owner: {group: resources.azure.com, kind: ResourceGroup, name: rg}, principalIdFromConfig: {name: map-kms, key: principalId}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AROMachinePool
metadata: {name: mp}
spec:
  resources:
  - {apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftClustersNodePool, metadata: {name: mp}, spec: {owner: {name: c}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {name: mp}, spec: {clusterName: c, template: {spec: {bootstrap: {dataSecretName: c-kubeconfig}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AROMachinePool, name: mp}}}}}
";

#[test]
fn nothing_without_a_name_is_outside() {
    let cluster = |name: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AROCluster\nmetadata: {{name: a}}\nspec: {{identityRef: {{kind: AzureClusterIdentity, name: {name}}}}}\n"
        )
    };
    assert_eq!(reported(&built(&cluster("\"\"")).1), [""; 0]);
    assert_eq!(reported(&built(&cluster("id")).1).len(), 1);
}

#[test]
fn references_of_the_previous_contract_are_the_same() {
    let older = ["infrastructure", "controlplane"]
        .iter()
        .fold(CLUSTER.to_owned(), |text, of| {
            let group = format!("apiGroup: {of}.cluster.x-k8s.io");
            text.replace(
                &group,
                &format!("apiVersion: {of}.cluster.x-k8s.io/v1beta2"),
            )
        });
    let older = older.replace(
        "{apiVersion: cluster.x-k8s.io/v1beta2",
        "{apiVersion: cluster.x-k8s.io/v1beta1",
    );
    assert_ne!(older, CLUSTER);
    assert_eq!(edges(&built(&older).0), edges(&built(CLUSTER).0));
}

#[test]
fn a_cluster_has_its_order_its_references_and_its_gates() {
    let (graph, findings) = built(CLUSTER);
    let expected = [
        "AROCluster/c -> HcpOpenShiftCluster/c Ready Nobody",
        "AROControlPlane/c -> AROCluster/c Applied Sync",
        "AROControlPlane/c -> AzureClusterIdentity/id Applied Sync",
        "AROMachinePool/mp -> AROCluster/c Applied Sync",
        "AROMachinePool/mp -> AROControlPlane/c Applied Sync",
        "Cluster/c -> AROCluster/c Applied Sync",
        "Cluster/c -> AROCluster/c Ready Nobody",
        "Cluster/c -> AROControlPlane/c Applied Sync",
        "Cluster/c -> AROMachinePool/mp Applied Sync",
        "Cluster/c -> HcpOpenShiftCluster/c Ready Nobody",
        "Cluster/c -> MachinePool/mp Ready Nobody",
        "HcpOpenShiftCluster/c -> ResourceGroup/rg Ready Controller",
        "HcpOpenShiftCluster/c -> RoleAssignment/role Ready Controller",
        "HcpOpenShiftClustersExternalAuth/ea -> HcpOpenShiftCluster/c Ready Controller",
        "HcpOpenShiftClustersExternalAuth/ea -> HcpOpenShiftClustersNodePool/mp Ready Controller",
        "HcpOpenShiftClustersNodePool/mp -> HcpOpenShiftCluster/c Ready Controller",
        "MachinePool/mp -> AROCluster/c Applied Sync",
        "MachinePool/mp -> AROControlPlane/c Applied Sync",
        "MachinePool/mp -> AROMachinePool/mp Applied Sync",
        "MachinePool/mp -> AROMachinePool/mp Ready Nobody",
        "MachinePool/mp -> Cluster/c Applied Sync",
        "MachinePool/mp -> HcpOpenShiftCluster/c Ready Controller",
        "RoleAssignment/role -> ResourceGroup/rg Ready Controller",
        "RoleAssignment/role -> UserAssignedIdentity/kms Ready Controller",
        "UserAssignedIdentity/kms -> ResourceGroup/rg Ready Controller",
    ];
    assert_eq!(edges(&graph), expected);
    assert_eq!(
        reported(&findings),
        ["R04 7: AzureClusterIdentity/ns/id is not in the fleet, so it must exist in the cluster"]
    );
    let order: Vec<&str> = graph
        .apply_order()
        .iter()
        .map(|at| graph.vertices[*at].id.kind.as_str())
        .collect();
    assert_eq!(
        order,
        [
            "AROCluster",
            "AROControlPlane",
            "AROMachinePool",
            "Cluster",
            "MachinePool"
        ]
    );
    assert_eq!(graph.clusters().len(), 1);
}

#[test]
fn a_hosted_cluster_comes_before_its_pools_and_needs_its_secrets() {
    let (graph, findings) = built(
        "{apiVersion: hypershift.openshift.io/v1beta1, kind: NodePool, metadata: {name: c-a},
 spec: {clusterName: c, config: [{name: tuned}]}}
---
{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {name: c},
 spec: {pullSecret: {name: pull}, sshKey: {name: ssh}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pull}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: tuned}}
---
{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {name: alone,
 annotations: {config.kubernetes.io/depends-on: hypershift.openshift.io/namespaces/ns/NodePool/c-a,
  capstan.dev/private-link-identity: ids/guests, capstan.dev/private-link-credential-from: pull}}, spec: {}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: guests, namespace: ids}}
",
    );
    let outside = "R04 5: Secret/ns/ssh is not in the fleet, so it must exist in the cluster";
    assert_eq!(reported(&findings), [outside]);
    let expected = [
        "HostedCluster/alone -> AzureClusterIdentity/guests Applied Sync",
        "HostedCluster/alone -> NodePool/c-a Ready Sync",
        "HostedCluster/alone -> Secret/pull Applied Sync",
        "HostedCluster/c -> Secret/pull Applied Sync",
        "HostedCluster/c -> Secret/ssh Applied Sync",
        "NodePool/c-a -> ConfigMap/tuned Applied Sync",
        "NodePool/c-a -> HostedCluster/c Applied Sync",
    ];
    assert_eq!(edges(&graph), expected);
    let name = |at: &usize| graph.vertices[*at].id.name.as_str();
    let clusters: Vec<Vec<&str>> = graph
        .clusters()
        .map(|members| members.iter().map(name).collect())
        .collect();
    assert_eq!(clusters, [vec!["c-a", "c"], vec!["alone"]]);
}

#[test]
fn the_critical_path_is_the_longest_and_waits_for_roles_to_settle() {
    let (graph, _) = built(CLUSTER);
    let typical = |_: usize, id: &ObjectId| {
        Pace::Pending(Duration::from_secs(match id.kind.as_str() {
            "ResourceGroup" | "UserAssignedIdentity" | "RoleAssignment" => 10,
            "HcpOpenShiftCluster" => 500,
            "HcpOpenShiftClustersNodePool" => 400,
            "HcpOpenShiftClustersExternalAuth" => 50,
            _ => 0,
        }))
    };
    let schedule = Schedule::new(&graph, typical, Duration::from_secs(120));
    let path: Vec<&str> = schedule
        .critical_path(&graph)
        .iter()
        .map(|at| graph.vertices[*at].id.kind.as_str())
        .collect();
    let through = [
        "ResourceGroup",
        "UserAssignedIdentity",
        "RoleAssignment",
        "HcpOpenShiftCluster",
        "HcpOpenShiftClustersNodePool",
        "HcpOpenShiftClustersExternalAuth",
    ];
    assert_eq!(path, through);
    assert_eq!(
        schedule.total(),
        Duration::from_secs(10 + 10 + 10 + 120 + 500 + 400 + 50)
    );
}

#[test]
fn what_is_done_or_running_no_longer_counts_from_the_start() {
    let (graph, _) = built(CLUSTER);
    let pace = |_: usize, id: &ObjectId| match id.kind.as_str() {
        "ResourceGroup" | "UserAssignedIdentity" | "RoleAssignment" => Pace::Done,
        "HcpOpenShiftCluster" => Pace::Running(Duration::from_secs(30)),
        "HcpOpenShiftClustersNodePool" => Pace::Pending(Duration::from_secs(400)),
        _ => Pace::Pending(Duration::ZERO),
    };
    let schedule = Schedule::new(&graph, pace, Duration::from_secs(120));
    assert_eq!(schedule.total(), Duration::from_secs(430));
}

#[test]
fn raw_azure_objects_wait_for_their_owner_to_be_ready() {
    let (graph, _) = built(
        "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg}, spec: {location: uksouth}}\n---\n{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v}, spec: {owner: {name: rg}}}\n",
    );
    assert_eq!(edges(&graph), ["Vault/v -> ResourceGroup/rg Ready Sync"]);
}

#[test]
fn a_reference_to_nothing_is_an_error_that_names_the_nearest() {
    let (_, findings) = built(
        "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: prod-rg}}\n---\napiVersion: keyvault.azure.com/v1api20230701\nkind: Vault\nmetadata: {name: v}\nspec:\n  owner: {name: prd-rg}\n",
    );
    assert_eq!(
        reported(&findings),
        ["R01 7: owner names ResourceGroup/ns/prd-rg, which is not in the fleet"]
    );
    let help = findings
        .iter()
        .find(|finding| finding.id == "R01")
        .and_then(|finding| finding.help.as_deref());
    assert!(
        help.is_some_and(|help| help.contains("did you mean `prod-rg`")),
        "{help:?}"
    );
}

#[test]
fn a_reference_with_the_wrong_group_points_at_the_group() {
    let (_, findings) = built(
        "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: c}}\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c}\nspec:\n  infrastructureRef:\n    apiGroup: infrastructur.cluster.x-k8s.io\n    kind: AROCluster\n    name: c\n",
    );
    assert_eq!(
        reported(&findings),
        [
            "R01 8: infrastructureRef names AROCluster/ns/c of the group `infrastructur.cluster.x-k8s.io`, which is not in the fleet"
        ]
    );
}

#[test]
fn objects_outside_are_not_missing() {
    let text = "{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v}, spec: {owner: {name: rg}}}\n";
    let outside = |group: Option<&str>, kind: &str, name: &str| OutsideObject {
        group: group.map(str::to_owned),
        kind: kind.to_owned(),
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    };
    let entries = [
        outside(Some("resources.azure.com"), "ResourceGroup", "rg"),
        outside(None, "ResourceGroup", "other"),
        outside(None, "Vault", "v"),
    ];
    let (graph, findings) = build_beside(&objects(text), &[], &entries);
    assert_eq!(edges(&graph), ["Vault/v -> ResourceGroup/rg Applied Sync"]);
    assert!(findings.iter().all(|found| found.id != "R01"));
    let useless = findings.iter().filter(|found| found.id == "R05");
    let useless: Vec<&str> = useless.map(|found| found.message.as_str()).collect();
    assert_eq!(
        useless,
        [
            "`outside` in the Fleet document names ResourceGroup/ns/other, to which nothing refers",
            "`outside` in the Fleet document names Vault/ns/v, which is in the fleet",
        ]
    );
    let wrong = [outside(Some("example.com"), "ResourceGroup", "rg")];
    let (_, findings) = build_beside(&objects(text), &[], &wrong);
    assert_eq!(findings.iter().filter(|f| f.id == "R01").count(), 1);
}

#[test]
fn what_depends_on_cannot_read_is_an_error() {
    let (_, findings) = built(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/depends-on: 'rubbish, //x'}}}\n",
    );
    let expected = [
        "R01 1: depends-on: `rubbish` is not an object reference",
        "R01 1: depends-on: `//x` is not an object reference",
    ];
    assert_eq!(reported(&findings), expected);
}

#[test]
fn a_cycle_is_printed_whole() {
    let yaml = ["a", "b", "c"].iter().zip(["b", "c", "a"]).map(|(name, next)| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, annotations: {{config.kubernetes.io/depends-on: /namespaces/ns/ConfigMap/{next}}}}}}}\n")
    });
    let yaml = yaml.collect::<Vec<_>>().join("---\n")
        + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: d, annotations: {config.kubernetes.io/depends-on: /namespaces/ns/ConfigMap/a}}}\n";
    let (graph, findings) = built(&yaml);
    assert_eq!(
        reported(&findings),
        [
            "R02 1: dependency cycle: ConfigMap/ns/a -> ConfigMap/ns/b -> ConfigMap/ns/c -> ConfigMap/ns/a"
        ]
    );
    assert!(
        graph.apply_order().is_empty(),
        "nothing of a cycle, or behind it, can be applied"
    );
}

#[test]
fn custom_objects_come_behind_their_definition() {
    let (graph, _) = built(
        "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}\n---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget}}}\n",
    );
    assert_eq!(
        edges(&graph),
        ["Widget/w -> CustomResourceDefinition/widgets.example.com Ready Sync"]
    );
    let order: Vec<&str> = graph
        .apply_order()
        .iter()
        .map(|at| graph.vertices[*at].id.kind.as_str())
        .collect();
    assert_eq!(order, ["CustomResourceDefinition", "Widget"]);
}

#[test]
fn text_and_dot_show_every_object_and_mark_the_path() {
    let (graph, _) = built(CLUSTER);
    let schedule = Schedule::new(
        &graph,
        |_, _| Pace::Pending(Duration::from_secs(60)),
        Duration::ZERO,
    );
    let (text, dot) = (text(&graph, &schedule), dot(&graph, &schedule));
    for vertex in &graph.vertices {
        assert!(text.contains(&vertex.id.to_string()), "{}", vertex.id);
    }
    assert!(text.contains("critical path,") && text.contains("* "));
    assert_eq!(dot.matches(" [label=\"").count(), graph.vertices.len());
    assert!(dot.contains("style=bold") && dot.contains("style=dashed"));
}

/// `name` depends on `on`.
fn link(name: &str, on: &str) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, annotations: {{config.kubernetes.io/depends-on: /namespaces/ns/ConfigMap/{on}}}}}}}\n"
    )
}

#[test]
fn each_knot_is_told_once_and_the_way_between_them_is_none() {
    let pairs = [
        ("a", "b"),
        ("b", "a"),
        ("way", "a"),
        ("c", "d"),
        ("d", "c"),
        ("self", "self"),
    ];
    let fleet: String = pairs.map(|(name, on)| link(name, on)).concat();
    let (_, findings) = built(&fleet);
    let reported: Vec<String> = reported(&findings);
    assert_eq!(
        reported,
        [
            "R02 2: dependency cycle: ConfigMap/ns/a -> ConfigMap/ns/b -> ConfigMap/ns/a",
            "R02 8: dependency cycle: ConfigMap/ns/c -> ConfigMap/ns/d -> ConfigMap/ns/c",
            "R02 12: dependency cycle: ConfigMap/ns/self -> ConfigMap/ns/self",
        ]
    );
}

#[test]
fn thousands_of_cycles_and_of_references_to_nothing_are_told() {
    let pair = |at: usize| {
        let (one, two) = (format!("a{at}"), format!("b{at}"));
        let lost = link(&format!("c{at}"), "none");
        let lost = lost.replace("/namespaces/ns/ConfigMap/", "x.dev/namespaces/ns/Thing/");
        link(&one, &two) + &link(&two, &one) + &lost
    };
    let fleet: String = (0..2000).map(pair).collect();
    let objects = objects(&fleet);
    let (_, findings) = build(&objects);
    let count = |id| findings.iter().filter(|finding| finding.id == id).count();
    assert_eq!((count("R01"), count("R02")), (2000, 2000));
}
