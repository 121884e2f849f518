//! A message before it is sent.
//!
//! In: a subject, an id and a payload. Out: the same, if NATS can carry them.

use async_nats::header::{HeaderMap, NATS_MESSAGE_ID};

use super::error::Error;

/// The longest subject, in bytes: a line of the protocol has 4,096 at most.
const LONGEST_SUBJECT: usize = 1_024;
/// The longest id, in bytes.
const LONGEST_ID: usize = 256;
/// The bytes of the headers around the id, as they are sent.
const HEADERS: usize = "NATS/1.0\r\nNats-Msg-Id: \r\n\r\n".len();

/// A message that can be sent.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) subject: &'a str,
    id: &'a str,
    pub(super) payload: &'a [u8],
}

impl<'a> Message<'a> {
    pub(super) fn new(subject: &'a str, id: &'a str, payload: &'a [u8]) -> Result<Self, Error> {
        if subject.len() > LONGEST_SUBJECT || !subject.split('.').all(is_token) {
            return Err(unusable(
                "its subject is not a list of tokens with dots between them, of at most 1,024 bytes",
            ));
        }
        let is_visible = id.bytes().all(|byte| byte.is_ascii_graphic());
        if id.is_empty() || id.len() > LONGEST_ID || !is_visible {
            return Err(unusable("its id is not 1 to 256 visible ASCII characters"));
        }
        Ok(Self {
            subject,
            id,
            payload,
        })
    }

    /// The size that the limit of the server is for.
    pub(super) fn size(&self) -> usize {
        HEADERS + self.id.len() + self.payload.len()
    }

    /// The id, by which a stream recognises what it has already.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, self.id);
        headers
    }
}

/// Returns true if a subject to publish to may have this between two dots: no wildcard.
fn is_token(token: &str) -> bool {
    let is_part = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '*' | '>' | '"');
    !token.is_empty() && token.chars().all(is_part)
}

fn unusable(cause: &str) -> Error {
    Error::Message {
        cause: cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ErrorClass;

    #[test]
    fn a_subject_without_wildcards_and_a_visible_id_can_be_sent() {
        for subject in [
            "dcm.cluster",
            "a",
            "dcm.providers.acm_cluster-sp.cluster.instances.7.status",
        ] {
            assert!(Message::new(subject, "7b1c-1", b"").is_ok(), "{subject}");
        }
        let long = "a".repeat(1_024);
        assert!(Message::new(&long, &"i".repeat(256), b"").is_ok());
    }

    #[test]
    fn other_subjects_and_ids_are_invalid() {
        let long = "a".repeat(1_025);
        let subjects = [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a b",
            "a\r\nPUB b 1\r\nx",
            "a.*",
            "a.>",
            "a\"b",
            &long,
        ];
        for subject in subjects {
            let error = Message::new(subject, "1", b"").unwrap_err();
            assert_eq!(error.class(), ErrorClass::Invalid, "{subject:?}");
            assert!(error.to_string().contains("subject"), "{error}");
        }
        for id in ["", "a b", "a\r\nX: y", "é", &"i".repeat(257)] {
            let error = Message::new("a", id, b"").unwrap_err();
            assert_eq!(error.class(), ErrorClass::Invalid, "{id:?}");
            assert!(error.to_string().contains("id"), "{error}");
        }
    }
}
