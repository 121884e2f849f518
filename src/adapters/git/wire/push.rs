//! One ref of a server moved to an object of ours, with the objects that it lacks.
//!
//! In: the change. Out: the request, and what the server says about it. The server compares the old
//! value under its lock, so that no other writer is overwritten.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Buf, Odb, Oid, Repository};

use super::advertisement::Advertisement;
use super::fault::Fault;
use super::packet::{Band, Packets, packet};
use super::text::line;
use crate::adapters::git::commit_object::CommitObject;
use crate::adapters::git::hooks::Change;
use crate::adapters::git::local_copy::Reach;
use crate::adapters::git::tree_object::{TreeEntry, TreeObject, is_tree};

const CAPABILITIES: &[&str] = &["report-status", "side-band-64k"];

/// The most bytes of a report that are taken, and of what the server prints beside it. A report on one ref
/// has a few lines.
const LIMIT: usize = 1 << 20;

/// What the server says about a change.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::adapters::git) enum Report {
    Done,
    /// Somebody else moved the ref first.
    Moved,
    /// It is not allowed.
    Refused(String),
}

/// The request for `change`; `None` if it makes a ref on top of a commit to which no ref of the server leads any more: all
/// of its history would have to be sent.
pub(super) fn request(
    advertisement: &Advertisement,
    from: &Repository,
    change: Change<'_>,
) -> Result<Option<Vec<u8>>, Fault> {
    if !advertisement.has("report-status") || !advertisement.has("side-band-64k") {
        let cause = "it does not report whether a push succeeded (report-status)";
        return Err(Fault::Malformed(cause.to_owned()));
    }
    let (old, new) = (
        change.old.unwrap_or(Oid::ZERO_SHA1),
        change.new.unwrap_or(Oid::ZERO_SHA1),
    );
    let command = format!(
        "{old} {new} {}\0 {}\n",
        change.reference,
        advertisement.common(CAPABILITIES)
    );
    let mut request = format!("{}0000", packet(&command)).into_bytes();
    // Nothing follows a request that only deletes.
    if let Some(new) = change.new {
        let there = advertisement.refs.values().copied().collect();
        let pack = pack(from, new, change.old, &there);
        match pack.map_err(|cause| Fault::Known(damaged(from, &cause)))? {
            Some(pack) => request.extend_from_slice(&pack),
            None => return Ok(None),
        }
    }
    Ok(Some(request))
}

fn damaged(repository: &Repository, cause: &git2::Error) -> crate::adapters::git::Error {
    crate::adapters::git::Error::damaged(repository, cause)
}

/// What `new` leads to and its base does not: that is `old`, to which it is equal or whose child it is; for a new ref,
/// those of its parents that are `there`. `None` if it has parents, and none is.
fn pack(
    from: &Repository,
    new: Oid,
    old: Option<Oid>,
    there: &BTreeSet<Oid>,
) -> Result<Option<Buf>, git2::Error> {
    let (mut pack, mut bytes, odb) = (from.packbuilder()?, Buf::new(), from.odb()?);
    let commit = CommitObject::read(&odb, new)?;
    let parents = commit.iter().flat_map(|commit| &commit.parents).copied();
    let mut known: BTreeSet<Oid> = match old {
        Some(old) => [old].into(),
        None => parents.clone().filter(|id| there.contains(id)).collect(),
    };
    if known.is_empty() && parents.count() > 0 {
        return Ok(None);
    }
    for base in known.clone() {
        let base = CommitObject::read(&odb, base)?;
        if let Some((new, base)) = commit.as_ref().zip(base) {
            know(&odb, new.tree, base.tree, &mut known)?;
        }
    }
    let mut reach = Reach::of(from)?;
    reach.insert(&mut pack, [new], |id| known.contains(&id))?;
    pack.write_buf(&mut bytes)?;
    Ok(Some(bytes))
}

/// Adds to `known` what two directories have in common under the same names.
fn know(odb: &Odb<'_>, new: Oid, old: Oid, known: &mut BTreeSet<Oid>) -> Result<(), git2::Error> {
    known.insert(old);
    if new == old {
        return Ok(());
    }
    let (Ok(new), Ok(old)) = (TreeObject::read(odb, new)?, TreeObject::read(odb, old)?) else {
        return Ok(());
    };
    let before: BTreeMap<&[u8], TreeEntry<'_>> =
        old.entries().map(|entry| (entry.name, entry)).collect();
    for entry in new.entries() {
        match before.get(entry.name) {
            Some(old) if is_tree(entry.mode) && is_tree(old.mode) => {
                know(odb, entry.id, old.id, known)?;
            }
            Some(old) => drop(known.insert(old.id)),
            None => {}
        }
    }
    Ok(())
}

/// Reads what the server says. Its report is in the first channel, in packets of its own.
pub(super) async fn receive(packets: &mut Packets) -> Result<Report, Fault> {
    let (mut report, mut words, mut printed) = (Vec::new(), Vec::new(), 0);
    loop {
        match packets.band().await? {
            Band::Data(bytes) if report.len() + bytes.len() > LIMIT => {
                let cause = format!("its report on a push has more than {LIMIT} bytes");
                return Err(Fault::Malformed(cause));
            }
            Band::Data(bytes) => report.extend(bytes),
            Band::Progress(text) if text.is_empty() || printed + text.len() > LIMIT => {}
            Band::Progress(text) => {
                printed += text.len();
                words.push(text);
            }
            Band::End => break,
        }
    }
    if report.is_empty() {
        return Err(Fault::Cut);
    }
    judge(&String::from_utf8_lossy(&report), &words)
}

/// `unpack ok`, then `ok <ref>` or `ng <ref> <reason>`.
fn judge(report: &str, words: &[String]) -> Result<Report, Fault> {
    let (mut rest, mut lines) = (report, Vec::new());
    while let Some((digits, after)) = rest.split_at_checked(4) {
        let length = usize::from_str_radix(digits, 16).ok();
        let length = length.ok_or_else(|| Fault::malformed(rest.as_bytes()))?;
        let end = length.saturating_sub(4);
        let (payload, after) = after.split_at_checked(end).ok_or(Fault::Cut)?;
        lines.push(payload.trim_end());
        rest = after;
    }
    let unpack = lines.iter().find_map(|line| line.strip_prefix("unpack "));
    let reason = lines.iter().find_map(|line| line.strip_prefix("ng "));
    let reason = reason.and_then(|line| Some(line.split_once(' ')?.1));
    match (unpack, reason) {
        (Some("ok"), None) if lines.iter().any(|line| line.starts_with("ok ")) => Ok(Report::Done),
        (Some("ok") | None, Some(reason)) if is_moved(reason) => Ok(Report::Moved),
        (_, Some(reason)) => Ok(Report::Refused(explained(reason, words))),
        (Some(cause), None) => Err(Fault::Connection(format!(
            "it cannot unpack: {}",
            line(cause.as_bytes())
        ))),
        (None, None) => Err(Fault::Cut),
    }
}

/// How git, Gitea, GitLab and JGit (Bitbucket, Gerrit) say that a ref has changed since it was read.
fn is_moved(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    [
        "failed to update ref",
        "incorrect old value",
        "cannot lock ref",
        "reference already exists",
        "fetch first",
        "non-fast-forward",
        "stale info",
        "lock error",
        "transaction aborted",
    ]
    .iter()
    .any(|words| reason.contains(words))
}

/// The reason, and what the server's hooks printed.
fn explained(reason: &str, words: &[String]) -> String {
    let text = match words.is_empty() {
        true => reason.to_owned(),
        false => format!("{reason}: {}", words.join(" ")),
    };
    line(text.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::FutureExt as _;

    use super::super::body::Body;
    use super::*;
    use crate::adapters::git::fixture::Origin;

    /// What comes of an answer of these packets.
    fn received(packets: impl Iterator<Item = String>) -> Result<Report, Fault> {
        let text: String = packets.collect();
        let mut packets = Packets::new(Body::of(text.as_bytes(), 60_000));
        receive(&mut packets).now_or_never().unwrap()
    }

    #[test]
    fn a_report_without_end_is_refused_and_words_without_end_are_dropped() {
        let part = packet(&format!("\u{1}{}", "0".repeat(60_000)));
        let endless = received(std::iter::repeat_n(part, 20));
        assert!(matches!(endless, Err(Fault::Malformed(_))), "{endless:?}");
        let words = std::iter::repeat_n(packet(&format!("\u{2}{}", "w".repeat(300))), 4_000);
        let done = packet(&format!("\u{1}{}", report(&["unpack ok", "ok refs/x"])));
        let talkative = received(words.chain([done]));
        assert_eq!(talkative.unwrap(), Report::Done);
    }

    fn report(lines: &[&str]) -> String {
        let lines: String = lines
            .iter()
            .map(|line| packet(&format!("{line}\n")))
            .collect();
        format!("{lines}0000")
    }

    #[test]
    fn the_report_of_a_server_is_understood() {
        let words = ["notes are".to_owned(), "protected".to_owned()];
        let refused = |text: &str| Report::Refused(text.to_owned());
        for (lines, expected) in [
            (&["unpack ok", "ok refs/x"][..], Report::Done),
            (
                &["unpack ok", "ng refs/x failed to update ref"],
                Report::Moved,
            ),
            (
                &["unpack ok", "ng refs/x cannot lock ref 'refs/x'"],
                Report::Moved,
            ),
            (
                &["unpack ok", "ng refs/x pre-receive hook declined"],
                refused("pre-receive hook declined: notes are protected"),
            ),
            (
                &["unpack index-pack failed", "ng refs/x unpacker error"],
                refused("unpacker error: notes are protected"),
            ),
        ] {
            assert_eq!(
                judge(&report(lines), &words).unwrap(),
                expected,
                "{lines:?}"
            );
        }
        for text in ["", "0000", "zzzz", "000eunpac", &report(&["unpack ok"])] {
            assert!(judge(text, &[]).is_err(), "{text}");
        }
        // Nothing in it may panic, not even a cut through a character.
        assert!(judge("0006é", &[]).is_err());
    }

    #[test]
    fn only_what_the_server_lacks_is_sent() {
        let origin = Origin::new();
        let old = Oid::from_str(&origin.push("main", &[("a", "1"), ("b", "2")])).unwrap();
        let new = Oid::from_str(&origin.push("main", &[("a", "1"), ("b", "3")])).unwrap();
        let count = |new, old, there: &[Oid]| {
            let there = there.iter().copied().collect();
            let pack = pack(&origin.repository, new, old, &there).unwrap();
            pack.map(|pack| u32::from_be_bytes(pack[8..12].try_into().unwrap()))
        };
        assert_eq!(count(new, Some(old), &[old]), Some(3));
        assert_eq!(count(new, Some(new), &[new]), Some(0));
        // A new ref: with what it is based on, without that, and on nothing.
        assert_eq!(count(new, None, &[old]), Some(3));
        assert_eq!(count(new, None, &[]), None);
        assert_eq!(count(old, None, &[]), Some(4));
    }
}
