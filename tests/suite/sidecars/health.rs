//! The exported readiness rules, run: on the same objects they answer as Capstan does.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use capstan::health::export::{Answer, argocd, flux};
use capstan::health::health;
use kube_cel::cel::{Context, Program, Value};
use serde_json::Value as Json;

use super::objects::{KINDS, of};
use crate::cli::stdout;
use crate::kubernetes;

/// How many objects of each kind are judged.
const COUNT: usize = 500;

/// What Capstan answers.
pub(super) fn expected(object: &Json) -> Answer {
    health(object).state.into()
}

/// The word of Argo CD for an answer.
pub(super) const fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Ready => "Healthy",
        Answer::Failed => "Degraded",
        Answer::Unfinished => "Progressing",
    }
}

/// All objects, with the group and kind of each.
fn objects() -> impl Iterator<Item = (&'static str, &'static str, Vec<Json>)> {
    let kinds = KINDS.into_iter();
    kinds.map(|(group, versions, kind)| (group, kind, of(group, versions, kind, COUNT)))
}

#[test]
fn the_objects_have_every_answer_that_their_kind_can_have() {
    for (_, kind, objects) in objects() {
        let answers: BTreeSet<&str> = objects
            .iter()
            .map(|object| word(expected(object)))
            .collect();
        let possible = match kind {
            "AzureClusterIdentity" | "HostedCluster" | "NodePool" => {
                vec!["Healthy", "Progressing"]
            }
            _ => vec!["Degraded", "Healthy", "Progressing"],
        };
        assert_eq!(answers.into_iter().collect::<Vec<_>>(), possible, "{kind}");
    }
}

/// Flux's evaluation (RFC 0009): a generation that is not observed, then failed, then current. An expression that
/// cannot be evaluated is tried again.
fn by_flux([failed, current]: &[Option<Program>; 2], object: &Json) -> Answer {
    let observed = object.pointer("/status/observedGeneration");
    if observed.is_some() && observed != object.pointer("/metadata/generation") {
        return Answer::Unfinished;
    }
    let mut context = Context::default();
    for (name, value) in object.as_object().expect("an object") {
        context
            .add_variable(name.as_str(), value)
            .expect("a value of CEL");
    }
    let holds = |program: &Option<Program>| {
        let program = program.as_ref()?;
        Some(program.execute(&context) == Ok(Value::Bool(true)))
    };
    match (holds(failed), holds(current)) {
        (Some(true), _) => Answer::Failed,
        (_, Some(true)) => Answer::Ready,
        _ => Answer::Unfinished,
    }
}

/// The parser of CEL goes deep for long expressions.
#[test]
fn flux_answers_as_capstan_does() {
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    let judged = thread.spawn(compare_with_flux).expect("it starts").join();
    judged.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn compare_with_flux() {
    let entries = flux();
    for (group, kind, objects) in objects() {
        let is_this = |entry: &&Json| {
            let version = entry["apiVersion"].as_str().expect("a version");
            version.starts_with(&format!("{group}/")) && entry["kind"] == kind
        };
        let Some(entry) = entries.iter().find(is_this) else {
            assert_eq!(
                kind, "AzureClusterIdentity",
                "Flux's own rules are enough for it"
            );
            continue;
        };
        let compiled = |name: &str| {
            let expression = entry[name].as_str()?;
            Some(Program::compile(expression).expect(expression))
        };
        let programs = ["failed", "current"].map(compiled);
        let mut ready = 0;
        for object in objects {
            let mut wanted = expected(&object);
            // Flux waits for `status.observedGeneration` wherever there is one.
            let observed = object.pointer("/status/observedGeneration");
            if observed.is_some() && observed != object.pointer("/metadata/generation") {
                wanted = Answer::Unfinished;
            }
            ready += usize::from(wanted == Answer::Ready);
            assert_eq!(by_flux(&programs, &object), wanted, "{object:#}");
        }
        assert!(ready > 0, "{kind}");
    }
}

/// A value as Lua writes it.
fn lua(value: &Json) -> String {
    match value {
        Json::Null => "nil".to_owned(),
        Json::String(text) => {
            let bytes = text.bytes().map(|byte| format!("\\{byte:03}"));
            format!("\"{}\"", bytes.collect::<String>())
        }
        Json::Array(items) => format!(
            "{{{}}}",
            items.iter().map(lua).collect::<Vec<_>>().join(", ")
        ),
        Json::Object(map) => {
            let entry = |(key, value): (&String, &Json)| {
                format!("[{}] = {}", lua(&key.as_str().into()), lua(value))
            };
            format!(
                "{{{}}}",
                map.iter().map(entry).collect::<Vec<_>>().join(", ")
            )
        }
        other => other.to_string(),
    }
}

/// A program that prints what a script answers for each object, with no more of the standard library than Argo CD
/// gives it.
fn program(script: &str, libraries: bool, objects: &[Json]) -> String {
    let mut program =
        "local say, keep = print, string\nlocal library = getmetatable('')\n".to_owned();
    if !libraries {
        program.push_str(
            "string, os, io, math, utf8 = nil, nil, nil, nil, nil\nlibrary.__index = nil\n",
        );
    }
    let _ = writeln!(program, "local function judge()\n{script}\nend");
    for object in objects {
        let _ = writeln!(program, "obj = {}\nsay(judge().status)", lua(object));
    }
    program
}

#[test]
fn argo_cd_answers_as_capstan_does() {
    let works = Command::new("lua5.4").arg("-v").output();
    if !works.is_ok_and(|output| output.status.success()) {
        let help = "there is no lua5.4; it is in the Debian package of that name";
        assert!(!kubernetes::is_required("lua"), "{help}");
        return eprintln!("skipped: {help}");
    }
    let settings = argocd();
    let directory = tempfile::tempdir().expect("a directory");
    for (group, kind, objects) in objects() {
        let setting =
            |what: &str| settings.get(&format!("resource.customizations.{what}.{group}_{kind}"));
        let script = setting("health")
            .and_then(Json::as_str)
            .expect("each kind has a script");
        let libraries = setting("useOpenLibs").is_some_and(|value| value == "true");
        assert_eq!(libraries, script.contains("contains("), "{kind}");
        let file = directory.path().join(kind);
        std::fs::write(&file, program(script, libraries, &objects)).expect("written");
        let output = Command::new("lua5.4").arg(&file).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let answers = String::from_utf8(output.stdout).expect("UTF-8");
        let answers: Vec<&str> = answers.lines().collect();
        assert_eq!(answers.len(), objects.len());
        for (object, answer) in objects.iter().zip(answers) {
            assert_eq!(answer, word(expected(object)), "{object:#}");
        }
    }
}

#[test]
fn both_exports_are_documents_to_apply() {
    let map: Json =
        serde_yaml::from_str(&stdout(&["health", "export", "--for", "argocd"], 0)).expect("YAML");
    assert_eq!(
        (&map["kind"], &map["metadata"]["name"]),
        (&"ConfigMap".into(), &"argocd-cm".into())
    );
    assert_eq!(map["data"], Json::Object(argocd()));
    // What Kubernetes takes for the key of a ConfigMap.
    let is_key = |key: &String| {
        key.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
    };
    assert!(argocd().keys().all(is_key));
    let text = stdout(&["health", "export", "--for", "flux", "-o", "json"], 0);
    let patch: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!(patch["spec"]["healthCheckExprs"], Json::Array(flux()));
}
