//! How findings are selected and shown: labels, severities, colours and paths.

use std::path::Path;

use serde_json::Value as Json;

use crate::cli::capstan;
use crate::fleet::DEFINITION;

/// A repository with a sound cluster `one` of prod and a cluster `two` of dev with a mistake and a warning.
fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let fleet = directory.path().join("fleet");
    std::fs::create_dir_all(&fleet).expect("made");
    std::fs::create_dir(directory.path().join(".git")).expect("made");
    let labelled = |name: &str, env: &str| {
        let metadata = format!("metadata:\n  labels: {{env: {env}}}\n  name: {name}");
        let text = DEFINITION.replace("metadata:\n  name: one", &metadata);
        assert!(text.contains("labels"), "{text}");
        text
    };
    std::fs::write(fleet.join("a.yaml"), labelled("one", "prod")).expect("written");
    let two = labelled("two", "dev") + "  vmsize: x\n";
    std::fs::write(fleet.join("b.yaml"), two).expect("written");
    directory
}

/// The exit code, stdout and stderr of the program in a directory.
fn ran(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = capstan(arguments).current_dir(directory).output();
    let output = output.expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().expect("a code");
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn paths_are_relative_to_the_working_directory_and_in_json_to_the_repository() {
    let repository = repository();
    let fleet = repository.path().join("fleet");
    for (directory, path, expected) in [
        (repository.path(), "fleet", "--> fleet/b.yaml:"),
        (&*fleet, ".", "--> b.yaml:"),
        (&*fleet, "b.yaml", "--> b.yaml:"),
    ] {
        let (_, text, _) = ran(directory, &["validate", path]);
        assert!(text.contains(expected), "{expected}: {text}");
        let (_, json, _) = ran(directory, &["validate", path, "--format", "json"]);
        let report: Json = serde_json::from_str(&json).expect("JSON");
        let findings = report["findings"].as_array().expect("findings");
        let mistake = findings.iter().find(|finding| finding["id"] == "S01");
        assert_eq!(mistake.expect("the mistake")["path"], "fleet/b.yaml");
    }
    let explain = ["explain", "ClusterDefinition/one", "spec.location"];
    let (_, text, _) = ran(&fleet, &explain);
    assert!(text.contains(" at a.yaml:"), "{text}");
}

#[test]
fn a_place_in_a_message_is_relative_too() {
    let repository = repository();
    let fleet = repository.path().join("fleet");
    std::fs::copy(fleet.join("a.yaml"), fleet.join("c.yaml")).expect("copied");
    let (_, text, _) = ran(&fleet, &["validate"]);
    assert!(text.contains("it is also defined at a.yaml:"), "{text}");
}

#[test]
fn a_selection_reports_what_concerns_it() {
    let repository = repository();
    let at = repository.path();
    let (code, text, _) = ran(at, &["validate", "fleet", "-l", "env=prod"]);
    assert_eq!(code, 0, "{text}");
    let expected = "1 error, 0 warnings elsewhere in the fleet, which do not concern the selection";
    assert!(text.ends_with(&format!("{expected}\n")), "{text}");
    assert!(text.contains(" in 1 definition ("), "{text}");
    let (code, text, _) = ran(at, &["validate", "fleet", "-l", "env!=prod"]);
    assert!(code == 1 && text.contains("error[S01]"), "{text}");
    let (code, _, error) = ran(at, &["validate", "fleet", "-l", "env=pord"]);
    assert!(
        code == 2 && error.contains("no definition or object in fleet has labels"),
        "{error}"
    );
    let (code, _, error) = ran(at, &["validate", "fleet", "-l", "env in"]);
    assert!(
        code == 2 && error.contains("not a label selector"),
        "{error}"
    );
    let (code, json, error) = ran(at, &["render", "fleet", "-l", "env=prod", "-o", "json"]);
    let list: Json = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, list["items"].as_array().map(Vec::len)), (0, Some(5)));
    assert!(error.contains(expected), "{error}");
    let (code, _, error) = ran(
        at,
        &["render", "fleet", "-l", "env=prod", "--cluster", "two"],
    );
    let expected = "no definition named `two` in fleet has labels that match the selector";
    assert!(code == 2 && error.contains(expected), "{error}");
    for command in ["plan", "graph", "rehearse"] {
        let (code, text, _) = ran(at, &[command, "fleet", "-l", "env=prod"]);
        assert_eq!(code, 0, "{command}");
        assert!(text.contains("one") && !text.contains("/two"), "{text}");
    }
}

#[test]
fn strict_refuses_warnings_and_a_level_hides_nothing_from_the_count() {
    let repository = repository();
    let at = repository.path();
    std::fs::remove_file(at.join("fleet/b.yaml")).expect("removed");
    let empty = at.join("fleet/.capstanignore");
    std::fs::write(empty, "*.yaml\n").expect("written");
    let (code, text, _) = ran(at, &["validate", "fleet"]);
    assert!(code == 0 && text.contains("warning[Y10]"), "{text}");
    let (code, text, error) = ran(at, &["validate", "fleet", "--strict", "--level", "error"]);
    assert_eq!(code, 1);
    assert!(text.starts_with("0 errors, 1 warning in "), "{text}");
    assert!(error.contains("failed because of warnings"), "{error}");
    let json = ["validate", "fleet", "--level", "error", "--format", "json"];
    let report: Json = serde_json::from_str(&ran(at, &json).1).expect("JSON");
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["summary"]["warnings"], 1);
}

#[test]
fn colour_is_chosen() {
    let repository = repository();
    let colour = |when: &[&str]| {
        let arguments: Vec<&str> = ["validate", "fleet"].iter().chain(when).copied().collect();
        ran(repository.path(), &arguments).1.contains('\u{1b}')
    };
    assert!(colour(&["--color", "always"]), "although NO_COLOR is set");
    assert!(!colour(&["--color", "never"]) && !colour(&["--color=auto"]) && !colour(&[]));
}
