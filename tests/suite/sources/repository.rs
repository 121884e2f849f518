//! A bare repository on a server, and the mirrors that follow it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use capstan::adapters::git::{Access, Author, Credential, CredentialSource, Files, Mirror};
use capstan::model::AdapterError;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::kubernetes;

/// The repository `fleet.git` in a directory that a server serves.
pub(crate) struct Repository {
    dir: TempDir,
    author: Author,
}

impl Repository {
    pub(crate) fn new() -> Self {
        Self::at("fleet.git")
    }

    /// At this path below the directory that is served.
    pub(crate) fn at(path: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(path);
        std::fs::create_dir_all(&path).expect("made");
        let author = Author::init(&path).expect("a bare repository");
        Self { dir, author }
    }

    /// The directory that is served.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// The repository.
    pub(crate) fn path(&self) -> &Path {
        self.author.dir()
    }

    /// A commit on top of `branch` with one file of this content.
    pub(crate) fn push(&self, branch: &str, text: &str) -> String {
        let parent = self.git(&["rev-parse", "--verify", "--quiet", branch]).ok();
        self.push_onto(branch, parent.as_deref(), &[("one.yaml", text)])
    }

    /// A commit with these files and no others, on top of `parent`, to which `branch` leads then.
    pub(crate) fn push_onto(
        &self,
        branch: &str,
        parent: Option<&str>,
        files: &[(&str, &str)],
    ) -> String {
        self.push_saying("change it", branch, parent, files)
    }

    /// The same with this message.
    pub(crate) fn push_saying(
        &self,
        message: &str,
        branch: &str,
        parent: Option<&str>,
        files: &[(&str, &str)],
    ) -> String {
        let files = files.iter();
        let files: Files = files
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let author = &self.author;
        let pushed = author.push(branch, parent, &files, message, Timestamp::UNIX_EPOCH);
        pushed.expect("pushed")
    }

    pub(crate) fn note(&self, commit: &str) -> Option<String> {
        self.author.note(NOTES, commit).expect("readable")
    }

    /// What git prints, or its complaint.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String, String> {
        git(self.path(), arguments)
    }
}

pub(crate) const NOTES: &str = capstan::adapters::checks::NOTES_REF;

/// Runs git in a repository.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(arguments)
        .output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

/// Whether this program is here. Without it the test is skipped, or fails where it is required.
pub(crate) fn has(program: &str, package: &str) -> bool {
    let sbin = Path::new("/usr/sbin").join(program);
    let found = Command::new(program).arg("-V").output().is_ok() || sbin.exists();
    if !found {
        assert!(
            !kubernetes::is_required("git"),
            "CAPSTAN_REQUIRE=git, but there is no {program}"
        );
        eprintln!("skipped: needs the program {program}; install the package {package}");
    }
    found
}

/// A credential whose keys a test replaces.
pub(crate) struct Keys(Mutex<BTreeMap<String, Vec<u8>>>);

impl Keys {
    pub(crate) fn new(keys: &[(&str, &[u8])]) -> Arc<Self> {
        let new = Self(Mutex::new(BTreeMap::new()));
        new.set(keys);
        Arc::new(new)
    }

    pub(crate) fn set(&self, keys: &[(&str, &[u8])]) {
        let mut held = self.0.lock().expect("no panic");
        held.extend(
            keys.iter()
                .map(|(key, value)| ((*key).to_owned(), value.to_vec())),
        );
    }
}

impl CredentialSource for Keys {
    fn credential(&self) -> BoxFuture<'_, Result<Credential, AdapterError>> {
        let read = Credential::read("Secret/fleets/git", &self.0.lock().expect("no panic"));
        std::future::ready(read).boxed()
    }
}

/// A mirror in a directory of its own.
pub(crate) struct Copied {
    dir: TempDir,
    mirror: Mirror,
}

impl Copied {
    pub(crate) fn new(url: &str, access: &Access) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let patterns = ["refs/pull/*/head".to_owned()];
        let mirror = Mirror::open_with(dir.path(), url, &patterns, access).expect("opened");
        Self { dir, mirror }
    }

    /// How many objects it has.
    pub(crate) fn objects(&self) -> usize {
        let dir: PathBuf = self.dir.path().join("repository.git");
        let all = git(&dir, &["cat-file", "--batch-all-objects", "--batch-check"]);
        all.expect("readable").lines().count()
    }
}

impl std::ops::Deref for Copied {
    type Target = Mirror;

    fn deref(&self) -> &Mirror {
        &self.mirror
    }
}
