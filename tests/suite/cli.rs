//! The commands as a person runs them.

use std::process::{Command, Output, Stdio};

use crate::real;

/// The program, without the person's environment, in the project's directory.
pub(crate) fn capstan(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .env_remove("CAPSTAN_LOG");
    command
}

#[track_caller]
pub(crate) fn ended(arguments: &[&str], code: i32) -> Output {
    let output = capstan(arguments).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    output
}

#[track_caller]
pub(crate) fn stdout(arguments: &[&str], code: i32) -> String {
    String::from_utf8(ended(arguments, code).stdout).expect("UTF-8")
}

#[track_caller]
pub(crate) fn stderr(arguments: &[&str], code: i32) -> String {
    String::from_utf8(ended(arguments, code).stderr).expect("UTF-8")
}

pub(crate) const FLEET: [&str; 3] = ["examples/fleet", "--overlays", "overlays"];

fn with_fleet<'a>(command: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    std::iter::once(command)
        .chain(FLEET)
        .chain(rest.iter().copied())
        .collect()
}

#[test]
fn the_example_fleet_is_sound() {
    let output = stdout(&with_fleet("validate", &[]), 0);
    assert_eq!(
        output,
        "0 errors, 0 warnings in 5 definitions (32 objects, 301 embedded)\n"
    );
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_caret() {
    let output = stdout(&["validate", "tests/corpus/unknown-field"], 1);
    assert!(output.contains("error[S01]: unknown field"), "{output}");
    assert!(
        output.contains("tests/corpus/unknown-field/fleet.yaml:15:5"),
        "{output}"
    );
    assert!(
        output.contains("15 |     vmsize: Standard_D4s_v3\n") && output.contains("^^^^^^"),
        "{output}"
    );
    assert!(output.contains("did you mean `vmSize`?"), "{output}");
}

#[test]
fn findings_as_json_have_positions_and_a_summary() {
    let output = stdout(
        &[
            "validate",
            "--format",
            "json",
            "tests/corpus/version-as-number",
        ],
        1,
    );
    let report: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    let finding = &report["findings"][0];
    assert_eq!(finding["id"], "Y11");
    assert_eq!(
        (&finding["line"], &finding["column"], &finding["endColumn"]),
        (&11.into(), &17.into(), &21.into())
    );
    assert_eq!(report["summary"]["errors"], 1);
}

#[test]
fn render_prints_nothing_when_there_is_an_error() {
    assert_eq!(stdout(&["render", "tests/corpus/unknown-field"], 1), "");
    assert!(stderr(&["render", "tests/corpus/unknown-field"], 1).contains("error[S01]"));
}

/// What is rendered from what was rendered is the same, but for where it came from. (The first time,
/// the parts of a cluster become objects of their own, with a deletion policy each.)
#[test]
fn render_is_a_fixed_point() {
    let dir = tempfile::tempdir().expect("a directory");
    let again = |round: &str, text: &str| {
        let place = dir.path().join(round);
        std::fs::create_dir(&place).expect("made");
        std::fs::write(place.join("all.yaml"), text).expect("written");
        stdout(&["render", place.to_str().expect("UTF-8")], 0)
    };
    let plain = |text: &str| {
        let ours = |line: &&str| {
            line.contains("capstan.dev/source") || line.contains("capstan.dev/deletion-policy")
        };
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !ours(line) && !line.ends_with("annotations:"))
            .collect();
        lines.join("\n")
    };
    let first = stdout(&with_fleet("render", &[]), 0);
    let second = again("second", &first);
    assert_eq!(plain(&second), plain(&first));
    assert_eq!(again("third", &second), second);
}

#[test]
fn render_can_pick_one_cluster_and_write_json() {
    let output = stdout(
        &with_fleet("render", &["--cluster", "dev-uks-1", "-o", "json"]),
        0,
    );
    let list: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(
        (&list["apiVersion"], &list["kind"]),
        (&"v1".into(), &"List".into())
    );
    assert_eq!(list["items"].as_array().map(Vec::len), Some(5));
    for more in [&[] as &[&str], &["--allow-empty"]] {
        let arguments = [&["--cluster", "nobody"][..], more].concat();
        let said = stderr(&with_fleet("render", &arguments), 2);
        assert!(said.contains("no definition named `nobody`"), "{said}");
    }
}

#[test]
fn a_failure_that_is_asked_for_fails_the_rehearsal_and_names_the_object() {
    let failure = "HcpOpenShiftCluster/quickstart=InvalidRequestContent";
    let output = stdout(&["rehearse", "examples/quickstart", "--fail", failure], 1);
    assert!(
        output.contains("not ready")
            && output
                .contains("HcpOpenShiftCluster/clusters/quickstart: Failed InvalidRequestContent"),
        "{output}"
    );
    let stranger = stderr(
        &[
            "rehearse",
            "examples/quickstart",
            "--fail",
            "Vault/nobody=Conflict",
        ],
        2,
    );
    assert!(
        stranger.contains("the fleet has no such object"),
        "{stranger}"
    );
}

#[test]
fn only_what_azure_and_hypershift_make_can_be_made_to_fail() {
    let output = stderr(
        &[
            "rehearse",
            "examples/quickstart",
            "--fail",
            "AROControlPlane/quickstart=Conflict",
        ],
        2,
    );
    assert!(
        output.contains("only Azure resources, HostedClusters and NodePools can be made to fail"),
        "{output}"
    );
}

#[test]
fn a_rehearsal_ends_when_an_object_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "apiVersion: unknown.io/v1\nkind: Thing\nmetadata: {name: t, namespace: default}\n";
    std::fs::write(dir.path().join("a.yaml"), text).expect("written");
    let output = stdout(&["rehearse", dir.path().to_str().expect("UTF-8")], 1);
    assert!(
        output.contains("Thing/default/t: Failed") && output.contains("does not serve"),
        "{output}"
    );
}

#[test]
fn a_fleet_without_objects_is_not_rehearsed() {
    let empty = tempfile::tempdir().expect("a directory");
    let empty = empty.path().display().to_string();
    let message = stderr(&["rehearse", &empty], 0);
    assert!(message.contains("nothing to rehearse: "), "{message}");
    assert_eq!(stdout(&["rehearse", &empty], 0), "");
    stdout(&["validate", &empty], 0);
}

/// Before anything else: the kubeconfig does not exist either.
#[test]
fn a_source_that_is_not_served_is_refused_at_once() {
    for (url, reason) in [
        (
            "https://bot:hunter2@example.com/x.git",
            "it contains a password",
        ),
        ("http://example.com/x.git", "http:// is not encrypted"),
        ("git://example.com/x.git", "git:// is neither encrypted"),
        ("git@example.com:", "it has no path"),
    ] {
        let missing = ["run", "--source", url, "--kubeconfig", "/nowhere"];
        let message = stderr(&missing, 2);
        assert!(message.contains(reason), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn an_approval_that_cannot_be_meant_is_refused() {
    let apply = ["apply", "examples/quickstart", "--embedded", "--prune"];
    let approve = |name: &str, code: i32| {
        let arguments = [&apply[..], &["--approve", name]].concat();
        stderr(&arguments, code)
    };
    let still = approve("clusters/quickstart", 2);
    assert!(still.contains("is still in the fleet"), "{still}");
    assert!(approve("nope", 2).contains("write NAMESPACE/NAME"));
    let nope = approve("clusters/nope", 0);
    assert!(
        nope.contains("--approve clusters/nope: no such cluster"),
        "{nope}"
    );
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::create("/dev/full");
    let Ok(full) = full else { return };
    let status = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args(["render", "examples/quickstart"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(full)
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.expect("it runs").code(), Some(2));
}

#[track_caller]
fn is_taken_as_it_is(sample: &str) {
    let Some(sample) = real::shared(&format!("samples/{sample}")) else {
        return;
    };
    let sample = sample.to_str().expect("UTF-8");
    assert_eq!(
        stdout(&["render", sample, "-o", "json"], 0)
            .matches("\"kind\": \"RoleAssignment\"")
            .count(),
        29
    );
    let report: serde_json::Value =
        serde_json::from_str(&stdout(&["rehearse", sample, "--format", "json"], 0)).expect("JSON");
    assert_eq!(report["ready"], true);
}

#[test]
fn a_real_hand_written_cluster_is_taken_as_it_is() {
    is_taken_as_it_is("aro-hcp-2025-12-23");
    is_taken_as_it_is("aro-hcp-2026-09-01");
}

#[test]
fn apply_waits_until_the_embedded_cluster_is_ready() {
    let waits = ["--wait", "--timeout", "10h", "--speed", "1000"];
    let arguments = [&["apply", "examples/quickstart", "--embedded"], &waits[..]].concat();
    let output = capstan(&arguments).output().expect("it runs");
    let [outcomes, messages] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(messages.contains("55/55 ready"), "{messages}");
    assert!(messages.contains("5 created\n"), "{messages}");
    assert!(
        outcomes.contains("created    Cluster/clusters/quickstart\n"),
        "{outcomes}"
    );
    assert_eq!(outcomes.lines().count(), 5, "{outcomes}");
    let output = stderr(&["apply", "examples/quickstart"], 2);
    assert!(output.contains("--embedded"), "{output}");
}

#[test]
fn graph_and_plan_print() {
    assert!(stdout(&["graph", "examples/quickstart"], 0).contains("critical path,"));
    assert!(
        stdout(&["graph", "examples/quickstart", "--format", "dot"], 0)
            .starts_with("digraph fleet {")
    );
    assert!(stdout(&["graph", "tests/corpus/cycle"], 1).contains("ConfigMap/default/a"));
    assert!(
        stdout(&["plan", "examples/quickstart", "--against", "none"], 0)
            .starts_with("plan: 5 to create; 1 cluster, 50 embedded resources")
    );
    let plan: serde_json::Value = serde_json::from_str(&stdout(
        &["plan", "examples/quickstart", "--format", "json"],
        0,
    ))
    .expect("JSON");
    assert_eq!(plan["steps"].as_array().map(Vec::len), Some(5));
    assert_eq!(plan["impact"]["changes"]["create"], 5);
    let last = &plan["steps"][4];
    assert_eq!(last["change"], "create");
    assert_eq!(last["after"][0]["until"], "applied");
}

#[test]
fn schemas_crds_and_completions_print() {
    assert!(stdout(&["crds"], 0).contains("name: aroclusters.infrastructure.cluster.x-k8s.io"));
    let schema: serde_json::Value =
        serde_json::from_str(&stdout(&["schema", "ClusterDefinition"], 0)).expect("JSON");
    assert!(schema["properties"]["spec"]["properties"]["nodePools"].is_object());
    for (platform, path) in [
        ("HyperShift", "/properties/spec/properties/hyperShift"),
        ("Any", "/then/properties/spec/properties/hyperShift"),
        ("Any", "/else/properties/spec/properties/location"),
    ] {
        let text = stdout(&["schema", "ClusterDefinition", "--platform", platform], 0);
        let schema: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(schema.pointer(path).is_some(), "{platform} {path}");
    }
    assert!(stderr(&["schema", "Nonsense"], 2).contains("the kinds are ClusterDefinition"));
    assert!(stdout(&["completion", "bash"], 0).contains("_capstan"));
}

#[test]
fn the_rule_book_is_listed_and_has_a_page_for_each_rule() {
    let list = stdout(&["rules"], 0);
    let rule = "C15  error    The networks of a cluster do not overlap";
    assert!(list.lines().any(|line| line == rule), "{list}");
    let page = stdout(&["rules", "c15"], 0);
    assert!(page.starts_with("# C15 The networks"), "{page}");
    assert!(page.contains("\nSource: "), "{page}");
    assert!(stderr(&["rules", "Q1"], 2).contains("no rule `Q1`"));
}

#[test]
fn usage_and_environment_faults_exit_with_2_and_say_what_to_do() {
    assert!(stderr(&["validate", "no/such/place"], 2).contains("no/such/place"));
    assert!(
        stderr(
            &[
                "run",
                "--source",
                "ftp://example.invalid/x.git",
                "--embedded"
            ],
            2
        )
        .contains("file://")
    );
    assert!(
        stderr(
            &[
                "run",
                "--config",
                "tests/corpus/definition/fleet.yaml",
                "--embedded"
            ],
            2
        )
        .contains("Fleet")
    );
    stderr(&["nonsense"], 2);
}

#[test]
fn a_closed_pipe_is_no_fault_and_a_full_disk_is() {
    let render = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(with_fleet("render", &[]))
            .stderr(Stdio::piped());
        command
    };
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let closed = render().stdout(writer).output().expect("it runs");
    assert!(closed.status.success(), "{closed:?}");
    assert_eq!(closed.stderr, b"", "nothing to say");

    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        eprintln!("skipped: needs /dev/full");
        return;
    };
    let full = render().stdout(full).output().expect("it runs");
    assert_eq!(full.status.code(), Some(2));
    let output = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(
        output.contains("cannot write to standard output"),
        "{output}"
    );
}

#[test]
fn a_directory_of_overlays_that_is_not_there_is_named() {
    for command in [
        &["validate", "examples/quickstart", "--overlays", "no/such"][..],
        &[
            "run",
            "--source",
            ".",
            "--embedded",
            "--overlays",
            "no/such",
        ],
    ] {
        let output = stderr(command, 2);
        assert!(
            output.contains("--overlays") && output.contains("no/such"),
            "{output}"
        );
    }
}

#[test]
fn a_fleet_document_limits_tenants_to_their_namespaces() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
        std::fs::write(&file, text).expect("written");
        file.display().to_string()
    };
    let map = |namespace: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m, namespace: {namespace}}}}}\n"
        )
    };
    write("fleet/teams/a/map.yaml", &map("team-a"));
    let fleet = dir.path().join("fleet").display().to_string();
    let document = |tenancy: &str| {
        let head = "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n";
        let spec =
            format!("spec: {{source: {{git: {{url: u, path: fleet}}}}, tenancy: {tenancy}}}\n");
        write("fleet.yaml", &format!("{head}{spec}"))
    };
    let team = document("[{path: teams/a, namespaces: [team-a]}]");
    stdout(&["validate", &fleet, "--fleet", &team], 0);
    write("fleet/teams/a/map.yaml", &map("team-b"));
    stdout(&["validate", &fleet], 0);
    let output = stdout(&["validate", &fleet, "--fleet", &team], 1);
    assert!(
        output.contains("error[T02]: ConfigMap/team-b/m is in the namespace team-b"),
        "{output}"
    );
    for command in ["plan", "rehearse", "render", "apply"] {
        let output = stderr(&[command, &fleet, "--fleet", &team], 1);
        assert!(output.contains("error[T02]"), "{command}: {output}");
    }
    let unclear = document("[{path: teams/a, namespaces: }]");
    let output = stderr(&["validate", &fleet, "--fleet", &unclear], 2);
    assert!(output.contains("everything or nothing"), "{output}");
    let output = stderr(&["validate", &fleet, "--fleet", "nowhere.yaml"], 2);
    assert!(output.contains("cannot read nowhere.yaml"), "{output}");
}
