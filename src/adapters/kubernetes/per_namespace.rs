//! Watches of one kind, one for each of several namespaces.
//!
//! In: the names of namespaces, and a watch for each. Out: the events with the namespace of each, and whether every namespace
//! was listed. It does not know what an event holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

/// The events of all watches, each with its namespace.
pub(super) fn each<'a, T: 'static>(
    names: impl IntoIterator<Item = &'a String>,
    watch: impl Fn(&str) -> BoxStream<'static, T>,
) -> BoxStream<'static, (Arc<str>, T)> {
    let named = names.into_iter().map(|name| {
        let events = watch(name);
        let name: Arc<str> = name.as_str().into();
        events.map(move |event| (Arc::clone(&name), event)).boxed()
    });
    stream::select_all(named).boxed()
}

/// The namespaces whose objects are not all known.
pub(super) struct Awaited(BTreeSet<String>);

impl Awaited {
    /// None of these was listed yet.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        Self(names.into_iter().cloned().collect())
    }

    /// All objects of a namespace were listed. Returns true if those of every namespace are known.
    pub(super) fn listed(&mut self, name: &str) -> bool {
        self.0.remove(name);
        self.0.is_empty()
    }

    /// A namespace cannot be seen any more.
    pub(super) fn lost(&mut self, name: &str) {
        self.0.insert(name.to_owned());
    }
}
