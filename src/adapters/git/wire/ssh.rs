//! Git over SSH: the `ssh` program, as git runs it.
//!
//! In: where a repository is, and a credential. Out: a running program. With a credential, ssh uses its
//! key and its known hosts and nothing else of this machine: no agent, no configuration. Without one, it is
//! the ssh of whoever runs Capstan. It never asks anything.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use tempfile::{NamedTempFile, TempDir};
use tokio::process::Command;

use super::fault::Fault;
use super::service::Service;
use super::ssh_error::{Hosts, keyscan};
use super::ssh_process::Process;
use crate::adapters::git::Error;
use crate::adapters::git::access::Access;
use crate::adapters::git::address::{Reach, SshPlace};
use crate::adapters::git::credential::Credential;

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
    let unwritten =
        |cause: std::io::Error| Fault::Known(Error::disk(&std::env::temp_dir(), &cause));
    let dir = tempfile::tempdir().map_err(unwritten)?;
    let identity = written(dir.path(), identity).map_err(unwritten)?;
    let known = written(dir.path(), known).map_err(unwritten)?;
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

/// A file that only its owner may read, which ssh insists on.
fn written(dir: &Path, content: &[u8]) -> std::io::Result<std::path::PathBuf> {
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
    use super::quoted;

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
