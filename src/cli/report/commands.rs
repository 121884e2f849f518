//! What CI systems read as a command in a log, and that no format says one that a repository wrote.
//!
//! The two readers below follow the agent of Azure Pipelines (`Command.TryParse`) and GitHub's runner
//! (`ActionCommand.TryParse` and `TryParseV2`), as facts/forges.md §7d describes them.

use std::sync::Arc;

use super::*;
use crate::compile::Checked;
use crate::model::words::json_document;
use crate::model::{Finding, ObjectId, Severity, Span, Tree};

/// The commands that the agent obeys: `##vso[area.action properties]message` anywhere in a line.
fn of_agent(log: &str) -> Vec<String> {
    let command = |line: &str| {
        let at = line.to_lowercase().find("##vso[")?;
        let (command, _) = line.get(at + "##vso[".len()..)?.split_once(']')?;
        Some(command.split(' ').next().unwrap_or_default().to_owned())
    };
    log.lines().filter_map(command).collect()
}

/// The commands that the runner obeys: `::name properties::message` at the start of a line, and
/// `##[name properties]message` anywhere.
fn of_runner(log: &str) -> Vec<String> {
    let name = |command: &str| command.split(' ').next().unwrap_or_default().to_owned();
    let command = |line: &str| {
        if let Some(rest) = line.trim_start().strip_prefix("::") {
            return rest.split_once("::").map(|(command, _)| name(command));
        }
        let (_, rest) = line.split_once("##[")?;
        rest.split_once(']').map(|(command, _)| name(command))
    };
    log.lines().filter_map(command).collect()
}

const HOSTILE: [&str; 10] = [
    "##vso[task.setvariable variable=PATH]/tmp",
    "x ##VSO[task.complete result=Succeeded;]done",
    "####vso[task.prependpath]/tmp",
    "a\n##vso[task.uploadsummary]/etc/passwd\r\n##[error]x",
    "::set-output name=a::b",
    "  ::add-mask::x\n\t::stop-commands::y",
    "\u{feff}::error::x\u{85}::error::y\u{2028}::error::z",
    "##[set-env name=PATH]/tmp",
    "%0A::error::x%0D##vso[task.setsecret]y%AZP25",
    "`@team <img src=x> \\| x ##vso[task.complete] `]##vso[task.complete];%",
];

/// A finding of each severity with `text` wherever a finding has one, and a file with it.
fn hostile(text: &str) -> (Checked, Tree) {
    let path: Arc<str> = Arc::from(text);
    let of = |severity| Finding {
        severity,
        clusters: vec![text.to_owned()],
        ..Finding::error("Y99", text)
            .at(&Span::new(&path, 1, 1, 3))
            .of(&ObjectId::new(text, text, text, text))
            .help(text)
    };
    let findings = [Severity::Error, Severity::Warning, Severity::Info].map(of);
    // More than GitHub shows.
    let findings = std::iter::repeat_n(findings, 12).flatten().collect();
    let allowed = crate::compile::Allowed {
        finding: Finding::warning("Y98", text).at(&Span::new(&path, 1, 1, 3)),
        reason: text.to_owned(),
        by: Span::new(&path, 1, 1, 3),
    };
    let compiled = Checked {
        findings,
        allowed: vec![allowed],
        ..Checked::default()
    };
    let tree = Tree {
        files: [(path, Arc::from(text.as_bytes()))].into(),
        ..Tree::default()
    };
    (compiled, tree)
}

#[test]
fn no_format_says_a_command_that_a_repository_wrote() {
    for text in HOSTILE {
        let (compiled, tree) = hostile(text);
        let report = Report::of(&compiled);
        let documents = [json(&report), sarif(&report), gitlab(&report)];
        let mut logs: Vec<String> = documents.iter().map(json_document).collect();
        logs.push(super::text(&report, &[&tree], &Style::plain()));
        for log in &logs {
            assert_eq!((of_agent(log), of_runner(log)), (vec![], vec![]), "{log}");
        }
        let ours = github(&report);
        assert_eq!(of_agent(&ours), [""; 0], "{ours}");
        let runner = of_runner(&ours);
        let levels = ["error", "warning", "notice"].map(|level| [level; 10]);
        assert_eq!(runner, levels.concat(), "{ours}");
        let ours = azure(&report);
        assert_eq!(of_runner(&ours), [""; 0], "{ours}");
        assert_eq!(of_agent(&ours), ["task.logissue"; 24], "{ours}");
    }
}

#[test]
fn documents_are_the_same_to_programs() {
    for text in HOSTILE {
        let (compiled, _) = hostile(text);
        let json = json(&Report::of(&compiled));
        let read: serde_json::Value = serde_json::from_str(&json_document(&json)).expect("JSON");
        assert_eq!(read, json);
    }
}

#[test]
fn the_readers_find_commands() {
    assert_eq!(
        of_agent("a ##vso[task.complete result=Failed;]x"),
        ["task.complete"]
    );
    assert_eq!(
        of_runner(" ::error file=a::x\nb ##[group]c"),
        ["error", "group"]
    );
}
