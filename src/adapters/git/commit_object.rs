//! Commits and tags as the bytes they are, read as far as they can be.
//!
//! In: the id of an object. Out: its tree and parents, and what else of it has a meaning. Whoever pushes decides what
//! stands in a commit, and git takes authors without an address and dates of any length: what cannot be read is
//! unknown, and never an error. It does not know which commit leads to which.

use git2::{ObjectType, Odb, Oid};

/// The most bytes that a commit or a tag may have: 16 MiB. A larger one is not read.
const MAX_BYTES: usize = 16 << 20;
/// How many tags may lead to one another before a commit.
const MAX_TAGS: usize = 16;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitObject {
    pub(super) id: Oid,
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
    /// Who wrote it; `None` if it does not say.
    pub(super) author: Option<Person>,
    pub(super) committer: Option<Person>,
    pub(super) message: Vec<u8>,
}

/// Who did something, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// `name <email>`, or whatever stands in its place.
    pub(super) name: String,
    /// In seconds since 1970; `None` if it is no such number.
    pub(super) at: Option<i64>,
}

impl Person {
    /// Reads `name <email> seconds zone`.
    fn of(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let end = text.rfind('>').map_or(text.len(), |end| end + 1);
        let (name, time) = text.split_at_checked(end).unwrap_or((&text, ""));
        Self {
            name: name.trim().to_owned(),
            at: time
                .split_whitespace()
                .next()
                .and_then(|time| time.parse().ok()),
        }
    }
}

impl CommitObject {
    /// Reads a commit; `None` if the object is none, or is not usable as one.
    ///
    /// # Errors
    /// When there is no such object, or it cannot be read.
    pub(super) fn read(odb: &Odb<'_>, id: Oid) -> Result<Option<Self>, git2::Error> {
        let bytes = bounded(odb, id, ObjectType::Commit)?;
        Ok(bytes.and_then(|bytes| Self::parse(id, bytes.data())))
    }

    fn parse(id: Oid, bytes: &[u8]) -> Option<Self> {
        let mut header = Header(bytes);
        let tree = oid(header.take(b"tree ")?)?;
        let mut parents = Vec::new();
        while let Some(parent) = header.take(b"parent ") {
            parents.push(oid(parent)?);
        }
        let mut commit = Self {
            id,
            tree,
            parents,
            author: None,
            committer: None,
            message: Vec::new(),
        };
        while let Some(line) = header.next() {
            if let Some(author) = line.strip_prefix(b"author ") {
                commit.author.get_or_insert_with(|| Person::of(author));
            } else if let Some(committer) = line.strip_prefix(b"committer ") {
                commit
                    .committer
                    .get_or_insert_with(|| Person::of(committer));
            }
        }
        commit.message = header.0.to_vec();
        Some(commit)
    }

    /// When it was committed, in seconds since 1970; 0 if it does not say.
    pub(super) fn at(&self) -> i64 {
        let committer = self.committer.as_ref();
        committer.and_then(|who| who.at).unwrap_or_default()
    }

    /// Its message as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.message).into_owned()
    }

    /// The first paragraph of its message, in one line.
    pub(super) fn title(&self) -> String {
        let text = self.text();
        let lines = text.trim_start().lines().map(str::trim);
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        lines.join(" ")
    }
}

/// What a tag says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagObject {
    pub(super) target: Oid,
    pub(super) name: String,
    /// Who made it; `None` if it does not say.
    pub(super) tagger: Option<Person>,
}

impl TagObject {
    /// Reads a tag; `None` if the object is none, or is not usable as one.
    ///
    /// # Errors
    /// When there is no such object, or it cannot be read.
    pub(super) fn read(odb: &Odb<'_>, id: Oid) -> Result<Option<Self>, git2::Error> {
        let bytes = bounded(odb, id, ObjectType::Tag)?;
        Ok(bytes.and_then(|bytes| Self::parse(bytes.data())))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut header = Header(bytes);
        let target = oid(header.take(b"object ")?)?;
        let mut tag = Self {
            target,
            name: String::new(),
            tagger: None,
        };
        while let Some(line) = header.next() {
            if let Some(name) = line.strip_prefix(b"tag ") {
                tag.name = String::from_utf8_lossy(name).into_owned();
            } else if let Some(tagger) = line.strip_prefix(b"tagger ") {
                tag.tagger = Some(Person::of(tagger));
            }
        }
        Some(tag)
    }
}

/// What a ref leads to in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Peeled {
    Commit(CommitObject),
    /// A file or a directory.
    Elsewhere,
    /// Something that says it is a commit or a tag, and cannot be read as one.
    Unusable(String),
}

/// Follows annotated tags to a commit.
///
/// # Errors
/// When an object is missing, or cannot be read.
pub(super) fn peel(odb: &Odb<'_>, mut id: Oid) -> Result<Peeled, git2::Error> {
    for _ in 0..MAX_TAGS {
        match odb.read_header(id)?.1 {
            ObjectType::Commit => {
                let unusable = || Peeled::Unusable(format!("the commit {id} cannot be read"));
                let commit = CommitObject::read(odb, id)?;
                return Ok(commit.map_or_else(unusable, Peeled::Commit));
            }
            ObjectType::Tag => match TagObject::read(odb, id)? {
                Some(tag) => id = tag.target,
                None => return Ok(Peeled::Unusable(format!("the tag {id} cannot be read"))),
            },
            _ => return Ok(Peeled::Elsewhere),
        }
    }
    let cause = format!("more than {MAX_TAGS} tags lead to one another");
    Ok(Peeled::Unusable(cause))
}

/// The bytes of an object of this kind that is not too large.
fn bounded<'o>(
    odb: &'o Odb<'_>,
    id: Oid,
    kind: ObjectType,
) -> Result<Option<git2::OdbObject<'o>>, git2::Error> {
    let (size, found) = odb.read_header(id)?;
    if found != kind || size > MAX_BYTES {
        return Ok(None);
    }
    odb.read(id).map(Some)
}

fn oid(digits: &[u8]) -> Option<Oid> {
    let digits = std::str::from_utf8(digits).ok()?;
    (digits.len() == 40).then(|| Oid::from_str(digits).ok())?
}

/// The lines before the first empty one; then what comes behind that.
struct Header<'b>(&'b [u8]);

impl<'b> Header<'b> {
    /// The rest of the next line, if it begins like this.
    fn take(&mut self, prefix: &[u8]) -> Option<&'b [u8]> {
        let mut ahead = Self(self.0);
        let rest = ahead.next()?.strip_prefix(prefix)?;
        self.0 = ahead.0;
        Some(rest)
    }

    /// The next line; `None` at the end of the header.
    fn next(&mut self) -> Option<&'b [u8]> {
        let end = self.0.iter().position(|byte| *byte == b'\n');
        let end = end.unwrap_or(self.0.len());
        let (line, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        (!line.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TREE: &str = "tree 1111111111111111111111111111111111111111\n";
    const PARENT: &str = "parent 2222222222222222222222222222222222222222\n";

    fn parsed(text: &str) -> Option<CommitObject> {
        CommitObject::parse(Oid::ZERO_SHA1, text.as_bytes())
    }

    #[test]
    fn a_commit_is_read_as_far_as_it_can_be() {
        let good = "committer C <c@example.com> 1287367363 +0000\n";
        for (author, name, at) in [
            (
                "author A <a@example.com> 1287367363 +0000\n",
                "A <a@example.com>",
                Some(1_287_367_363),
            ),
            ("author A 1287367363 +0000\n", "A 1287367363 +0000", None),
            (
                "author A <a@example.com 1287367363 +0000\n",
                "A <a@example.com 1287367363 +0000",
                None,
            ),
            (
                "author A <a@example.com> Mon Jan 1 2020\n",
                "A <a@example.com>",
                None,
            ),
            (
                "author A <a@example.com> 18446744073709551614 +0000\n",
                "A <a@example.com>",
                None,
            ),
            (
                "author A<a@example.com> -7 -700\n",
                "A<a@example.com>",
                Some(-7),
            ),
        ] {
            let commit = parsed(&format!("{TREE}{PARENT}{author}{good}\nx\ny\n\nz\n")).unwrap();
            let found = commit.author.clone().unwrap();
            assert_eq!((found.name.as_str(), found.at), (name, at), "{author}");
            assert_eq!(commit.at(), 1_287_367_363);
            assert_eq!((commit.parents.len(), &*commit.title()), (1, "x y"));
            assert_eq!(commit.text(), "x\ny\n\nz\n");
        }
    }

    #[test]
    fn who_and_when_may_be_missing_but_not_the_tree() {
        let bare = parsed(&format!("{TREE}\nx")).unwrap();
        assert_eq!((bare.author.as_ref(), bare.at()), (None, 0));
        assert_eq!(bare.text(), "x");
        assert_eq!(parsed(TREE).unwrap().text(), "");
        assert_eq!(parsed(""), None);
        assert_eq!(parsed(PARENT), None);
        assert_eq!(parsed("tree 11\n\n"), None);
        assert_eq!(parsed(&format!("{TREE}parent main\n\n")), None);
    }

    #[test]
    fn a_tag_is_read_as_far_as_it_can_be() {
        let text = "object 1111111111111111111111111111111111111111\ntype commit\ntag v1\ntagger broken\n\nit\n";
        let tag = TagObject::parse(text.as_bytes()).unwrap();
        assert_eq!((&*tag.name, tag.tagger.unwrap().at), ("v1", None));
        assert_eq!(TagObject::parse(b"type commit\n\n"), None);
    }
}
