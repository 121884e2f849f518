//! Values at random: any at all, and those in which a field is always of one kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan::model::{Node, Origin, Span, Value};
use capstan::yaml;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// Texts that YAML may take for something else, and texts that it may break at.
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "4.20",
    "0x1f",
    "0o7",
    "1e3",
    "1_000",
    "null",
    "~",
    "yes",
    "on",
    "n",
    "true",
    ".inf",
    "-",
    "- a",
    "a: b",
    "#",
    " a",
    "a ",
    "a\nb",
    "\n",
    "\ta",
    "'",
    "\"",
    "\\",
    "*",
    "&a",
    "!b",
    "%c",
    "@",
    "`",
    "{",
    "[",
    "|",
    ">",
    "?",
    ":",
    "=",
    "<<",
    "---",
    "...",
    "é\u{301}",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "\u{1f980}",
    "\u{7f}",
    "\r\n",
    "2020-01-01",
    "12:30:45",
    "ENC[AES256_GCM,data:x]",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(TEXTS).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

/// A number as Kubernetes' tools send it: 2.0 is 2.
#[allow(clippy::cast_possible_truncation)]
fn as_sent(float: f64) -> Json {
    let is_whole = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    if is_whole {
        Json::from(float as i64)
    } else {
        Json::from(float)
    }
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>()
            .prop_filter("JSON has no infinity", |float| float.is_finite())
            .prop_map(as_sent),
        text().prop_map(Json::from),
    ]
}

/// Anything that JSON can say.
pub(super) fn anything() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Json::from),
            btree_map(text(), inner, 0..5).prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// A map whose fields are always of one kind: `s` and `t` are scalars, `m` and `n` maps, `l` a list that
/// is replaced, `nodePools` and `env` lists whose elements have a name each. With `nulls`, fields may be
/// null too.
pub(super) fn typed(nulls: bool) -> BoxedStrategy<Json> {
    let plain = prop_oneof![
        Just(json!(1)),
        Just(json!(2)),
        Just(json!("a")),
        Just(json!("b"))
    ];
    let scalars = fields(&["s", "t"], &plain.clone().boxed(), nulls);
    scalars
        .prop_recursive(3, 24, 4, move |inner| {
            let maps = fields(&["m", "n"], &inner, nulls);
            let lists = fields(&["nodePools", "env"], &named(inner.clone()), nulls);
            let replaced = vec(plain.clone(), 0..3).prop_map(Json::from).boxed();
            let replaced = fields(&["l"], &replaced, nulls);
            (inner, maps, lists, replaced)
                .prop_map(|(a, b, c, d)| [a, b, c, d].into_iter().fold(json!({}), joined))
        })
        .boxed()
}

/// The map with what another one has; of what both have, the other's.
pub(super) fn joined(a: Json, b: Json) -> Json {
    let (Json::Object(mut a), Json::Object(b)) = (a, b) else {
        panic!("only maps are joined");
    };
    a.extend(b);
    a.into()
}

fn fields(
    names: &'static [&'static str],
    of: &BoxedStrategy<Json>,
    nulls: bool,
) -> BoxedStrategy<Json> {
    let value = match nulls {
        true => prop_oneof![6 => of.clone(), 1 => Just(Json::Null)].boxed(),
        false => of.clone(),
    };
    let entries = btree_map(prop::sample::select(names), value, 0..=names.len());
    let map = |entries: BTreeMap<&str, Json>| {
        let entries = entries
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        Json::Object(entries.collect::<Map<_, _>>())
    };
    entries.prop_map(map).boxed()
}

/// A list whose elements have a name of their own.
fn named(inner: BoxedStrategy<Json>) -> BoxedStrategy<Json> {
    let list = |elements: BTreeMap<&str, Json>| {
        let element = |(name, rest): (&str, Json)| joined(rest, json!({"name": name}));
        elements.into_iter().map(element).collect::<Vec<Json>>()
    };
    let elements = btree_map(prop::sample::select(&["a", "b", "c"][..]), inner, 0..3);
    let shuffled = elements.prop_map(list).prop_shuffle();
    shuffled.prop_map(Json::from).boxed()
}

/// The value read from a file, so that every part has its own span.
pub(super) fn written(file: &str, json: &Json) -> Node {
    let text = yaml::write(std::slice::from_ref(json));
    let (mut nodes, findings) = yaml::read(&Arc::from(file), text.as_bytes());
    assert_eq!(findings, [], "{text}");
    // An empty document is none.
    nodes.pop().unwrap_or_else(|| {
        let origin = Origin::new(Span::top(&Arc::from(file)));
        Node::from_json(json, &origin)
    })
}

/// Every scalar in a value.
pub(super) fn leaves(node: &Node) -> Vec<&Node> {
    match &node.value {
        Value::Map(map) => map.iter().flat_map(|(_, node)| leaves(node)).collect(),
        Value::List(items) => items.iter().flat_map(leaves).collect(),
        _ => vec![node],
    }
}
