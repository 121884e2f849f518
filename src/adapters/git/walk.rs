//! From a source of files to a [`Tree`]: which files are taken, which are left out, which are a
//! problem.
//!
//! In: a [`Source`], which lists directories and reads files. Out: a `Tree`, the same whether the
//! files are in git or in a directory. Left out in silence: names that are not YAML or JSON,
//! what `.capstanignore` names, hidden directories, nested clones, links to directories
//! inside the tree (their files are read in their own place). It does not know git or file systems.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Error;
use super::ignored::{self, Rules};
use crate::model::{Problem, Tree};

/// The most bytes that are read of all files of a tree together, those that are refused among them, so that a small
/// push of well compressed files cannot fill the memory, nor take for ever: 256 MiB.
const MAX_TREE_BYTES: usize = 256 << 20;
/// The most bytes all ignore files of a tree may have together: 256 KiB.
const MAX_RULE_BYTES: usize = 256 << 10;
/// The most directory entries that are read: 1,000,000. A tree that names the same directory
/// again and again has far more than it stores.
const MAX_ENTRIES: usize = 1_000_000;
/// The deepest directory that is read.
const MAX_DEPTH: usize = 64;

/// The answer of a source about one thing: the world may be broken (the outer error), or only this
/// thing (the problem).
pub(super) type Taken<T> = Result<Result<T, Problem>, Error>;

/// Where a link leads.
pub(super) enum Target<H> {
    /// To a file inside the tree.
    File(H),
    /// To a directory inside the tree, whose files are read there.
    Directory,
    /// To a directory inside the tree that is hidden, or is in a hidden one: its files are not read.
    HiddenDirectory,
    /// To a directory outside the tree.
    OutsideDirectory,
    /// To a file outside the tree, or to what is neither a file nor a directory.
    OutsideFile,
    /// Out of all that is known, to nothing, or in a circle: what was there is not known.
    Away,
}

/// What a directory entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Link,
    /// A directory of another repository.
    Submodule,
    /// A socket, ...: not ours.
    Other,
}

/// One entry of a directory.
pub(super) struct Entry<H> {
    pub(super) name: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) handle: H,
}

/// Files and directories by handle.
pub(super) trait Source {
    /// What finds a file or directory again.
    type Handle;
    /// The entries of a directory, in any order, unless there are more than `most`.
    fn list(&self, directory: &Self::Handle, most: usize) -> Taken<Vec<Entry<Self::Handle>>>;
    /// The bytes of a file of at most [`Tree::MAX_DEFINITIONS_BYTES`].
    fn read(&self, file: &Self::Handle) -> Taken<Arc<[u8]>>;
    /// Where the link at `path` leads.
    fn follow(&self, path: &str, link: &Self::Handle) -> Taken<Target<Self::Handle>>;
}

/// The path of `name` in the directory `path`, either of which counts from the repository's root.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

/// Reads all files below `root`, which is at `path` in the repository.
pub(super) fn collect<S: Source>(
    source: &S,
    root: &S::Handle,
    path: &str,
    revision: &str,
) -> Result<Tree, Error> {
    let mut walk = Walk {
        source,
        tree: Tree {
            revision: revision.to_owned(),
            ..Tree::default()
        },
        entries: 0,
        files: 0,
        bytes: 0,
        rule_bytes: 0,
        full: false,
    };
    walk.directory(root, path, None, 0)?;
    Ok(walk.tree)
}

struct Walk<'s, S> {
    source: &'s S,
    tree: Tree,
    entries: usize,
    files: usize,
    bytes: usize,
    rule_bytes: usize,
    full: bool,
}

impl<S: Source> Walk<'_, S> {
    fn directory(
        &mut self,
        directory: &S::Handle,
        path: &str,
        above: Option<&Rules<'_>>,
        depth: usize,
    ) -> Result<(), Error> {
        let mut entries = match self.list(directory, depth)? {
            Ok(entries) => entries,
            Err(problem) => {
                self.problem(path, problem);
                return Ok(());
            }
        };
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        self.take_out_doubles(&mut entries, path);
        let own = self.own_rules(&entries, path, above)?;
        let rules = own.as_ref().or(above);
        for entry in &entries {
            self.entry(entry, path, rules, depth)?;
            if self.full {
                break;
            }
        }
        Ok(())
    }

    /// Takes out names that are there twice: each reader of the commit would see another one of them.
    fn take_out_doubles(&mut self, entries: &mut Vec<Entry<S::Handle>>, path: &str) {
        let pairs = entries.windows(2);
        let doubles = pairs.filter(|pair| pair[0].name == pair[1].name);
        let doubles: BTreeSet<Vec<u8>> = doubles.map(|pair| pair[0].name.clone()).collect();
        for name in &doubles {
            let at = join(path, &String::from_utf8_lossy(name));
            self.problem(&at, Problem::Twice);
        }
        entries.retain(|entry| !doubles.contains(&entry.name));
    }

    fn list(&mut self, directory: &S::Handle, depth: usize) -> Taken<Vec<Entry<S::Handle>>> {
        if depth > MAX_DEPTH {
            let cause = format!("it is more than {MAX_DEPTH} directories deep");
            return Ok(Err(Problem::Unreadable(cause)));
        }
        match self.source.list(directory, MAX_ENTRIES - self.entries)? {
            Err(Problem::TooManyFiles(_)) => {
                self.full = true;
                Ok(Err(Problem::TooManyFiles(MAX_ENTRIES)))
            }
            listed => {
                self.entries += listed.as_ref().map_or(0, Vec::len);
                Ok(listed)
            }
        }
    }

    /// The rules of the directory's own ignore file, if it has one.
    fn own_rules<'above>(
        &mut self,
        entries: &[Entry<S::Handle>],
        path: &'above str,
        above: Option<&'above Rules<'above>>,
    ) -> Result<Option<Rules<'above>>, Error> {
        let file = entries
            .iter()
            .find(|entry| entry.kind == Kind::File && entry.name == ignored::FILE.as_bytes());
        let Some(file) = file else { return Ok(None) };
        let at = join(path, ignored::FILE);
        if self.rule_bytes > MAX_RULE_BYTES {
            let cause = format!(
                "the ignore files before it already hold more than {} KiB, the most that is read",
                MAX_RULE_BYTES >> 10
            );
            self.problem(&at, Problem::Unreadable(cause));
            return Ok(None);
        }
        let text = match self.source.read(&file.handle)? {
            Ok(text) => text,
            Err(problem) => {
                self.problem(&at, problem);
                return Ok(None);
            }
        };
        self.rule_bytes += text.len();
        if self.rule_bytes > MAX_RULE_BYTES {
            self.problem(&at, Problem::TooLarge(text.len() as u64));
            return Ok(None);
        }
        let (rules, fault) = Rules::read(&String::from_utf8_lossy(&text), path, above);
        if let Some(fault) = fault {
            self.problem(&at, Problem::Unreadable(fault));
        }
        Ok(Some(rules))
    }

    fn entry(
        &mut self,
        entry: &Entry<S::Handle>,
        directory: &str,
        rules: Option<&Rules<'_>>,
        depth: usize,
    ) -> Result<(), Error> {
        let is_directory = matches!(entry.kind, Kind::Directory | Kind::Submodule);
        let name = String::from_utf8_lossy(&entry.name);
        let path = join(directory, &name);
        let hidden = is_directory && is_hidden(&name);
        if hidden || rules.is_some_and(|rules| rules.leave_out(&path, is_directory)) {
            return Ok(());
        }
        if let Some(problem) = misnamed(&entry.name) {
            if is_directory || Tree::reads(&name) {
                self.problem(&path, problem);
            }
            return Ok(());
        }
        match entry.kind {
            Kind::Directory => self.directory(&entry.handle, &path, rules, depth + 1),
            Kind::File if Tree::reads(&name) => self.file(&path, &entry.handle),
            Kind::File if is_upper_case(&name) => {
                self.problem(&path, Problem::UpperCase);
                Ok(())
            }
            Kind::Link => self.link(&path, &entry.handle),
            Kind::Submodule => {
                self.problem(&path, Problem::Submodule);
                Ok(())
            }
            Kind::File | Kind::Other => Ok(()),
        }
    }

    fn link(&mut self, path: &str, link: &S::Handle) -> Result<(), Error> {
        let target = match self.source.follow(path, link)? {
            Ok(target) => target,
            Err(problem) => {
                self.problem(path, problem);
                return Ok(());
            }
        };
        match (target, Tree::reads(path)) {
            (Target::File(file), true) => self.file(path, &file)?,
            (Target::File(_) | Target::OutsideFile | Target::Away, false)
                if is_upper_case(path) =>
            {
                self.problem(path, Problem::UpperCase);
            }
            (Target::Away | Target::OutsideFile, true) | (Target::OutsideDirectory, _) => {
                self.problem(path, Problem::LinkLeavesTree);
            }
            (Target::HiddenDirectory, _) if !is_hidden(path) => {
                self.problem(path, Problem::LinkToHidden);
            }
            // It may have been a directory of files, or have led to one: a directory may be called `team.a` or
            // `notes.md`, but none that is hidden is read.
            (Target::Away, false) if !is_hidden(path) => {
                self.problem(path, Problem::LinkLeavesTree);
            }
            (Target::File(_) | Target::OutsideFile | Target::Away, false)
            | (Target::Directory | Target::HiddenDirectory, _) => {}
        }
        Ok(())
    }

    fn file(&mut self, path: &str, file: &S::Handle) -> Result<(), Error> {
        self.files += 1;
        if self.files > Tree::MAX_FILES {
            self.full = true;
            self.problem(path, Problem::TooManyFiles(Tree::MAX_FILES));
            return Ok(());
        }
        if self.bytes > MAX_TREE_BYTES {
            self.problem(path, after_enough());
            return Ok(());
        }
        match self.source.read(file)? {
            Err(problem) => self.problem(path, problem),
            Ok(bytes) => {
                self.bytes += bytes.len();
                self.text(path, bytes);
            }
        }
        Ok(())
    }

    fn text(&mut self, path: &str, bytes: Arc<[u8]>) {
        if Tree::is_lfs_pointer(&bytes) {
            self.problem(path, Problem::LfsPointer);
        } else if !Tree::takes(&bytes) {
            self.problem(path, Problem::TooLarge(bytes.len() as u64));
        } else if self.bytes > MAX_TREE_BYTES {
            self.problem(path, after_enough());
        } else {
            self.tree.files.insert(path.into(), bytes);
        }
    }

    /// Nobody reads more problems than a tree may have files.
    fn problem(&mut self, path: &str, problem: Problem) {
        let path = if path.is_empty() { "." } else { path };
        self.tree.problems.insert(path.into(), problem);
        self.full |= self.tree.problems.len() >= Tree::MAX_FILES;
    }
}

/// Whether a file of this name would be read if its suffix were in lower case.
fn is_upper_case(path: &str) -> bool {
    !Tree::reads(path) && Tree::reads(&path.to_lowercase())
}

fn is_hidden(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with('.')
}

/// Why a file is left out that comes after as many bytes as are read.
fn after_enough() -> Problem {
    let most = MAX_TREE_BYTES >> 20;
    Problem::Unreadable(format!(
        "the files before it already hold {most} MiB, the most that is read"
    ))
}

/// Why a file of this name cannot be taken in. Git itself refuses to check out some of these, but
/// a tree made by hand may hold them.
fn misnamed(name: &[u8]) -> Option<Problem> {
    let fault = if std::str::from_utf8(name).is_err() {
        "its name is not UTF-8"
    } else if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
        "its name is not a file name"
    } else {
        return None;
    };
    Some(Problem::Unreadable(fault.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::Cell;

    use super::*;

    /// Directories that all hold the same.
    struct Endless {
        directories: usize,
        files: usize,
        ending: &'static str,
        bytes: Arc<[u8]>,
        reads: Cell<usize>,
    }

    impl Source for Endless {
        type Handle = ();

        fn list(&self, (): &(), most: usize) -> Taken<Vec<Entry<()>>> {
            if self.directories + self.files > most {
                return Ok(Err(Problem::TooManyFiles(most)));
            }
            let entry = |name: String, kind| Entry {
                name: name.into_bytes(),
                kind,
                handle: (),
            };
            let inner = (0..self.directories).map(|at| entry(format!("{at}"), Kind::Directory));
            let files = (0..self.files).map(|at| format!("{at:05}{}", self.ending));
            Ok(Ok(inner
                .chain(files.map(|name| entry(name, Kind::File)))
                .collect()))
        }

        fn read(&self, (): &()) -> Taken<Arc<[u8]>> {
            self.reads.set(self.reads.get() + 1);
            Ok(Ok(Arc::clone(&self.bytes)))
        }

        fn follow(&self, _: &str, (): &()) -> Taken<Target<()>> {
            Ok(Ok(Target::Away))
        }
    }

    fn read(directories: usize, files: usize, ending: &'static str, bytes: usize) -> Tree {
        counted(directories, files, ending, bytes).0
    }

    /// The same, and how many files were opened.
    fn counted(
        directories: usize,
        files: usize,
        ending: &'static str,
        bytes: usize,
    ) -> (Tree, usize) {
        let source = Endless {
            directories,
            files,
            ending,
            bytes: vec![0; bytes].into(),
            reads: Cell::default(),
        };
        let tree = collect(&source, &(), "", "revision").unwrap();
        (tree, source.reads.get())
    }

    #[test]
    fn the_first_file_over_the_limit_is_named_and_no_more_are_read() {
        let tree = read(0, Tree::MAX_FILES, ".yaml", 1);
        assert!(tree.problems.is_empty());
        let tree = read(0, Tree::MAX_FILES + 2, ".yaml", 1);
        assert_eq!(tree.files.len(), Tree::MAX_FILES);
        let found: Vec<_> = tree
            .problems
            .iter()
            .map(|(at, what)| (&**at, what))
            .collect();
        assert_eq!(
            found,
            [("20000.yaml", &Problem::TooManyFiles(Tree::MAX_FILES))]
        );
    }

    #[test]
    fn directories_without_end_are_given_up() {
        let tree = read(1, 0, "", 0);
        let found: Vec<_> = tree.problems.values().collect();
        assert!(matches!(found[..], [Problem::Unreadable(_)]), "{found:?}");
        let tree = read(100, 0, "", 0);
        assert_eq!(tree.problems.len(), Tree::MAX_FILES);
        let tree = read(2, 40_000, ".txt", 0);
        let found: Vec<_> = tree.problems.values().collect();
        assert_eq!(found, [&Problem::TooManyFiles(MAX_ENTRIES)]);
    }

    #[test]
    fn large_content_stored_small_does_not_fill_the_memory() {
        let tree = read(0, 300, ".yaml", 1 << 20);
        assert_eq!((tree.files.len(), tree.problems.len()), (256, 44));
    }

    #[test]
    fn what_is_refused_is_not_read_without_an_end() {
        let (tree, reads) = counted(0, 200, ".yaml", 4 << 20);
        assert_eq!((tree.files.len(), tree.problems.len()), (0, 200));
        assert_eq!(reads, 65);
    }
}
