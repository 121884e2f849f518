//! N19 to N21: labels and taints of nodes.

use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
/// Labels that only the service sets.
const RESERVED: &[&str] = &[
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
];
/// Labels that may not have some values.
const ROLES: &[&str] = &[
    "machine.openshift.io/cluster-api-machine-role",
    "machine.openshift.io/cluster-api-machine-type",
];

/// N19: keys and values of labels are valid in Kubernetes.
pub(super) fn labels_are_well_formed(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let labels = pool.field("spec.properties.labels");
    labels
        .items()
        .flat_map(|label| malformed(&label, "N19"))
        .collect()
}

/// N20: no label is reserved for the service.
pub(super) fn labels_are_allowed(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let labels = pool.field("spec.properties.labels");
    let listed = labels.items().filter_map(|label| {
        let (key, value) = (label.key("key"), label.key("value"));
        refused(key.text()?, &key, &value)
    });
    // The proposal writes labels as a map, like Kubernetes (facts/aro-rules.md §5.1).
    let mapped = labels
        .entries()
        .filter_map(|(key, value)| refused(key, &value, &value));
    listed.chain(mapped).collect()
}

/// N21: taints have a key, a value and an effect that are valid in Kubernetes.
pub(super) fn taints_are_well_formed(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let taints = pool.field("spec.properties.taints");
    let faults = |taint: Field<'_>| {
        let effect = taint.key("effect");
        let absent = wording::missing_or_long(&effect, "N21", usize::MAX);
        let help = "write `NoSchedule`, `PreferNoSchedule` or `NoExecute`";
        let absent = absent.map(|finding| finding.help(help));
        let effect = absent.or_else(|| wording::one_of(&effect, "N21", EFFECTS));
        malformed(&taint, "N21")
            .into_iter()
            .chain(effect)
            .collect::<Vec<_>>()
    };
    taints.items().flat_map(faults).collect()
}

/// What is wrong with the key and the value of a label or taint.
fn malformed(item: &Field<'_>, id: &'static str) -> Vec<Finding> {
    let (key, value) = (item.key("key"), item.key("value"));
    let of_key = match key.text() {
        Some(text) => wording::of_label_key(text).map(|why| (text, why)),
        None if key.is_given() => None, // not a text: the schema reports it
        None => Some(("", "it is required")),
    };
    let of_value = value
        .text()
        .and_then(|text| Some((text, wording::of_label_value(text)?)));
    let of_key = of_key.map(|(text, why)| {
        let message = message!("invalid key {text:?}: {why}", key = text);
        let help = "write a key such as example.com/team or team";
        key.finding(id, message).help(help)
    });
    let of_value = of_value.map(|(text, why)| {
        let message = message!("invalid value {text:?}: {why}", value = text);
        let help = "write a value such as a-and-b, or an empty one";
        value.finding(id, message).help(help)
    });
    of_key.into_iter().chain(of_value).collect()
}

/// A finding if the label `text`, with these fields, is not allowed.
fn refused(text: &str, key: &Field<'_>, value: &Field<'_>) -> Option<Finding> {
    if RESERVED.contains(&text) {
        let message = message!("only the service sets the label {text}", text);
        return Some(key.finding("N20", message).help("remove this label"));
    }
    let role = value
        .text()
        .filter(|role| ["master", "infra"].contains(role));
    let role = role.filter(|_| ROLES.contains(&text))?;
    let message = message!("the label {text} may not be {role}", text, role);
    Some(
        value
            .finding("N20", message)
            .help("write `worker`, or remove the label: nodes of a pool can only be workers"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::pool::KIND;
    use crate::rules::{ResourceRule, findings_of_kind};

    fn found(rule: ResourceRule, properties: &str) -> usize {
        let pool = format!(
            "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: HcpOpenShiftClustersNodePool\nmetadata: {{name: p}}\nspec: {{properties: {{{properties}}}}}\n"
        );
        findings_of_kind(rule, KIND, &pool).len()
    }

    #[test]
    fn labels_and_taints_have_limits() {
        let long = "a".repeat(64);
        let value = format!("labels: [{{key: a, value: {long}}}]");
        assert_eq!(found(labels_are_well_formed, &value), 1);
        assert_eq!(found(labels_are_well_formed, "labels: [{key: a b}]"), 1);
        assert_eq!(found(labels_are_well_formed, "labels: [{value: b}]"), 1);
        assert_eq!(found(labels_are_well_formed, "labels: [{key: a}]"), 0);
        let worker = "labels: {node-role.kubernetes.io/worker: \"\"}";
        assert_eq!(found(labels_are_allowed, worker), 1);
        let role = |role: &str| {
            format!(
                "labels: [{{key: machine.openshift.io/cluster-api-machine-role, value: {role}}}]"
            )
        };
        assert_eq!(found(labels_are_allowed, &role("infra")), 1);
        assert_eq!(found(labels_are_allowed, &role("worker")), 0);
        let taints = "taints: [{key: \"\", effect: NoExecute}, {key: a, effect: Bogus}, {key: a}]";
        assert_eq!(found(taints_are_well_formed, taints), 3);
    }
}
