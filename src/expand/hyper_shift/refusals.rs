//! What a definition asks for and cannot be made, beyond its schema: parts that exclude or need one another.

use super::azure;
use super::blueprint::{Blueprint, Pool};
use super::node_pool::INFRA_ENV;
use crate::api::cluster_definition::{EndpointAccess, Infrastructure, Release};
use crate::expand::values::Values;
use crate::model::Finding;

/// Everything that is refused.
pub(super) fn refusals(b: &Blueprint) -> Vec<Finding> {
    let mut refused = of_infrastructure(b);
    refused.extend(decided(
        &b.values,
        "hyperShift.properties",
        &["platform.type"],
    ));
    refused.extend(of_release(&b.values, "hyperShift.release", &b.spec.release));
    refused.extend(of_azure(b));
    refused.extend(of_credential(b));
    for pool in &b.pools {
        refused.extend(of_pool(b, pool));
    }
    let id = &b.definition.id;
    refused.into_iter().map(|finding| finding.of(id)).collect()
}

/// The fields of each infrastructure are there with that one, and only then.
fn of_infrastructure(b: &Blueprint) -> Vec<Finding> {
    let infrastructure = b.spec.infrastructure;
    let fields = [
        (
            Infrastructure::Azure,
            "hyperShift.azure",
            b.spec.azure.is_some(),
        ),
        (
            Infrastructure::KubeVirt,
            "hyperShift.kubeVirt",
            b.spec.kube_virt.is_some(),
        ),
        (
            Infrastructure::Agent,
            "hyperShift.agent",
            b.spec.agent.is_some(),
        ),
    ];
    let mut refused = foreign(&b.values, infrastructure, &fields);
    let missing = match infrastructure {
        Infrastructure::Azure if b.spec.azure.is_none() => Some((
            "hyperShift.azure",
            "azure: {location: ..., subscriptionID: ...}",
        )),
        Infrastructure::Agent if b.spec.agent.is_none() => {
            Some(("hyperShift.agent", "agent: {namespace: ...}"))
        }
        _ => None,
    };
    refused.extend(missing.map(|(field, help)| lacking(&b.values, infrastructure, field, help)));
    refused
}

/// Other fields that the definition has decided: an object with another value would belong to no cluster.
fn decided(values: &Values, properties: &str, fields: &[&str]) -> Vec<Finding> {
    let fields = fields
        .iter()
        .map(|field| (field, format!("{properties}.{field}")));
    let refuse = |(field, path): (&&str, String)| {
        let message = format!("`{field}` follows from the definition");
        let help = "remove it from `properties`";
        values
            .has(&path)
            .then(|| values.refused(&path, &message).help(help))
    };
    fields.filter_map(refuse).collect()
}

/// Fields of another infrastructure than the cluster's.
fn foreign(
    values: &Values,
    infrastructure: Infrastructure,
    fields: &[(Infrastructure, &str, bool)],
) -> Vec<Finding> {
    let foreign = fields
        .iter()
        .filter(|(of, _, is_there)| *is_there && *of != infrastructure);
    let refuse = |(of, field, _): &(Infrastructure, &str, bool)| {
        let (of, name) = (of.name(), field.rsplit('.').next().unwrap_or(field));
        let cluster = infrastructure.name();
        let message =
            format!("`{name}` is for infrastructure {of}, and this cluster's is {cluster}");
        let help = format!("remove it, or write `infrastructure: {of}`");
        values.refused(field, &message).help(help)
    };
    foreign.map(refuse).collect()
}

fn lacking(values: &Values, infrastructure: Infrastructure, field: &str, help: &str) -> Finding {
    let name = field.rsplit('.').next().unwrap_or(field);
    let message = format!("infrastructure {} needs `{name}`", infrastructure.name());
    values
        .refused(field, &message)
        .help(format!("add `{help}`"))
}

fn of_release(values: &Values, path: &str, release: &Release) -> Option<Finding> {
    (release.version.is_some() == release.image.is_some()).then(|| {
        values
            .refused(path, "a release has either a version or an image")
            .help("write `version: X.Y.Z`, or the whole image")
    })
}

fn of_azure(b: &Blueprint) -> Vec<Finding> {
    const CONNECTIVITY: &str = "hyperShift.azure.privateConnectivity";
    let Some(azure) = &b.spec.azure else {
        return Vec::new();
    };
    let mut refused = Vec::new();
    let is_public = azure.endpoint_access == EndpointAccess::Public;
    let refuse = |path: &str, message: &str, help: &str| b.values.refused(path, message).help(help);
    match &azure.private_connectivity {
        Some(_) if is_public => refused.push(refuse(
            CONNECTIVITY,
            "privateConnectivity is forbidden with endpointAccess Public",
            "remove it, or write `endpointAccess: PublicAndPrivate` or `Private`",
        )),
        None if !is_public => refused.push(refuse(
            "hyperShift.azure.endpointAccess",
            &format!(
                "endpointAccess {} needs privateConnectivity",
                azure.endpoint_access.name()
            ),
            "add `privateConnectivity: {natSubnetID: ...}`",
        )),
        Some(connection)
            if connection.nat_subnet_id.is_some() == connection.nat_subnet.is_some() =>
        {
            refused.push(refuse(
                CONNECTIVITY,
                "privateConnectivity has either natSubnetID or natSubnet",
                "write the ID of an existing subnet, or `natSubnet: {vnet: ..., cidr: ...}` for a new one",
            ));
        }
        _ => {}
    }
    let created = azure.private_connectivity.as_ref();
    let created = created.and_then(|connection| connection.nat_subnet.as_ref());
    if created.is_some_and(|subnet| subnet.cidr.trim().is_empty()) {
        refused.push(refuse(
            "hyperShift.azure.privateConnectivity.natSubnet.cidr",
            "natSubnet needs a range in cidr",
            "write a free range of the network, such as `cidr: 10.9.0.0/24`",
        ));
    }
    for (name, given) in azure::needed(azure) {
        if given.is_none() {
            let access = azure.endpoint_access.name();
            refused.push(refuse(
                "hyperShift.azure.workloadIdentities",
                &format!("endpointAccess {access} needs the identity {name}"),
                &format!("add `{name}: {{clientID: ...}}` to workloadIdentities"),
            ));
        }
    }
    refused
}

/// A credential for the Private Endpoint is one of two kinds, and there only with an endpoint.
fn of_credential(b: &Blueprint) -> Option<Finding> {
    let azure = b.spec.azure.as_ref()?;
    let (path, name) = match (&azure.identity_ref, &azure.credential_from) {
        (None, None) => return None,
        (Some(_), Some(_)) => {
            let path = "hyperShift.azure.credentialFrom";
            let message = "a private connection has either identityRef or credentialFrom";
            return Some(b.values.refused(path, message).help("remove one of them"));
        }
        (Some(_), None) => ("hyperShift.azure.identityRef", "identityRef"),
        (None, Some(_)) => ("hyperShift.azure.credentialFrom", "credentialFrom"),
    };
    let is_public = azure.endpoint_access == EndpointAccess::Public;
    let message = format!("{name} is forbidden with endpointAccess Public");
    let help = "remove it, or write `endpointAccess: PublicAndPrivate` or `Private`";
    is_public.then(|| b.values.refused(path, &message).help(help))
}

fn of_pool(b: &Blueprint, pool: &Pool) -> Vec<Finding> {
    let (spec, values) = (pool.spec, &pool.values);
    let infrastructure = b.spec.infrastructure;
    let fields = [
        (Infrastructure::Azure, "azure", spec.azure.is_some()),
        (
            Infrastructure::KubeVirt,
            "kubeVirt",
            spec.kube_virt.is_some(),
        ),
        (Infrastructure::Agent, "agent", spec.agent.is_some()),
    ];
    let mut refused = foreign(values, infrastructure, &fields);
    if infrastructure == Infrastructure::Azure && spec.azure.is_none() {
        refused.push(lacking(
            values,
            infrastructure,
            "azure",
            "azure: {vmSize: ...}",
        ));
    }
    refused.extend(decided(
        values,
        "properties",
        &["clusterName", "platform.type"],
    ));
    let release = spec.release.as_ref();
    refused.extend(release.and_then(|release| of_release(values, "release", release)));
    if spec.replicas.is_some() && spec.autoscaling.is_some() {
        let message = "a node pool has either replicas or autoscaling";
        refused.push(
            values
                .refused("replicas", message)
                .help("remove one of them"),
        );
    }
    let image = spec.azure.as_ref().and_then(|azure| azure.image.as_ref());
    if image.is_some_and(|image| image.image_id.is_some() == image.marketplace.is_some()) {
        let message = "an image has either an imageID or marketplace";
        let help = "keep one of them; without `image`, the nodes have the release's image";
        refused.push(values.refused("azure.image", message).help(help));
    }
    let has_label = |agent: &&_| {
        let agent: &crate::api::cluster_definition::AgentNodes = agent;
        agent.labels.contains_key(INFRA_ENV)
    };
    if spec.agent.as_ref().filter(has_label).is_some() {
        let message = format!("the label {INFRA_ENV} is that of the InfraEnv");
        let help = "write `infraEnv: NAME` instead of the label";
        refused.push(values.refused("agent.labels", &message).help(help));
    }
    refused
}
