//! Commits that stay in a mirror whatever the other side does: a ref of ours leads to each, so that
//! neither a forced push nor git's garbage collection removes them.
//!
//! In: what a commit is kept as, and its id. It does not know: what the commit is needed for. A mirror
//! belongs to one fleet of one repository, so there is one commit of each.

use git2::{Oid, Repository};

use super::local_copy;

/// What a commit is kept as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetainedRef {
    /// The last that was applied to its end.
    Applied,
    /// The last of which everything became ready.
    Ready,
    /// The last that was taken up, however far it came.
    Begun,
}

impl RetainedRef {
    pub(super) const ALL: [Self; 3] = [Self::Applied, Self::Ready, Self::Begun];

    /// Beside `refs/origin/`, which is all that a fetch touches.
    pub(super) const fn reference(self) -> &'static str {
        match self {
            Self::Applied => "refs/capstan/applied",
            Self::Ready => "refs/capstan/ready",
            Self::Begun => "refs/capstan/begun",
        }
    }
}

/// Where the tag is kept that was accepted for a commit, by the commit's id.
pub(super) const ACCEPTED_TAGS: &str = "refs/capstan/tags/";

/// The tags that are kept, by the full name of the ref.
pub(super) fn accepted_tags(repository: &Repository) -> Result<Vec<(String, Oid)>, git2::Error> {
    let mut tags = Vec::new();
    for reference in repository.references_glob(&format!("{ACCEPTED_TAGS}*"))? {
        let reference = reference?;
        let name = reference.name()?.to_owned();
        tags.extend(reference.target().map(|id| (name, id)));
    }
    Ok(tags)
}

/// Copies the retained refs from a repository that is going to be replaced by `to`: as far as it
/// can still be read there, or came from the other side again.
pub(super) fn carry(from: &Repository, to: &Repository) {
    let commits = RetainedRef::ALL.map(|retained| retained.reference().to_owned());
    let commits = commits
        .into_iter()
        .filter_map(|name| Some((from.refname_to_id(&name).ok()?, name)));
    let tags = accepted_tags(from).unwrap_or_default().into_iter();
    for (id, name) in commits.chain(tags.map(|(name, id)| (id, name))) {
        if to.odb().is_ok_and(|odb| !odb.exists(id))
            && let Err(error) = local_copy::copy(from, to, &[id].into())
        {
            tracing::warn!(revision = %id, %error, "the commit is lost with the damaged mirror");
            continue;
        }
        if let Err(error) = to.reference(&name, id, true, "pin") {
            tracing::warn!(revision = %id, %error, "the commit is no longer retained");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stderr)]

    use std::fs;
    use std::process::Command;

    use git2::Oid;

    use super::*;
    use crate::adapters::git::fixture::{Copied, FILE, Origin};
    use crate::model::ErrorClass;

    /// Collects garbage as git does; `false` where there is no git program.
    fn collect(mirror: &Copied) -> bool {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(mirror.dir.path().join("repository.git"));
        let Ok(output) = command.args(["gc", "--quiet", "--prune=now"]).output() else {
            eprintln!("skipped: needs the git program; install the package git");
            return false;
        };
        assert!(output.status.success(), "{output:?}");
        true
    }

    /// A commit with this message; `branch` is made to lead to it, whatever it led to before.
    fn force(origin: &Origin, branch: &str, message: &str, parent: Option<&str>) -> String {
        let repository = &origin.repository;
        let id = |text: &str| Oid::from_str(text).unwrap();
        let parent = parent.map(|parent| repository.find_commit(id(parent)).unwrap());
        let files = origin.commit(&[(b"a.yaml", FILE, message.as_bytes())], None);
        let tree = repository.find_commit(files).unwrap().tree().unwrap();
        let who = crate::adapters::git::fixture::author();
        let parents: Vec<_> = parent.iter().collect();
        let made = repository.commit(None, &who, &who, message, &tree, &parents);
        let made = made.unwrap();
        origin.point(&format!("refs/heads/{branch}"), made);
        made.to_string()
    }

    fn approved(mirror: &Copied, from: &str, to: &str) -> Vec<String> {
        mirror.trailers(Some(from), to, 99, "Approve").unwrap()
    }

    #[test]
    fn what_is_pinned_outlives_a_forced_push_and_the_collection_of_garbage() {
        let origin = Origin::new();
        let base = force(&origin, "main", "base\n\nApprove: long ago\n", None);
        let old = force(&origin, "main", "old\n\nApprove: old\n", Some(&base));
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        assert_eq!(mirror.retained(RetainedRef::Applied), None);
        mirror.retain(RetainedRef::Applied, &old).unwrap();
        assert_eq!(mirror.retained(RetainedRef::Applied), Some(old.clone()));
        let between = force(&origin, "main", "between", Some(&base));
        mirror.fetch().unwrap();
        let new = force(&origin, "main", "new\n\nApprove: new\n", Some(&base));
        mirror.fetch().unwrap();
        if !collect(&mirror) {
            return;
        }
        assert!(mirror.commit(&between).is_err(), "it is not retained");
        assert!(mirror.tree(&old, "").is_ok());
        // What is new since, and not what both sides have.
        assert_eq!(approved(&mirror, &old, &new), ["new"]);
        assert_eq!(approved(&mirror, &new, &old), ["old"]);
        let alone = force(&origin, "main", "alone\n\nApprove: alone\n", None);
        mirror.fetch().unwrap();
        assert_eq!(approved(&mirror, &old, &alone), ["alone"]);

        mirror.retain(RetainedRef::Ready, &new).unwrap();
        mirror.retain(RetainedRef::Applied, &alone).unwrap();
        assert!(collect(&mirror));
        assert!(mirror.commit(&old).is_err(), "another took its place");
        assert!(mirror.commit(&new).is_ok() && mirror.commit(&alone).is_ok());
    }

    #[test]
    fn what_is_pinned_outlives_the_repair_of_a_mirror() {
        let origin = Origin::new();
        let old = force(&origin, "main", "old", None);
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        mirror.retain(RetainedRef::Applied, &old).unwrap();
        let new = force(&origin, "main", "new", None);
        mirror.fetch().unwrap();
        mirror.retain(RetainedRef::Ready, &new).unwrap();
        let inside = mirror.dir.path().join("repository.git");
        fs::create_dir_all(inside.join("refs/origin/heads")).unwrap();
        fs::write(inside.join("refs/origin/heads/main"), "no id").unwrap();
        let main = crate::adapters::git::Ref::Branch("main".to_owned());
        mirror.resolve(&main).unwrap_err();
        mirror.fetch().unwrap();
        assert_eq!(mirror.resolve(&main).unwrap(), new);
        assert!(mirror.tree(&old, "").is_ok());
        let kept = |name| fs::read_to_string(inside.join(name)).unwrap();
        assert_eq!(kept("refs/capstan/applied").trim(), old);
        assert_eq!(kept("refs/capstan/ready").trim(), new);
        // A ref that cannot be read is replaced.
        fs::write(inside.join("refs/capstan/applied"), "no id").unwrap();
        mirror.retain(RetainedRef::Applied, &new).unwrap_err();
        mirror.fetch().unwrap();
        mirror.retain(RetainedRef::Applied, &new).unwrap();
        assert_eq!(kept("refs/capstan/applied").trim(), new);
    }

    #[test]
    fn what_was_not_fetched_cannot_be_pinned() {
        let origin = Origin::new();
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let unfetched = force(&origin, "main", "it", None);
        for id in [&*unfetched, "main", ""] {
            let error = mirror.retain(RetainedRef::Applied, id).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Gone, "{error}");
        }
    }
}
