//! A node of a workload cluster, as far as it is read.
//!
//! In: what an API server sends, who may be anybody. Out: the few values that count, each of bounded length. Nothing else of
//! the answer is kept, however much there is.

use std::borrow::Cow;
use std::fmt;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::ClusterResourceScope;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::model::{WorkloadNode, is_dns_subdomain};

/// The longest value of a label.
const LONGEST_LABEL: usize = 63;
/// The longest ID of a machine, in bytes. One of Azure has about 250.
const LONGEST_ID: usize = 1_024;

/// A node that was seen.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) node: WorkloadNode,
    /// Name and resourceVersion, and no more.
    metadata: ObjectMeta,
}

impl<'de> Deserialize<'de> for Seen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let Metadata {
            name,
            resource_version,
            labels,
        } = form.metadata;
        let node = WorkloadNode {
            name: name.clone(),
            pool: labels.and_then(|labels| labels.pool).unwrap_or_default(),
            provider_id: form.spec.and_then(|spec| spec.id).unwrap_or_default(),
            ready: form.status.is_some_and(|status| status.conditions.0),
        };
        if !is_dns_subdomain(&node.name) {
            return Err(D::Error::custom("the name of a node is not a DNS name"));
        }
        if node.pool.len() > LONGEST_LABEL || node.provider_id.len() > LONGEST_ID {
            let what = "a label or the providerID of a node is longer than it can be";
            return Err(D::Error::custom(what));
        }
        let metadata = ObjectMeta {
            name: Some(name),
            resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { node, metadata })
    }
}

#[derive(Deserialize)]
struct Form {
    metadata: Metadata,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    resource_version: Option<String>,
    labels: Option<Labels>,
}

#[derive(Deserialize)]
struct Labels {
    /// As [`crate::api::labels::NODE_POOL`] has it.
    #[serde(rename = "hypershift.openshift.io/nodePool")]
    pool: Option<String>,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(rename = "providerID")]
    id: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Readiness,
}

/// Whether one of the conditions says that the node is ready.
#[derive(Default)]
struct Readiness(bool);

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl<'de> Deserialize<'de> for Readiness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(false))
    }
}

impl<'de> Visitor<'de> for Readiness {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of conditions")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut conditions: A) -> Result<Self, A::Error> {
        while let Some(Condition { kind, status }) = conditions.next_element()? {
            self.0 |= kind == "Ready" && status == "True";
        }
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

impl Resource for Seen {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn kind((): &()) -> Cow<'_, str> {
        "Node".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "nodes".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;
    use crate::api::labels::NODE_POOL;

    fn read(node: &Value) -> Result<WorkloadNode, String> {
        let seen = serde_json::from_str::<Seen>(&node.to_string());
        let seen = seen.map(|seen| seen.node);
        seen.map_err(|error| error.to_string())
    }

    #[test]
    fn a_node_is_read_as_far_as_it_counts() {
        let node = json!({"apiVersion": "v1", "kind": "Node", "other": [{}, {}],
            "metadata": {"name": "a.b", "labels": {NODE_POOL: "p", "x": "y"}, "managedFields": [{}]},
            "spec": {"providerID": "azure:///a", "taints": [{}]},
            "status": {"images": [{}], "conditions": [{"type": "DiskPressure", "status": "False", "reason": "x"},
                {"type": "Ready", "status": "True"}, {"type": "Other", "status": "Unknown"}]}});
        let expected = WorkloadNode {
            name: "a.b".to_owned(),
            pool: "p".to_owned(),
            provider_id: "azure:///a".to_owned(),
            ready: true,
        };
        assert_eq!(read(&node), Ok(expected));
        let new = json!({"metadata": {"name": "a", "labels": null}, "spec": {}, "status": {"conditions": null}});
        assert!(!read(&new).unwrap().ready);
        assert!(read(&json!({"metadata": {"name": "a"}})).is_ok());
    }

    #[test]
    fn a_node_that_no_server_can_have_is_refused() {
        for (metadata, id) in [
            (json!({}), "i".to_owned()),
            (json!({"name": "a/b"}), "i".to_owned()),
            (json!({"name": "a\u{1b}"}), "i".to_owned()),
            (json!({"name": "a".repeat(254)}), "i".to_owned()),
            (
                json!({"name": "a", "labels": {NODE_POOL: "p".repeat(64)}}),
                "i".to_owned(),
            ),
            (json!({"name": "a"}), "i".repeat(1_025)),
        ] {
            let node = json!({"metadata": metadata, "spec": {"providerID": id}});
            assert!(read(&node).is_err(), "{metadata}");
        }
    }
}
