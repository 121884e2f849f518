//! What a pull request would make of its target: head merged onto base, in memory only.

use git2::{Oid, Repository};

use super::Error;
use super::commit_object::CommitObject;
use super::graph::Graph;
use super::history::{History, no_such_path};
use super::mirror::Mirror;
use super::objects::Objects;
use super::three_way::{ThreeWay, Unmerged};
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

    /// Returns true if `commit` has the files that a merge of `head` onto its first parent has, and not those of that
    /// parent: somebody squashed `head`, or rebased its one commit. Nothing is written.
    ///
    /// # Errors
    /// When one of the commits is not here any more, or cannot be read.
    pub fn is_squash(&self, commit: &str, head: &str) -> Result<bool, Error> {
        self.reading(|repository| {
            let history = History::of(repository, &self.address.shown)?;
            is_squash(repository, &history, commit, head)
        })
    }
}

fn is_squash(
    repository: &Repository,
    history: &History<'_>,
    commit: &str,
    head: &str,
) -> Result<bool, Error> {
    let (commit, theirs) = (history.find(commit)?, history.find(head)?);
    let [parent] = commit.parents[..] else {
        return Ok(false);
    };
    let ours = history.find(&parent.to_string())?;
    if ours.tree == commit.tree {
        return Ok(false);
    }
    let merged = start(repository, &ours, &theirs).and_then(|start| match start {
        Some(start) => merge(repository, start, ours.tree, theirs.tree).map(Result::ok),
        None => Ok(None),
    });
    Ok(matches!(merged, Ok(Some(root)) if root == commit.tree))
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
    let unmerged = |cause: Unmerged| match cause {
        Unmerged::Git(cause) => Error::damaged(repository, &cause),
        Unmerged::Unusable(cause) => Error::Candidate { cause },
    };
    let start = start(repository, &ours, &theirs).map_err(unmerged)?;
    // As git does: what did not begin together is not merged as if both had begun with no files.
    let start = start.ok_or_else(|| Error::Unrelated {
        head: head.to_owned(),
        base: base.to_owned(),
    })?;
    match merge(repository, start, ours.tree, theirs.tree).map_err(unmerged)? {
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

/// The directory that both histories began with; `None` if they never met. Where they met more than once, it is what a
/// merge of these commits would be, if there is one.
fn start(
    repository: &Repository,
    ours: &CommitObject,
    theirs: &CommitObject,
) -> Result<Option<Oid>, Unmerged> {
    let (graph, odb) = (Graph::of(repository)?, repository.odb()?);
    let read =
        |id: Oid| -> Result<Option<CommitObject>, git2::Error> { CommitObject::read(&odb, id) };
    let bases = graph.merge_bases(ours.id, theirs.id)?;
    let Some(newest) = bases.first().copied().map(read).transpose()?.flatten() else {
        return Ok(None);
    };
    let Some(second) = bases.get(1).copied().map(read).transpose()?.flatten() else {
        return Ok(Some(newest.tree));
    };
    let before = graph.merge_bases(newest.id, second.id)?;
    let Some(before) = before.first().copied().map(read).transpose()?.flatten() else {
        return Ok(Some(newest.tree));
    };
    let merged = merge(repository, before.tree, newest.tree, second.tree)?;
    Ok(Some(merged.unwrap_or(newest.tree)))
}

/// The directory of the merge, or the paths in conflict.
fn merge(
    repository: &Repository,
    start: Oid,
    ours: Oid,
    theirs: Oid,
) -> Result<Result<Oid, Vec<String>>, Unmerged> {
    let odb = repository.odb()?;
    odb.add_new_mempack_backend(FIRST)?;
    ThreeWay::merge(&odb, start, ours, theirs)
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
    fn a_squash_has_the_files_of_the_merge_whatever_its_message_and_parent() {
        let origin = Origin::new();
        let commit = |a: &[u8], b: &[u8], parent| {
            let entries: &[(&[u8], u32, &[u8])] = &[(b"a", FILE, a), (b"b", FILE, b)];
            origin.commit(entries, parent)
        };
        let start = commit(b"1", b"1", None);
        let part = commit(b"2", b"1", Some(start));
        let head = commit(b"3", b"1", Some(part));
        let base = commit(b"1", b"2", Some(start));
        let squash = commit(b"3", b"2", Some(base));
        let more = commit(b"3", b"3", Some(base));
        let less = commit(b"2", b"2", Some(base));
        let empty = commit(b"3", b"2", Some(squash));
        for (at, commit) in [head, squash, more, less, empty].into_iter().enumerate() {
            origin.point(&format!("refs/heads/b{at}"), commit);
        }
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let of = |commit: Oid| mirror.is_squash(&commit.to_string(), &head.to_string());
        assert!(of(squash).unwrap());
        for other in [more, less, empty, start] {
            assert!(!of(other).unwrap(), "{other}");
        }
        mirror
            .is_squash(&squash.to_string(), &"1".repeat(40))
            .unwrap_err();
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
