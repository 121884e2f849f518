//! What the controller sets in the embedded resources.
//!
//! In: an AROControlPlane. Out: its resources as they are to be applied: where the kubeconfig goes, the owner of external
//! authentications, the version of the key. A value of the user's that differs is refused, never replaced.

use serde_json::{Value, json};

use super::super::conditions::{NewCondition, Typed};
use super::super::resources::{self, Ledger};
use super::names::{self, EXTERNAL_AUTH, HCP};
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::health::Live;
use crate::model::KeyRequest;

/// The path of the fields that name the Secrets for credentials.
const SECRETS: [&str; 3] = ["spec", "operatorSpec", "secrets"];

/// Where the version of the key is, below [`KMS`].
pub(super) const VERSION: &[&str] = &["activeKey", "version"];
/// Where the proposal has it.
pub(super) const VERSION_BESIDE: &[&str] = &["keyVersion"];

/// The name of the key where the proposal has it.
const NAME_BESIDE: &[&str] = &["keyName"];

/// The version of the key to apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyVersion {
    /// The spec has it.
    ByHand,
    /// This one.
    Of {
        name: String,
        vault: String,
        version: String,
    },
}

impl KeyVersion {
    /// This version of the key.
    pub(super) fn of(request: &KeyRequest, version: &str) -> Self {
        Self::Of {
            name: request.key.clone(),
            vault: request.vault.clone(),
            version: version.to_owned(),
        }
    }
}

/// Resources as they are to be applied.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// All of them.
    pub(super) items: Vec<Value>,
    /// The place of the HCP cluster among them.
    place: usize,
}

impl Wanted {
    /// The resources of an AROControlPlane with one HcpOpenShiftCluster, all but the version of its key.
    pub(super) fn of(ledger: &Ledger<'_>) -> Result<Self, Typed> {
        let mut items = resources::wanted(ledger.owner);
        let place = items.iter().position(|item| Live(item).kind() == HCP);
        let Some(place) = place else {
            let missing = NewCondition::no(c::HCP_CLUSTER_INVALID, c::NO_HCP_CLUSTER);
            return Err((c::HCP_CLUSTER_READY, missing));
        };
        set_kubeconfig(&mut items[place], ledger.cluster);
        let cluster = Live(&items[place]).name().to_owned();
        for (at, item) in items.iter_mut().enumerate() {
            if Live(item).kind() == EXTERNAL_AUTH {
                set_owner(item, at, &cluster)?;
            }
        }
        Ok(Self { items, place })
    }

    /// The HCP cluster.
    pub(super) fn cluster(&self) -> Live<'_> {
        Live(&self.items[self.place])
    }

    /// The path of a field of the HCP cluster, as a person finds it.
    pub(super) fn path(&self, field: &[&str]) -> String {
        format!("spec.resources[{}].{}", self.place, field.join("."))
    }

    /// Sets the version of the key, unless a person manages it.
    pub(super) fn set_key(&mut self, key: KeyVersion) -> Result<(), Typed> {
        let KeyVersion::Of {
            name,
            vault,
            version,
        } = key
        else {
            return Ok(());
        };
        for place in [VERSION, VERSION_BESIDE] {
            let field = [KMS.as_slice(), place].concat();
            let set = self.cluster().text(&field);
            if !set.is_empty() && set != version {
                let reason = format!(
                    "since it is the newest version of the key '{name}' in the vault '{vault}'"
                );
                let message = c::incompatible(&self.path(&field), set, &version, &reason);
                let condition = NewCondition::no(c::INCOMPATIBLE_VALUE, message);
                return Err((c::ENCRYPTION_KEY_READY, condition));
            }
        }
        let kms = self.cluster().at(&KMS).map(Live);
        let is_beside = kms.is_some_and(|kms| {
            kms.at(&["activeKey"]).is_none() && !kms.text(NAME_BESIDE).is_empty()
        });
        let place = if is_beside { VERSION_BESIDE } else { VERSION };
        let path = [KMS.as_slice(), place].concat();
        put(&mut self.items[self.place], &path, json!(version));
        Ok(())
    }
}

/// The admin kubeconfig goes where Cluster API reads it, unless the user says where credentials go.
fn set_kubeconfig(hcp: &mut Value, cluster: &str) {
    let asked = ["adminCredentials", "userCredentials"]
        .iter()
        .any(|secret| {
            let path = [SECRETS.as_slice(), &[secret]].concat();
            Live(hcp).at(&path).is_some()
        });
    if !asked {
        let place = json!({"name": names::kubeconfig(cluster), "key": "value"});
        put(hcp, &SECRETS, json!({"adminCredentials": place}));
    }
}

/// An external authentication belongs to the HCP cluster beside it.
fn set_owner(auth: &mut Value, place: usize, cluster: &str) -> Result<(), Typed> {
    let owner = Live(auth).at(&["spec", "owner"]);
    let Some(owner) = owner.map(Live) else {
        put(auth, &["spec", "owner"], json!({"name": cluster}));
        return Ok(());
    };
    let set = owner.text(&["name"]);
    if set.is_empty() || set == cluster {
        return Ok(());
    }
    let path = format!("spec.resources[{place}].spec.owner.name");
    let reason = "since it belongs to the HcpOpenShiftCluster of the same AROControlPlane";
    let message = c::incompatible(&path, set, cluster, reason);
    let condition = NewCondition::no(c::INCOMPATIBLE_VALUE, message);
    Err((c::HCP_CLUSTER_READY, condition))
}

/// Sets the value at a path, creating missing maps.
fn put(under: &mut Value, path: &[&str], value: Value) {
    let Some((key, rest)) = path.split_first() else {
        *under = value;
        return;
    };
    if !under.is_object() {
        *under = json!({});
    }
    if let Some(map) = under.as_object_mut() {
        put(map.entry(*key).or_insert(Value::Null), rest, value);
    }
}
