//! The files for CI systems and for pre-commit run commands that exist, on a fleet that passes and on one that does
//! not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use capstan::model::cut;
use serde_json::Value as Json;
use tempfile::TempDir;

use super::{file, run, yaml};
use crate::cli::stdout;

/// All texts below a value that hold a script with Capstan.
fn scripts(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::String(text)
            if ["validate ", "plan ", "rehearse "]
                .iter()
                .any(|it| text.contains(it)) =>
        {
            found.push(text.clone());
        }
        Json::Array(items) => items.iter().for_each(|item| scripts(item, found)),
        Json::Object(map) => map.values().for_each(|item| scripts(item, found)),
        _ => {}
    }
}

/// A script in which Capstan runs here instead of in a container.
fn without_container(script: &str) -> String {
    let lines = script.lines().map(|line| match line.find("docker run") {
        Some(start) => {
            let image = ["\"$IMAGE\"", "\"$(image)\"", "\"$CAPSTAN_IMAGE\""].iter();
            let end = image
                .filter_map(|image| Some(line.find(image)? + image.len()))
                .next();
            format!(
                "{}capstan{}",
                line.get(..start).expect("a start"),
                end.and_then(|end| line.get(end..)).expect("an image")
            )
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn fleet(forge: &str) -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8");
    let id = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
    stdout(
        &[
            "init",
            path,
            "--forge",
            forge,
            "--subscription-id",
            id,
            "--tenant-id",
            id,
        ],
        0,
    );
    directory
}

/// Commits what is in the directory, as what the pull request is to be merged into; returns the commit.
fn commit(fleet: &Path) -> String {
    let repository = git2::Repository::init(fleet).expect("a repository");
    let mut index = repository.index().expect("an index");
    index
        .add_all(["*"], git2::IndexAddOption::DEFAULT, None)
        .expect("added");
    let tree = index.write_tree().expect("written");
    let tree = repository.find_tree(tree).expect("there");
    let who = git2::Signature::now("Ada", "ada@example.com").expect("a person");
    let made = repository.commit(Some("HEAD"), &who, &who, "begin", &tree, &[]);
    let commit = made.expect("committed");
    let base = repository.reference("refs/remotes/origin/main", commit, true, "fetched");
    base.expect("pointed");
    commit.to_string()
}

/// A misspelt field in the cluster of a fleet.
fn spoil(fleet: &Path) {
    let cluster = fleet.join("clusters/dev-1.yaml");
    let text = fs::read_to_string(&cluster).expect("readable");
    fs::write(&cluster, text.replace("vmSize", "vmsize")).expect("written");
}

/// Whether all scripts of a CI file succeed, each line of a failed one ending it; and what they print.
fn passes(fleet: &Path, scripts: &[String], variables: &BTreeMap<&str, &str>) -> (bool, String) {
    let mut log = String::new();
    for script in scripts {
        let output = run(&["sh", "-ec", &without_container(script)], fleet, variables);
        log.push_str(&String::from_utf8_lossy(&output.stdout));
        assert_ne!(
            output.status.code(),
            Some(2),
            "the command line is wrong: {output:?}"
        );
        if !output.status.success() {
            return (false, log);
        }
    }
    (true, log)
}

#[test]
fn the_ci_files_check_a_fleet() {
    for (forge, path, sign) in [
        (
            "github",
            ".github/workflows/capstan.yml",
            "::error file=clusters/dev-1.yaml,",
        ),
        (
            "azure-devops",
            "azure-pipelines.yml",
            "##vso[task.logissue type=error;sourcepath=clusters/dev-1.yaml;",
        ),
        ("gitlab", ".gitlab-ci.yml", "error[S01]"),
        ("bitbucket", "bitbucket-pipelines.yml", "error[S01]"),
    ] {
        let fleet = fleet(forge);
        let base = commit(fleet.path());
        let variables: BTreeMap<&str, &str> = [
            ("GITHUB_BASE_REF", "main"),
            ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("BITBUCKET_PR_DESTINATION_COMMIT", cut::head(&base, 12)),
        ]
        .into();
        let mut found = Vec::new();
        scripts(&yaml(&fleet.path().join(path)), &mut found);
        assert!(found.len() >= 3, "{forge}: {found:?}");
        let (passed, log) = passes(fleet.path(), &found, &variables);
        assert!(passed && log.contains("no fleet change"), "{forge}: {log}");
        spoil(fleet.path());
        let (passed, log) = passes(fleet.path(), &found, &variables);
        assert!(!passed && log.contains(sign), "{forge}: {log}");
    }
}

#[test]
fn gitlab_gets_its_report_when_the_check_fails() {
    let fleet = fleet("gitlab");
    spoil(fleet.path());
    let ci = yaml(&fleet.path().join(".gitlab-ci.yml"));
    let job = &ci["capstan"];
    assert_eq!(job["artifacts"]["when"], "always");
    let mut found = Vec::new();
    scripts(&ci, &mut found);
    passes(fleet.path(), &found, &BTreeMap::new());
    let report = job["artifacts"]["reports"]["codequality"]
        .as_str()
        .expect("a path");
    let report = fs::read_to_string(fleet.path().join(report)).expect("it was written");
    let report: Json = serde_json::from_str(&report).expect("JSON");
    let first = &report[0];
    assert_eq!(first["location"]["path"], "clusters/dev-1.yaml");
    assert_eq!(first["severity"], "critical");
    assert!(first["fingerprint"].is_string() && first["description"].is_string());
}

#[test]
fn the_action_passes_its_inputs_as_arguments() {
    let action = yaml(&file("examples/ci/action.yml"));
    let step = &action["runs"]["steps"][0];
    let inputs = action["inputs"].as_object().expect("inputs");
    let from = |input: &str| {
        let mut variables = step["env"].as_object().expect("variables").iter();
        let wanted = format!("${{{{ inputs.{input} }}}}");
        let found = variables.find(|(_, value)| **value == wanted);
        found.expect("each input has a variable").0.as_str()
    };
    assert_eq!(
        inputs.len(),
        step["env"].as_object().map_or(0, serde_json::Map::len)
    );
    let script = step["run"].as_str().expect("a script");
    assert!(!script.contains("${{"), "nothing is pasted into the script");
    let fleet = fleet("none");
    commit(fleet.path());
    let run = |path: &str, strict: &str| {
        let variables = [
            ("image", "i"),
            ("path", path),
            ("level", "warning"),
            ("strict", strict),
            ("against", "origin/main"),
        ];
        let variables = variables.map(|(input, value)| (from(input), value)).into();
        passes(fleet.path(), &[script.to_owned()], &variables)
    };
    let (passed, log) = run(".", "true");
    assert!(passed && log.contains("no fleet change"), "{log}");
    spoil(fleet.path());
    let (passed, log) = run("clusters", "false");
    assert!(!passed && log.contains("::error file="), "{log}");
}

#[test]
fn pre_commit_runs_a_command_that_exists() {
    let hooks = yaml(&file(".pre-commit-hooks.yaml"));
    let hook = &hooks[0];
    assert_eq!(
        (&hook["id"], &hook["pass_filenames"]),
        (&"capstan-validate".into(), &false.into())
    );
    let entry = hook["entry"].as_str().expect("a command");
    let words: Vec<&str> = entry.split(' ').collect();
    let fleet = fleet("none");
    assert!(run(&words, fleet.path(), &BTreeMap::new()).status.success());
    spoil(fleet.path());
    assert_eq!(
        run(&words, fleet.path(), &BTreeMap::new()).status.code(),
        Some(1)
    );
    let files = regex::Regex::new(hook["files"].as_str().expect("a pattern")).expect("valid");
    assert!(files.is_match("clusters/a.yaml") && !files.is_match("README.md"));
}

/// A hostile repository, through the binary: no stream of any format has a command that it wrote.
#[test]
fn no_stream_carries_a_command_of_the_repository() {
    let directory = TempDir::new().expect("a directory");
    let name = "##vso[task.complete result=Succeeded;]done";
    let text = format!(
        "::set-output name=a::b\n##[group]x\napiVersion: '{name}'\nkind: \"::error::x\\n##[error]y\"\nmetadata: {{name: '{name}', '{name}': ##vso[task.x]}}\n"
    );
    let path = directory.path().join("##vso[task.y]a.yaml");
    fs::write(path, &text).expect("written");
    let definition =
        fs::read_to_string(file("examples/quickstart/cluster.yaml")).expect("readable");
    let definition = definition.replace("location:", &format!("'{name}': '{name}'\n  location:"));
    fs::write(directory.path().join("b.yaml"), definition).expect("written");
    let empty = TempDir::new().expect("a directory");
    let empty = empty.path().to_str().expect("UTF-8");
    let commands: [&[&str]; 12] = [
        &["capstan", "validate"],
        &["capstan", "validate", "--format", "json"],
        &["capstan", "validate", "--format", "sarif"],
        &["capstan", "validate", "--format", "gitlab"],
        &["capstan", "validate", "--format", "azure"],
        &["capstan", "validate", "--format", "github"],
        &["capstan", "render"],
        &["capstan", "plan"],
        &["capstan", "plan", "--against", "./b.yaml"],
        &["capstan", "plan", "--against", empty, "--format", "json"],
        &[
            "capstan",
            "plan",
            "--against",
            empty,
            "--format",
            "markdown",
        ],
        &["capstan", "plan", "--against", empty],
    ];
    for command in commands {
        let output = run(command, directory.path(), &BTreeMap::new());
        let log = [output.stdout, output.stderr].concat();
        let log = String::from_utf8(log).expect("UTF-8").to_lowercase();
        for line in log.lines() {
            let ours = [
                "##vso[task.logissue type=",
                "::error file=",
                "::warning file=",
                "::notice file=",
            ];
            let line = ours
                .iter()
                .find_map(|ours| line.strip_prefix(ours))
                .unwrap_or(line);
            let is_command = line.contains("##vso[")
                || line.contains("##[")
                || line.trim_start().starts_with("::");
            assert!(!is_command, "{command:?}: {line}");
        }
    }
}
