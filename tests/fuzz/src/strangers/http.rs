//! Webhooks: signatures and payloads of all forges.

#[path = "../../../../src/adapters/http/compare.rs"]
mod compare;
#[path = "../../../../src/adapters/http/event.rs"]
mod event;
#[path = "../../../../src/adapters/http/form.rs"]
mod form;
#[path = "../../../../src/adapters/http/payload.rs"]
mod payload;
#[path = "../../../../src/adapters/http/press.rs"]
mod press;
#[path = "../../../../src/adapters/http/repository.rs"]
mod repository;
#[path = "../../../../src/adapters/http/rerun.rs"]
mod rerun;
#[path = "../../../../src/adapters/http/secrets.rs"]
mod secrets;
#[path = "../../../../src/adapters/http/sender.rs"]
mod sender;
#[path = "../../../../src/adapters/http/signature.rs"]
mod signature;
#[path = "../../../../src/adapters/http/standard_webhook.rs"]
mod standard_webhook;

use http::{HeaderMap, HeaderName, HeaderValue};

use form::BodyType;
use secrets::Secrets;
use sender::Sender;
use signature::{Delivery, authenticate};

/// A delivery: lines of headers, an empty one, and the body. Nobody here knows the secret, so each signature is refused.
pub fn deliver(bytes: &[u8]) {
    let (head, body) = parted(bytes);
    let headers = headers(head);
    let keys = [("token".to_owned(), b"a secret that nobody knows".to_vec())];
    let secrets = Secrets::read("a Secret", &keys.into()).expect("a secret");
    for sender in Sender::all() {
        let body_type = form::body_type(&headers);
        let delivery = Delivery { sender, headers: &headers, body, body_type };
        assert!(authenticate(&delivery, &secrets, 1_700_000_000).is_err());
        let from_form = match body_type {
            Some(BodyType::Form) => form::payload(body),
            _ => None,
        };
        let payload = from_form.as_deref().unwrap_or(body);
        if let Ok(event) = event::read(sender, &headers, payload) {
            repository::is_named("owner/name", &event.repository);
        }
    }
    if let Ok(text) = std::str::from_utf8(body) {
        let _ = (repository::path(text), rerun::is_command(text), rerun::may_approve(text));
    }
}

fn parted(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    end.map_or((b"", bytes), |end| (&bytes[..end], &bytes[end + 2..]))
}

fn headers(head: &[u8]) -> HeaderMap {
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..at]).ok()?;
        let value = HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?;
        Some((name, value))
    });
    lines.collect()
}
