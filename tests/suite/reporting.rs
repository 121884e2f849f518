//! What is found, as people and programs read it. `tests/reports` holds the findings of one fleet in each
//! format; with `CAPSTAN_WRITE=1` it is rewritten.

use std::path::Path;

use capstan::compile::{Compiled, compile};
use capstan::model::{Finding, Severity};
use capstan::rules::book;
use serde_json::Value as Json;

use crate::cli::{capstan, stdout};
use crate::fleet::{self, DEFINITION, directory, overlay, tree};
use crate::kubernetes;

/// A sound definition of a cluster, with `more` in its spec on line 16.
fn definition(name: &str, more: &str) -> String {
    let definition = DEFINITION.replace("name: one", &format!("name: {name}"));
    format!("{definition}  {more}\n")
}

/// Three clusters, and an overlay on them.
fn with_overlay(spec: &str) -> Compiled {
    let files = [
        ("a.yaml", definition("one", "")),
        ("b.yaml", definition("two", "")),
        (
            "c.yaml",
            definition("three", "network: {machineCIDR: 10.5.0.0/16}"),
        ),
        ("o.yaml", overlay(spec)),
    ];
    fleet::compiled(&tree(files), &[])
}

/// `place id message` of what is not only good to know, and the clusters.
fn reported(compiled: &Compiled) -> Vec<(String, String)> {
    let findings = compiled.findings.iter();
    let grave = findings.filter(|finding| finding.severity != Severity::Info);
    let tell = |finding: &Finding| {
        let place = finding.span.as_ref().expect("a place");
        let message = format!("{place} {} {}", finding.id, finding.message);
        (message, finding.clusters.join(" "))
    };
    grave.map(tell).collect()
}

const ALL: &str = "clusters/one clusters/three clusters/two";

#[test]
fn a_problem_in_an_overlay_is_reported_once_with_its_clusters() {
    let compiled = with_overlay(
        "  precedence: Enforced\n  merge:\n    nodePools: [{name: '*', vmSize: Standard_X1}]\n",
    );
    let [(message, clusters)] = reported(&compiled).try_into().expect("one finding");
    assert!(message.starts_with("o.yaml:7:37 N11 "), "{message}");
    assert_eq!(clusters, ALL);
}

#[test]
fn names_and_numbers_do_not_split_a_finding() {
    let compiled = with_overlay("  merge:\n    network: {podCIDR: 10.0.0.0/8}\n");
    let found = reported(&compiled);
    let machine: Vec<_> = found
        .iter()
        .filter(|(message, _)| message.contains("overlaps the machine network"))
        .collect();
    assert_eq!(machine.len(), 1, "{found:#?}");
    assert_eq!(machine[0].1, ALL);
}

#[test]
fn a_patch_that_fails_on_many_objects_is_reported_once() {
    let patch = "  patches:\n  - target: {kind: AROMachinePool}\n    json6902: [{op: remove, path: /none}]\n";
    let compiled = with_overlay(patch);
    let expected = "o.yaml:7:35 O02 there is nothing at `/none`".to_owned();
    assert_eq!(reported(&compiled), [(expected, ALL.to_owned())]);
}

#[test]
fn a_patch_that_fails_on_plain_objects_is_reported_for_each() {
    let config = |name: &str, labels: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: clusters, labels: {{{labels}}}}}\n---\n"
        )
    };
    let maps = ["ca", "cb", "cc"].map(|name| config(name, "")).concat();
    let maps = maps + &config("cx", "cluster.x-k8s.io/cluster-name: one");
    let patch =
        "  patches:\n  - target: {kind: ConfigMap}\n    json6902: [{op: remove, path: /none}]\n";
    let compiled = compile(&tree([("a.yaml", maps), ("o.yaml", overlay(patch))]), &[]);
    let faults = compiled.findings.iter().filter(|one| one.id == "O02");
    let name = |finding: &Finding| finding.object.as_ref().map(|id| id.name.clone());
    let found = faults.map(|one| (name(one).expect("an object"), one.clusters.join(" ")));
    let expected = [("ca", ""), ("cb", ""), ("cc", ""), ("cx", "clusters/one")];
    let expected = expected.map(|(name, clusters)| (name.to_owned(), clusters.to_owned()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn an_overlay_that_is_in_the_fleet_too_is_applied_once() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nlist: []\n";
    let patch = "  patches:\n  - target: {kind: ConfigMap}\n    json6902: [{op: add, path: /list/-, value: 1}]\n";
    let directory = tempfile::tempdir().expect("a directory");
    let fleet = directory.path().join("fleet");
    let overlays = fleet.join("overlays");
    std::fs::create_dir_all(&overlays).expect("made");
    std::fs::write(fleet.join("c.yaml"), config).expect("written");
    std::fs::write(overlays.join("o.yaml"), overlay(patch)).expect("written");
    let [fleet, overlays] = [&fleet, &overlays].map(|path| path.to_str().expect("UTF-8"));
    let output = stdout(&["render", "-o", "json", fleet, "--overlays", overlays], 0);
    let list: Json = serde_json::from_str(&output).expect("JSON");
    assert_eq!(list["items"][0]["list"], serde_json::json!([1]));
}

fn seventh(text: &str) -> String {
    text.lines().nth(6).expect("a line").to_owned()
}

/// Neither is a line of the one shown for the other, nor does a remark in the one allow anything in the
/// other.
#[test]
fn files_of_one_name_in_two_trees_are_two_files() {
    let newer = "[{name: mp2, version: 4.21.3, vmSize: Standard_D4s_v3, replicas: 2}]";
    let overlay = overlay(&format!(
        "  merge:\n    tags: {{}}\n    nodePools: {newer}\n"
    ));
    let (path, directory) = ("a.yaml", tempfile::tempdir().expect("a directory"));
    let fleet = definition("one", "");
    let line = seventh(&fleet);
    let remarked = fleet.replace(&line, &format!("{line} # capstan:allow N08 of this file"));
    for (name, text) in [("fl", &remarked), ("ov", &overlay)] {
        let place = directory.path().join(name);
        std::fs::create_dir(&place).expect("made");
        std::fs::write(place.join(path), text).expect("written");
    }
    let validate = |format: &str| {
        let output = capstan(&["validate", "--format", format, "fl", "--overlays", "ov"])
            .current_dir(directory.path())
            .output();
        String::from_utf8(output.expect("it runs").stdout).expect("UTF-8")
    };
    let text = validate("text");
    assert!(
        text.contains("warning[N08]") && text.contains("--> ./ov/a.yaml:7:"),
        "{text}"
    );
    let (_, shown) = text.split_once("warning[N08]").expect("it is reported");
    assert!(shown.contains(&seventh(&overlay)), "{text}");
    let github = validate("github");
    assert!(github.contains("file=./ov/a.yaml,"), "{github}");
}

#[test]
fn encrypted_objects_are_reported_once_and_not_patched() {
    let cipher = "'ENC[AES256_GCM,data:p6/3w==,iv:YY=,tag:UQ=,type:str]'";
    let whole = format!(
        "apiVersion: {cipher}\nkind: {cipher}\nmetadata: {{name: {cipher}, namespace: {cipher}, labels: {{a: {cipher}}}}}\n"
    );
    let part =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{a: {cipher}}}\n");
    let plain = part.replace("name: c", "name: d").replace(cipher, "x");
    let patch = "  patches:\n  - target: {kind: ConfigMap}\n    json6902: [{op: test, path: /data/a, value: x}]\n";
    let files = [
        ("a.yaml", whole),
        ("b.yaml", part),
        ("c.yaml", plain),
        ("o.yaml", overlay(patch)),
    ];
    let compiled = compile(&tree(files), &[]);
    let found: Vec<String> = reported(&compiled)
        .into_iter()
        .map(|(message, _)| message)
        .collect();
    let left = "is encrypted with SOPS, so it is neither applied nor removed from the cluster";
    let expected = [
        format!("a.yaml:1:13 P05 this document {left}"),
        format!("b.yaml:4:11 P05 ConfigMap/default/c {left}"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn ciphertext_that_an_overlay_brings_is_an_error_at_its_line() {
    let cipher = "'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'";
    let compiled = with_overlay(&format!(
        "  patches:\n  - target: {{kind: AROMachinePool}}\n    patch: {{metadata: {{annotations: {{a: {cipher}}}}}}}\n"
    ));
    let [(message, clusters)] = reported(&compiled).try_into().expect("one finding");
    assert!(message.starts_with("o.yaml:7:41 P06 "), "{message}");
    assert_eq!(clusters, ALL);
    assert!(compiled.has_errors());
}

#[test]
fn a_pool_of_identities_serves_one_cluster() {
    let shared = "managedIdentities: {mode: Shared, resourceGroup: pool-07}";
    let files = ["one", "two"].map(|name| definition(name, shared));
    let [one, two] = files;
    let compiled = compile(&tree([("a.yaml", one), ("b.yaml", two)]), &[]);
    let found = reported(&compiled).into_iter().map(|(message, _)| message);
    let found: Vec<String> = found.filter(|message| message.contains(" F01 ")).collect();
    let expected = "b.yaml:16:52 F01 clusters/one already uses the identities of `pool-07`: a pool serves only one cluster";
    assert_eq!(found, [expected]);
}

#[test]
fn overriding_an_enforced_value_is_reported() {
    let over = |value: &str, enforced: &str| {
        let over = definition(
            "one",
            &format!("properties: {{api: {{visibility: {value}}}}}"),
        );
        let spec = format!("  precedence: Enforced\n  merge: {enforced}\n");
        reported(&compile(
            &tree([("a.yaml", over), ("o.yaml", overlay(&spec))]),
            &[],
        ))
    };
    let [(message, _)] = over("Private", "{api: {visibility: Public}}")
        .try_into()
        .expect("one");
    let expected = "a.yaml:16:34 O06 `visibility` overrides a value that the overlay `base` enforces at o.yaml:6:29";
    assert_eq!(message, expected);
    assert_eq!(over("Public", "{api: {visibility: Public}}"), []);
    let both = "{api: {visibility: Public}, properties: {api: {visibility: Public}}}";
    assert_eq!(over("Private", both), []);
}

#[test]
fn findings_of_definitions_stay_one_for_each() {
    let bad = |name| definition(name, "tags: {}").replace("_D4s", "_X1");
    let compiled = compile(&tree([("a.yaml", bad("one")), ("b.yaml", bad("two"))]), &[]);
    let found = reported(&compiled);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|(_, clusters)| clusters.is_empty()));
}

#[test]
fn a_warning_is_allowed_in_a_definition_and_in_an_overlay() {
    let newer = "nodePools: [{name: mp2, version: 4.21.3, vmSize: Standard_D4s_v3, replicas: 2}]";
    let allow = "# capstan:allow N08 the control plane follows";
    let over = |end: &str, above: &str| {
        let spec = format!("  merge:\n    {above}\n    {newer} {end}\n");
        with_overlay(&spec)
    };
    let plain = over("", "");
    assert_eq!(reported(&plain).len(), 1, "{:#?}", reported(&plain));
    for compiled in [over(allow, ""), over("", allow)] {
        assert_eq!(reported(&compiled), [] as [(String, String); 0]);
        let [allowed] = compiled.allowed.as_slice() else {
            panic!("{:#?}", compiled.allowed)
        };
        assert_eq!(allowed.reason, "the control plane follows");
        assert_eq!(allowed.finding.clusters.join(" "), ALL);
    }
    let lines = definition("one", "").replace("4.20.17", &format!("4.21.3 {allow}"));
    let compiled = compile(&tree([("a.yaml", lines)]), &[]);
    assert_eq!(compiled.allowed.len(), 1, "{:#?}", compiled.findings);
}

/// A fleet with something of everything: line ends of two kinds, a name that must be escaped, columns
/// beside letters of two bytes, an overlay, and a warning that is allowed.
fn session() -> tempfile::TempDir {
    let one = definition("one", "tags: {team: \"größe\", colour: 7}");
    let one = one.replace('\n', "\r\n");
    let two = definition("two", "tags: {} # capstan:allow N8 we raise it");
    let pool = "version: 4.21.3, vmSize: Standard_X1";
    let base = format!(
        "  precedence: Enforced\n  merge:\n    nodePools:\n    # capstan:allow N08 the control plane follows\n    - {{name: '*', {pool}}}\n"
    );
    directory([
        ("clusters 100%.yaml", one),
        ("two.yaml", two),
        ("three.yaml", definition("three", "")),
        ("overlay.yaml", overlay(&base)),
    ])
}

fn validated(format: &str, path: &Path, code: i32) -> String {
    let path = path.to_str().expect("UTF-8");
    stdout(&["validate", "--format", format, path], code)
}

#[test]
fn every_format_reports_the_same_findings() {
    let directory = session();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    for format in ["text", "json", "github", "sarif", "azure", "gitlab"] {
        let mut output = validated(format, directory.path(), 1);
        if format == "sarif" {
            // The book and the version have tests of their own.
            let mut log: Json = serde_json::from_str(&output).expect("JSON");
            log["runs"][0]["tool"] = Json::Null;
            let results = log["runs"][0]["results"].as_array_mut().expect("results");
            results
                .iter_mut()
                .for_each(|result| result["ruleIndex"] = Json::Null);
            output = format!("{log:#}\n");
        }
        let file = kept.join(format!("session.{format}"));
        if std::env::var_os("CAPSTAN_WRITE").is_some() {
            std::fs::write(&file, &output).expect("writable");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(output, expected, "{}", file.display());
    }
}

/// The log of a run, and its one run.
fn sarif(path: &Path, code: i32) -> (Json, Json) {
    let log: Json = serde_json::from_str(&validated("sarif", path, code)).expect("JSON");
    let run = log["runs"][0].clone();
    (log, run)
}

#[test]
fn sarif_fits_the_published_schema() {
    let kept = kubernetes::cache().map(|cache| cache.join("serde-sarif-0.8.0.json"));
    let Some(schema) = kept.and_then(|file| std::fs::read_to_string(file).ok()) else {
        let help = "the schema of SARIF is not there; `tests/sarif/fetch` brings it";
        assert!(!kubernetes::is_required("sarif"), "{help}");
        return eprintln!("skipped: {help}");
    };
    // One pattern has a `]` that only JavaScript takes for a letter.
    let schema = schema.replace("{2}]?$", "{2}\\\\]?$");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let options = jsonschema::options().should_validate_formats(true);
    let validator = options.build(&schema).expect("a schema");
    let empty = tempfile::tempdir().expect("a directory");
    let (session, here) = (session(), Path::new(env!("CARGO_MANIFEST_DIR")));
    for (path, code, at_least) in [
        (session.path().to_owned(), 1, 5),
        (empty.path().to_owned(), 0, 1),
        (here.join("examples/quickstart"), 0, 0),
        (here.join("tests/corpus"), 1, 20),
    ] {
        let (log, run) = sarif(&path, code);
        let faults: Vec<String> = validator
            .iter_errors(&log)
            .map(|fault| fault.to_string())
            .collect();
        assert_eq!(faults, [""; 0], "{}", path.display());
        let results = run["results"].as_array().expect("results");
        assert!(results.len() >= at_least, "{}", path.display());
    }
}

#[test]
fn sarif_names_every_rule_and_what_is_suppressed() {
    let session = session();
    let (_, run) = sarif(session.path(), 1);
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let ids: Vec<&str> = rules
        .iter()
        .filter_map(|rule| rule["id"].as_str())
        .collect();
    assert_eq!(ids, book::ids());
    let results = run["results"].as_array().expect("results");
    let is_allowed = |result: &&Json| result["ruleId"] == "N08";
    assert!(results.iter().any(|one| is_allowed(&one)), "{results:#?}");
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("an index");
        let index = usize::try_from(index).expect("small");
        assert_eq!(ids[index], result["ruleId"], "{result}");
        let suppressed = result["suppressions"][0]["justification"].as_str();
        let expected = is_allowed(&result).then_some("the control plane follows");
        assert_eq!(suppressed, expected, "{result}");
    }
}
