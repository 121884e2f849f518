//! Reads the tables.

use std::sync::Arc;

use capstan::api::arm_version::ArmVersion;
use capstan::yaml;
use serde_json::Value as Json;

/// A field, and what is expected of its values and changes.
pub(super) struct Row {
    /// The kind of the resource.
    pub(super) kind: &'static str,
    /// Its path in the resource.
    pub(super) path: String,
    /// The versions of Azure's API that have it.
    pub(super) since: ArmVersion,
    pub(super) until: ArmVersion,
    pub(super) absent: Absent,
    pub(super) verdict: Verdict,
    /// Other fields that are set first.
    pub(super) with: Vec<(String, Json)>,
    pub(super) values: Vec<Value>,
    /// Two values for the test of changes, where the first two sound ones will not do.
    pub(super) pair: Option<(Json, Json)>,
}

/// What the absence of a field means.
#[derive(Clone)]
pub(super) enum Absent {
    /// It is an error.
    Required,
    /// The same as this value.
    Default(Json),
    /// Another component chooses a value.
    Chosen,
    /// The field has no value.
    None,
}

/// What a change of a field means.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    Fixed,
    Mutable,
    Rolling,
    /// The version of the key: fixed before 2026-06-30, mutable after that.
    Key,
}

/// A value, the versions it is meant for, and the ids that are reported of it.
pub(super) struct Value {
    pub(super) json: Json,
    pub(super) ids: Vec<String>,
    since: ArmVersion,
    until: ArmVersion,
}

impl Value {
    pub(super) fn is_for(&self, version: ArmVersion) -> bool {
        (self.since..=self.until).contains(&version)
    }
}

const OLDEST: ArmVersion = ArmVersion::V20240610;
const NEWEST: ArmVersion = ArmVersion::V20260901;

/// The rows of a table.
pub(super) fn read(kind: &'static str, text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    for line in lines {
        match line.strip_prefix("  ") {
            None => rows.push(head(kind, line)),
            Some(line) => body(rows.last_mut().expect("a row has a head"), line),
        }
    }
    rows
}

fn head(kind: &'static str, line: &str) -> Row {
    let (name, words) = line.split_once(": ").expect(line);
    let mut row = Row {
        kind,
        path: path(name),
        since: OLDEST,
        until: NEWEST,
        absent: Absent::None,
        verdict: Verdict::Mutable,
        with: Vec::new(),
        values: Vec::new(),
        pair: None,
    };
    for word in words.split(", ") {
        match word.split_once(' ').unwrap_or((word, "")) {
            ("since", of) => row.since = version(of),
            ("until", of) => row.until = version(of),
            ("default", of) => row.absent = Absent::Default(json(of)),
            ("required", _) => row.absent = Absent::Required,
            ("chosen", _) => row.absent = Absent::Chosen,
            ("none", _) => row.absent = Absent::None,
            ("fixed", _) => row.verdict = Verdict::Fixed,
            ("mutable", _) => row.verdict = Verdict::Mutable,
            ("rolling", _) => row.verdict = Verdict::Rolling,
            ("key", _) => row.verdict = Verdict::Key,
            _ => panic!("{word}: {line}"),
        }
    }
    row
}

fn body(row: &mut Row, line: &str) {
    if let Some(rest) = line.strip_prefix("with ") {
        let (name, value) = rest.split_once(" = ").expect(line);
        row.with.push((path(name), json(value)));
        return;
    }
    let (head, values) = line.split_once(": ").expect(line);
    let values: Vec<&str> = values.split(" | ").collect();
    if head == "pair" {
        row.pair = Some((json(values[0]), json(values[1])));
        return;
    }
    let (mut since, mut until, mut ids) = (OLDEST, NEWEST, Vec::new());
    let mut words = head.split(' ');
    while let Some(word) = words.next() {
        match word {
            "since" => since = version(words.next().expect(line)),
            "before" => until = before(version(words.next().expect(line))),
            "ok" => {}
            id => ids.push(id.to_owned()),
        }
    }
    let value = |text: &&str| Value {
        json: json(text),
        ids: ids.clone(),
        since,
        until,
    };
    row.values.extend(values.iter().map(value));
}

/// Names that do not begin with `spec` are below `spec.properties`.
fn path(name: &str) -> String {
    match name.starts_with("spec.") {
        true => name.to_owned(),
        false => format!("spec.properties.{name}"),
    }
}

fn version(date: &str) -> ArmVersion {
    serde_json::from_value(format!("{date}-preview").into()).expect(date)
}

fn before(version: ArmVersion) -> ArmVersion {
    let mut older = ArmVersion::ALL.iter().rev();
    *older.find(|older| **older < version).expect("an older one")
}

/// YAML, which `* 3` behind it repeats: a text, or the item of a list.
fn json(text: &str) -> Json {
    let Some((text, times)) = text.rsplit_once(" * ") else {
        let (nodes, findings) = yaml::read(&Arc::from("value"), format!("v: {text}\n").as_bytes());
        assert_eq!(findings, [], "{text}");
        return nodes[0].to_json()["v"].clone();
    };
    let times: usize = times.parse().expect(text);
    match json(text) {
        Json::Array(items) => Json::Array(vec![items[0].clone(); times]),
        other => other.as_str().expect(text).repeat(times).into(),
    }
}
