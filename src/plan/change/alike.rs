//! Whether two values of a field mean the same.

use serde_json::Value as Json;

/// Compares them exactly.
pub(super) fn exact(one: &Json, other: &Json) -> bool {
    one == other
}

/// Compares them as Azure does, which ignores case. References by ARM ID and by name may mean the same, and
/// count as equal.
pub(super) fn loose(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::String(one), Json::String(other)) => one.eq_ignore_ascii_case(other),
        (Json::Object(_), Json::Object(_)) => reference(one, other),
        _ => one == other,
    }
}

fn reference(one: &Json, other: &Json) -> bool {
    let both = |key: &str| Some((text(one, key)?, text(other, key)?));
    match (both("armId"), both("name")) {
        (Some((one, other)), _) => one.eq_ignore_ascii_case(other),
        // Group and kind may be omitted if the name is unambiguous.
        (None, Some((one, other))) => one == other,
        (None, None) => true,
    }
}

/// The same owner. Azure Service Operator compares name with name and ARM ID with ARM ID, so that an owner named
/// in the other way is another one.
pub(super) fn owner(one: &Json, other: &Json) -> bool {
    let named = |owner: &Json| owner.get("armId").is_none();
    named(one) == named(other) && loose(one, other)
}

/// The same object by name.
pub(super) fn name(one: &Json, other: &Json) -> bool {
    let differ =
        |key: &str| matches!((text(one, key), text(other, key)), (Some(a), Some(b)) if a != b);
    !differ("name") && !differ("kind")
}

/// The same region: `West Europe` is `westeurope`.
pub(super) fn location(one: &Json, other: &Json) -> bool {
    let place = |json: &Json| {
        let place = json.as_str().unwrap_or_default();
        place.replace(' ', "").to_ascii_lowercase()
    };
    place(one) == place(other)
}

/// Both public, or neither.
pub(super) fn topology(one: &Json, other: &Json) -> bool {
    (one == "Public") == (other == "Public")
}

fn text<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_compared_as_azure_reads_them() {
        let cases = [
            (json!({"armId": "/Sub/A"}), json!({"armId": "/sub/a"}), true),
            (
                json!({"armId": "/sub/a"}),
                json!({"armId": "/sub/b"}),
                false,
            ),
            (json!({"name": "a"}), json!({"name": "b"}), false),
            (
                json!({"name": "a"}),
                json!({"kind": "K", "name": "a"}),
                true,
            ),
            (json!({"name": "a"}), json!({"armId": "/sub/a"}), true),
        ];
        for (one, other, same) in cases {
            assert_eq!(loose(&one, &other), same, "{one} {other}");
        }
    }

    #[test]
    fn an_owner_is_named_in_one_way() {
        let (name, id) = (json!({"name": "a"}), json!({"armId": "/sub/a"}));
        assert!(owner(&name, &json!({"name": "a", "kind": "K"})));
        assert!(owner(&id, &json!({"armId": "/SUB/a"})));
        assert!(!owner(&name, &id) && !owner(&name, &json!({"name": "b"})));
    }

    #[test]
    fn places_have_several_spellings() {
        assert!(location(&json!("West Europe"), &json!("westeurope")));
        assert!(!location(&json!("West Europe"), &json!("uksouth")));
    }

    #[test]
    fn a_cluster_may_change_how_private_it_is() {
        assert!(topology(&json!("Private"), &json!("PublicAndPrivate")));
        assert!(!topology(&json!("Public"), &json!("Private")));
    }
}
