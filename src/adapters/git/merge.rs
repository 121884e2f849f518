//! What a pull request would make of its target: head merged onto base, in memory only.

use std::collections::BTreeSet;

use git2::{Index, MergeOptions, Oid, Repository};

use super::Error;
use super::commit_object::CommitObject;
use super::graph::Graph;
use super::history::{History, no_such_path};
use super::mirror::Mirror;
use super::objects::Objects;
use crate::model::Tree;

/// More than the priorities of libgit2's own stores, so that a merge writes nowhere else.
const FIRST: i32 = 1000;

/// Two commits merged.
#[derive(Clone, Debug)]
pub enum Merged {
    /// They fit together.
    Clean {
        /// The files of the fleet, called by the head's id.
        tree: Tree,
        /// The git id of the fleet's directory: the same id means the same files.
        id: String,
    },
    /// They do not: the paths that both changed, in order.
    Conflicts(Vec<String>),
}

impl Mirror {
    /// Merges `head` onto `base` and reads the fleet at `path`. Nothing is written.
    ///
    /// # Errors
    /// When one of the commits was not fetched, they have no ancestor in common, or the result has
    /// no directory at `path`.
    pub fn merged(&self, base: &str, head: &str, path: &str) -> Result<Merged, Error> {
        self.reading(|repository| {
            let history = History::of(repository, &self.address.shown)?;
            merged(repository, &history, base, head, path)
        })
    }
}

/// Merges `head` onto `base`, both of which `history` finds in `repository`.
pub(super) fn merged(
    repository: &Repository,
    history: &History<'_>,
    base: &str,
    head: &str,
    path: &str,
) -> Result<Merged, Error> {
    let (ours, theirs) = (history.find(base)?, history.find(head)?);
    let damaged = |cause| Error::damaged(repository, &cause);
    let start = start(repository, ours.id, theirs.id).map_err(damaged)?;
    // As git does, while libgit2 would merge as if both began with no files.
    let start = start.ok_or_else(|| Error::Unrelated {
        head: head.to_owned(),
        base: base.to_owned(),
    })?;
    match merge(repository, start, ours.tree, theirs.tree).map_err(damaged)? {
        Err(paths) => Ok(Merged::Conflicts(paths)),
        Ok(root) => match Objects::at(repository, root, path)? {
            Some(objects) => Ok(Merged::Clean {
                tree: objects.read(head)?,
                id: objects.id().to_string(),
            }),
            None => Err(no_such_path(head, path)),
        },
    }
}

/// The tree that both histories began with; `None` if they never met.
fn start(repository: &Repository, ours: Oid, theirs: Oid) -> Result<Option<Oid>, git2::Error> {
    let (graph, odb) = (Graph::of(repository)?, repository.odb()?);
    let bases = graph.merge_bases(ours, theirs)?;
    let Some(newest) = bases.first() else {
        return Ok(None);
    };
    let base = CommitObject::read(&odb, *newest)?;
    Ok(base.map(|base| base.tree))
}

/// The tree of the merge, or the paths in conflict.
fn merge(
    repository: &Repository,
    start: Oid,
    ours: Oid,
    theirs: Oid,
) -> Result<Result<Oid, Vec<String>>, git2::Error> {
    repository.odb()?.add_new_mempack_backend(FIRST)?;
    let tree = |id| repository.find_tree(id);
    let mut options = MergeOptions::new();
    // Renames are guessed by the content of files, all of which would be read for it.
    options.find_renames(false);
    let mut index =
        repository.merge_trees(&tree(start)?, &tree(ours)?, &tree(theirs)?, Some(&options))?;
    if index.has_conflicts() {
        return Ok(Err(conflicts(&index)?));
    }
    index.write_tree_to(repository).map(Ok)
}

fn conflicts(index: &Index) -> Result<Vec<String>, git2::Error> {
    let mut paths = BTreeSet::new();
    for conflict in index.conflicts()? {
        let conflict = conflict?;
        for side in [conflict.our, conflict.their, conflict.ancestor] {
            paths.extend(side.map(|entry| String::from_utf8_lossy(&entry.path).into_owned()));
        }
    }
    Ok(paths.into_iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::adapters::git::fixture::{Copied, FILE, Origin};
    use crate::model::ErrorClass;

    /// A base and a head that both grew from one commit.
    fn forked(start: &[u8], base: &[u8], head: &[u8]) -> (Copied, String, String) {
        let origin = Origin::new();
        let commit = |text, parent| {
            let entries: &[(&[u8], u32, &[u8])] = &[
                (b"fleet/a.yaml", FILE, text),
                (b"fleet/same.yaml", FILE, b"same"),
            ];
            origin.commit(entries, parent)
        };
        let start = commit(start, None);
        let (base, head) = (commit(base, Some(start)), commit(head, Some(start)));
        origin.point("refs/heads/main", base);
        origin.point("refs/pull/1/head", head);
        let mirror = origin.mirror(&["refs/pull/*/head"]);
        mirror.fetch().unwrap();
        (mirror, base.to_string(), head.to_string())
    }

    #[test]
    fn changes_that_fit_are_merged_without_a_trace() {
        let (mirror, base, head) = forked(b"1\n2\n3\n4\n", b"base\n2\n3\n4\n", b"1\n2\n3\nhead\n");
        let before = mirror.objects();
        let Merged::Clean { tree, id } = mirror.merged(&base, &head, "fleet").unwrap() else {
            panic!("a conflict");
        };
        assert_eq!(&*tree.files["fleet/a.yaml"], b"base\n2\n3\nhead\n");
        assert_eq!(tree.files.len(), 2);
        assert_eq!(tree.revision, head);
        let Merged::Clean { id: again, .. } = mirror.merged(&base, &head, "fleet").unwrap() else {
            panic!("a conflict");
        };
        assert_eq!(id, again);
        assert_eq!(mirror.objects(), before);
    }

    #[test]
    fn a_head_on_top_of_its_base_is_itself() {
        let (mirror, base, head) = forked(b"1\n", b"1\n", b"2\n");
        let Merged::Clean { tree, .. } = mirror.merged(&base, &head, "fleet").unwrap() else {
            panic!("a conflict");
        };
        assert_eq!(tree.files, mirror.tree(&head, "fleet").unwrap().files);
    }

    #[test]
    fn changes_that_clash_are_named() {
        let (mirror, base, head) = forked(b"1\n", b"base\n", b"head\n");
        match mirror.merged(&base, &head, "fleet").unwrap() {
            Merged::Conflicts(paths) => assert_eq!(paths, ["fleet/a.yaml"]),
            Merged::Clean { .. } => panic!("no conflict"),
        }
    }

    #[test]
    fn commits_without_a_common_ancestor_are_not_merged() {
        let origin = Origin::new();
        let alone = |text: &[u8]| origin.commit(&[(b"fleet/a.yaml", FILE, text)], None);
        let (base, head) = (alone(b"base"), alone(b"head"));
        origin.point("refs/heads/main", base);
        origin.point("refs/heads/other", head);
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let (base, head) = (base.to_string(), head.to_string());
        let error = mirror.merged(&base, &head, "fleet").unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid);
        let message = format!("commit {head} has no history in common with {base};");
        assert!(error.to_string().starts_with(&message), "{error}");
        assert!(mirror.tree(&head, "fleet").is_ok());
    }

    #[test]
    fn a_merge_needs_the_path_and_both_commits() {
        let (mirror, base, head) = forked(b"1\n", b"1\n", b"2\n");
        let error = mirror.merged(&base, &head, "elsewhere").unwrap_err();
        assert!(matches!(error, Error::NoSuchPath { .. }));
        let error = mirror.merged(&base, "0123456", "fleet").unwrap_err();
        assert!(matches!(error, Error::NoSuchRevision { .. }));
    }
}
