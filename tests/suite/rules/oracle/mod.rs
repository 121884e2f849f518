//! The cases by which Azure's own service tests what it takes (facts/aro-rules.md §5), restated: a patch
//! of a sound fleet, with the findings it must have, and no others. Each is held against the fleet as a
//! definition, as resources written by hand that name each other, and as resources that name each other
//! by their ids in Azure, in letters of another case.

mod cluster;
mod external_auth;
mod identities;
mod node_pool;
mod sharing;
mod updates;
mod versions;
mod webhooks;

use std::fmt::Write as _;

use super::fixture::{DEFINITION, by_arm_id, by_hand, found, marked, overlay};

const CLUSTER: &str = "HcpOpenShiftCluster";
const POOL: &str = "HcpOpenShiftClustersNodePool";
const AUTH: &str = "HcpOpenShiftClustersExternalAuth";

const KEY: &str = "etcd.dataEncryption.customerManaged.kms.activeKey.name";
const KEY_VERSION: &str = "etcd.dataEncryption.customerManaged.kms.activeKey.version";
const VISIBILITY: &str = "etcd.dataEncryption.customerManaged.kms.visibility";

/// A patch of the resources of a kind, with marks where it must be found fault with.
struct Case {
    kind: &'static str,
    patch: String,
}

/// A patch with marks, as it is.
fn case(kind: &'static str, patch: &str) -> Case {
    let patch = patch.trim_start_matches('\n').to_owned();
    Case { kind, patch }
}

/// A patch of one field, at dotted names from `spec` on, else below `spec.properties`. The value is on
/// the line of its name, or begins with a new line and is on lines of its own.
fn at(kind: &'static str, names: &str, value: &str) -> Case {
    let names = match names.starts_with("spec.") {
        true => names.to_owned(),
        false => format!("spec.properties.{names}"),
    };
    let mut patch = String::new();
    let mut indent = 0;
    for name in names.split('.') {
        let _ = write!(patch, "\n{:indent$}{name}:", "");
        indent += 2;
    }
    match value.strip_prefix('\n') {
        None => patch = format!("{patch} {value}\n"),
        Some(lines) => lines
            .lines()
            .for_each(|line| patch.push_str(&format!("\n{:indent$}{line}", ""))),
    }
    case(kind, &patch)
}

/// A field that is null, at its place below the resource: where patches remove what is null, steps of a
/// JSON patch keep it.
fn null(kind: &'static str, pointer: &str, mark: &str) -> Vec<Case> {
    let step = format!("- op: add\n  path: {pointer}\n  value: null # {mark}\n");
    vec![case(kind, &step)]
}

/// Values of one field that are taken.
fn good(kind: &'static str, names: &'static str, values: &[&str]) -> Vec<Case> {
    values.iter().map(|value| at(kind, names, value)).collect()
}

/// Values of one field that are refused, each at its place, by the rules in `mark`.
fn bad(kind: &'static str, mark: &str, names: &'static str, values: &[&str]) -> Vec<Case> {
    let marked = values.iter().map(|value| format!("{value} # {mark}"));
    marked.map(|value| at(kind, names, &value)).collect()
}

/// The sound fleet as a definition, in this version of Azure's API.
fn defined_in(version: &str) -> String {
    DEFINITION.replace("2026-06-30-preview", version)
}

/// `["x", "x"]`, so many times.
fn list(item: &str, count: usize) -> String {
    format!("[{}]", vec![item; count].join(", "))
}

/// Holds cases against the sound fleet in all its forms.
fn hold(cases: &[Vec<Case>]) {
    let bases = [DEFINITION.to_owned(), by_hand(), by_arm_id()];
    let mut wrong = String::new();
    for case in cases.iter().flatten() {
        let text = overlay(case.kind, &case.patch);
        let expected = marked(&text);
        for (base, form) in bases.iter().zip(["a definition", "by hand", "by ids"]) {
            let found = found(base, &text, "");
            if found != expected {
                let shown: String = case.patch.chars().take(2000).collect();
                let _ = writeln!(
                    wrong,
                    "{form}: expected {expected:?}, found {found:?}\n{shown}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
