//! Whether a commit, or the tag that leads to it, is signed by somebody who is trusted.
//!
//! In: a commit of the mirror, and the accepted keys. Out: nothing, or an error that says who made it and what is
//! wrong with its signature. A tag that was accepted is kept, so that the commit stays accepted when the tag is
//! moved. It does not know which commits have to be signed.

use git2::{ErrorCode, Oid, Repository};
use jiff::Timestamp;

use super::Error;
use super::commit_object::{CommitObject, Peeled, Person, TagObject, peel};
use super::mirror::{Mirror, Ref, fetched_tags};
use super::retained::{ACCEPTED_TAGS, accepted_tags};
use super::signature::{self, SignatureFault};
use crate::model::PublicKey;

/// How many accepted tags are kept whose ref may be gone.
const KEPT: usize = 50;

/// The keys that are accepted, at a time.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'k> {
    /// The keys.
    pub keys: &'k [PublicKey],
    /// The time.
    pub now: Timestamp,
}

impl Trust<'_> {
    fn verify(self, signature: &[u8], data: &[u8]) -> Result<(), SignatureFault> {
        signature::verify(signature, data, self.keys, self.now)
    }
}

/// An annotated tag, or a ref of a tag that leads to a commit directly.
struct Tag {
    /// The short name of its ref; for a tag that is kept, that of its object.
    name: String,
    id: Oid,
}

impl Mirror {
    /// Whether `commit` is signed.
    ///
    /// # Errors
    /// [`Error::Unverified`] if it is not accepted.
    pub fn verify_commit(&self, commit: &str, trust: Trust<'_>) -> Result<(), Error> {
        self.reading(|repository| {
            let commit = self.find(repository, commit)?;
            verify_commit(repository, &commit, trust)
        })
    }

    /// Whether a tag that `wanted` follows leads to `commit` and is signed.
    ///
    /// # Errors
    /// [`Error::Unverified`] if none is accepted.
    pub fn verify_tag(&self, wanted: &Ref, commit: &str, trust: Trust<'_>) -> Result<(), Error> {
        let accepted = self.reading(|repository| {
            let commit = self.find(repository, commit)?.id;
            let damaged = |cause| Error::damaged(repository, &cause);
            let mut first = None;
            for tag in leading_to(repository, wanted, commit).map_err(damaged)? {
                match tag.verify(repository, trust).map_err(damaged)? {
                    Ok(()) => return Ok(tag.id),
                    Err(refused) => drop(first.get_or_insert(refused)),
                }
            }
            Err(first.unwrap_or_else(|| Error::Unverified {
                what: format!("commit {commit}"),
                fault: SignatureFault::Untagged,
            }))
        })?;
        self.keep_tag(commit, accepted)
    }

    /// Keeps a tag that was accepted for `commit`.
    fn keep_tag(&self, commit: &str, tag: Oid) -> Result<(), Error> {
        let _writing = self.writing();
        self.reading(|repository| {
            let name = format!("{ACCEPTED_TAGS}{commit}");
            if repository
                .refname_to_id(&name)
                .is_ok_and(|kept| kept == tag)
            {
                return Ok(());
            }
            let kept = repository.reference(&name, tag, true, "accepted");
            kept.and_then(|_| trim(repository))
                .map_err(|cause| Error::Disk {
                    path: repository.path().join(name),
                    cause: cause.message().to_owned(),
                })
        })
    }
}

/// Whether a commit of `repository` is signed.
pub(super) fn verify_commit(
    repository: &Repository,
    commit: &CommitObject,
    trust: Trust<'_>,
) -> Result<(), Error> {
    let verified = match repository.extract_signature(&commit.id, None) {
        Ok((signature, data)) => trust.verify(&signature, &data),
        Err(cause) if cause.code() == ErrorCode::NotFound => Err(SignatureFault::Unsigned),
        Err(cause) => return Err(Error::damaged(repository, &cause)),
    };
    verified.map_err(|fault| Error::Unverified {
        what: format!(
            "commit {} by {}",
            commit.id,
            person(commit.committer.clone())
        ),
        fault,
    })
}

/// The tags that `wanted` follows and that lead to `commit`: as they are now, then as they were accepted. If the newest
/// of a range leads there, it is the only one: whoever puts an unsigned tag of a higher version on an old release must
/// not profit from the signature of that release.
fn leading_to(repository: &Repository, wanted: &Ref, commit: Oid) -> Result<Vec<Tag>, git2::Error> {
    let fetched = fetched_tags(repository)?;
    let newest = match wanted {
        Ref::Newest(range) => range.newest(fetched.keys().map(String::as_str)),
        _ => None,
    };
    let newest = match newest {
        Some(name) if leads_to(repository, fetched[name], commit)? => Some(name),
        _ => None,
    };
    let follows = |name: &str| match wanted {
        Ref::Tag(tag) => tag == name,
        Ref::Newest(range) => newest.map_or_else(|| range.contains(name), |newest| newest == name),
        Ref::Head | Ref::Branch(_) | Ref::Commit(_) | Ref::Name(_) => false,
    };
    let mut tags = Vec::new();
    for (name, id) in &fetched {
        if follows(name) && leads_to(repository, *id, commit)? {
            let (name, id) = (name.clone(), *id);
            tags.push(Tag { name, id });
        }
    }
    if let Ok(id) = repository.refname_to_id(&format!("{ACCEPTED_TAGS}{commit}")) {
        let name = TagObject::read(&repository.odb()?, id)?.map(|tag| tag.name);
        let name = name.filter(|name| follows(name));
        tags.extend(name.map(|name| Tag { name, id }));
    }
    Ok(tags)
}

fn leads_to(repository: &Repository, id: Oid, commit: Oid) -> Result<bool, git2::Error> {
    let peeled = peel(&repository.odb()?, id)?;
    Ok(matches!(peeled, Peeled::Commit(to) if to.id == commit))
}

impl Tag {
    fn verify(
        &self,
        repository: &Repository,
        trust: Trust<'_>,
    ) -> Result<Result<(), Error>, git2::Error> {
        let odb = repository.odb()?;
        let tag = TagObject::read(&odb, self.id)?;
        let refused = |fault| {
            let tagger = tag.as_ref().and_then(|tag| tag.tagger.clone());
            let by = tagger.map_or_else(String::new, |who| format!(" by {}", person(Some(who))));
            let what = format!("tag {:?}{by}", self.name);
            Err(Error::Unverified { what, fault })
        };
        let Some(tag) = &tag else {
            return Ok(refused(SignatureFault::Lightweight));
        };
        let own = tag.name.clone();
        if own != self.name {
            return Ok(refused(SignatureFault::Renamed { own }));
        }
        let object = odb.read(self.id)?;
        let Some(at) = signature::at_end(object.data()) else {
            return Ok(refused(SignatureFault::Unsigned));
        };
        let (data, signature) = object.data().split_at(at);
        Ok(trust.verify(signature, data).or_else(refused))
    }
}

/// Lets go of the oldest tags that are kept.
fn trim(repository: &Repository) -> Result<(), git2::Error> {
    let (mut kept, odb) = (Vec::new(), repository.odb()?);
    for (name, id) in accepted_tags(repository)? {
        let tag = TagObject::read(&odb, id)?;
        let tagger = tag.and_then(|tag| tag.tagger);
        kept.push((tagger.and_then(|tagger| tagger.at), name));
    }
    kept.sort();
    for (_, name) in kept.iter().take(kept.len().saturating_sub(KEPT)) {
        repository.find_reference(name)?.delete()?;
    }
    Ok(())
}

/// `name <email>`.
fn person(who: Option<Person>) -> String {
    who.map_or_else(|| "nobody".to_owned(), |who| who.name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::fixture::{Origin, author};

    #[test]
    fn of_a_range_only_the_newest_tag_vouches_for_the_head() {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let second = origin.push("main", &[("a.yaml", "2")]);
        let annotated = |name: &str, commit: &str| {
            let object = origin.repository.revparse_single(commit).unwrap();
            let tag = origin.repository.tag(name, &object, &author(), "it", false);
            tag.unwrap();
        };
        annotated("v1.0.0", &first);
        annotated("v2.0.0", &second);
        origin.point("refs/tags/v1.5.0", Oid::from_str(&first).unwrap());
        let names = |range: &str, commit: &str| -> Vec<String> {
            let mirror = origin.mirror(&[]);
            mirror.fetch().unwrap();
            let inside = mirror.dir.path().join("repository.git");
            let repository = Repository::open_bare(inside).unwrap();
            let kept = ACCEPTED_TAGS.to_owned() + &first;
            let v1 = fetched_tags(&repository).unwrap()["v1.0.0"];
            repository.reference(&kept, v1, true, "test").unwrap();
            let (wanted, id) = (Ref::Newest(range.parse().unwrap()), Oid::from_str(commit));
            let tags = leading_to(&repository, &wanted, id.unwrap()).unwrap();
            tags.into_iter().map(|tag| tag.name).collect()
        };
        assert_eq!(names(">=1", &second), ["v2.0.0"]);
        // An older release, which is looked at after a restart.
        assert_eq!(names(">=1", &first), ["v1.0.0", "v1.5.0", "v1.0.0"]);
        assert_eq!(names("1.x", &first), ["v1.5.0"]);
        // The signature of v1.0.0, accepted or not, is none of v9.0.0.
        origin.point("refs/tags/v9.0.0", Oid::from_str(&first).unwrap());
        assert_eq!(names(">=1", &first), ["v9.0.0"]);
    }
}
