//! What can go wrong with a repository, and its class.

use std::path::{Path, PathBuf};

use super::signature::SignatureFault;
use crate::model::{AdapterError, ErrorClass};

/// What glibc and musl say of a process that may open no more files.
const NO_FILES: [&str; 2] = ["Too many open files", "No file descriptors available"];

/// Trouble with the world around a repository. Broken files inside it are never an error: they are
/// [`Problem`](crate::model::Problem)s of the tree. No message holds a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An address that is not served.
    #[error(
        "cannot use {url} as a git source: {cause}; supported are https://host/path, \
         ssh://user@host/path, user@host:path, file:///path and paths"
    )]
    Address {
        /// The address, without user, password and query.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A ref pattern that cannot be matched.
    #[error(
        "cannot fetch refs like {pattern:?}: a pattern starts with refs/ and contains at most one *"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
    },
    /// The repository does not answer.
    #[error("cannot reach {url}: {cause}; retrying")]
    Unreachable {
        /// The address.
        url: String,
        /// The message of git.
        cause: String,
    },
    /// A directory that another program keeps up to date cannot be used now.
    #[error("cannot read the directory {path}: {cause}; retrying")]
    Directory {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// Nothing is at the address, or no repository. It may come (back), as after a mount.
    #[error("no repository at {url}: {cause}; create it or correct the address; retrying")]
    NoRepository {
        /// The address.
        url: String,
        /// What is there instead.
        cause: String,
    },
    /// The repository may not be read.
    #[error(
        "no permission to read {url}: {cause}; give the daemon's user the right to read it (a repository of \
         another user must be listed under safe.directory in the git configuration)"
    )]
    Denied {
        /// The address.
        url: String,
        /// The message of git.
        cause: String,
    },
    /// The server does not know who we are.
    #[error("cannot authenticate to {url}: {help}")]
    Unauthenticated {
        /// The address.
        url: String,
        /// What to do.
        help: String,
    },
    /// The server knows who we are and does not allow it.
    #[error("no permission for {url}: {help}")]
    Forbidden {
        /// The address.
        url: String,
        /// What to do.
        help: String,
    },
    /// The server has no such repository, or does not show it to us.
    #[error("no repository at {url}: {cause}; correct the address or the credential; retrying")]
    Absent {
        /// The address.
        url: String,
        /// The answer of the server.
        cause: String,
    },
    /// The server answered with a page for people.
    #[error(
        "cannot authenticate to {url}: the server answered with a web page, probably its sign-in \
         page; provide a valid credential, or correct the address"
    )]
    SignIn {
        /// The address.
        url: String,
    },
    /// What answers does not speak git's protocol.
    #[error("no git server at {url}: {cause}; correct the address; retrying")]
    NotGit {
        /// The address.
        url: String,
        /// What it answered.
        cause: String,
    },
    /// The server sends us to another one, which must not get the credential.
    #[error(
        "cannot fetch from {url}: it redirects to {to}, and redirects are only followed on the \
         same scheme, host and port; use the new address"
    )]
    Redirected {
        /// The address.
        url: String,
        /// The scheme, host and port it redirects to.
        to: String,
    },
    /// The certificate of the server cannot be verified.
    #[error(
        "cannot trust {url}: {cause}; if a private authority signed its certificate, provide that \
         as ca.crt beside the credential"
    )]
    Certificate {
        /// The address.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The key of an SSH server cannot be verified.
    #[error(
        "cannot trust {url}: {cause}; compare with the fingerprint that the server's owner \
         publishes, then update known_hosts"
    )]
    HostKey {
        /// The address.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The server sends more than is allowed.
    #[error("cannot fetch from {url}: it sends more than {limit} bytes; use a smaller repository")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// A ref was rewritten between the list of refs and the fetch.
    #[error("a ref of {url} was rewritten during the fetch: {cause}; retrying")]
    Vanished {
        /// The address.
        url: String,
        /// The answer of the server.
        cause: String,
    },
    /// The credential does not fit the address, or ssh is missing.
    #[error("cannot connect to {url}: {cause}")]
    Unusable {
        /// The address.
        url: String,
        /// What is wrong.
        cause: String,
    },
    /// The credential cannot be read.
    #[error("cannot read the credential of the repository: {0}")]
    Credential(AdapterError),
    /// The refs could be listed, but what they point to did not arrive.
    #[error("cannot copy from {url} to {dir}: {cause}; retrying")]
    Download {
        /// The address.
        url: String,
        /// The mirror.
        dir: PathBuf,
        /// The message of git.
        cause: String,
    },
    /// The server sent something else than was asked for.
    #[error("cannot use what {url} sent: {cause}; retrying")]
    Pack {
        /// The address.
        url: String,
        /// The message of git.
        cause: String,
    },
    /// The repository does not take our change.
    #[error(
        "{url} refused {reference}: {cause}; give the daemon the right to push this ref, or turn \
         the checks off"
    )]
    Refused {
        /// The address.
        url: String,
        /// The ref that was to change.
        reference: String,
        /// The message of the repository.
        cause: String,
    },
    /// A change did not get through for a reason that may pass.
    #[error("cannot push {reference} to {url}: {cause}; nothing is lost; retrying")]
    Push {
        /// The address.
        url: String,
        /// The ref that was to change.
        reference: String,
        /// The message of git.
        cause: String,
    },
    /// A notes ref leads to something else than notes, or to a note that cannot be used.
    #[error("cannot use {reference} of {url}: {cause}; delete the note, or the ref")]
    Notes {
        /// The address.
        url: String,
        /// The ref.
        reference: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The repository does not let us change a branch.
    #[error(
        "{url} refused the push to {reference}: {cause}; let the daemon's user push to this branch, or \
         have it propose its commits in pull requests"
    )]
    Protected {
        /// The address.
        url: String,
        /// The branch.
        reference: String,
        /// The message of the repository.
        cause: String,
    },
    /// What is not the name of a branch.
    #[error(
        "cannot push to {name:?}: it is not the full name of a branch; use one like refs/heads/main"
    )]
    NotABranch {
        /// The name.
        name: String,
    },
    /// A path that a commit cannot change.
    #[error("cannot change {path:?}: {cause}; choose another path")]
    Edit {
        /// The path, from the repository's root.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A file to be removed that is not there.
    #[error("commit {commit} has no file {path:?} to remove; fetch, and look whether it is gone")]
    NoSuchEntry {
        /// The head.
        commit: String,
        /// The path, from the repository's root.
        path: String,
    },
    /// A commit of which something else cannot be used.
    #[error("cannot make the commit: {cause}; correct this part of it")]
    Commit {
        /// What is wrong.
        cause: String,
    },
    /// A private key that cannot sign.
    #[error("cannot sign commits with this key: {cause}")]
    SigningKey {
        /// What is wrong with it, and what to do.
        cause: String,
    },
    /// Others changed the ref each time before we could.
    #[error(
        "{reference} at {url} changed during each of {attempts} attempts to write it; nothing \
         is lost; retrying later"
    )]
    Contended {
        /// The address.
        url: String,
        /// The ref.
        reference: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// A branch, tag or commit that is not there.
    #[error("no {wanted} in {place}{instead}; push it, or correct the revision")]
    NoSuchRevision {
        /// What was asked for, in words.
        wanted: String,
        /// The repository.
        place: String,
        /// What there is instead, in words; empty if that is not known.
        instead: String,
    },
    /// A branch or tag that is there, and leads to no commit.
    #[error(
        "{wanted} in {place} is not a commit: {cause}; push another commit to it, or correct the revision"
    )]
    NotACommit {
        /// What was asked for, in words.
        wanted: String,
        /// The repository.
        place: String,
        /// What it is.
        cause: String,
    },
    /// A commit or a tag whose signature is not accepted.
    #[error("{what} {fault}")]
    Unverified {
        /// The commit or the tag, and who made it.
        what: String,
        /// What is wrong with its signature, and what to do.
        fault: SignatureFault,
    },
    /// The fleet's path is not a directory at this commit.
    #[error(
        "commit {commit} has no directory {path:?}; correct the fleet's path, or add the directory"
    )]
    NoSuchPath {
        /// The commit.
        commit: String,
        /// The path, from the repository's root.
        path: String,
    },
    /// Two commits that cannot be merged, since neither they nor their ancestors meet.
    #[error(
        "commit {head} has no history in common with {base}; recreate its branch from the branch \
         it is to be merged into"
    )]
    Unrelated {
        /// What was to be merged.
        head: String,
        /// What it was to be merged onto.
        base: String,
    },
    /// A part of the history that a clone lacks.
    #[error(
        "{missing} is not in {place}, which is a shallow clone; fetch the whole history: `git fetch --unshallow`, or in CI \
         `fetch-depth: 0` for actions/checkout, `GIT_DEPTH: 0` in GitLab, `fetchDepth: 0` in Azure Pipelines, \
         `depth: full` in Bitbucket"
    )]
    CutOff {
        /// What is missing, in words.
        missing: String,
        /// The clone.
        place: String,
    },
    /// A file or directory on this machine that is not there.
    #[error("{path}: no such file or directory")]
    NoSuchFile {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A pipe, a socket or a device: reading one may never end.
    #[error("{path} is neither a file nor a directory")]
    NotAFile {
        /// The path as it was given.
        path: PathBuf,
    },
    /// Another process, or another mirror in this one, works in the directory.
    #[error(
        "the mirror {dir} is in use by another process; stop that one, or set CAPSTAN_CACHE to \
         another directory for this one"
    )]
    Busy {
        /// The mirror's directory.
        dir: PathBuf,
    },
    /// What a stranger proposes cannot be read, which concerns nothing else.
    #[error("the commits of the pull request cannot be read: {cause}; correct them and push again")]
    Candidate {
        /// What is wrong with them.
        cause: String,
    },
    /// The objects in a repository of ours cannot be read.
    #[error("the git objects in {dir} are damaged: {cause}; the next fetch copies them again")]
    Damaged {
        /// The repository.
        dir: PathBuf,
        /// The message of git.
        cause: String,
    },
    /// Objects of the repository itself cannot be read: a new copy has the same fault.
    #[error(
        "the git objects of {url} cannot be read: {cause}; check the repository with `git fsck`"
    )]
    Broken {
        /// The address.
        url: String,
        /// The message of git.
        cause: String,
    },
    /// The local file system refuses.
    #[error("cannot use {path}: {cause}; fix its permissions or free some space; retrying")]
    Disk {
        /// The file or directory.
        path: PathBuf,
        /// The message of the system.
        cause: String,
    },
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unreachable { .. }
            | Self::Directory { .. }
            | Self::NoRepository { .. }
            | Self::Download { .. }
            | Self::Pack { .. }
            | Self::Push { .. }
            | Self::Damaged { .. }
            | Self::Disk { .. } => ErrorClass::Transient,
            Self::Denied { .. }
            | Self::Refused { .. }
            | Self::Protected { .. }
            | Self::Unauthenticated { .. }
            | Self::Forbidden { .. }
            | Self::SignIn { .. }
            | Self::HostKey { .. } => ErrorClass::Denied,
            Self::Contended { .. } | Self::Busy { .. } | Self::Vanished { .. } => {
                ErrorClass::Conflict
            }
            Self::Address { .. }
            | Self::NotGit { .. }
            | Self::Redirected { .. }
            | Self::Certificate { .. }
            | Self::TooLarge { .. }
            | Self::Unusable { .. }
            | Self::Pattern { .. }
            | Self::Unverified { .. }
            | Self::NoSuchPath { .. }
            | Self::NoSuchFile { .. }
            | Self::NotAFile { .. }
            | Self::Broken { .. }
            | Self::Notes { .. }
            | Self::NotABranch { .. }
            | Self::Edit { .. }
            | Self::Commit { .. }
            | Self::SigningKey { .. }
            | Self::Candidate { .. }
            | Self::Unrelated { .. } => ErrorClass::Invalid,
            Self::NoSuchRevision { .. }
            | Self::NotACommit { .. }
            | Self::NoSuchEntry { .. }
            | Self::CutOff { .. }
            | Self::Absent { .. } => ErrorClass::Gone,
            Self::Credential(cause) => cause.class(),
        }
    }

    pub(super) fn disk(path: &Path, cause: &std::io::Error) -> Self {
        Self::Disk {
            path: path.to_owned(),
            cause: cause.to_string(),
        }
    }

    pub(super) fn damaged(repository: &git2::Repository, cause: &git2::Error) -> Self {
        let (dir, cause) = (repository.path().to_owned(), cause.message().to_owned());
        if NO_FILES.iter().any(|words| cause.contains(words)) {
            // Nothing is known of the objects.
            return Self::Disk { path: dir, cause };
        }
        Self::Damaged { dir, cause }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn who_may_open_no_more_files_has_no_damaged_objects() {
        let dir = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init_bare(dir.path()).unwrap();
        let of = |words: &str| Error::damaged(&repository, &git2::Error::from_str(words));
        for words in [
            "failed to open 'x': Too many open files",
            "No file descriptors available",
        ] {
            assert!(matches!(of(words), Error::Disk { .. }), "{words}");
        }
        assert!(matches!(of("object is corrupt"), Error::Damaged { .. }));
    }
}
