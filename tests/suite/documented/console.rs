//! A `console` block whose lines all are commands, followed by a `text` block, shows a session: the
//! commands run in the repository's directory, and the `text` block is what they print.

use std::path::Path;
use std::process::Command;

/// The page with the output of every session as it is now.
pub(super) fn renew(page: &str) -> String {
    let mut lines = page.lines().peekable();
    let mut out = String::new();
    while let Some(line) = lines.next() {
        write(&mut out, line);
        if line != "```console" {
            continue;
        }
        let mut commands = Vec::new();
        for line in lines.by_ref() {
            write(&mut out, line);
            if line == "```" {
                break;
            }
            commands.push(line.strip_prefix("$ "));
        }
        while lines.next_if_eq(&"").is_some() {
            write(&mut out, "");
        }
        let Some(commands) = commands.into_iter().collect::<Option<Vec<&str>>>() else {
            continue;
        };
        if lines.next_if_eq(&"```text").is_some() {
            lines.by_ref().find(|line| *line == "```");
            let output: String = commands.into_iter().map(output).collect();
            write(&mut out, "```text");
            write(&mut out, output.trim_end());
            write(&mut out, "```");
        }
    }
    out
}

fn write(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// What a command prints, on both streams.
fn output(command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_capstan"));
    let mut path = program
        .parent()
        .expect("a directory")
        .as_os_str()
        .to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(super::root())
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env_remove("CAPSTAN_LOG")
        .output()
        .expect("sh runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn only_sessions_are_renewed() {
    let page = "a\n```console\n$ echo one\n$ echo two # ways\n```\n\n```text\nold\n```\n";
    let renewed = page.replace("old", "one\ntwo");
    assert_eq!(renew(page), renewed);
    for kept in [
        "```console\n$ exit 9\n```\nwords\n```text\nold\n```\n",
        "```console\n$ exit 9\nits output\n```\n```text\nold\n```\n",
        "```text\nold\n```\n",
    ] {
        assert_eq!(renew(kept), kept);
    }
}
