//! Clusters and pools that come back under another name.
//!
//! In: the objects that carry the specification of those that leave, and of those that are new. Out: pairs. Two are the
//! same when they are of one subscription and place, and nearly all that the new one says the old one had, once the names
//! are taken out. Two instances of the service provider's API are never the same. It does not know whether the objects come from files or from a cluster: what the old one has beyond the
//! new one does not count, such as the defaults of a server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::{Unit, units_of};
use crate::api::embedded;
use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::api::labels::SERVICE_INSTANCE;
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::ObjectId;

/// The share of the new values, in millionths, that the old one must have: clusters of a fleet differ in a few of hundreds. A rename often comes with another small change,
/// such as a tag; clusters of one overlay for two purposes differ in more than a tenth.
const ALIKE: usize = 900_000;
/// The fewest values that say anything.
const FEWEST: usize = 3;
/// What stands for the names of a unit in its values.
const NAME: &str = "\u{0}";
/// How much of a cluster's name the names of its resources have (src/expand/aro/names.rs).
const PREFIX: usize = 14;
/// The fewest hexadecimal digits of the part of a name that tells it from others.
const FEWEST_DIGITS: usize = 5;

/// What a cluster or a pool is, apart from its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// Whose it is.
    pub unit: Unit,
    /// The ID of the instance of the service provider's API that it is.
    instance: Option<String>,
    /// The values, by path.
    values: BTreeMap<String, String>,
}

impl Likeness {
    /// Whether an object carries the specification of a cluster or a pool.
    #[must_use]
    pub fn is_carried_by(id: &ObjectId) -> bool {
        matches!(
            (id.group.as_str(), id.kind.as_str()),
            (CONTROL_PLANE, "AROControlPlane")
                | (INFRASTRUCTURE, "AROMachinePool")
                | (
                    RED_HAT_OPENSHIFT,
                    "HcpOpenShiftCluster" | "HcpOpenShiftClustersNodePool"
                )
                | (HYPERSHIFT, "HostedCluster" | "NodePool")
        )
    }

    /// Reads it of such an object; `None` for others, and for one that does not name its cluster.
    #[must_use]
    pub fn of(object: &Json) -> Option<Self> {
        let unit = units_of(std::iter::once(object)).into_values().next()?;
        Self::of_unit(object, unit)
    }

    /// Reads it of an object of this unit; `None` unless the object carries its specification.
    #[must_use]
    pub fn of_unit(object: &Json, unit: Unit) -> Option<Self> {
        let id = Live(object).id();
        if !Self::is_carried_by(&id) {
            return None;
        }
        let name = unit.name();
        let cut: String = name.chars().take(PREFIX).collect();
        let own = [id.name.as_str(), name, cut.trim_end_matches('-')];
        let mut values = BTreeMap::new();
        let mut spec = object["spec"].clone();
        if embedded::carries(&id)
            && let Some(spec) = spec.as_object_mut()
        {
            let resources = spec.remove("resources");
            for item in resources.iter().filter_map(Json::as_array).flatten() {
                let place = format!("{}/{}", Live(item).kind(), without(Live(item).name(), &own));
                collect(&item["spec"], &place, &own, &mut values);
            }
        }
        collect(&spec, "", &own, &mut values);
        let instance = object["metadata"]["labels"][SERVICE_INSTANCE].as_str();
        Some(Self {
            unit,
            instance: instance.map(str::to_owned),
            values,
        })
    }

    /// Whether `new` is the same under another name.
    fn is(&self, new: &Self) -> bool {
        let is_kind = self.unit.pool.is_some() == new.unit.pool.is_some();
        let is_near = match self.unit.pool {
            Some(_) => self.unit.root() == new.unit.root(),
            None => true,
        };
        is_kind
            && is_near
            && self.instance == new.instance
            && self.unit != new.unit
            && !self.is_elsewhere(new)
            && self.has(new) >= ALIKE
    }

    /// How many millionths of the values of `new` it has.
    fn has(&self, new: &Self) -> usize {
        let same = new.values.iter();
        let same = same.filter(|(path, value)| self.values.get(*path) == Some(value));
        match new.values.len() {
            few if few < FEWEST => 0,
            all => same.count() * 1_000_000 / all,
        }
    }

    /// Whether they are of different subscriptions or regions.
    fn is_elsewhere(&self, new: &Self) -> bool {
        let differs = |(path, value): (&String, &String)| {
            let other = self.values.get(path);
            is_place(path) && other.is_some_and(|other| !other.eq_ignore_ascii_case(value))
        };
        new.values.iter().any(differs)
    }
}

fn is_place(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    matches!(last, "subscriptionID" | "subscriptionId" | "location")
}

/// Pairs the clusters and pools whose objects are among `gone` with those of `new` that are the same. Nothing of `new` is
/// read unless it may matter.
#[must_use]
pub fn renames<'a>(
    gone: impl Iterator<Item = &'a Json>,
    new: impl Iterator<Item = Json>,
) -> BTreeMap<Unit, Unit> {
    let gone = likenesses(&gone.collect::<Vec<_>>());
    if gone.is_empty() {
        return BTreeMap::new();
    }
    let new: Vec<Json> = new.collect();
    let new = likenesses(&new.iter().collect::<Vec<_>>());
    renamed(&gone.iter().collect::<Vec<_>>(), &new)
}

fn likenesses(objects: &[&Json]) -> Vec<Likeness> {
    let mut units = units_of(objects.iter().copied());
    let of = |object: &&Json| {
        let unit = units.remove(&Live(object).id())?;
        Likeness::of_unit(object, unit)
    };
    objects.iter().filter_map(of).collect()
}

/// Pairs those of `gone` with those of `new` that are the same, each at most once, the most alike first.
#[must_use]
pub fn renamed(gone: &[&Likeness], new: &[Likeness]) -> BTreeMap<Unit, Unit> {
    let mut pairs: Vec<(usize, &Unit, &Unit)> = Vec::new();
    for old in gone {
        let alike = new.iter().filter(|new| old.is(new));
        pairs.extend(alike.map(|new| (old.has(new), &old.unit, &new.unit)));
    }
    pairs.sort_by(|one, other| {
        other
            .0
            .cmp(&one.0)
            .then((one.1, one.2).cmp(&(other.1, other.2)))
    });
    let (mut renamed, mut taken) = (BTreeMap::new(), BTreeSet::new());
    for (_, old, new) in pairs {
        if !renamed.contains_key(old) && taken.insert(new) {
            renamed.insert(old.clone(), new.clone());
        }
    }
    renamed
}

/// Adds the scalar values below a path.
fn collect(value: &Json, path: &str, own: &[&str], values: &mut BTreeMap<String, String>) {
    match value {
        Json::Object(members) => {
            for (key, value) in members {
                collect(value, &format!("{path}/{key}"), own, values);
            }
        }
        Json::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                collect(value, &format!("{path}/{at}"), own, values);
            }
        }
        Json::Null => {}
        Json::String(text) => drop(values.insert(path.to_owned(), without(text, own))),
        scalar => drop(values.insert(path.to_owned(), scalar.to_string())),
    }
}

/// The text with a mark in place of these names, where they stand for themselves or between `-`, `/` and the like.
fn without(text: &str, names: &[&str]) -> String {
    let mut text = text.to_owned();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(*name) {
            let is_inside = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
            let left = before.chars().next_back().or(out.chars().next_back());
            let is_whole = !is_inside(left) && !is_inside(after.chars().next());
            out.push_str(before);
            out.push_str(if is_whole { NAME } else { name });
            rest = after;
        }
        out.push_str(rest);
        text = out;
    }
    match text.contains(NAME) {
        true => without_digests(&text),
        false => text,
    }
}

/// A name that is made of another one, without the digest of it.
fn without_digests(text: &str) -> String {
    let parts = text.split_inclusive(|c: char| !c.is_alphanumeric());
    let parts = parts.map(|part| {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let is_digest = word.len() >= FEWEST_DIGITS && word.chars().all(is_digit);
        match is_digest {
            true => part.strip_prefix(word).unwrap_or_default(),
            false => part,
        }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plane(name: &str, version: &str, location: &str) -> Likeness {
        let subnet = |of: &str| json!({"kind": "VirtualNetworksSubnet", "metadata": {"name": format!("{of}-subnet")}, "spec": {"owner": {"name": format!("{of}-vnet")}, "addressPrefix": "10.0.0.0/24"}});
        let object = json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
            "metadata": {"name": name, "namespace": "ns", "labels": {"cluster.x-k8s.io/cluster-name": name}},
            "spec": {
                "subscriptionID": "s", "aroClusterName": name, "version": version, "location": location, "visibility": "Public",
                "channelGroup": "stable", "a": 1, "b": true, "c": [1, 2], "resources": [subnet(name)],
            },
        });
        Likeness::of(&object).expect("a control plane")
    }

    fn pairs(gone: &[Likeness], new: &[Likeness]) -> Vec<(String, String)> {
        let gone: Vec<&Likeness> = gone.iter().collect();
        let pairs = renamed(&gone, new).into_iter();
        pairs
            .map(|(old, new)| (old.to_string(), new.to_string()))
            .collect()
    }

    #[test]
    fn the_same_under_another_name_is_a_rename() {
        let pair = |old: &str, new: &str| vec![(old.to_owned(), new.to_owned())];
        let old = [plane("one", "4.20", "uksouth")];
        let renamed = pair("ns/one", "ns/two");
        assert_eq!(pairs(&old, &[plane("two", "4.20", "uksouth")]), renamed);
        // Another change comes with it.
        assert_eq!(pairs(&old, &[plane("two", "4.21", "uksouth")]), renamed);
        assert_eq!(pairs(&old, &[plane("two", "4.20", "westeurope")]), []);
        // Of two that fit, the one that is more alike, and each once.
        let new = [
            plane("three", "4.21", "uksouth"),
            plane("two", "4.20", "uksouth"),
        ];
        assert_eq!(pairs(&old, &new), renamed);
        let both = [
            plane("one", "4.20", "uksouth"),
            plane("two", "4.20", "uksouth"),
        ];
        assert_eq!(
            pairs(&both, &[plane("three", "4.20", "uksouth")]),
            pair("ns/one", "ns/three")
        );
    }

    #[test]
    fn instances_of_the_service_provider_are_told_apart_by_their_ids() {
        let of = |name: &str, instance: Option<&str>| Likeness {
            instance: instance.map(str::to_owned),
            ..plane(name, "4.20", "uksouth")
        };
        let old = [of("one", Some("a"))];
        assert_eq!(pairs(&old, &[of("two", Some("b"))]), []);
        assert_eq!(pairs(&old, &[of("two", None)]), []);
        assert_eq!(pairs(&[of("one", None)], &[of("two", Some("b"))]), []);
        assert_eq!(pairs(&old, &[of("two", Some("a"))]).len(), 1);
        let object = json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": {"name": "one", "namespace": "ns", "labels": {"dcm-instance-id": "a"}}, "spec": {},
        });
        let read = Likeness::of(&object).expect("a hosted cluster");
        assert_eq!(read.instance.as_deref(), Some("a"));
    }

    /// Of hundreds of values, two clusters of a fleet may differ in one.
    #[test]
    fn the_one_that_is_the_same_is_renamed_and_not_one_that_is_nearly_so() {
        let of = |name: &str, last: &str| {
            let mut plane = plane(name, "4.20", "uksouth");
            let values = (0..400).map(|at| (format!("/v{at}"), "x".to_owned()));
            plane.values.extend(values);
            plane.values.insert("/last".to_owned(), last.to_owned());
            plane
        };
        let gone = [of("a", "1"), of("b", "2")];
        let pair = |old: &str, new: &str| vec![(old.to_owned(), new.to_owned())];
        assert_eq!(pairs(&gone, &[of("c", "2")]), pair("ns/b", "ns/c"));
        assert_eq!(pairs(&gone, &[of("c", "1")]), pair("ns/a", "ns/c"));
    }

    /// What a definition becomes has names with digests of its own.
    #[test]
    fn a_definition_under_another_name_is_recognised() {
        let text = include_str!("../../../tests/definition.yaml");
        let planes = |name: &str| {
            let text = text.replace("name: one", &format!("name: {name}"));
            let files = [(
                std::sync::Arc::from("a.yaml"),
                std::sync::Arc::from(text.as_bytes()),
            )];
            let tree = crate::model::Tree {
                files: files.into(),
                ..crate::model::Tree::default()
            };
            let compiled = crate::compile::compile(&tree, &[]);
            let sent = compiled.objects.iter().map(crate::plan::placed);
            sent.filter_map(|object| Likeness::of(&object))
                .collect::<Vec<_>>()
        };
        let all = |old: &str, new: &str| pairs(&planes(old), &planes(new));
        let pair =
            |old: &str, new: &str| vec![(format!("clusters/{old}"), format!("clusters/{new}"))];
        assert_eq!(all("one", "two"), pair("one", "two"));
        let long = "production-westeurope-1";
        assert_eq!(all(long, "two"), pair(long, "two"));
    }

    #[test]
    fn a_pool_is_renamed_within_its_cluster_only() {
        let pool = |cluster: &str, name: &str| {
            let object = json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool",
                "metadata": {"name": name, "namespace": "ns", "labels": {"cluster.x-k8s.io/cluster-name": cluster}},
                "spec": {"nodePoolName": name, "version": "4.20.1", "size": "D4", "zone": "1"},
            });
            Likeness::of(&object).expect("a pool")
        };
        let renamed = vec![("ns/one/mp1".to_owned(), "ns/one/mp2".to_owned())];
        assert_eq!(
            pairs(&[pool("one", "one-mp1")], &[pool("one", "one-mp2")]),
            renamed
        );
        assert_eq!(
            pairs(&[pool("one", "one-mp1")], &[pool("two", "two-mp2")]),
            []
        );
    }

    #[test]
    fn a_name_within_a_word_is_none() {
        assert_eq!(without("one-vnet/one", &["one"]), "\u{0}-vnet/\u{0}");
        assert_eq!(
            without("oneone onerous stone 1one", &["one"]),
            "oneone onerous stone 1one"
        );
        assert_eq!(without("aa-a", &["a"]), "aa-\u{0}");
        assert_eq!(without("é-x-é", &["x", ""]), "é-\u{0}-é");
        // The names of resources end in a digest of the cluster's.
        assert_eq!(without("one-vnet-1a2b3c/x", &["one"]), "\u{0}-vnet-/x");
        assert_eq!(without("two-vnet-1a2b3c", &["one"]), "two-vnet-1a2b3c");
    }
}
