//! What an object loses when its fields are handed over to us.
//!
//! In: an object, and what a dry run of an apply made of it. Out: what it will be once other appliers have handed their fields
//! over, as they do before the real apply: what they set and the fleet does not is then removed. The API server cannot be asked
//! for both at once. It does not know who may be taken over.

use kube_schema::{Managed, Operation};
use serde_json::Value as Json;

use super::ownership::handover;
use crate::plan::MANAGER;

/// Removes from `after`, the answer of a dry run, what the apply removes of `live` after its fields were handed over. A field
/// that the server fills with a default is removed here, too.
pub(crate) fn hand_over(live: &Json, api_version: &str, after: &mut Json) {
    let Some(patch) = handover(live, api_version) else {
        return;
    };
    let handed = Managed::read(&patch).unwrap_or_default();
    let answered = Managed::read(after).unwrap_or_default();
    let stay = handed.iter().filter(|entry| !is_ours(entry));
    let stay: Vec<&Managed> = stay
        .chain(answered.iter().filter(|entry| is_ours(entry)))
        .collect();
    let given = handed.iter().filter(|entry| is_ours(entry));
    for path in given.flat_map(|entry| entry.fields.paths()) {
        if !stay.iter().any(|entry| entry.owns(&path.0)) {
            path.remove_from(after);
        }
    }
}

fn is_ours(entry: &Managed) -> bool {
    entry.manager == MANAGER && entry.operation == Operation::Apply && entry.subresource.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Json) -> Json {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-05-01T10:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    /// kubectl made it and set all but `node`, which a controller set. The fleet has the label and `a`.
    #[test]
    fn what_kubectl_set_and_the_fleet_lacks_will_be_gone() {
        let data = json!({"a": "1", "b": "2", "node": "n", "shared": "s"});
        let kubectl = json!({"f:data": {".": {}, "f:a": {}, "f:b": {}, "f:shared": {}}});
        let controller = entry(
            "controller",
            "Update",
            &json!({"f:data": {"f:node": {}, "f:shared": {}}}),
        );
        let by_kubectl = entry("kubectl-client-side-apply", "Update", &kubectl);
        let object = |data: &Json, managers: Json| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": {
                "name": "x", "creationTimestamp": "2026-05-01T10:00:00Z", "managedFields": managers}})
        };
        let live = object(&data, json!([by_kubectl, controller]));
        let ours = entry("capstan", "Apply", &json!({"f:data": {"f:a": {}}}));
        let mut after = object(&data, json!([by_kubectl, controller, ours]));
        hand_over(&live, "v1", &mut after);
        assert_eq!(after["data"], json!({"a": "1", "node": "n", "shared": "s"}));
    }
}
