//! Objects that take along what is in them.

use super::*;

/// The title and the lines with U07 of a change.
fn refusals(old: &str, new: &str) -> (String, Vec<String>) {
    let set = ApplySet::new("f", "default");
    let old = compiled(old);
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let mut new = compiled(new);
    new.findings.clear();
    let approvals = Approvals::default();
    let check = merged(&set, &new, Some(("o", Some(&before))), None, &approvals);
    let lines = check.summary.lines().filter(|line| line.contains("U07"));
    let lines = lines.map(|line| line.replace('\\', "")).collect();
    (check.title, lines)
}

/// What is left when the objects before it go.
fn rest() -> String {
    config_map("stays", "x")
}

const ALONE: &str =
    "leaves the fleet and is deleted, with everything in it that the fleet does not have";

#[test]
fn what_leaves_alone_takes_along_what_nobody_looked_at() {
    let namespace = |policy: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: shared, annotations: {{capstan.dev/deletion-policy: {policy}}}}}}}\n"
        )
    };
    let inside = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shared}}\n";
    let group = |policy: &str| {
        format!(
            "---\n{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: rg, namespace: shared, annotations: {{serviceoperator.azure.com/reconcile-policy: {policy}}}}}, spec: {{location: uksouth, azureName: prod-rg}}}}\n"
        )
    };
    let vault = "---\n{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v, namespace: shared}, spec: {owner: {name: rg}, azureName: prod-v}}\n";
    // A cluster in the resource group, and one beside it that uses a network in it.
    let cluster = |spec: &str| {
        format!(
            "---\n{{apiVersion: redhatopenshift.azure.com/v1api20240610preview, kind: HcpOpenShiftCluster, metadata: {{name: c, namespace: shared, annotations: {{capstan.dev/deletion-policy: Delete}}}}, spec: {{{spec}}}}}\n"
        )
    };
    let inside_it = cluster("owner: {name: rg}");
    let beside_it = cluster(
        "owner: {name: other}, properties: {platform: {subnetId: /subscriptions/s/resourceGroups/prod-rg/providers/Microsoft.Network/virtualNetworks/n/subnets/s}}",
    );
    let carrier = "---\n{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: c, namespace: shared}, spec: {resources: [{apiVersion: redhatopenshift.azure.com/v1api20240610preview, kind: HcpOpenShiftCluster, metadata: {name: c}, spec: {owner: {name: rg}}}]}}\n";
    let definition = "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, names: {kind: Thing, plural: things}, scope: Namespaced, versions: []}}\n";
    let thing =
        "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: default}}\n";
    for (gone, stays, expected) in [
        (namespace("Delete"), String::new(), true),
        (namespace("Orphan"), String::new(), false),
        (namespace("Delete") + inside, String::new(), false),
        (group("manage"), String::new(), true),
        (group("skip"), String::new(), false),
        (group("manage") + vault, String::new(), true),
        (group("manage") + &inside_it, String::new(), false),
        (group("manage") + &beside_it, String::new(), false),
        (
            group("manage") + &cluster("owner: {name: other}"),
            String::new(),
            true,
        ),
        (group("manage") + carrier, String::new(), false),
        (definition.to_owned(), String::new(), true),
        (definition.to_owned() + thing, String::new(), false),
        (vault.to_owned(), group("manage"), false),
    ] {
        let stays = rest() + &stays;
        let (title, lines) = refusals(&(stays.clone() + &gone), &stays);
        let is_refused = lines.iter().any(|line| line.contains(ALONE));
        assert_eq!(is_refused, expected, "{title} {lines:?} {gone}");
    }
}

#[test]
fn what_is_named_by_its_arm_id_is_in_use() {
    let vault = "---\n{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v, namespace: c}, spec: {owner: {name: rg}, azureName: prod-v}}\n";
    let group = "---\n{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg, namespace: c}, spec: {location: uksouth}}\n";
    let definition = "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, names: {kind: Thing, plural: things}, scope: Namespaced, versions: []}}\n";
    let user = |spec: &str| {
        format!(
            "---\n{{apiVersion: example.com/v1, kind: Thing, metadata: {{name: t, namespace: default}}, spec: {{{spec}}}}}\n"
        )
    };
    let group_id = "/subscriptions/s/resourceGroups/RG";
    for (gone, spec, expected) in [
        (vault, "vaultName: prod-v".to_owned(), true),
        (vault, "vaultName: other".to_owned(), false),
        (
            vault,
            format!("a: [{{id: {group_id}/providers/Microsoft.KeyVault/vaults/prod-v/keys/k}}]"),
            true,
        ),
        (
            vault,
            "id: /subscriptions/s/resourceGroups/b/providers/Microsoft.KeyVault/vaults/prod-v"
                .to_owned(),
            false,
        ),
        (
            group,
            format!("id: {group_id}/providers/Microsoft.Network/virtualNetworks/n"),
            true,
        ),
        (
            group,
            "id: /subscriptions/rg/resourceGroups/b".to_owned(),
            false,
        ),
        (definition, String::new(), true),
    ] {
        let stays = rest() + &user(&spec);
        let (title, lines) = refusals(&(stays.clone() + gone), &stays);
        let users = "but is used by Thing/default/t (a.yaml:";
        let is_used = lines.iter().any(|line| line.contains(users));
        assert_eq!(is_used, expected, "{title} {lines:?} {gone} {spec}");
    }
}
