//! The refs of the other side, as a mirror keeps them: `refs/heads/x` as `refs/origin/heads/x`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use git2::{Odb, Oid, Repository};

use crate::adapters::git::commit_object::{Peeled, peel};
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

/// Makes the kept refs those of `listing`, in one file: whoever may push decides how many there are.
pub(super) fn keep(repository: &Repository, listing: &Listing) -> io::Result<()> {
    let mut lines: BTreeMap<String, Oid> = BTreeMap::new();
    // Those of our own that git has packed stay there.
    for reference in repository.references().into_iter().flatten().flatten() {
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        let target = reference.target().filter(|_| !name.starts_with(KEPT));
        lines.extend(target.map(|id| (name, id)));
    }
    lines.extend(listing.iter().map(|(name, id)| (kept(name), *id)));
    let (file, new) = (
        repository.path().join("packed-refs"),
        repository.path().join("packed-refs.lock"),
    );
    let mut text = io::BufWriter::new(fs::File::create(&new)?);
    writeln!(text, "# pack-refs with: sorted ")?;
    for (name, id) in lines {
        writeln!(text, "{id} {name}")?;
    }
    text.into_inner()?.sync_all()?;
    fs::rename(&new, &file)?;
    match fs::remove_dir_all(loose(repository)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

/// Whether some kept refs are files of their own, which take precedence.
pub(super) fn has_loose(repository: &Repository) -> bool {
    loose(repository).exists()
}

fn loose(repository: &Repository) -> PathBuf {
    repository.path().join(KEPT)
}

/// The commits that the refs of `listing` lead to. `fault` hears of those that should lead to one and do not: they lead to
/// what cannot be used, or to what is missing.
pub(super) fn commits(
    odb: &Odb<'_>,
    listing: &Listing,
    mut fault: impl FnMut(&str, Result<String, git2::Error>),
) -> Refs {
    let mut refs = Refs::new();
    for (name, id) in listing {
        match peel(odb, *id) {
            Ok(Peeled::Commit(commit)) => {
                let head = match commit.parents[..] {
                    [_, head] if is_test_merge(name) => Some(head),
                    _ => Some(commit.id).filter(|_| !is_test_merge(name)),
                };
                refs.extend(head.map(|head| (name.clone(), head.to_string())));
            }
            Ok(Peeled::Elsewhere) => {}
            Ok(Peeled::Unusable(cause)) => fault(name, Ok(cause)),
            Err(cause) => fault(name, Err(cause)),
        }
    }
    refs
}

/// Whether a ref is a merge that the forge made to see whether a pull request has conflicts.
pub(in crate::adapters::git) fn is_test_merge(name: &str) -> bool {
    let number = name.strip_prefix("refs/pull/");
    let number = number.and_then(|rest| rest.strip_suffix("/merge"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
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
