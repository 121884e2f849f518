//! The refs of the other side, as a mirror keeps them: `refs/heads/x` as `refs/origin/heads/x`.

use std::collections::BTreeMap;

use git2::{Oid, Repository};

use crate::adapters::git::remote::Listing;

/// The refs of a repository by full name (`refs/heads/main`, `HEAD`), and the commit each leads to. The test merge of a
/// pull request (`refs/pull/7/merge`) leads to the head that it merges. Refs that lead to no commit are not here.
pub type Refs = BTreeMap<String, String>;

/// Where they are kept.
const KEPT: &str = "refs/origin/";

/// Where the ref `name` of the other side is kept.
pub(in crate::adapters::git) fn kept(name: &str) -> String {
    format!("{KEPT}{}", name.strip_prefix("refs/").unwrap_or(name))
}

pub(super) fn kept_refs(repository: &Repository) -> Result<Listing, git2::Error> {
    let mut listing = Listing::new();
    for reference in repository.references_glob(&format!("{KEPT}*"))? {
        let reference = reference?;
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        let name = match name.strip_prefix(KEPT) {
            Some("HEAD") => "HEAD".to_owned(),
            inner => format!("refs/{}", inner.unwrap_or(&name)),
        };
        listing.extend(reference.target().map(|target| (name, target)));
    }
    Ok(listing)
}

/// The tags by short name, and what each points to.
pub(in crate::adapters::git) fn fetched_tags(
    repository: &Repository,
) -> Result<Listing, git2::Error> {
    const TAGS: &str = "refs/tags/";
    let mut tags = Listing::new();
    for reference in repository.references_glob(&format!("{}*", kept(TAGS)))? {
        let reference = reference?;
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        let name = name.strip_prefix(&kept(TAGS)).map(str::to_owned);
        tags.extend(name.zip(reference.target()));
    }
    Ok(tags)
}

/// What the branches lead to.
pub(in crate::adapters::git) fn kept_branches(
    repository: &Repository,
) -> Result<Vec<Oid>, git2::Error> {
    let mut tips = Vec::new();
    for reference in repository.references_glob(&kept("refs/heads/*"))? {
        tips.extend(reference?.target());
    }
    Ok(tips)
}

/// Whether a ref leads straight to `id`.
pub(in crate::adapters::git) fn is_kept(repository: &Repository, id: Oid) -> bool {
    kept_refs(repository).is_ok_and(|listing| listing.values().any(|kept| *kept == id))
}

/// Makes the kept refs those of `listing`. What is gone is removed first: `a` may have become `a/b`.
pub(super) fn keep(
    repository: &Repository,
    before: &Listing,
    listing: &Listing,
) -> Result<(), git2::Error> {
    for name in before.keys().filter(|name| !listing.contains_key(*name)) {
        repository.find_reference(&kept(name))?.delete()?;
    }
    for (name, id) in listing {
        if before.get(name) != Some(id) {
            repository.reference(&kept(name), *id, true, "fetch")?;
        }
    }
    Ok(())
}

pub(super) fn commits(repository: &Repository, listing: &Listing) -> Result<Refs, git2::Error> {
    let mut refs = Refs::new();
    for (name, id) in listing {
        let commit = match is_test_merge(name) {
            true => merged(repository, *id),
            false => peeled(repository, *id).map(Some),
        };
        match commit {
            Ok(commit) => refs.extend(commit.map(|id| (name.clone(), id.to_string()))),
            Err(cause) if leads_elsewhere(&cause) => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(refs)
}

fn peeled(repository: &Repository, id: Oid) -> Result<Oid, git2::Error> {
    Ok(repository.find_object(id, None)?.peel_to_commit()?.id())
}

/// Whether a ref is a merge that the forge made to see whether a pull request has conflicts.
pub(in crate::adapters::git) fn is_test_merge(name: &str) -> bool {
    let number = name.strip_prefix("refs/pull/");
    let number = number.and_then(|rest| rest.strip_suffix("/merge"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a commit merges into its first parent; `None` if it is no merge of two.
fn merged(repository: &Repository, id: Oid) -> Result<Option<Oid>, git2::Error> {
    let merge = repository.find_object(id, None)?.peel_to_commit()?;
    let mut parents = merge.parent_ids();
    Ok(match (parents.next(), parents.next(), parents.next()) {
        (Some(_), Some(head), None) => Some(head),
        _ => None,
    })
}

/// Whether an object is there, but is a file or directory and leads to no commit.
pub(super) fn leads_elsewhere(cause: &git2::Error) -> bool {
    matches!(
        cause.code(),
        git2::ErrorCode::InvalidSpec | git2::ErrorCode::Peel
    )
}

/// Whether a name or an id is invalid or does not lead to an object.
pub(in crate::adapters::git) fn is_missing(cause: &git2::Error) -> bool {
    matches!(
        cause.code(),
        git2::ErrorCode::NotFound | git2::ErrorCode::InvalidSpec | git2::ErrorCode::Ambiguous
    )
}

pub(super) fn is_pattern(text: &str) -> bool {
    text.starts_with("refs/") && text.matches('*').count() <= 1
}

/// As in git's own refspecs: `*` matches any text, `/` included.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name
            .strip_prefix(before)
            .is_some_and(|rest| rest.ends_with(after)),
    }
}
