//! Which of the refs of the other side a mirror takes.
//!
//! In: all that it lists, and what is followed. Out: the refs of the repository's own people, those of strangers, and those
//! that are left out, each with the reason. Whoever may push decides how many refs there are and what they are called.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Oid, Reference};

use super::kept::{kept, matches};
use super::reference::Ref;
use crate::adapters::git::remote::Listing;
use crate::model::cut;

/// The only notes that are taken.
pub(super) const NOTES: &str = "refs/notes/capstan";
pub(super) const BRANCHES: &str = "refs/heads/";
pub(super) const TAGS: &str = "refs/tags/";
/// The most branches that are taken, and the most tags.
const MAX_REFS: usize = 10_000;
/// The most refs of strangers that are listed: the newest.
const MAX_STRANGERS: usize = 20_000;
/// The most bytes of a name: libgit2 stores those below 1,024, with a few of our own before them.
const MAX_NAME: usize = 1_000;

/// The refs of the other side.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Of the repository's own people: they are fetched.
    pub(super) own: Listing,
    /// Of strangers: they are only listed.
    pub(super) strangers: Listing,
    /// The refs that are left out, and why. A `*` stands for many.
    pub(super) faults: BTreeMap<String, String>,
}

impl Selection {
    /// Chooses among `listing`. Strangers' are those that match one of `patterns` and are not the own people's. Of too many,
    /// those stay that are `followed`, and those that were taken `before`.
    pub(super) fn of(
        listing: Listing,
        patterns: &[String],
        followed: &Ref,
        before: &Listing,
    ) -> Self {
        let mut selection = Self::default();
        for (name, id) in listing {
            let is_own = is_own(&name);
            let is_proposed = || patterns.iter().any(|pattern| matches(pattern, &name));
            if !is_own && !is_proposed() {
                continue;
            }
            match fault(&name) {
                Some(fault) => drop(selection.faults.insert(shortened(&name), fault)),
                None if is_own => drop(selection.own.insert(name, id)),
                None => drop(selection.strangers.insert(name, id)),
            }
        }
        for kind in [BRANCHES, TAGS] {
            selection.bound(kind, followed, before);
        }
        selection.bound_strangers();
        selection
    }

    fn bound(&mut self, kind: &str, followed: &Ref, before: &Listing) {
        let all = self.own.keys().filter(|name| name.starts_with(kind));
        let mut names: Vec<&String> = all.collect();
        let count = names.len();
        if count <= MAX_REFS {
            return;
        }
        names.sort_by_key(|name| (!follows(followed, name), !before.contains_key(*name)));
        let surplus: BTreeSet<String> = names.into_iter().skip(MAX_REFS).cloned().collect();
        self.own.retain(|name, _| !surplus.contains(name));
        let fault =
            format!("there are {count}; the limit is {MAX_REFS}, so the others are left out");
        self.faults.insert(format!("{kind}*"), fault);
    }

    fn bound_strangers(&mut self) {
        let count = self.strangers.len();
        if count <= MAX_STRANGERS {
            return;
        }
        let mut names: Vec<&String> = self.strangers.keys().collect();
        names.sort_by_key(|name| std::cmp::Reverse(number(name)));
        let surplus: BTreeSet<String> = names.into_iter().skip(MAX_STRANGERS).cloned().collect();
        self.strangers.retain(|name, _| !surplus.contains(name));
        let fault = format!(
            "there are {count} refs of pull requests; the limit is {MAX_STRANGERS}, so the oldest are left out"
        );
        self.faults.insert("refs/*".to_owned(), fault);
    }

    /// The objects of the followed ref, as far as its name tells: of a range of versions, none.
    pub(super) fn followed(&self, followed: &Ref) -> BTreeSet<Oid> {
        if let Ref::Commit(wanted) = followed {
            return self.named(&wanted.to_lowercase());
        }
        let refs = self.own.iter();
        let refs = refs.filter(|(name, _)| follows(followed, name) && !is_range(followed));
        refs.map(|(_, id)| *id).collect()
    }

    /// The objects that a commit's id names: of strangers only one that is written out, so that none is taken for another.
    fn named(&self, wanted: &str) -> BTreeSet<Oid> {
        let own = self.own.values().map(|id| (id, false));
        let all = own.chain(self.strangers.values().map(|id| (id, true)));
        let named = all.filter(|(id, is_strange)| match is_strange {
            true => id.to_string() == wanted,
            false => id.to_string().starts_with(wanted),
        });
        named.map(|(id, _)| *id).collect()
    }

    /// The tags by short name.
    pub(super) fn tags(&self) -> BTreeMap<&str, Oid> {
        let tags = self.own.iter();
        tags.filter_map(|(name, id)| Some((name.strip_prefix(TAGS)?, *id)))
            .collect()
    }
}

/// Whether the repository's own people push a ref of this name.
pub(super) fn is_own(name: &str) -> bool {
    let is_pushed = name.starts_with(BRANCHES) || name.starts_with(TAGS);
    is_pushed || name == "HEAD" || name == NOTES
}

const fn is_range(followed: &Ref) -> bool {
    matches!(followed, Ref::Newest(_))
}

/// Whether a ref of this name is followed, or one of those that may be.
pub(super) fn follows(followed: &Ref, name: &str) -> bool {
    let is = |kind: &str, short: &str| name.strip_prefix(kind) == Some(short);
    match followed {
        // A repository whose default branch was never pushed to has `main` instead.
        Ref::Head => name == "HEAD" || is(BRANCHES, "main"),
        Ref::Branch(branch) => is(BRANCHES, branch),
        Ref::Tag(tag) => is(TAGS, tag),
        Ref::Newest(range) => name
            .strip_prefix(TAGS)
            .is_some_and(|tag| range.contains(tag)),
        Ref::Name(full) => name == full,
        Ref::Commit(_) => false,
    }
}

/// Why a ref of this name cannot be kept.
fn fault(name: &str) -> Option<String> {
    if name.len() > MAX_NAME {
        let size = name.len();
        return Some(format!(
            "its name has {size} bytes; the limit is {MAX_NAME}"
        ));
    }
    let is_valid = Reference::is_valid_name(&kept(name));
    (!is_valid).then(|| "its name is not the name of a ref".to_owned())
}

/// A name that can be shown.
fn shortened(name: &str) -> String {
    const SHOWN: usize = 100;
    cut::shortened(name, SHOWN, "…")
}

/// The number in the name of a pull request.
fn number(name: &str) -> u64 {
    let mut parts = name.split('/').filter_map(|part| part.parse().ok());
    parts.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn listing(names: impl IntoIterator<Item = String>) -> Listing {
        let id = Oid::from_bytes(&[7; 20]).unwrap();
        names.into_iter().map(|name| (name, id)).collect()
    }

    fn selected(names: &[&str]) -> Selection {
        let all = listing(names.iter().map(|name| (*name).to_owned()));
        let patterns = ["refs/pull/*/head".to_owned(), "refs/heads/pr/*".to_owned()];
        Selection::of(all, &patterns, &Ref::Head, &Listing::new())
    }

    #[test]
    fn what_people_with_the_right_push_is_told_from_what_anybody_proposes() {
        let found = selected(&[
            "HEAD",
            "refs/heads/pr/1",
            "refs/heads/main",
            "refs/keep-around/x",
            "refs/notes/capstan",
            "refs/notes/commits",
            "refs/pull/1/head",
            "refs/pull/1/merge",
            "refs/tags/v1",
        ]);
        let own: Vec<&str> = found.own.keys().map(String::as_str).collect();
        let expected = [
            "HEAD",
            "refs/heads/main",
            "refs/heads/pr/1",
            NOTES,
            "refs/tags/v1",
        ];
        assert_eq!(own, expected);
        let strangers: Vec<&str> = found.strangers.keys().map(String::as_str).collect();
        assert_eq!(strangers, ["refs/pull/1/head"]);
        assert!(found.faults.is_empty());
    }

    #[test]
    fn a_name_that_cannot_be_kept_costs_only_itself() {
        let long = format!("refs/heads/{}", "x".repeat(1_030));
        let found = selected(&[&long, "refs/heads/a..b", "refs/heads/main"]);
        assert_eq!(found.own.len(), 1);
        let faults: Vec<&String> = found.faults.values().collect();
        let expected = [
            "its name is not the name of a ref",
            "its name has 1041 bytes; the limit is 1000",
        ];
        assert_eq!(faults, expected);
        assert!(found.faults.keys().all(|name| name.chars().count() <= 101));
    }

    #[test]
    fn of_too_many_refs_the_followed_and_the_known_stay() {
        let tags = (0..=MAX_REFS).map(|at| format!("refs/tags/{at:06}"));
        let branches = (0..=MAX_REFS + 1).map(|at| format!("refs/heads/{at:06}"));
        let pulls = (0..=MAX_STRANGERS).map(|at| format!("refs/pull/{at}/head"));
        let all = listing(
            tags.chain(branches)
                .chain(pulls)
                .chain(["refs/tags/v1.0.0".into()]),
        );
        let last = format!("refs/heads/{:06}", MAX_REFS + 1);
        let before = listing([last.clone()]);
        let patterns = ["refs/pull/*/head".to_owned()];
        let followed = Ref::Newest("1.x".parse().unwrap());
        let found = Selection::of(all, &patterns, &followed, &before);
        assert_eq!(found.own.len(), 2 * MAX_REFS);
        assert!(found.own.contains_key("refs/tags/v1.0.0") && found.own.contains_key(&last));
        assert_eq!(found.strangers.len(), MAX_STRANGERS);
        assert!(!found.strangers.contains_key("refs/pull/0/head"));
        let faults: Vec<&str> = found.faults.keys().map(String::as_str).collect();
        assert_eq!(faults, ["refs/*", "refs/heads/*", "refs/tags/*"]);
    }
}
