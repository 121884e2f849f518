//! The bytes of the files of a directory, as they were read last.
//!
//! In: paths of files. Out: their bytes. A file is read again only if its size, device, inode or one of its times changed. The clocks
//! of file systems advance in steps: a file that changed just before it was read may change again without another time, so it is
//! always read again. It does not know which files a fleet has.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::model::{Problem, Tree};

/// The age of a file's last change from which its times tell of the next one. The longest step of a file system's clock is that
/// of FAT, two seconds.
const CERTAIN: Duration = Duration::from_secs(3);

/// Files that were read.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The files of the previous look.
    before: HashMap<PathBuf, Content>,
    /// Those of this look.
    now: HashMap<PathBuf, Content>,
    /// The time at which this look began.
    begun: Timestamp,
    #[cfg(test)]
    pub(super) reads: usize,
}

#[derive(Debug)]
struct Content {
    /// `None` if the file may have changed without another stamp.
    stamp: Option<Stamp>,
    bytes: Arc<[u8]>,
}

/// The metadata of a file that changes with its bytes.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    device: u64,
    inode: u64,
    /// The times of the last change of its bytes, and of its metadata: seconds and nanoseconds.
    times: [(i64, i64); 2],
}

impl Stamp {
    fn new(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            device: metadata.dev(),
            inode: metadata.ino(),
            times: [
                (metadata.mtime(), metadata.mtime_nsec()),
                (metadata.ctime(), metadata.ctime_nsec()),
            ],
        }
    }

    /// Returns true if a later change of the file has another stamp.
    fn is_certain(&self, now: Timestamp) -> bool {
        let certain = now.as_second() - CERTAIN.as_secs().cast_signed();
        self.times.iter().all(|(seconds, _)| *seconds < certain)
    }
}

impl Contents {
    /// Begins a look: all files are read once.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.begun = now;
    }

    /// Ends a look, and forgets the files that were not read in it.
    pub(super) fn end(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// The bytes of the file at `path` in `root`. Bytes that did not change are shared with the previous look.
    pub(super) fn read(&mut self, root: &Path, path: &Path) -> Result<Arc<[u8]>, Problem> {
        let name = path.strip_prefix(root).unwrap_or(path);
        // Several links may lead to one file.
        let before = self.before.remove(name);
        let before = before.or_else(|| self.now.remove(name));
        // Network file systems ask the server when a file is opened, and may not do so for its metadata alone.
        let opened = fs::File::open(path).map_err(|cause| unreadable(&cause))?;
        let metadata = opened.metadata().map_err(|cause| unreadable(&cause))?;
        let stamp = Stamp::new(&metadata);
        let is_same = |before: &Content| before.stamp.as_ref() == Some(&stamp);
        let content = match before {
            Some(before) if is_same(&before) => before,
            before => {
                #[cfg(test)]
                {
                    self.reads += 1;
                }
                let bytes = bytes(opened, stamp.size)?;
                let same = before.filter(|before| before.bytes == bytes);
                Content {
                    stamp: Some(stamp).filter(|stamp| stamp.is_certain(self.begun)),
                    bytes: same.map_or(bytes, |before| before.bytes),
                }
            }
        };
        let bytes = Arc::clone(&content.bytes);
        // Most larger files are refused.
        if bytes.len() as u64 <= Tree::MAX_FILE_BYTES {
            self.now.insert(name.to_owned(), content);
        }
        Ok(bytes)
    }
}

/// The bytes of a file of this size, which may change while it is read.
pub(super) fn bytes(opened: fs::File, size: u64) -> Result<Arc<[u8]>, Problem> {
    let limit = Tree::MAX_DEFINITIONS_BYTES + 1;
    let mut bytes = Vec::new();
    opened
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|cause| unreadable(&cause))?;
    if bytes.len() as u64 == limit {
        return Err(Problem::TooLarge(size.max(limit)));
    }
    Ok(bytes.into())
}

pub(super) fn unreadable(cause: &io::Error) -> Problem {
    Problem::Unreadable(cause.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn set_time(path: &Path, ago: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        let time = Timestamp::now() - Duration::from_secs(ago);
        file.set_modified(time.into()).unwrap();
    }

    fn begun() -> Contents {
        Contents {
            begun: Timestamp::now(),
            ..Contents::default()
        }
    }

    fn is_certain_after(seconds: i64, [bytes, all]: [i64; 2]) -> bool {
        let stamp = Stamp {
            size: 1,
            device: 1,
            inode: 1,
            times: [(bytes, 0), (all, 0)],
        };
        stamp.is_certain(Timestamp::from_second(seconds).unwrap())
    }

    #[test]
    fn a_stamp_is_certain_once_both_times_are_old_enough() {
        assert!(is_certain_after(104, [100, 100]));
        assert!(!is_certain_after(103, [100, 100]));
        assert!(!is_certain_after(104, [100, 101]));
        assert!(!is_certain_after(104, [101, 100]));
        // The clock of the file system is ahead of this machine's, or this machine has no time yet.
        assert!(!is_certain_after(50, [100, 100]));
        assert!(!is_certain_after(1, [0, 0]));
    }

    #[test]
    fn what_changed_lately_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.yaml");
        let mut contents = begun();
        for text in ["one", "two", "two", "six"] {
            // As if within one step of the clock.
            fs::write(&path, text).unwrap();
            set_time(&path, 60);
            let bytes = contents.read(place.path(), &path).unwrap();
            contents.end();
            assert_eq!(&*bytes, text.as_bytes());
        }
        assert_eq!(contents.reads, 4);
    }

    #[test]
    fn what_is_known_is_read_again_once_anything_of_it_changed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.yaml");
        let mut contents = begun();
        let read = |contents: &mut Contents, path: &Path| {
            let bytes = contents.read(place.path(), path).unwrap();
            contents.end();
            (String::from_utf8(bytes.to_vec()).unwrap(), contents.reads)
        };
        fs::write(&path, "one").unwrap();
        assert_eq!(read(&mut contents, &path), ("one".to_owned(), 1));
        certify(&mut contents, &path);
        assert_eq!(read(&mut contents, &path), ("one".to_owned(), 1));
        // The same size, and the same time as before.
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "two").unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
        assert_eq!(read(&mut contents, &path), ("two".to_owned(), 2));
        certify(&mut contents, &path);
        let new = place.path().join("new");
        fs::write(&new, "six").unwrap();
        fs::rename(&new, &path).unwrap();
        assert_eq!(read(&mut contents, &path), ("six".to_owned(), 3));
    }

    /// Makes the stamp of a file certain, as if it had been there for long.
    fn certify(contents: &mut Contents, path: &Path) {
        let stamp = Stamp::new(&fs::metadata(path).unwrap());
        let known = contents.before.get_mut(Path::new("a.yaml")).unwrap();
        assert_eq!(known.stamp, None, "it was written a moment ago");
        known.stamp = Some(stamp);
    }

    #[test]
    fn the_same_text_in_another_place_is_shared_and_what_is_gone_is_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let mut contents = begun();
        let mut last = None;
        for worktree in ["one", "two"] {
            let root = place.path().join(worktree);
            fs::create_dir(&root).unwrap();
            fs::write(root.join("a.yaml"), "text").unwrap();
            let bytes = contents.read(&root, &root.join("a.yaml")).unwrap();
            contents.end();
            let before = last.replace(Arc::clone(&bytes));
            assert!(before.is_none_or(|before| Arc::ptr_eq(&before, &bytes)));
        }
        assert_eq!(contents.reads, 2);
        contents.end();
        assert!(contents.before.is_empty() && contents.now.is_empty());
        let large = "x".repeat(Tree::MAX_FILE_BYTES as usize + 1);
        fs::write(place.path().join("large.yaml"), large).unwrap();
        let read = contents.read(place.path(), &place.path().join("large.yaml"));
        assert!(read.is_ok() && contents.now.is_empty());
        let gone = contents.read(place.path(), &place.path().join("gone"));
        assert!(matches!(gone, Err(Problem::Unreadable(_))));
    }
}
