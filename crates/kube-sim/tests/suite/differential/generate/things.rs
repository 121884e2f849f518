//! Values for the fields of a `Thing`: few, so that managers meet, and now and then wrong ones.

use serde_json::{Value as Json, json};

use super::shapes::{Make, anything, fields, keyed, many, map, one_of, some};
use crate::random::Random;

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
    one_of(random, &counts)
}

fn big(random: &mut Random) -> Json {
    let numbers = [
        json!(1),
        json!(2.0),
        json!(9_007_199_254_740_993_i64),
        json!(-5),
    ];
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

fn texts(random: &mut Random) -> Json {
    map(random, text)
}

fn counts(random: &mut Random) -> Json {
    map(random, count)
}

fn nested(random: &mut Random) -> Json {
    let deep: Make = |random| some(random, 60, &[("c", count), ("d", text)]);
    some(random, 50, &[("a", text), ("b", text), ("deep", deep)])
}

fn pair(random: &mut Random) -> Json {
    some(random, 60, &[("a", text), ("b", text)])
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

/// A map with anything in it, for what no schema describes.
fn free(random: &mut Random) -> Json {
    if random.slip(10) {
        return anything(random, 2);
    }
    map(random, |random| anything(random, 2))
}

fn typed(random: &mut Random) -> Json {
    let known: Make = |random| some(random, 60, &[("a", text)]);
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

/// Places in a `Thing`, and values for them.
pub(super) const PLACES: &[(usize, (&str, Make))] = &[
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
    (1, ("/spec/items/-1", pair)),
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
];
