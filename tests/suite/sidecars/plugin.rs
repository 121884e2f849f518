//! `examples/argocd/plugin.yaml` as Argo CD's plugin server runs it: discover, then generate, in the directory of the
//! application, without `.git` and with few variables (facts/forges.md §7a; oracle rows 44 and 45).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

use super::{file, run, yaml};

/// The command at a path of the plugin's file.
fn command(pointer: &str) -> Vec<String> {
    let plugin = yaml(&file("examples/argocd/plugin.yaml"));
    let of = plugin.pointer(pointer).expect("the file has it");
    let words = ["command", "args"].map(|part| of[part].as_array().cloned().unwrap_or_default());
    let words = words.concat();
    words
        .iter()
        .map(|word| word.as_str().expect("a text").to_owned())
        .collect()
}

fn execute(pointer: &str, directory: &Path, variables: &[(&str, &str)]) -> Output {
    let command = command(pointer);
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    run(&words, directory, &variables)
}

fn generate(directory: &Path, variables: &[(&str, &str)]) -> Output {
    execute("/spec/generate", directory, variables)
}

/// What generate prints if it succeeds.
fn generated(directory: &Path, variables: &[(&str, &str)]) -> String {
    let output = generate(directory, variables);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A fleet of the examples at `fleet` of a directory.
pub(super) fn repository() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let fleet = directory.path().join("fleet");
    fs::create_dir(&fleet).expect("made");
    fs::copy(
        file("examples/quickstart/cluster.yaml"),
        fleet.join("cluster.yaml"),
    )
    .expect("copied");
    let other = fs::read_to_string(fleet.join("cluster.yaml")).expect("readable");
    let other = other
        .replace("name: quickstart", "name: second")
        .replace("env: dev", "env: prod");
    fs::write(fleet.join("second.yaml"), other).expect("written");
    directory
}

fn names(stream: &str) -> Vec<String> {
    use serde::Deserialize as _;
    let documents = serde_yaml::Deserializer::from_str(stream);
    let objects = documents.map(|document| Json::deserialize(document).expect("YAML"));
    let name = |object: &Json| object["metadata"]["name"].as_str().map(str::to_owned);
    objects
        .map(|object| name(&object).expect("a name"))
        .collect()
}

#[test]
fn a_fleet_is_discovered_and_another_directory_is_not() {
    let repository = repository();
    let found = execute("/spec/discover/find", &repository.path().join("fleet"), &[]);
    assert!(
        found.status.success() && !found.stdout.is_empty(),
        "{found:?}"
    );
    let other = TempDir::new().expect("a directory");
    fs::write(
        other.path().join("a.yaml"),
        "apiVersion: v1\nkind: ConfigMap\n",
    )
    .expect("written");
    let found = execute("/spec/discover/find", other.path(), &[]);
    assert!(
        found.status.success() && found.stdout.is_empty(),
        "{found:?}"
    );
}

#[test]
fn what_is_generated_is_what_is_rendered_with_git() {
    let repository = repository();
    let app = repository.path().join("fleet");
    let variables = [("ARGOCD_APP_SOURCE_PATH", "fleet"), ("HOME", "/nowhere")];
    let without_git = generated(&app, &variables);
    assert!(
        without_git.contains("capstan.dev/source: fleet/cluster.yaml"),
        "{without_git}"
    );
    git2::Repository::init(repository.path()).expect("a repository");
    let with_git = run(
        &["capstan", "render", "fleet", "--for", "argocd"],
        repository.path(),
        &BTreeMap::new(),
    );
    assert_eq!(
        without_git,
        String::from_utf8(with_git.stdout).expect("UTF-8")
    );
    for mark in [
        "argocd.argoproj.io/tracking-id",
        "app.kubernetes.io/instance",
    ] {
        assert!(!without_git.contains(mark), "Argo CD tracks objects itself");
    }
}

#[test]
fn parameters_choose_a_part_of_the_fleet() {
    let repository = repository();
    let app = repository.path().join("fleet");
    let all = names(&generated(&app, &[]));
    assert!(all.iter().any(|name| name == "quickstart") && all.iter().any(|name| name == "second"));
    let chosen = [("PARAM_CLUSTER", "second"), ("PARAM_SELECTOR", "env=prod")];
    for variable in chosen {
        let part = names(&generated(&app, &[variable]));
        assert!(
            part.iter().all(|name| name.starts_with("second")),
            "{part:?}"
        );
        assert_eq!(part.len() * 2, all.len(), "{part:?}");
    }
    // A parameter is never a flag, nor a command.
    for value in ["--allow-empty", "$(touch pwned)", "x; touch pwned"] {
        let output = generate(&app, &[("PARAM_CLUSTER", value)]);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{output:?}"
        );
        assert!(!app.join("pwned").exists());
    }
}

#[test]
fn nothing_is_printed_of_a_fleet_with_an_error_or_without_objects() {
    let empty = TempDir::new().expect("a directory");
    let overlay = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: o}\nspec: {merge: {tags: {a: b}}}\n";
    fs::write(empty.path().join("o.yaml"), overlay).expect("written");
    let broken = repository();
    let fleet = broken.path().join("fleet");
    let text = fs::read_to_string(fleet.join("second.yaml")).expect("readable");
    fs::write(
        fleet.join("second.yaml"),
        text.replace("location:", "locaton:"),
    )
    .expect("written");
    let many = repository();
    let maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {nam: ''}\n---\n".repeat(200);
    fs::write(many.path().join("fleet/maps.yaml"), maps).expect("written");
    let cut = repository();
    fs::write(cut.path().join("fleet/cut.yaml"), "apiVersion: v1\nkind: {").expect("written");
    for app in [
        empty.path(),
        &fleet,
        &many.path().join("fleet"),
        &cut.path().join("fleet"),
    ] {
        let output = generate(app, &[]);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(1), 0),
            "{output:?}"
        );
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(said.lines().count() <= 20, "{said}");
        let last = said.lines().last().expect("it says why");
        let is_telling = ["error", "--allow-empty"]
            .iter()
            .any(|word| last.contains(word));
        assert!(is_telling, "{said}");
    }
    let gone = empty.path().join("gone");
    let output = run(
        &["capstan", "render", gone.to_str().expect("UTF-8")],
        empty.path(),
        &BTreeMap::new(),
    );
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let output = run(
        &["capstan", "render", "--allow-empty"],
        empty.path(),
        &BTreeMap::new(),
    );
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(0), 0),
        "{output:?}"
    );
}

/// As the sidecar runs it: another user, in a directory that it may not change, with no place for files of its own.
#[test]
fn it_needs_no_rights_and_writes_nothing() {
    if fs::metadata("/proc/self").map_or(1, |own| own.uid()) != 0 {
        return eprintln!("skipped: only root can be another user; run the tests as root");
    }
    let repository = repository();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    open(repository.path()).expect("its mode is set");
    // The build may lie where the user cannot go.
    let program = repository.path().join("capstan");
    // Another process writes it: a test that starts a process meanwhile would hand down an open file of this one, and
    // Linux does not run a file that is open for writing.
    let copied = Command::new("cp")
        .args([Path::new(env!("CARGO_BIN_EXE_capstan")), &program])
        .status();
    assert!(copied.expect("cp runs").success(), "the program is copied");
    let output = Command::new(&program)
        .arg("render")
        .current_dir(repository.path().join("fleet"))
        .env_clear()
        .envs([("HOME", "/"), ("TMPDIR", "/nowhere")])
        .uid(999)
        .gid(999)
        .output()
        .expect("it runs");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    assert_eq!(
        names(&String::from_utf8(output.stdout).expect("UTF-8")).len(),
        10
    );
}

#[test]
fn waves_separate_only_what_must_be_ready_first() {
    let directory = TempDir::new().expect("a directory");
    let samples = "apiVersion: resources.azure.com/v1api20200601\nkind: ResourceGroup\nmetadata: {name: rg, namespace: x}\nspec: {location: uksouth}\n---\napiVersion: network.azure.com/v1api20240301\nkind: VirtualNetwork\nmetadata: {name: net, namespace: x}\nspec: {location: uksouth, owner: {name: rg}, addressSpace: {addressPrefixes: [10.0.0.0/16]}}\n";
    fs::write(directory.path().join("raw.yaml"), samples).expect("written");
    fs::copy(
        file("examples/quickstart/cluster.yaml"),
        directory.path().join("c.yaml"),
    )
    .expect("copied");
    let stream = generated(directory.path(), &[("PARAM_SYNC_WAVES", "true")]);
    let waves: Vec<&str> = stream
        .lines()
        .filter(|line| line.contains("sync-wave"))
        .collect();
    assert_eq!(
        waves.len(),
        1,
        "a cluster becomes ready as a whole: {stream}"
    );
    assert!(
        waves[0]
            .trim_start()
            .starts_with("argocd.argoproj.io/sync-wave:"),
        "{waves:?}"
    );
    let network = stream
        .split("---")
        .find(|object| object.contains("sync-wave"));
    assert!(
        network.is_some_and(|object| object.contains("kind: VirtualNetwork")),
        "{stream}"
    );
}

#[test]
fn the_files_beside_it_fit_together() {
    let names = |path: &str| yaml(&file(path));
    let sidecar = names("examples/argocd/repo-server.yaml");
    let pod = &sidecar["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["command"][0], "/var/run/argocd/argocd-cmp-server");
    assert_eq!(container["securityContext"]["runAsUser"], 999);
    let application = names("examples/argocd/application.yaml");
    let plugin = names("examples/argocd/plugin.yaml");
    let used = &application["spec"]["source"]["plugin"];
    assert_eq!(used["name"], plugin["metadata"]["name"]);
    let announced = plugin["spec"]["parameters"]["static"]
        .as_array()
        .expect("parameters");
    for parameter in used["parameters"].as_array().expect("parameters") {
        assert!(
            announced.iter().any(|one| one["name"] == parameter["name"]),
            "{parameter}"
        );
    }
    let generator = &names("examples/argocd/kustomization.yaml")["configMapGenerator"][0];
    let volume = pod["volumes"].as_array().expect("volumes").iter();
    assert!(
        volume
            .clone()
            .any(|volume| volume["configMap"]["name"] == generator["name"])
    );
}
