//! What a pull request of one team could try.

mod fields;

use std::sync::Arc;

use crate::api::fleet::{FleetPolicy, Tenant};
use crate::compile::compile_by;
use crate::model::Tree;

const SUBSCRIPTION: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
const OTHER: &str = "99999999-52a4-4b6b-9a51-2f1f0d9c7a10";

/// Two teams with limits, and the platform without.
fn policy() -> FleetPolicy {
    let list = |items: &[&str]| Some(items.iter().map(|item| (*item).to_owned()).collect());
    let team = |path: &str, namespace: &str, identity: &str| Tenant {
        path: path.to_owned(),
        namespaces: list(&[namespace]),
        subscriptions: list(&[SUBSCRIPTION]),
        identities: list(&[identity]),
        client_ids: list(&["5a0c1f5e-8d2b-4f0e-9c57-2b7f4d1e6a90"]),
        kinds: None,
    };
    let platform = Tenant {
        path: "platform".to_owned(),
        ..Tenant::default()
    };
    FleetPolicy {
        root: "fleet".to_owned(),
        tenants: vec![
            team("teams/a/**", "team-a", "team-a/id"),
            team("teams/b", "team-b", "team-b/id"),
            platform,
        ],
        ..FleetPolicy::default()
    }
}

/// The findings about tenants in files of the fleet as `path:line:column id`.
fn reported_by(policy: &FleetPolicy, files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| {
        let text = text.replace("MINE", SUBSCRIPTION).replace("THEIRS", OTHER);
        (
            Arc::from(format!("fleet/{path}")),
            Arc::from(text.as_bytes()),
        )
    });
    let tree = Tree {
        files: files.collect(),
        ..Tree::default()
    };
    let findings = compile_by(policy, &tree, &[]).checked.findings.into_iter();
    let findings = findings.filter(|finding| finding.id.starts_with('T') && finding.id != "T07");
    let place = |finding: crate::model::Finding| {
        let span = finding.span.expect("a place");
        let path = span.path.trim_start_matches("fleet/").to_owned();
        format!(
            "{path}:{}:{} {}",
            span.start.line, span.start.column, finding.id
        )
    };
    findings.map(place).collect()
}

/// The ids of what is reported of team a's file.
fn ids(text: &str) -> Vec<String> {
    let reported = reported_by(&policy(), &[("teams/a/x.yaml", text)]);
    let ids = reported
        .iter()
        .filter_map(|one| Some(one.rsplit_once(' ')?.1.to_owned()));
    ids.collect()
}

fn definition(name: &str, namespace: &str, more: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{of: {namespace}}}}}\nspec:\n  location: uksouth\n  subscriptionID: MINE\n  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31\n  identityRef: {{name: id}}\n  version: {{id: \"4.20\"}}\n  nodePools: [{{name: np1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}}]\n{more}"
    )
}

fn overlay(spec: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {{name: o}}\nspec: {spec}\n"
    )
}

#[test]
fn a_team_that_keeps_to_its_own_is_told_nothing() {
    let own = definition("one", "team-a", "  externalAuth: {clientID: app}\n");
    assert_eq!(ids(&own), [""; 0]);
    assert_eq!(
        ids("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}}"),
        [""; 0]
    );
}

#[test]
fn a_file_that_nobody_has_is_refused() {
    let own = "{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: team-a}}";
    for (path, reported) in [
        ("teams/a/deep/x.yaml", 0),
        ("teams/c/x.yaml", 1),
        ("Teams/a/x.yaml", 1),
        ("x.yaml", 1),
        ("teams/a.yaml", 1),
    ] {
        assert_eq!(
            reported_by(&policy(), &[(path, own)]).len(),
            reported,
            "{path}"
        );
    }
    assert_eq!(
        reported_by(&policy(), &[("x.yaml", "")]),
        ["x.yaml:1:1 T01"]
    );
    assert_eq!(
        reported_by(&FleetPolicy::default(), &[("x.yaml", own)]),
        [""; 0]
    );
}

#[test]
fn objects_of_others_are_out_of_reach() {
    for (text, reported) in [
        // Its own id twice, a takeover, and a move of the other's file below the own path.
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-b}}",
            "T02",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-b, annotations: {capstan.dev/adopt: 'true'}}}",
            "T02",
        ),
        // What is left out means the namespace `default`.
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
            "T02",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: Team-A}}",
            "T02",
        ),
        (
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-b}}]}",
            "T02",
        ),
        (
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-b}}]}]}",
            "T02",
        ),
        (
            "{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}",
            "T03",
        ),
        (
            "{apiVersion: v1, kind: namespace, metadata: {name: x, namespace: team-a}}",
            "T03",
        ),
        (
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}}",
            "T03",
        ),
        // The cluster may know that it has no namespace.
        (
            "{apiVersion: x.dev/v1, kind: Realm, metadata: {name: x, namespace: team-a}}",
            "T03",
        ),
        (
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: realms.x.dev}, spec: {group: x.dev, scope: Namespaced, names: {kind: Realm}}}",
            "T03",
        ),
    ] {
        assert_eq!(ids(text), [reported], "{text}");
    }
    assert_eq!(
        ids(&definition("one", "team-b", ""))
            .first()
            .map(String::as_str),
        Some("T02")
    );
}

#[test]
fn what_the_platform_defines_in_namespaces_may_be_used() {
    let defines = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: realms.x.dev}, spec: {group: x.dev, scope: Namespaced, names: {kind: Realm}}}";
    let uses = "{apiVersion: x.dev/v1, kind: Realm, metadata: {name: x, namespace: team-a}}";
    let files = [("platform/x.yaml", defines), ("teams/a/x.yaml", uses)];
    assert_eq!(reported_by(&policy(), &files), [""; 0]);
}

/// An AROCluster of team a that carries this.
fn carrier(resource: &str) -> String {
    format!(
        "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {{name: c, namespace: team-a}}, spec: {{resources: [{resource}]}}}}"
    )
}

#[test]
fn what_is_carried_is_judged_as_what_stands_alone() {
    for (resource, reported) in [
        (
            "apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: g}",
            &[][..],
        ),
        (
            "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: all}",
            &["T03"],
        ),
        (
            "apiVersion: v1, kind: ConfigMap, metadata: {name: m}",
            &["T03"],
        ),
        (
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: all}",
            &["T03", "T05"],
        ),
        (
            "apiVersion: v1, kind: Secret, metadata: {name: aso-credential}",
            &["T03", "T05"],
        ),
        (
            "apiVersion: managedidentity.azure.com/v1api20230131, kind: UserAssignedIdentity, metadata: {name: i}, spec: {operatorSpec: {secretExpressions: [{name: aso-credential, key: k, value: v}]}}",
            &["T05"],
        ),
        (
            "apiVersion: managedidentity.azure.com/v1api20230131, kind: UserAssignedIdentity, metadata: {name: i}, spec: {operatorSpec: {secrets: {clientId: {name: aso-credential, key: k}}}}",
            &["T05"],
        ),
    ] {
        assert_eq!(
            ids(&carrier(&format!("{{{resource}}}"))),
            reported,
            "{resource}"
        );
    }
    let mut policy = policy();
    let kinds = ["AROCluster.infrastructure.cluster.x-k8s.io", "Namespace"];
    policy.tenants[0].kinds = Some(kinds.map(str::to_owned).into());
    let takeover = carrier("{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}");
    let reported = reported_by(&policy, &[("teams/a/x.yaml", &takeover)]);
    assert_eq!(reported, ["teams/a/x.yaml:1:183 T02"]);
}

#[test]
fn what_a_patch_puts_into_a_definition_is_named() {
    let mut policy = policy();
    let kinds = ["ClusterDefinition", "Overlay"];
    policy.tenants[0].kinds = Some(kinds.map(str::to_owned).into());
    let reported = |patch: &str| {
        let patch = format!(
            "{{selector: {{matchLabels: {{of: team-a}}}}, patches: [{{target: {{kind: AROCluster}}, json6902: [{patch}]}}]}}"
        );
        let (own, patch) = (definition("one", "team-a", ""), overlay(&patch));
        let files = [("teams/a/x.yaml", own.as_str()), ("teams/a/y.yaml", &patch)];
        let reported = reported_by(&policy, &files);
        let at = |one: &String| one.split_once(' ').expect("an id").1.to_owned();
        reported.iter().map(at).collect::<Vec<_>>()
    };
    let added = "{op: add, path: /spec/resources/-, value: {apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {name: more}}}";
    assert_eq!(reported(added), ["T03"]);
    let turned = "{op: replace, path: /spec/resources/0/kind, value: Vault}, {op: replace, path: /spec/resources/0/apiVersion, value: keyvault.azure.com/v1api20230701}";
    assert!(reported(turned).contains(&"T03".to_owned()));
    let edited = "{op: add, path: /spec/resources/0/spec/tags, value: {a: b}}";
    assert_eq!(reported(edited), [""; 0]);
}

#[test]
fn a_wrong_namespace_is_told_once() {
    let other =
        definition("one", "team-b", "").replace("{name: id}", "{name: id, namespace: team-a}");
    assert_eq!(ids(&other), ["T02"]);
}

#[test]
fn what_lives_in_no_namespace_and_is_named_needs_none() {
    let mut policy = policy();
    policy.tenants[0].kinds = Some(vec!["Realm.x.dev".to_owned(), "Namespace".to_owned()]);
    let reported = |text: &str| reported_by(&policy, &[("teams/a/x.yaml", text)]).len();
    assert_eq!(
        reported("{apiVersion: x.dev/v1, kind: Realm, metadata: {name: x}}"),
        0
    );
    let in_other = "{apiVersion: x.dev/v1, kind: Realm, metadata: {name: x, namespace: team-b}}";
    assert_eq!(reported(in_other), 1);
    assert_eq!(
        reported("{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}"),
        1
    );
    // A namespace of its own, which nobody asks for, opens nothing.
    let named =
        "{apiVersion: x.dev/v1, kind: Realm, metadata: {name: x}, spec: {namespace: default}}";
    assert_eq!(reported(named), 1);
}

#[test]
fn directories_of_overlays_are_no_tenant_s() {
    let file = |path: &str, text: String| (Arc::from(path), Arc::from(text.as_bytes()));
    let everywhere = overlay("{merge: {version: {channelGroup: fast}}}");
    let own = definition("one", "team-b", "").replace("MINE", SUBSCRIPTION);
    let tree = Tree {
        files: [file("fleet/teams/b/x.yaml", own)].into(),
        ..Tree::default()
    };
    // Outside of the fleet, where a tenant's path means nothing.
    let shipped = Tree {
        files: [file("teams/a/o.yaml", everywhere)].into(),
        ..Tree::default()
    };
    let findings = compile_by(&policy(), &tree, &[shipped]).checked.findings;
    let reported = findings.iter().filter(|one| one.id.starts_with('T'));
    assert_eq!(reported.count(), 0, "{findings:?}");
}

#[test]
fn an_overlay_stays_with_its_team() {
    let (a, b) = (
        definition("one", "team-a", ""),
        definition("two", "team-b", ""),
    );
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-b}}";
    let reported = |path: &str, spec: &str| {
        let files = [
            ("teams/a/one.yaml", a.as_str()),
            ("teams/b/two.yaml", &b),
            ("teams/b/map.yaml", map),
            (path, &overlay(spec)),
        ];
        reported_by(&policy(), &files)
    };
    let path = "teams/a/overlay.yaml";
    let refused = ["teams/a/overlay.yaml:3:18 T06"];
    let merge = "{merge: {version: {channelGroup: fast}}}";
    assert_eq!(reported(path, merge), refused);
    assert_eq!(reported("platform/overlay.yaml", merge), [""; 0]);
    let own = "{selector: {matchLabels: {of: team-a}}, merge: {version: {channelGroup: fast}}}";
    assert_eq!(reported(path, own), [""; 0]);
    // A removal leaves no trace in what it is removed from.
    let patch =
        |target: &str| format!("{{patches: [{{target: {target}, patch: {{data: null}}}}]}}");
    assert_eq!(reported(path, &patch("{kind: ConfigMap}")), refused);
    assert_eq!(reported(path, &patch("{kind: Vault}")), refused);
    assert_eq!(
        reported(path, &patch("{kind: AROCluster, namespace: team-a}")),
        [""; 0]
    );
    // What it sets is judged where it ends up.
    let sets = "{selector: {matchLabels: {of: team-a}}, precedence: Enforced, merge: {subscriptionID: THEIRS}}";
    assert_eq!(reported(path, sets), ["teams/a/overlay.yaml:4:93 T04"]);
}

#[test]
fn a_file_is_held_to_every_tenant_and_kinds_are_of_what_is_written() {
    let mut policy = policy();
    let kinds = |kinds: &[&str]| Some(kinds.iter().map(|kind| (*kind).to_owned()).collect());
    policy.tenants.push(Tenant {
        path: "teams/**/x.yaml".to_owned(),
        kinds: kinds(&["ClusterDefinition"]),
        ..Tenant::default()
    });
    let reported = |text: &str| reported_by(&policy, &[("teams/a/x.yaml", text)]);
    assert_eq!(reported(&definition("one", "team-a", "")), [""; 0]);
    assert_eq!(
        reported(&definition("one", "team-b", ""))[0],
        "teams/a/x.yaml:3:18 T02"
    );
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-a}}";
    assert_eq!(reported(map), ["teams/a/x.yaml:1:52 T03"]);
    let false_friend = "{apiVersion: evil.dev/v1, kind: ClusterDefinition, metadata: {name: x, namespace: team-a}}";
    assert!(
        reported(false_friend)
            .iter()
            .all(|one| one.ends_with("T03"))
    );
    assert_eq!(
        reported(&overlay("{merge: {}}")),
        ["teams/a/x.yaml:3:18 T03"]
    );
    let smuggled = "{patches: [{target: {kind: AROCluster}, json6902: [{op: add, path: /spec/resources/-, value: {apiVersion: compute.azure.com/v1, kind: VirtualMachine, metadata: {name: vm}}}]}]}";
    let files = [
        ("teams/a/x.yaml", definition("one", "team-a", "")),
        ("teams/a/o.yaml", overlay(smuggled)),
    ];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    assert!(
        reported_by(&policy, &files)
            .iter()
            .any(|one| one.ends_with("T03"))
    );
}

#[test]
fn a_fleet_in_the_tree_is_refused_wherever_it_hides() {
    let fleet =
        "{apiVersion: capstan.dev/v1alpha1, kind: Fleet, metadata: {name: f}, spec: {tenancy: []}}";
    let list = format!("{{apiVersion: v1, kind: List, items: [{fleet}]}}");
    for text in [fleet, &list] {
        let tree = Tree {
            files: [(Arc::from("platform/f.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let findings = compile_by(&policy(), &tree, &[]).checked.findings;
        assert!(findings.iter().any(|one| one.id == "Y12"), "{findings:?}");
    }
}
