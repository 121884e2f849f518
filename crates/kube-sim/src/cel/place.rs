//! The part of a schema that rules can see.
//!
//! In: a schema and the name of a field. Out: the schema of the field as rules see it. At the root of a
//! resource, rules always see `apiVersion`, `kind`, `metadata.name` and `metadata.generateName`, and no
//! other metadata. Source: `WithTypeAndObjectMeta` and
//! `SchemaDeclType` of k8s.io/apiserver.

use std::sync::LazyLock;

use kube_schema::{Additional, Schema, Type};

/// A schema, and whether it is that of a whole resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) schema: &'a Schema,
    pub(super) root: bool,
}

/// The schema of `apiVersion`, `kind` and names.
static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema {
    types: vec![Type::String],
    ..Schema::default()
});

/// The schema of the metadata that rules see.
static METADATA: LazyLock<Schema> = LazyLock::new(|| Schema {
    types: vec![Type::Object],
    properties: ["generateName", "name"]
        .map(|name| (name.to_owned(), TEXT.clone()))
        .into(),
    ..Schema::default()
});

impl<'a> Place<'a> {
    /// The root of a custom resource.
    pub(super) const fn root(schema: &'a Schema) -> Self {
        Self { schema, root: true }
    }

    /// A place below the root.
    pub(super) const fn of(schema: &'a Schema) -> Self {
        Self {
            schema,
            root: schema.embedded_resource,
        }
    }

    /// The type of the values here; `None` when there is not exactly one.
    pub(super) fn kind(self) -> Option<Type> {
        match self.schema.types.as_slice() {
            _ if self.schema.int_or_string => None,
            [kind] => Some(*kind),
            _ => None,
        }
    }

    /// The format of a string.
    pub(super) fn format(self) -> Option<&'a str> {
        self.schema.checks.as_ref()?.format.as_deref()
    }

    /// Whether it has fields of its own, unlike a map with free keys.
    pub(super) fn has_fields(self) -> bool {
        self.root || !self.schema.properties.is_empty()
    }

    /// The field `name`, by its name in JSON.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        if self.root && !declares_metadata(self.schema) {
            match name {
                "apiVersion" | "kind" => return Some(Self::of(&TEXT)),
                "metadata" => return Some(Self::of(&METADATA)),
                _ => {}
            }
        }
        self.schema.properties.get(name).map(Self::of)
    }

    /// The values of a map with free keys.
    pub(super) fn values(self) -> Option<Self> {
        match &self.schema.additional {
            Additional::Schema(schema) if !self.has_fields() => Some(Self::of(schema)),
            _ => None,
        }
    }

    /// The items of a list.
    pub(super) fn items(self) -> Option<Self> {
        self.schema.items.as_deref().map(Self::of)
    }

    /// Whether rules can use the values here. They cannot use values without a known type.
    pub(super) fn is_exposed(self) -> bool {
        match self.kind() {
            None => self.schema.int_or_string,
            Some(Type::Array) => self.items().is_some_and(Self::is_exposed),
            Some(Type::Object) => self.values().is_none_or(Self::is_exposed),
            Some(_) => true,
        }
    }
}

/// Whether the schema of a resource already has all fields that the API server would add.
fn declares_metadata(schema: &Schema) -> bool {
    let is = |schema: &Schema, name: &str, kind: Type| {
        schema
            .properties
            .get(name)
            .is_some_and(|field| field.types == [kind])
    };
    let named =
        |meta: &Schema| is(meta, "name", Type::String) && is(meta, "generateName", Type::String);
    is(schema, "kind", Type::String)
        && is(schema, "apiVersion", Type::String)
        && is(schema, "metadata", Type::Object)
        && schema.properties.get("metadata").is_some_and(named)
}
