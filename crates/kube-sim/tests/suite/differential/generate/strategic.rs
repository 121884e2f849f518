//! Strategic merge patches: the fields of a merge patch, and directives that only these have.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

/// The lists that merge, and by which of these fields their items do. Conditions are left out: the
/// simulator's types hold none without its time, as a directive leaves it.
const KEYED: &[(&str, &[&str])] = &[
    ("containers", &["name"]),
    ("env", &["name"]),
    ("imagePullSecrets", &["name"]),
    ("ownerReferences", &["uid"]),
    ("ports", &["containerPort", "port"]),
    ("volumes", &["name"]),
];

/// Adds directives to a merge patch here and there.
pub(super) fn direct(random: &mut Random, patch: &mut Json) {
    let Json::Object(fields) = patch else { return };
    // A real server carries out both in any order when the same patch sets finalizers.
    if let Some(Json::Object(metadata)) = fields.get_mut("metadata")
        && !metadata.contains_key("finalizers")
        && random.chance(30)
    {
        let gone = json!([random.pick(&["capstan.dev/one", "capstan.dev/two"])]);
        metadata.insert("$deleteFromPrimitiveList/finalizers".into(), gone);
    }
    within(random, fields);
}

fn within(random: &mut Random, fields: &mut Map<String, Json>) {
    let mut orders = Vec::new();
    for (name, value) in fields.iter_mut() {
        match value {
            // A directive that is taken for a quantity is refused with the patch as the real server has
            // worked it over until then.
            Json::Object(_) if name == "requests" => {}
            Json::Object(below) => {
                within(random, below);
                if random.chance(4) {
                    below.insert("$patch".into(), json!("replace"));
                } else if random.chance(2) {
                    below.insert("$patch".into(), json!("delete"));
                }
            }
            Json::Array(items) => {
                let keys = KEYED.iter().find(|(list, _)| list == name);
                if let Some((_, keys)) = keys {
                    orders.extend(in_list(random, name, items, keys));
                }
            }
            _ => {}
        }
    }
    fields.extend(orders);
}

/// Directives for a list and its items; returns the order they are to have.
fn in_list(
    random: &mut Random,
    name: &str,
    items: &mut Vec<Json>,
    keys: &[&str],
) -> Option<(String, Json)> {
    let mut order = Vec::new();
    for item in items.iter_mut() {
        let key = keys.iter().find(|key| !item[**key].is_null());
        let (Some(key), Some(fields)) = (key, item.as_object_mut()) else {
            continue;
        };
        let value = fields[*key].clone();
        match random.below(20) {
            0..=3 => *item = json!({*key: value, "$patch": "delete"}),
            4 => drop(fields.insert("$patch".into(), json!("replace"))),
            5 => drop(fields.insert(
                "$retainKeys".into(),
                json!(fields.keys().collect::<Vec<_>>()),
            )),
            _ => {
                within(random, fields);
                if !order.contains(&json!({*key: value})) {
                    order.push(json!({*key: value}));
                }
            }
        }
    }
    if random.chance(4) {
        items.push(json!({"$patch": "replace"}));
    }
    if random.chance(50) {
        order.reverse();
    }
    random
        .chance(15)
        .then(|| (format!("$setElementOrder/{name}"), json!(order)))
}
