//! Which live objects are members of a set: those that Capstan applied as part of it.
//!
//! In: a live object with its managed fields. Out: whether it is a member. The label alone proves nothing, and no
//! annotation does: operators copy labels, `kubectl get -o yaml | kubectl create` and backups copy both. Only the
//! entry of a manager in the managed fields is the API server's own word. Some backups copy that, too, but an entry
//! cannot be older than its object. It does not know: what is done with members and others.

use serde_json::{Value as Json, json};

use crate::api::labels::PART_OF;
use crate::health::Live;
use crate::plan::MANAGER;

/// The label of the set, as managed fields name it.
const LABEL: [&str; 3] = ["f:metadata", "f:labels", "f:applyset.kubernetes.io/part-of"];

/// Returns true if `live` is a member of `set`: it carries the label of the set, and Capstan applied that.
#[must_use]
pub fn is_member(live: &Json, set: &str) -> bool {
    Live(live).label(PART_OF) == set && is_applied(live)
}

/// Returns true if Capstan applied the label of its set to this very object, and nobody has changed that since.
#[must_use]
pub fn is_applied(live: &Json) -> bool {
    Live(live).applied_by(MANAGER).any(owns_label)
}

/// Reduces the managed fields of `live`, which are half of it, to what [`is_member`] reads.
pub fn trim(live: &mut Json) {
    let entry = json!({
        "manager": MANAGER,
        "operation": "Apply",
        "fieldsV1": {LABEL[0]: {LABEL[1]: {LABEL[2]: {}}}},
    });
    let proof = is_applied(live).then(|| json!([entry]));
    if let Some(metadata) = live["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.extend(proof.map(|proof| ("managedFields".to_owned(), proof)));
    }
}

/// Returns true if this entry of the managed fields has the label of the set.
fn owns_label(entry: Live<'_>) -> bool {
    let [metadata, labels, label] = LABEL;
    entry.at(&["fieldsV1", metadata, labels, label]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = "applyset-ours-v1";

    fn live(label: &str, entries: &[Json]) -> Json {
        json!({"metadata": {
            "name": "a", "creationTimestamp": "2026-05-01T10:00:00Z",
            "labels": {PART_OF: label},
            "annotations": {"capstan.dev/applied": "h"},
            "managedFields": entries,
        }})
    }

    fn entry(manager: &str, operation: &str, time: &str) -> Json {
        json!({"manager": manager, "operation": operation, "time": time, "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {LABEL[0]: {LABEL[1]: {LABEL[2]: {}}}, "f:data": {"f:k": {}}}})
    }

    #[test]
    fn only_what_we_applied_is_a_member() {
        let ours = entry(MANAGER, "Apply", "2026-05-01T10:00:00Z");
        assert!(is_member(&live(SET, std::slice::from_ref(&ours)), SET));
        assert!(!is_member(
            &live("applyset-theirs-v1", std::slice::from_ref(&ours)),
            SET
        ));
        let mut of_status = ours.clone();
        of_status["subresource"] = json!("status");
        let mut without_label = ours.clone();
        without_label["fieldsV1"][LABEL[0]] = json!({"f:annotations": {}});
        for (who, entries) in [
            ("the managed fields were cleared", vec![]),
            (
                "`kubectl create`",
                vec![entry("kubectl-create", "Update", "")],
            ),
            ("another tool applied it", vec![entry("helm", "Apply", "")]),
            ("a patch of ours", vec![entry(MANAGER, "Update", "")]),
            (
                "a controller of ours",
                vec![entry("capstan-arocluster", "Apply", "")],
            ),
            ("the status", vec![of_status]),
            ("somebody else set the label", vec![without_label]),
        ] {
            assert!(!is_member(&live(SET, &entries), SET), "{who}");
        }
    }

    #[test]
    fn an_entry_that_is_older_than_its_object_was_restored_with_it() {
        for (written, expected) in [
            ("2026-05-01T10:00:00Z", true),
            ("2026-06-01T10:00:00Z", true),
            ("2026-05-01T09:59:30Z", true),
            ("2026-05-01T09:58:59Z", false),
            ("2026-04-01T10:00:00Z", false),
            ("", true),
        ] {
            let live = live(SET, &[entry(MANAGER, "Apply", written)]);
            assert_eq!(is_applied(&live), expected, "{written}");
        }
    }

    #[test]
    fn what_shows_a_member_is_kept_of_its_managed_fields() {
        for (time, expected) in [("2026-05-01T10:00:00Z", 1), ("2026-04-01T10:00:00Z", 0)] {
            let kubectl = entry("kubectl", "Update", "");
            let mut live = live(SET, &[kubectl, entry(MANAGER, "Apply", time)]);
            let before = is_member(&live, SET);
            trim(&mut live);
            assert_eq!(is_member(&live, SET), before);
            let kept = Live(&live).list(&["metadata", "managedFields"]);
            assert_eq!(kept.len(), expected);
            assert!(
                kept.iter()
                    .all(|entry| entry["fieldsV1"].get("f:data").is_none())
            );
        }
    }
}
