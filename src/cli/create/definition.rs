//! The definition that flags describe. What is not given is not written, so that overlays and the format decide about it.

use super::args::{AgentArgs, AzureArgs, Common, KubeVirtArgs};
use super::fault::Fault;
use crate::yaml::{Yaml, amount, block, field, flow, text};

/// The name of the node pool, as in our examples.
const POOL: &str = "workers";

/// A definition, and the flags that are not as they must be to be written into one.
pub(super) struct Draft {
    pub(super) document: Yaml,
    pub(super) faults: Vec<Fault>,
}

/// The part of a definition that depends on the infrastructure.
struct Part {
    name: &'static str,
    /// Fields of `hyperShift`.
    cluster: Vec<Option<(String, Yaml)>>,
    /// Fields of the node pool.
    pool: Vec<Option<(String, Yaml)>>,
}

/// A cluster in virtual machines of the management cluster.
pub(super) fn kube_virt(args: &KubeVirtArgs) -> Draft {
    let volume = [
        amount("size", args.root_volume_size.as_deref()),
        text("storageClass", args.root_volume_storage_class.as_deref()),
    ];
    let nodes = [
        amount("cores", args.cores.as_deref()),
        amount("memory", args.memory.as_deref()),
        flow("rootVolume", volume),
    ];
    let part = Part {
        name: "KubeVirt",
        cluster: Vec::new(),
        pool: vec![flow("kubeVirt", nodes)],
    };
    draft(&args.common, part, Vec::new())
}

/// A cluster on agents.
pub(super) fn agent(args: &AgentArgs) -> Draft {
    let mut faults = Vec::new();
    let labels = pairs("--agent-label", &args.agent_label, &mut faults);
    let labels = labels
        .into_iter()
        .map(|(key, value)| text(&key, Some(&value)));
    let nodes = [
        text("infraEnv", args.infra_env.as_deref()),
        flow("labels", labels),
    ];
    let part = Part {
        name: "Agent",
        cluster: vec![flow(
            "agent",
            [text("namespace", Some(&args.agent_namespace))],
        )],
        pool: vec![flow("agent", nodes)],
    };
    draft(&args.common, part, faults)
}

/// A cluster on self-managed Azure.
pub(super) fn azure(args: &AzureArgs) -> Draft {
    let mut faults = Vec::new();
    let identities = pairs("--workload-identity", &args.workload_identity, &mut faults);
    let identities = identities.into_iter();
    let identities = identities.map(|(name, id)| flow(&name, [text("clientID", Some(&id))]));
    let allowed = args.private_connectivity_allowed_subscriptions.iter();
    let allowed: Vec<Yaml> = allowed.map(|id| Yaml::text(id)).collect();
    let connection = [
        text(
            "natSubnetID",
            args.private_connectivity_nat_subnet_id.as_deref(),
        ),
        (!allowed.is_empty()).then(|| field("allowedSubscriptions", Yaml::List(allowed))),
    ];
    let azure = [
        text("location", Some(&args.location)),
        text("subscriptionID", Some(&args.subscription_id)),
        text("tenantID", Some(&args.tenant_id)),
        text("resourceGroup", Some(&args.resource_group)),
        text("vnetID", Some(&args.vnet_id)),
        text("subnetID", Some(&args.subnet_id)),
        text("securityGroupID", Some(&args.security_group_id)),
        text("issuerURL", Some(&args.issuer_url)),
        named(
            "serviceAccountSigningKeyRef",
            Some(&args.service_account_signing_key),
        ),
        block("workloadIdentities", identities),
        text("externalDNSDomain", args.external_dns_domain.as_deref()),
        text("endpointAccess", args.endpoint_access.as_deref()),
        block("privateConnectivity", connection),
        args.identity_ref.as_deref().and_then(identity),
        text("credentialFrom", args.credential_from.as_deref()),
        text("apiShape", args.api_shape.as_deref()),
    ];
    let disk = [amount("sizeGiB", args.os_disk_size.as_deref())];
    let nodes = [text("vmSize", Some(&args.vm_size)), flow("osDisk", disk)];
    let part = Part {
        name: "Azure",
        cluster: vec![block("azure", azure)],
        pool: vec![flow("azure", nodes)],
    };
    draft(&args.common, part, faults)
}

fn draft(common: &Common, part: Part, mut faults: Vec<Fault>) -> Draft {
    let labels = pairs("--label", &common.label, &mut faults);
    let labels = labels
        .into_iter()
        .map(|(key, value)| text(&key, Some(&value)));
    let metadata = [
        text("name", Some(&common.name)),
        text("namespace", common.namespace.as_deref()),
        flow("labels", labels),
    ];
    let control_plane = [
        amount("cpu", common.control_plane_cpu.as_deref()),
        amount("memory", common.control_plane_memory.as_deref()),
    ];
    // Only an image has one of these.
    let is_image = common.release.contains(['/', ':', '@']);
    let release = if is_image { "image" } else { "version" };
    let cluster = [
        text("infrastructure", Some(part.name)),
        flow("release", [text(release, Some(&common.release))]),
        text("baseDomain", Some(&common.base_domain)),
        named("pullSecretRef", Some(&common.pull_secret)),
        named("sshKeyRef", common.ssh_key.as_deref()),
        flow("controlPlane", control_plane),
    ];
    let pool = [
        text("name", Some(POOL)),
        amount("replicas", common.node_pool_replicas.as_deref()),
    ];
    let pool = pool.into_iter().chain(part.pool).flatten().collect();
    let spec = [
        text("platform", Some("HyperShift")),
        block("hyperShift", cluster.into_iter().chain(part.cluster)),
        Some(field("nodePools", Yaml::List(vec![Yaml::Block(pool)]))),
        text("deletionPolicy", common.deletion_policy.as_deref()),
    ];
    let document = [
        text("apiVersion", Some("capstan.dev/v1alpha1")),
        text("kind", Some("ClusterDefinition")),
        block("metadata", metadata),
        block("spec", spec),
    ];
    Draft {
        document: Yaml::Block(document.into_iter().flatten().collect()),
        faults,
    }
}

/// A reference to a Secret.
fn named(name: &str, value: Option<&str>) -> Option<(String, Yaml)> {
    flow(name, [text("name", value)])
}

/// A reference to an AzureClusterIdentity, written `NAME` or `NAMESPACE/NAME`.
fn identity(written: &str) -> Option<(String, Yaml)> {
    let (namespace, name) = match written.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, written),
    };
    flow(
        "identityRef",
        [text("name", Some(name)), text("namespace", namespace)],
    )
}

/// The values of a flag that are `KEY=VALUE`, each key once.
fn pairs(flag: &str, values: &[String], faults: &mut Vec<Fault>) -> Vec<(String, String)> {
    let form = match flag {
        "--workload-identity" => "write NAME=CLIENT_ID",
        _ => "write KEY=VALUE",
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for value in values {
        match value.split_once('=') {
            Some((key, _)) if pairs.iter().any(|(before, _)| before == key) => {
                faults.push(Fault::new(
                    format!("{flag}: `{key}` is given twice"),
                    Some("remove one of them"),
                ));
            }
            Some((key, value)) if !key.is_empty() => pairs.push((key.to_owned(), value.to_owned())),
            _ => faults.push(Fault::new(
                format!("{flag}: `{value}` is not valid"),
                Some(form),
            )),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_a_key_that_is_given_once() {
        let mut faults = Vec::new();
        let values = ["a=1", "b=", "c=d=e", "a=2", "=x", "y"].map(str::to_owned);
        let found = pairs("--label", &values, &mut faults);
        let expected = [("a", "1"), ("b", ""), ("c", "d=e")];
        assert_eq!(
            found,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "--label: `a` is given twice",
                "--label: `=x` is not valid",
                "--label: `y` is not valid"
            ]
        );
    }
}
