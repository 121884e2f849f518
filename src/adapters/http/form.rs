//! The type of a body, and payloads in forms.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyType {
    Json,
    Form,
}

/// What the header says; `None` for everything else, and for parameters without a value.
pub(super) fn body_type(headers: &HeaderMap) -> Option<BodyType> {
    let header = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let mut parts = header.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_whole = |part: &str| {
        let value = part.split_once('=').map(|(_, value)| value.trim());
        value.is_some_and(|value| !value.is_empty())
    };
    if !parts.all(is_whole) {
        return None;
    }
    match name.as_str() {
        "application/json" => Some(BodyType::Json),
        "application/x-www-form-urlencoded" => Some(BodyType::Form),
        _ => None,
    }
}

/// The field `payload` of a form.
pub(super) fn payload(form: &[u8]) -> Option<Vec<u8>> {
    let mut fields = form.split(|byte| *byte == b'&');
    fields.find_map(|field| unescaped(field.strip_prefix(b"payload=")?))
}

/// Without `+` and `%` escapes; `None` if an escape is cut.
pub(super) fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text.iter());
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => digit(rest.next()?)? * 16 + digit(rest.next()?)?,
            byte => *byte,
        });
    }
    Some(plain)
}

/// The value of a hexadecimal digit of either case.
pub(super) fn digit(byte: &u8) -> Option<u8> {
    let value = char::from(*byte).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(text: &'static str) -> Option<BodyType> {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static(text))];
        body_type(&headers.into_iter().collect())
    }

    /// Oracle row 5.
    #[test]
    fn a_type_may_have_parameters_with_values() {
        for json in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON;charset=UTF-8",
        ] {
            assert_eq!(of(json), Some(BodyType::Json), "{json}");
        }
        let form = "application/x-www-form-urlencoded";
        assert_eq!(of(form), Some(BodyType::Form));
        for other in ["application/json; charset=", "text/plain", "", "json"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(body_type(&HeaderMap::new()), None);
    }

    #[test]
    fn the_payload_of_a_form_is_unescaped() {
        let payload = |form: &str| payload(form.as_bytes());
        let plain = Some(br#"{"a": "b+c"}"#.to_vec());
        assert_eq!(payload("x=1&payload=%7B%22a%22:+%22b%2bc%22%7D"), plain);
        for broken in ["", "x=1", "payload=%7", "payload=%", "payload=%zz"] {
            assert_eq!(payload(broken), None, "{broken}");
        }
    }
}
