//! The results of checks, as a list for people and for programs.
//!
//! In: items. Out: text, or JSON. It does not know how anything is checked.

use std::fmt;

use serde_json::json;

use crate::model::words::json_document;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fine,
    /// It works, but not for sure or for ever.
    Doubtful,
    Wrong,
}

/// A check with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    id: &'static str,
    state: State,
    message: String,
    /// The next step for people.
    help: String,
}

impl Item {
    pub(super) fn fine(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, State::Fine, message, "")
    }

    pub(super) fn doubtful(
        id: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::new(id, State::Doubtful, message, help)
    }

    pub(super) fn wrong(
        id: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::new(id, State::Wrong, message, help)
    }

    /// A check that could not be made.
    pub(super) fn unknown(id: &'static str, error: &dyn fmt::Display) -> Self {
        let help = "not checked; run the check as somebody who may read this";
        Self::doubtful(id, error.to_string(), help)
    }

    /// Returns true if it has this id.
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.id == id
    }

    fn new(
        id: &'static str,
        state: State,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            id,
            state,
            message: message.into(),
            help: help.into(),
        }
    }
}

/// All checks.
pub(super) struct List(pub(super) Vec<Item>);

impl List {
    /// Returns true if something is wrong.
    pub(super) fn is_failure(&self) -> bool {
        self.0.iter().any(|item| item.state == State::Wrong)
    }

    pub(super) fn json(&self) -> String {
        let checks = self.0.iter().map(|item| {
            let state = match item.state {
                State::Fine => "ok",
                State::Doubtful => "warning",
                State::Wrong => "error",
            };
            json!({"id": item.id, "state": state, "message": item.message, "help": item.help})
        });
        let checks: Vec<serde_json::Value> = checks.collect();
        json_document(&json!({"ok": !self.is_failure(), "checks": checks}))
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|item| item.id.len()).max().unwrap_or(0);
        for (at, item) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            let mark = match item.state {
                State::Fine => '√',
                State::Doubtful => '‼',
                State::Wrong => '×',
            };
            let line = item.message.replace('\n', " ");
            write!(f, "{mark} {:width$}  {line}", item.id)?;
            if !item.help.is_empty() {
                write!(f, "\n  {:width$}  {}", "", item.help)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_aligned_and_has_help_and_fails_if_something_is_wrong() {
        let fine = Item::fine("api-server", "1.34");
        let doubtful = Item::doubtful("clock", "40 s apart", "set it");
        let list = List(vec![fine.clone(), doubtful.clone()]);
        assert_eq!(
            list.to_string(),
            "√ api-server  1.34\n‼ clock       40 s apart\n              set it"
        );
        assert!(!list.is_failure());
        let wrong = Item::wrong("rights", "may not", "grant it");
        let list = List(vec![fine, doubtful, wrong]);
        assert!(list.is_failure());
        let json: serde_json::Value = serde_json::from_str(&list.json()).expect("JSON");
        assert_eq!(json["ok"], false);
        assert_eq!(json["checks"][2]["state"], "error");
        assert_eq!(json["checks"][1]["help"], "set it");
    }
}
