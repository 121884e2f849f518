//! Values of every shape, of parts that are made elsewhere.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

/// Makes a value.
pub(super) type Make = fn(&mut Random) -> Json;

pub(super) fn fields(random: &mut Random, among: &[(usize, (&str, Make))]) -> Json {
    let mut fields = Map::new();
    for _ in 0..=random.below(4) {
        let (name, make) = random.weighed(among);
        let value = value(random, *make);
        fields.insert((*name).to_owned(), value);
    }
    if random.slip(6) {
        fields.insert("unknown".into(), anything(random, 2));
    }
    fields.into()
}

/// Mostly what `make` makes; sometimes null or something that does not fit.
pub(super) fn value(random: &mut Random, make: Make) -> Json {
    if random.slip(4) {
        return Json::Null;
    }
    if random.slip(4) {
        return odd(random);
    }
    make(random)
}

/// Of any type.
pub(super) fn odd(random: &mut Random) -> Json {
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

pub(super) fn one_of(random: &mut Random, among: &[Json]) -> Json {
    random.pick(among).clone()
}

pub(super) fn map(random: &mut Random, make: Make) -> Json {
    let mut fields = Map::new();
    for _ in 0..random.below(4) {
        let key = *random.pick(&["k", "l", "m"]);
        let value = value(random, make);
        fields.insert(key.to_owned(), value);
    }
    fields.into()
}

/// A map with some of these fields.
pub(super) fn some(random: &mut Random, percent: usize, known: &[(&str, Make)]) -> Json {
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

/// Up to three items, two alike now and then.
pub(super) fn many(random: &mut Random, make: Make) -> Json {
    let mut items = Vec::new();
    for _ in 0..random.below(4) {
        items.push(value(random, make));
    }
    json!(items)
}

/// `many`, of which no two have the same key, but for now and then.
pub(super) fn keyed(random: &mut Random, make: Make, keys: &[&str]) -> Json {
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

pub(super) fn anything(random: &mut Random, depth: usize) -> Json {
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
