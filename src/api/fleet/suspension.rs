//! The suspension of a Fleet by the object itself.

use serde_json::Value as Json;

use crate::api::labels::SUSPENDED;

/// The text of the annotation that suspends a Fleet object, in which people write their name and the reason. It may be empty; `None` without
/// the annotation.
#[must_use]
pub fn suspending(object: &Json) -> Option<&str> {
    object["metadata"]["annotations"][SUSPENDED].as_str()
}

/// The way in which a Fleet object suspends its fleet: the text of the annotation, or the field; `None` if it does not.
#[must_use]
pub fn suspended_by(object: &Json) -> Option<String> {
    match suspending(object) {
        Some("") => Some(format!("the annotation {SUSPENDED}")),
        Some(text) => Some(text.to_owned()),
        None if object["spec"]["apply"]["suspend"] == true => Some("spec.apply.suspend".to_owned()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_annotation_suspends_also_if_it_is_empty() {
        let by = |annotations: Json, suspend: bool| {
            let object = json!({"metadata": {"annotations": annotations}, "spec": {"apply": {"suspend": suspend}}});
            suspended_by(&object)
        };
        let empty = by(json!({SUSPENDED: ""}), false);
        assert_eq!(
            empty.as_deref(),
            Some("the annotation capstan.dev/suspended")
        );
        let text = by(json!({SUSPENDED: "ada: maintenance"}), true);
        assert_eq!(text.as_deref(), Some("ada: maintenance"));
        assert_eq!(by(Json::Null, true).as_deref(), Some("spec.apply.suspend"));
        assert_eq!(by(json!({"other": ""}), false), None);
    }
}
