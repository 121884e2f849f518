//! Objects as kubectl prints them: a row each.
//!
//! In: a resource, its objects and the time. Out: a `Table` (meta.k8s.io/v1) with the columns that the
//! definition of a custom resource names; of built-in resources only those that say most, and when
//! they were made. It does not know how wide a terminal is.

use jiff::Timestamp;
use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::{QueryRef, js_path_process};
use serde_json::{Value, json};

use super::object::{Form, Stored};
use super::resources::Resource;

/// A column of built-in resources.
#[derive(Clone, Copy)]
enum Shown {
    /// The text at a JSON pointer.
    Text(&'static str),
    /// How many entries the maps or lists at these JSON pointers have.
    Count(&'static [&'static str]),
}

/// Kind, and the columns between the name and the age.
const COLUMNS: &[(&str, &[(&str, Shown)])] = &[
    (
        "ConfigMap",
        &[("Data", Shown::Count(&["/data", "/binaryData"]))],
    ),
    ("Lease", &[("Holder", Shown::Text("/spec/holderIdentity"))]),
    ("Namespace", &[("Status", Shown::Text("/status/phase"))]),
    (
        "Secret",
        &[
            ("Type", Shown::Text("/type")),
            ("Data", Shown::Count(&["/data"])),
        ],
    ),
    (
        "ServiceAccount",
        &[("Secrets", Shown::Count(&["/secrets"]))],
    ),
];

/// The table of `items`; `include` is how much of each object its row has, as the query asks.
pub(super) fn table(
    resource: &Resource,
    items: &[Stored],
    metadata: &Value,
    include: &str,
    now: Timestamp,
) -> Value {
    let columns = columns(resource);
    let rows: Vec<Value> = items
        .iter()
        .map(|stored| {
            let object = stored.value(resource);
            let cells: Vec<Value> = columns
                .iter()
                .map(|column| column.cell(&object, now))
                .collect();
            match include {
                "None" => json!({"cells": cells}),
                "Object" => json!({"cells": cells, "object": object}),
                _ => json!({"cells": cells, "object": partial(stored, resource)}),
            }
        })
        .collect();
    let definitions: Vec<Value> = columns.iter().map(Column::definition).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn partial(stored: &Stored, resource: &Resource) -> Value {
    let mut text = Vec::new();
    stored.render(resource, Form::Metadata, &mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

/// A column, as the definition of a custom resource writes one.
struct Column {
    name: String,
    kind: String,
    priority: i64,
    source: Source,
}

enum Source {
    /// None for a path that cannot be read: its cells are empty.
    Path(Option<JpQuery>),
    BuiltIn(Shown),
}

fn columns(resource: &Resource) -> Vec<Column> {
    let column = |name: &str, kind: &str, path: &str| Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        priority: 0,
        source: Source::Path(query(path)),
    };
    let mut columns = vec![column("Name", "string", ".metadata.name")];
    let age = column("Age", "date", ".metadata.creationTimestamp");
    let Some(custom) = resource.custom() else {
        let known = COLUMNS.iter().find(|(kind, _)| *kind == resource.kind);
        let known = known.into_iter().flat_map(|(_, columns)| *columns);
        columns.extend(known.map(|(name, shown)| Column {
            name: (*name).to_owned(),
            kind: "string".to_owned(),
            priority: 0,
            source: Source::BuiltIn(*shown),
        }));
        columns.push(age);
        return columns;
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    columns.extend(custom.printed.iter().map(|printed| Column {
        name: text(&printed["name"]),
        kind: text(&printed["type"]),
        priority: printed["priority"].as_i64().unwrap_or_default(),
        source: Source::Path(query(&text(&printed["jsonPath"]))),
    }));
    if custom.printed.is_empty() {
        columns.push(age);
    }
    columns
}

impl Column {
    fn definition(&self) -> Value {
        let format = if self.name == "Name" { "name" } else { "" };
        json!({
            "name": self.name, "type": self.kind, "format": format, "description": "",
            "priority": self.priority,
        })
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = match &self.source {
            Source::BuiltIn(shown) => return built_in(*shown, object),
            Source::Path(query) => query.as_ref().and_then(|query| find(object, query)),
        };
        match (self.kind.as_str(), found) {
            (_, None | Some(Value::Null)) => Value::Null,
            ("date", Some(time)) => json!(time.as_str().map_or_else(invalid, |t| age(t, now))),
            ("string", Some(Value::String(text))) => json!(text),
            ("string", Some(other)) => json!(other.to_string()),
            (_, Some(value)) => value.clone(),
        }
    }
}

fn built_in(shown: Shown, object: &Value) -> Value {
    let size = |pointer: &&str| match object.pointer(pointer) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    };
    match shown {
        Shown::Text(pointer) => object.pointer(pointer).cloned().unwrap_or_default(),
        Shown::Count(pointers) => json!(pointers.iter().map(size).sum::<usize>()),
    }
}

/// Reads the path of a column. RFC 9535 has no dashes in plain names and no escaped dots, so names
/// are put in brackets; what is in brackets already stays.
fn query(path: &str) -> Option<JpQuery> {
    let mut standard = "$".to_owned();
    let mut rest = path;
    while !rest.is_empty() {
        if rest.starts_with('[') {
            let (selector, after) = rest.split_once(']')?;
            standard += &format!("{selector}]");
            rest = after;
            continue;
        }
        let (name, after) = field(rest.strip_prefix('.').unwrap_or(rest));
        standard += &match name.as_str() {
            "*" => "[*]".to_owned(),
            name => format!("[{}]", json!(name)),
        };
        rest = after;
    }
    parse_json_path(&standard).ok()
}

/// The name up to the next step; a dot in it is escaped.
fn field(path: &str) -> (String, &str) {
    let mut key = String::new();
    let mut letters = path.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => key.extend(letters.next().map(|(_, escaped)| escaped)),
            // The first letter is the name's own, so that every step gets on.
            '.' | '[' if at > 0 => return (key, path.get(at..).unwrap_or_default()),
            letter => key.push(letter),
        }
    }
    (key, "")
}

/// The first value that a path leads to.
fn find<'a>(value: &'a Value, query: &JpQuery) -> Option<&'a Value> {
    let found = js_path_process(query, value).ok()?;
    found.into_iter().next().map(QueryRef::val)
}

fn invalid() -> String {
    "<invalid>".to_owned()
}

/// How long ago a time was, as people say it: two units at most, and of the smaller one only while it
/// matters.
fn age(time: &str, now: Timestamp) -> String {
    let Ok(time) = time.parse::<Timestamp>() else {
        return invalid();
    };
    let seconds = now.as_second() - time.as_second();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |big: i64, unit: char, small: i64, part: char| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{part}"),
    };
    match seconds {
        ..-1 => invalid(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, 'y', days % 365, 'd'),
        252_288_000.. => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(object: &Value, path: &str) -> Value {
        query(path)
            .and_then(|query| find(object, &query).cloned())
            .unwrap_or_default()
    }

    #[test]
    fn a_path_leads_to_the_first_value() {
        let object = json!({"spec": {"a.b": 1, "with-dash": 3, "list": [{"x": 2}]}, "status": {"conditions": [
            {"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}});
        assert_eq!(at(&object, r".spec.a\.b"), 1);
        assert_eq!(at(&object, ".spec['a.b']"), 1);
        assert_eq!(at(&object, ".spec.list[0].x"), 2);
        assert_eq!(
            at(&object, ".status.conditions[?(@.type==\"Ready\")].status"),
            "True"
        );
        assert_eq!(
            at(&object, ".status.conditions[?(@.type=='Ready')].status"),
            "True"
        );
        assert_eq!(at(&object, ".status.conditions[*].status"), "False");
        assert_eq!(at(&object, ".status.conditions[-1:].type"), "Ready");
        assert_eq!(at(&object, ".spec.with-dash"), 3);
        assert_eq!(at(&object, ".status.none[0].x"), Value::Null);
        assert_eq!(at(&object, ".spec.list[x"), Value::Null);
        assert_eq!(at(&object, ".."), Value::Null);
    }

    #[test]
    fn an_age_has_two_units_at_most() {
        let now = Timestamp::from_second(1_000_000_000).unwrap_or_default();
        for (seconds, shown) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (10_799, "179m"),
            (10_800, "3h"),
            (27_060, "7h31m"),
            (172_799, "47h"),
            (176_400, "2d1h"),
            (31_536_000, "365d"),
            (94_694_400, "3y1d"),
        ] {
            let then = Timestamp::from_second(1_000_000_000 - seconds).unwrap_or_default();
            assert_eq!(age(&then.to_string(), now), shown);
        }
    }
}
