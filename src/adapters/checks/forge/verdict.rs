//! What an answer of a forge means (forges.md §0, §1d, §2d).
//!
//! In: a request, the answer to it and the time. Out: what to do next. The rules here hold for every forge;
//! a [`Dialect`](super::Dialect) is asked first for those that only one has.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use serde_json::Value;

use super::fault::Fault;
use super::wire::{Answer, Call};
use crate::model::words::said as said_by_others;

/// The longest a forge is believed when it asks to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);
/// The largest refusal that is read, in bytes: taken apart, JSON can be fifty times as large.
const LARGEST_REFUSAL: usize = 64 << 10;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done.
    Done,
    /// Wait this long, or as long as one likes: at least a minute, and longer each time.
    Limited(Option<Duration>),
    /// Send the same there, on the same scheme, host and port.
    Moved(Url),
    /// The token is not accepted.
    Unauthenticated(String),
    /// It cannot be done.
    Fault(Fault),
}

/// What the answer means.
pub(super) fn verdict(call: &Call, answer: &Answer, now: Timestamp) -> Verdict {
    match answer.status {
        203 => sign_in(call),
        200..=299 if is_page(answer) => sign_in(call),
        200..=299 => Verdict::Done,
        301 | 302 | 303 | 307 | 308 => moved(call, answer),
        401 => Verdict::Unauthenticated(said(answer)),
        403 | 429 => refused(answer, now),
        404 | 410 => Verdict::Fault(Fault::Absent(said(answer))),
        408 | 409 | 423 => Verdict::Fault(Fault::Busy(said(answer))),
        400..=499 => Verdict::Fault(Fault::Refused(said(answer))),
        503 if pause(answer, now).is_some() => Verdict::Limited(pause(answer, now)),
        _ if call.is_change() => Verdict::Fault(Fault::Unclear(said(answer))),
        _ => Verdict::Fault(Fault::Busy(said(answer))),
    }
}

/// How long the forge wants to be left alone, whatever else it answered.
pub(super) fn pause(answer: &Answer, now: Timestamp) -> Option<Duration> {
    let wait = match answer.header("retry-after") {
        Some(after) => retry_after(after, now),
        None => until_reset(answer, now),
    };
    wait.map(|wait| wait.min(LONGEST_WAIT))
}

/// Seconds or a date (RFC 9110 §10.2.3).
fn retry_after(after: &str, now: Timestamp) -> Option<Duration> {
    let seconds = || after.trim().parse().ok().map(Duration::from_secs);
    let date = || {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(after);
        Some(left(date.ok()?, now))
    };
    seconds().or_else(date)
}

/// How many requests are left of a limit, where the answer says so (GitHub and Azure DevOps; GitLab without `x-`).
pub(super) fn remaining(answer: &Answer) -> Option<u64> {
    limit(answer, "remaining")?.parse().ok()
}

fn limit<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let own = answer.header(&format!("x-ratelimit-{name}"));
    let value = own.or_else(|| answer.header(&format!("ratelimit-{name}")));
    value.map(str::trim)
}

/// When nothing is left of a limit that says when it is renewed (GitHub, GitLab).
fn until_reset(answer: &Answer, now: Timestamp) -> Option<Duration> {
    let reset: i64 = limit(answer, "reset")?.parse().ok()?;
    let is_used_up = limit(answer, "remaining")? == "0";
    let reset = Timestamp::from_second(reset).ok()?;
    is_used_up.then(|| left(reset, now))
}

fn left(until: Timestamp, now: Timestamp) -> Duration {
    // A second more: the header counts whole seconds.
    let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    left + Duration::from_secs(1)
}

/// 403 and 429: a limit, or a permission that is missing.
fn refused(answer: &Answer, now: Timestamp) -> Verdict {
    if let Some(wait) = pause(answer, now) {
        return Verdict::Limited(Some(wait));
    }
    let json = refusal(answer);
    let source = json["documentation_url"].as_str().unwrap_or_default();
    let is_limit = source.ends_with("secondary-rate-limits")
        || source.contains("#abuse-rate-limits")
        || message(answer).to_lowercase().contains("rate limit");
    if answer.status == 429 || is_limit {
        return Verdict::Limited(None);
    }
    let needs = ["x-accepted-github-permissions", "x-accepted-oauth-scopes"];
    let needs = needs.iter().find_map(|name| answer.header(name));
    let needs = needs.map(str::trim).filter(|needs| !needs.is_empty());
    let said = said(answer);
    Verdict::Fault(Fault::Denied(match needs {
        Some(needs) => format!("{said}; the token needs {}", said_by_others(needs)),
        None => said,
    }))
}

/// A redirect. To another server nothing is sent; one to a sign-in page means that the token is missing.
fn moved(call: &Call, answer: &Answer) -> Verdict {
    let target = answer.header("location");
    let Some(target) = target.and_then(|target| call.url.join(target).ok()) else {
        return Verdict::Fault(Fault::Refused("it redirects to nowhere".to_owned()));
    };
    let path = target.path().to_lowercase();
    let is_sign_in = ["signin", "sign_in", "login", "oauth"];
    if is_sign_in.iter().any(|word| path.contains(word)) {
        return sign_in(call);
    }
    if target.origin() != call.url.origin() {
        let (from, to) = (call.url.origin(), target.origin());
        return Verdict::Fault(Fault::Denied(format!(
            "{} redirects to {}, and a token is sent to no other server; correct the address",
            from.ascii_serialization(),
            to.ascii_serialization()
        )));
    }
    Verdict::Moved(target)
}

/// A sign-in page in place of an answer.
fn sign_in(call: &Call) -> Verdict {
    let host = call.url.host_str().unwrap_or_default();
    Verdict::Unauthenticated(format!("{host} answered with a sign-in page"))
}

/// Whether this is a page for people.
fn is_page(answer: &Answer) -> bool {
    let kind = answer.header("content-type").unwrap_or_default();
    let first = answer.body.iter().find(|byte| !byte.is_ascii_whitespace());
    kind.contains("html") || first == Some(&b'<')
}

/// The JSON of a refusal; null if it is too large.
fn refusal(answer: &Answer) -> Value {
    match answer.body.len() <= LARGEST_REFUSAL {
        true => answer.json(),
        false => Value::Null,
    }
}

/// The status, and what the forge says about it.
fn said(answer: &Answer) -> String {
    let status = answer.status;
    match message(answer) {
        message if message.is_empty() => format!("it answered {status}"),
        message => format!("it answered {status}: {message}"),
    }
}

/// What the forge says in its JSON, on one line; empty if it says nothing. A page is never quoted: it may
/// contain anything.
#[must_use]
pub fn message(answer: &Answer) -> String {
    let json = refusal(answer);
    let mut texts = Vec::new();
    for key in ["message", "error", "error_description", "detail"] {
        text_of(&json[key], &mut texts);
    }
    if let Some(errors) = json["errors"].as_array() {
        errors.iter().for_each(|error| text_of(error, &mut texts));
    }
    said_by_others(&texts.join("; "))
}

/// The texts of a message in the forms that forges have: a text, an object with a message, and GitLab's
/// object of lists.
fn text_of(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| text_of(item, texts)),
        Value::Object(fields) => match (fields.get("message"), fields.get("code")) {
            (Some(message), _) => text_of(message, texts),
            (None, Some(Value::String(code))) => {
                let field = fields.get("field").and_then(Value::as_str);
                texts.push(format!("{} {code}", field.unwrap_or_default()));
            }
            (None, _) => {
                for (name, value) in fields {
                    let mut inner = Vec::new();
                    text_of(value, &mut inner);
                    texts.extend(inner.iter().map(|text| format!("{name} {text}")));
                }
            }
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use http::Response;
    use serde_json::json;

    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let response = response.body(body.as_bytes().to_vec());
        Answer::from(response.expect("a response"))
    }

    fn post() -> Call {
        let url = Url::parse("https://git.example:8443/api/x").expect("a URL");
        Call::send(http::Method::POST, url, json!({}))
    }

    fn judged(status: u16, headers: &[(&str, &str)], body: &str) -> Verdict {
        let now = Timestamp::from_second(1_000).expect("in range");
        verdict(&post(), &answer(status, headers, body), now)
    }

    /// Oracle row 31 of forges.md §9.
    #[test]
    fn limits_are_told_from_missing_permissions() {
        let seconds = |seconds| Verdict::Limited(Some(Duration::from_secs(seconds)));
        assert_eq!(judged(403, &[("Retry-After", "7")], "{}"), seconds(7));
        let used_up = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1060"),
        ];
        assert_eq!(judged(403, &used_up, "{}"), seconds(61));
        assert_eq!(judged(429, &used_up, "{}"), seconds(61));
        let date = [("retry-after", "Thu, 01 Jan 1970 00:17:10 GMT")];
        assert_eq!(judged(429, &date, ""), seconds(31));
        assert_eq!(judged(503, &[("retry-after", "5")], ""), seconds(5));
        assert_eq!(judged(429, &[], ""), Verdict::Limited(None));
        for body in [
            r#"{"message":"x","documentation_url":"https://docs.github.com/a#secondary-rate-limits"}"#,
            r#"{"message":"You have exceeded a secondary rate limit."}"#,
        ] {
            assert_eq!(judged(403, &[], body), Verdict::Limited(None));
        }
        let scope = [("X-Accepted-GitHub-Permissions", "checks=write")];
        let body = r#"{"message":"Resource not accessible by integration"}"#;
        assert_eq!(
            judged(403, &scope, body),
            Verdict::Fault(Fault::Denied(
                "it answered 403: Resource not accessible by integration; the token needs checks=write"
                    .to_owned()
            ))
        );
        // Row 34: a wait that comes with a success.
        let wait = pause(
            &answer(200, &[("Retry-After", "12")], "{}"),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(wait, Some(Duration::from_secs(12)));
    }

    /// Oracle row 33.
    #[test]
    fn a_sign_in_page_is_a_missing_credential_and_is_not_quoted() {
        let page = "<!DOCTYPE html><title>Sign in, hunter2</title>";
        let html = [("content-type", "text/html; charset=utf-8")];
        let to = [(
            "location",
            "https://app.vssps.visualstudio.com/_signin?realm=x",
        )];
        let refused = r#"{"message":"TF400813: The user '' is not authorized."}"#;
        for (status, headers, body) in [
            (203, &html[..], page),
            (200, &html[..], page),
            (200, &[], page),
            (302, &to[..], ""),
            (401, &[], refused),
        ] {
            let Verdict::Unauthenticated(text) = judged(status, headers, body) else {
                panic!("{status} {headers:?}");
            };
            assert!(!text.contains("hunter2"), "{text}");
        }
        let needs = "TF401027: You need the Git 'PullRequestContribute' permission";
        let body = json!({ "message": needs }).to_string();
        let Verdict::Fault(Fault::Denied(text)) = judged(403, &[], &body) else {
            panic!("denied");
        };
        assert!(text.contains(needs), "{text}");
    }

    /// Oracle rows 39 and 40.
    #[test]
    fn a_redirect_is_followed_on_the_same_server_only() {
        for location in [
            "/api/renamed/x?a=1",
            "https://git.example:8443/api/renamed/x?a=1",
        ] {
            let url = Url::parse("https://git.example:8443/api/renamed/x?a=1").expect("a URL");
            for status in [301, 302, 307, 308] {
                let found = judged(status, &[("location", location)], "");
                assert_eq!(found, Verdict::Moved(url.clone()));
            }
        }
        for other in [
            "https://other.example:8443/api/x",
            "https://git.example/api/x",
            "http://git.example:8443/api/x",
        ] {
            let Verdict::Fault(Fault::Denied(text)) = judged(307, &[("location", other)], "")
            else {
                panic!("{other}");
            };
            assert!(text.starts_with("https://git.example:8443 redirects to "));
        }
    }

    #[test]
    fn faults_are_those_of_one_request_or_of_all() {
        let said = |status: u16| format!("it answered {status}");
        for (status, expected) in [
            (400, Fault::Refused(said(400))),
            (404, Fault::Absent(said(404))),
            (409, Fault::Busy(said(409))),
            (500, Fault::Unclear(said(500))),
            (502, Fault::Unclear(said(502))),
        ] {
            assert_eq!(judged(status, &[], ""), Verdict::Fault(expected));
        }
        let get = Call::get(post().url);
        let found = verdict(&get, &answer(502, &[], "<html>"), Timestamp::UNIX_EPOCH);
        assert_eq!(found, Verdict::Fault(Fault::Busy(said(502))));
    }

    #[test]
    fn a_refusal_that_is_too_large_is_not_taken_apart() {
        let body = format!(r#"{{"message":"no","x":[{}0]}}"#, "0,".repeat(1 << 16));
        assert_eq!(message(&answer(403, &[], &body)), "");
        let long = format!(r#"{{"message":"{}"}}"#, "n".repeat(10_000));
        assert_eq!(message(&answer(403, &[], &long)).chars().count(), 1_000);
    }

    #[test]
    fn the_words_of_every_forge_are_found() {
        for (body, expected) in [
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"CheckRun","code":"custom","field":"summary","message":"too long"}]}"#,
                "Validation Failed; too long",
            ),
            (
                r#"{"message":"Validation Failed","errors":[{"code":"missing_field","field":"name"}]}"#,
                "Validation Failed; name missing_field",
            ),
            (
                r#"{"message":{"state":["is missing","x"]}}"#,
                "state is missing; state x",
            ),
            (
                r#"{"type":"error","error":{"message":"No such commit"}}"#,
                "No such commit",
            ),
            (r#"{"errors":[{"message":"a\nb"}]}"#, "a b"),
            (r#"{"message":"a\u001b[2Jb\u202e"}"#, "a [2Jb"),
            ("<html>hunter2", ""),
            ("[]", ""),
        ] {
            assert_eq!(message(&answer(400, &[], body)), expected);
        }
    }
}
