#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use super::merge;

fn patched(object: Value, patch: Value) -> Result<Value, String> {
    let mut object = object;
    merge(&mut object, patch).map_err(|refusal| refusal.message)?;
    Ok(object)
}

/// The names of containers after a patch of those named a, b and c.
fn names(patch: Value) -> Result<Vec<String>, String> {
    let containers = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
    let object = patched(
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}}),
        json!({"spec": patch}),
    )?;
    let list = object["spec"]["containers"].as_array().unwrap().clone();
    Ok(list
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect())
}

#[test]
fn maps_merge_and_directives_say_otherwise() {
    let object = json!({"data": {"a": "1", "b": "2"}});
    let of = |data: Value| patched(object.clone(), json!({"data": data})).unwrap()["data"].clone();
    assert_eq!(
        of(json!({"a": null, "c": "3"})),
        json!({"b": "2", "c": "3"})
    );
    assert_eq!(
        of(json!({"$patch": "replace", "c": "3"})),
        json!({"c": "3"})
    );
    assert_eq!(of(json!({"$patch": "delete"})), json!({}));
    assert_eq!(of(json!({"$retainKeys": ["b"]})), json!({"b": "2"}));
    let fault = patched(object, json!({"data": {"$patch": "dance"}})).unwrap_err();
    assert_eq!(fault, "unknown patch type: dance in map: map[$patch:dance]");
}

#[test]
fn items_are_ordered_by_the_patch_and_the_directive() {
    let list =
        |names: &[&str]| -> Value { names.iter().map(|name| json!({"name": name})).collect() };
    assert_eq!(
        names(json!({"containers": list(&["d"])})).unwrap(),
        ["d", "a", "b", "c"]
    );
    assert_eq!(
        names(json!({"containers": list(&["c", "a"])})).unwrap(),
        ["b", "c", "a"]
    );
    let order =
        json!({"$setElementOrder/containers": list(&["b", "d", "a"]), "containers": list(&["d"])});
    assert_eq!(names(order).unwrap(), ["b", "d", "a", "c"]);
    let gone = json!({"containers": [{"name": "b", "$patch": "delete"}]});
    assert_eq!(names(gone).unwrap(), ["a", "c"]);
    let replaced = json!({"containers": [{"$patch": "replace"}, {"name": "d"}]});
    assert_eq!(names(replaced).unwrap(), ["d"]);
}

#[test]
fn an_item_needs_its_key() {
    let fault = names(json!({"containers": [{"image": "x"}]})).unwrap_err();
    assert_eq!(
        fault,
        "map: map[image:x] does not contain declared merge key: name"
    );
}

#[test]
fn texts_are_added_once_and_taken_out() {
    let object = json!({"metadata": {"finalizers": ["a", "b"]}});
    let of = |patch: Value| {
        patched(object.clone(), json!({"metadata": patch})).unwrap()["metadata"]["finalizers"]
            .clone()
    };
    assert_eq!(
        of(json!({"finalizers": ["b", "c"]})),
        json!(["a", "b", "c"])
    );
    assert_eq!(
        of(json!({"$deleteFromPrimitiveList/finalizers": ["a"]})),
        json!(["b"])
    );
}
