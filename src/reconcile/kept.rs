//! One object of a snapshot: a tree while it is looked at, and text once nobody does any more.
//!
//! In: an object. Out: the same object to look at. The text takes about a sixth of the memory of the tree. It does not know
//! when an object is looked at.

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
    /// Empty until the object became text for the first time.
    text: Box<str>,
    /// Whether it was looked at since the last call of [`Self::forget`].
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

    /// The object, which is read again if it is text.
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

    /// Forgets that it was looked at. Returns whether it was not, since the last call.
    pub(super) fn forget(&mut self) -> bool {
        !std::mem::take(self.is_looked_at.get_mut())
    }

    /// Becomes text, if that can be read back as the same object.
    pub(super) fn fold(&mut self) {
        let Some(tree) = self.tree.get() else { return };
        if self.text.is_empty() {
            let text = tree.to_string();
            // The last digit of a fraction may differ.
            if serde_json::from_str::<Value>(&text).ok().as_ref() != Some(tree) {
                return;
            }
            self.text = text.into();
        }
        self.tree.take();
    }

    #[cfg(test)]
    pub(super) fn is_text(&self) -> bool {
        self.tree.get().is_none()
    }
}

#[cfg(test)]
impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::new(self.live().0.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(spec: &Value) -> Value {
        json!({"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": spec})
    }

    #[test]
    fn text_is_the_same_object() {
        let object = object(&json!({"a": [1, null, -0.5, u64::MAX, "\u{e9}\n"]}));
        let mut kept = Kept::new(object.clone());
        for _ in 0..2 {
            kept.fold();
            assert!(kept.is_text());
            assert_eq!(kept.version(), ("u", "7"));
            assert!(kept.is_text(), "its version is known without it");
            assert_eq!(kept.live().0, &object);
            assert!(!kept.is_text());
        }
        assert_eq!(kept.into_object(), object);
    }

    #[test]
    fn an_object_is_forgotten_once_nobody_looked_at_it() {
        let mut kept = Kept::new(object(&json!({})));
        let mut forgotten = || [kept.forget(), kept.forget()];
        assert_eq!(forgotten(), [false, true]);
        kept.live();
        assert_eq!([kept.forget(), kept.forget()], [false, true]);
    }

    #[test]
    fn what_is_nested_too_deeply_to_be_read_back_stays() {
        let nest = |value, _| json!([value]);
        let mut kept = Kept::new((0..200).fold(json!(1), nest));
        kept.fold();
        assert!(!kept.is_text());
    }
}
