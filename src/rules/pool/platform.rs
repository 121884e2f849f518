//! N11 to N15: machines and disks.

use super::network::not_of_type;
use crate::model::{Finding, Value, message};
use crate::rules::arm::{Resource, World};
use crate::rules::{data, wording};
use kube_schema::nearest;

const DISK: &str = "spec.properties.platform.osDisk";
const STORAGE: &[&str] = &["Premium_LRS", "StandardSSD_LRS", "Standard_LRS"];
const DISKS: &[&str] = &["Managed", "Ephemeral"];

/// N11: `vmSize` is a machine size that the service supports.
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
    let message = message!("vmSize {text:?} is not available for node pools", text);
    let finding = field.finding("N11", message);
    let help = match nearest(text, sizes.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "choose another size, such as `Standard_D4s_v3`".to_owned(),
    };
    vec![finding.help(help)]
}

/// N12: a disk has at least 64 GiB, and at most the maximum of its type.
pub(super) fn disk_size_in_range(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let disk = pool.field(DISK);
    let (most, of) = match disk.key("diskType").text() {
        Some("Ephemeral") => (2040, ", the limit for Ephemeral disks"),
        _ => (4095, ", the limit for Managed disks"),
    };
    let fault = wording::out_of(&disk.key("sizeGiB"), "N12", 64..=most, of);
    fault.into_iter().collect()
}

/// N13: a disk has a known type and storage account type.
pub(super) fn disk_is_of_a_known_kind(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let disk = pool.field(DISK);
    let fields = [("diskStorageAccountType", STORAGE), ("diskType", DISKS)];
    let fault = |(name, known)| wording::not_one_of(&disk.key(name), "N13", known);
    fields.into_iter().filter_map(fault).collect()
}

/// N14: nodes with ephemeral disks are repaired automatically.
pub(super) fn nodes_on_ephemeral_disks_are_repaired(
    _: &World<'_>,
    pool: &Resource<'_>,
) -> Vec<Finding> {
    let ephemeral = pool.field(DISK).key("diskType").text() == Some("Ephemeral");
    let field = pool.field("spec.properties.autoRepair");
    let off = field
        .node
        .is_some_and(|node| node.value == Value::Bool(false));
    let message = "autoRepair is false, but the disks are Ephemeral";
    let finding = |()| {
        let help = "remove autoRepair: false, or use Managed disks";
        field.finding("N14", message).help(help)
    };
    (ephemeral && off)
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
    if let Some((field, fault)) = not_of_type(&reference, KIND, object) {
        return vec![field.finding("N15", fault.of("encryptionSetReference"))];
    }
    let Some(set) = world.referred(pool, &reference) else {
        return Vec::new();
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if set.name().len() <= 80 && set.name().chars().all(allowed) {
        return Vec::new();
    }
    let message = message!(
        "the name {name:?} must have at most 80 letters, digits, `-` and `_`",
        name = set.name()
    );
    let id = reference.key("armId");
    let field = if id.is_given() {
        id
    } else {
        reference.key("name")
    };
    vec![field.finding("N15", message)]
}
