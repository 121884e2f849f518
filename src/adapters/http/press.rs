//! The approve button of a check run (forges.md §1e, "Approval by button").
//!
//! In: a payload of GitHub. Out: who pressed which button of which check. It does not know whether that person may
//! approve, or whether the check still has the button.

use super::payload::Payload;
use crate::model::Press;

/// A name that fits into no path but its own.
const MOST_LOGIN: usize = 100;

/// The press that a payload of `check_run.requested_action` tells of; `None` if a field is missing, or it was no person.
pub(super) fn read(payload: &Payload) -> Option<Press> {
    let run = payload.check_run.as_ref()?;
    let sender = payload.sender.as_ref()?;
    let is_person = sender.kind.as_deref() == Some("User");
    let login = sender.login.clone().filter(|login| is_login(login))?;
    let action = payload.requested_action.as_ref()?;
    let press = Press {
        commit: run.head_sha.clone()?,
        context: run.name.clone()?,
        app: run.app.as_ref()?.id?,
        button: action.identifier.clone()?,
        login,
    };
    is_person.then_some(press)
}

/// Letters, digits and hyphens; logins that a company manages have an underscore, too.
fn is_login(login: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MOST_LOGIN).contains(&login.len()) && login.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn payload() -> Value {
        json!({
            "action": "requested_action",
            "check_run": {"id": 4, "name": "capstan/prod/plan", "head_sha": "abc", "app": {"id": 12345}},
            "requested_action": {"identifier": "0123456789abcdef0123"},
            "sender": {"login": "octocat", "type": "User"},
        })
    }

    fn of(payload: &Value) -> Option<Press> {
        let payload = serde_json::from_value(payload.clone());
        read(&payload.expect("a payload"))
    }

    #[test]
    fn a_press_names_its_check_and_who_pressed() {
        let expected = Press {
            commit: "abc".to_owned(),
            context: "capstan/prod/plan".to_owned(),
            app: 12_345,
            button: "0123456789abcdef0123".to_owned(),
            login: "octocat".to_owned(),
        };
        assert_eq!(of(&payload()), Some(expected));
    }

    #[test]
    fn what_lacks_something_or_comes_from_no_person_is_no_press() {
        for (pointer, value) in [
            ("/check_run/app", json!(null)),
            ("/check_run/app/id", json!("12345")),
            ("/check_run/head_sha", json!(null)),
            ("/check_run/name", json!(7)),
            ("/check_run", json!(null)),
            ("/requested_action", json!(null)),
            ("/requested_action/identifier", json!({})),
            ("/sender", json!(null)),
            ("/sender/type", json!("Bot")),
            ("/sender/type", json!("Organization")),
            ("/sender/type", json!(null)),
            ("/sender/login", json!("")),
            ("/sender/login", json!("..")),
            ("/sender/login", json!("a/b")),
            ("/sender/login", json!("a b")),
            ("/sender/login", json!("a".repeat(101))),
        ] {
            let mut payload = payload();
            *payload.pointer_mut(pointer).expect("a field") = value;
            assert_eq!(of(&payload), None, "{pointer}: {payload}");
        }
    }
}
