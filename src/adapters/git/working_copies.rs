//! The working copies of a repository on this machine, whose branches a push must not move away.
//!
//! In: a repository and the change of one of its refs. Out: what git itself would object
//! (`receive.denyCurrentBranch` and the like). It does not know how the change is made.

use std::fs;
use std::path::PathBuf;

use git2::{Oid, Repository};

use super::hooks::Change;

/// Asks whether the change leaves the working copies as they are; else the objection.
pub(super) fn ask(to: &Repository, change: Change<'_>) -> Result<(), String> {
    if change.new.is_none() {
        return ask_to_delete(to, change);
    }
    let is_allowed = matches!(
        setting(to, "receive.denyCurrentBranch").as_str(),
        "ignore" | "warn" | "false" | "no" | "off" | "0"
    );
    match is_allowed || is_same(change) || !is_checked_out(to, change.reference) {
        true => Ok(()),
        false => Err(
            "it is checked out in a working copy, whose files would not change; push to a bare repository".to_owned(),
        ),
    }
}

fn ask_to_delete(to: &Repository, change: Change<'_>) -> Result<(), String> {
    let is_denied = to
        .config()
        .and_then(|all| all.get_bool("receive.denyDeletes"));
    if is_denied.unwrap_or_default() {
        return Err("it does not let refs be deleted (receive.denyDeletes)".to_owned());
    }
    let head = to.commondir().join("HEAD");
    match leads_to(head, change.reference) || is_checked_out(to, change.reference) {
        true => Err("it is the current branch".to_owned()),
        false => Ok(()),
    }
}

fn is_same(change: Change<'_>) -> bool {
    change.old.unwrap_or(Oid::ZERO_SHA1) == change.new.unwrap_or(Oid::ZERO_SHA1)
}

fn setting(to: &Repository, name: &str) -> String {
    let value = to.config().and_then(|all| all.get_string(name));
    value.unwrap_or_default().to_lowercase()
}

/// Whether the working copy of the repository, or one that is linked to it, has the branch.
fn is_checked_out(to: &Repository, reference: &str) -> bool {
    let (common, linked) = (to.commondir(), to.commondir().join("worktrees"));
    let own = (!to.is_bare()).then(|| common.join("HEAD"));
    let linked = fs::read_dir(linked).into_iter().flatten().flatten();
    let heads = linked.map(|entry| entry.path().join("HEAD"));
    own.into_iter()
        .chain(heads)
        .any(|head| leads_to(head, reference))
}

/// Whether a file HEAD names the ref.
fn leads_to(head: PathBuf, reference: &str) -> bool {
    let text = fs::read_to_string(head).unwrap_or_default();
    text.strip_prefix("ref:").map(str::trim) == Some(reference)
}
