//! One object of a snapshot: a tree while it is looked at, and text once nobody does any more.
//!
//! In: an object. Out: the same object to look at. The text takes about a sixth of the memory of the tree. It does not know
//! when time has passed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::health::Live;

/// An object that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    uid: Box<str>,
    version: Box<str>,
    /// Empty while the text is all there is.
    tree: OnceLock<Value>,
    /// Empty until the object rested for the first time.
    text: Box<str>,
    /// Whether it was looked at since it was last asked to rest.
    is_looked_at: AtomicBool,
}

impl Kept {
    pub(super) fn new(object: Value) -> Self {
        let live = Live(&object);
        Self {
            uid: live.uid().into(),
            version: live.text(&["metadata", "resourceVersion"]).into(),
            tree: object.into(),
            text: Box::default(),
            is_looked_at: AtomicBool::new(true),
        }
    }

    /// The object, which is read again if it rested.
    pub(super) fn live(&self) -> Live<'_> {
        self.is_looked_at.store(true, Ordering::Relaxed);
        Live(self.tree.get_or_init(|| self.read()))
    }

    pub(super) fn into_object(mut self) -> Value {
        self.tree.take().unwrap_or_else(|| self.read())
    }

    fn read(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Uid and resource version, without a look at the object.
    pub(super) const fn version(&self) -> (&str, &str) {
        (&self.uid, &self.version)
    }

    /// Becomes text, unless it was looked at since the last call.
    pub(super) fn rest(&mut self) {
        if std::mem::take(self.is_looked_at.get_mut()) {
            return;
        }
        let Some(tree) = self.tree.get() else { return };
        if self.text.is_empty() {
            if has_fractions(tree) {
                return;
            }
            self.text = tree.to_string().into();
        }
        self.tree.take();
    }

    #[cfg(test)]
    pub(super) fn is_resting(&self) -> bool {
        self.tree.get().is_none()
    }
}

#[cfg(test)]
impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::new(self.live().0.clone())
    }
}

/// Whether a number is not whole: its last digit may not survive as text.
fn has_fractions(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fractions),
        Value::Object(fields) => fields.values().any(has_fractions),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_rests_once_nobody_looked_at_it() {
        let object = json!({"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"a": [1, null, "\u{e9}\n"]}});
        let mut kept = Kept::new(object.clone());
        kept.rest();
        assert!(!kept.is_resting(), "it is new");
        kept.rest();
        assert!(kept.is_resting());
        assert_eq!(kept.version(), ("u", "7"));
        assert!(kept.is_resting(), "its version is known without it");
        assert_eq!(kept.live().0, &object);
        kept.rest();
        assert!(!kept.is_resting(), "it was looked at");
        kept.rest();
        assert!(kept.is_resting());
        assert_eq!(kept.live().0, &object);
    }

    #[test]
    fn an_object_with_a_fraction_never_rests() {
        for spec in [json!({"a": [{"b": 0.1}]}), json!(1e300)] {
            let mut kept = Kept::new(json!({"spec": spec}));
            kept.rest();
            kept.rest();
            assert!(!kept.is_resting(), "{spec}");
        }
    }
}
