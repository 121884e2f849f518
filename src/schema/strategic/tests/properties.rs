//! Directives below `properties`, which wait for what expansion makes.

use serde_json::{Value as Json, json};

use super::written;
use crate::model::Node;
use crate::schema::strategic::{ListKeys, lay_over, lay_under, merge};

/// What two patches below `properties` make of `base`, one after the other and combined as layers.
fn twice(base: &Json, lower: &Json, upper: &Json) -> [Json; 4] {
    let lists = ListKeys::default();
    let mut findings = Vec::new();
    let layer =
        |file: &'static str, json: &Json| written(file, &json!({"properties": {"p": json}}));
    let (one, two) = (layer("base", lower), layer("patch", upper));
    let nothing = || written("base", &json!({}));
    let one = lay_over(nothing(), &one, &lists, &mut findings);
    let two_alone = lay_over(nothing(), &two, &lists, &mut findings);
    let over = lay_over(one.clone(), &two, &lists, &mut findings);
    let under = lay_under(&two, one.clone(), &lists, &mut findings);
    let mut onto = |base: &Json, patch: &Node| {
        let patch = patch.get("properties").unwrap();
        merge(written("base", base), patch, &lists, &mut findings).to_json()
    };
    let made = json!({"p": base});
    let first = onto(&made, &one);
    let all = [
        onto(&made, &two_alone),
        onto(&first, &two_alone),
        onto(&made, &over),
        onto(&made, &under),
    ];
    assert_eq!(findings, []);
    all.map(|json| json.get("p").cloned().unwrap_or_default())
}

#[test]
fn directives_below_properties_wait_for_what_expansion_makes() {
    let base = || {
        json!({
            "m": {"x": 1, "y": {"z": 1}}, "s": ["a", "b"],
            "labels": [{"key": "k", "value": "1"}, {"key": "l", "value": "1"}],
        })
    };
    let with = |field: &str, json: Json| {
        let mut base = base();
        base[field] = json;
        base
    };
    let without = |field: &str| {
        let mut base = base();
        base.as_object_mut().unwrap().remove(field);
        base
    };
    let rest = json!({"key": "l", "value": "1"});
    let table = [
        (
            json!({"m": {"$patch": "replace", "w": 1}}),
            with("m", json!({"w": 1})),
        ),
        (json!({"m": {"$patch": "delete"}}), without("m")),
        (
            json!({"m": {"$patch": "merge", "x": 2}}),
            with("m", json!({"x": 2, "y": {"z": 1}})),
        ),
        (
            json!({"m": {"$retainKeys": ["y"]}}),
            with("m", json!({"y": {"z": 1}})),
        ),
        (
            json!({"$deleteFromPrimitiveList/s": ["a"]}),
            with("s", json!(["b"])),
        ),
        (
            json!({"$setElementOrder/s": ["b", "a"]}),
            with("s", json!(["b", "a"])),
        ),
        (
            json!({"labels": [{"key": "k", "$patch": "delete"}]}),
            with("labels", json!([rest])),
        ),
        (
            json!({"labels": [{"key": "k", "$patch": "replace"}]}),
            with("labels", json!([{"key": "k"}, rest])),
        ),
        (
            json!({"labels": [{"$patch": "replace"}, {"key": "n"}]}),
            with("labels", json!([{"key": "n"}])),
        ),
    ];
    let plain = [
        json!({}),
        json!({"m": {"x": 3}, "s": ["c", "a"], "labels": [{"key": "k", "value": "3"}]}),
    ];
    let patches = table
        .iter()
        .map(|(patch, _)| patch.clone())
        .chain(plain)
        .collect::<Vec<_>>();
    for (patch, expected) in &table {
        assert_eq!(
            twice(&base(), &json!({}), patch),
            [(); 4].map(|()| expected.clone()),
            "{patch}"
        );
    }
    for (lower, upper) in patches
        .iter()
        .flat_map(|one| patches.iter().map(move |two| (one, two)))
    {
        let [_, in_turn, over, under] = twice(&base(), lower, upper);
        // An element that is deleted and set again may keep its place.
        let in_turn = sorted(in_turn);
        assert_eq!(
            [over, under].map(sorted),
            [(); 2].map(|()| in_turn.clone()),
            "{upper} over {lower}"
        );
    }
}

/// With the elements of lists in an order of their own.
fn sorted(mut json: Json) -> Json {
    if let Some(labels) = json["labels"].as_array_mut() {
        labels.sort_by_key(Json::to_string);
    }
    json
}

#[test]
fn the_patch_of_properties_itself_is_about_the_layers_beneath() {
    let lists = ListKeys::default();
    let lower = written("base", &json!({"properties": {"a": {"$patch": "replace"}}}));
    for (upper, expected) in [
        (
            json!({"$patch": "replace", "b": {"$patch": "delete"}}),
            json!({"properties": {"b": {"$patch": "delete"}}}),
        ),
        (json!({"$patch": "delete"}), json!({})),
        (Json::Null, json!({"properties": null})),
        (
            json!({"$patch": "merge", "b": 1}),
            json!({"properties": {"a": {"$patch": "replace"}, "b": 1}}),
        ),
    ] {
        let upper = written("patch", &json!({"properties": upper}));
        let merged = lay_over(lower.clone(), &upper, &lists, &mut Vec::new());
        assert_eq!(merged.to_json(), expected);
    }
}
