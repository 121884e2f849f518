//! `capstan init`: what it writes is a fleet, and what exists stays as it is.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::cli::{stderr, stdout};

const IDS: [&str; 4] = [
    "--subscription-id",
    "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
    "--tenant-id",
    "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31",
];

fn init(path: &Path, flags: &[&str]) -> String {
    let path = path.to_str().expect("UTF-8");
    stdout(&[&["init", path], flags].concat(), 0)
}

fn validate(path: &Path, code: i32) -> String {
    stdout(&["validate", path.to_str().expect("UTF-8")], code)
}

/// The commands of the blocks of a page that write a fleet, with a program that stops at the first failure.
fn script(page: &str) -> String {
    let blocks = page.split("```console\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    let blocks = blocks.filter(|block| block.contains("capstan init"));
    let commands = blocks.flat_map(str::lines);
    let commands: Vec<&str> = commands
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    format!("set -e\n{}\n", commands.join("\n"))
}

#[test]
fn who_follows_the_pages_has_three_clusters_in_two_environments() {
    for page in [
        include_str!("../../README.md"),
        include_str!("../../docs/first-fleet.md"),
    ] {
        let directory = TempDir::new().expect("a directory");
        let program = Path::new(env!("CARGO_BIN_EXE_capstan")).parent();
        let path = format!(
            "{}:{}",
            program.expect("a directory").display(),
            std::env::var("PATH").expect("PATH")
        );
        let output = Command::new("sh")
            .args(["-c", &script(page)])
            .current_dir(directory.path())
            .env("PATH", path)
            .output()
            .expect("sh runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(
            printed.contains("0 errors, 0 warnings in 3 definitions"),
            "{printed}"
        );
        assert!(printed.contains("ready after"), "{printed}");
        let fleet = directory.path().join("my-fleet");
        let count = |name: &str| fs::read_dir(fleet.join(name)).expect(name).count();
        assert_eq!((count("clusters"), count("overlays")), (3, 2));
    }
}

#[test]
fn a_placeholder_is_reported_once_at_its_line() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8");
    let said = stderr(&["init", path], 0);
    assert!(said.contains("To fill in:"), "{said}");
    assert_eq!(said.matches("overlays/dev.yaml:").count(), 2, "{said}");
    let found = validate(directory.path(), 1);
    assert_eq!(
        found.matches("--> overlays/dev.yaml:").count(),
        2,
        "{found}"
    );
    let overlay = directory.path().join("overlays/dev.yaml");
    let text = fs::read_to_string(&overlay).expect("the overlay");
    fs::write(&overlay, text.replace("FILL-IN", IDS[1])).expect("it is written");
    validate(directory.path(), 0);
}

#[test]
fn files_that_exist_stay_as_they_are() {
    let directory = TempDir::new().expect("a directory");
    let mine = directory.path().join("clusters/dev-1.yaml");
    fs::create_dir_all(mine.parent().expect("clusters")).expect("it is created");
    fs::write(&mine, "# mine\n").expect("it is written");
    let printed = init(directory.path(), &IDS);
    assert!(printed.contains("kept   "), "{printed}");
    assert_eq!(fs::read_to_string(&mine).expect("it is there"), "# mine\n");
    let again = init(directory.path(), &IDS);
    assert!(!again.contains("wrote"), "{again}");
}

#[test]
fn the_ci_file_is_that_of_the_remote_at_the_top_of_the_repository() {
    for (remote, file) in [
        ("git@github.com:a/b.git", ".github/workflows/capstan.yml"),
        ("https://gitlab.com/a/b", ".gitlab-ci.yml"),
        ("https://codeberg.org/a/b", ".gitea/workflows/capstan.yml"),
        ("https://dev.azure.com/o/p/_git/r", "azure-pipelines.yml"),
        ("git@bitbucket.org:a/b.git", "bitbucket-pipelines.yml"),
    ] {
        let directory = TempDir::new().expect("a directory");
        let repository = git2::Repository::init(directory.path()).expect("a repository");
        repository.remote("origin", remote).expect("a remote");
        init(&directory.path().join("clouds/fleet"), &IDS);
        let text = fs::read_to_string(directory.path().join(file)).expect(file);
        assert!(text.contains("validate clouds/fleet"), "{text}");
        let path = std::sync::Arc::from(file);
        is_one_document(&path, &text);
        // A fleet at the top of the repository does not read it.
        fs::remove_file(directory.path().join(file)).expect("it is there");
        init(directory.path(), &IDS);
        fs::remove_dir_all(directory.path().join("clouds")).expect("it is there");
        assert!(directory.path().join(file).exists());
        validate(directory.path(), 0);
    }
}

/// GitHub reads the key `on` as it is written.
fn is_one_document(path: &std::sync::Arc<str>, text: &str) {
    let (documents, mut findings) = capstan::yaml::read(path, text.as_bytes());
    findings.retain(|finding| finding.id != "Y19");
    assert_eq!((documents.len(), findings), (1, Vec::new()), "{text}");
}

#[test]
fn no_name_runs_a_command_in_ci() {
    let directory = TempDir::new().expect("a directory");
    let repository = git2::Repository::init(directory.path()).expect("a repository");
    let remote = "git@github.com:a/b.git";
    repository.remote("origin", remote).expect("a remote");
    init(&directory.path().join("it's \"; id #"), &IDS);
    let file = directory.path().join(".github/workflows/capstan.yml");
    let text = fs::read_to_string(&file).expect("it was written");
    assert!(text.contains(r#" rehearse 'it'\''s "; id #'"#), "{text}");
    is_one_document(&"ci.yml".into(), &text);
    let replaced = directory.path().join("${{ github.token }}");
    let said = stderr(&["init", replaced.to_str().expect("UTF-8")], 2);
    assert!(said.contains("rename the directory"), "{said}");
    assert!(!replaced.join("clusters").exists(), "nothing was written");
    let path = directory.path().to_str().expect("UTF-8");
    stderr(&["init", path, "--image", "x\" id"], 2);
}

#[test]
fn a_cluster_that_exists_is_not_added_again_and_another_name_is_suggested() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8");
    init(directory.path(), &[]);
    let said = stderr(
        &["init", path, "--environment", "prod", "--name", "dev-1"],
        0,
    );
    assert!(said.contains("No cluster was added: "), "{said}");
    assert!(said.contains("clusters/dev-1.yaml exists"), "{said}");
    assert!(said.contains("such as --name prod-1."), "{said}");
    let said = stderr(&["init", path, "--environment", "prod"], 0);
    assert!(!said.contains("No cluster"), "{said}");
}

#[test]
fn without_a_known_forge_there_is_no_ci_file_and_words_are_quoted() {
    let directory = TempDir::new().expect("a directory");
    let flags = ["--environment", "no", "--client-id", IDS[1]];
    let printed = init(directory.path(), &[&flags[..], &IDS].concat());
    assert_eq!(printed.lines().count(), 4, "{printed}");
    let found = validate(directory.path(), 0);
    assert!(!found.contains("AzureClusterIdentity"), "{found}");
    let path = directory.path().to_str().expect("UTF-8");
    stderr(&["init", path, "--subscription-id", "mine"], 2);
    stderr(&["init", path, "--name", "Mine"], 2);
}
