//! What fields of a team's files could name: namespaces, subscriptions, identities.

use super::*;

/// A network of the team, with this in its spec.
fn network(spec: &str) -> String {
    format!(
        "{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: net, namespace: team-a}}, spec: {{{spec}}}}}"
    )
}

#[test]
fn nothing_of_another_namespace_is_named() {
    for (kind, more) in [
        (
            "infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: id, namespace: team-a}",
            "spec: {clientSecret: {name: s, namespace: team-b}}",
        ),
        (
            "infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: c, namespace: team-a}",
            "spec: {resources: [{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: g, namespace: team-b}}]}",
        ),
        (
            "v1, kind: ConfigMap, metadata: {name: c, namespace: team-a, annotations: {config.kubernetes.io/depends-on: 'x/namespaces/team-a/Y/z, /namespaces/team-b/Secret/s'}}",
            "data: {}",
        ),
        (
            "v1, kind: ConfigMap, metadata: {name: c, namespace: team-a, annotations: {config.kubernetes.io/depends-on: '/Namespace/team-b'}}",
            "data: {}",
        ),
        (
            "batch/v1, kind: Job, metadata: {name: c, namespace: team-a}",
            "spec: {template: {spec: {a: [{secretNamespace: team-b}]}}}",
        ),
        (
            "batch/v1, kind: Job, metadata: {name: c, namespace: team-a}",
            "spec: {watchNamespaces: [team-a, team-b]}",
        ),
        (
            "batch/v1, kind: Job, metadata: {name: c, namespace: team-a}",
            "spec: {namespaces: ['*']}",
        ),
        (
            "batch/v1, kind: Job, metadata: {name: c, namespace: team-a}",
            "spec: {data: {secretRef: {namespace: team-b}}, labels: [{in: {namespace: team-a}}]}",
        ),
        (
            "batch/v1, kind: Job, metadata: {name: c, namespace: team-a}",
            "spec: {labels: [{of: {namespace: team-b}}]}",
        ),
    ] {
        let text = format!("{{apiVersion: {kind}, {more}}}");
        assert_eq!(ids(&text), ["T02"], "{text}");
    }
    let free = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: team-a, labels: {namespace: team-b}}, data: {namespace: team-b}}";
    assert_eq!(ids(free), [""; 0]);
    let given = "{apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4, kind: AzureClusterIdentity, metadata: {name: id, namespace: team-a}, spec: {allowedNamespaces: [team-b]}}";
    assert_eq!(ids(given), [""; 0]);
}

#[test]
fn no_segment_leads_out_of_a_subscription() {
    const ROLES: &str = "/providers/Microsoft.Authorization/roleDefinitions";
    for (field, reported) in [
        (
            "owner: {armId: /subscriptions/MINE/../THEIRS/resourceGroups/g}".to_owned(),
            1,
        ),
        (
            "owner: {armId: /subscriptions/MINE/%2e%2e/THEIRS}".to_owned(),
            1,
        ),
        (
            "owner: {armId: /subscriptions/MINE/./resourceGroups/g}".to_owned(),
            1,
        ),
        (
            "owner: {armId: /subscriptions/MINE//resourceGroups/g}".to_owned(),
            1,
        ),
        (
            r"owner: {armId: '/subscriptions/MINE/..\THEIRS'}".to_owned(),
            1,
        ),
        (
            "owner: {armId: //subscriptions/MINE/resourceGroups/g}".to_owned(),
            1,
        ),
        ("note: /subscriptions/MINE/../THEIRS".to_owned(), 1),
        (
            "note: 'see https://portal/subscriptions/MINE/x. It is 100% ours.'".to_owned(),
            0,
        ),
        ("azureName: ../../THEIRS".to_owned(), 1),
        ("azureName: a%2fb".to_owned(), 1),
        ("azureName: a.b..c".to_owned(), 0),
        (format!("roleDefinitionReference: {{armId: {ROLES}/x}}"), 0),
        (format!("owner: {{armId: {ROLES}/x}}"), 1),
        (
            format!("roleDefinitionReference: {{armId: {ROLES}/../../x}}"),
            1,
        ),
        (
            format!("roleDefinitionReference: {{armId: {ROLES}/x/providers/y}}"),
            1,
        ),
        (format!("roleDefinitionReference: {{armId: {ROLES}}}"), 1),
    ] {
        assert_eq!(ids(&network(&field)).len(), reported, "{field}");
    }
}

#[test]
fn texts_of_secrets_are_read_as_what_they_say() {
    let secret = |more: &str| {
        format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: s, namespace: team-a}}, {more}}}"
        )
    };
    let mine = "M2YwYzdkM2UtNTJhNC00YjZiLTlhNTEtMmYxZjBkOWM3YTEw";
    for (more, reported) in [
        ("stringData: {AZURE_SUBSCRIPTION_ID: ''}".to_owned(), 0),
        ("stringData: {AZURE_SUBSCRIPTION_ID: THEIRS}".to_owned(), 1),
        (format!("data: {{AZURE_SUBSCRIPTION_ID: {mine}}}"), 0),
        ("data: {AZURE_SUBSCRIPTION_ID: b3RoZXI=}".to_owned(), 1),
        (
            "data: {AZURE_SUBSCRIPTION_ID: 'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'}"
                .to_owned(),
            0,
        ),
    ] {
        assert_eq!(ids(&secret(&more)).len(), reported, "{more}");
    }
}

#[test]
fn an_empty_namespace_of_an_identity_is_the_object_s_own() {
    let plane = "{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: c, namespace: team-a}, spec: {identityRef: {name: id, namespace: ''}}}";
    assert_eq!(ids(plane), [""; 0]);
}

#[test]
fn only_the_subscriptions_of_a_team_are_named() {
    for (owner, reported) in [
        ("owner: {armId: /subscriptions/MINE/resourceGroups/g}", 0),
        (
            "owner: {armId: /SUBSCRIPTIONS/3F0C7D3E-52A4-4B6B-9A51-2F1F0D9C7A10/resourceGroups/g}",
            0,
        ),
        ("owner: {armId: /subscriptions/THEIRS/resourceGroups/g}", 1),
        ("owner: {armId: /Subscriptions/THEIRS}", 1),
        (
            "owner: {armId: /subscriptions/MINE/../../subscriptions/THEIRS}",
            1,
        ),
        (
            "owner: {armId: /providers/Microsoft.Management/managementGroups/all}",
            1,
        ),
        ("owner: {armId: /}", 1),
        (
            "a: {roleDefinitionReference: {armId: /providers/Microsoft.Authorization/roleDefinitions/x}}",
            0,
        ),
        (
            "a: ['see https://management.azure.com/subscriptions/THEIRS/x and more']",
            1,
        ),
        ("a: {subscriptionId: THEIRS}", 1),
        ("a: {AZURE_SUBSCRIPTION_ID: MINE}", 0),
    ] {
        assert_eq!(ids(&network(owner)).len(), reported, "{owner}");
    }
    let other = definition("one", "team-a", "").replace("MINE", "THEIRS");
    assert_eq!(
        reported_by(&policy(), &[("teams/a/x.yaml", &other)]),
        ["teams/a/x.yaml:6:19 T04"]
    );
    let rbac = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: team-a}, rules: [{resources: [subscriptions/status]}]}";
    assert_eq!(ids(rbac), [""; 0]);
}

#[test]
fn only_the_identities_of_a_team_are_used() {
    let of_platform =
        definition("one", "team-a", "").replace("{name: id}", "{name: id, namespace: platform}");
    assert_eq!(
        reported_by(&policy(), &[("teams/a/x.yaml", &of_platform)]),
        ["teams/a/x.yaml:8:23 T05"]
    );
    let credential = definition("one", "team-a", "  credentialFrom: platform\n");
    assert_eq!(
        reported_by(&policy(), &[("teams/a/x.yaml", &credential)]),
        ["teams/a/x.yaml:11:19 T05"]
    );
    for (annotation, reported) in [
        ("private-link-identity: team-a/id", 0),
        ("private-link-identity: platform/id", 1),
        ("private-link-identity: id", 1),
        ("private-link-credential-from: id", 0),
        ("private-link-credential-from: platform", 1),
    ] {
        let hosted = format!(
            "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: h, namespace: team-a, annotations: {{capstan.dev/{annotation}}}}}}}"
        );
        let found = ids(&hosted);
        let found = found.iter().filter(|id| *id == "T05").count();
        assert_eq!(found, reported, "{annotation}");
    }
    for (spec, annotation, reported) in [
        ("topology: Private", "a: b", 1),
        (
            "topology: PublicAndPrivate",
            "capstan.dev/private-link-identity: ''",
            1,
        ),
        (
            "endpointAccess: Private",
            "capstan.dev/nat-subnet-range: 10.0.0.0/24",
            1,
        ),
        (
            "topology: Private",
            "capstan.dev/private-link-credential-from: null",
            1,
        ),
        (
            "topology: Private",
            "capstan.dev/private-link-identity: team-a/id",
            0,
        ),
        (
            "endpointAccess: Private",
            "capstan.dev/private-link-credential-from: id",
            0,
        ),
        ("topology: Public", "a: b", 0),
        ("location: uksouth", "a: b", 0),
        ("topology: Private, private: {type: Swift}", "a: b", 0),
    ] {
        let hosted = format!(
            "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: h, namespace: team-a, annotations: {{{annotation}}}}}, spec: {{platform: {{azure: {{{spec}}}}}}}}}"
        );
        let free = reported_by(&policy(), &[("platform/x.yaml", hosted.as_str())]);
        assert_eq!(free, [""; 0]);
        let found = ids(&hosted);
        let found = found.iter().filter(|id| *id == "T05").count();
        assert!(found >= reported, "{spec}, {annotation}: {found}");
        assert_eq!(found == 0, reported == 0, "{spec}, {annotation}: {found}");
    }
    for (made, reported) in [
        (
            "infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: id, namespace: team-a}",
            0,
        ),
        (
            "infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: all, namespace: team-a}",
            1,
        ),
        (
            "v1, kind: Secret, metadata: {name: aso-credential, namespace: team-a}",
            1,
        ),
    ] {
        assert_eq!(
            ids(&format!("{{apiVersion: {made}}}")).len(),
            reported,
            "{made}"
        );
    }
}

/// The file of an identity says whose it is: its name is the team's, its client may be of another.
#[test]
fn issue_15_an_identity_that_authenticates_as_capstan_has_a_client_of_the_team() {
    let identity = |kind: &str, client: &str| {
        format!(
            "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {{name: id, namespace: team-a}}, spec: {{type: {kind}, clientID: {client}, tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31, clientSecret: {{name: s}}, allowedNamespaces: {{}}}}}}"
        )
    };
    let (own, other) = (
        "5A0C1F5E-8d2b-4f0e-9c57-2b7f4d1e6a90",
        "6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f",
    );
    for kind in ["WorkloadIdentity", "UserAssignedMSI"] {
        assert_eq!(ids(&identity(kind, own)), [""; 0], "{kind}");
        assert_eq!(ids(&identity(kind, other)), ["T08"], "{kind}");
    }
    assert_eq!(ids(&identity("ServicePrincipal", other)), [""; 0]);
}
