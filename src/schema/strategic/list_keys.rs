//! Which lists merge by which keys.
//!
//! In: the place of a list. Out: the keys that identify its elements, or nothing for a list that is
//! replaced as a whole. It does not know the lists themselves.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use kube_schema::{Items, Published, PublishedField, published};

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
    /// What the API server publishes, if the kind is Kubernetes' own.
    published: Option<InPublished>,
}

/// A place in one of Kubernetes' own kinds.
#[derive(Clone, Copy, Debug)]
struct InPublished {
    /// The field with the value, if that is a list that merges or has such lists below.
    field: Option<&'static PublishedField>,
    /// The map that the value is, or the items of the list that it is.
    map: Option<&'static Published>,
}

impl InPublished {
    fn child(self, name: &str) -> Self {
        Self {
            field: self.map.and_then(|map| map.field(name)),
            map: self.map.and_then(|map| map.below(name)),
        }
    }
}

impl<'a> At<'a> {
    /// The place of an object of this `apiVersion` and kind.
    #[must_use]
    pub fn of(api_version: Option<&'a str>, kind: &'a str) -> Self {
        let group = |text: &'a str| text.split_once('/').map_or("", |(group, _)| group);
        let map = Published::of(api_version.unwrap_or_default(), kind);
        Self {
            group: api_version.map(group),
            kind,
            published: map.map(|map| InPublished {
                field: None,
                map: Some(map),
            }),
            ..Self::default()
        }
    }

    /// The place of the value under `field` of the map at this place.
    #[must_use]
    pub fn child(self, field: &'a str) -> Self {
        Self {
            parent: self.field,
            field,
            published: self.published.map(|place| place.child(field)),
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

/// The lists that merge by key: those that Kubernetes publishes for its own kinds, and for other kinds those
/// of the table below and of the CRDs in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListKeys(HashMap<String, Vec<Rule>>);

#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
        if let Some(place) = at.published {
            return PUBLISHED.get(&place.field.and_then(keys)?);
        }
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
            keys: Keys::of(keys),
        }
    }
}

/// The sets of keys that Kubernetes' own kinds have.
static PUBLISHED: LazyLock<HashMap<&[&str], Keys>> = LazyLock::new(|| {
    let mut sets = HashMap::new();
    let mut seen: HashSet<*const Published> = HashSet::new();
    let mut next: Vec<&Published> = published::KINDS.iter().map(|row| row.2).collect();
    while let Some(map) = next.pop() {
        if seen.insert(map) {
            let keys = map.fields().iter().filter_map(keys);
            sets.extend(keys.map(|keys| (keys, Keys::of(keys))));
            next.extend(map.maps());
        }
    }
    sets
});

/// The keys of a list of Kubernetes' own kinds, if a strategic merge patch merges it. They are those of
/// server-side apply, because that is how the result is sent.
const fn keys(list: &PublishedField) -> Option<&'static [&'static str]> {
    match (list.patch, list.apply) {
        (Items::Keys(_), Items::Keys(keys)) | (Items::Keys(keys), _) => Some(keys),
        _ => None,
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
    fn of(keys: &[&str]) -> Self {
        Self(keys.iter().map(|key| parse(key)).collect())
    }

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
/// Kubernetes' own kinds are not among them. Custom resources without a CRD in the tree often hold the lists
/// of a pod, and these merge as a pod's do.
const TABLE: &[(&str, &str, &str, &str)] = &[
    ("", "metadata", "ownerReferences", "uid"),
    ("", "status", "conditions", "type"),
    (
        "",
        "",
        "containers initContainers ephemeralContainers env volumes imagePullSecrets resourceClaims schedulingGates",
        "name",
    ),
    ("", "", "hostAliases", "ip"),
    ("", "", "volumeDevices", "devicePath"),
    ("", "", "volumeMounts", "mountPath"),
    ("", "containers", "ports", "containerPort protocol"),
    ("", "initContainers", "ports", "containerPort protocol"),
    ("", "ephemeralContainers", "ports", "containerPort protocol"),
    (
        "",
        "",
        "topologySpreadConstraints",
        "topologyKey whenUnsatisfiable",
    ),
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
