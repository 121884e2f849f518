//! The names by which an object may meet others in a rehearsal.
//!
//! In: an object. Out: its names and those of the resources in it. It does not know the other objects.

use crate::api::embedded;
use crate::api::kinds::{CONTROL_PLANE, is_aso};
use crate::api::labels::CLUSTER_NAME;
use crate::graph;
use crate::model::{Node, Object, ObjectId};

/// Kind and name in Azure, in lower case.
pub(super) type AzureName = (String, String);

/// The names by which an object, and the resources embedded in it, may meet others without a reference.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// In the cluster their ids, and those of the ConfigMaps and Secrets that are made of them; in Azure the key that encrypts etcd.
    pub(super) known: Vec<String>,
    pub(super) in_azure: Vec<InAzure>,
}

/// A resource in Azure.
#[derive(Clone, Debug)]
pub(super) struct InAzure {
    pub(super) name: AzureName,
    /// Its owner in the cluster. If it names none, the object that it is embedded in: the controller of that completes it. Empty for a
    /// resource group without an owner.
    pub(super) owner: String,
    /// True if its owner is named by an ARM ID.
    pub(super) is_owned_by_arm_id: bool,
}

impl Names {
    pub(super) fn of(object: &Object) -> Self {
        let mut names = Self::default();
        for one in with_embedded(object) {
            let made = graph::makes(&one.id, &one.node);
            names.known.extend(made.iter().map(ToString::to_string));
            names.known.extend(secrets(&one));
            names.known.push(one.id.to_string());
            if is_aso(&one.id.group) {
                names.known.extend(key(&one.node));
                names.in_azure.push(InAzure::of(&one, object));
            }
        }
        names
    }
}

impl InAzure {
    fn of(one: &Object, carrier: &Object) -> Self {
        let owner = match one.node.text(&["spec", "owner", "name"]) {
            Some(owner) => format!("{}/{owner}", one.id.namespace),
            None if one.id.kind == "ResourceGroup" => String::new(),
            None => carrier.id.to_string(),
        };
        Self {
            name: azure_name(one),
            owner,
            is_owned_by_arm_id: one.node.at(&OWNER_ID).is_some(),
        }
    }
}

const OWNER_ID: [&str; 3] = ["spec", "owner", "armId"];

fn with_embedded(object: &Object) -> impl Iterator<Item = Object> {
    let embedded = embedded::resources(object).into_iter();
    std::iter::once(object.clone()).chain(embedded.map(|(_, resource)| resource))
}

fn azure_name(object: &Object) -> AzureName {
    let name = object.node.text(&["spec", "azureName"]);
    let name = name.unwrap_or(&object.id.name);
    (object.id.kind.to_lowercase(), name.to_lowercase())
}

/// The Secrets that the controllers make for a cluster.
fn secrets(object: &Object) -> Vec<String> {
    let ObjectId {
        namespace, name, ..
    } = &object.id;
    if !object.id.is(CONTROL_PLANE, "AROControlPlane") {
        return Vec::new();
    }
    let cluster = object.label(CLUSTER_NAME).unwrap_or(name);
    let ends = ["kubeconfig", "ca", "aso-secret"];
    let secret = |end| ObjectId::new("", "Secret", namespace, format!("{cluster}-{end}"));
    ends.map(secret).iter().map(ToString::to_string).collect()
}

/// The vault and the name of the key that encrypts etcd. The vault is beside or under the key, by the version.
fn key(node: &Node) -> Option<String> {
    let kms = ["etcd", "dataEncryption", "customerManaged", "kms"];
    let kms = node.at(&["spec", "properties"])?.at(&kms)?;
    let beside = kms.text(&["vaultName"]);
    let vault = beside.or_else(|| kms.text(&["activeKey", "vaultName"]))?;
    Some(format!("key {vault} {}", kms.text(&["activeKey", "name"])?))
}
