//! N11 to N15: machines and disks.

use super::network::not_of_type;
use crate::model::{Finding, Value};
use crate::rules::arm::{Resource, World};
use crate::rules::{data, wording};
use kube_schema::nearest;

const DISK: &str = "spec.properties.platform.osDisk";
const STORAGE: &[&str] = &["Premium_LRS", "StandardSSD_LRS", "Standard_LRS"];
const DISKS: &[&str] = &["Managed", "Ephemeral"];

/// N11: `vmSize` is one of the service's machine sizes.
pub(super) fn machine_size_is_offered(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.platform.vmSize");
    if let Some(missing) = wording::missing_or_long(&field, "N11", usize::MAX) {
        return vec![missing];
    }
    let sizes = data::node_vm_sizes();
    let Some(text) = field
        .text()
        .filter(|text| !sizes.iter().any(|size| size == text))
    else {
        return Vec::new();
    };
    let message = format!("vmSize {text:?} is not offered for node pools");
    let finding = field.finding("N11", message);
    let help = match nearest(text, sizes.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "choose another size, such as `Standard_D4s_v3`".to_owned(),
    };
    vec![finding.help(help)]
}

/// N12: a disk has at least 64 GiB, and no more than its kind has.
pub(super) fn disk_size_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let disk = pool.field(DISK);
    let (most, of) = match disk.key("diskType").text() {
        Some("Ephemeral") => (2040, " of an Ephemeral disk"),
        _ => (4095, " of a Managed disk"),
    };
    let fault = wording::out_of(&disk.key("sizeGiB"), "N12", 64..=most, of);
    fault.into_iter().collect()
}

/// N13: a disk is of a known kind and account type.
pub(super) fn disk_is_of_a_known_kind(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let disk = pool.field(DISK);
    let fields = [("diskStorageAccountType", STORAGE), ("diskType", DISKS)];
    let fault = |(name, known)| wording::not_one_of(&disk.key(name), "N13", known);
    fields.into_iter().filter_map(fault).collect()
}

/// N14: nodes whose disks do not outlive them are repaired.
pub(super) fn nodes_on_passing_disks_are_repaired(
    _: &World<'_>,
    pool: &Resource<'_>,
) -> Vec<Finding> {
    let passing = pool.field(DISK).key("diskType").text() == Some("Ephemeral");
    let field = pool.field("spec.properties.autoRepair");
    let off = field
        .node
        .is_some_and(|node| node.value == Value::Bool(false));
    let message = "autoRepair is false, and the disks are Ephemeral";
    let finding = |()| {
        let help = "remove autoRepair: false, or take Managed disks";
        field.finding("N14", message).help(help)
    };
    (passing && off)
        .then_some(())
        .map(finding)
        .into_iter()
        .collect()
}

/// N15: `encryptionSetReference` names a disk encryption set.
pub(super) fn encryption_set_is_one(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    const KIND: &str = "microsoft.compute/diskencryptionsets";
    let reference = pool.field(DISK).key("encryptionSetReference");
    let object = ("compute.azure.com", "DiskEncryptionSet");
    if let Some((field, why)) = not_of_type(&reference, KIND, object) {
        return vec![field.finding("N15", format!("encryptionSetReference {why}"))];
    }
    let Some(set) = world.referred(pool, &reference) else {
        return Vec::new();
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if set.name().len() <= 80 && set.name().chars().all(allowed) {
        return Vec::new();
    }
    let message = format!(
        "the name {:?} is not up to 80 letters, digits, `-` and `_`",
        set.name()
    );
    let id = reference.key("armId");
    let field = if id.is_given() {
        id
    } else {
        reference.key("name")
    };
    vec![field.finding("N15", message)]
}
