//! One pack in place of many: every fetch adds a pack, and every note some loose objects.
//!
//! In: the repository of a mirror. Out: a pack of all that its refs lead to, and then the files that it takes the
//! place of, which are removed while nobody reads. A process killed at any moment leaves more files than it needs,
//! never fewer. Objects that no ref leads to any more, as after a forced push, go away; those that a ref led to before
//! the last fetch go the next time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode, Oid, Repository};

use crate::adapters::git::Error;
use crate::adapters::git::local_copy::Reach;

/// How many packs are too many, as for git (`gc.autoPackLimit`).
pub(super) const PACKS: usize = 50;
/// How many loose objects are too many, as for git (`gc.auto`).
const LOOSE: usize = 6_700;

/// The files that hold the objects of a repository.
pub(super) struct Clutter {
    /// All files of packs.
    packs: Vec<PathBuf>,
    loose: Vec<PathBuf>,
}

impl Clutter {
    pub(super) fn of(repository: &Repository) -> io::Result<Self> {
        let objects = repository.path().join("objects");
        let mut loose = Vec::new();
        for directory in entries(&objects)? {
            if name(&directory).len() == 2 && directory.is_dir() {
                loose.extend(entries(&directory)?);
            }
        }
        Ok(Self {
            packs: entries(&objects.join("pack"))?,
            loose,
        })
    }

    pub(super) fn is_much(&self) -> bool {
        let packs = self
            .packs
            .iter()
            .filter(|file| file.extension() == Some(OsStr::new("pack")));
        packs.count() > PACKS || self.loose.len() > LOOSE
    }

    /// Removes the files, but for those of the pack `keep`. The index goes first: a pack is found by it.
    pub(super) fn remove(self, keep: &str) -> io::Result<()> {
        let is_index = |file: &&PathBuf| file.extension() == Some(OsStr::new("idx"));
        let others = self.packs.iter().filter(|file| !name(file).contains(keep));
        let (indexes, packs): (Vec<_>, Vec<_>) = others.partition(is_index);
        for file in indexes.into_iter().chain(packs).chain(&self.loose) {
            match fs::remove_file(file) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Writes a pack of all that the refs and `others` lead to; returns its name.
pub(super) fn pack(
    repository: &Repository,
    others: impl IntoIterator<Item = Oid>,
) -> Result<String, git2::Error> {
    let mut builder = repository.packbuilder()?;
    let mut tips: Vec<Oid> = others.into_iter().collect();
    for reference in repository.references()? {
        tips.extend(reference?.target());
    }
    // Without a walk of libgit2, which ends at a commit that it cannot parse.
    Reach::of(repository)?.insert(&mut builder, tips, |_| false)?;
    let directory = repository.path().join("objects/pack");
    builder.write(&directory, 0)?;
    let name = builder.name()?.unwrap_or_default().to_owned();
    if name.is_empty() || builder.written() != builder.object_count() {
        return Err(broken("the pack is not complete"));
    }
    for ending in ["pack", "idx"] {
        let file = directory.join(format!("pack-{name}.{ending}"));
        let synced = File::open(&file).and_then(|file| file.sync_all());
        synced.map_err(|cause| broken(&format!("{}: {cause}", file.display())))?;
    }
    Ok(name)
}

fn broken(message: &str) -> git2::Error {
    git2::Error::new(ErrorCode::GenericError, ErrorClass::Os, message)
}

/// Why no pack could be written. Only what cannot be read is damage: to copy everything anew onto a full disk makes it
/// no better.
pub(super) fn fault(repository: &Repository, cause: &git2::Error) -> Error {
    let is_unreadable = matches!(
        cause.code(),
        ErrorCode::NotFound | ErrorCode::HashsumMismatch
    ) || matches!(
        cause.class(),
        ErrorClass::Odb
            | ErrorClass::Zlib
            | ErrorClass::Object
            | ErrorClass::Tree
            | ErrorClass::Tag
            | ErrorClass::Reference
    );
    match is_unreadable {
        true => Error::damaged(repository, cause),
        false => Error::Disk {
            path: repository.path().to_owned(),
            cause: cause.message().to_owned(),
        },
    }
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect()
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::adapters::git::fixture::{Copied, Origin};

    /// How many files hold objects, and their size.
    fn files(mirror: &Copied) -> (usize, u64) {
        let repository = mirror.dir.path().join("repository.git");
        let clutter = Clutter::of(&Repository::open_bare(repository).unwrap()).unwrap();
        let all = clutter.packs.iter().chain(&clutter.loose);
        let sizes: Vec<u64> = all.map(|file| fs::metadata(file).unwrap().len()).collect();
        (sizes.len(), sizes.iter().sum())
    }

    /// Says so when it is dropped.
    struct Done<'d>(&'d AtomicBool);

    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_a_forced_push_takes_away_stays_until_the_next_compaction() {
        let origin = Origin::new();
        let old = origin.push("main", &[("a.yaml", "1")]);
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let compacted = |text: &str| {
            let repository = mirror.dir.path().join("repository.git");
            let packs = repository.join("objects/pack");
            for at in 0..=PACKS {
                fs::write(packs.join(format!("{at}.pack")), "").unwrap();
            }
            origin.delete("refs/heads/main");
            let new = origin.push("main", &[("a.yaml", text)]);
            mirror.fetch().unwrap();
            assert!(!packs.join("0.pack").exists());
            new
        };
        let new = compacted("2");
        assert_eq!(&*mirror.tree(&old, "").unwrap().files["a.yaml"], b"1");
        let newest = compacted("3");
        assert!(mirror.commit(&old).is_err());
        assert!(mirror.commit(&new).is_ok() && mirror.commit(&newest).is_ok());
    }

    #[test]
    fn a_full_disk_is_no_damage() {
        let origin = Origin::new();
        let of = |code: ErrorCode, class: ErrorClass| {
            let cause = git2::Error::new(code, class, "no");
            matches!(fault(&origin.repository, &cause), Error::Damaged { .. })
        };
        assert!(!of(ErrorCode::GenericError, ErrorClass::Os));
        assert!(!of(ErrorCode::GenericError, ErrorClass::Filesystem));
        assert!(of(ErrorCode::GenericError, ErrorClass::Zlib));
        assert!(of(ErrorCode::NotFound, ErrorClass::Odb));
        let lost = Oid::from_bytes(&[7; 20]).unwrap();
        let cause = pack(&origin.repository, [lost]).unwrap_err();
        let error = fault(&origin.repository, &cause);
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }

    #[test]
    fn many_fetches_leave_one_pack_of_what_is_reachable_while_others_read() {
        let origin = Origin::new();
        let text: Vec<String> = (0..50).map(|at| format!("a: {at}\n")).collect();
        let paths: Vec<String> = (0..50).map(|at| format!("{at}.yaml")).collect();
        let files_of = |change: usize| -> Vec<(&str, String)> {
            let pairs = paths.iter().zip(&text).enumerate();
            pairs
                .map(|(at, (path, text))| match at == change % 50 {
                    true => (path.as_str(), format!("{text}b: {change}\n")),
                    false => (path.as_str(), text.clone()),
                })
                .collect()
        };
        let push = |branch: &str, change: usize| {
            let files = files_of(change);
            let files: Vec<_> = files
                .iter()
                .map(|(path, text)| (*path, text.as_str()))
                .collect();
            origin.push(branch, &files)
        };
        let mirror = origin.mirror(&[]);
        let first = push("main", 0);
        mirror.fetch().unwrap();
        let gone = push("gone", 1_000);
        mirror.fetch().unwrap();
        origin.delete("refs/heads/gone");
        let done = AtomicBool::new(false);
        let mut most = (0, 0);
        std::thread::scope(|scope| {
            // Also when a line below panics: the scope waits for the reader.
            let end = Done(&done);
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(mirror.tree(&first, "").unwrap().files.len(), 50);
                    reads += 1;
                }
                reads
            });
            for change in 1..=2 * PACKS {
                push("main", change);
                mirror.fetch().unwrap();
                most = most.max(files(&mirror));
            }
            drop(end);
            assert!(reader.join().unwrap() > 0);
        });
        let (left, size) = files(&mirror);
        assert!(left < most.0 / 2 && size < most.1, "{most:?} {left} {size}");
        assert!(mirror.commit(&gone).is_err(), "nothing leads there");
        let head = mirror.resolve(&crate::adapters::git::Ref::Head).unwrap();
        assert_eq!(mirror.log(None, &head, 999).unwrap().len(), 2 * PACKS + 1);
        // The other side finds nothing missing.
        let repository = Repository::open_bare(mirror.dir.path().join("repository.git")).unwrap();
        let mut walk = repository.revwalk().unwrap();
        walk.push(Oid::from_str(&head).unwrap()).unwrap();
        for id in walk {
            let tree = repository.find_commit(id.unwrap()).unwrap().tree().unwrap();
            assert!(
                tree.iter()
                    .all(|entry| repository.find_blob(entry.id()).is_ok())
            );
        }
    }
}
