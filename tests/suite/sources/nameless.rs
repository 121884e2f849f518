//! A pod of OpenShift as far as a machine can play it: a user ID without a name, group 0, and a read-only root.

use std::path::Path;
use std::process::Command;

use super::repository::{Repository, has};
use super::sshd::Sshd;
use crate::kubernetes::is_required;
use crate::running::Running;

/// A user ID as OpenShift gives it to a namespace.
const UID: &str = "1000650000";

/// Makes all but one directory read-only, and becomes another user.
const POD: &str = r#"
    mount --bind "$POD" "$POD"
    mount -o remount,bind,ro /
    if touch /etc/capstan-was-here; then exit 9; fi
    exec setpriv --reuid "$POD_UID" --regid 0 --clear-groups "$@"
"#;

/// A command that runs like the processes of a pod, with one writable directory; `None` if this machine cannot play one.
pub(crate) fn in_pod(dir: &Path) -> Option<Command> {
    if !has("unshare", "util-linux") || !has("setpriv", "util-linux") {
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-e",
            "-c",
            POD,
            "sh",
        ])
        .env("POD", dir)
        .env("POD_UID", UID);
    Some(command)
}

/// Returns true if a pod can be played here, which takes root, and the library that the image has.
pub(crate) fn can_play(dir: &Path) -> bool {
    let id = |command: &mut Command| {
        let output = command.args(["id", "-u"]).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let is_other = in_pod(dir).and_then(|mut pod| id(&mut pod));
    if is_other.is_none_or(|uid| uid.trim() != UID) {
        eprintln!("skipped: needs root, and mounts of its own");
        return false;
    }
    let loaded = Command::new("true")
        .env("LD_PRELOAD", "libnss_wrapper.so")
        .output();
    let has_wrapper = loaded.is_ok_and(|output| output.stderr.is_empty());
    if !has_wrapper {
        assert!(
            !is_required("nss-wrapper"),
            "CAPSTAN_REQUIRE=nss-wrapper, but there is none"
        );
        eprintln!("skipped: needs libnss_wrapper.so; install the package libnss-wrapper");
    }
    has_wrapper
}

fn write(file: &Path, content: &[u8]) {
    std::fs::write(file, content).expect("written");
}

/// Makes a directory and all in it belong to the user of the pod.
pub(crate) fn hand_over(dir: &Path) {
    let status = Command::new("chown")
        .arg("-R")
        .arg(format!("{UID}:0"))
        .arg(dir)
        .status();
    assert!(status.expect("chown runs").success());
}

#[test]
fn a_user_without_a_name_fetches_over_ssh_with_a_read_only_root() {
    let dir = tempfile::tempdir().expect("a directory");
    if !can_play(dir.path()) {
        return;
    }
    let Some(server) = Sshd::start() else { return };
    let repository = Repository::new();
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n";
    repository.push("main", map);
    let credential = dir.path().join("credential");
    for part in ["credential", "tmp", "home"] {
        std::fs::create_dir(dir.path().join(part)).expect("made");
    }
    let known = format!("[127.0.0.1]:{} {}\n", server.port, server.public("host"));
    write(&credential.join("identity"), &server.key("client"));
    write(&credential.join("known_hosts"), known.as_bytes());
    // The program is as large as the machine's own; a copy can be read by everybody.
    let program = dir.path().join("capstan");
    std::fs::copy(env!("CARGO_BIN_EXE_capstan"), &program).expect("copied");
    hand_over(dir.path());
    let mut command = in_pod(dir.path()).expect("it was played before");
    command
        .arg(&program)
        .args(["run", "--embedded", "--source"])
        .arg(server.url(repository.path()))
        .env("CAPSTAN_SOURCE_CREDENTIAL", &credential)
        .env("CAPSTAN_CACHE", dir.path().join("home/cache"))
        .env("HOME", dir.path().join("home"))
        .env("TMPDIR", dir.path().join("tmp"));
    let daemon = Running::spawn(command);
    daemon.wait("INFO applying");
    let (_, said) = daemon.stop();
    assert!(!said.contains("No user exists"), "{said}");
}
