//! Whether a document is an object of the resource that a request is about.
//!
//! In: a resource, and what was sent or what a patch made of an object. Out: the refusal of what is
//! something else, in the words of k8s.io/apimachinery `runtime`. It does not know what else is in objects.

use serde_json::{Value, json};

use super::builtin::BUILTINS;
use super::document::Document;
use super::metadata;
use super::request::{Format, summary};
use super::resources::{Resource, api_version};
use super::status::{Cause, Refusal};

/// The object that the body of a POST or PUT brings. Built-in types may leave out what they are.
///
/// # Errors
/// 415 for an unknown media type, 400 or 422 for what is no object of `resource`.
pub(super) fn sent(resource: &Resource, media: &str, body: &[u8]) -> Result<Document, Refusal> {
    let unrecognized = |why: &str| {
        let (kind, summary) = (&resource.kind, summary(body));
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
        ))
    };
    let format = Format::of(media)?;
    let sent = format.parse(body).map_err(|why| match format {
        Format::Json => unrecognized(&untyped(&why)),
        Format::Yaml => unrecognized(&why),
    })?;
    let object = &sent.value;
    if !object.is_object() {
        return Err(unrecognized(&untyped("an object is expected")));
    }
    let (version, kind) = type_of(object);
    if version.matches('/').count() > 1 {
        return Err(unrecognized(&format!(
            "unexpected GroupVersion string: {version}"
        )));
    }
    if resource.is_builtin() {
        let fault = builtin_fault(resource, version, kind);
        return fault.map_or(Ok(sent), Err);
    }
    if kind.is_empty() {
        let text = String::from_utf8_lossy(body);
        return Err(unrecognized(&format!(
            "Object 'Kind' is missing in '{text}'"
        )));
    }
    Ok(sent)
}

/// Whether an object that was read is of the version that the request is about.
///
/// # Errors
/// 400 when it is not.
pub(super) fn check_version(resource: &Resource, object: &Value) -> Result<(), Refusal> {
    let (version, _) = type_of(object);
    match version == resource.api_version() {
        true => Ok(()),
        false => Err(unexpected_version(resource, version)),
    }
}

/// Whether a custom object's own kind is that of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinship {
    /// It is of that.
    Same,
    /// It is of a version which the definition does not have.
    NoVersion,
    /// It is of another version, kind or group.
    Other,
}

/// Whether the kind that `object` names is that of `resource`.
pub(super) fn kinship(resource: &Resource, object: &Value) -> Kinship {
    let (claimed, kind) = type_of(object);
    let group = claimed.split_once('/').map_or("", |(group, _)| group);
    match (group, kind) == (&resource.group, &resource.kind) {
        _ if claimed == resource.api_version() && kind == resource.kind => Kinship::Same,
        true if !resource.versions().contains(&claimed) => Kinship::NoVersion,
        _ => Kinship::Other,
    }
}

/// Checks that a patched object still is one of `resource`.
///
/// # Errors
/// 422 when it is something else.
pub(super) fn check_patched(resource: &Resource, object: &Value) -> Result<(), Refusal> {
    let (version, kind) = type_of(object);
    if !resource.is_builtin() && kind.is_empty() {
        let why = format!("Object 'Kind' is missing in '{object}'");
        return Err(Refusal::patch_failed(object, &why));
    }
    if !resource.is_builtin() {
        return Ok(());
    }
    match builtin_mismatch(resource, version, kind) {
        None => Ok(()),
        Some(why) => Err(Refusal::patch_failed(object, &why)),
    }
}

/// That a body does not say what it is.
pub(super) fn untyped(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// The `apiVersion` and `kind` of an object.
pub(super) fn type_of(object: &Value) -> (&str, &str) {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    (text("apiVersion"), text("kind"))
}

fn unexpected_version(resource: &Resource, version: &str) -> Refusal {
    Refusal::bad_request(format!(
        "the API version in the data ({version}) does not match the expected API version ({})",
        resource.api_version()
    ))
}

/// What is wrong with a custom object's type: nothing else is validated then.
pub(super) fn check_custom(resource: &Resource, object: &Value) -> Vec<Cause> {
    if resource.is_builtin() {
        return Vec::new();
    }
    let (version, kind) = type_of(object);
    let expected = resource.api_version();
    let claimed = [
        ("kind", kind, &resource.kind),
        ("apiVersion", version, &expected),
    ];
    claimed
        .into_iter()
        .filter(|(_, claimed, expected)| claimed != expected)
        .map(|(field, claimed, expected)| {
            Cause::invalid(field, &json!(claimed), &format!("must be {expected}"))
        })
        .collect()
}

/// The refusal of an invalid object, with the kind that it claims.
pub(super) fn invalid(resource: &Resource, object: &Value, causes: &[Cause]) -> Refusal {
    let name = metadata::text(object, "name");
    if resource.is_builtin() {
        return Refusal::invalid(resource, name, causes);
    }
    let (version, kind) = type_of(object);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Refusal::invalid_kind(group, kind, name, causes)
}

/// The refusal of an object whose version and kind, where given, are not those of `resource`.
pub(super) fn undecodable(resource: &Resource, claimed: (&str, &str), why: &str) -> Refusal {
    let or = |claimed: &str, own: &str| match claimed {
        "" => own.to_owned(),
        claimed => claimed.to_owned(),
    };
    let version = or(
        claimed.0.rsplit('/').next().unwrap_or_default(),
        &resource.version,
    );
    let kind = or(claimed.1, &resource.kind);
    let expected = &resource.kind;
    Refusal::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {expected}: {why}"
    ))
}

fn builtin_fault(resource: &Resource, version: &str, kind: &str) -> Option<Refusal> {
    let why = builtin_mismatch(resource, version, kind)?;
    Some(undecodable(resource, (version, kind), &why))
}

/// Why an object of this type cannot become one of `resource`.
fn builtin_mismatch(resource: &Resource, version: &str, kind: &str) -> Option<String> {
    let expected = resource.api_version();
    let version = if version.is_empty() {
        &expected
    } else {
        version
    };
    let kind = if kind.is_empty() {
        &resource.kind
    } else {
        kind
    };
    if version == expected && kind == resource.kind {
        return None;
    }
    let known = BUILTINS
        .iter()
        .any(|row| row.kind == kind && api_version(row.group, row.version) == version);
    Some(match known {
        false => not_registered(kind, version),
        true => format!(
            "converting ({}.{kind}) to ({}): unknown conversion",
            version.rsplit('/').next().unwrap_or_default(),
            go_type(resource)
        ),
    })
}

/// That Go's server knows no such type; it names the place where it looked.
pub(super) fn not_registered(kind: &str, version: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:110\""
    )
}

/// The Go type behind a built-in resource: `core.ConfigMap`, `apps.Deployment`.
pub(super) fn go_type(resource: &Resource) -> String {
    let package = match resource.group.split('.').next() {
        None | Some("" | "events") => "core",
        Some(package) => package,
    };
    format!("{package}.{}", resource.kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::api::resources::Registry;

    fn refused(body: &Value) -> String {
        let resource = Registry::new().find("", "v1", "configmaps").unwrap();
        let body = body.to_string();
        sent(&resource, "", body.as_bytes()).unwrap_err().message
    }

    #[test]
    fn what_is_something_else_is_refused() {
        assert_eq!(
            refused(&json!({"apiVersion": "v2"})),
            "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v2\" in scheme \"pkg/runtime/scheme.go:110\""
        );
        assert_eq!(
            refused(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})),
            "Deployment in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion"
        );
        assert_eq!(
            refused(&json!([])),
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: an object is expected (5b5d)"
        );
    }

    #[test]
    fn a_built_in_type_goes_without_saying() {
        let resource = Registry::new().find("", "v1", "configmaps").unwrap();
        for object in [json!({}), json!({"apiVersion": "v1", "kind": "ConfigMap"})] {
            let body = object.to_string();
            assert_eq!(sent(&resource, "", body.as_bytes()).unwrap().value, object);
            assert!(check_patched(&resource, &object).is_ok());
        }
        let other = json!({"kind": "Secret"});
        assert_eq!(check_patched(&resource, &other).unwrap_err().code, 422);
    }
}
