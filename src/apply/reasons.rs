//! Why some objects are not as their revision asks for, in few bytes: what a parent keeps of it.
//!
//! In: objects, each with its file and a message. Out: the text to keep, and the same read again. It does not
//! know: what went wrong, where the text is kept.

use serde_json::{Value as Json, json};

use crate::model::ObjectId;
use crate::model::cut::shortened;

/// The most objects that are kept; the others are counted.
const MOST: usize = 20;
/// The most characters of a message that are kept.
const LONGEST: usize = 600;

/// Objects, each with a reason, and how many more there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// How many objects there are in all.
    pub total: usize,
    /// The first of them.
    pub first: Vec<Reason>,
}

/// Why one object is not as its revision asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// `Kind/namespace/name`.
    pub object: String,
    /// Its API group; empty for the core group.
    pub group: String,
    /// The file that it is written in; empty if that is unknown.
    pub file: String,
    /// What is wrong, on one line.
    pub message: String,
}

impl Reason {
    pub(crate) fn new(object: &ObjectId, file: &str, message: &str) -> Self {
        // Many messages begin with the object that they are about.
        let stripped = message.strip_prefix(&format!("{object}: "));
        Self {
            object: object.to_string(),
            group: object.group.clone(),
            file: file.to_owned(),
            message: short(stripped.unwrap_or(message)),
        }
    }

    /// The object; `None` if its name cannot be read.
    #[must_use]
    pub fn id(&self) -> Option<ObjectId> {
        let mut parts = self.object.splitn(3, '/');
        let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        Some(ObjectId::new(&*self.group, kind, namespace, name))
    }

    /// Whether it is about this object.
    #[must_use]
    pub fn is_about(&self, id: &ObjectId) -> bool {
        self.group == id.group && self.object == id.to_string()
    }
}

/// On one line, and not too long.
fn short(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, LONGEST, "...")
}

impl Reasons {
    /// These reasons.
    pub(crate) fn of<'a>(all: impl ExactSizeIterator<Item = &'a Reason>) -> Self {
        Self {
            total: all.len(),
            first: all.take(MOST).cloned().collect(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Why this object is not as its revision asks for, if that is kept.
    #[must_use]
    pub fn about(&self, id: &ObjectId) -> Option<&Reason> {
        self.first.iter().find(|reason| reason.is_about(id))
    }

    /// The reasons of a text that [`Self::text`] returned; none if it is another text.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let json: Json = serde_json::from_str(text).unwrap_or_default();
        let first = json["objects"].as_array().into_iter().flatten();
        let first: Vec<Reason> = first.map(Reason::read).collect();
        let total = json["total"]
            .as_u64()
            .and_then(|total| total.try_into().ok());
        Self {
            total: total.unwrap_or(first.len()),
            first,
        }
    }

    /// The text to keep; empty if there are none.
    #[must_use]
    pub fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let objects: Vec<Json> = self.first.iter().map(Reason::json).collect();
        json!({"total": self.total, "objects": objects}).to_string()
    }
}

impl Reason {
    fn read(json: &Json) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        Self {
            object: text("object"),
            group: text("group"),
            file: text("file"),
            message: text("message"),
        }
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        json!({"object": self.object, "group": self.group, "file": self.file, "message": self.message})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_and_has_an_end() {
        let id = |at: usize| ObjectId::new("x.dev", "Thing", "ns", format!("t{at}"));
        let reason = |at| Reason::new(&id(at), "a.yaml", &"no ".repeat(500));
        let all: Vec<Reason> = (0..1000).map(reason).collect();
        let kept = Reasons::of(all.iter());
        assert_eq!((kept.total, kept.first.len()), (1000, MOST));
        assert!(kept.text().len() < 20_000);
        assert_eq!(Reasons::read(&kept.text()), kept);
        assert_eq!(kept.about(&id(1)), Some(&all[1]));
        assert_eq!(kept.about(&id(900)), None);
        assert_eq!(all[1].id(), Some(id(1)));
        assert_eq!(Reasons::default().text(), "");
        assert_eq!(Reasons::read("what others wrote"), Reasons::default());
    }

    #[test]
    fn a_message_is_one_line_without_its_object() {
        let id = ObjectId::new("", "ConfigMap", "ns", "a");
        let reason = Reason::new(&id, "", "ConfigMap/ns/a: refused:\n  twice");
        assert_eq!(reason.message, "refused: twice");
    }
}
