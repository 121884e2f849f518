//! The watches of one kind in several namespaces as one watch.
//!
//! In: what the watch of each namespace shows. Out: the events of one watch. Its list is complete once every namespace was
//! listed. A namespace that is listed again takes no object of another one away. It does not know who watches.

use std::collections::BTreeMap;

use super::watch_event::{WatchEvent, missing_right};
use crate::adapters::kubernetes::per_namespace::Awaited;
use crate::model::ObjectId;
use crate::reconcile::world::GroupKind;

/// Objects by id, each with its uid.
type Uids = BTreeMap<ObjectId, String>;

/// The watches of one kind.
pub(super) struct Merged {
    kind: GroupKind,
    awaited: Awaited,
    /// The list of all objects has begun.
    has_begun: bool,
    /// The objects by namespace.
    there: BTreeMap<String, Uids>,
    /// Those of the lists in progress.
    listed: BTreeMap<String, Uids>,
    /// The namespaces in which the kind may not be watched, with the words of the cluster.
    denied: BTreeMap<String, String>,
}

impl Merged {
    /// Watches of a kind of which nothing was seen yet.
    pub(super) fn of<'a>(kind: GroupKind, names: impl IntoIterator<Item = &'a String>) -> Self {
        Self {
            kind,
            awaited: Awaited::of(names),
            has_begun: false,
            there: BTreeMap::new(),
            listed: BTreeMap::new(),
            denied: BTreeMap::new(),
        }
    }

    /// Takes in what happened in a namespace, and returns what that means for the whole.
    pub(super) fn event(&mut self, namespace: &str, event: WatchEvent) -> Vec<WatchEvent> {
        match event {
            WatchEvent::ListStarted => {
                self.listed.insert(namespace.to_owned(), Uids::new());
                let is_first = !std::mem::replace(&mut self.has_begun, true);
                is_first
                    .then_some(WatchEvent::ListStarted)
                    .into_iter()
                    .collect()
            }
            WatchEvent::Listed(seen) => {
                let listed = self.listed.entry(namespace.to_owned()).or_default();
                listed.insert(seen.id(), seen.uid().to_owned());
                vec![WatchEvent::Listed(seen)]
            }
            WatchEvent::ListEnded => {
                let listed = self.listed.remove(namespace).unwrap_or_default();
                let there = self.there.entry(namespace.to_owned()).or_default();
                let before = std::mem::replace(there, listed);
                let gone = before
                    .into_iter()
                    .filter(|(id, uid)| there.get(id) != Some(uid));
                let mut events: Vec<WatchEvent> =
                    gone.map(|(id, uid)| WatchEvent::Deleted(id, uid)).collect();
                events.extend(self.is_whole(namespace));
                events
            }
            WatchEvent::Applied(seen) => {
                let there = self.there.entry(namespace.to_owned()).or_default();
                there.insert(seen.id(), seen.uid().to_owned());
                self.with_return(namespace, WatchEvent::Applied(seen))
            }
            WatchEvent::Deleted(id, uid) => {
                if let Some(there) = self.there.get_mut(namespace) {
                    there.remove(&id);
                }
                self.with_return(namespace, WatchEvent::Deleted(id, uid))
            }
            WatchEvent::Denied { why, .. } => {
                self.awaited.lost(namespace);
                self.denied.insert(namespace.to_owned(), why);
                vec![self.denial()]
            }
            WatchEvent::Failed(why) => {
                vec![WatchEvent::Failed(format!("namespace {namespace}: {why}"))]
            }
            WatchEvent::NotServed => vec![WatchEvent::NotServed],
        }
    }

    /// A namespace is known. Returns the end of the whole list if every other one is.
    fn is_whole(&mut self, namespace: &str) -> Option<WatchEvent> {
        self.denied.remove(namespace);
        let is_whole = self.awaited.listed(namespace);
        is_whole.then_some(WatchEvent::ListEnded)
    }

    /// A change in a namespace. A watch that was denied may go on where it was, without another list.
    fn with_return(&mut self, namespace: &str, change: WatchEvent) -> Vec<WatchEvent> {
        let returns = self.denied.contains_key(namespace) && !self.listed.contains_key(namespace);
        let end = returns.then(|| self.is_whole(namespace)).flatten();
        [change].into_iter().chain(end).collect()
    }

    /// The right that is missing in all of these namespaces. The words of the cluster are about the first of them.
    fn denial(&self) -> WatchEvent {
        let names: Vec<&str> = self.denied.keys().map(String::as_str).collect();
        WatchEvent::Denied {
            right: missing_right(&self.kind, &names),
            why: self.denied.values().next().cloned().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::adapters::kubernetes::controller::watch_event::Seen;

    fn kind() -> GroupKind {
        GroupKind::new("", "Secret")
    }

    /// A Secret of a namespace and a name, such as `a/1`, and a uid.
    fn seen(name: &str, uid: &str) -> Seen {
        let (namespace, name) = name.split_once('/').expect("both");
        let object: Value = json!({"metadata": {"name": name, "namespace": namespace, "uid": uid}});
        Seen::of(&kind(), &object)
    }

    fn shown(event: &WatchEvent) -> String {
        match event {
            WatchEvent::ListStarted => "begins".to_owned(),
            WatchEvent::Listed(seen) | WatchEvent::Applied(seen) => seen.id().to_string(),
            WatchEvent::ListEnded => "ends".to_owned(),
            WatchEvent::Deleted(id, uid) => format!("{id} {uid} gone"),
            WatchEvent::NotServed => "not served".to_owned(),
            WatchEvent::Denied { right, why } => format!("{right}: {why}"),
            WatchEvent::Failed(why) => why.clone(),
        }
    }

    struct Bench(Merged);

    impl Bench {
        fn new() -> Self {
            let names = ["a", "b"].map(str::to_owned);
            Self(Merged::of(kind(), &names))
        }

        fn says(&mut self, namespace: &str, event: WatchEvent) -> Vec<String> {
            self.0.event(namespace, event).iter().map(shown).collect()
        }

        /// The list of a namespace, from its begin to its end; what its end says.
        fn lists(&mut self, namespace: &str, names: &[&str]) -> Vec<String> {
            self.says(namespace, WatchEvent::ListStarted);
            for name in names {
                self.says(namespace, WatchEvent::Listed(seen(name, "1")));
            }
            self.says(namespace, WatchEvent::ListEnded)
        }

        fn denied(&mut self, namespace: &str) -> Vec<String> {
            let (right, why) = (String::new(), format!("no {namespace}"));
            self.says(namespace, WatchEvent::Denied { right, why })
        }
    }

    #[test]
    fn a_list_is_complete_once_it_is_in_every_namespace() {
        let mut bench = Bench::new();
        assert_eq!(bench.says("a", WatchEvent::ListStarted), ["begins"]);
        assert!(bench.says("b", WatchEvent::ListStarted).is_empty());
        let listed = WatchEvent::Listed(seen("a/1", "1"));
        assert_eq!(bench.says("a", listed), ["Secret/a/1"]);
        assert!(bench.says("a", WatchEvent::ListEnded).is_empty());
        assert_eq!(bench.says("b", WatchEvent::ListEnded), ["ends"]);
    }

    #[test]
    fn a_namespace_that_is_listed_again_takes_its_own_objects_away_alone() {
        let mut bench = Bench::new();
        bench.lists("a", &["a/1", "a/2", "a/3"]);
        bench.lists("b", &["b/1"]);
        bench.says("a", WatchEvent::Applied(seen("a/4", "1")));
        bench.says(
            "a",
            WatchEvent::Deleted(seen("a/3", "1").id(), "1".to_owned()),
        );
        bench.says("a", WatchEvent::ListStarted);
        bench.says("a", WatchEvent::Listed(seen("a/1", "2")));
        bench.says("a", WatchEvent::Listed(seen("a/4", "1")));
        let ended = bench.says("a", WatchEvent::ListEnded);
        assert_eq!(ended, ["Secret/a/1 1 gone", "Secret/a/2 1 gone", "ends"]);
    }

    #[test]
    fn a_namespace_that_is_listed_again_before_another_one_is_listed_is_no_complete_list() {
        let mut bench = Bench::new();
        bench.lists("a", &["a/1"]);
        assert_eq!(bench.lists("a", &[]), ["Secret/a/1 1 gone"]);
        assert_eq!(bench.lists("b", &[]), ["ends"]);
    }

    #[test]
    fn a_denied_namespace_is_named_and_is_not_empty() {
        let mut bench = Bench::new();
        bench.lists("b", &["b/1"]);
        let right =
            |place: &str| format!("get, list and watch on secrets of the API group \"\", {place}");
        let of_a = format!("{}: no a", right("in the namespaces a"));
        assert_eq!(bench.denied("a"), [of_a]);
        assert!(bench.lists("b", &["b/1"]).is_empty(), "a is not known");
        let of_both = format!("{}: no a", right("in the namespaces a, b"));
        for namespace in ["b", "a"] {
            assert_eq!(bench.denied(namespace), std::slice::from_ref(&of_both));
        }
        assert!(bench.lists("b", &["b/1"]).is_empty(), "a is not known");
        assert_eq!(bench.lists("a", &[]), ["ends"]);
    }

    #[test]
    fn a_watch_that_was_denied_and_goes_on_is_whole_again() {
        let mut bench = Bench::new();
        bench.lists("a", &["a/1"]);
        bench.lists("b", &[]);
        bench.denied("a");
        let applied = WatchEvent::Applied(seen("a/1", "1"));
        assert_eq!(bench.says("a", applied), ["Secret/a/1", "ends"]);
    }

    #[test]
    fn a_failure_names_its_namespace() {
        let failed = WatchEvent::Failed("no answer".to_owned());
        let said = Bench::new().says("a", failed);
        assert_eq!(said, ["namespace a: no answer"]);
    }
}
