//! An `AdmissionReview` v1 as the API server sends it.
//!
//! In: JSON. Out: the change that somebody asks for. It does not know: what the change means.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::model::{Node, Object, ObjectId, Origin, Span};

/// The only version that the webhook speaks.
pub(super) const REVIEW: (&str, &str) = ("admission.k8s.io/v1", "AdmissionReview");

/// A body that is not an `AdmissionReview` v1 with a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not an AdmissionReview of admission.k8s.io/v1 with a request: {0}")]
pub struct Malformed(pub(super) String);

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// A new object.
    Create,
    /// A change of an object.
    Update,
    /// The removal of an object.
    Delete,
    /// A connection to a subresource.
    Connect,
}

/// A change of one object that the API server asks about.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Names the request; the answer repeats it.
    pub uid: String,
    /// What is asked for.
    pub operation: Operation,
    /// The object.
    pub id: ObjectId,
    /// The version that the object is sent in, without the group.
    pub version: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// The object after the change; absent if it is deleted.
    pub object: Option<Json>,
    /// The object before the change; absent if it is created.
    pub old: Option<Json>,
}

impl Request {
    /// Whether the request cannot make an object worse: of a subresource, of an object that is being deleted, or one
    /// that leaves the spec alone.
    #[must_use]
    pub fn is_exempt(&self) -> bool {
        if !self.subresource.is_empty() {
            return true;
        }
        match self.operation {
            Operation::Create => false,
            Operation::Delete => is_ending(self.old.as_ref()),
            Operation::Update => {
                let spec = |object: &Option<Json>| object.as_ref().map(|json| json["spec"].clone());
                is_ending(self.object.as_ref()) || spec(&self.object) == spec(&self.old)
            }
            Operation::Connect => true,
        }
    }
}

/// The name that an object has, or that its own begins with.
pub(super) fn generated(object: Option<&Json>) -> String {
    let metadata = object.map(|object| &object["metadata"]);
    let text = |field: &str| metadata.and_then(|metadata| metadata[field].as_str());
    let name = text("name").or_else(|| text("generateName"));
    name.unwrap_or_default().to_owned()
}

/// Whether an object is being deleted.
pub(super) fn is_ending(object: Option<&Json>) -> bool {
    object.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string())
}

/// An object of the cluster as rules read it. Its spans have a path of their own, so that findings about it can be
/// told from those about others.
pub(super) fn as_object(json: &Json, id: Option<&ObjectId>, version: &str) -> Option<Object> {
    let mut named = json.clone();
    if let Some(id) = id {
        let metadata = named.as_object_mut()?.entry("metadata");
        let metadata = metadata.or_insert_with(|| Json::Object(serde_json::Map::new()));
        metadata
            .as_object_mut()?
            .insert("name".to_owned(), Json::from(&*id.name));
        named["kind"] = Json::from(&*id.kind);
        named["apiVersion"] = Json::from(match id.group.as_str() {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        });
    }
    let text = |path: [&str; 2]| json[path[0]][path[1]].as_str().unwrap_or_default();
    let (namespace, name) = match id {
        Some(id) => (&*id.namespace, &*id.name),
        None => (text(["metadata", "namespace"]), text(["metadata", "name"])),
    };
    let kind = named["kind"].as_str().unwrap_or_default();
    let path = Arc::from(format!("{kind}/{namespace}/{name}"));
    let origin = Origin::new(Span::whole(&path));
    Object::from_node(Node::from_json(&named, &origin), namespace)
}

#[cfg(test)]
pub(in crate::admission) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::admission) fn review(operation: &str, old: &Json, new: &Json) -> Json {
        let object = if new.is_null() { old } else { new };
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u1",
            "kind": {"group": group, "version": version, "kind": object["kind"]},
            "resource": {"group": group, "version": version, "resource": "r"},
            "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
            "operation": operation, "userInfo": {"username": "me"},
            "object": new, "oldObject": old, "dryRun": false, "options": null,
        }})
    }

    #[test]
    fn what_is_no_review_is_malformed() {
        for body in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#,
            r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": null}"#,
            r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": 7}}"#,
        ] {
            assert!(Request::read(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_name_may_still_have_to_be_generated() {
        let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"generateName": "a-", "namespace": "n"}});
        let mut body = review("CREATE", &Json::Null, &object);
        body["request"]["name"] = Json::from("");
        let read = Request::read(body.to_string().as_bytes());
        let read = read.map(|request| request.id.to_string());
        assert_eq!(read, Ok("K/n/a-".to_owned()));
    }

    #[test]
    fn what_leaves_the_spec_alone_is_exempt() {
        let object = |finalizer: &str, spec: &str, ending: Json| {
            json!({"apiVersion": "g/v1", "kind": "K", "spec": {"a": spec},
                "metadata": {"name": "a", "namespace": "n", "finalizers": [finalizer], "deletionTimestamp": ending}})
        };
        let exempt = |operation: &str, old: &Json, new: &Json| {
            let request = Request::read(review(operation, old, new).to_string().as_bytes());
            request.map(|request| request.is_exempt())
        };
        let (one, two) = (object("f", "1", Json::Null), object("f", "2", Json::Null));
        let ending = Json::from("2026-01-01T00:00:00Z");
        assert_eq!(exempt("CREATE", &Json::Null, &one), Ok(false));
        assert_eq!(exempt("UPDATE", &one, &two), Ok(false));
        assert_eq!(
            exempt("UPDATE", &one, &object("g", "1", Json::Null)),
            Ok(true)
        );
        assert_eq!(
            exempt("UPDATE", &one, &object("f", "2", ending.clone())),
            Ok(true)
        );
        assert_eq!(exempt("DELETE", &one, &Json::Null), Ok(false));
        assert_eq!(
            exempt("DELETE", &object("f", "1", ending), &Json::Null),
            Ok(true)
        );
        let mut status = review("UPDATE", &one, &two);
        status["request"]["subResource"] = Json::from("status");
        let status = Request::read(status.to_string().as_bytes());
        assert_eq!(status.map(|request| request.is_exempt()), Ok(true));
    }
}
