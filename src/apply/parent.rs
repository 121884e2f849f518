//! The parent of an ApplySet: what the cluster knows of a fleet as a whole (KEP-3659).
//!
//! In: the parent as the cluster has it. Out: its content, and the parent to apply. The labels of the
//! objects decide which are members; the parent only names the kinds and namespaces to look in, which members
//! there should be, and how far the fleet has come. It does not know: how it is read or written.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::members::Members;
use super::newest::Newest;
use super::reasons::Reasons;
use super::source_error::SourceError;
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
    /// Which objects these are, as many as fit; empty if an older Capstan wrote the parent.
    pub members: Members,
    /// A digest of what its plan names, which tells two contents of one revision apart; empty if an older Capstan
    /// wrote the parent.
    pub contents: String,
    /// The objects of that revision that cannot be applied until a person acts.
    pub failed: Reasons,
    /// The objects of an earlier revision that stay until a person acts, and those of this one with fields of an earlier one
    /// that stay.
    pub kept: Reasons,
    /// The last revision that was fully applied, including its removals; empty for none.
    pub applied: String,
    /// The revision that last became ready; empty for none.
    pub ready: String,
    /// Since when the fleet is suspended; empty if it is not. People set it, so it is never written.
    pub suspended: String,
    /// The newest commit, while it is not applied. The daemon keeps it beside the rest, so it is never written here.
    pub newest: Option<Newest>,
    /// Why the source cannot be read, while it cannot. The daemon keeps it beside the rest, too.
    pub source_error: Option<SourceError>,
    /// The namespace and name of the Lease of the process that writes the set; empty for none. The process claims the set with it, so it
    /// is never written here.
    pub lease: String,
    /// Since when no process serves the set any more that did; empty if that is not so. That process wrote it, so it is never written here.
    pub unserved: String,
}

/// How the name of what is applied by hand begins.
pub const CONTENT: &str = "content-";

/// The field of the parent that holds [`Parent::applying`].
pub(crate) const APPLYING: &str = "applying";
/// The field of the parent that holds [`Parent::newest`].
pub(crate) const NEWEST: &str = "newest";
/// The field of the parent that holds [`Parent::source_error`].
pub(crate) const SOURCE_ERROR: &str = "sourceError";
/// The field of the parent that holds the record of approvals. The daemon keeps it beside the rest, too.
pub(crate) const APPROVALS: &str = "approvals";

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
            applying: data(APPLYING),
            objects: data("objects").parse().ok(),
            members: Members::read(&data("members")),
            contents: data("contents"),
            failed: Reasons::read(&data("failed")),
            kept: Reasons::read(&data("kept")),
            applied: data("applied"),
            ready: data("ready"),
            suspended: whole_seconds(&text("annotations", labels::SUSPENDED)),
            newest: Newest::read(&data(NEWEST)),
            source_error: SourceError::read(&data(SOURCE_ERROR)),
            lease: text("annotations", labels::LEASE),
            unserved: text("annotations", labels::UNSERVED),
        })
    }

    /// Why the fleet does not have its newest commit. What waits is of no interest once it is being applied.
    #[must_use]
    pub fn pending(&self) -> Option<&Newest> {
        let newest = self.newest.as_ref();
        newest.filter(|newest| newest.is_refused || newest.revision != self.applying)
    }

    /// Whether both are of the same objects of the same revision.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        (&self.applying, &self.contents) == (&other.applying, &other.contents)
    }

    /// The same, with all that `planned` may make a member, and on the way to its revision. What failed is kept
    /// only if it is tried again.
    #[must_use]
    pub fn with(mut self, planned: Self) -> Self {
        if !self.is_same_content(&planned) {
            (self.failed, self.kept) = (Reasons::default(), Reasons::default());
        }
        self.kinds.extend(planned.kinds);
        self.namespaces.extend(planned.namespaces);
        Self {
            source: planned.source,
            applying: planned.applying,
            objects: planned.objects,
            members: planned.members,
            contents: planned.contents,
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
        let (failed, kept) = (self.failed.text(), self.kept.text());
        let data = [
            ("source", &*self.source),
            (APPLYING, &self.applying),
            ("objects", &objects),
            ("members", self.members.text()),
            ("contents", &self.contents),
            ("failed", &failed),
            ("kept", &kept),
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

/// A time without its fraction, which nobody wants to read; another text as it is.
#[must_use]
pub fn whole_seconds(time: &str) -> String {
    let parsed = time.parse::<Timestamp>().ok();
    let whole = parsed.and_then(|time| Timestamp::from_second(time.as_second()).ok());
    whole.map_or_else(|| time.to_owned(), |time| time.to_string())
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
    use crate::apply::Reason;

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
            contents: "c0ffee".to_owned(),
            failed: Reasons {
                total: 2,
                first: vec![Reason::default()],
            },
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
        live["metadata"]["annotations"][labels::SUSPENDED] =
            json!("2026-01-02T03:04:05.678901234Z");
        let parent = Parent::read(&set(), &live).expect("it is the set's");
        assert_eq!(parent.suspended, "2026-01-02T03:04:05Z");
        assert_eq!(parent.payload(&set()), Parent::default().payload(&set()));
    }

    #[test]
    fn the_daemon_keeps_the_newest_commit_beside_the_rest() {
        let mut live = Parent {
            applying: "1".to_owned(),
            ..Parent::default()
        }
        .payload(&set());
        let pending = |newest: &Newest, live: &mut Json| {
            live["data"][NEWEST] = json!(newest.text());
            let parent = Parent::read(&set(), live).expect("it is the set's");
            assert_eq!(parent.payload(&set())["data"][NEWEST], Json::Null);
            parent.pending().is_some()
        };
        assert!(pending(&Newest::refused("2", "no"), &mut live));
        assert!(pending(&Newest::refused("1", "no"), &mut live));
        assert!(pending(&Newest::waiting("2", "suspended"), &mut live));
        assert!(!pending(&Newest::waiting("1", "suspended"), &mut live));
    }

    #[test]
    fn what_failed_is_forgotten_with_its_revision() {
        let of = |applying: &str, contents: &str| Parent {
            applying: applying.to_owned(),
            contents: contents.to_owned(),
            failed: Reasons {
                total: 1,
                first: vec![Reason::default()],
            },
            ..Parent::default()
        };
        let total = |planned: Parent| of("1", "a").with(planned).failed.total;
        let none = Reasons::default;
        let planned = |applying, contents| Parent {
            failed: none(),
            ..of(applying, contents)
        };
        assert_eq!(total(planned("1", "a")), 1);
        assert_eq!(total(planned("1", "b")), 0);
        assert_eq!(total(planned("2", "a")), 0);
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
