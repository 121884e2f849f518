//! The answers of JetStream.
//!
//! In: the bytes of an answer. Out: which stream captures a subject, and what became of a message. This
//! module does not know how the answers came.

use serde::Deserialize;

use super::error::Error;
use crate::model::words::said;

/// The request that lists the streams which capture a subject.
pub(super) const STREAM_NAMES: &str = "$JS.API.STREAM.NAMES";
/// The codes for an account, and for a server, without JetStream.
const NOT_ENABLED: [u32; 2] = [10_039, 10_076];

/// The answer to [`STREAM_NAMES`].
#[derive(Deserialize)]
struct StreamNames {
    error: Option<Fault>,
    streams: Option<Vec<String>>,
}

/// The answer to a message for a stream.
#[derive(Deserialize)]
struct Stored {
    error: Option<Fault>,
    stream: Option<String>,
    #[serde(default)]
    duplicate: bool,
}

/// The error in an answer.
#[derive(Deserialize)]
struct Fault {
    code: u16,
    #[serde(default)]
    err_code: u32,
    #[serde(default)]
    description: String,
}

/// The acknowledgement of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    pub(super) stream: String,
    pub(super) is_duplicate: bool,
}

/// The body of [`STREAM_NAMES`].
pub(super) fn names_request(subject: &str) -> Vec<u8> {
    serde_json::json!({ "subject": subject })
        .to_string()
        .into_bytes()
}

/// Returns true if a stream captures the subject.
pub(super) fn is_captured(subject: &str, answer: &[u8]) -> Result<bool, Error> {
    let unavailable = |cause: String| Error::Unavailable {
        subject: subject.to_owned(),
        cause,
    };
    let names: StreamNames = serde_json::from_slice(answer)
        .map_err(|_| unavailable("its list of streams is no JSON of that kind".to_owned()))?;
    match names.error {
        None => Ok(!names.streams.unwrap_or_default().is_empty()),
        Some(fault) if NOT_ENABLED.contains(&fault.err_code) => Ok(false),
        Some(fault) => Err(unavailable(said(&fault.description))),
    }
}

/// The acknowledgement in an answer; `None` if it is something else, as a service on the same subject may
/// send.
pub(super) fn read_ack(subject: &str, answer: &[u8]) -> Result<Option<Ack>, Error> {
    let Ok(stored) = serde_json::from_slice::<Stored>(answer) else {
        return Ok(None);
    };
    if let Some(fault) = stored.error {
        return Err(Error::NotStored {
            subject: subject.to_owned(),
            code: fault.code,
            cause: said(&fault.description),
        });
    }
    Ok(stored.stream.map(|stream| Ack {
        stream,
        is_duplicate: stored.duplicate,
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ErrorClass;

    #[test]
    fn a_subject_is_captured_if_a_stream_is_named() {
        let captured = |answer: &str| is_captured("dcm.cluster", answer.as_bytes());
        assert_eq!(
            captured(r#"{"total":1,"streams":["dcm-status"]}"#),
            Ok(true)
        );
        assert_eq!(captured(r#"{"total":0,"streams":null}"#), Ok(false));
        assert_eq!(captured(r#"{"total":0}"#), Ok(false));
    }

    #[test]
    fn an_account_without_jetstream_has_no_stream_and_one_without_leader_is_asked_again() {
        let fault = |code: u32| {
            let answer =
                format!(r#"{{"error":{{"code":503,"err_code":{code},"description":"d"}}}}"#);
            is_captured("dcm.cluster", answer.as_bytes())
        };
        assert_eq!(fault(10_039), Ok(false));
        assert_eq!(fault(10_076), Ok(false));
        let error = fault(10_008).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Transient);
        assert!(error.to_string().contains("dcm.cluster: d;"), "{error}");
    }

    #[test]
    fn an_answer_of_another_kind_is_no_list_and_no_acknowledgement() {
        for answer in ["", "{", "[]", "null", "7", r#"{"error":7}"#] {
            let error = is_captured("s", answer.as_bytes()).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Transient, "{answer}");
            assert_eq!(read_ack("s", answer.as_bytes()), Ok(None), "{answer}");
        }
        assert_eq!(read_ack("s", br#"{"hello":1}"#), Ok(None));
    }

    #[test]
    fn an_acknowledgement_says_which_stream_has_it_and_whether_it_had_it() {
        let ack = |is_duplicate| {
            Ok(Some(Ack {
                stream: "dcm-status".to_owned(),
                is_duplicate,
            }))
        };
        let first = br#"{"stream":"dcm-status","seq":1}"#;
        assert_eq!(read_ack("s", first), ack(false));
        let again = br#"{"stream":"dcm-status","seq":1,"duplicate":true}"#;
        assert_eq!(read_ack("s", again), ack(true));
    }

    #[test]
    fn a_refused_message_has_the_class_of_its_code() {
        let class = |code: u16| {
            let answer = format!(r#"{{"error":{{"code":{code},"description":"full"}}}}"#);
            read_ack("s", answer.as_bytes()).unwrap_err().class()
        };
        assert_eq!(class(400), ErrorClass::Invalid);
        assert_eq!(class(403), ErrorClass::Denied);
        assert_eq!(class(503), ErrorClass::Transient);
    }
}
