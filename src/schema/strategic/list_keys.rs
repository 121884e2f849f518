//! Which lists merge by which keys.
//!
//! In: the place of a list. Out: the keys that identify its elements, or nothing for a list that is
//! replaced as a whole. It does not know the lists themselves.

use std::collections::HashMap;

use kube_schema::{Items, MERGING_LISTS};

use crate::model::{Node, Value};

/// The place of a value, as the rules for lists need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct At<'a> {
    /// The API group of the innermost object; `None` if it has none.
    group: Option<&'a str>,
    /// The kind of the innermost object, or empty.
    pub(super) kind: &'a str,
    /// The key of the map that holds the value; that of the list if the map is an element of one.
    pub(super) parent: &'a str,
    /// The key of the value.
    pub(super) field: &'a str,
}

impl<'a> At<'a> {
    /// The place of an object of this `apiVersion` and kind.
    #[must_use]
    pub fn of(api_version: Option<&'a str>, kind: &'a str) -> Self {
        let group = |text: &'a str| text.split_once('/').map_or("", |(group, _)| group);
        Self {
            group: api_version.map(group),
            kind,
            ..Self::default()
        }
    }

    /// The place of the value under `field` of the map at this place.
    #[must_use]
    pub fn child(self, field: &'a str) -> Self {
        Self {
            parent: self.field,
            field,
            ..self
        }
    }

    /// The place of `element` of the list at this place: objects in lists have their own kind.
    #[must_use]
    pub fn element(self, element: &'a Node) -> Self {
        match (element.text(&["kind"]), element.get("metadata")) {
            (Some(kind), Some(_)) => Self::of(element.text(&["apiVersion"]), kind),
            _ => self,
        }
    }
}

/// The lists that merge by key. The default holds those of Kubernetes, Cluster API, the ARO kinds
/// and our definition; those of CRDs in a tree are added.
#[derive(Clone, Debug)]
pub struct ListKeys(HashMap<String, Vec<Rule>>);

#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The API group it holds for; empty for every group.
    group: String,
    /// The kind it holds for; empty for every kind.
    kind: String,
    /// The key above the list; empty for every place.
    parent: String,
    keys: Keys,
}

/// What identifies an element: chains of field names, some with a default.
#[derive(Clone, Debug)]
pub(super) struct Keys(Vec<Key>);

/// A chain of field names, and its value if an element lacks it.
type Key = (Vec<String>, Option<&'static str>);

impl ListKeys {
    /// Adds the list `field` with a rule that comes before all others.
    pub(super) fn put_first(&mut self, field: &str, rule: Rule) {
        self.0.entry(field.to_owned()).or_default().insert(0, rule);
    }

    fn put_last(&mut self, field: &str, rule: Rule) {
        self.0.entry(field.to_owned()).or_default().push(rule);
    }

    /// What tells `element` of the list at `at` from its siblings, such as `name=mp1`; nothing if the list has no
    /// keys, or the element lacks one.
    #[must_use]
    pub fn label(&self, at: At<'_>, element: &Node) -> Option<String> {
        let keys = self.of(at)?.0.iter();
        let label = |key: &Key| Some(format!("{}={}", key.0.join("."), text(key, element)?));
        let labels: Option<Vec<String>> = keys.map(label).collect();
        Some(labels?.join(","))
    }

    /// The keys of the list at `at`.
    pub(super) fn of(&self, at: At<'_>) -> Option<&Keys> {
        let fits = |wanted: &str, given: &str| wanted.is_empty() || wanted == given;
        let rules = self.0.get(at.field)?;
        let rule = rules.iter().find(|rule| {
            let group = at.group.is_none_or(|group| fits(&rule.group, group));
            group && fits(&rule.kind, at.kind) && fits(&rule.parent, at.parent)
        })?;
        Some(&rule.keys)
    }
}

impl Default for ListKeys {
    fn default() -> Self {
        let mut lists = Self(HashMap::new());
        for (kind, parent, fields, keys) in TABLE {
            let keys: Vec<&str> = keys.split(' ').collect();
            for field in fields.split(' ') {
                lists.put_last(field, Rule::new(("", kind), parent, &keys));
            }
        }
        for list in MERGING_LISTS {
            if let (Items::Keys(_), Items::Keys(keys)) = (list.patch, list.apply) {
                lists.put_last(list.name, Rule::new(("", list.kind), list.parent, keys));
            }
        }
        lists
    }
}

impl Rule {
    /// The keys of a list below `parent` of objects of a group and kind; what is empty means any.
    pub(super) fn new((group, kind): (&str, &str), parent: &str, keys: &[&str]) -> Self {
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            parent: parent.to_owned(),
            keys: Keys(keys.iter().map(|key| parse(key)).collect()),
        }
    }
}

/// A key of the table: names joined by dots. A port without a protocol is a TCP port.
fn parse(key: &str) -> Key {
    let default = (key == "protocol").then_some("TCP");
    (key.split('.').map(str::to_owned).collect(), default)
}

/// The value of a key in `element`.
fn text((names, default): &Key, element: &Node) -> Option<String> {
    let mut chain = names.iter();
    match chain.try_fold(element, |node, name| node.get(name)) {
        Some(node) => scalar(node),
        None => default.map(str::to_owned),
    }
}

impl Keys {
    /// What `element` is called among its siblings; nothing when a key is missing.
    pub(super) fn identity(&self, element: &Node) -> Option<String> {
        let mut identity = String::new();
        for key in &self.0 {
            identity.push_str(&text(key, element)?);
            identity.push('\0');
        }
        Some(identity)
    }

    /// The values that identify `element`; nothing for a key that is missing.
    pub(super) fn values(&self, element: &Node) -> Vec<Option<Node>> {
        let find = |(names, _): &Key| {
            let mut names = names.iter();
            names
                .try_fold(element, |node, name| node.get(name))
                .cloned()
        };
        self.0.iter().map(find).collect()
    }

    /// Puts `values` of the same identity in the place of those in `element`.
    pub(super) fn put_back(&self, element: &mut Node, values: Vec<Option<Node>>) {
        for ((names, _), value) in self.0.iter().zip(values) {
            let slot = names
                .iter()
                .try_fold(&mut *element, |node, name| match &mut node.value {
                    Value::Map(map) => map.get_mut(name),
                    _ => None,
                });
            if let (Some(slot), Some(value)) = (slot, value) {
                *slot = value;
            }
        }
    }

    /// The keys in words.
    pub(super) fn names(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|(names, _)| names.join(".")).collect();
        names.join("` and `")
    }
}

/// The text of a value that can tell elements apart.
pub(super) fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(int) => Some(int.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Float(_, text) => Some(text.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Kind, parent, fields, keys; empty is any. Sources: the list-map keys of the CRDs of Cluster API and
/// HyperShift, and for the lists of the ARO kinds and of definitions DESIGN §3 (their CRDs name none).
/// The lists of Kubernetes' own kinds are those of [`MERGING_LISTS`]: what a strategic merge patch
/// merges, by the keys of server-side apply, because that is how the result is sent.
const TABLE: &[(&str, &str, &str, &str)] = &[
    ("", "", "nodePools", "name"),
    ("", "", "taints", "key effect"),
    ("", "", "labels", "key"),
    ("AROCluster", "spec", "resources", "kind metadata.name"),
    ("AROControlPlane", "spec", "resources", "kind metadata.name"),
    ("AROMachinePool", "spec", "resources", "kind metadata.name"),
    ("", "", "readinessGates availabilityGates", "conditionType"),
    ("Cluster", "topology", "variables", "name"),
    (
        "Cluster",
        "workers",
        "machineDeployments machinePools",
        "name",
    ),
    ("Cluster", "variables", "overrides", "name"),
    ("HostedCluster", "audit", "customRules", "group"),
    (
        "HostedCluster",
        "ingress",
        "componentRoutes",
        "namespace name",
    ),
];
