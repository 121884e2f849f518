//! Headers and bodies of requests.
//!
//! In: media types and bytes. Out: documents and the form of the answer, or the refusal of what is
//! neither JSON nor YAML. It does not know what is asked.

use serde_json::Value;

use super::object::Form;
use super::status::Refusal;

/// The longest body that is read, in bytes (k8s.io/apiserver `MaxRequestBodyBytes`).
pub(super) const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// The form that the `Accept` header asks for. Tables are not drawn: whoever asks for one gets plain
/// JSON.
///
/// # Errors
/// 406 when it takes no JSON.
pub(super) fn form(accept: Option<&str>) -> Result<Form, Refusal> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok(Form::Whole);
    };
    let mut json = false;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if !matches!(media, "application/json" | "application/*" | "*/*") {
            continue;
        }
        json = true;
        match parts.find_map(|parameter| parameter.strip_prefix("as=")) {
            None => return Ok(Form::Whole),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => {
                return Ok(Form::Metadata);
            }
            Some(_) => {}
        }
    }
    match json {
        true => Ok(Form::Whole),
        false => Err(Refusal::not_acceptable()),
    }
}

/// The media type of a body, without its parameters.
pub(super) fn media_type(header: Option<&str>) -> &str {
    let header = header.unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim()
}

/// The document of a POST or PUT.
///
/// # Errors
/// 415 for a media type that is neither JSON nor YAML, 400 for a broken body.
pub(super) fn body(media: &str, bytes: &[u8]) -> Result<Value, Refusal> {
    match media {
        "" | "application/json" | "application/yaml" | "*/*" => document(bytes),
        _ => Err(Refusal::unsupported_media_type(&[
            "application/json",
            "application/yaml",
        ])),
    }
}

/// A document in JSON or YAML, told apart by how it opens.
///
/// # Errors
/// 400 for what is neither.
pub(super) fn document(bytes: &[u8]) -> Result<Value, Refusal> {
    let opening = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(opening, Some(b'{' | b'['))
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return Ok(value);
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Refusal::bad_request(format!("error decoding YAML: {error}")))?;
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Refusal::bad_request(format!("error decoding YAML: {error}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_form_that_we_can_give_is_given() {
        assert_eq!(form(None).unwrap(), Form::Whole);
        assert_eq!(form(Some("*/*")).unwrap(), Form::Whole);
        let partial =
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(form(Some(partial)).unwrap(), Form::Metadata);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(form(Some(table)).unwrap(), Form::Whole);
        let only_table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(form(Some(only_table)).unwrap(), Form::Whole);
        assert_eq!(
            form(Some("application/vnd.kubernetes.protobuf"))
                .unwrap_err()
                .code,
            406
        );
    }

    #[test]
    fn a_body_is_json_or_yaml() {
        assert_eq!(body("", b" {\"a\": 1}").unwrap(), json!({"a": 1}));
        assert_eq!(
            body("application/yaml", b"a: 0644").unwrap(),
            json!({"a": 420})
        );
        assert_eq!(body("application/json", b"{a").unwrap_err().code, 400);
        let protobuf = body("application/vnd.kubernetes.protobuf", b"k8s");
        assert_eq!(protobuf.unwrap_err().code, 415);
    }
}
