//! Objects of any kind as JSON, which is what we read and keep.
//!
//! In: what an API server sends. Out: the object as it was sent, or a part of it. The client library has such a type too,
//! which takes the object apart into fields; that costs more than reading it. It does not know: what is in objects, beyond
//! what the client library asks of each.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use kube::Resource;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

/// How much of an object is read.
pub(super) trait Extent: Copy + fmt::Debug + Send + 'static {
    /// Whether the value of `key` in a map is left out, which is at these keys of the object.
    fn leaves_out(at: &[&str], key: &str) -> bool;
}

/// All of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole;

/// Without its managed fields, which are often the larger part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lean;

/// With its managers, but not the fields of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Managed;

/// Without its managed fields and its spec.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

impl Extent for Whole {
    fn leaves_out(_: &[&str], _: &str) -> bool {
        false
    }
}

impl Extent for Lean {
    fn leaves_out(at: &[&str], key: &str) -> bool {
        at == ["metadata"] && key == "managedFields"
    }
}

impl Extent for Managed {
    fn leaves_out(at: &[&str], key: &str) -> bool {
        at == ["metadata", "managedFields"] && key == "fieldsV1"
    }
}

impl Extent for Reported {
    fn leaves_out(at: &[&str], key: &str) -> bool {
        at.is_empty() && key == "spec" || Lean::leaves_out(at, key)
    }
}

/// An object of a kind that is known at run time, as far as `E` says.
#[derive(Clone, Debug)]
pub(super) struct AnyObject<E = Whole> {
    pub(super) json: Json,
    /// Name, namespace, uid and resourceVersion, and no more.
    metadata: ObjectMeta,
    extent: PhantomData<E>,
}

/// An object with its managers, but not the fields of each.
pub(super) type ManagedObject = AnyObject<Managed>;

impl<'de, E: Extent> Deserialize<'de> for AnyObject<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = deserializer.deserialize_map(Fields::<E>::at(&[]))?;
        let text = |key: &str| json["metadata"][key].as_str().map(ToOwned::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self {
            json,
            metadata,
            extent: PhantomData,
        })
    }
}

/// Reads the value at these keys of an object: a map, or a list of maps.
struct Fields<'a, E> {
    at: &'a [&'a str],
    extent: PhantomData<E>,
}

impl<'a, E> Fields<'a, E> {
    const fn at(at: &'a [&'a str]) -> Self {
        Self {
            at,
            extent: PhantomData,
        }
    }
}

/// Where something may be left out.
const LOOKED_INTO: [&[&str]; 2] = [&["metadata"], &["metadata", "managedFields"]];

impl<'de, E: Extent> DeserializeSeed<'de> for Fields<'_, E> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, E: Extent> Visitor<'de> for Fields<'_, E> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.at.is_empty() {
            "an object"
        } else {
            "metadata"
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if E::leaves_out(self.at, &key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let below = LOOKED_INTO.iter().find(|into| {
                let above = into.split_last();
                above.is_some_and(|(last, above)| above == self.at && *last == key)
            });
            let value = match below {
                Some(below) => map.next_value_seed(Fields::<E>::at(below))?,
                None => map.next_value()?,
            };
            fields.insert(key, value);
        }
        Ok(Json::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Fields::<E>::at(self.at))? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_unit<R>(self) -> Result<Json, R> {
        Ok(Json::Null)
    }
}

/// An object that was not read yet, but for its name, namespace, uid and version: whoever has that version already need
/// not read it. In an event of a watch its type must come first, as API servers have it.
#[derive(Clone)]
pub(super) struct UnreadObject {
    text: Box<RawValue>,
    metadata: ObjectMeta,
}

impl UnreadObject {
    /// Reads the object, with its managers, but not the fields of each.
    ///
    /// # Errors
    /// When it is nested too deeply, or has a number out of range.
    pub(super) fn read(&self) -> serde_json::Result<Json> {
        serde_json::from_str(self.text.get()).map(|object: ManagedObject| object.json)
    }
}

/// Without the text, which may be that of a Secret.
impl fmt::Debug for UnreadObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnreadObject").field(&self.metadata).finish()
    }
}

impl<'de> Deserialize<'de> for UnreadObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let metadata = metadata(text.get()).map_err(serde::de::Error::custom)?;
        let Named {
            name,
            namespace,
            uid,
            resource_version,
        } = metadata;
        let metadata = ObjectMeta {
            name,
            namespace,
            uid,
            resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { text, metadata })
    }
}

/// Reads the metadata of an object and nothing after it: API servers write it before the spec.
fn metadata(object: &str) -> serde_json::Result<Named> {
    let mut found = None;
    let mut reader = serde_json::Deserializer::from_str(object);
    let read = reader.deserialize_map(Head(&mut found));
    match found {
        Some(found) => Ok(found),
        None => read.and_then(|()| Err(serde::de::Error::missing_field("metadata"))),
    }
}

/// Takes the metadata out of an object, whose rest may be left unread.
struct Head<'a>(&'a mut Option<Named>);

impl<'de> Visitor<'de> for Head<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "metadata" {
                *self.0 = Some(map.next_value()?);
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

/// What the client library asks of an object whose kind is known at run time.
macro_rules! resource {
    ($object:ty $(, $extent:ident)?) => {
        impl$(<$extent: Extent>)? Resource for $object {
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
    };
}

resource!(AnyObject<E>, E);
resource!(UnreadObject);

#[cfg(test)]
mod tests {
    use kube::ResourceExt as _;
    use serde_json::json;

    use super::*;

    fn sent() -> Json {
        json!({"kind": "Thing", "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "unknown": 1,
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"size": 1.5, "managedFields": []}, "status": {"ready": true}})
    }

    fn read<E: Extent>() -> Json {
        let object: AnyObject<E> = serde_json::from_str(&sent().to_string()).expect("an object");
        let version = object.resource_version();
        assert_eq!(
            (object.name_any(), version.as_deref()),
            ("a".to_owned(), Some("7"))
        );
        assert_eq!(object.namespace(), None);
        object.json
    }

    #[test]
    fn an_object_is_read_as_it_was_sent_or_in_part() {
        assert_eq!(read::<Whole>(), sent());
        let mut expected = sent();
        expected["metadata"]["managedFields"] = json!([{"manager": "m"}]);
        assert_eq!(read::<Managed>(), expected);
        expected["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("managedFields");
        assert_eq!(read::<Lean>(), expected);
        expected.as_object_mut().expect("an object").remove("spec");
        assert_eq!(read::<Reported>(), expected);
        assert!(serde_json::from_str::<ManagedObject>("[]").is_err());
        assert!(serde_json::from_str::<ManagedObject>("{\"metadata\":null}").is_ok());
    }

    #[test]
    fn an_object_can_be_read_later() {
        let object: UnreadObject = serde_json::from_str(&sent().to_string()).expect("an object");
        assert_eq!(
            (object.name_any(), object.uid()),
            ("a".to_owned(), Some("u".to_owned()))
        );
        assert_eq!(object.read().expect("it is whole"), read::<Managed>());
        assert!(!format!("{object:?}").contains("size"));
        for text in ["[]", "7", "{}", "{\"metadata\":{\"name\":7}}"] {
            assert!(
                serde_json::from_str::<UnreadObject>(text).is_err(),
                "{text}"
            );
        }
    }
}
