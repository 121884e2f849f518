//! The labels of clusters that the provider made: those of the proposal, and the same with the prefix of DCM's own provider.

use serde_json::Value as Json;

use crate::api::labels::SERVICE_INSTANCE as INSTANCE;

/// The other labels, with their values.
const CONSTANT: [(&str, &str); 2] = [("managed-by", "dcm"), ("dcm-service-type", "cluster")];
/// The prefix of the second set.
const PREFIX: &str = "dcm.project/";

/// Both sets of labels of an instance.
#[must_use]
pub fn of(instance: &str) -> Vec<(String, String)> {
    let mut own = vec![(INSTANCE, instance)];
    own.extend(CONSTANT);
    let prefixes = ["", PREFIX].into_iter();
    let both = prefixes.flat_map(|prefix| {
        own.iter()
            .map(move |(key, value)| (format!("{prefix}{key}"), (*value).to_owned()))
    });
    both.collect()
}

/// The ID of the instance that an object or a definition belongs to, if it has a whole set of labels.
#[must_use]
pub fn instance(object: &Json) -> Option<&str> {
    let labels = &object["metadata"]["labels"];
    let of_set = |prefix: &str| {
        let text = |key: &str| labels[format!("{prefix}{key}")].as_str();
        let is_whole = CONSTANT.iter().all(|(key, value)| text(key) == Some(value));
        text(INSTANCE).filter(|id| is_whole && !id.is_empty())
    };
    of_set("").or_else(|| of_set(PREFIX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn either_set_names_the_instance_and_a_part_of_one_does_not() {
        let object = |labels: Json| json!({"metadata": {"labels": labels}});
        let both: serde_json::Map<String, Json> = of("a-1")
            .into_iter()
            .map(|(key, value)| (key, value.into()))
            .collect();
        assert_eq!(both.len(), 6);
        assert_eq!(instance(&object(both.into())), Some("a-1"));
        let own =
            json!({"managed-by": "dcm", "dcm-service-type": "cluster", "dcm-instance-id": "b"});
        assert_eq!(instance(&object(own)), Some("b"));
        let prefixed = json!({
            "dcm.project/managed-by": "dcm", "dcm.project/dcm-service-type": "cluster", "dcm.project/dcm-instance-id": "c",
        });
        assert_eq!(instance(&object(prefixed)), Some("c"));
        for part in [
            json!({"managed-by": "dcm", "dcm-instance-id": "d"}),
            json!({"managed-by": "dcm", "dcm.project/dcm-service-type": "cluster", "dcm-instance-id": "d"}),
            json!({"managed-by": "other", "dcm-service-type": "cluster", "dcm-instance-id": "d"}),
            json!({"managed-by": "dcm", "dcm-service-type": "cluster", "dcm-instance-id": ""}),
            json!({}),
        ] {
            assert_eq!(instance(&object(part)), None);
        }
        assert_eq!(instance(&json!(null)), None);
    }
}
