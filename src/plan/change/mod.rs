//! The consequences of a change: whether fields change that replace nodes, that are immutable, or that get a value
//! that Azure refuses after the one before.
//!
//! In: an object as it was applied or as it is, and as it will be. Out: the fields that matter, each with
//! its consequence and the reason; how many nodes are replaced; whether a step may be sent. Objects with
//! embedded resources are compared resource by resource. It does not know where the objects come from.

mod alike;
mod fields;
mod gate;
mod hyper_shift;
mod nodes;
mod versions;

use std::collections::{BTreeSet, HashMap};

use serde_json::Value as Json;

use crate::api::arm_version::ArmVersion;
use crate::api::embedded;
use crate::api::kinds::is_aso;
use crate::health::Live;
use crate::model::{Change, ObjectId, Path, rule_id, work};
use fields::{Absent, CARRIED, EVERY_ASO, FIELDS, Field, GONE, INTEGRATION_SUBNET, Row, When};

pub use gate::{Withheld, gate, would_be};
pub use nodes::Rolled;
use versions::Owner;
pub use versions::RefusedVersion;

/// What to do about a change of an immutable field.
const REPLACE: &str = "Capstan never replaces a cluster or a part of one: add it under a new name and remove the old one";

/// A changed field and its consequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Consequence {
    /// The object or embedded resource with the field.
    pub part: ObjectId,
    /// Its path in the object that was compared.
    pub field: Path,
    /// Whether it replaces nodes, would replace the part, or is refused.
    pub change: Change,
    /// The reason.
    pub why: &'static str,
    /// Whether the field is added, removed or changed as a whole.
    pub edit: Edit,
    /// What a person may do.
    pub remedy: Remedy,
}

/// What happens to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// There was none.
    Added,
    /// There is none any more.
    Removed,
    /// It has another value.
    Changed,
}

/// What a person may do about a change that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Add the object under a new name.
    Recreate,
    /// Keep the previous name in Azure.
    KeepName(String),
    /// Keep the version of Azure's API.
    KeepVersion(ArmVersion),
    /// Write another version of OpenShift.
    Version(RefusedVersion),
}

impl Consequence {
    /// Whether it cannot be made.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self.change, Change::Replace | Change::Refused)
    }

    /// The rule that reports it.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self.change {
            Change::Refused if self.part.kind == "HcpOpenShiftCluster" => rule_id::CLUSTER_UPGRADE,
            Change::Refused => rule_id::POOL_UPGRADE,
            Change::Replace => rule_id::IMMUTABLE_FIELD,
            _ => rule_id::REPLACED_NODES,
        }
    }

    /// The consequence, in one sentence.
    #[must_use]
    pub fn message(&self) -> String {
        let Self {
            part, field, why, ..
        } = self;
        match (&self.remedy, self.change) {
            (Remedy::Version(version), _) => format!("{field} of {part} {version}: {why}"),
            (_, Change::Replace) => format!("{field} of {part} cannot be changed: {why}"),
            _ => format!("{field} of {part} changes: {why}"),
        }
    }

    /// What to do next.
    #[must_use]
    pub fn help(&self) -> String {
        let help = match (self.change, &self.remedy) {
            (_, Remedy::Version(version)) => return version.help.clone(),
            (Change::Replace, Remedy::KeepVersion(version)) => {
                let arm = version.arm();
                return format!(
                    "keep API version {arm} for this cluster; to use a later one, add a cluster under a new name and remove the old one"
                );
            }
            (Change::Replace, Remedy::KeepName(name)) => {
                let place = match self.part.kind.as_str() {
                    "HcpOpenShiftClustersNodePool" => " in the node pool",
                    "HcpOpenShiftClustersExternalAuth" => " in the external auth",
                    _ => "",
                };
                return format!("to keep what exists in Azure, set `azureName: {name}`{place}");
            }
            (Change::Replace, Remedy::Recreate) if is_plain(&self.part.group) => {
                "add it under a new name and remove the old one"
            }
            (Change::Replace, Remedy::Recreate) => REPLACE,
            _ => {
                "the nodes are drained and replaced one after the other: merge the change when that is acceptable"
            }
        };
        help.to_owned()
    }
}

/// The consequences of changing `before` to `after`.
#[must_use]
pub fn consequences(before: &Json, after: &Json) -> Vec<Consequence> {
    let whole = Part {
        id: Live(after).id(),
        path: Path::default(),
        value: after,
    };
    let owner = Owner::of(before);
    let mut found = whole.against(&owner, before);
    let (old, new) = (embedded_in(before), embedded_in(after));
    let mut by_id: HashMap<&ObjectId, &Part<'_>> = HashMap::new();
    for part in &new {
        work::step();
        by_id.entry(&part.id).or_insert(part);
    }
    for part in &old {
        match by_id.get(&part.id) {
            Some(now) => found.extend(now.against(&owner, part.value)),
            None if CARRIED.contains(&part.id.kind.as_str()) => found.push(Consequence {
                part: part.id.clone(),
                field: Path::dotted("spec.resources"),
                change: Change::Replace,
                why: GONE,
                edit: Edit::Changed,
                remedy: Remedy::Recreate,
            }),
            None => {}
        }
    }
    found
}

/// The most severe of `consequences`; in place if it is empty.
#[must_use]
pub fn heaviest(consequences: &[Consequence]) -> Change {
    let changes = consequences.iter().map(|consequence| consequence.change);
    changes.max().unwrap_or(Change::InPlace)
}

/// Whether a change of such an object must be checked before it is sent. The API server itself rejects bad
/// changes of Kubernetes' own kinds.
#[must_use]
pub fn is_looked_at(id: &ObjectId) -> bool {
    !is_plain(&id.group)
        && (is_aso(&id.group)
            || embedded::carries(id)
            || rows().any(|(group, kind, _)| id.is(group, kind)))
}

fn rows() -> impl Iterator<Item = &'static Row> {
    FIELDS.iter().chain(hyper_shift::FIELDS)
}

/// Whether the group belongs to Kubernetes itself.
fn is_plain(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// An object, or one that is embedded in it.
struct Part<'a> {
    id: ObjectId,
    path: Path,
    value: &'a Json,
}

/// The resources in `spec.resources` that have a name.
fn embedded_in(owner: &Json) -> Vec<Part<'_>> {
    let namespace = Live(owner).namespace();
    let items = match embedded::carries(&Live(owner).id()) {
        true => Live(owner).list(&["spec", "resources"]),
        false => &[],
    };
    let path = Path::dotted("spec.resources");
    let parts = items.iter().enumerate().map(|(index, value)| {
        let own = Live(value);
        Part {
            id: ObjectId::new(own.group(), own.kind(), namespace, own.name()),
            path: path.index(index),
            value,
        }
    });
    parts.filter(|part| !part.id.name.is_empty()).collect()
}

impl Part<'_> {
    /// The consequences of changing `before`, a resource of `owner`, into it.
    fn against(&self, owner: &Owner<'_>, before: &Json) -> Vec<Consequence> {
        let own = rows()
            .find(|(group, kind, _)| self.id.is(group, kind))
            .map_or(&[][..], |(_, _, fields)| *fields);
        let aso = match is_aso(&self.id.group) {
            true => EVERY_ASO,
            false => &[],
        };
        let fields = own.iter().chain(aso);
        let fields = fields.filter(|field| self.counts(field, owner, before));
        let refused = self.refused(owner, before);
        // What is refused replaces no nodes.
        let is_refused = |one: &Consequence| refused.iter().any(|other| other.field == one.field);
        let changed = fields.flat_map(|field| self.changed(field, before));
        let mut found: Vec<Consequence> = changed.filter(|one| !is_refused(one)).collect();
        found.extend(refused);
        found
    }

    /// The change of its version, if Azure refuses that.
    fn refused(&self, owner: &Owner<'_>, before: &Json) -> Option<Consequence> {
        let (version, why) = versions::refused(owner, before, (&self.id, self.value))?;
        let keys = versions::ID.iter();
        Some(Consequence {
            part: self.id.clone(),
            field: keys.fold(self.path.clone(), |path, key| path.key(*key)),
            change: Change::Refused,
            why,
            edit: Edit::Changed,
            remedy: Remedy::Version(version),
        })
    }

    fn counts(&self, field: &Field, owner: &Owner<'_>, before: &Json) -> bool {
        match field.when {
            When::Always => true,
            When::KeyIsFixed => {
                let running = versions::running(owner, before, &self.id.kind);
                let version = arm_version(self.value);
                version.is_some_and(|version| !version.rotates_keys(running))
            }
            When::Sealed => before["immutable"] == true,
        }
    }

    /// The places where `field` changes.
    fn changed(&self, field: &Field, before: &Json) -> Vec<Consequence> {
        let older: Vec<String> = keys(field.older);
        let is_older = |keys: &[String]| {
            let has = |keys: &[String]| at(self.value, keys).is_some();
            !older.is_empty() && !has(keys) && has(&older)
        };
        let value = |json, keys: &[String]| {
            let older = || at(json, &older).filter(|_| !older.is_empty());
            let value = at(json, keys)
                .filter(|value| !value.is_null())
                .or_else(older);
            value.filter(|value| !value.is_null()).cloned()
        };
        let absent = match field.absent {
            Absent::Is(text) => serde_json::from_str(text).ok(),
            Absent::Name => Some(Json::from(self.id.name.as_str())),
            Absent::Chosen | Absent::Kept => None,
        };
        let is_kept = matches!(field.absent, Absent::Kept);
        let differs = |keys: &Vec<String>| {
            let old = value(before, keys).or_else(|| absent.clone());
            match (old, value(self.value, keys).or_else(|| absent.clone())) {
                (Some(old), Some(new)) => !(field.same)(&old, &new),
                (Some(_), None) => is_kept,
                _ => false,
            }
        };
        let edit = |keys: &[String]| match (value(before, keys), value(self.value, keys)) {
            (None, _) => Edit::Added,
            (_, None) => Edit::Removed,
            _ => Edit::Changed,
        };
        let consequence = |keys: Vec<String>| Consequence {
            part: self.id.clone(),
            edit: edit(&keys),
            remedy: self.remedy(field, before, edit(&keys)),
            field: if is_older(&keys) { &older } else { &keys }
                .iter()
                .fold(self.path.clone(), |path, key| path.key(key)),
            change: field.change,
            why: field.why,
        };
        let paths = places(field.at, before, self.value).into_iter();
        paths.filter(differs).map(consequence).collect()
    }

    /// What a person may do about an edit of `field`.
    fn remedy(&self, field: &Field, before: &Json, edit: Edit) -> Remedy {
        if let Absent::Name = field.absent {
            let name = Live(before).text(&["spec", "azureName"]);
            let name = if name.is_empty() { &self.id.name } else { name };
            return Remedy::KeepName(name.to_owned());
        }
        let older = arm_version(before).filter(|version| !version.has_integration_subnet());
        match older {
            Some(version) if edit == Edit::Added && field.at == INTEGRATION_SUBNET => {
                Remedy::KeepVersion(version)
            }
            _ => Remedy::Recreate,
        }
    }
}

/// The version of Azure's API that a resource is written in, if it is known.
fn arm_version(resource: &Json) -> Option<ArmVersion> {
    let api_version = Live(resource).text(&["apiVersion"]);
    ArmVersion::from_aso(api_version.rsplit('/').next()?)
}

/// The keys of a JSON pointer.
fn keys(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(str::to_owned).collect()
}

/// The value under a chain of keys.
fn at<'a>(json: &'a Json, keys: &[String]) -> Option<&'a Json> {
    keys.iter().try_fold(json, |value, key| value.get(key))
}

/// The places that a pointer with `*` means in two objects.
fn places(pointer: &str, one: &Json, other: &Json) -> Vec<Vec<String>> {
    let mut places = vec![Vec::new()];
    for step in pointer.split('/').skip(1) {
        let longer = places.into_iter().flat_map(|keys| {
            let names: BTreeSet<String> = match step {
                "*" => [one, other]
                    .into_iter()
                    .filter_map(|json| at(json, &keys)?.as_object())
                    .flat_map(|members| members.keys().cloned())
                    .collect(),
                name => BTreeSet::from([name.to_owned()]),
            };
            names.into_iter().map(move |name| {
                let mut keys = keys.clone();
                keys.push(name);
                keys
            })
        });
        places = longer.collect();
    }
    places
}

#[cfg(test)]
mod tests;
