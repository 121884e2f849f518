//! Argo CD's own code: its plugin server runs our plugin, and its Lua runs our health scripts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::health::{expected, word};
use super::objects::{KINDS, of};
use super::plugin::repository;
use super::{file, pruning};
use crate::cli::stdout;
use crate::kubernetes;
use crate::patience::until;

/// The program of `tests/argocd/build`, if it has been built from these sources.
fn program() -> Option<PathBuf> {
    let mut digest = Sha256::new();
    for name in ["go.mod", "go.sum", "main.go"] {
        digest.update(std::fs::read(file("tests/argocd").join(name)).expect("readable"));
    }
    let key: String = digest.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let built = kubernetes::cache().map(|cache| cache.join(format!("argocd-{key}/argocd")));
    let built = built.filter(|program| program.exists());
    if built.is_none() {
        let help = "Argo CD's plugin server is not there; `tests/argocd/build` builds it";
        assert!(!kubernetes::is_required("argocd"), "{help}");
        eprintln!("skipped: {help}");
    }
    built
}

/// The plugin server, which ends with the test.
struct Server {
    process: Child,
    place: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(program: &Path) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        for name in ["config", "work"] {
            std::fs::create_dir(place.path().join(name)).expect("made");
        }
        let config = place.path().join("config");
        std::fs::copy(
            file("examples/argocd/plugin.yaml"),
            config.join("plugin.yaml"),
        )
        .expect("copied");
        let capstan = Path::new(env!("CARGO_BIN_EXE_capstan"))
            .parent()
            .expect("a directory");
        let process = Command::new(program)
            .arg("serve")
            .arg(&config)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", capstan.display()))
            .env("ARGOCD_PLUGINSOCKFILEPATH", place.path())
            .env("ARGOCD_CMP_WORKDIR", place.path().join("work"))
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let server = Self { process, place };
        until(
            || server.socket().exists().then_some(()),
            || "the plugin server does not listen".to_owned(),
        );
        server
    }

    fn socket(&self) -> PathBuf {
        self.place.path().join("capstan.sock")
    }

    /// What the repo server gets for an application of a repository.
    fn ask(&self, program: &Path, repository: &Path, app: &str, variables: &[&str]) -> Json {
        let output = Command::new(program)
            .arg("generate")
            .args([&self.socket(), repository, &repository.join(app)])
            .args(variables)
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

#[test]
fn its_plugin_server_gets_the_objects_of_a_fleet_or_an_error() {
    let Some(program) = program() else { return };
    let server = Server::start(&program);
    let repository = repository();
    git2::Repository::init(repository.path()).expect("a repository");
    let path = ["ARGOCD_APP_SOURCE_PATH=fleet"];
    let answer = server.ask(&program, repository.path(), "fleet", &path);
    let manifests = answer["manifests"].as_array().expect("manifests").iter();
    let manifests: Vec<Json> = manifests
        .map(|text| serde_json::from_str(text.as_str().expect("a text")).expect("JSON"))
        .collect();
    let fleet = repository.path().join("fleet");
    let render = ["render", "--for", "argocd", "-o", "json"];
    let rendered = stdout(
        &[&render[..], &[fleet.to_str().expect("UTF-8")]].concat(),
        0,
    );
    let rendered: Json = serde_json::from_str(&rendered).expect("JSON");
    assert_eq!(Json::Array(manifests), rendered["items"]);
    let one = [path[0], "PARAM_CLUSTER=second"];
    let answer = server.ask(&program, repository.path(), "fleet", &one);
    assert_eq!(answer["manifests"].as_array().map(Vec::len), Some(5));

    let text = "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {name: x}\n";
    std::fs::write(fleet.join("bad.yaml"), text).expect("written");
    let answer = server.ask(&program, repository.path(), "fleet", &path);
    let error = answer["error"].as_str().expect("an error");
    assert!(
        error.contains("exit status 1") && error.contains("bad.yaml"),
        "{error}"
    );
    std::fs::create_dir(repository.path().join("other")).expect("made");
    std::fs::write(repository.path().join("other/a.yaml"), "a: b\n").expect("written");
    let answer = server.ask(&program, repository.path(), "other", &[]);
    assert_eq!(answer["supported"], false, "{answer}");
}

/// What the program says of each object.
fn answers(program: &Path, arguments: &[&str], objects: &[Json]) -> Vec<Json> {
    let stream: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let mut judge = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = judge.stdin.take().expect("a pipe");
    let stream = stream.join("\n---\n");
    let writer = std::thread::spawn(move || input.write_all(stream.as_bytes()));
    let output = judge.wait_with_output().expect("it runs");
    writer.join().expect("no panic").expect("it reads all");
    assert!(output.status.success(), "{output:?}");
    let answers = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<Json> = answers
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(answers.len(), objects.len());
    answers
}

#[test]
fn it_keeps_what_is_marked() {
    let Some(program) = program() else { return };
    let place = pruning::fleet();
    let objects = pruning::rendered(place.path(), &["--for", "argocd"]).expect("it is sound");
    let answers = answers(&program, &["kept"], &objects);
    for (object, answer) in objects.iter().zip(answers) {
        let id = pruning::id(object).1;
        let is_kept = !pruning::MAY_GO.contains(&id.as_str());
        for from in ["pruning", "deletion"] {
            assert_eq!(answer[from], is_kept, "{id}: {answer}");
        }
    }
}

#[test]
fn its_lua_answers_as_capstan_does() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let settings = place.path().join("argocd-cm.yaml");
    std::fs::write(
        &settings,
        stdout(&["health", "export", "--for", "argocd"], 0),
    )
    .expect("written");
    let objects = KINDS
        .into_iter()
        .flat_map(|(group, versions, kind)| of(group, versions, kind, 150));
    let objects: Vec<Json> = objects.collect();
    let settings = settings.to_str().expect("UTF-8");
    let answers = answers(&program, &["health", settings], &objects);
    for (object, answer) in objects.iter().zip(answers) {
        let health = &answer["health"];
        assert_eq!(
            health["status"],
            word(expected(object)),
            "{object:#}\n{health}"
        );
    }
}
