//! Git over SSH: the `ssh` program, as git runs it.
//!
//! In: where a repository is, and a credential. Out: a running program. With a credential, ssh uses its
//! key and its known hosts and nothing else of this machine: no agent, no configuration. Without one, it is
//! the ssh of whoever runs Capstan. It never asks anything.
//!
//! OpenShift runs pods as user IDs without a name, and ssh refuses to run as one. Then a library that Red Hat recommends for such
//! pods, `libnss_wrapper.so`, gives ssh a name.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

use tempfile::{NamedTempFile, TempDir};
use tokio::process::Command;

use super::fault::Fault;
use super::service::Service;
use super::ssh_error::{Hosts, WRAPPER, keyscan};
use super::ssh_process::Process;
use crate::adapters::git::Error;
use crate::adapters::git::access::Access;
use crate::adapters::git::address::{Reach, SshPlace};
use crate::adapters::git::credential::Credential;

/// The users that the system knows.
const USERS: &str = "/etc/passwd";

/// Starts the service of the repository.
pub(super) fn start(
    shown: &str,
    place: &SshPlace,
    access: &Access,
    credential: &Credential,
    service: Service,
) -> Result<Process, Fault> {
    let mut command = Command::new("ssh");
    command.args(["-T", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes"]);
    let seconds = access.patience.connect.as_secs().max(1);
    command.arg("-o").arg(format!("ConnectTimeout={seconds}"));
    let is_own = access.credentials.is_none() && access.reach == Reach::Anywhere;
    let files = match is_own {
        true => None,
        false => Some(confined(&mut command, shown, place, credential)?),
    };
    let files = named(&mut command, files)?;
    if let Some(port) = place.port {
        command.arg("-p").arg(port.to_string());
    }
    command.arg("--").arg(match &place.user {
        Some(user) => format!("{user}@{}", place.host),
        None => place.host.clone(),
    });
    command.arg(format!("{} {}", service.name(), quoted(&place.path)));
    let hosts = Hosts {
        shown: shown.to_owned(),
        host: place.host.clone(),
        port: place.port,
        known: credential.known_hosts.clone().filter(|_| !is_own),
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    Process::start(command, access.patience, hosts, files)
}

/// Makes ssh use the key and the known hosts of a credential alone. The files are removed with what is
/// returned.
fn confined(
    command: &mut Command,
    shown: &str,
    place: &SshPlace,
    credential: &Credential,
) -> Result<TempDir, Fault> {
    let missing = |key: &str, help: &str| {
        Fault::Known(Error::Unusable {
            url: shown.to_owned(),
            cause: format!("an SSH address needs the key {key}: {help}"),
        })
    };
    let identity = credential.identity.as_ref();
    let identity =
        identity.ok_or_else(|| missing("identity", "a private key without passphrase"))?;
    let known = credential.known_hosts.as_ref();
    let known = known.ok_or_else(|| {
        let scan = keyscan(&place.host, place.port);
        missing(
            "known_hosts",
            &format!("the server's public key, as `{scan}` prints it"),
        )
    })?;
    let dir = tempfile::tempdir().map_err(|cause| unwritten(&cause))?;
    let identity = written(dir.path(), identity).map_err(|cause| unwritten(&cause))?;
    let known = written(dir.path(), known).map_err(|cause| unwritten(&cause))?;
    command.args(["-F", "none"]);
    for option in [
        "IdentitiesOnly=yes".to_owned(),
        "IdentityAgent=none".to_owned(),
        "StrictHostKeyChecking=yes".to_owned(),
        "GlobalKnownHostsFile=/dev/null".to_owned(),
        "UpdateHostKeys=no".to_owned(),
        "ControlPath=none".to_owned(),
        format!("UserKnownHostsFile=\"{}\"", known.display()),
        format!("IdentityFile=\"{}\"", identity.display()),
    ] {
        command.arg("-o").arg(option);
    }
    Ok(dir)
}

/// Makes ssh know a name of its user, if the system knows none. Its files are removed with what is returned.
fn named(command: &mut Command, files: Option<TempDir>) -> Result<Option<TempDir>, Fault> {
    let (Ok(process), Ok(users)) = (fs::metadata("/proc/self"), fs::read_to_string(USERS)) else {
        return Ok(files);
    };
    let (uid, gid) = (process.uid(), process.gid());
    if has_user(&users, uid) {
        return Ok(files);
    }
    let dir = files
        .map_or_else(tempfile::tempdir, Ok)
        .map_err(|cause| unwritten(&cause))?;
    let user = format!(
        "capstan:x:{uid}:{gid}::{}:/bin/false\n",
        dir.path().display()
    );
    let users = written(dir.path(), user.as_bytes()).map_err(|cause| unwritten(&cause))?;
    command
        .env("LD_PRELOAD", WRAPPER)
        .env("NSS_WRAPPER_PASSWD", users)
        .env("NSS_WRAPPER_GROUP", "/etc/group");
    Ok(Some(dir))
}

/// Returns true if a user database has this user ID.
fn has_user(users: &str, uid: u32) -> bool {
    let ids = users.lines().filter_map(|line| line.split(':').nth(2));
    ids.filter_map(|id| id.parse().ok())
        .any(|id: u32| id == uid)
}

fn unwritten(cause: &io::Error) -> Fault {
    Fault::Known(Error::disk(&std::env::temp_dir(), cause))
}

/// A file that only its owner may read, which ssh insists on.
fn written(dir: &Path, content: &[u8]) -> io::Result<std::path::PathBuf> {
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(content)?;
    let (_, path) = file.keep()?;
    Ok(path)
}

/// For the shell of the server, as git does it.
fn quoted(path: &str) -> String {
    let inner = path.replace('\'', r"'\''").replace('!', r"'\!'");
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::{has_user, quoted};

    #[test]
    fn a_user_is_found_by_its_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\ncapstan:x:65532:65532::/:/bin/sh\n";
        assert!(has_user(users, 0) && has_user(users, 65532));
        assert!(!has_user(users, 1_000_650_000) && !has_user(users, 6553));
    }

    #[test]
    fn a_path_is_one_word_for_the_shell_of_the_server() {
        for (path, expected) in [
            ("/srv/r.git", "'/srv/r.git'"),
            ("a'b; rm -rf /", r"'a'\''b; rm -rf /'"),
            ("a!b", r"'a'\!'b'"),
        ] {
            assert_eq!(quoted(path), expected);
        }
    }
}
