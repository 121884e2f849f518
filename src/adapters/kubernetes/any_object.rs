//! Objects of any kind as JSON, which is what we read and keep.
//!
//! In: what an API server sends. Out: the object as it was sent. The client library has such a type too, which
//! takes the object apart into fields; that costs more than reading it. It does not know: what is in objects, beyond
//! what the client library asks of each.

use std::borrow::Cow;
use std::fmt;

use kube::Resource;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

/// An object of a kind that is known at run time, with its managed fields or without: they are often the larger part.
#[derive(Clone, Debug)]
pub(super) struct AnyObject<const MANAGED: bool = true> {
    pub(super) json: Json,
    /// Name, namespace, uid and resourceVersion, and no more.
    metadata: ObjectMeta,
}

/// An object without its managed fields.
pub(super) type LeanObject = AnyObject<false>;

impl<'de, const MANAGED: bool> Deserialize<'de> for AnyObject<MANAGED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields: Fields<MANAGED, true> = Fields::deserialize(deserializer)?;
        let json = Json::Object(fields.0);
        let text = |key: &str| json["metadata"][key].as_str().map(ToOwned::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { json, metadata })
    }
}

impl From<AnyObject> for LeanObject {
    fn from(mut object: AnyObject) -> Self {
        if let Some(metadata) = object.json["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let AnyObject { json, metadata } = object;
        Self { json, metadata }
    }
}

/// The fields of an object (`ROOT`), or of its metadata.
struct Fields<const MANAGED: bool, const ROOT: bool>(Map<String, Json>);

impl<'de, const MANAGED: bool, const ROOT: bool> Deserialize<'de> for Fields<MANAGED, ROOT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader<const MANAGED: bool, const ROOT: bool>;

impl<'de, const MANAGED: bool, const ROOT: bool> Visitor<'de> for Reader<MANAGED, ROOT> {
    type Value = Fields<MANAGED, ROOT>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if ROOT { "an object" } else { "metadata" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = match key.as_str() {
                "metadata" if ROOT => {
                    let below: Fields<MANAGED, false> = map.next_value()?;
                    Json::Object(below.0)
                }
                "managedFields" if !ROOT && !MANAGED => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => map.next_value()?,
            };
            fields.insert(key, value);
        }
        Ok(Fields(fields))
    }
}

impl<const MANAGED: bool> Resource for AnyObject<MANAGED> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn api_version(kind: &ApiResource) -> Cow<'_, str> {
        kind.api_version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
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
    use kube::ResourceExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_kept_as_it_was_sent_with_its_managed_fields_or_without() {
        let sent = json!({"kind": "Thing", "metadata": {"name": "a", "uid": "u", "resourceVersion": "7",
            "unknown": 1, "managedFields": [{"manager": "m"}]}, "spec": {"size": 1.5, "managedFields": []}});
        let object: AnyObject = serde_json::from_value(sent.clone()).expect("an object");
        assert_eq!(object.json, sent);
        let version = object.resource_version();
        assert_eq!(
            (object.name_any(), version.as_deref()),
            ("a".to_owned(), Some("7"))
        );
        assert_eq!(object.namespace(), None);
        let lean: LeanObject = serde_json::from_value(sent.clone()).expect("an object");
        let mut expected = sent;
        expected["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("managedFields");
        assert_eq!(lean.json, expected);
        assert!(serde_json::from_str::<LeanObject>("[]").is_err());
    }
}
