//! A fleet in a directory of this machine, as it lies there.
//!
//! In: a path. Out: a [`Tree`] without a revision, its paths counted from the root of the enclosing
//! git repository, else from the directory itself. It does not know what is committed.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Error;
use super::contents::{self, Contents, unreadable};
use super::walk::{Entry, Kind, Source, Taken, Target, collect};
use crate::model::{Problem, Tree};

/// Reads the files below `path`, or the one file it names (whatever its ending).
///
/// # Errors
/// When there is nothing at `path`, or neither a file nor a directory. What cannot be read below it is a [`Problem`] of the tree.
pub fn read(path: &Path) -> Result<Tree, Error> {
    let place = Place::of(path)?;
    place.read(&below(place.root(), &place.at))
}

/// What the paths of the tree at `path` count from: the root of the enclosing git repository, else the
/// directory itself.
///
/// # Errors
/// As [`read`].
pub fn root(path: &Path) -> Result<PathBuf, Error> {
    Ok(Place::of(path)?.root().to_owned())
}

/// Reads overlays beside the fleet at `fleet` (none: it is not on this machine), so that no file of theirs
/// goes by the path of another file of the fleet: paths count from where the fleet's count from, and
/// those outside of that are absolute or begin with a dot.
///
/// # Errors
/// As [`read`].
pub fn read_beside(path: &Path, fleet: Option<&Path>) -> Result<Tree, Error> {
    let place = Place::of(path)?;
    let fleet = fleet.map(Place::of).transpose()?;
    let root = fleet.as_ref().map(Place::root);
    match root.filter(|root| place.at.starts_with(root)) {
        Some(root) => place.read(&below(root, &place.at)),
        None => place.read(&outside(path)),
    }
}

/// Reads the files below `path`, which go by the paths that those at `other` have.
///
/// # Errors
/// As [`read`].
pub fn read_in_place_of(path: &Path, other: &Path) -> Result<Tree, Error> {
    let (place, other) = (Place::of(path)?, Place::of(other)?);
    place.read(&below(other.root(), &other.at))
}

/// Reads the files in the directory `at`, whose paths count from `root`; both are real paths. Files that are in `known` are read
/// again only if they changed.
pub(super) fn read_below(root: &Path, at: &Path, known: &mut Contents) -> Result<Tree, Error> {
    let inner = Directory {
        root: at.to_owned(),
    };
    let directory = KnownDirectory {
        inner,
        root,
        contents: known.into(),
    };
    collect(&directory, &directory.inner.root, &below(root, at), "")
}

/// A file or directory that is there.
struct Place {
    /// Its real path; of a file, the name that was given in the real path of its directory.
    at: PathBuf,
    is_file: bool,
}

impl Place {
    fn of(path: &Path) -> Result<Self, Error> {
        let found = fs::metadata(path).map_err(|cause| absent(path, &cause))?;
        let is_file = found.is_file();
        let real = |at: &Path| fs::canonicalize(at).map_err(|cause| absent(path, &cause));
        let at = match (is_file, path.file_name(), path.parent()) {
            (false, ..) if found.is_dir() => real(path)?,
            (false, ..) => return Err(Error::NotAFile { path: path.into() }),
            // A file named by a person keeps the name that was given, even where that is a link.
            (true, Some(name), Some(parent)) => real(&Path::new(".").join(parent))?.join(name),
            _ => return Err(Error::NoSuchFile { path: path.into() }),
        };
        Ok(Self { at, is_file })
    }

    /// What paths count from.
    fn root(&self) -> &Path {
        let directory = match self.is_file {
            true => self.at.parent().unwrap_or(&self.at),
            false => &self.at,
        };
        enclosing_repository(directory).unwrap_or(directory)
    }

    /// What is there, by paths that begin with `name`.
    fn read(&self, name: &str) -> Result<Tree, Error> {
        if !self.is_file {
            let root = self.at.clone();
            return collect(&Directory { root }, &self.at, name, "");
        }
        let mut tree = Tree::default();
        match bytes(&self.at) {
            Ok(bytes) => drop(tree.files.insert(name.into(), bytes)),
            Err(problem) => drop(tree.problems.insert(name.into(), problem)),
        }
        Ok(tree)
    }
}

/// `path` as it was given, marked so that it differs from paths relative to a root.
fn outside(path: &Path) -> String {
    let plain = match path.is_absolute() || path.starts_with("..") {
        true => path.components().collect(),
        false => Path::new(".").join(path).components().collect::<PathBuf>(),
    };
    plain.to_string_lossy().into_owned()
}

fn absent(path: &Path, cause: &std::io::Error) -> Error {
    match cause.kind() {
        std::io::ErrorKind::NotFound => Error::NoSuchFile { path: path.into() },
        _ => Error::disk(path, cause),
    }
}

/// The nearest directory at or above `path` that holds a repository. Git's own discovery would
/// refuse repositories of other users, but only the path is needed here.
pub(super) fn enclosing_repository(path: &Path) -> Option<&Path> {
    path.ancestors().find(|above| above.join(".git").exists())
}

/// `path` seen from `root`, with `/` between its parts.
pub(super) fn below(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The bytes of a file, which may change while it is read.
fn bytes(file: &Path) -> Result<Arc<[u8]>, Problem> {
    let opened = fs::File::open(file).map_err(|cause| unreadable(&cause))?;
    let size = opened.metadata().map_err(|cause| unreadable(&cause))?;
    contents::bytes(opened, size.len())
}

/// The real path of the directory that is read; links may not leave it.
struct Directory {
    root: PathBuf,
}

impl Source for Directory {
    type Handle = PathBuf;

    fn list(&self, directory: &PathBuf, most: usize) -> Taken<Vec<Entry<PathBuf>>> {
        let entries = fs::read_dir(directory).and_then(|entries| {
            let entries = entries.take(most.saturating_add(1));
            entries.map(|entry| described(&entry?)).collect()
        });
        let mut entries: Vec<_> = match entries {
            Ok(entries) => entries,
            Err(cause) => return Ok(Err(Problem::Unreadable(cause.to_string()))),
        };
        let nested = directory != &self.root && entries.iter().any(|entry| entry.name == b".git");
        if nested && is_submodule(directory) {
            return Ok(Err(Problem::Submodule));
        }
        if nested {
            entries.clear();
        }
        if entries.len() > most {
            return Ok(Err(Problem::TooManyFiles(most)));
        }
        Ok(Ok(entries))
    }

    fn read(&self, file: &PathBuf) -> Taken<Arc<[u8]>> {
        Ok(bytes(file))
    }

    /// As git sees it: a link to an absolute path leaves the tree wherever it leads.
    fn follow(&self, _: &str, link: &PathBuf) -> Taken<Target<PathBuf>> {
        let absolute = fs::read_link(link).is_ok_and(|target| target.is_absolute());
        let Ok(real) = fs::canonicalize(link) else {
            return Ok(Ok(Target::Away));
        };
        let inside = real.starts_with(&self.root) && !absolute;
        let target = match (inside, real.is_dir(), real.is_file()) {
            (true, true, _) if is_hidden(&real, &self.root) => Target::HiddenDirectory,
            (true, true, _) => Target::Directory,
            (false, true, _) => Target::OutsideDirectory,
            (true, _, true) => Target::File(real),
            // Where it leads cannot be known from a commit.
            _ if absolute => Target::Away,
            _ => Target::OutsideFile,
        };
        Ok(Ok(target))
    }
}

/// A directory that was read before.
struct KnownDirectory<'k> {
    inner: Directory,
    /// The directory from which the paths of `contents` count.
    root: &'k Path,
    contents: RefCell<&'k mut Contents>,
}

impl Source for KnownDirectory<'_> {
    type Handle = PathBuf;

    fn list(&self, directory: &PathBuf, most: usize) -> Taken<Vec<Entry<PathBuf>>> {
        self.inner.list(directory, most)
    }

    fn read(&self, file: &PathBuf) -> Taken<Arc<[u8]>> {
        Ok(self.contents.borrow_mut().read(self.root, file))
    }

    fn follow(&self, path: &str, link: &PathBuf) -> Taken<Target<PathBuf>> {
        self.inner.follow(path, link)
    }
}

/// Whether a directory, or one between it and `root`, is hidden.
fn is_hidden(directory: &Path, root: &Path) -> bool {
    let below = directory.strip_prefix(root).unwrap_or(directory);
    let mut names = below.iter();
    names.any(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether a nested checkout is a submodule: git keeps its repository among those of the outer one.
fn is_submodule(directory: &Path) -> bool {
    let at = fs::read_to_string(directory.join(".git"));
    at.is_ok_and(|at| at.starts_with("gitdir: ") && at.contains("/modules/"))
}

fn described(entry: &fs::DirEntry) -> std::io::Result<Entry<PathBuf>> {
    let kind = entry.file_type()?;
    let kind = if kind.is_dir() {
        Kind::Directory
    } else if kind.is_file() {
        Kind::File
    } else if kind.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    };
    Ok(Entry {
        name: entry.file_name().into_encoded_bytes(),
        kind,
        handle: entry.path(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::model::ErrorClass;

    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    fn paths(tree: &Tree) -> Vec<&str> {
        tree.files.keys().map(AsRef::as_ref).collect()
    }

    fn problem<'t>(tree: &'t Tree, path: &str) -> &'t Problem {
        tree.problems
            .get(path)
            .unwrap_or_else(|| panic!("no problem at {path}, but {:?}", tree.problems))
    }

    #[test]
    fn reads_yaml_and_json_and_ignores_other_files() {
        let fleet = directory(&[
            ("b.yml", "b"),
            ("a/x.yaml", "x"),
            ("a/x.json", "{}"),
            ("a/x.txt", ""),
            ("README.md", ""),
            (".github/workflow.yaml", ""),
            (".hidden.yaml", "h"),
            ("vendored/.git", "gitdir: elsewhere"),
            ("vendored/c.yaml", ""),
        ]);
        let tree = read(fleet.path()).unwrap();
        assert_eq!(
            paths(&tree),
            [".hidden.yaml", "a/x.json", "a/x.yaml", "b.yml"]
        );
        assert_eq!(&*tree.files["a/x.yaml"], b"x");
        assert!(tree.problems.is_empty());
        assert_eq!(tree.revision, "");
    }

    #[test]
    fn honours_ignore_files_at_the_top_and_nested() {
        let fleet = directory(&[
            (".capstanignore", "*.yaml\n!wanted.yaml\ndrafts/\n"),
            ("x.yaml", ""),
            ("wanted.yaml", ""),
            ("drafts/wanted.yaml", ""),
            ("team/.capstanignore", "!x.yaml\n/wanted.yaml\n"),
            ("team/x.yaml", ""),
            ("team/wanted.yaml", ""),
            ("team/deep/wanted.yaml", ""),
        ]);
        let tree = read(fleet.path()).unwrap();
        assert_eq!(
            paths(&tree),
            ["team/deep/wanted.yaml", "team/x.yaml", "wanted.yaml"]
        );
    }

    #[test]
    fn a_bad_line_of_an_ignore_file_is_a_problem() {
        let fleet = directory(&[(".capstanignore", "{\n"), ("x.yaml", "")]);
        let tree = read(fleet.path()).unwrap();
        assert_eq!(paths(&tree), ["x.yaml"]);
        let Problem::Unreadable(cause) = problem(&tree, ".capstanignore") else {
            panic!()
        };
        assert!(cause.starts_with("line 1: "), "{cause}");
    }

    #[test]
    fn an_ignore_file_larger_than_all_may_be_is_a_problem() {
        let long = "x\n".repeat(200 << 10);
        let fleet = directory(&[(".capstanignore", long.as_str()), ("x", ""), ("x.yaml", "")]);
        let tree = read(fleet.path()).unwrap();
        assert_eq!(
            problem(&tree, ".capstanignore"),
            &Problem::TooLarge(400 << 10)
        );
        assert_eq!(paths(&tree), ["x.yaml"]);
    }

    #[test]
    fn paths_count_from_the_enclosing_repository() {
        let repository = directory(&[("fleets/prod/a.yaml", "a")]);
        git2::Repository::init(repository.path()).unwrap();
        let tree = read(&repository.path().join("fleets/prod")).unwrap();
        assert_eq!(paths(&tree), ["fleets/prod/a.yaml"]);
        let tree = read(&repository.path().join("fleets/prod/a.yaml")).unwrap();
        assert_eq!(paths(&tree), ["fleets/prod/a.yaml"]);
    }

    #[test]
    fn overlays_get_paths_that_no_file_of_the_fleet_has() {
        let place = directory(&[
            ("fleet/a.yaml", "fleet"),
            ("fleet/overlays/a.yaml", "inside"),
            ("overlays/a.yaml", "outside"),
        ]);
        let (fleet, outside) = (place.path().join("fleet"), place.path().join("overlays"));
        let beside = |path: &Path, fleet: &Path| {
            let tree = read_beside(path, Some(fleet)).unwrap();
            paths(&tree).join(" ")
        };
        let named = format!("{}/a.yaml", outside.display());
        assert_eq!(beside(&outside, &fleet), named);
        assert_eq!(beside(&outside.join("a.yaml"), &fleet), named);
        assert_eq!(beside(&fleet.join("overlays"), &fleet), "overlays/a.yaml");
        let file = fleet.join("a.yaml");
        assert_eq!(beside(&fleet.join("overlays"), &file), "overlays/a.yaml");
        let tree = read_beside(&outside, None).unwrap();
        assert_eq!(paths(&tree), [named]);
        git2::Repository::init(place.path()).unwrap();
        assert_eq!(beside(&outside, &fleet), "overlays/a.yaml");
    }

    #[test]
    fn given_paths_differ_from_those_relative_to_a_root() {
        for (given, named) in [
            ("ov", "./ov"),
            ("./ov//x/", "./ov/x"),
            ("../ov", "../ov"),
            (".", "."),
            ("/srv/ov/", "/srv/ov"),
        ] {
            assert_eq!(outside(Path::new(given)), named);
        }
    }

    #[test]
    fn one_file_is_read_whatever_its_ending() {
        let fleet = directory(&[("a.txt", "a"), ("b.yaml", "")]);
        let tree = read(&fleet.path().join("a.txt")).unwrap();
        assert_eq!(paths(&tree), ["a.txt"]);
    }

    #[test]
    fn nothing_there_is_an_error_that_names_it() {
        let error = read(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid);
        assert_eq!(
            error.to_string(),
            "/nowhere/at/all: no such file or directory"
        );
    }

    #[test]
    fn what_is_neither_a_file_nor_a_directory_is_refused_unopened() {
        let place = directory(&[]);
        let (socket, pipe) = (place.path().join("socket"), place.path().join("pipe"));
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()));
        for path in [Path::new("/dev/null"), &socket, &pipe] {
            let error = read(path).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Invalid);
            let message = format!("{} is neither a file nor a directory", path.display());
            assert!(error.to_string().starts_with(&message), "{error}");
        }
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let outside = directory(&[("secret.yaml", "s"), ("more/x.yaml", "")]);
        let fleet = directory(&[("real/a.yaml", "a"), ("plain.txt", "p")]);
        let link = |target: &Path, name: &str| symlink(target, fleet.path().join(name)).unwrap();
        link(Path::new("real/a.yaml"), "inside.yaml");
        link(Path::new("plain.txt"), "text.yaml");
        link(Path::new("inside.yaml"), "twice.yaml");
        link(&fleet.path().join("real/a.yaml"), "absolute.yaml");
        link(&outside.path().join("secret.yaml"), "outside.yaml");
        link(&outside.path().join("more"), "more");
        link(Path::new("nothing"), "dangling.yaml");
        link(Path::new("nothing"), "dangling.md");
        link(Path::new("circle.yaml"), "circle.yaml");
        link(Path::new("."), "around");
        let tree = read(fleet.path()).unwrap();
        assert_eq!(
            paths(&tree),
            ["inside.yaml", "real/a.yaml", "text.yaml", "twice.yaml"]
        );
        assert_eq!(&*tree.files["twice.yaml"], b"a");
        let refused: Vec<&str> = tree.problems.keys().map(AsRef::as_ref).collect();
        assert_eq!(
            refused,
            [
                "absolute.yaml",
                "circle.yaml",
                "dangling.md",
                "dangling.yaml",
                "more",
                "outside.yaml"
            ]
        );
        assert!(
            tree.problems
                .values()
                .all(|problem| problem == &Problem::LinkLeavesTree)
        );
    }

    #[test]
    fn a_link_to_a_hidden_directory_is_a_problem() {
        let fleet = directory(&[(".shared/apps/a.yaml", "a"), ("b.yaml", "b")]);
        symlink(".shared/apps", fleet.path().join("apps")).unwrap();
        symlink(".shared/apps", fleet.path().join(".apps")).unwrap();
        let tree = read(fleet.path()).unwrap();
        assert_eq!(paths(&tree), ["b.yaml"]);
        assert_eq!(tree.problems.len(), 1);
        assert_eq!(problem(&tree, "apps"), &Problem::LinkToHidden);
    }

    #[test]
    fn a_suffix_in_upper_case_is_a_problem_of_links_too() {
        let fleet = directory(&[("a.YAML", "a"), ("b.txt", ""), ("d/c.yaml", "")]);
        let link = |target: &str, name: &str| symlink(target, fleet.path().join(name)).unwrap();
        link("b.txt", "file.Yml");
        link("nothing", "broken.JSON");
        link("d", "directory.YAML");
        let tree = read(fleet.path()).unwrap();
        let problems: Vec<_> = tree
            .problems
            .iter()
            .map(|(path, one)| (&**path, one))
            .collect();
        let upper = &Problem::UpperCase;
        let expected = [
            ("a.YAML", upper),
            ("broken.JSON", upper),
            ("file.Yml", upper),
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_a_problem() {
        let outside = directory(&[("x.yaml", ""), ("file", "")]);
        let fleet = directory(&[("a.yaml", "a"), ("real/b.yaml", "")]);
        let link = |target: &Path, name: &str| symlink(target, fleet.path().join(name)).unwrap();
        link(Path::new("nothing"), "dangling");
        link(Path::new("/nothing"), "absolute");
        link(outside.path(), "outside");
        link(&fleet.path().join("real"), "inside-but-absolute");
        link(Path::new("nothing"), ".hidden");
        link(Path::new("nothing"), "team.a");
        link(Path::new("real"), "relative");
        let tree = read(fleet.path()).unwrap();
        assert_eq!(paths(&tree), ["a.yaml", "real/b.yaml"]);
        let found: Vec<&str> = tree.problems.keys().map(AsRef::as_ref).collect();
        assert_eq!(
            found,
            [
                "absolute",
                "dangling",
                "inside-but-absolute",
                "outside",
                "team.a"
            ]
        );
    }

    #[test]
    fn a_mounted_config_map_is_read_once() {
        let fleet = directory(&[("..2026_01/a.yaml", "a")]);
        symlink("..2026_01", fleet.path().join("..data")).unwrap();
        symlink("..data/a.yaml", fleet.path().join("a.yaml")).unwrap();
        assert_eq!(paths(&read(fleet.path()).unwrap()), ["a.yaml"]);
    }

    #[test]
    fn large_files_strange_names_and_deep_directories_are_problems() {
        let fleet = directory(&[("ok.yaml", "")]);
        let limit = usize::try_from(Tree::MAX_FILE_BYTES).unwrap();
        fs::write(fleet.path().join("full.yaml"), vec![b' '; limit]).unwrap();
        fs::write(fleet.path().join("large.yaml"), vec![b' '; limit + 1]).unwrap();
        let mut definitions = b"kind: CustomResourceDefinition\n".to_vec();
        definitions.resize(limit + 1, b'\n');
        fs::write(fleet.path().join("definitions.yaml"), definitions).unwrap();
        fs::write(fleet.path().join(OsStr::from_bytes(b"\xff.yaml")), "").unwrap();
        fs::write(fleet.path().join(OsStr::from_bytes(b"\xff.txt")), "").unwrap();
        let deep = vec!["d"; 65].join("/");
        fs::create_dir_all(fleet.path().join(&deep)).unwrap();
        fs::write(fleet.path().join(&deep).join("x.yaml"), "").unwrap();
        let tree = read(fleet.path()).unwrap();
        assert_eq!(paths(&tree), ["definitions.yaml", "full.yaml", "ok.yaml"]);
        assert_eq!(
            problem(&tree, "large.yaml"),
            &Problem::TooLarge(Tree::MAX_FILE_BYTES + 1)
        );
        assert_eq!(
            problem(&tree, "\u{fffd}.yaml"),
            &Problem::Unreadable("its name is not UTF-8".into())
        );
        assert!(matches!(problem(&tree, &deep), Problem::Unreadable(_)));
        assert_eq!(tree.problems.len(), 3);
    }

    #[test]
    fn a_pipe_does_not_hang_the_reader() {
        let fleet = directory(&[("a.yaml", "")]);
        let status = std::process::Command::new("mkfifo")
            .arg(fleet.path().join("pipe.yaml"))
            .status();
        assert!(status.is_ok_and(|status| status.success()));
        symlink("pipe.yaml", fleet.path().join("to-pipe.yaml")).unwrap();
        let tree = read(fleet.path()).unwrap();
        assert_eq!(paths(&tree), ["a.yaml"]);
        assert_eq!(problem(&tree, "to-pipe.yaml"), &Problem::LinkLeavesTree);
    }
}
