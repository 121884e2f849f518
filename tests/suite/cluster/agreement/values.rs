//! Values for the fields of a `Thing`: few, so that managers meet, and now and then wrong ones.

use serde_json::{Map, Value as Json, json};

use super::random::Random;

type Make = fn(&mut Random) -> Json;

const SPEC: &[(usize, (&str, Make))] = &[
    (4, ("text", text)),
    (2, ("count", count)),
    (1, ("big", big)),
    (1, ("ratio", ratio)),
    (2, ("flag", flag)),
    (2, ("mode", mode)),
    (1, ("when", when)),
    (2, ("port", port)),
    (2, ("maybe", text)),
    (4, ("labels", texts)),
    (2, ("counts", counts)),
    (3, ("whole", texts)),
    (4, ("nested", nested)),
    (3, ("single", pair)),
    (8, ("items", items)),
    (6, ("ports", ports)),
    (5, ("set", set)),
    (2, ("numbers", numbers)),
    (3, ("list", list)),
    (3, ("structs", structs)),
    (4, ("free", free)),
    (3, ("typed", typed)),
    (3, ("inner", inner)),
];

const STATUS: &[(usize, (&str, Make))] = &[
    (2, ("phase", text)),
    (2, ("observedGeneration", count)),
    (4, ("conditions", conditions)),
];

/// A few fields of the spec.
pub(super) fn spec(random: &mut Random) -> Json {
    fields(random, SPEC)
}

/// A few fields of the status.
pub(super) fn status(random: &mut Random) -> Json {
    fields(random, STATUS)
}

fn fields(random: &mut Random, among: &[(usize, (&str, Make))]) -> Json {
    let mut fields = Map::new();
    for _ in 0..=random.below(4) {
        let (name, make) = random.weighed(among);
        let value = value(random, *make);
        fields.insert((*name).to_owned(), value);
    }
    if random.slip(6) {
        fields.insert("unknown".into(), free(random));
    }
    fields.into()
}

/// Mostly what `make` makes; sometimes null or something that does not fit.
fn value(random: &mut Random, make: Make) -> Json {
    if random.slip(4) {
        return Json::Null;
    }
    if random.slip(4) {
        return odd(random);
    }
    make(random)
}

/// Of any type.
fn odd(random: &mut Random) -> Json {
    let odd = [
        json!(true),
        json!(7),
        json!(1.5),
        json!("odd"),
        json!(""),
        json!([1]),
        json!(["a", null]),
        json!({"a": null}),
        json!({"a": {"b": []}}),
        json!([{"name": "a"}]),
    ];
    random.pick(&odd).clone()
}

fn one_of(random: &mut Random, among: &[Json]) -> Json {
    random.pick(among).clone()
}

fn text(random: &mut Random) -> Json {
    let texts = ["a", "b", "c"];
    if random.slip(5) {
        return json!(random.pick(&["muchtoolong", "A1"]));
    }
    if random.chance(2) {
        return json!("");
    }
    json!(random.pick(&texts))
}

fn count(random: &mut Random) -> Json {
    let counts = [json!(0), json!(1), json!(2), json!(3)];
    if random.slip(8) {
        return one_of(random, &[json!(11), json!(1.5), json!(-1)]);
    }
    if random.chance(3) {
        return json!(2.0);
    }
    one_of(random, &counts)
}

fn big(random: &mut Random) -> Json {
    let numbers = [json!(1), json!(9_007_199_254_740_993_i64), json!(-5)];
    one_of(random, &numbers)
}

fn ratio(random: &mut Random) -> Json {
    one_of(random, &[json!(0.5), json!(1), json!(2.0), json!(1e21)])
}

fn flag(random: &mut Random) -> Json {
    json!(random.chance(50))
}

fn mode(random: &mut Random) -> Json {
    if random.slip(8) {
        return json!("Wild");
    }
    json!(random.pick(&["Fast", "Slow"]))
}

fn when(random: &mut Random) -> Json {
    if random.slip(20) {
        return json!("soon");
    }
    let times = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:00"];
    json!(random.pick(&times))
}

fn port(random: &mut Random) -> Json {
    one_of(random, &[json!(80), json!(81), json!("http"), json!("80")])
}

fn map(random: &mut Random, make: Make) -> Json {
    let mut fields = Map::new();
    for _ in 0..random.below(4) {
        let key = *random.pick(&["k", "l", "m"]);
        let value = value(random, make);
        fields.insert(key.to_owned(), value);
    }
    fields.into()
}

fn texts(random: &mut Random) -> Json {
    map(random, text)
}

fn counts(random: &mut Random) -> Json {
    map(random, count)
}

/// A map with some of these fields.
fn some(random: &mut Random, percent: usize, known: &[(&str, Make)]) -> Json {
    let mut fields = Map::new();
    for (name, make) in known {
        if random.chance(percent) {
            let value = value(random, *make);
            fields.insert((*name).to_owned(), value);
        }
    }
    if random.slip(5) {
        fields.insert("extra".into(), json!("x"));
    }
    fields.into()
}

fn nested(random: &mut Random) -> Json {
    let deep: Make = |random| some(random, 60, &[("c", count), ("d", text)]);
    some(random, 50, &[("a", text), ("b", text), ("deep", deep)])
}

fn pair(random: &mut Random) -> Json {
    some(random, 60, &[("a", text), ("b", text)])
}

/// Up to three items, two alike now and then.
fn many(random: &mut Random, make: Make) -> Json {
    let mut items = Vec::new();
    for _ in 0..random.below(4) {
        items.push(value(random, make));
    }
    json!(items)
}

/// `many`, of which no two have the same key, but for now and then.
fn keyed(random: &mut Random, make: Make, keys: &[&str]) -> Json {
    let mut list = many(random, make);
    if !random.slip(15)
        && let Some(items) = list.as_array_mut()
    {
        let mut seen = Vec::new();
        items.retain(|item| {
            let key: Vec<Json> = keys.iter().map(|key| item[*key].clone()).collect();
            let key = if keys.is_empty() {
                vec![item.clone()]
            } else {
                key
            };
            let new = !seen.contains(&key);
            seen.push(key);
            new
        });
    }
    list
}

fn items(random: &mut Random) -> Json {
    let item: Make = |random| {
        let mut item = some(
            random,
            35,
            &[("value", text), ("port", count), ("tags", set)],
        );
        if !random.slip(7) {
            item["name"] = json!(random.pick(&["a", "b", "c"]));
        }
        item
    };
    keyed(random, item, &["name"])
}

fn ports(random: &mut Random) -> Json {
    let item: Make = |random| {
        let mut item = some(random, 40, &[("name", text)]);
        if !random.slip(6) {
            item["port"] = json!(random.pick(&[80, 81]));
        }
        if random.chance(50) {
            item["protocol"] = json!(random.pick(&["TCP", "UDP"]));
        }
        item
    };
    keyed(random, item, &["port", "protocol"])
}

fn set(random: &mut Random) -> Json {
    let letters: Make = |random| json!(random.pick(&["x", "y", "z"]));
    keyed(random, letters, &[])
}

fn numbers(random: &mut Random) -> Json {
    keyed(random, count, &[])
}

fn list(random: &mut Random) -> Json {
    let mut list = many(random, text);
    if random.slip(5) {
        list = json!(["a", "b", "c", "d", "e", "f"]);
    }
    list
}

fn structs(random: &mut Random) -> Json {
    let item: Make = |random| {
        let mut item = some(random, 40, &[("b", text)]);
        if !random.slip(8) {
            item["a"] = text(random);
        }
        item
    };
    many(random, item)
}

/// Anything, for what no schema describes.
fn free(random: &mut Random) -> Json {
    anything(random, 3)
}

fn anything(random: &mut Random, depth: usize) -> Json {
    let leaves = [
        json!("a"),
        json!(1),
        json!(2.5),
        json!(true),
        Json::Null,
        json!({}),
        json!([]),
    ];
    if depth == 0 || random.chance(30) {
        return one_of(random, &leaves);
    }
    if random.chance(25) {
        let items = (0..random.below(3)).map(|_| anything(random, depth - 1));
        return json!(items.collect::<Vec<_>>());
    }
    let mut fields = Map::new();
    for _ in 0..=random.below(2) {
        let key = *random.pick(&["k", "l", "name"]);
        let value = anything(random, depth - 1);
        fields.insert(key.to_owned(), value);
    }
    fields.into()
}

fn typed(random: &mut Random) -> Json {
    let known: Make = |random| some(random, 60, &[("a", text), ("b", text)]);
    some(random, 60, &[("known", known), ("other", free)])
}

fn inner(random: &mut Random) -> Json {
    let metadata: Make = |random| {
        let known: &[(&str, Make)] = &[("name", text), ("labels", texts), ("annotations", texts)];
        some(random, 50, known)
    };
    let mut inner = some(random, 40, &[("metadata", metadata), ("spec", free)]);
    if !random.slip(8) {
        inner["apiVersion"] = json!("v1");
        inner["kind"] = json!(random.pick(&["Inner", "Other"]));
    }
    inner
}

fn conditions(random: &mut Random) -> Json {
    let item: Make = |random| {
        let mut item = some(random, 40, &[("reason", text)]);
        if !random.slip(6) {
            item["type"] = json!(random.pick(&["Ready", "Synced"]));
        }
        if !random.slip(8) {
            item["status"] = json!(random.pick(&["True", "False", "Unknown"]));
        }
        item
    };
    keyed(random, item, &["type"])
}

/// Labels, annotations, finalizers and owners; empty more often than not.
pub(super) fn metadata(random: &mut Random) -> Json {
    let mut metadata = json!({});
    if random.chance(25) {
        metadata["labels"] = value(random, texts_of_metadata);
    }
    if random.chance(20) {
        metadata["annotations"] = value(random, texts_of_metadata);
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
                ("deletionGracePeriodSeconds", json!(5)),
                ("generateName", json!("a-")),
            ])
            .clone();
        metadata[key] = value;
    }
    metadata
}

fn texts_of_metadata(random: &mut Random) -> Json {
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

fn finalizers(random: &mut Random) -> Json {
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

/// A place in a `Thing` and a value for it.
pub(super) fn place(random: &mut Random) -> (String, Json) {
    let places: &[(usize, (&str, Make))] = &[
        (2, ("/spec/text", text)),
        (2, ("/spec/count", count)),
        (1, ("/spec/mode", mode)),
        (1, ("/spec", spec)),
        (1, ("/spec/labels", texts)),
        (2, ("/spec/labels/k", text)),
        (2, ("/spec/whole/k", text)),
        (1, ("/spec/nested", nested)),
        (1, ("/spec/nested/deep/c", count)),
        (2, ("/spec/items", items)),
        (2, ("/spec/items/0", |random| items(random)[0].clone())),
        (2, ("/spec/items/-", |random| items(random)[0].clone())),
        (2, ("/spec/items/0/value", text)),
        (1, ("/spec/items/0/tags/-", |_| json!("x"))),
        (1, ("/spec/items/1/tags", set)),
        (1, ("/spec/items/9", pair)),
        (2, ("/spec/ports/0/name", text)),
        (2, ("/spec/ports/-", |random| ports(random)[0].clone())),
        (2, ("/spec/set/-", |random| json!(random.pick(&["x", "y"])))),
        (1, ("/spec/set/0", |_| json!("z"))),
        (1, ("/spec/list/0", text)),
        (1, ("/spec/free", free)),
        (1, ("/spec/free/k", free)),
        (1, ("/spec/typed/known/a", text)),
        (1, ("/spec/inner/metadata/labels/k", text)),
        (1, ("/spec/unknown", text)),
        (1, ("/status/phase", text)),
        (1, ("/status", status)),
        (1, ("/metadata/labels", texts_of_metadata)),
        (2, ("/metadata/labels/k", text)),
        (2, ("/metadata/annotations/k", text)),
        (1, ("/metadata/annotations", texts_of_metadata)),
        (2, ("/metadata/finalizers", finalizers)),
        (1, ("/metadata/finalizers/-", |_| json!("capstan.dev/two"))),
        (1, ("/metadata/resourceVersion", |_| json!("$version"))),
        (1, ("/metadata/uid", |_| json!("$uid"))),
        (1, ("/metadata/name", |_| json!("other"))),
    ];
    let (path, make) = random.weighed(places);
    ((*path).to_owned(), value(random, *make))
}
