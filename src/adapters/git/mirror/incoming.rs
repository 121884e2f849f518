//! Packs that a server sent and nobody has opened.
//!
//! In: objects of a server. Out: files, complete ones alone. It does not know what is in them: to find that out costs
//! memory and time that whoever made the objects decides.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use git2::Oid;

use super::home::remove;
use crate::adapters::git::Error;
use crate::adapters::git::wire::{Server, Service};

/// Where they are, in the directory of a mirror.
const INCOMING: &str = "incoming";
/// The most bytes of one pack: 64 MiB.
const LIMIT: u64 = 64 << 20;

/// The number of the next pack of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The directory of such packs.
pub(super) struct Incoming {
    directory: PathBuf,
}

impl Incoming {
    /// That of the mirror in `directory`.
    pub(super) fn open(directory: &Path) -> Result<Self, Error> {
        let directory = directory.join(INCOMING);
        fs::create_dir_all(&directory).map_err(|cause| Error::disk(&directory, &cause))?;
        Ok(Self { directory })
    }

    /// Forgets what an earlier process left.
    pub(super) fn clear(directory: &Path) -> Result<(), Error> {
        remove(&directory.join(INCOMING))
    }

    /// Brings all of `wanted` in one pack. If that fails, each by itself.
    pub(super) fn bring(
        &self,
        server: &Server,
        wanted: &[(String, String)],
        haves: &[Oid],
    ) -> Result<Vec<PathBuf>, Error> {
        let together = self.pack(server, wanted, haves);
        let error = match together {
            Ok(pack) => return Ok(vec![pack]),
            Err(error) if wanted.len() < 2 => return Err(error),
            Err(error) => error,
        };
        let mut packs = Vec::new();
        for one in wanted {
            match self.pack(server, std::slice::from_ref(one), haves) {
                Ok(pack) => packs.push(pack),
                Err(error) => {
                    tracing::warn!(reference = %one.0.escape_debug(), %error, "cannot fetch this ref")
                }
            }
        }
        match packs.is_empty() {
            true => Err(error),
            false => Ok(packs),
        }
    }

    fn pack(
        &self,
        server: &Server,
        wanted: &[(String, String)],
        haves: &[Oid],
    ) -> Result<PathBuf, Error> {
        let ids = wanted.iter().map(|(name, id)| {
            Oid::from_str(id).map_err(|_| Error::NoSuchRevision {
                wanted: format!("object {id} of {name}"),
                place: server.shown().to_owned(),
                instead: String::new(),
            })
        });
        let ids = ids.collect::<Result<_, _>>()?;
        let name = format!("{}.pack", NEXT.fetch_add(1, Ordering::Relaxed));
        let (pack, part) = (
            self.directory.join(&name),
            self.directory.join(format!("{name}.part")),
        );
        let saved = server
            .open(Service::UploadPack)
            .and_then(|mut session| session.save(&ids, haves, &part, LIMIT));
        let saved = saved
            .and_then(|()| fs::rename(&part, &pack).map_err(|cause| Error::disk(&pack, &cause)));
        if saved.is_err() {
            drop(fs::remove_file(&part));
        }
        saved.map(|()| pack)
    }
}
