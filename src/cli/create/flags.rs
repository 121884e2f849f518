//! Which flag sets which field of a definition.

/// The fields, each with its flag. What is below a field belongs to it.
const FLAGS: &[(&str, &str)] = &[
    ("metadata.name", "--name"),
    ("metadata.namespace", "--namespace"),
    ("metadata.labels", "--label"),
    ("spec.hyperShift.release", "--release"),
    ("spec.hyperShift.baseDomain", "--base-domain"),
    ("spec.hyperShift.pullSecretRef", "--pull-secret"),
    ("spec.hyperShift.sshKeyRef", "--ssh-key"),
    ("spec.hyperShift.controlPlane.cpu", "--control-plane-cpu"),
    (
        "spec.hyperShift.controlPlane.memory",
        "--control-plane-memory",
    ),
    ("spec.hyperShift.agent.namespace", "--agent-namespace"),
    ("spec.hyperShift.azure.location", "--location"),
    ("spec.hyperShift.azure.subscriptionID", "--subscription-id"),
    ("spec.hyperShift.azure.tenantID", "--tenant-id"),
    ("spec.hyperShift.azure.resourceGroup", "--resource-group"),
    ("spec.hyperShift.azure.vnetID", "--vnet-id"),
    ("spec.hyperShift.azure.subnetID", "--subnet-id"),
    (
        "spec.hyperShift.azure.securityGroupID",
        "--security-group-id",
    ),
    ("spec.hyperShift.azure.issuerURL", "--issuer-url"),
    (
        "spec.hyperShift.azure.serviceAccountSigningKeyRef",
        "--service-account-signing-key",
    ),
    (
        "spec.hyperShift.azure.workloadIdentities",
        "--workload-identity",
    ),
    (
        "spec.hyperShift.azure.externalDNSDomain",
        "--external-dns-domain",
    ),
    ("spec.hyperShift.azure.endpointAccess", "--endpoint-access"),
    ("spec.hyperShift.azure.privateConnectivity", NAT_SUBNET),
    (
        "spec.hyperShift.azure.privateConnectivity.allowedSubscriptions",
        "--private-connectivity-allowed-subscriptions",
    ),
    ("spec.hyperShift.azure.identityRef", "--identity-ref"),
    ("spec.hyperShift.azure.credentialFrom", "--credential-from"),
    ("spec.hyperShift.azure.apiShape", "--api-shape"),
    ("spec.nodePools[0].replicas", "--node-pool-replicas"),
    ("spec.nodePools[0].kubeVirt.cores", "--cores"),
    ("spec.nodePools[0].kubeVirt.memory", "--memory"),
    (
        "spec.nodePools[0].kubeVirt.rootVolume.size",
        "--root-volume-size",
    ),
    (
        "spec.nodePools[0].kubeVirt.rootVolume.storageClass",
        "--root-volume-storage-class",
    ),
    ("spec.nodePools[0].agent.infraEnv", "--infra-env"),
    ("spec.nodePools[0].agent.labels", "--agent-label"),
    ("spec.nodePools[0].azure.vmSize", "--vm-size"),
    ("spec.nodePools[0].azure.osDisk", "--os-disk-size"),
    ("spec.deletionPolicy", "--deletion-policy"),
];

const NAT_SUBNET: &str = "--private-connectivity-nat-subnet-id";

/// Words for fields in messages, each with those for flags; longer ones first.
const WORDS: &[(&str, &str)] = &[
    (
        "`privateConnectivity: {natSubnetID: ...}`",
        "`--private-connectivity-nat-subnet-id ID`",
    ),
    ("privateConnectivity", NAT_SUBNET),
    ("endpointAccess: ", "--endpoint-access "),
    ("endpointAccess", "--endpoint-access"),
    ("identityRef", "--identity-ref"),
    ("credentialFrom", "--credential-from"),
    (
        "`infraEnv: NAME` instead of the label",
        "`--infra-env NAME`",
    ),
];

/// The flag that sets a field, or what it is a part of.
pub(super) fn of(field: &str) -> Option<&'static str> {
    let is_above = |above: &str| {
        let rest = field.strip_prefix(above);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let above = FLAGS.iter().filter(|(path, _)| is_above(path));
    above
        .max_by_key(|(path, _)| path.len())
        .map(|(_, flag)| *flag)
}

/// A message about fields, about flags instead.
pub(super) fn words(message: &str) -> String {
    let identity = "`--workload-identity ";
    let mut words = match message.split_once(": {clientID: ...}` to workloadIdentities") {
        Some((before, after)) => format!("{}=CLIENT_ID`{after}", before.replacen('`', identity, 1)),
        None => message.to_owned(),
    };
    for (field, flag) in WORDS {
        words = words.replace(field, flag);
    }
    words
}

/// The help for a flag, where its field does not say it, or a flag may have more than its field. The type may be wrong
/// or the value.
pub(super) fn form(flag: &str, is_mistyped: bool) -> Option<&'static str> {
    Some(match flag {
        "--release" => "write the full version, such as 4.20.17, or an image",
        "--control-plane-cpu" => "write an amount above zero, such as 4 or 500m",
        "--control-plane-memory" | "--memory" | "--root-volume-size" => {
            "write an amount above zero, such as 16Gi"
        }
        _ if is_mistyped => "write a whole number",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::cluster_definition::Platform;
    use crate::api::crds;

    #[test]
    fn a_field_belongs_to_the_nearest_flag_above() {
        for (field, expected) in [
            ("spec.hyperShift.release.version", Some("--release")),
            ("metadata.labels.a.b/c", Some("--label")),
            ("metadata.namespaces", None),
            (
                "spec.hyperShift.azure.privateConnectivity.natSubnetID",
                Some(NAT_SUBNET),
            ),
            (
                "spec.hyperShift.azure.privateConnectivity.allowedSubscriptions[1]",
                Some("--private-connectivity-allowed-subscriptions"),
            ),
            ("spec.nodePools[0].name", None),
        ] {
            assert_eq!(of(field), expected, "{field}");
        }
    }

    #[test]
    fn fields_and_flags_exist() {
        let command = crate::cli::command();
        let create = command.find_subcommand("create").expect("it is there");
        let cluster = create.find_subcommand("cluster").expect("it is there");
        let arguments = cluster
            .get_subcommands()
            .flat_map(|one| one.get_arguments());
        let flags: BTreeSet<String> = arguments
            .filter_map(|one| Some(format!("--{}", one.get_long()?)))
            .collect();
        let schema = crds::definition(Platform::HyperShift);
        for (field, flag) in FLAGS {
            assert!(flags.contains(*flag), "{flag}");
            let mut at = &schema;
            for name in field.split('.') {
                let (name, is_item) = match name.strip_suffix("[0]") {
                    Some(name) => (name, true),
                    None => (name, false),
                };
                at = &at["properties"][name];
                if is_item {
                    at = &at["items"];
                }
            }
            assert!(at.is_object(), "{field}");
        }
        let known: BTreeSet<&str> = FLAGS.iter().map(|(_, flag)| *flag).collect();
        let of_target = [
            "--output",
            "--commit",
            "--overlays",
            "--fleet",
            "--color",
            "--help",
            "--version",
        ];
        for flag in flags
            .iter()
            .filter(|flag| !of_target.contains(&flag.as_str()))
        {
            assert!(known.contains(flag.as_str()), "{flag} sets no field");
        }
    }
}
