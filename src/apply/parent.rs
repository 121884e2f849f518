//! The parent of an ApplySet: what the cluster knows of a fleet as a whole (KEP-3659).
//!
//! In: the parent as the cluster has it. Out: its content, and the parent to apply. The labels of the
//! objects decide which are members; the parent only names the kinds and namespaces to look in, which members
//! there should be, and how far the fleet has come. It does not know: how it is read or written.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::members::Members;
use crate::api::labels;
use crate::model::ObjectId;
use crate::plan::ApplySet;

/// What may read and write the parent, and in which version.
const TOOLING: &str = concat!("capstan/v", env!("CARGO_PKG_VERSION"));

/// What the parent records about its set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parent {
    /// Group and kind of everything that is, or may be, a member.
    pub kinds: BTreeSet<(String, String)>,
    /// Where members are, or may be; the parent's own namespace need not be named.
    pub namespaces: BTreeSet<String>,
    /// Where the fleet comes from, for people.
    pub source: String,
    /// The revision that is being applied, or was last.
    pub applying: String,
    /// How many objects that revision has; `None` if an older Capstan wrote the parent.
    pub objects: Option<usize>,
    /// Which objects these are; empty if they are too many, or an older Capstan wrote the parent.
    pub members: Members,
    /// The last revision that was fully applied, including its removals; empty for none.
    pub applied: String,
    /// The revision that last became ready; empty for none.
    pub ready: String,
    /// Since when the fleet is suspended; empty if it is not. People set it, so it is never written.
    pub suspended: String,
}

/// A ConfigMap that cannot be the parent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOurs {
    /// It names another set.
    #[error("{0} is there and no ApplySet's parent of this name: its label {ID} should be {1:?} and is {2:?}", ID = labels::APPLY_SET_ID)]
    Id(Box<ObjectId>, String, String),
    /// Another tool keeps it.
    #[error("{0} is kept by {1:?}; two tools cannot keep one ApplySet")]
    Tooling(ObjectId, String),
}

impl Parent {
    /// Reads the live parent of `set`.
    ///
    /// # Errors
    /// When the ConfigMap is not a parent, or belongs to another set or another tool (the KEP's rules for tools).
    pub fn read(set: &ApplySet, live: &Json) -> Result<Self, NotOurs> {
        let text = |part: &str, key: &str| {
            let found = live["metadata"][part][key].as_str();
            found.unwrap_or_default().to_owned()
        };
        let id = text("labels", labels::APPLY_SET_ID);
        if id != set.id() {
            return Err(NotOurs::Id(Box::new(set.parent()), set.id(), id));
        }
        let tooling = text("annotations", labels::APPLY_SET_TOOLING);
        if tooling.split('/').next() != Some("capstan") {
            return Err(NotOurs::Tooling(set.parent(), tooling));
        }
        let data = |key: &str| live["data"][key].as_str().unwrap_or_default().to_owned();
        let kinds = text("annotations", labels::APPLY_SET_KINDS);
        let namespaces = text("annotations", labels::APPLY_SET_NAMESPACES);
        Ok(Self {
            kinds: parts(&kinds).map(group_kind).collect(),
            namespaces: parts(&namespaces).map(str::to_owned).collect(),
            source: data("source"),
            applying: data("applying"),
            objects: data("objects").parse().ok(),
            members: Members::read(&data("members")),
            applied: data("applied"),
            ready: data("ready"),
            suspended: text("annotations", labels::SUSPENDED),
        })
    }

    /// The same, with all that `planned` may make a member, and on the way to its revision.
    #[must_use]
    pub fn with(mut self, planned: Self) -> Self {
        self.kinds.extend(planned.kinds);
        self.namespaces.extend(planned.namespaces);
        Self {
            source: planned.source,
            applying: planned.applying,
            objects: planned.objects,
            members: planned.members,
            ..self
        }
    }

    /// The same as it is read again: without the namespaces that need not be named.
    #[must_use]
    pub fn tidy(mut self, set: &ApplySet) -> Self {
        let own = |namespace: &String| namespace.is_empty() || namespace == set.namespace();
        self.namespaces.retain(|namespace| !own(namespace));
        self
    }

    /// The parent of `set` as it is applied.
    #[must_use]
    pub fn payload(&self, set: &ApplySet) -> Json {
        let ObjectId {
            name, namespace, ..
        } = set.parent();
        let kinds: BTreeSet<String> = self.kinds.iter().map(printed).collect();
        let objects = self.objects.map(|count| count.to_string());
        let objects = objects.unwrap_or_default();
        let data = [
            ("source", &*self.source),
            ("applying", &self.applying),
            ("objects", &objects),
            ("members", self.members.text()),
            ("applied", &self.applied),
            ("ready", &self.ready),
        ];
        let data = data.into_iter().filter(|(_, value)| !value.is_empty());
        let data: serde_json::Map<String, Json> = data
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {labels::APPLY_SET_ID: set.id(), labels::MANAGED_BY: labels::MANAGED_BY_VALUE},
                "annotations": {
                    labels::APPLY_SET_TOOLING: TOOLING,
                    labels::APPLY_SET_KINDS: joined(kinds.iter()),
                    labels::APPLY_SET_NAMESPACES: joined(self.namespaces.iter()),
                },
            },
            "data": data,
        })
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a String>) -> String {
    parts.map(String::as_str).collect::<Vec<_>>().join(",")
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// `Kind.group`, or `Kind` of the core group.
fn group_kind(text: &str) -> (String, String) {
    let (kind, group) = text.split_once('.').unwrap_or((text, ""));
    (group.to_owned(), kind.to_owned())
}

fn printed((group, kind): &(String, String)) -> String {
    match group.as_str() {
        "" => kind.clone(),
        group => format!("{kind}.{group}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> ApplySet {
        ApplySet::new("prod", "capstan-system")
    }

    #[test]
    fn what_is_written_is_read_again() {
        let kind = |group: &str, kind: &str| (group.to_owned(), kind.to_owned());
        let parent = Parent {
            kinds: [kind("", "ConfigMap"), kind("apps", "Deployment")].into(),
            namespaces: ["a".to_owned(), "b".to_owned()].into(),
            source: "/srv/config.git".to_owned(),
            applying: "2".to_owned(),
            objects: Some(12),
            members: Members::of([ObjectId::new("", "ConfigMap", "a", "b")].iter()),
            applied: "1".to_owned(),
            ..Parent::default()
        };
        let payload = parent.payload(&set());
        let annotations = &payload["metadata"]["annotations"];
        assert_eq!(
            annotations[labels::APPLY_SET_KINDS],
            "ConfigMap,Deployment.apps"
        );
        assert_eq!(annotations[labels::APPLY_SET_NAMESPACES], "a,b");
        assert_eq!(Parent::read(&set(), &payload), Ok(parent));
    }

    #[test]
    fn an_older_parent_does_not_say_how_many_there_are() {
        let parent = Parent::default();
        let payload = parent.payload(&set());
        assert_eq!(payload["data"], json!({}));
        assert_eq!(Parent::read(&set(), &payload), Ok(parent));
    }

    #[test]
    fn people_suspend_a_fleet_and_its_parent_is_written_without_that() {
        let mut live = Parent::default().payload(&set());
        live["metadata"]["annotations"][labels::SUSPENDED] = json!("2026-01-02T03:04:05Z");
        let parent = Parent::read(&set(), &live).expect("it is the set's");
        assert_eq!(parent.suspended, "2026-01-02T03:04:05Z");
        assert_eq!(parent.payload(&set()), Parent::default().payload(&set()));
    }

    #[test]
    fn a_stranger_is_no_parent() {
        let mut other = Parent::default().payload(&set());
        other["metadata"]["annotations"][labels::APPLY_SET_TOOLING] = json!("kubectl/v1.34");
        let refused = Parent::read(&set(), &other).expect_err("it is kubectl's");
        assert!(refused.to_string().contains("kubectl/v1.34"), "{refused}");
        let plain = json!({"metadata": {"name": "capstan-prod"}});
        let refused = Parent::read(&set(), &plain).expect_err("it has no owner");
        assert!(matches!(refused, NotOurs::Id(..)), "{refused}");
    }
}
