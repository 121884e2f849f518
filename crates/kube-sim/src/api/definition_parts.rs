//! Which parts of a CustomResourceDefinition are refused beside its names and schemas.
//!
//! In: the part and what it is called. Out: the fields that are wrong. Source: as `definition_rules`.

use serde_json::{Value, json};

use super::status::Cause;
use super::values::{list, text};

/// A version that is going may say so in one line.
pub(super) fn check_deprecation(version: &Value, at: usize, causes: &mut Vec<Cause>) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut details = Vec::new();
    if version["deprecated"] != true {
        details.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > 256 {
            details.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            details.push("must not be an empty string".to_owned());
        }
        let strange = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
        if let Some(index) = warning.find(strange) {
            details.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    }
    let field = format!("spec.versions[{at}].deprecationWarning");
    for detail in details {
        causes.push(Cause::invalid(field.clone(), &json!(warning), &detail));
    }
}

/// Numbers of replicas lie in the spec and in the status.
pub(super) fn check_scale(scale: &Value, field: &str, causes: &mut Vec<Cause>) {
    if !scale.is_object() {
        return;
    }
    for (key, required, roots, below) in [
        ("specReplicasPath", true, &[".spec."][..], ".spec"),
        ("statusReplicasPath", true, &[".status."], ".status"),
        (
            "labelSelectorPath",
            false,
            &[".spec.", ".status."],
            "either .spec or .status",
        ),
    ] {
        let (field, path) = (format!("{field}.scale.{key}"), text(&scale[key]));
        if path.is_empty() {
            if required {
                causes.push(Cause::required(field, ""));
            }
        } else if !path.starts_with('.') {
            causes.push(Cause::invalid(field, &json!(path), SIMPLE));
        } else if !roots.iter().any(|root| path.starts_with(root)) {
            let detail = format!("should be a json path under {below}");
            causes.push(Cause::invalid(field, &json!(path), &detail));
        }
    }
}

const SIMPLE: &str = "must be a simple json path starting with .";
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// A column has a name, a type and a path.
pub(super) fn check_columns(columns: &Value, field: &str, causes: &mut Vec<Cause>) {
    for (at, column) in list(columns).iter().enumerate() {
        let field = |key: &str| format!("{field}[{at}].{key}");
        if text(&column["name"]).is_empty() {
            causes.push(Cause::required(field("name"), ""));
        }
        let kinds = format!("must be one of {}", COLUMN_TYPES.join(","));
        match text(&column["type"]) {
            "" => causes.push(Cause::required(field("type"), &kinds)),
            kind if COLUMN_TYPES.contains(&kind) => {}
            kind => causes.push(Cause::invalid(field("type"), &json!(kind), &kinds)),
        }
        let format = text(&column["format"]);
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
            causes.push(Cause::invalid(field("format"), &json!(format), &formats));
        }
        match text(&column["jsonPath"]) {
            "" => causes.push(Cause::required(field("JSONPath"), "")),
            path if path.starts_with('.') => {}
            path => causes.push(Cause::invalid(field("JSONPath"), &json!(path), SIMPLE)),
        }
    }
}

/// How many fields objects can be selected by.
const MOST_SELECTABLE: usize = 8;

/// What objects can be selected by are plain values that the schema knows.
pub(super) fn check_selectable(version: &Value, field: &str, causes: &mut Vec<Cause>) {
    let mut known: Vec<&str> = Vec::new();
    for (at, selectable) in list(&version["selectableFields"]).iter().enumerate() {
        let (path, field) = (
            text(&selectable["jsonPath"]),
            format!("{field}[{at}].jsonPath"),
        );
        if path.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        let schema = match find(&version["schema"]["openAPIV3Schema"], path) {
            Ok(schema) => schema,
            Err(why) => {
                let detail = format!("is an invalid path: {why}");
                causes.push(Cause::invalid(field, &json!(path), &detail));
                continue;
            }
        };
        if path.starts_with(".metadata.") {
            let detail = "must not point to fields in metadata";
            causes.push(Cause::invalid(field.clone(), &json!(path), detail));
        }
        if !matches!(text(&schema["type"]), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            causes.push(Cause::invalid(field.clone(), &json!(path), detail));
        }
        if known.contains(&path) {
            let message = format!("Duplicate value: {}", json!(path));
            causes.push(Cause::with_message(field, message));
        } else {
            known.push(path);
        }
    }
    if known.len() > MOST_SELECTABLE {
        let message = format!(
            "Too many: {}: must have at most {MOST_SELECTABLE} items",
            known.len()
        );
        causes.push(Cause::with_message(field.to_owned(), message));
    }
}

/// The schema at a path such as `.spec.mode`.
fn find<'a>(schema: &'a Value, path: &str) -> Result<&'a Value, String> {
    let Some(path) = path.strip_prefix('.') else {
        let word = path.split(['.', '[', ']']).next().unwrap_or_default();
        return match word {
            "" => Err("array notation is not allowed".into()),
            word => Err(format!("expected [ or . but got: {word}")),
        };
    };
    path.split('.').try_fold(schema, |schema, name| {
        let (name, indexed) = match name.split_once('[') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        match schema["properties"].get(name) {
            Some(_) if indexed => Err("array notation is not allowed".into()),
            Some(schema) => Ok(schema),
            None => Err("does not refer to a valid field".into()),
        }
    })
}

/// Versions convert by themselves, or by a webhook that lists the review versions it understands.
pub(super) fn check_conversion(conversion: &Value, causes: &mut Vec<Cause>) {
    let field = |key: &str| format!("spec.conversion.{key}");
    let versions = &conversion["webhook"]["conversionReviewVersions"];
    let client = &conversion["webhook"]["clientConfig"];
    match text(&conversion["strategy"]) {
        "Webhook" => {
            check_client(client, &field("webhookClientConfig"), causes);
            check_reviews(versions, &field("conversionReviewVersions"), causes);
            return;
        }
        "None" => {}
        "" => causes.push(Cause::required(field("strategy"), "")),
        other => {
            let known = &["None", "Webhook"];
            causes.push(Cause::unsupported(field("strategy"), &json!(other), known));
        }
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if client.is_object() {
        causes.push(Cause::forbidden(field("webhookClientConfig"), detail));
    }
    if !list(versions).is_empty() {
        causes.push(Cause::forbidden(field("conversionReviewVersions"), detail));
    }
}

fn check_client(client: &Value, field: &str, causes: &mut Vec<Cause>) {
    let detail = match (
        client.is_object(),
        client["url"].is_string(),
        client["service"].is_object(),
    ) {
        (false, ..) => "required when strategy is set to Webhook",
        (_, url, service) if url == service => "exactly one of url or service is required",
        _ => return,
    };
    causes.push(Cause::required(field, detail));
}

fn check_reviews(versions: &Value, field: &str, causes: &mut Vec<Cause>) {
    if list(versions).is_empty() {
        causes.push(Cause::required(field, ""));
    } else if !list(versions)
        .iter()
        .any(|version| version == "v1" || version == "v1beta1")
    {
        let detail = "must include at least one of v1, v1beta1";
        causes.push(Cause::invalid(field, versions, detail));
    }
}
