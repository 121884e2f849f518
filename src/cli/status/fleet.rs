//! What the parent of a fleet records, as people read it: revisions, and why the fleet is not as they ask for.

use std::fmt::Write as _;

use super::super::cluster_status::wrapped;
use super::alike::{alike, names, neutral};
use crate::api::labels::PART_OF;
use crate::apply::{Newest, Parent, Reason, Reasons};
use crate::model::cut::head;
use crate::plan::ApplySet;
use crate::status::{FleetObjectState, FleetView, Heartbeat, Phase};

/// How many missing objects are named.
const ABSENT: usize = 20;
/// The width of the first column.
const INDENT: &str = "            ";

/// The fleets of a cluster.
pub(super) type Fleets<'a> = [Fleet<'a>];

/// A fleet of a cluster.
pub(super) struct Fleet<'a> {
    pub(super) set: &'a ApplySet,
    pub(super) parent: &'a Parent,
    pub(super) view: FleetView,
    /// The sign of life of its daemon.
    pub(super) heartbeat: &'a Heartbeat,
    /// Its Fleet object, if it has one.
    pub(super) object: Option<&'a FleetObjectState>,
    /// No daemon looks after it any more.
    pub(super) is_lost: bool,
}

impl Fleet<'_> {
    /// Returns true if everything is ready, as far as somebody looks after it.
    pub(super) fn is_ready(&self) -> bool {
        let alone = self.alone();
        self.view.is_ready() && !self.is_blind() && alone.is_none_or(FleetObjectState::is_ready)
    }

    /// Its object, if the cluster has nothing else of it: the daemon has not begun, or applies it elsewhere.
    pub(super) fn alone(&self) -> Option<&FleetObjectState> {
        self.object.filter(|object| !object.has_parent)
    }

    /// The change that a person must make to an object that is all there is of the fleet.
    pub(super) fn stall(&self) -> Option<String> {
        let stall = self.alone()?.stall()?;
        Some(format!(
            "Fleet/{}/{}: {stall}",
            self.set.namespace(),
            self.set.fleet()
        ))
    }

    /// Returns true if newer commits may be there that nobody knows of.
    pub(super) fn is_blind(&self) -> bool {
        let is_unseen = self.alone().is_some_and(FleetObjectState::is_unseen);
        self.is_lost || self.parent.source_error.is_some() || is_unseen
    }
}

/// The lines before the objects.
pub(super) fn header(fleet: &Fleet<'_>) -> String {
    let Fleet { set, parent, .. } = fleet;
    let mut out = String::new();
    if let Some(text) = fleet.heartbeat.text() {
        out.push_str(&wrapped("  daemon    ", &text));
    }
    if !parent.source.is_empty() {
        out.push_str(&wrapped("  source    ", &parent.source));
    }
    if let Some(error) = &parent.source_error {
        let text = format!(
            "cannot be read since {}, so newer commits are not known: {}",
            error.since, error.why
        );
        out.push_str(&wrapped(INDENT, &text));
    }
    match fleet.alone() {
        Some(object) => {
            out.push_str(&wrapped("  Fleet     ", &object.text()));
        }
        None => out.push_str(&wrapped("  revision  ", &revisions(parent))),
    }
    if let Some(newest) = parent.pending() {
        out.push_str(&wrapped("  newest    ", &not_applied(newest)));
    }
    if !parent.suspended.is_empty() {
        let _ = writeln!(
            out,
            "  suspended since {}; `capstan resume --name {}` continues",
            parent.suspended,
            set.fleet()
        );
    }
    if let Some(suspended) = fleet.object.and_then(|object| object.suspended.as_ref()) {
        let since = suspended.since.as_ref();
        let since = since.map_or_else(String::new, |since| format!("since {since} "));
        let help = suspended.help(set.namespace(), set.fleet());
        let text = format!("{since}by the Fleet ({}): {help}", suspended.by);
        out.push_str(&wrapped("  suspended ", &text));
    }
    out
}

fn not_applied(newest: &Newest) -> String {
    let revision = short(&newest.revision);
    match newest.is_refused {
        true => format!("{revision} is refused: {}", newest.why),
        false => format!("{revision} waits: {}", newest.why),
    }
}

/// What failed so that waiting does not help.
pub(super) fn failure(parent: &Parent, view: &FleetView) -> Option<String> {
    if let Some(failed) = parent.failed.first.first() {
        return Some(format!("{}: {}", place(failed), failed.message));
    }
    let is_refused = refusal(parent).is_some();
    (view.failed && !is_refused).then(|| {
        let failed = view.count(Phase::Failed);
        format!("{} failed", counted(failed, "object"))
    })
}

/// A refused commit.
pub(super) struct Refusal {
    pub(super) revision: String,
    /// The commit and why.
    pub(super) text: String,
}

/// The newest commit, if it is refused.
pub(super) fn refusal(parent: &Parent) -> Option<Refusal> {
    let refused = parent.pending().filter(|newest| newest.is_refused);
    refused.map(|newest| Refusal {
        revision: newest.revision.clone(),
        text: not_applied(newest),
    })
}

/// `ConfigMap/ns/a (clusters/a.yaml)`
fn place(reason: &Reason) -> String {
    match reason.file.as_str() {
        "" => reason.object.clone(),
        file => format!("{} ({file})", reason.object),
    }
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn short(revision: &str) -> String {
    match revision {
        "" => "none".to_owned(),
        id if id.len() == 40 && id.chars().all(|c| c.is_ascii_hexdigit()) => {
            head(id, 12).to_owned()
        }
        other => other.to_owned(),
    }
}

fn revisions(parent: &Parent) -> String {
    let Parent {
        applying,
        applied,
        ready,
        ..
    } = parent;
    let failed = match parent.failed.is_empty() {
        true => "",
        false => " and failed",
    };
    if applying == applied && applied == ready {
        return match applying.as_str() {
            "" => "none".to_owned(),
            revision => format!("{}, applied and ready{failed}", short(revision)),
        };
    }
    let (now, done, good) = (short(applying), short(applied), short(ready));
    match applying == applied {
        true => format!("{now}, applied{failed}; last ready {good}"),
        false if !failed.is_empty() => {
            format!("{now}, failed; last applied {done}, last ready {good}")
        }
        false => format!("{now}, being applied; last applied {done}, last ready {good}"),
    }
}

/// The lines about objects that are missing, failed, or left over; empty if there are none.
pub(super) fn troubles(parent: &Parent, view: &FleetView) -> String {
    let listed = |title: &str, reasons: &Reasons, key: fn(&Reason) -> String| {
        let mut out = String::new();
        let groups = alike(&reasons.first, |reason| key(reason));
        for (at, group) in groups.iter().enumerate() {
            let indent = if at == 0 { title } else { INDENT };
            let places = names(group.iter().map(|reason| place(reason)));
            out.push_str(&wrapped(indent, &places));
            let message = group.first().map_or("", |reason| reason.message.as_str());
            out.push_str(&wrapped(&format!("{INDENT}  "), message));
        }
        out + &more(reasons.total.saturating_sub(reasons.first.len()))
    };
    let failed = listed("  failed    ", &parent.failed, cause);
    let kept = listed("  kept      ", &parent.kept, |reason| reason.object.clone());
    missing(parent, view) + &failed + &left(view) + &kept + &labelled(view)
}

/// The message about an object without its name.
fn cause(reason: &Reason) -> String {
    let name = reason.object.rsplit('/').next().unwrap_or_default();
    neutral(&reason.message, &[name])
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        more => format!("{INDENT}and {more} more\n"),
    }
}

fn missing(parent: &Parent, view: &FleetView) -> String {
    let (wanted, missing) = (parent.objects.unwrap_or_default(), view.missing);
    let mut out = String::new();
    if missing > 0 {
        let why = match parent.failed.is_empty() {
            true => "; the commit's check or `apply` says why",
            false => "",
        };
        let line =
            format!("{missing} of {wanted} objects are missing or belong to somebody else{why}");
        out.push_str(&wrapped("  missing   ", &line));
        for id in view.absent.iter().take(ABSENT) {
            out.push_str(&wrapped(INDENT, &id.to_string()));
        }
        out.push_str(&more(view.absent.len().saturating_sub(ABSENT)));
    }
    if view.unlisted > 0 {
        let unlisted = view.unlisted;
        let line = format!(
            "{unlisted} of {wanted} objects: they do not fit into the list that the cluster keeps, so those that are missing are counted and not named"
        );
        out.push_str(&wrapped("  not named ", &line));
    }
    out
}

fn left(view: &FleetView) -> String {
    match view.leftovers {
        0 => String::new(),
        1 => wrapped(
            "  leftovers ",
            "1 object of an earlier revision still exists",
        ),
        left => {
            let line = format!("{left} objects of an earlier revision still exist");
            wrapped("  leftovers ", &line)
        }
    }
}

/// The line about objects that only carry the label, with what people may do.
fn labelled(view: &FleetView) -> String {
    let Some(first) = view.labelled.first() else {
        return String::new();
    };
    let count = view.labelled.len();
    let named = names(view.labelled.iter().map(ToString::to_string));
    let (verb, pronoun) = match count {
        1 => ("carries", "it"),
        _ => ("carry", "them"),
    };
    let namespace = match first.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    let kind = match first.group.as_str() {
        "" => first.kind.to_lowercase(),
        group => format!("{}.{group}", first.kind.to_lowercase()),
    };
    let line = format!(
        "{} {verb} the label of the fleet, which did not apply {pronoun}: {named}. Copies, restored objects and what operators make are left alone. Name an object in a file to apply it, delete it, or remove the label: kubectl label {kind} {}{namespace} {PART_OF}-",
        counted(count, "object"),
        first.name,
    );
    wrapped("  labelled  ", &line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::SourceError;
    use crate::model::ObjectId;

    #[test]
    fn what_only_carries_the_label_is_one_line_with_what_to_do() {
        let map = |name: &str| ObjectId::new("", "ConfigMap", "ns", name);
        let role = ObjectId::new("rbac.authorization.k8s.io", "ClusterRole", "", "r");
        let line = |labelled: &[ObjectId]| {
            let view = FleetView {
                labelled: labelled.to_vec(),
                ..FleetView::default()
            };
            let text = troubles(&Parent::default(), &view);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line(&[]), "");
        let one = line(&[role]);
        assert!(one.starts_with("labelled 1 object carries the label of the fleet, which did not apply it: ClusterRole//r. "), "{one}");
        let command =
            "kubectl label clusterrole.rbac.authorization.k8s.io r applyset.kubernetes.io/part-of-";
        assert!(one.ends_with(command), "{one}");
        let many = line(&["a", "b", "c", "d", "e"].map(map));
        let words = "5 objects carry the label of the fleet, which did not apply them: ConfigMap/ns/a, ConfigMap/ns/b, ConfigMap/ns/c and 2 more. ";
        assert!(many.contains(words), "{many}");
        assert!(
            many.ends_with("kubectl label configmap a -n ns applyset.kubernetes.io/part-of-"),
            "{many}"
        );
    }

    fn parent(applying: &str, applied: &str, ready: &str) -> String {
        revisions(&Parent {
            applying: applying.to_owned(),
            applied: applied.to_owned(),
            ready: ready.to_owned(),
            ..Parent::default()
        })
    }

    #[test]
    fn revisions_are_shown_only_where_they_differ() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(
            parent(commit, commit, commit),
            "0123456789ab, applied and ready"
        );
        assert_eq!(parent("2", "2", "1"), "2, applied; last ready 1");
        assert_eq!(
            parent("2", "1", ""),
            "2, being applied; last applied 1, last ready none"
        );
        assert_eq!(parent("", "", ""), "none");
    }

    #[test]
    fn a_fleet_that_nobody_looks_after_or_whose_source_is_away_is_not_ready() {
        let ready = Parent {
            applying: "1".to_owned(),
            applied: "1".to_owned(),
            ready: "1".to_owned(),
            source: "https://host/x".to_owned(),
            ..Parent::default()
        };
        let away = Parent {
            source_error: Some(SourceError::new("2026-01-01T00:00:00Z", "no route")),
            ..ready.clone()
        };
        let silent = Heartbeat::Silent {
            last: "pod".to_owned(),
            since: None,
        };
        let set = ApplySet::new("f", "ns");
        for (parent, heartbeat, is_lost, is_ready, words) in [
            (
                &ready,
                &Heartbeat::Unnamed,
                false,
                true,
                "1, applied and ready",
            ),
            (&ready, &silent, true, false, "no daemon serves the fleet"),
            (&ready, &silent, false, true, "no daemon serves the fleet"),
            (
                &away,
                &Heartbeat::Unnamed,
                false,
                false,
                "cannot be read since",
            ),
        ] {
            let fleet = Fleet {
                set: &set,
                parent,
                view: FleetView::default(),
                heartbeat,
                object: None,
                is_lost,
            };
            assert_eq!(fleet.is_ready(), is_ready && fleet.view.is_ready());
            assert_eq!(fleet.is_blind(), !is_ready);
            let text = header(&fleet);
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn objects_that_fail_for_one_reason_are_one_entry() {
        let reason = |at: usize| Reason {
            object: format!("ConfigMap/ns/a-{at}"),
            file: "a.yaml".to_owned(),
            message: format!("the policy p refused a-{at}"),
            ..Reason::default()
        };
        let failed = Reasons {
            total: 40,
            first: (0..20).map(reason).collect(),
        };
        let parent = Parent {
            failed,
            ..Parent::default()
        };
        let text = troubles(&parent, &FleetView::default());
        assert_eq!(text.lines().count(), 4, "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = "ConfigMap/ns/a-2 (a.yaml) and 17 more the policy p refused a-0 ";
        assert!(words.contains(named), "{text}");
        assert!(text.ends_with("and 20 more\n"), "{text}");
    }

    #[test]
    fn what_failed_is_shown_with_its_file_and_reason() {
        let reason = Reason {
            object: "ConfigMap/ns/a".to_owned(),
            file: "a.yaml".to_owned(),
            message: "the API server refused it".to_owned(),
            ..Reason::default()
        };
        let parent = Parent {
            applying: "2".to_owned(),
            applied: "1".to_owned(),
            ready: "1".to_owned(),
            newest: Some(Newest::refused("3", "b.yaml:1:1: Y01 no")),
            failed: Reasons {
                total: 3,
                first: vec![reason],
            },
            ..Parent::default()
        };
        let view = FleetView {
            leftovers: 1,
            missing: 1,
            unlisted: 4,
            ..FleetView::default()
        };
        let fleet = Fleet {
            set: &ApplySet::new("f", "ns"),
            parent: &parent,
            view: FleetView::default(),
            heartbeat: &Heartbeat::Unnamed,
            object: None,
            is_lost: false,
        };
        assert_eq!(
            header(&fleet),
            "  revision  2, failed; last applied 1, last ready 1\n  newest    3 is refused: b.yaml:1:1: Y01 no\n"
        );
        let text = troubles(&parent, &view);
        let failed = "  failed    ConfigMap/ns/a (a.yaml)\n              the API server refused it\n            and 2 more\n";
        assert!(text.contains(failed), "{text}");
        assert!(text.contains("  leftovers 1 object of"), "{text}");
        assert!(text.contains("  not named 4 of 0 objects"), "{text}");
        let why = failure(&parent, &view);
        assert_eq!(
            why.as_deref(),
            Some("ConfigMap/ns/a (a.yaml): the API server refused it")
        );
    }
}
