//! Where objects are kept: the collection of their resource, and a key in it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Where an object is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    /// The storage name of its resource.
    pub(super) collection: Arc<str>,
    /// Its key, see [`key`].
    pub(super) key: Arc<str>,
}

impl Address {
    /// The namespace, empty for none.
    pub(super) fn namespace(&self) -> &str {
        self.key
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    pub(super) fn name(&self) -> &str {
        name(&self.key)
    }
}

/// `namespace/name`, or the name alone: sorted as etcd would.
pub(super) fn key(namespace: &str, name: &str) -> Arc<str> {
    match namespace {
        "" => name.into(),
        namespace => format!("{namespace}/{name}").into(),
    }
}

/// The name in a key.
pub(super) fn name(key: &str) -> &str {
    key.split_once('/').map_or(key, |(_, name)| name)
}

/// The storage name of a resource.
pub(super) fn collection(group: &str, plural: &str) -> Arc<str> {
    format!("{group}/{plural}").into()
}

/// Where the definitions are.
pub(super) const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// Where a namespace is kept.
pub(super) fn namespace_address(name: &str) -> Address {
    Address {
        collection: collection("", "namespaces"),
        key: name.into(),
    }
}

/// Where a CustomResourceDefinition is kept.
pub(super) fn definition_address(name: &str) -> Address {
    Address {
        collection: DEFINITIONS.into(),
        key: name.into(),
    }
}

/// Objects that have to be looked at, each once, in the order in which that was noticed.
#[derive(Debug, Default)]
pub(super) struct Chores {
    queue: VecDeque<Address>,
    waiting: BTreeSet<Address>,
}

impl Chores {
    /// Notes that an object has to be looked at.
    pub(super) fn push(&mut self, address: Address) {
        if self.waiting.insert(address.clone()) {
            self.queue.push_back(address);
        }
    }

    /// The next object to look at.
    pub(super) fn pop(&mut self) -> Option<Address> {
        let address = self.queue.pop_front()?;
        self.waiting.remove(&address);
        Some(address)
    }
}
