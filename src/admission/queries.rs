//! What must be read before a request can be answered.
//!
//! In: a request. Out: queries. What they do not find is not there yet, which is never a mistake. It does not know: how
//! they are carried out.

use serde_json::Value as Json;

use super::request::{Operation, Request};
use crate::api::aro_control_plane::identity_namespace;
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE};
use crate::api::labels::CLUSTER_NAME;
use crate::model::ObjectId;

/// Objects to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// One object.
    Object(ObjectId),
    /// The AROMachinePools of a cluster: its namespace and its name.
    Pools(String, String),
}

/// What to read for `request`.
#[must_use]
pub fn queries(request: &Request) -> Vec<Query> {
    let object = request.object.as_ref().or(request.old.as_ref());
    let Some(object) = object.filter(|_| !request.is_exempt()) else {
        return Vec::new();
    };
    let namespace = request.id.namespace.as_str();
    let one = |group: &str, kind: &str, name: &str| {
        Query::Object(ObjectId::new(group, kind, namespace, name))
    };
    let cluster = cluster(object)
        .or_else(|| owner(object))
        .unwrap_or(&request.id.name);
    let pools = || Query::Pools(namespace.to_owned(), cluster.to_owned());
    let aro_cluster = || one(INFRASTRUCTURE, "AROCluster", cluster);
    let plane = || one(CONTROL_PLANE, "AROControlPlane", cluster);
    let mut wanted = match (request.id.kind.as_str(), request.operation) {
        ("AROMachinePool", Operation::Delete) => {
            vec![
                one(CAPI, "Cluster", cluster),
                pools(),
                of_namespace(namespace),
            ]
        }
        (_, Operation::Delete) => Vec::new(),
        ("AROCluster", _) => {
            let mut wanted = vec![plane(), pools()];
            wanted.extend(identity(object, namespace));
            wanted
        }
        ("AROMachinePool", _) => vec![aro_cluster(), plane(), pools()],
        ("AROControlPlane", _) => {
            let mut wanted = vec![aro_cluster(), pools()];
            wanted.extend(identity(object, namespace));
            wanted
        }
        _ => Vec::new(),
    };
    if request.operation == Operation::Create && request.id.kind != "AzureClusterIdentity" {
        wanted.push(one(CAPI, "Cluster", cluster));
    }
    wanted
}

fn of_namespace(name: &str) -> Query {
    Query::Object(ObjectId::new("", "Namespace", "", name))
}

/// The cluster that an object's label names.
pub(super) fn cluster(object: &Json) -> Option<&str> {
    object["metadata"]["labels"][CLUSTER_NAME].as_str()
}

/// The Cluster that owns an object.
fn owner(object: &Json) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let is_cluster = |owner: &&Json| {
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        let group = version.split('/').next();
        owner["kind"] == "Cluster" && group == Some(CAPI)
    };
    owners.iter().find(is_cluster)?["name"].as_str()
}

/// The identity that an object names, and its namespace: the identity may ask for its labels.
fn identity(object: &Json, own: &str) -> impl Iterator<Item = Query> {
    let reference = &object["spec"]["identityRef"];
    let name = reference["name"].as_str().filter(|name| !name.is_empty());
    let namespace = identity_namespace(reference["namespace"].as_str(), own);
    let id =
        name.map(|name| ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name));
    let found = id.map(|id| [Query::Object(id), of_namespace(own)]);
    found.into_iter().flatten()
}
