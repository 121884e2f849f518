//! RFC 7386: one value laid over another, without losing where either came from.

use super::{Map, Node, Value};

impl Node {
    /// Lays `over` on this value: maps merge deeply, `null` removes, everything else replaces. What
    /// replaces remembers what it replaced. (Keyed lists and directives are the overlay room's.)
    #[must_use]
    pub fn merge(self, over: Self) -> Self {
        let Self { value, origin } = over;
        match (self.value, value) {
            (Value::Map(mut beneath), Value::Map(above)) => {
                beneath.merge(above);
                Self::new(Value::Map(beneath), &self.origin)
            }
            (_, value) => Self::new(value, &origin.over(&self.origin)).without_nulls(),
        }
    }
}

impl Map {
    fn merge(&mut self, over: Self) {
        for (key, above) in over {
            if above.value == Value::Null {
                self.remove(&key.name);
                continue;
            }
            let merged = match (self.remove_for_merge(&key.name), above) {
                (Some(beneath), above) => beneath.merge(above),
                (None, above) => above.without_nulls(),
            };
            self.insert(key, merged);
        }
    }

    /// Takes the value out and leaves `null` in its place, so that the order of keys stays.
    fn remove_for_merge(&mut self, name: &str) -> Option<Node> {
        let slot = self.get_mut(name)?;
        let emptied = Node::new(Value::Null, &slot.origin);
        Some(std::mem::replace(slot, emptied))
    }
}

impl Node {
    /// This value with every key taken out whose value is `null`, at every depth of maps.
    #[must_use]
    pub fn without_nulls(self) -> Self {
        let Value::Map(map) = self.value else {
            return self;
        };
        let kept = map
            .into_iter()
            .filter(|(_, node)| node.value != Value::Null)
            .map(|(key, node)| (key, node.without_nulls()))
            .collect();
        Self::new(Value::Map(kept), &self.origin)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value)]

    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use crate::model::{Node, Origin, Span};

    fn node(path: &str, json: &Json) -> Node {
        Node::from_json(json, &Origin::new(Span::top(&Arc::from(path))))
    }

    #[track_caller]
    fn check(beneath: Json, over: Json, merged: Json) {
        assert_eq!(
            node("a", &beneath).merge(node("b", &over)).to_json(),
            merged
        );
    }

    #[test]
    fn maps_merge_deeply_and_everything_else_replaces() {
        check(
            json!({"a": {"x": 1}, "b": 2}),
            json!({"a": {"y": 3}}),
            json!({"a": {"x": 1, "y": 3}, "b": 2}),
        );
        check(json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]}));
        check(
            json!({"a": 1}),
            json!({"a": {"x": 1}}),
            json!({"a": {"x": 1}}),
        );
        check(json!({"a": {"x": 1}}), json!({"a": 1}), json!({"a": 1}));
    }

    #[test]
    fn null_removes_and_is_never_left_behind() {
        check(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}));
        check(
            json!({}),
            json!({"a": {"b": {"c": null}}}),
            json!({"a": {"b": {}}}),
        );
        check(json!({"a": 1}), json!({"a": {"c": null}}), json!({"a": {}}));
    }

    #[test]
    fn what_replaces_remembers_what_it_replaced() {
        let merged = node("a", &json!({"x": 1, "y": 2})).merge(node("b", &json!({"x": 3})));
        let replaced = merged.get("x").expect("x").origin.clone();
        assert_eq!(&*replaced.span().path, "b");
        assert_eq!(&*replaced.beneath().expect("beneath").span().path, "a");
        let kept = merged.get("y").expect("y").origin.clone();
        assert_eq!((&*kept.span().path, kept.beneath()), ("a", None));
    }

    #[test]
    fn the_order_of_keys_stays() {
        let merged = node("a", &json!({"x": {}, "y": 2})).merge(node("b", &json!({"x": {"z": 1}})));
        let keys: Vec<_> = merged
            .as_map()
            .expect("map")
            .iter()
            .map(|(key, _)| key.name.to_string())
            .collect();
        assert_eq!(keys, ["x", "y"]);
    }
}
