//! The pure front door: a tree of files becomes objects, their graph, and findings.
//!
//! ```text
//! files ─► documents ─► definitions ─► merged ─► expanded ─┐
//!              │                                           ├─► patched ─► graph ─► rules
//!              └──────────► raw objects ───────────────────┘
//! ```
//!
//! In: the fleet's [`Tree`] and those of overlay directories. Out: [`Compiled`]. A broken file gives
//! findings and never hides the others. It does not know where the trees came from.

mod allow;
mod compiled;
mod documents;
mod enforced;
mod environment;
pub mod explain;
mod fields;
mod foreign;
mod group_checks;
mod limits;
mod lost;
mod made;
mod mark;
mod memory;
mod metadata;
mod misspelt;
mod once;
mod order;
mod outliers;
mod outlines;
mod part;
mod part_checker;
mod parts;
mod pools;
pub mod select;
mod sources;
mod whole;
mod wrong;

pub use allow::Allowed;
use compiled::Keep;
pub use compiled::{Checked, Compiled, Digest};
use documents::Documents;
pub use memory::Memory;
pub(crate) use once::{nameless, without_numbers};
use parts::Reuse;
use rayon::prelude::*;

use crate::api::fleet::FleetPolicy;
use crate::model::{Budget, Node, Object, Tree};
use crate::overlay::Overlays;
use crate::rules::tenancy;

/// Compiles the fleet in `tree` with its own overlays and those of `overlays`, without tenants.
#[must_use]
pub fn compile(tree: &Tree, overlays: &[Tree]) -> Compiled {
    compile_by(&FleetPolicy::default(), tree, overlays)
}

/// The same, with the tenants and rule settings of the Fleet document.
#[must_use]
pub fn compile_by(policy: &FleetPolicy, tree: &Tree, overlays: &[Tree]) -> Compiled {
    let compiled = compile_within(policy, tree, overlays, Budget::default());
    #[cfg(test)]
    tests::is_the_same_in_parts(&compiled, policy, tree, overlays);
    compiled
}

/// The same, with other limits than those of every tree.
#[must_use]
pub fn compile_within(
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    budget: Budget,
) -> Compiled {
    let mut documents = Documents::within(budget, tree, overlays);
    documents.findings.extend(tenancy::files(policy, tree));
    whole::compile(documents, policy, tree)
}

/// The findings alone: the same as those of [`compile_by`], without keeping any object.
#[must_use]
pub fn check_by(policy: &FleetPolicy, tree: &Tree, overlays: &[Tree]) -> Checked {
    let digest = in_parts(policy, tree, overlays, None, no_memory::<()>());
    let checked = digest.map(|(digest, _)| digest.checked);
    checked.unwrap_or_else(|| compile_by(policy, tree, overlays).checked)
}

/// Compiles a fleet as [`compile_by`] does, and replaces each object with the value that `keep` makes of it. Only the objects of
/// one group of definitions per core are in memory at a time.
#[must_use]
pub fn digest_by<T: Clone + Send + Sync>(
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    keep: impl Fn(&Object) -> T + Sync,
) -> Digest<T> {
    let digest = in_parts(policy, tree, overlays, Some(&keep), no_memory());
    let digest = digest.map(|(digest, _)| digest);
    digest.unwrap_or_else(|| compile_by(policy, tree, overlays).digest(keep))
}

/// The same, but compiles only the definitions that `memory` does not know. `keep` has to make the same value of an object each
/// time that this memory is used.
#[must_use]
pub fn digest_again<T: Clone + Send + Sync>(
    memory: &mut Memory<T>,
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    keep: impl Fn(&Object) -> T + Sync,
) -> Digest<T> {
    let reuse = Reuse::all(memory);
    match in_parts(policy, tree, overlays, Some(&keep), Some(&reuse)) {
        Some((digest, now)) => {
            now.into_iter().for_each(|now| *memory = now);
            digest
        }
        None => compile_by(policy, tree, overlays).digest(keep),
    }
}

/// The same for a fleet that is like the one in `memory`. The memory stays as it is. `again` makes the value of an object from the one
/// in the memory, or is `None` if the definition of the object has to be compiled again.
#[must_use]
pub fn digest_beside<K: Send + Sync, T: Clone + Send + Sync>(
    memory: &Memory<K>,
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    keep: impl Fn(&Object) -> T + Sync,
    again: impl Fn(&K) -> Option<T> + Sync,
) -> Digest<T> {
    let reuse = Reuse {
        memory,
        again: &again,
        remembers: false,
    };
    let digest = in_parts(policy, tree, overlays, Some(&keep), Some(&reuse));
    let digest = digest.map(|(digest, _)| digest);
    digest.unwrap_or_else(|| compile_by(policy, tree, overlays).digest(keep))
}

/// The files of a fleet, and its settings.
pub struct Files {
    policy: FleetPolicy,
    tree: Tree,
    overlays: Vec<Tree>,
}

impl Files {
    /// Of these trees: the fleet, then overlay directories.
    pub fn new(policy: FleetPolicy, trees: impl IntoIterator<Item = Tree>) -> Self {
        let mut trees = trees.into_iter();
        Self {
            policy,
            tree: trees.next().unwrap_or_default(),
            overlays: trees.collect(),
        }
    }

    /// See [`digest_again`].
    #[must_use]
    pub fn again<T: Clone + Send + Sync>(
        &self,
        memory: &mut Memory<T>,
        keep: impl Fn(&Object) -> T + Sync,
    ) -> Digest<T> {
        digest_again(memory, &self.policy, &self.tree, &self.overlays, keep)
    }

    /// See [`digest_beside`].
    #[must_use]
    pub fn beside<K: Send + Sync, T: Clone + Send + Sync>(
        &self,
        memory: &Memory<K>,
        keep: impl Fn(&Object) -> T + Sync,
        again: impl Fn(&K) -> Option<T> + Sync,
    ) -> Digest<T> {
        let (policy, tree, overlays) = (&self.policy, &self.tree, &self.overlays);
        digest_beside(memory, policy, tree, overlays, keep, again)
    }
}

const fn no_memory<'a, T>() -> Option<&'a Reuse<'a, (), T>> {
    None
}

/// Compiles a fleet part by part; `None` if it exceeds a limit: where that happens depends on the order.
fn in_parts<K: Send + Sync, T: Clone + Send + Sync>(
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    keep: Option<Keep<'_, T>>,
    reuse: Option<&Reuse<'_, K, T>>,
) -> Option<(Digest<T>, Option<Memory<T>>)> {
    let mut documents = match reuse {
        Some(reuse) => {
            let known = reuse.memory.outlines();
            let remembers = reuse.remembers;
            Documents::again(Budget::default(), (&known, remembers), tree, overlays)
        }
        None => Documents::of(tree, overlays),
    };
    documents.findings.extend(tenancy::files(policy, tree));
    parts::digest(documents, policy, tree, keep, reuse)
}

/// The definitions with their overlays merged, in order, valid or not.
fn merged(tree: &Tree, overlays: &[Tree]) -> Vec<Node> {
    let documents = Documents::of(tree, overlays);
    let lists = documents.list_keys();
    let overlays = Overlays::new(documents.overlays, lists).within(documents.budget);
    let definitions = documents.definitions.into_par_iter();
    definitions.map(|node| overlays.merge(node).0).collect()
}

#[cfg(test)]
mod tests;
