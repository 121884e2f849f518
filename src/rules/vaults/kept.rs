//! The clusters of a fleet, each with its vault.

use std::collections::HashMap;

use crate::api::embedded;
use crate::api::kinds::{KEYVAULT, RED_HAT_OPENSHIFT};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::cluster::encryption::vault_name;

/// A cluster, and where its key is.
pub(super) struct Kept<'a> {
    pub(super) cluster: &'a Resource<'a>,
    /// The field with the vault and the key.
    pub(super) kms: Field<'a>,
    /// The name of the vault, in lower case.
    pub(super) vault_name: String,
    /// The vault; none if it is not in the fleet, or if the fleet only reads it.
    pub(super) vault: Option<&'a Resource<'a>>,
}

impl Kept<'_> {
    /// How the service reaches the vault.
    pub(super) fn visibility(&self) -> Field<'_> {
        self.kms.key("visibility")
    }
}

/// The clusters that name a vault.
pub(super) fn kept<'a>(world: &'a World<'a>) -> impl Iterator<Item = Kept<'a>> {
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
    let vaults = by_name(world);
    clusters.filter_map(move |cluster| {
        let kms = cluster.field(embedded::KMS.join("."));
        let vault_name = vault_name(&kms)?;
        let vault = vaults.get(&vault_name).copied();
        Some(Kept {
            cluster,
            kms,
            vault_name,
            vault,
        })
    })
}

/// The first vault of each name, in lower case, that the fleet makes.
fn by_name<'a>(world: &'a World<'a>) -> HashMap<String, &'a Resource<'a>> {
    let mut by_name = HashMap::new();
    let made = world.of_kind(KEYVAULT, "Vault");
    for vault in made.filter(|vault| !vault.is_read_only()) {
        let name = vault.azure_name();
        let name = name.text().unwrap_or_default().to_lowercase();
        by_name.entry(name).or_insert(vault);
    }
    by_name
}
