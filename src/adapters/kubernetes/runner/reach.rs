//! The namespaces in which the objects of a set are watched.
//!
//! In: whether the account is confined to namespaces, and the namespaces of the set as they become known. Out: those to watch, and
//! the watches that must begin again because there are more. It does not know what is seen.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use futures::stream::{AbortHandle, abortable};

use super::super::watch_within::{Namespaces, Watch};
use crate::apply::{Kind, WatchScope};

/// More namespaces than this are not watched one by one: the account then needs the right to watch in the whole cluster.
const MOST_NAMESPACES: usize = 32;

/// The place of a confined account, or of one that is not.
pub(super) struct Reach {
    /// `None` for the whole cluster.
    namespaces: Option<Namespaces>,
    /// All namespaces are needed: what is not seen would be left behind for good.
    is_end: bool,
    /// The handle that ends each watch.
    watches: BTreeMap<(bool, Kind), AbortHandle>,
}

impl Reach {
    /// The whole cluster; or, if the account `is_confined`, the namespace of the set and others that become known.
    pub(super) fn new(is_confined: bool, namespace: &str) -> Self {
        Self {
            namespaces: is_confined.then(|| [(namespace.to_owned(), true)].into()),
            is_end: false,
            watches: BTreeMap::new(),
        }
    }

    /// From now on every namespace of the set is needed: the fleet ends.
    pub(super) const fn end(&mut self) {
        self.is_end = true;
    }

    /// The namespaces to watch one by one; `None` to watch in the whole cluster.
    pub(super) fn namespaces(&self) -> Option<Namespaces> {
        watched(self.namespaces.as_ref()?)
    }

    /// Makes the watch end when the next one of its kind begins.
    pub(super) fn ending(&mut self, scope: WatchScope, kind: &Kind, watch: Watch) -> Watch {
        if self.namespaces.is_none() {
            return watch;
        }
        let (watch, ending) = abortable(watch);
        let key = (scope == WatchScope::Members, kind.clone());
        if let Some(earlier) = self.watches.insert(key, ending) {
            earlier.abort();
        }
        watch.boxed()
    }

    /// Takes in the namespaces of a plan, and returns what must be watched again; an object without one needs none.
    pub(super) fn plan<'a>(
        &mut self,
        namespaces: impl IntoIterator<Item = &'a str>,
    ) -> Vec<(WatchScope, Kind)> {
        let Some(known) = &mut self.namespaces else {
            return Vec::new();
        };
        let before = known.clone();
        let is_end = self.is_end;
        known.values_mut().for_each(|is_needed| *is_needed = is_end);
        for name in namespaces.into_iter().filter(|name| !name.is_empty()) {
            known.insert(name.to_owned(), true);
        }
        self.again(&before)
    }

    /// Takes in the namespaces in which objects of earlier revisions may be, and returns what must be watched again.
    pub(super) fn look_back<'a>(
        &mut self,
        namespaces: impl IntoIterator<Item = &'a str>,
    ) -> Vec<(WatchScope, Kind)> {
        let Some(known) = &mut self.namespaces else {
            return Vec::new();
        };
        let before = known.clone();
        for name in namespaces.into_iter().filter(|name| !name.is_empty()) {
            known.entry(name.to_owned()).or_insert(self.is_end);
        }
        self.again(&before)
    }

    /// All watches, if the namespaces are not as before. Beyond the limit each kind has one watch, which sees them all.
    fn again(&self, before: &Namespaces) -> Vec<(WatchScope, Kind)> {
        if self.namespaces() == watched(before) {
            return Vec::new();
        }
        let watched = self.watches.keys().cloned();
        let watched = watched.map(|(is_members, kind)| match is_members {
            true => (WatchScope::Members, kind),
            false => (WatchScope::Embedded, kind),
        });
        watched.collect()
    }
}

/// The namespaces that are watched one by one: of too many, those that the plan needs; `None` if these are too many.
fn watched(all: &Namespaces) -> Option<Namespaces> {
    let is_small = |namespaces: &Namespaces| namespaces.len() <= MOST_NAMESPACES;
    if is_small(all) {
        return Some(all.clone());
    }
    let needed = all.iter().filter(|(_, is_needed)| **is_needed);
    let needed: Namespaces = needed.map(|(name, is)| (name.clone(), *is)).collect();
    Some(needed).filter(is_small)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::stream;

    use super::*;

    fn kind() -> Kind {
        (String::new(), "v1".to_owned(), "ConfigMap".to_owned())
    }

    #[test]
    fn a_new_namespace_begins_the_watches_again_and_too_many_are_watched_as_one() {
        let mut reach = Reach::new(true, "own");
        let mut first = reach.ending(WatchScope::Members, &kind(), stream::pending().boxed());
        assert_eq!(reach.plan(["own", ""]), []);
        let again = [(WatchScope::Members, kind())];
        assert_eq!(reach.look_back(["other", "own"]), again);
        assert!(first.next().now_or_never().is_none());
        let _second = reach.ending(WatchScope::Members, &kind(), stream::pending().boxed());
        assert!(first.next().now_or_never().expect("it ended").is_none());
        let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let expected = [("other".to_owned(), false), ("own".to_owned(), true)];
        assert_eq!(reach.namespaces(), Some(expected.into()));
        assert_eq!(reach.plan(["own", "other"]), again, "it is needed now");
        assert_eq!(reach.plan(["own"]), again, "it is not needed any more");
        assert_eq!(reach.plan(many.iter().map(String::as_str)), again);
        assert_eq!(reach.namespaces(), None);
        assert_eq!(reach.plan(["more"]), again, "only this one is needed");
        assert_eq!(reach.namespaces(), Some([("more".to_owned(), true)].into()));
    }

    #[test]
    fn an_account_with_rights_everywhere_watches_everywhere() {
        let mut reach = Reach::new(false, "own");
        assert_eq!(reach.namespaces(), None);
        assert_eq!(reach.plan(["other"]), []);
    }

    #[test]
    fn of_a_fleet_that_ends_every_namespace_is_needed() {
        let mut reach = Reach::new(true, "own");
        reach.end();
        reach.plan([]);
        reach.look_back(["other"]);
        let needed = [("other".to_owned(), true), ("own".to_owned(), true)];
        assert_eq!(reach.namespaces(), Some(needed.into()));
    }
}
