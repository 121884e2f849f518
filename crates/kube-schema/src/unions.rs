//! Unions of whole schemas, written as a CRD can write them.
//!
//! schemars writes `Option<T>` as `anyOf: [T, null]` and enums as `oneOf` arms, one per variant, each
//! a schema of its own. A CRD has one schema per place, whose arms only check. In: a schema as
//! written. Out: the same schema with null arms as `nullable`, arms of constants as an enum, and the
//! properties of the arms known at the place itself.

use std::collections::BTreeMap;

use serde_json::Value;

use super::structural::{Additional, Checks, Schema, Type};

/// Rewrites `schema` when it is a union of whole schemas; leaves CRD schemas as they are.
pub(crate) fn unfold(schema: &mut Schema) {
    if !schema.types.is_empty() || schema.int_or_string || schema.preserve_unknown {
        return;
    }
    let Some(mut checks) = schema.checks.take() else {
        return;
    };
    let mut whole = Vec::new();
    let mut null = false;
    for arms in [&mut checks.any_of, &mut checks.one_of, &mut checks.all_of] {
        if describes(arms) {
            null |= drop_null_arms(arms);
            match arms.as_slice() {
                [_] => whole.append(arms),
                _ if arms.iter().all(only_constants) => gather(schema, &mut checks.allowed, arms),
                _ => hoist(schema, arms),
            }
        }
    }
    schema.checks = (*checks != Checks::default()).then_some(checks);
    for arm in whole {
        schema.merge_under(arm);
    }
    if null {
        allow_null(schema);
    }
}

/// An enum also lists null where null is allowed.
fn allow_null(schema: &mut Schema) {
    schema.nullable = true;
    if let Some(checks) = schema.checks.as_mut().filter(|c| !c.allowed.is_empty()) {
        checks.allowed.push(Value::Null);
    }
}

/// Makes one enum of arms that are constants.
fn gather(schema: &mut Schema, allowed: &mut Vec<Value>, arms: &mut Vec<Schema>) {
    hoist(schema, arms);
    *allowed = arms.drain(..).fold(std::mem::take(allowed), |all, arm| {
        union(&all, arm.allowed())
    });
}

/// Whether the arms say of what type values are, as only whole schemas do.
fn describes(arms: &[Schema]) -> bool {
    let whole = |arm: &Schema| {
        !arm.types.is_empty() || arm.int_or_string || arm.nullable || !arm.allowed().is_empty()
    };
    !arms.is_empty() && arms.iter().all(whole)
}

/// Removes the arms that only null fits; returns whether there was one.
fn drop_null_arms(arms: &mut Vec<Schema>) -> bool {
    let before = arms.len();
    arms.retain(|arm| !(arm.types.is_empty() && is_null(arm)));
    arms.len() < before
}

fn is_null(arm: &Schema) -> bool {
    match arm.allowed() {
        [] => arm.nullable && arm.properties.is_empty(),
        allowed => allowed.iter().all(Value::is_null),
    }
}

/// Makes known at the place what the arms know.
fn hoist(schema: &mut Schema, arms: &[Schema]) {
    for arm in arms {
        for found in &arm.types {
            if !schema.types.contains(found) {
                schema.types.push(*found);
            }
        }
        schema.int_or_string |= arm.int_or_string;
        schema.preserve_unknown |= arm.preserve_unknown;
        schema.embedded_resource |= arm.embedded_resource;
        schema.nullable |= arm.nullable;
        hoist_properties(&mut schema.properties, &arm.properties);
        if let (None, Some(items)) = (&schema.items, &arm.items) {
            schema.items = Some(items.clone());
        }
        if let (Additional::Unsaid, Additional::Schema(_) | Additional::Any(true)) =
            (&schema.additional, &arm.additional)
        {
            schema.additional = arm.additional.clone();
        }
    }
    if schema.types.is_empty() && !arms.is_empty() {
        let strings = arms.iter().flat_map(Schema::allowed).all(Value::is_string);
        if strings {
            schema.types = vec![Type::String];
        }
    }
}

/// Two arms that know the same property differently leave it to the arms to check.
fn hoist_properties(known: &mut BTreeMap<String, Schema>, more: &BTreeMap<String, Schema>) {
    for (name, theirs) in more {
        match known.get_mut(name) {
            None => {
                known.insert(name.clone(), theirs.clone());
            }
            Some(mine) if mine == theirs => {}
            Some(mine) => *mine = either(mine, theirs),
        }
    }
}

fn either(a: &Schema, b: &Schema) -> Schema {
    let types = if a.types == b.types {
        a.types.clone()
    } else {
        Vec::new()
    };
    let mut schema = Schema {
        types,
        nullable: a.nullable || b.nullable,
        preserve_unknown: true,
        ..Schema::default()
    };
    if !a.allowed().is_empty() && !b.allowed().is_empty() {
        schema.preserve_unknown = false;
        let checks = schema.checks.get_or_insert_default();
        checks.allowed = union(a.allowed(), b.allowed());
    }
    schema
}

fn union(a: &[Value], b: &[Value]) -> Vec<Value> {
    let new = b.iter().filter(|value| !a.contains(value));
    a.iter().chain(new).cloned().collect()
}

/// Whether an arm has nothing but constants.
fn only_constants(arm: &Schema) -> bool {
    let Some(checks) = &arm.checks else {
        return false;
    };
    let bare = Checks {
        allowed: checks.allowed.clone(),
        ..Checks::default()
    };
    !checks.allowed.is_empty()
        && **checks == bare
        && arm.properties.is_empty()
        && arm.items.is_none()
}

impl Schema {
    /// The only values allowed; any when empty.
    pub fn allowed(&self) -> &[Value] {
        self.checks
            .as_ref()
            .map_or(&[], |checks| checks.allowed.as_slice())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::{Unknown, validate};

    fn read(json: Value) -> Schema {
        Schema::from_json(&json).unwrap()
    }

    fn errors(schema: &Schema, value: Value) -> Vec<String> {
        let found = validate(schema, &value, Unknown::Reject);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_optional_type_of_schemars_is_nullable() {
        for json in [
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "string", "nullable": true}),
        ] {
            let schema = read(json);
            assert_eq!(schema.types, [Type::String]);
            assert!(schema.nullable);
        }
    }

    #[test]
    fn an_optional_struct_keeps_its_fields_and_checks() {
        let schema = read(json!({"default": {}, "anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"type": "null"}]}));
        assert_eq!(schema.default, Some(json!({})));
        assert_eq!(errors(&schema, json!(null)), Vec::<String>::new());
        assert_eq!(errors(&schema, json!({})), ["a: Required value"]);
        let found = errors(&schema, json!({"a": 1, "b": 2}));
        assert_eq!(found, ["unknown field \"b\""]);
    }

    #[test]
    fn an_enum_with_a_word_for_each_variant_is_an_enum() {
        let schema = read(json!({"oneOf": [
            {"const": "Public", "type": "string", "description": "seen by all"},
            {"type": "string", "enum": ["Private", "Hidden"]}]}));
        assert_eq!(schema.types, [Type::String]);
        assert_eq!(errors(&schema, json!("Hidden")), Vec::<String>::new());
        assert_eq!(
            errors(&schema, json!("Publik")),
            [
                r#"<nil>: Unsupported value: "Publik": supported values: "Public", "Private", "Hidden""#
            ]
        );
    }

    #[test]
    fn an_optional_enum_takes_null() {
        let schema = read(json!({"type": ["string", "null"], "enum": ["A", null]}));
        assert_eq!(errors(&schema, json!(null)), Vec::<String>::new());
        let schema = read(json!({"anyOf": [
            {"oneOf": [{"const": "A", "type": "string"}]}, {"type": "null"}]}));
        assert_eq!(errors(&schema, json!(null)), Vec::<String>::new());
        assert_eq!(errors(&schema, json!("B")).len(), 1);
    }

    #[test]
    fn a_union_of_structs_knows_the_fields_of_all() {
        let schema = read(json!({"oneOf": [
            {"type": "object", "properties": {"git": {"type": "object",
                "properties": {"url": {"type": "string"}}}}, "required": ["git"]},
            {"type": "object", "properties": {"directory": {"type": "string"}},
                "required": ["directory"]}]}));
        assert_eq!(
            errors(&schema, json!({"git": {"url": "x"}})),
            Vec::<String>::new()
        );
        assert_eq!(
            errors(&schema, json!({"directory": "x"})),
            Vec::<String>::new()
        );
        let found = errors(&schema, json!({"directory": "x", "git": {"ulr": "x"}}));
        assert_eq!(found[0], "unknown field \"git.ulr\"");
        assert!(
            found[1].ends_with("(oneOf). Found 2 valid alternatives"),
            "{found:?}"
        );
    }

    /// Seen by whom.
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    enum Visibility {
        /// By all.
        Public,
        /// By few.
        Private,
    }

    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code)]
    enum Source {
        Git { url: String },
        Directory { path: String },
    }

    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code)]
    struct Spec {
        /// Its name.
        name: String,
        visibility: Option<Visibility>,
        #[serde(default)]
        pools: Vec<Pool>,
        tags: Option<BTreeMap<String, String>>,
        source: Option<Source>,
        properties: Option<Value>,
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Pool {
        name: String,
        replicas: Option<u8>,
    }

    #[test]
    fn what_schemars_makes_of_types_is_understood() {
        let mut settings = schemars::generate::SchemaSettings::openapi3();
        settings.inline_subschemas = true;
        let inlined = settings.into_generator().into_root_schema_for::<Spec>();
        for json in [inlined, schemars::schema_for!(Spec)] {
            let schema = read(json.to_value());
            let fine = json!({"name": "a", "visibility": "Private", "pools": [{"name": "p"}],
                "tags": {"a": "b"}, "source": {"git": {"url": "x"}}, "properties": {"any": [1]}});
            assert_eq!(errors(&schema, fine), [""; 0]);
            let null = json!({"name": "a", "visibility": null, "tags": null, "source": null});
            assert_eq!(errors(&schema, null), [""; 0]);
            let wrong = json!({"name": 1, "pools": [{"replicas": -1, "size": 2}],
                "source": {"git": {"ulr": "x"}}});
            let found = errors(&schema, wrong);
            for expected in [
                "unknown field \"pools[0].size\"",
                "unknown field \"source.git.ulr\"",
                "name: Invalid value: \"integer\": name in body must be of type string: \"integer\"",
                "pools[0].name: Required value",
            ] {
                assert!(found.contains(&expected.into()), "{expected}: {found:#?}");
            }
            let replicas = found
                .iter()
                .filter(|e| e.starts_with("pools[0].replicas: "));
            assert_eq!(replicas.count(), 1, "{found:#?}");
        }
    }
}
