//! Objects of a server, brought into a local repository.
//!
//! In: which objects are wanted, and which we have. Out: one pack, written when it is complete; what
//! is cut leaves nothing behind. Everything that we might have in common is named at once, so that a
//! fetch is one request however far we are behind: at worst the server sends what we have.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use git2::{ErrorClass, Oid, Repository};

use super::advertisement::Advertisement;
use super::fault::Fault;
use super::packet::{Band, Packet, Packets, packet};
use crate::adapters::git::Error;
use crate::adapters::git::commit_object::{CommitObject, Peeled, peel};
use crate::adapters::git::graph::Graph;

/// How many commits are named as ours: enough for refs that were rewritten, few enough that the answer
/// to them fits the buffers of a pipe, which nobody reads before all are named.
const MOST_HAVES: usize = 256;

/// The most packets before the pack. A server answers a commit that we named with at most `common` and
/// `ready`.
const MOST_ANSWERS: usize = 4 * MOST_HAVES;

/// The capabilities that are used if the server has them. `multi_ack_detailed` is not needed, but Azure
/// DevOps insists on it.
const CAPABILITIES: &[&str] = &[
    "multi_ack_detailed",
    "side-band-64k",
    "thin-pack",
    "ofs-delta",
    "no-progress",
];

/// The request for `wants`, of which there must be one.
pub(super) fn request(
    advertisement: &Advertisement,
    wants: &BTreeSet<Oid>,
    haves: &[Oid],
) -> Result<Vec<u8>, Fault> {
    if !advertisement.has("side-band-64k") {
        let cause = "it does not support side-band-64k, which every git since 2006 does";
        return Err(Fault::Malformed(cause.to_owned()));
    }
    let mut text = String::new();
    let mut capabilities = format!(" {}", advertisement.common(CAPABILITIES));
    for want in wants {
        text += &packet(&format!("want {want}{capabilities}\n"));
        capabilities.clear();
    }
    text += "0000";
    for have in haves {
        text += &packet(&format!("have {have}\n"));
    }
    text += &packet("done\n");
    Ok(text.into_bytes())
}

/// Commits that the server may have too: `first`, which it had before, then the newest that any ref of
/// the repository leads to.
pub(in crate::adapters::git) fn haves(
    repository: &Repository,
    first: &BTreeSet<Oid>,
) -> Result<Vec<Oid>, git2::Error> {
    let (graph, odb) = (Graph::of(repository)?, repository.odb()?);
    let is_commit = |id: &Oid| matches!(CommitObject::read(&odb, *id), Ok(Some(_)));
    let mut haves: Vec<Oid> = first
        .iter()
        .copied()
        .filter(is_commit)
        .take(MOST_HAVES / 2)
        .collect();
    let mut tips = Vec::new();
    for reference in repository.references()? {
        let target = reference?.target();
        if let Some(Ok(Peeled::Commit(commit))) = target.map(|id| peel(&odb, id)) {
            tips.push(commit.id);
        }
    }
    let newest = graph.newest(&tips, 2 * MOST_HAVES)?.into_iter();
    haves.extend(newest.filter(|id| !first.contains(id)));
    haves.truncate(MOST_HAVES);
    Ok(haves)
}

/// Reads the answer into the repository. More than `limit` bytes are refused.
pub(super) async fn receive(
    packets: &mut Packets,
    repository: &Repository,
    limit: u64,
) -> Result<(), Fault> {
    acknowledged(packets).await?;
    let damaged = |cause| Error::damaged(repository, &cause);
    let failed = |cause| pack_fault(repository, &cause);
    let odb = repository.odb().map_err(damaged)?;
    // Nothing of the pack has been read: whatever fails here is of this machine.
    let mut pack = odb
        .packwriter()
        .map_err(|cause| unwritable(repository, &cause))?;
    stream(packets, limit, |bytes| {
        // The writer's own error is always "Write error".
        let written = pack.write_all(bytes);
        written.map_err(|_| failed(git2::Error::last_error(-1)))
    })
    .await?;
    pack.commit().map_err(failed)?;
    Ok(())
}

/// Writes the pack of the answer to a file as it is. More than `limit` bytes are refused.
pub(super) async fn save(packets: &mut Packets, file: &Path, limit: u64) -> Result<(), Fault> {
    acknowledged(packets).await?;
    let disk = |cause: std::io::Error| Fault::Known(Error::disk(file, &cause));
    let mut pack = File::create(file).map_err(disk)?;
    stream(packets, limit, |bytes| pack.write_all(bytes).map_err(disk)).await
}

/// Hands on the bytes of a pack as they arrive.
async fn stream(
    packets: &mut Packets,
    limit: u64,
    mut take: impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut size = 0;
    loop {
        match packets.band().await? {
            Band::Data(bytes) => {
                size += bytes.len() as u64;
                if size > limit {
                    return Err(Fault::TooLarge(limit));
                }
                take(&bytes)?;
            }
            Band::Progress(text) => tracing::debug!(text, "the server of the repository says"),
            Band::End if size == 0 => return Err(Fault::Cut),
            Band::End => return Ok(()),
        }
    }
}

/// Whose fault it is that a pack was not taken. libgit2 gives a pack that is invalid the class of our own
/// objects (`Odb`), so that class does not mean that they are damaged.
fn pack_fault(repository: &Repository, cause: &git2::Error) -> Fault {
    match cause.class() {
        ErrorClass::Os | ErrorClass::Filesystem => unwritable(repository, cause).into(),
        _ => Fault::Pack(cause.message().to_owned()),
    }
}

fn unwritable(repository: &Repository, cause: &git2::Error) -> Error {
    Error::Disk {
        path: repository.path().to_owned(),
        cause: cause.message().to_owned(),
    }
}

/// Reads what the server has in common with us, up to the pack.
async fn acknowledged(packets: &mut Packets) -> Result<(), Fault> {
    for _ in 0..MOST_ANSWERS {
        let payload = match packets.next().await? {
            Packet::Data(payload) => payload,
            Packet::Flush => continue,
            Packet::End => return Err(Fault::Cut),
        };
        let text = String::from_utf8_lossy(&payload);
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["NAK"] | ["ACK", _] => return Ok(()),
            ["ACK", _, _] => {}
            _ => return Err(Fault::malformed(&payload)),
        }
    }
    let cause = format!("it sent {MOST_ANSWERS} packets and no pack");
    Err(Fault::Malformed(cause))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::FutureExt as _;

    use super::super::advertisement;
    use super::super::body::Body;
    use super::*;
    use crate::adapters::git::fixture::Origin;

    fn advertised(capabilities: &str) -> Advertisement {
        let text = packet(&format!("{} HEAD\0{capabilities}", "a".repeat(40)));
        let mut packets = Packets::new(Body::of(format!("{text}0000").as_bytes(), 99));
        let read = advertisement::read(&mut packets, None).now_or_never();
        read.unwrap().unwrap()
    }

    #[test]
    fn a_request_names_everything_at_once() {
        let id = |digit: &str| Oid::from_str(&digit.repeat(40)).unwrap();
        let wants = [id("a"), id("b")].into();
        let text = request(
            &advertised("side-band-64k ofs-delta filter"),
            &wants,
            &[id("c")],
        );
        let text = String::from_utf8(text.unwrap()).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let lines: Vec<&str> = text.lines().filter_map(|line| line.get(4..)).collect();
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let first = format!("want {a} side-band-64k ofs-delta agent=capstan/{version}");
        assert_eq!(
            lines,
            [
                first,
                format!("want {b}"),
                format!("0032have {c}"),
                "done".to_owned()
            ]
        );
        assert!(request(&advertised("ofs-delta"), &wants, &[]).is_err());
    }

    #[test]
    fn what_the_server_had_before_is_named_first_and_then_the_newest() {
        let origin = Origin::new();
        let mut ids: Vec<Oid> = Vec::new();
        for at in 0..300 {
            let parent = ids.last().copied();
            ids.push(origin.commit(&[(b"a", 0o100_644, format!("{at}").as_bytes())], parent));
        }
        origin.point("refs/heads/main", *ids.last().unwrap());
        let found = haves(&origin.repository, &[ids[0], Oid::ZERO_SHA1].into()).unwrap();
        assert_eq!((found.len(), found[0]), (MOST_HAVES, ids[0]));
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), MOST_HAVES);
    }

    fn received_into(origin: &Origin, text: &[u8], limit: u64) -> Result<(), Fault> {
        let mut packets = Packets::new(Body::of(text, 1_000));
        let received = receive(&mut packets, &origin.repository, limit);
        received.now_or_never().unwrap()
    }

    #[test]
    fn a_pack_that_cannot_be_stored_is_no_fault_of_the_connection() {
        let origin = Origin::new();
        // libgit2 looks for the directory of packs once.
        origin.repository.odb().unwrap();
        let dir = origin.repository.path().join("objects/pack");
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::write(&dir, "in the way").unwrap();
        let data = packet(&format!("\u{1}{}", "PACK".repeat(100)));
        let text = format!("{}{data}0000", packet("NAK\n"));
        let received = received_into(&origin, text.as_bytes(), 9_999);
        let is_disk = matches!(received, Err(Fault::Known(Error::Disk { .. })));
        assert!(is_disk, "{received:?}");
    }

    #[test]
    fn the_errors_of_the_disk_and_of_the_pack_are_told_apart() {
        let origin = Origin::new();
        let fault = |class| {
            let code = git2::ErrorCode::GenericError;
            let cause = git2::Error::new(code, class, "No space left on device");
            pack_fault(&origin.repository, &cause).at("https://h/r")
        };
        let disk = fault(ErrorClass::Os);
        assert!(matches!(&disk, Error::Disk { .. }), "{disk}");
        assert!(disk.to_string().contains("No space left"), "{disk}");
        for class in [ErrorClass::Odb, ErrorClass::Indexer, ErrorClass::Zlib] {
            let pack = fault(class);
            assert!(matches!(pack, Error::Pack { .. }), "{pack}");
        }
    }

    #[test]
    fn a_pack_that_is_none_is_refused_with_the_reason() {
        let data = packet(&format!("\u{1}{}", "ABCD".repeat(100)));
        let text = format!("{}{data}0000", packet("NAK\n"));
        let (received, _) = received(text.as_bytes(), 9_999);
        let is_said = matches!(&received, Err(Fault::Pack(cause)) if cause.contains("signature"));
        assert!(is_said, "{received:?}");
    }

    /// What comes of this answer.
    fn received(text: &[u8], limit: u64) -> (Result<(), Fault>, usize) {
        let origin = Origin::new();
        let received = received_into(&origin, text, limit);
        let pack = origin.repository.path().join("objects/pack");
        (received, std::fs::read_dir(pack).unwrap().count())
    }

    #[test]
    fn a_pack_is_saved_as_it_is_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("0.pack");
        let data = packet(&format!("\u{1}{}", "ABCD".repeat(100)));
        let text = format!("{}{data}0000", packet("NAK\n"));
        let saved = |limit| {
            let mut packets = Packets::new(Body::of(text.as_bytes(), 7));
            save(&mut packets, &file, limit).now_or_never().unwrap()
        };
        saved(400).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), "ABCD".repeat(100).as_bytes());
        assert!(matches!(saved(399), Err(Fault::TooLarge(399))));
    }

    #[test]
    fn packets_without_end_before_the_pack_are_refused() {
        let ack = packet(&format!("ACK {} common\n", "a".repeat(40)));
        for endless in ["0000", &ack] {
            let text = endless.repeat(MOST_ANSWERS + 1);
            let (received, _) = received(text.as_bytes(), 9_999);
            let is_refused =
                matches!(&received, Err(Fault::Malformed(cause)) if cause.contains("no pack"));
            assert!(is_refused, "{received:?}");
        }
    }

    #[test]
    fn what_is_cut_too_large_or_damaged_leaves_nothing() {
        let ack = packet(&format!("ACK {} common\n", "a".repeat(40)));
        let data = packet(&format!("\u{1}{}", "PACK".repeat(100)));
        for (text, limit) in [
            (String::new(), 9_999),
            (ack.clone(), 9_999),
            (format!("{ack}{}", packet("NAK\n")), 9_999),
            (format!("{}{data}", packet("NAK\n")), 9_999),
            (format!("{}{data}0000", packet("NAK\n")), 9_999),
            (format!("{}{data}0000", packet("NAK\n")), 100),
            (format!("{}0000", packet("hello\n")), 9_999),
        ] {
            let (received, files) = received(text.as_bytes(), limit);
            assert!(received.is_err(), "{text}");
            assert_eq!(files, 0, "{text}");
        }
    }
}
