//! Objects and notes of git, and its protocol.

#[path = "../../../../src/adapters/git/commit_object.rs"]
mod commit_object;
#[path = "../../../../src/adapters/git/error.rs"]
mod error;
#[path = "../../../../src/adapters/git/graph.rs"]
mod graph;
#[path = "../../../../src/adapters/git/hooks.rs"]
mod hooks;
#[path = "../../../../src/adapters/git/local_copy.rs"]
mod local_copy;
#[path = "../../../../src/adapters/git/note_tree.rs"]
mod note_tree;
#[path = "../../../../src/adapters/git/signature/mod.rs"]
mod signature;
#[path = "../../../../src/adapters/git/tree_object.rs"]
mod tree_object;
pub mod wire;

pub use error::Error;

use git2::{ObjectType, Odb, Repository};
use jiff::Timestamp;

use crate::model::PublicKey;
use commit_object::{CommitObject, TagObject};
use note_tree::{NoteEdit, Notes, NotesFault};
use tree_object::TreeObject;

/// Reads bytes as each kind of object, and as a signature.
pub fn objects(bytes: &[u8], keys: &[PublicKey]) {
    let odb = Odb::new().expect("a database");
    odb.add_new_mempack_backend(1).expect("one in memory");
    for kind in [ObjectType::Commit, ObjectType::Tag, ObjectType::Tree] {
        let Ok(id) = odb.write(kind, bytes) else { continue };
        if let Ok(Some(commit)) = CommitObject::read(&odb, id) {
            let _ = (commit.at(), commit.title(), commit.text());
        }
        let _ = TagObject::read(&odb, id);
        if let Ok(Ok(tree)) = TreeObject::read(&odb, id) {
            for entry in tree.entries() {
                // Two entries of one name are none.
                assert!(tree.entry(entry.name).is_none_or(|found| found == entry));
            }
        }
    }
    if let Some(at) = signature::at_end(bytes) {
        let (data, signature) = bytes.split_at(at);
        let verified = signature::verify(signature, data, keys, Timestamp::UNIX_EPOCH);
        if let Err(fault) = verified {
            is_for_people(&fault.to_string());
        }
    }
}

/// Reads the blob of a note and the directory around it back, and writes over it.
pub fn notes(blob: &[u8], rewrite: impl Fn(Option<&str>) -> String) {
    const COMMIT: &str = "1111111111111111111111111111111111111111";
    let odb = Odb::new().expect("a database");
    odb.add_new_mempack_backend(1).expect("one in memory");
    let repository = Repository::from_odb(odb).expect("a repository");
    let odb = repository.odb().expect("its database");
    let (Ok(note), Ok(other)) = (odb.write(ObjectType::Blob, blob), odb.write(ObjectType::Tree, blob)) else {
        return;
    };
    let tree = |name: &[u8], mode: &str, id: git2::Oid| {
        let entry = [mode.as_bytes(), b" ", name, b"\0", id.as_bytes()].concat();
        odb.write(ObjectType::Tree, &entry).expect("a tree")
    };
    let leaf = tree(&COMMIT.as_bytes()[2..], "100644", note);
    for top in [tree(b"11", "40000", leaf), tree(b"11", "40000", other), tree(COMMIT.as_bytes(), "100644", note), other] {
        let commit = format!("tree {top}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\n");
        let tip = odb.write(ObjectType::Commit, commit.as_bytes()).expect("a commit");
        let edited = Notes::at(&repository, Some(tip)).and_then(|notes| {
            let _ = notes.find(git2::Oid::from_str(COMMIT)?)?;
            let edit = NoteEdit { commit: COMMIT, rewrite: &rewrite };
            notes.rewritten(&[edit], Timestamp::UNIX_EPOCH)
        });
        if let Err(NotesFault::Unusable(cause)) = edited {
            is_for_people(&cause);
        }
    }
}

/// One line that a terminal shows as it is.
fn is_for_people(text: &str) {
    assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
}
