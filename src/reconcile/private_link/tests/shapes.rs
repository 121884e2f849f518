//! Objects of any shape: nothing panics, and nothing is made of nonsense.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::model::ObjectId;

/// What can be in place of anything.
fn shapes() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("/"),
        json!("a/b/c/d/e/f/g/h/i/j/k/l/m"),
        json!("\u{0}\u{202e}é\n"),
        json!("x".repeat(5000)),
        json!([]),
        json!([[], {}, null, "x", 7]),
        json!({}),
        json!({"": {"": []}, "type": [], "kind": {}, "name": 7}),
    ]
}

/// All paths below a value, itself not included.
fn paths(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, child)| (key.replace('~', "~0").replace('/', "~1"), child))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(place, child)| (place.to_string(), child))
            .collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for (key, child) in children {
        found.push(format!("/{key}"));
        found.extend(paths(child).into_iter().map(|path| format!("/{key}{path}")));
    }
    found
}

/// What an object is called stays: otherwise it would be another one.
fn is_identity(path: &str) -> bool {
    [
        "/apiVersion",
        "/kind",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
    ]
    .contains(&path)
}

fn decide(scene: &Scene) {
    let all = [
        (OBSERVER, router_id("clusters", "one")),
        (SERVICE, connection_id("clusters", "one")),
        (ENDPOINT, connection_id("clusters", "one")),
    ];
    for (controller, id) in all {
        if scene.find(&id).is_some() {
            let _ = scene.decide(controller, &id);
        }
    }
}

fn objects(scene: &Scene) -> Vec<ObjectId> {
    scene.fixture.snapshot.ids().cloned().collect()
}

/// Puts each shape in each place of each object, and decides.
fn try_all(scene: &mut Scene) {
    for id in objects(scene) {
        let before = scene.live(&id);
        for path in paths(&before).iter().filter(|path| !is_identity(path)) {
            for shape in shapes() {
                let mut object = before.clone();
                *object.pointer_mut(path).unwrap() = shape;
                scene.fixture.snapshot.insert(object);
                decide(scene);
            }
        }
        scene.fixture.snapshot.insert(before);
    }
}

#[test]
fn no_shape_of_any_object_is_too_much() {
    let mut scene = Scene::connected();
    try_all(&mut scene);
    scene.settle();
    scene.assert_connected("clusters", "one");
}

#[test]
fn no_shape_is_too_much_while_all_goes() {
    let mut scene = Scene::connected();
    scene.has_aso = false;
    scene.delete_cluster("clusters", "one");
    try_all(&mut scene);
    scene.has_aso = true;
    scene.settle();
    assert!(scene.azure.is_empty());
}
