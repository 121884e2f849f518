//! The lines that daemons log have one shape, whoever writes them.

use std::path::Path;
use std::process::Command;

use capstan::adapters::git::{Author, Files};
use jiff::Timestamp;
use serde_json::Value as Json;

use crate::running::Running;

/// Pushes a fleet of one file.
fn push(author: &Author, onto: Option<&str>, text: &str) -> String {
    let files = Files::from([("one.yaml".to_owned(), text.to_owned())]);
    let pushed = author.push("main", onto, &files, "change", Timestamp::UNIX_EPOCH);
    pushed.expect("pushed")
}

/// What a daemon logs that applies a revision, refuses the next, loses its repository and is stopped.
fn logged(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let repository = dir.path().join("config.git");
    let author = Author::init(&repository).expect("a bare repository");
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n";
    let first = push(&author, None, object);
    let source = repository.display().to_string();
    let own = [
        "--source",
        &source,
        "--interval",
        "100ms",
        "--embedded",
        "--speed",
        "1000",
    ];
    let serve = ["--serve", "127.0.0.1:0"];
    let daemon = Running::start(dir.path(), &[&own[..], &serve, arguments].concat());
    daemon.wait("sync: ");
    push(&author, Some(&first), "kind: [");
    daemon.wait("not applied");
    std::fs::rename(&repository, dir.path().join("away")).expect("renamed");
    daemon.wait("config.git");
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    said
}

#[test]
fn every_line_of_text_has_a_time_and_a_level() {
    let said = logged(&[]);
    for line in said.lines() {
        let mut words = line.split_whitespace();
        let time = words.next().and_then(|word| word.parse::<Timestamp>().ok());
        let level = words.next().unwrap_or_default();
        assert!(
            time.is_some() && ["INFO", "WARN", "ERROR"].contains(&level),
            "{line}\n{said}"
        );
        assert!(
            line.contains(" fleet=config namespace=capstan-system"),
            "{line}"
        );
    }
}

#[test]
fn every_line_of_json_has_the_keys_of_its_kind() {
    let said = logged(&["--log-format", "json"]);
    let mut revisions = 0;
    for line in said.lines() {
        let json: Json = serde_json::from_str(line).expect(line);
        let text = |key: &str| json[key].as_str().unwrap_or_default();
        assert!(text("ts").parse::<Timestamp>().is_ok(), "{line}");
        assert!(["info", "warn", "error"].contains(&text("level")), "{line}");
        assert!(
            !text("msg").is_empty() && text("fleet") == "config",
            "{line}"
        );
        revisions += usize::from(text("revision").len() == 40);
    }
    assert!(revisions > 1, "{said}");
}

#[test]
fn a_daemon_that_cannot_begin_says_so_in_the_same_form() {
    let missing = Path::new("/no/such/fleet.yaml");
    let run = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        let command = command.args(["run", "--config"]).arg(missing);
        let output = command.env("CAPSTAN_LOG_FORMAT", format).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let said = run("json");
    let json: Json = serde_json::from_str(&said).expect(&said);
    assert_eq!(json["level"], "error");
    assert!(said.contains("/no/such/fleet.yaml"), "{said}");
    let said = run("yaml");
    assert!(
        said.contains("CAPSTAN_LOG_FORMAT=yaml: unknown format; use text or json"),
        "{said}"
    );
}
