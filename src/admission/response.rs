//! An `AdmissionReview` v1 as the API server reads it.
//!
//! In: a decision. Out: JSON with the texts of `validate`: the id of the rule, the field, the message and the help.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::decide::Decision;
use super::request::REVIEW;
use crate::api::fleet::FailurePolicy;
use crate::model::Finding;

/// How many errors or warnings are listed before the rest is only counted.
const LISTED: usize = 20;
/// The API server may cut a longer warning.
const WARNING_LENGTH: usize = 256;
/// It drops warnings beyond 4096 characters.
const WARNINGS: usize = 12;
/// The field of an error about the object as a whole.
const WHOLE: &str = "metadata.name";

/// The answer to the request `uid`.
#[must_use]
pub fn response(uid: &str, decision: &Decision) -> Json {
    let errors = &decision.errors;
    let mut response = json!({"uid": uid, "allowed": errors.is_empty()});
    if !errors.is_empty() {
        let causes = errors.iter().take(LISTED).map(cause);
        response["status"] = json!({
            "status": "Failure", "code": 422, "reason": "Invalid", "message": message(errors),
            "details": {"causes": causes.collect::<Vec<_>>()},
        });
    }
    if !decision.warnings.is_empty() {
        response["warnings"] = Json::from(warnings(&decision.warnings));
    }
    envelope(&response)
}

/// The answer to the request `uid` if it cannot be judged: as the setting says.
#[must_use]
pub fn refused_by_failure(uid: &str, policy: FailurePolicy, why: &str) -> Json {
    let refused = policy == FailurePolicy::Fail;
    let mut response = json!({"uid": uid, "allowed": !refused});
    if refused {
        response["status"] = json!({
            "status": "Failure", "code": 500, "reason": "InternalError",
            "message": format!("the object cannot be checked: {why}"),
        });
    } else {
        response["warnings"] = json!([short(&format!("not checked by Capstan: {why}"))]);
    }
    envelope(&response)
}

/// The answer to the request `uid` about an object that is too large to be checked, whatever the setting says.
#[must_use]
pub fn refused_as_too_large(uid: &str, why: &str) -> Json {
    let status = json!({"status": "Failure", "code": 413, "reason": "RequestEntityTooLarge", "message": why});
    envelope(&json!({"uid": uid, "allowed": false, "status": status}))
}

/// The answer to the request `uid` if it cannot be judged now, but perhaps soon: as the setting says.
#[must_use]
pub fn refused_for_now(uid: &str, policy: FailurePolicy, why: &str) -> Json {
    let mut answer = refused_by_failure(uid, policy, why);
    if policy == FailurePolicy::Fail {
        let status = &mut answer["response"]["status"];
        status["code"] = 429.into();
        status["reason"] = "TooManyRequests".into();
        // Clients of Kubernetes then try again.
        status["details"] = json!({"retryAfterSeconds": 1});
    }
    answer
}

fn envelope(response: &Json) -> Json {
    let (api_version, kind) = REVIEW;
    json!({"apiVersion": api_version, "kind": kind, "response": response})
}

/// The uid in a body that may be anything else as well.
#[must_use]
pub fn uid_of(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Review {
        request: Request,
    }
    #[derive(Deserialize)]
    struct Request {
        uid: String,
    }
    let review: Review = serde_json::from_slice(body).ok()?;
    Some(review.request.uid)
}

/// An error as kubectl prints it: `field: message`. So the message does not repeat the field, and there always is one.
fn cause(error: &Finding) -> Json {
    let field = error.field.as_ref().map(ToString::to_string);
    let field = field.unwrap_or_else(|| WHOLE.to_owned());
    let message = with_help(format!("{} {}", error.id, error.message), error);
    json!({"reason": "FieldValueInvalid", "field": field, "message": message})
}

/// `V05 spec.resources[0].…: message (help)`.
fn line(finding: &Finding) -> String {
    with_help(head(finding), finding)
}

fn with_help(head: String, finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{head} ({help})"),
        None => head,
    }
}

fn head(finding: &Finding) -> String {
    let Finding { id, message, .. } = finding;
    match &finding.field {
        Some(field) => format!("{id} {field}: {message}"),
        None => format!("{id} {message}"),
    }
}

fn message(errors: &[Finding]) -> String {
    if let [error] = errors {
        return line(error);
    }
    let mut text = format!("{} errors:", errors.len());
    for error in errors.iter().take(LISTED) {
        text.push_str("\n- ");
        text.push_str(&line(error));
    }
    if errors.len() > LISTED {
        text.push_str(&format!("\n- and {} more", errors.len() - LISTED));
    }
    text
}

fn warnings(findings: &[Finding]) -> Vec<String> {
    let mut texts: Vec<String> = findings.iter().take(WARNINGS).map(warning).collect();
    if findings.len() > WARNINGS {
        texts.push(format!("and {} more warnings", findings.len() - WARNINGS));
    }
    texts
}

/// With its help, if there is room for it.
fn warning(finding: &Finding) -> String {
    let whole = line(finding);
    match whole.chars().count() > WARNING_LENGTH {
        true => short(&head(finding)),
        false => whole,
    }
}

fn short(text: &str) -> String {
    if text.chars().count() <= WARNING_LENGTH {
        return text.to_owned();
    }
    let kept: String = text.chars().take(WARNING_LENGTH - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Path;

    #[test]
    fn errors_refuse_with_their_ids_fields_and_help() {
        let error = Finding::error("V01", "wrong")
            .field(&Path::dotted("spec.a"))
            .help("fix it");
        let one = Decision {
            errors: vec![error.clone()],
            ..Decision::default()
        };
        let answer = response("u", &one);
        assert_eq!(answer["response"]["allowed"], false);
        let status = &answer["response"]["status"];
        assert_eq!(status["message"], "V01 spec.a: wrong (fix it)");
        let cause = |field: &str| json!({"reason": "FieldValueInvalid", "field": field, "message": "V01 wrong (fix it)"});
        assert_eq!(status["details"]["causes"], json!([cause("spec.a")]));
        let whole = Decision {
            errors: vec![Finding::error("V01", "wrong").help("fix it")],
            ..Decision::default()
        };
        let status = &response("u", &whole)["response"]["status"];
        assert_eq!(status["details"]["causes"], json!([cause("metadata.name")]));
        let many = Decision {
            errors: vec![error; 30],
            ..Decision::default()
        };
        let many = response("u", &many);
        let text = many["response"]["status"]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(
            text.starts_with("30 errors:\n- V01 ") && text.ends_with("- and 10 more"),
            "{text}"
        );
    }

    #[test]
    fn warnings_are_short_and_few() {
        let warning = Finding::warning("X01", "é".repeat(300)).help("fix it");
        let answer = response(
            "u",
            &Decision {
                warnings: vec![warning; 30],
                ..Decision::default()
            },
        );
        assert_eq!(answer["response"]["allowed"], true);
        let warnings = answer["response"]["warnings"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert_eq!(warnings.len(), 13);
        let longest = warnings
            .iter()
            .filter_map(Json::as_str)
            .map(|text| text.chars().count())
            .max();
        assert_eq!(longest, Some(256));
    }

    #[test]
    fn what_cannot_be_judged_is_answered_by_the_setting() {
        let later = refused_for_now("u", FailurePolicy::Fail, "why");
        let status = &later["response"]["status"];
        assert_eq!(
            (&status["code"], &status["details"]["retryAfterSeconds"]),
            (&json!(429), &json!(1))
        );
        assert_eq!(
            refused_for_now("u", FailurePolicy::Ignore, "why")["response"]["allowed"],
            true
        );
        let refused = refused_by_failure("u", FailurePolicy::Fail, "why");
        assert_eq!(refused["response"]["allowed"], false);
        let allowed = refused_by_failure("u", FailurePolicy::Ignore, "why");
        assert_eq!(allowed["response"]["allowed"], true);
        assert_eq!(
            allowed["response"]["warnings"][0],
            "not checked by Capstan: why"
        );
        assert_eq!(
            uid_of(br#"{"request": {"uid": "u", "kind": 7}}"#).as_deref(),
            Some("u")
        );
        assert_eq!(uid_of(b"{"), None);
    }
}
