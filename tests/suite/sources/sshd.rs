//! `sshd` on loopback, as the current user, with keys of its own.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::repository::has;
use crate::patience::until;

/// A running `sshd`, which is killed when this is dropped.
pub(super) struct Sshd {
    dir: TempDir,
    pub(super) port: u16,
    server: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

impl Sshd {
    /// `None` without the program.
    pub(super) fn start() -> Option<Self> {
        if !has("sshd", "openssh-server") || !has("ssh", "openssh-client") || !has("git", "git") {
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["host", "client", "stranger"] {
            keygen(
                &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"],
                &dir.path().join(name),
            );
        }
        if user() == "root" {
            // Where sshd, run by root, separates its privileges.
            std::fs::create_dir_all("/run/sshd").expect("a directory");
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .local_addr()
            .expect("bound")
            .port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nAuthorizedKeysFile {0}/client.pub\n\
             StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nLogLevel ERROR\n",
            dir.path().display()
        );
        let file = dir.path().join("config");
        std::fs::write(&file, config).expect("written");
        let server = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd runs");
        let listens = || TcpStream::connect(("127.0.0.1", port)).ok();
        drop(until(listens, || "sshd does not listen".to_owned()));
        Some(Self { dir, port, server })
    }

    /// The private key of this name.
    pub(super) fn key(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path().join(name)).expect("readable")
    }

    /// The type and the public key of this name.
    pub(super) fn public(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.dir.path().join(format!("{name}.pub")));
        let text = text.expect("readable");
        text.split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The fingerprint of the key of this name.
    pub(super) fn fingerprint(&self, name: &str) -> String {
        let file = self.dir.path().join(format!("{name}.pub"));
        let output = Command::new("ssh-keygen")
            .args(["-l", "-f"])
            .arg(file)
            .output();
        let text = String::from_utf8(output.expect("ssh-keygen runs").stdout).expect("text");
        text.split_whitespace()
            .nth(1)
            .expect("a fingerprint")
            .to_owned()
    }

    /// `known` with its hosts hashed.
    pub(super) fn hashed(&self, known: &str) -> String {
        let file = self.dir.path().join("hashed");
        std::fs::write(&file, known).expect("written");
        keygen(&["-q", "-H", "-f"], &file);
        std::fs::read_to_string(file).expect("readable")
    }

    pub(super) fn url(&self, repository: &Path) -> String {
        let path: PathBuf = repository.to_owned();
        format!("ssh://{}@127.0.0.1:{}{}", user(), self.port, path.display())
    }
}

fn keygen(arguments: &[&str], file: &Path) {
    let done = Command::new("ssh-keygen")
        .args(arguments)
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(done.expect("ssh-keygen runs").success());
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id runs");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}
