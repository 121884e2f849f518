//! Amounts of resources.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::schema::patterns::QUANTITY;

/// An amount of a resource as Kubernetes writes it, such as `4`, `500m` or `16Gi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity(String);

impl Quantity {
    /// The amount of this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Number(number) => Self(number.to_string()),
            Written::Text(text) => Self(text),
        })
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true, "minimum": 1, "pattern": QUANTITY})
    }
}
