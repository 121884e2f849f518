//! What holds of merging, whatever is merged.

use std::collections::HashMap;

use capstan::model::{Map, Node, Value};
use capstan::schema::strategic::{ListKeys, lay_over, lay_under, merge};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::hold;
use super::values::{anything, leaves, typed, written};

const CASES: u32 = 400;

fn over(lower: Node, upper: &Node) -> Node {
    let mut findings = Vec::new();
    let laid = lay_over(lower, upper, &ListKeys::default(), &mut findings);
    assert_eq!(findings, []);
    laid
}

fn patched(base: Node, patch: &Node) -> Node {
    let mut findings = Vec::new();
    let merged = merge(base, patch, &ListKeys::default(), &mut findings);
    assert_eq!(findings, []);
    merged
}

/// A map, whatever it holds.
fn map() -> impl Strategy<Value = Json> {
    let is_plain = |json: &Json| json.is_object() && !json.to_string().contains('$');
    anything().prop_filter("a map without directives", is_plain)
}

#[test]
fn layers_may_be_merged_in_any_grouping_while_fields_keep_their_kind() {
    let three = (typed(false), typed(false), typed(false));
    hold(CASES, &three, |(a, b, c)| {
        let [a, b, c] = [("a", a), ("b", b), ("c", c)].map(|(file, json)| written(file, &json));
        let left = over(over(a.clone(), &b), &c);
        let right = over(a.clone(), &over(b.clone(), &c));
        prop_assert_eq!(left.to_json(), right.to_json());
        Ok(())
    });
}

#[test]
fn merging_nothing_changes_nothing_and_merging_into_nothing_gives_the_patch() {
    hold(CASES, &map(), |json| {
        let node = written("a", &json);
        let nothing = Node::new(Value::Map(Map::default()), &node.origin);
        prop_assert_eq!(&patched(node.clone(), &nothing), &node);
        prop_assert_eq!(over(node.clone(), &nothing).to_json(), json.clone());
        prop_assert_eq!(over(nothing, &node).to_json(), json);
        Ok(())
    });
}

#[test]
fn the_same_patch_again_changes_nothing_more() {
    hold(CASES, &(typed(true), typed(true)), |(base, patch)| {
        let (base, patch) = (written("base", &base), written("patch", &patch));
        let once = patched(base, &patch);
        prop_assert_eq!(patched(once.clone(), &patch).to_json(), once.to_json());
        Ok(())
    });
}

#[test]
fn what_lies_under_and_what_lies_over_say_the_same_up_to_order() {
    hold(CASES, &(typed(true), typed(true)), |(lower, upper)| {
        let (lower, upper) = (written("lower", &lower), written("upper", &upper));
        let under = lay_under(&upper, lower.clone(), &ListKeys::default(), &mut Vec::new());
        prop_assert_eq!(
            sorted(&under.to_json()),
            sorted(&over(lower, &upper).to_json())
        );
        Ok(())
    });
}

/// The value with its lists in an order of their own.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Array(items) => {
            let mut items: Vec<Json> = items.iter().map(sorted).collect();
            items.sort_by_key(Json::to_string);
            items.into()
        }
        Json::Object(map) => map
            .iter()
            .map(|(key, json)| (key.clone(), sorted(json)))
            .collect(),
        json => json.clone(),
    }
}

#[test]
fn every_value_points_at_a_place_where_it_is_written() {
    let two = prop_oneof![(typed(true), typed(true)), (map(), map())];
    hold(CASES, &two, |(base, patch)| {
        let (base, patch) = (written("base", &base), written("patch", &patch));
        let written: HashMap<_, _> = leaves(&base)
            .into_iter()
            .chain(leaves(&patch))
            .map(|leaf| (leaf.span().clone(), leaf.to_json()))
            .collect();
        let under = lay_under(&patch, base.clone(), &ListKeys::default(), &mut Vec::new());
        for merged in [
            patched(base.clone(), &patch),
            over(base.clone(), &patch),
            under,
        ] {
            for leaf in leaves(&merged) {
                prop_assert_eq!(written.get(leaf.span()), Some(&leaf.to_json()));
            }
        }
        Ok(())
    });
}
