//! The hooks of a repository on this machine. A push into it asks them, as git does: what they
//! refuse is not written.
//!
//! In: a repository and the change of one of its refs. Out: what they object. It does not know how
//! the change is made.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git2::{Oid, Repository};

/// The change of one ref: to `new`, or to nothing, which others must not have moved from `old` meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) reference: &'a str,
    pub(super) old: Option<Oid>,
    pub(super) new: Option<Oid>,
}

impl Change<'_> {
    /// Before and after; zeros for nothing.
    fn ids(&self) -> [String; 2] {
        [self.old, self.new].map(|id| id.unwrap_or(Oid::ZERO_SHA1).to_string())
    }

    /// The line that git writes to `pre-receive` and `post-receive`.
    fn line(&self) -> String {
        let [old, new] = self.ids();
        format!("{old} {new} {}\n", self.reference)
    }
}

/// The hooks of a repository.
pub(super) struct Hooks {
    /// Where they run.
    repository: PathBuf,
    /// Where they are.
    dir: PathBuf,
    /// Where objects are found that the repository does not have yet.
    incoming: PathBuf,
}

impl Hooks {
    /// The hooks of `to`, for objects that come from `from`.
    pub(super) fn of(to: &Repository, from: &Repository) -> Self {
        let configured = to.config().and_then(|all| all.get_path("core.hooksPath"));
        let dir = configured.unwrap_or_else(|_| PathBuf::from("hooks"));
        Self {
            repository: to.path().to_owned(),
            dir: to.path().join(dir),
            incoming: from.path().join("objects"),
        }
    }

    /// Asks whether the change may be made; else the objection.
    pub(super) fn ask(&self, change: Change<'_>) -> Result<(), String> {
        self.run("pre-receive", &[], &change.line())?;
        let [old, new] = change.ids();
        self.run("update", &[change.reference, &old, &new], "")
    }

    /// Tells that the change was made. It is too late to object.
    pub(super) fn notify(&self, change: Change<'_>) {
        drop(self.run("post-receive", &[], &change.line()));
        drop(self.run("post-update", &[change.reference], ""));
    }

    fn run(&self, name: &str, arguments: &[&str], input: &str) -> Result<(), String> {
        let program = self.dir.join(name);
        if !is_program(&program) {
            return Ok(());
        }
        let failed = |cause: std::io::Error| format!("its {name} hook does not run: {cause}");
        let mut child = Command::new(&program)
            .args(arguments)
            .current_dir(&self.repository)
            .env("GIT_DIR", ".")
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.incoming)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A hook need not read its input.
            drop(stdin.write_all(input.as_bytes()));
        }
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let message = [output.stderr, output.stdout].concat();
        Err(objection(name, &String::from_utf8_lossy(&message)))
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// One line: the first that the hook printed.
fn objection(name: &str, message: &str) -> String {
    let message = message.lines().map(str::trim).find(|line| !line.is_empty());
    match message {
        Some(message) => format!("its {name} hook declined: {message}"),
        None => format!("its {name} hook declined"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;
    use crate::adapters::git::fixture::Origin;

    /// Hooks that are all one program: it prints its name, arguments and input, and declines.
    fn hooks(origin: &Origin, name: &str) -> Hooks {
        let script = "#!/bin/sh\n\
            echo \"$(basename \"$0\") $* $(cat) $GIT_DIR $GIT_ALTERNATE_OBJECT_DIRECTORIES\" \
            | tr '\\n' ' '\n\
            exit 1\n";
        let dir = origin.dir.path().join("elsewhere");
        fs::create_dir(&dir).unwrap();
        // Written by another process: a program that anybody holds open for writing does not start.
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(dir.join(name))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        writer
            .stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        assert!(writer.wait().unwrap().success());
        let mut config = origin.repository.config().unwrap();
        config.set_str("core.hooksPath", "elsewhere").unwrap();
        Hooks::of(&origin.repository, &origin.repository)
    }

    fn change() -> Change<'static> {
        Change {
            reference: "refs/notes/x",
            old: None,
            new: Oid::from_bytes(&[0xab; 20]).ok(),
        }
    }

    #[test]
    fn hooks_get_the_input_that_git_gives_them() {
        let (old, new) = ("0".repeat(40), "ab".repeat(20));
        for (name, input) in [
            (
                "pre-receive",
                format!("pre-receive  {old} {new} refs/notes/x ."),
            ),
            ("update", format!("update refs/notes/x {old} {new}  .")),
        ] {
            let message = hooks(&Origin::new(), name).ask(change()).unwrap_err();
            let expected = format!("its {name} hook declined: {input}");
            assert!(message.starts_with(&expected), "{message}");
            assert!(message.ends_with("/objects"), "{message}");
        }
    }

    #[test]
    fn a_file_that_is_no_program_is_no_hook() {
        let origin = Origin::new();
        let hooks = hooks(&origin, "pre-receive");
        let file = origin.dir.path().join("elsewhere/pre-receive");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(hooks.ask(change()), Ok(()));
    }
}
