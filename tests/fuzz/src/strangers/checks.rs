//! Checks in notes.

#[path = "../../../../src/adapters/checks/git_notes.rs"]
mod git_notes;

use git_notes::{read, rewrite};

use crate::model::{Check, CheckState};

fn check(title: &str) -> Check {
    serde_json::from_value(serde_json::json!({"revision": "1111111111111111111111111111111111111111", "context": "capstan/sync", "state": CheckState::Success,
        "title": title, "summary": "fine"}))
    .expect("a check")
}

/// Reads the checks of a note, and writes one to it. What is written is read back, and nothing changes when it is written
/// again.
pub fn note(text: &str) {
    let _ = read(text);
    let written = rewrite(Some(text), &check("done"));
    assert!(read(&written).contains(&check("done")), "{written:?}");
    assert_eq!(rewrite(Some(&written), &check("done")), written);
}

/// Writes a check, and another in its place.
pub fn rewritten_twice(old: Option<&str>) -> String {
    let written = rewrite(old, &check("pending"));
    rewrite(Some(&written), &check("done"))
}
