//! N11 to N15 and N27: machines and disks.

use crate::model::{Finding, Message, Value, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::cluster::reference::{self, Wanted, name_in};
use crate::rules::{data, wording};
use kube_schema::nearest;

const DISK: &str = "spec.properties.platform.osDisk";
const STORAGE: &[&str] = &["Premium_LRS", "StandardSSD_LRS", "Standard_LRS"];
const DISKS: &[&str] = &["Managed", "Ephemeral"];

/// N11: `vmSize` is a machine size that the service supports.
pub(super) fn machine_size_is_offered(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let field = pool.field("spec.properties.platform.vmSize");
    const SUCH: &str = "write a size such as `Standard_D4s_v3`";
    if let Some(missing) = wording::missing_or_long(&field, "N11", usize::MAX) {
        return vec![missing.help(SUCH)];
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
        None => SUCH.to_owned(),
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
    let fault = |(name, known)| wording::one_of(&disk.key(name), "N13", known);
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

const SET: Wanted = Wanted {
    called: "a disk encryption set",
    object: ("compute.azure.com", "DiskEncryptionSet"),
    arm: "microsoft.compute/diskencryptionsets",
    form: "Microsoft.Compute/diskEncryptionSets/<name>",
};

/// N15: `encryptionSetReference` names a disk encryption set.
pub(super) fn encryption_set_is_one(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let reference = pool.field(DISK).key("encryptionSetReference");
    if !reference.is_given() {
        return Vec::new();
    }
    if let Some(fault) = reference::fault("N15", &reference, &SET) {
        return vec![fault];
    }
    let Some(set) = world.referred(pool, &reference) else {
        return Vec::new();
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if set.name().len() <= 80 && set.name().chars().all(allowed) {
        return Vec::new();
    }
    let message = message!(
        "the name {name:?} is not valid for a disk encryption set",
        name = set.name()
    );
    let help = "use the name of an existing set: 1 to 80 letters, digits, `-` and `_`";
    vec![name_in(&reference).finding("N15", message).help(help)]
}

/// N27: the disk encryption set is in the subscription and the location of the cluster.
pub(super) fn encryption_set_is_at_hand(world: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let reference = pool.field(DISK).key("encryptionSetReference");
    let set = world.referred(pool, &reference);
    let own = world.owner(pool).and_then(|cluster| world.name_of(cluster));
    let away = || {
        let (set, own) = (set.as_ref()?, own.as_ref()?);
        let message = message!(
            "the disk encryption set is in subscription {set}, but the cluster is in {own}",
            set = set.subscription,
            own = own.subscription
        );
        let is_away = set.kind() == SET.arm && !set.shares_subscription(own);
        is_away.then_some(message)
    };
    let message = away().or_else(|| elsewhere(world, pool, &reference));
    let help = "use a disk encryption set in the cluster's subscription and location";
    let finding = message.map(|message| name_in(&reference).finding("N27", message).help(help));
    finding.into_iter().collect()
}

/// Where the disk encryption set is, if the fleet has it and it is not in the location of the pool.
fn elsewhere(world: &World<'_>, pool: &Resource<'_>, reference: &Field<'_>) -> Option<Message> {
    let set = world.resolve(pool, reference)?;
    let (theirs, own) = (set.field("spec.location"), pool.field("spec.location"));
    let (theirs, own) = (theirs.text()?, own.text()?);
    let message = message!(
        "the disk encryption set is in {theirs}, but the node pool is in {own}",
        theirs,
        own
    );
    let is_set = set.id.is(SET.object.0, SET.object.1);
    (is_set && !wording::same_location(theirs, own)).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_kind;
    use crate::rules::pool::KIND;
    use crate::rules::rule::ResourceRule;

    const SETS: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute";

    /// The messages of a rule for a pool of a cluster in subscription `s` and `uksouth` with this reference.
    fn found(rule: ResourceRule, reference: &str) -> Vec<String> {
        let yaml = format!(
            "apiVersion: redhatopenshift.azure.com/v1api20251223preview
kind: HcpOpenShiftCluster
metadata: {{name: c}}
spec: {{location: uksouth, owner: {{armId: /subscriptions/S/resourceGroups/g}}}}
---
apiVersion: compute.azure.com/v1api20240302
kind: DiskEncryptionSet
metadata: {{name: far}}
spec: {{location: ukwest, owner: {{armId: /subscriptions/s/resourceGroups/g}}}}
---
apiVersion: compute.azure.com/v1api20240302
kind: DiskEncryptionSet
metadata: {{name: near}}
spec: {{location: UK South, owner: {{armId: /subscriptions/s/resourceGroups/g}}}}
---
apiVersion: redhatopenshift.azure.com/v1api20251223preview
kind: {KIND}
metadata: {{name: mp1}}
spec:
  location: uksouth
  owner: {{name: c}}
  properties: {{platform: {{osDisk: {{encryptionSetReference: {reference}}}}}}}
"
        );
        let found = findings_of_kind(rule, KIND, &yaml);
        let message = |line: String| line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
        found.into_iter().map(message).collect()
    }

    #[test]
    fn a_set_is_named_in_one_way() {
        let id = |name: &str| format!("armId: {SETS}/diskEncryptionSets/{name}");
        for (reference, faults) in [
            ("null".to_owned(), 0),
            (format!("{{{}}}", id("a")), 0),
            (
                "{group: compute.azure.com, kind: DiskEncryptionSet, name: near}".to_owned(),
                0,
            ),
            ("{}".to_owned(), 1),
            ("{name: near}".to_owned(), 1),
            (format!("{{{}, name: near}}", id("a")), 1),
            (
                "{group: compute.azure.com, kind: Disk, name: near}".to_owned(),
                1,
            ),
            (format!("{{{}}}", id("a.b")), 1),
        ] {
            let found = found(encryption_set_is_one, &reference);
            assert_eq!(found.len(), faults, "{reference}: {found:?}");
        }
    }

    #[test]
    fn a_set_is_near_its_cluster() {
        let named = |name: &str| {
            format!("{{group: compute.azure.com, kind: DiskEncryptionSet, name: {name}}}")
        };
        let id = format!("{{armId: {SETS}/diskEncryptionSets/a}}");
        assert_eq!(found(encryption_set_is_at_hand, &id), [""; 0]);
        assert_eq!(found(encryption_set_is_at_hand, &named("near")), [""; 0]);
        let away = id.replace("/s/", "/t/");
        assert_eq!(
            found(encryption_set_is_at_hand, &away),
            ["the disk encryption set is in subscription t, but the cluster is in s"]
        );
        assert_eq!(
            found(encryption_set_is_at_hand, &named("far")),
            ["the disk encryption set is in ukwest, but the node pool is in uksouth"]
        );
    }
}
