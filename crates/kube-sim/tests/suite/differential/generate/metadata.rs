//! Labels, annotations, finalizers and owners.

use serde_json::{Map, Value as Json, json};

use super::shapes::{Make, keyed, value};
use crate::random::Random;

/// Some of them; nothing more often than not.
pub(super) fn metadata(random: &mut Random) -> Json {
    let mut metadata = json!({});
    if random.chance(25) {
        metadata["labels"] = value(random, texts);
    }
    if random.chance(20) {
        metadata["annotations"] = value(random, texts);
    }
    if random.chance(20) {
        metadata["finalizers"] = finalizers(random);
    }
    if random.chance(8) {
        metadata["ownerReferences"] = owners(random);
    }
    if random.slip(4) {
        let (key, value) = random
            .pick(&[
                ("colour", json!("red")),
                ("generation", json!(9)),
                ("creationTimestamp", Json::Null),
                ("generateName", json!("a-")),
            ])
            .clone();
        metadata[key] = value;
    }
    metadata
}

pub(super) fn texts(random: &mut Random) -> Json {
    let mut fields = Map::new();
    for _ in 0..random.below(3) {
        let key = *random.pick(&["k", "l", "capstan.dev/m"]);
        let value = match random.slip(8) {
            true => random
                .pick(&[json!("not a label's value"), Json::Null])
                .clone(),
            false => json!(random.pick(&["a", "b", ""])),
        };
        fields.insert(key.to_owned(), value);
    }
    if random.slip(3) {
        fields.insert("bad key".into(), json!("a"));
    }
    fields.into()
}

pub(super) fn finalizers(random: &mut Random) -> Json {
    let finalizer: Make = |random| {
        if random.slip(8) {
            return json!("bad one");
        }
        json!(random.pick(&["capstan.dev/one", "capstan.dev/two"]))
    };
    keyed(random, finalizer, &[])
}

/// A namespace that stays. Only one: of two uids the servers would not agree which comes first.
fn owners(random: &mut Random) -> Json {
    let mut owner =
        json!({"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "$default"});
    if random.chance(30) {
        owner["controller"] = json!(random.chance(60));
    }
    if random.chance(30) {
        owner["blockOwnerDeletion"] = json!(random.chance(60));
    }
    if random.slip(8) {
        owner["kind"] = json!("");
    }
    match random.slip(10) {
        true => json!([owner, owner]),
        false => json!([owner]),
    }
}

/// Places in metadata, and values for them.
pub(super) const PLACES: &[(usize, (&str, Make))] = &[
    (1, ("/metadata/labels", texts)),
    (2, ("/metadata/labels/k", text)),
    (2, ("/metadata/annotations/k", text)),
    (1, ("/metadata/annotations", texts)),
    (2, ("/metadata/finalizers", finalizers)),
    (1, ("/metadata/finalizers/-", |_| json!("capstan.dev/two"))),
    (1, ("/metadata/resourceVersion", |_| json!("$version"))),
    (1, ("/metadata/uid", |_| json!("$uid"))),
    (1, ("/metadata/name", |_| json!("other"))),
];

fn text(random: &mut Random) -> Json {
    json!(random.pick(&["a", "b"]))
}
