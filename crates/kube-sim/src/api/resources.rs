//! Which resources are served: the table's and those that CustomResourceDefinitions add.
//!
//! In: rows of the table, definitions. Out: [`Resource`]s, found by what URLs and owner references
//! call them. It does not know objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::address::{Address, collection, key as object_key};
use super::builtin::{BUILTINS, Builtin, Trait};
use super::custom::Custom;
use super::event_forms;
use super::names::NameRule;

/// One resource at one version.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) namespaced: bool,
    /// Where its objects are kept; versions of a resource share it, and so do both kinds of events.
    pub(super) collection: Arc<str>,
    /// The type of its objects, as it opens their JSON.
    pub(super) prefix: String,
    pub(super) nature: Nature,
}

/// Where a resource comes from, which decides how its objects are checked.
#[derive(Debug)]
pub(super) enum Nature {
    /// From the table.
    Builtin(&'static Builtin),
    /// From a definition.
    Custom(Custom),
}

impl Resource {
    fn builtin(row: &'static Builtin) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let storage = match row.group {
            event_forms::GROUP => "",
            group => group,
        };
        Self {
            group: row.group.into(),
            version: row.version.into(),
            plural: row.plural.into(),
            singular: row.kind.to_lowercase(),
            kind: row.kind.into(),
            list_kind: format!("{}List", row.kind),
            short_names: owned(row.short_names),
            categories: owned(row.categories),
            namespaced: !row.has(Trait::Cluster),
            collection: collection(storage, row.plural),
            prefix: prefix(row.group, row.version, row.kind),
            nature: Nature::Builtin(row),
        }
    }

    /// `v1`, `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// `configmaps`, `deployments.apps`.
    pub(super) fn qualified(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The group of the kind that its objects are stored as.
    pub(super) fn stored_group(&self) -> &str {
        let stored = self.collection.split_once('/');
        stored.map_or("", |(group, _)| group)
    }

    /// Where its object with this name is kept.
    pub(super) fn address(&self, namespace: &str, name: &str) -> Address {
        Address {
            collection: self.collection.clone(),
            key: object_key(namespace, name),
        }
    }

    /// Where a real server keeps an object in etcd, as some of its refusals say.
    pub(super) fn storage_key(&self, address: &Address) -> String {
        let place = match (self.is_builtin(), self.group.as_str(), self.plural.as_str()) {
            (true, "", "services") => "services/specs",
            (true, "networking.k8s.io", "ingresses") => "ingress",
            (true, "apiextensions.k8s.io", _) | (false, ..) => &self.collection,
            (true, _, plural) => plural,
        };
        format!("{place}/{}", address.key)
    }

    /// Whether it is the resource `plural` of `group`.
    pub(super) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Whether it is from the table.
    pub(super) fn is_builtin(&self) -> bool {
        matches!(self.nature, Nature::Builtin(_))
    }

    /// The definition's part, of a resource that comes from one.
    pub(super) fn custom(&self) -> Option<&Custom> {
        match &self.nature {
            Nature::Builtin(_) => None,
            Nature::Custom(custom) => Some(custom),
        }
    }

    /// Whether it has the trait of the table; those of custom resources are their definition's.
    pub(super) fn has(&self, wanted: Trait) -> bool {
        match &self.nature {
            Nature::Builtin(row) => row.has(wanted),
            Nature::Custom(custom) => wanted == Trait::Status && custom.status,
        }
    }

    /// The warning to everybody who uses it.
    pub(super) fn warning(&self) -> Option<&str> {
        self.custom()?.warning.as_deref()
    }

    /// Which names its objects may have.
    pub(super) fn name_rule(&self) -> NameRule {
        match &self.nature {
            Nature::Builtin(row) => row.name,
            Nature::Custom(_) => NameRule::Subdomain,
        }
    }

    /// The edition that objects written now are written under.
    pub(super) fn edition(&self) -> u32 {
        self.custom().map_or(0, |custom| custom.edition)
    }

    /// Whether it is the version in which its objects are stored.
    pub(super) fn is_stored(&self) -> bool {
        self.stores_as_it_serves(self.edition())
    }

    /// Whether the stored text of an object written under `edition` is what clients get to see.
    pub(super) fn stores_as_it_serves(&self, edition: u32) -> bool {
        match &self.nature {
            Nature::Builtin(row) => row.group != event_forms::GROUP,
            Nature::Custom(custom) => custom.stores_as_it_serves(edition),
        }
    }

    /// A stored object as this version shows it.
    pub(super) fn present(&self, stored: Value, edition: u32) -> Value {
        match &self.nature {
            Nature::Builtin(row) if row.group == event_forms::GROUP => {
                event_forms::from_core(stored)
            }
            Nature::Custom(custom) if !custom.stores_as_it_serves(edition) => {
                custom.present(stored)
            }
            _ => stored,
        }
    }

    /// An object of this version as it is stored.
    pub(super) fn to_storage(&self, object: Value) -> Value {
        match &self.nature {
            Nature::Builtin(row) if row.group == event_forms::GROUP => event_forms::to_core(object),
            Nature::Builtin(_) => object,
            Nature::Custom(custom) => custom.to_storage(object),
        }
    }

    /// The versions that a definition has, as `group/version`; of a built-in kind they are not listed.
    pub(super) fn versions(&self) -> Vec<&str> {
        let custom = self.custom().into_iter();
        custom
            .flat_map(|custom| custom.versions.iter().map(String::as_str))
            .collect()
    }

    /// The field paths its objects can be selected by.
    pub(super) fn selectable(&self) -> Vec<&str> {
        let own: Vec<&str> = match &self.nature {
            Nature::Builtin(row) => row.fields.to_vec(),
            Nature::Custom(custom) => custom.selectable.iter().map(String::as_str).collect(),
        };
        // Most built-in kinds do not look whether they lie in a namespace.
        let placed = self.namespaced || (self.is_builtin() && own.is_empty());
        let common = METADATA_FIELDS.into_iter().take(if placed { 2 } else { 1 });
        common.chain(own).collect()
    }

    /// Where the stored objects have a field that objects of this version can be selected by.
    pub(super) fn stored_field(&self, path: &str) -> String {
        match self.group.as_str() {
            event_forms::GROUP => event_forms::field_in_core(path),
            _ => path.to_owned(),
        }
    }

    /// What can be done with its objects.
    pub(super) fn verbs(&self) -> Vec<&'static str> {
        if !self.is_builtin() {
            return CUSTOM_VERBS.to_vec();
        }
        let kept =
            |verb: &&str| *verb != "deletecollection" || !self.has(Trait::NoDeleteCollection);
        VERBS.into_iter().filter(kept).collect()
    }
}

/// What can be done with built-in resources, in the order of a real server.
const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// The same of custom resources.
const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// What objects of most kinds can be selected by.
pub(super) const METADATA_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// `v1`, `apps/v1`.
pub(super) fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// The type of an object as it opens its JSON.
pub(super) fn prefix(group: &str, version: &str, kind: &str) -> String {
    let api_version = json!(api_version(group, version));
    format!("\"apiVersion\":{api_version},\"kind\":{},", json!(kind))
}

/// Every resource that is served.
#[derive(Clone, Debug)]
pub(super) struct Registry {
    /// By `group/version/plural`.
    resources: BTreeMap<String, Arc<Resource>>,
}

impl Registry {
    /// The table's resources.
    pub(super) fn new() -> Self {
        let mut registry = Self {
            resources: BTreeMap::new(),
        };
        for row in BUILTINS {
            registry.add(Resource::builtin(row));
        }
        registry
    }

    /// Serves one more resource, instead of its namesake if there is one.
    pub(super) fn add(&mut self, resource: Resource) {
        let key = key(&resource.group, &resource.version, &resource.plural);
        self.resources.insert(key, Arc::new(resource));
    }

    /// Stops serving every version of a resource.
    pub(super) fn remove(&mut self, group: &str, plural: &str) {
        self.resources
            .retain(|_, resource| !resource.is(group, plural));
    }

    /// The resource that a path names.
    pub(super) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.get(&key(group, version, plural)).cloned()
    }

    /// Any version of the resource of a kind.
    pub(super) fn of_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        let start = format!("{group}/");
        self.resources
            .range(start.clone()..)
            .take_while(|(key, _)| key.starts_with(&start))
            .map(|(_, resource)| resource)
            .find(|resource| resource.kind == kind)
    }

    /// The resource whose objects are kept in `collection`, at the version that is stored if that is
    /// served.
    pub(super) fn of_collection(&self, collection: &str) -> Option<&Arc<Resource>> {
        let (group, _) = collection.split_once('/')?;
        let start = format!("{group}/");
        let versions = || {
            self.resources
                .range(start.clone()..)
                .take_while(|(key, _)| key.starts_with(&start))
                .map(|(_, resource)| resource)
                .filter(|resource| &*resource.collection == collection)
        };
        versions()
            .find(|resource| resource.is_stored())
            .or_else(|| versions().next())
    }

    /// Every resource, by group, version and plural.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }
}

fn key(group: &str, version: &str, plural: &str) -> String {
    format!("{group}/{version}/{plural}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn resources_are_found_by_path_kind_and_collection() {
        let registry = Registry::new();
        let deployments = registry.find("apps", "v1", "deployments").unwrap();
        assert_eq!(deployments.qualified(), "deployments.apps");
        assert_eq!(
            deployments.prefix,
            r#""apiVersion":"apps/v1","kind":"Deployment","#
        );
        assert_eq!(
            registry.of_kind("", "ConfigMap").unwrap().plural,
            "configmaps"
        );
        assert!(registry.of_kind("app", "Deployment").is_none());
        assert!(registry.find("apps", "v2", "deployments").is_none());
        let events = registry.of_collection("/events").unwrap();
        assert_eq!(events.group, "");
    }

    #[test]
    fn the_table_has_no_resource_twice() {
        assert_eq!(Registry::new().all().count(), BUILTINS.len());
    }

    #[test]
    fn namespaces_are_not_deleted_together() {
        let registry = Registry::new();
        let namespaces = registry.find("", "v1", "namespaces").unwrap();
        assert!(!namespaces.verbs().contains(&"deletecollection"));
        assert!(!namespaces.namespaced);
    }
}
