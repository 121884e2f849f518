//! A hunt for secrets that somebody pushed: they reach the cluster, or are refused, and show nowhere else. What is searched
//! is all that Capstan writes for people, with logs at every level.

use std::process::Command;

use capstan::adapters::azure_sim as actors;
use capstan::health::Live;
use capstan::model::CheckState;

use super::pipeline::Management;
use super::tenants::authority::spellings;
use crate::daemon::{DEFINITION, SYNC, World};
use crate::fleet::directory;
use crate::running::Running;

const SPEED: u32 = 600;
const PASSWORD: &str = "seeded-password-of-before";
const NEXT: &str = "seeded-password-of-after";
/// A key that nothing uses, of a certificate.
const KEY: &str = include_str!("../../../src/adapters/checks/github/tests/app-key-pkcs8.pem");

/// A cluster and the Secret of its identity.
fn fleet(password: &str, more: &str) -> String {
    format!(
        "{DEFINITION}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: seeded, namespace: clusters}}\nstringData:\n  clientSecret: {password} # capstan:allow P01 it is the prey of a hunt\n{more}"
    )
}

fn with_key() -> String {
    let lines = KEY.lines().map(|line| format!("    {line}\n"));
    fleet(
        NEXT,
        &format!("  certificate: |\n{}", lines.collect::<String>()),
    )
}

/// Everything that was said, and where.
struct Bag(Vec<(String, String)>);

impl Bag {
    fn put(&mut self, place: &str, text: impl Into<String>) {
        let text = text.into();
        assert!(!text.is_empty(), "{place} says nothing");
        self.0.push((place.to_owned(), text));
    }

    /// What a command prints and logs.
    fn run(&mut self, cluster: &Management, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("CAPSTAN_LOG", "trace");
        if ["plan", "status"].contains(&arguments[0]) {
            command.arg("--kubeconfig").arg(&cluster.kubeconfig);
        }
        let output = command.output().expect("it runs");
        let [printed, logged] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{logged}");
        self.put(&arguments.join(" "), format!("{printed}{logged}"));
    }

    fn search(&self) {
        for secret in [KEY, PASSWORD, NEXT].into_iter().flat_map(spellings) {
            for (place, text) in &self.0 {
                let around = text.lines().find(|line| line.contains(&secret));
                assert_eq!(around, None, "{place}");
            }
        }
    }
}

#[test]
fn issue_15_secrets_that_are_pushed_show_nowhere() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    let mut bag = Bag(Vec::new());
    let world = World::on(Some(&cluster.kubeconfig));
    let good = world.push("main", None, &fleet(PASSWORD, ""));
    let source = world.source();
    let mut daemon = world.command(1, &["--interval", "100ms", "--source", &source]);
    daemon.env("CAPSTAN_LOG", "trace");
    let daemon = Running::spawn(daemon);
    world.wait(&good, SYNC, CheckState::Success);
    let server = cluster.server.as_ref().expect("it is simulated");
    let all = server.snapshot();
    assert!(
        all.iter().any(|object| Live(object).name() == "seeded"),
        "it was applied"
    );

    // What a change of the Secret looks like, to a person and to a program.
    let changed = directory([("one.yaml", fleet(NEXT, ""))]);
    let refused = directory([("one.yaml", with_key())]);
    for (dir, format) in [
        (&changed, "text"),
        (&changed, "json"),
        (&refused, "text"),
        (&refused, "json"),
    ] {
        let dir = dir.path().to_str().expect("UTF-8");
        bag.run(
            &cluster,
            &["plan", dir, "--against", "live", "--format", format],
        );
        bag.run(
            &cluster,
            &["explain", "Secret/seeded", "-C", dir, "--format", format],
        );
    }
    let dir = refused.path().to_str().expect("UTF-8");
    for format in ["text", "json", "sarif", "github", "azure", "gitlab"] {
        bag.run(&cluster, &["validate", dir, "--format", format]);
    }

    let bad = world.push("main", Some(&good), &with_key());
    world.wait(&bad, SYNC, CheckState::Failure);
    let refusal = "holds values in clear text: certificate";
    assert!(world.note(&bad).contains(refusal), "{}", world.note(&bad));
    let next = world.push("main", Some(&bad), &fleet(NEXT, ""));
    world.wait(&next, SYNC, CheckState::Success);
    bag.run(&cluster, &["status", "--format", "json"]);
    for revision in [&good, &bad, &next] {
        bag.put("a note", world.note(revision));
    }
    let (_, said) = daemon.stop();
    assert!(said.contains("TRACE"));
    bag.put("the daemon", said);
    let public = server.snapshot().into_iter();
    let public = public.filter(|object| Live(object).kind() != "Secret");
    bag.put(
        "the cluster",
        public.map(|object| object.to_string()).collect::<String>(),
    );
    bag.search();
}
