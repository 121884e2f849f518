//! Every field of the three ARO kinds in all versions of Azure's API: values that are accepted, the values next to
//! them, and what happens when only this field changes.
//!
//! In the tables, a line without indentation is a field, what its absence means, and what a change of it means. Below
//! it are its values, divided by ` | `, after `ok` or the ids of the rules that report them; `x * 3` repeats. Values of
//! a wrong `type` are reported once, by the rule about the field or else by S02. `with` sets another field first. What
//! the rules of families C, N, E and S find is compared; the others look at how resources fit together.

mod table;

use std::fmt::Write as _;

use capstan::api::arm_version::ArmVersion;
use capstan::model::Severity;
use capstan::{plan, yaml};
use serde_json::Value as Json;

use super::fixture::{DEFINITION, compiled, embedded_mut, objects_by_hand};
use table::{Absent, Row, Value, Verdict};

const CLUSTER: (&str, &str) = ("HcpOpenShiftCluster", include_str!("cluster.txt"));
const POOL: (&str, &str) = (
    "HcpOpenShiftClustersNodePool",
    include_str!("node_pool.txt"),
);
const AUTH: (&str, &str) = (
    "HcpOpenShiftClustersExternalAuth",
    include_str!("external_auth.txt"),
);

/// A cluster without faults, written by hand in a version. Of its infrastructure, most of its resources, only the
/// resource group matters to the fields.
fn base(version: ArmVersion) -> Vec<Json> {
    let mut objects = objects_by_hand(&DEFINITION.replace("2026-06-30-preview", version.arm()));
    let infrastructure = objects
        .iter_mut()
        .filter(|object| object["kind"] == "AROCluster");
    for carried in infrastructure.filter_map(|object| object["spec"]["resources"].as_array_mut()) {
        carried.retain(|resource| resource["kind"] == "ResourceGroup");
    }
    objects
}

/// The fleet with the row's other fields set, and its field as `value`, which is absent if it is none.
fn with(base: &[Json], row: &Row, value: Option<&Json>) -> Vec<Json> {
    let mut objects = base.to_vec();
    let resources = objects.iter_mut().flat_map(embedded_mut);
    let mut of_kind = resources.filter(|one| one["kind"] == row.kind);
    let resource = of_kind.next().expect("it is there");
    for (path, value) in &row.with {
        set(resource, path, Some(value));
    }
    set(resource, &row.path, value);
    drop(of_kind);
    objects
}

/// Sets or removes the value at a dotted path.
fn set(json: &mut Json, path: &str, value: Option<&Json>) {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let inner = match (json, name.parse::<usize>()) {
        (Json::Array(items), Ok(at)) => &mut items[at],
        (Json::Object(map), _) if rest.is_empty() && value.is_none() => {
            map.remove(name);
            return;
        }
        (json, _) => &mut json[name],
    };
    match (rest, value) {
        ("", Some(value)) => *inner = value.clone(),
        ("", None) => {}
        (rest, value) => set(inner, rest, value),
    }
}

/// The ids that the rules about fields report.
fn reported(objects: &[Json]) -> Vec<&'static str> {
    let text = yaml::write(objects);
    let findings = compiled(&[("base.yaml", &text)])
        .checked
        .findings
        .into_iter();
    let counts = findings.filter(|finding| {
        finding.severity != Severity::Info && finding.id.starts_with(['C', 'N', 'E', 'S'])
    });
    let mut ids: Vec<&str> = counts.map(|finding| finding.id).collect();
    ids.sort_unstable();
    ids
}

/// The values that are judged in a version, with the ids that are expected. Of a field that the version lacks one value
/// is enough; of one that a version dropped C43 reports that the new one is missing.
fn expected(row: &Row, version: ArmVersion) -> Vec<(&Json, Vec<&str>)> {
    if version < row.since {
        let sound = row.values.iter().find(|value| value.ids.is_empty());
        let sound = sound.map(|value| &value.json);
        let pair = row.pair.as_ref().map(|(one, _)| one);
        return sound
            .or(pair)
            .map(|value| (value, vec!["S01"]))
            .into_iter()
            .collect();
    }
    let counts = |value: &&Value| version <= row.until && value.is_for(version);
    let values = row.values.iter().filter(counts);
    values
        .map(|value| (&value.json, value.ids.iter().map(String::as_str).collect()))
        .collect()
}

#[track_caller]
fn values_are_judged((kind, text): (&'static str, &str)) {
    let rows = table::read(kind, text);
    let (mut wrong, mut count) = (String::new(), 0);
    for version in ArmVersion::ALL {
        let base = base(*version);
        assert_eq!(reported(&base), [""; 0]);
        for row in &rows {
            for (value, expected) in expected(row, *version) {
                let found = reported(&with(&base, row, Some(value)));
                count += 1;
                let is_mistyped = expected == ["type"] && found.len() == 1;
                if found != expected && !is_mistyped {
                    let value: String = value.to_string().chars().take(80).collect();
                    let (arm, path) = (version.arm(), &row.path);
                    let _ = writeln!(
                        wrong,
                        "{arm} {path}: {value}: expected {expected:?}, found {found:?}"
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 150, "{count}");
}

#[test]
fn values_of_clusters() {
    values_are_judged(CLUSTER);
}

#[test]
fn values_of_node_pools() {
    values_are_judged(POOL);
}

#[test]
fn values_of_external_auths() {
    values_are_judged(AUTH);
}

/// The ids that are reported when one fleet becomes the other.
fn changed(before: &[Json], after: &[Json]) -> Vec<&'static str> {
    let pairs = before.iter().zip(after);
    let found = pairs.flat_map(|(before, after)| plan::consequences(before, after));
    found.map(|one| one.rule()).collect()
}

/// What is reported of a change from one value of the field to another one.
fn verdict(row: &Row, version: ArmVersion) -> &'static [&'static str] {
    match row.verdict {
        Verdict::Mutable => &[],
        Verdict::Key if version >= ArmVersion::V20260630 => &[],
        Verdict::Rolling => &["U02"],
        Verdict::Fixed | Verdict::Key => &["U01"],
    }
}

/// Two values of the field, the first of which is not the default.
fn two(row: &Row, version: ArmVersion) -> Option<(Json, Json)> {
    if let Some((one, other)) = &row.pair {
        return Some((other.clone(), one.clone()));
    }
    let values = row.values.iter().filter(|value| value.ids.is_empty());
    let mut values = values.filter(|value| value.is_for(version));
    let (one, other) = (values.next()?.json.clone(), values.next()?.json.clone());
    match &row.absent {
        Absent::Default(default) if *default == one => Some((other, one)),
        _ => Some((one, other)),
    }
}

/// The changes of one field: from what, to what, and whether the row's verdict holds.
fn edits(
    row: &Row,
    one: Json,
    other: Json,
) -> Vec<(&'static str, Option<Json>, Option<Json>, bool)> {
    let mut edits = vec![("changed", Some(other), Some(one.clone()), true)];
    let one = Some(one);
    match &row.absent {
        Absent::Required => {}
        Absent::Chosen => {
            edits.push(("added", None, one.clone(), false));
            edits.push(("removed", one, None, false));
        }
        Absent::None => {
            edits.push(("added", None, one.clone(), true));
            edits.push(("removed", one, None, true));
        }
        Absent::Default(default) => {
            let default = Some(default.clone());
            edits.push(("added", None, one.clone(), true));
            edits.push(("removed", one, None, true));
            edits.push(("added with its default", None, default.clone(), false));
            edits.push(("removed with its default", default, None, false));
        }
    }
    edits
}

/// Both fleets are sound, and only this field changes.
#[test]
fn changes_of_one_field_are_judged() {
    let tables = [CLUSTER, POOL, AUTH];
    let rows: Vec<Row> = tables
        .into_iter()
        .flat_map(|(kind, text)| table::read(kind, text))
        .collect();
    let (mut wrong, mut count) = (String::new(), 0);
    for version in ArmVersion::ALL {
        // A version of OpenShift that rotates keys.
        let of_version = DEFINITION.replace("2026-06-30-preview", version.arm());
        let base = objects_by_hand(&of_version.replace("id: \"4.20\"", "id: \"4.22\""));
        let rows = rows
            .iter()
            .filter(|row| (row.since..=row.until).contains(version));
        for row in rows {
            let Some((one, other)) = two(row, *version) else {
                continue;
            };
            for (edit, before, after, holds) in edits(row, one, other) {
                let expected = if holds { verdict(row, *version) } else { &[] };
                let (before, after) = (
                    with(&base, row, before.as_ref()),
                    with(&base, row, after.as_ref()),
                );
                assert_ne!(before, after, "{} {edit}", row.path);
                let found = changed(&before, &after);
                count += 1;
                if found != expected {
                    let (arm, path) = (version.arm(), &row.path);
                    let _ = writeln!(
                        wrong,
                        "{arm} {path} {edit}: expected {expected:?}, found {found:?}"
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 500, "{count}");
}
