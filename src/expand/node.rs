//! Writing nodes like the YAML they become.
//!
//! `node!(origin, {"location": value, "owner": {"name": text}})` is a map whose constants come from
//! `origin`. A value is a [`Leaf`]: a plain value, a [`Node`] that brings its own
//! origin, or an `Option` of either, whose absence leaves the field out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Key, Map, Node, Origin, Value};

/// Anything that can be a value.
pub(super) trait Leaf {
    /// The value, with `origin` unless it has its own; `None` leaves the field out.
    fn node(self, origin: &Origin) -> Option<Node>;
}

impl Leaf for Node {
    fn node(self, _: &Origin) -> Option<Node> {
        Some(self)
    }
}

impl Leaf for &'static str {
    fn node(self, origin: &Origin) -> Option<Node> {
        Some(Node::new(Value::String(self.into()), origin))
    }
}

impl Leaf for &String {
    fn node(self, origin: &Origin) -> Option<Node> {
        self.clone().node(origin)
    }
}

impl Leaf for String {
    fn node(self, origin: &Origin) -> Option<Node> {
        Some(Node::new(Value::String(self.into()), origin))
    }
}

impl Leaf for bool {
    fn node(self, origin: &Origin) -> Option<Node> {
        Some(Node::new(Value::Bool(self), origin))
    }
}

impl Leaf for i64 {
    fn node(self, origin: &Origin) -> Option<Node> {
        Some(Node::new(Value::Int(self), origin))
    }
}

impl<L: Leaf> Leaf for Option<L> {
    fn node(self, origin: &Origin) -> Option<Node> {
        self?.node(origin)
    }
}

impl<L: Leaf> Leaf for Vec<L> {
    fn node(self, origin: &Origin) -> Option<Node> {
        let items = self.into_iter().filter_map(|item| item.node(origin));
        Some(Node::new(Value::List(items.collect()), origin))
    }
}

impl<L: Leaf> Leaf for BTreeMap<&str, L> {
    fn node(self, origin: &Origin) -> Option<Node> {
        let mut map = Map::default();
        for (name, leaf) in self {
            put(&mut map, name.to_owned(), leaf.node(origin), origin);
        }
        Some(Node::new(Value::Map(map), origin))
    }
}

/// Sets a field that is there.
pub(super) fn put(
    map: &mut Map,
    name: impl Into<Cow<'static, str>>,
    value: Option<Node>,
    origin: &Origin,
) {
    if let Some(value) = value {
        let key = Key {
            name: name.into(),
            origin: origin.clone(),
        };
        map.insert(key, value);
    }
}

/// A map or list written like JSON; values are expressions that are [`Leaf`]s.
macro_rules! node {
    ($origin:expr, {$($body:tt)*}) => {{
        #[allow(unused_mut)]
        let mut map = $crate::model::Map::default();
        node!(@map $origin, map, $($body)*);
        $crate::model::Node::new($crate::model::Value::Map(map), $origin)
    }};
    ($origin:expr, [$($body:tt)*]) => {{
        #[allow(unused_mut)]
        let mut list = Vec::new();
        node!(@list $origin, list, $($body)*);
        $crate::model::Node::new($crate::model::Value::List(list), $origin)
    }};
    (@map $origin:expr, $map:ident, $(,)?) => {};
    (@map $origin:expr, $map:ident, $key:tt: {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::expand::node::put(&mut $map, $key, Some(node!($origin, {$($inner)*})), $origin);
        node!(@map $origin, $map, $($($rest)*)?);
    };
    (@map $origin:expr, $map:ident, $key:tt: [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::expand::node::put(&mut $map, $key, Some(node!($origin, [$($inner)*])), $origin);
        node!(@map $origin, $map, $($($rest)*)?);
    };
    (@map $origin:expr, $map:ident, $key:tt: $value:expr $(, $($rest:tt)*)?) => {
        let value = $crate::expand::node::Leaf::node($value, $origin);
        $crate::expand::node::put(&mut $map, $key, value, $origin);
        node!(@map $origin, $map, $($($rest)*)?);
    };
    (@list $origin:expr, $list:ident, $(,)?) => {};
    (@list $origin:expr, $list:ident, {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $list.push(node!($origin, {$($inner)*}));
        node!(@list $origin, $list, $($($rest)*)?);
    };
    (@list $origin:expr, $list:ident, $value:expr $(, $($rest:tt)*)?) => {
        $list.extend($crate::expand::node::Leaf::node($value, $origin));
        node!(@list $origin, $list, $($($rest)*)?);
    };
}

pub(super) use node;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::Span;

    fn origin(path: &str) -> Origin {
        Origin::new(Span::top(&Arc::from(path)))
    }

    #[test]
    fn it_reads_like_what_it_makes() {
        let name = String::from("x");
        let made = node!(&origin("a"), {
            "a": {"b": 1, "c": ["d", {"e": true}, &name]},
            "f": name.clone() + "y",
            "g": [],
        });
        let expected = json!({"a": {"b": 1, "c": ["d", {"e": true}, "x"]}, "f": "xy", "g": []});
        assert_eq!(made.to_json(), expected);
    }

    #[test]
    fn absent_values_are_left_out() {
        let made = node!(&origin("a"), {"a": None::<&str>, "b": Some(2), "c": [None::<bool>]});
        assert_eq!(made.to_json(), json!({"b": 2, "c": []}));
    }

    #[test]
    fn a_node_keeps_its_origin_and_constants_have_the_one_given() {
        let made = node!(&origin("a"), {"a": Node::new(Value::Int(1), &origin("b")), "b": 2});
        let path = |name: &str| made.get(name).map(|node| node.span().path.to_string());
        assert_eq!(path("a").as_deref(), Some("b"));
        assert_eq!(path("b").as_deref(), Some("a"));
    }
}
