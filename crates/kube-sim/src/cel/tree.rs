//! The rules of a schema.
//!
//! In: a schema, which carries its rules as JSON. Out: [`RuleTree`], the compiled rules in the shape of
//! the schema. It knows neither objects nor what makes a rule invalid beyond its form.

use std::collections::BTreeMap;

use super::rule::CompiledRule;
use kube_schema::{Additional, Schema};

/// The rules of a schema and of all schemas below it. Schemas without rules are left out.
#[derive(Debug, Default)]
pub(crate) struct RuleTree {
    /// The rules of the schema itself.
    pub(super) rules: Vec<CompiledRule>,
    pub(super) properties: BTreeMap<String, Self>,
    pub(super) items: Option<Box<Self>>,
    pub(super) additional: Option<Box<Self>>,
}

impl RuleTree {
    /// Compiles the rules of `schema`.
    ///
    /// # Errors
    /// When an entry of `x-kubernetes-validations` does not have the form of a rule. An expression that
    /// does not parse is not an error here.
    pub(crate) fn compile(schema: &Schema) -> Result<Self, String> {
        let rules = schema.validations.iter().map(CompiledRule::from_json);
        let rules = rules.collect::<Result<_, _>>()?;
        let mut properties = BTreeMap::new();
        for (name, property) in &schema.properties {
            let tree = Self::compile(property)?;
            if !tree.is_empty() {
                properties.insert(name.clone(), tree);
            }
        }
        let additional = match &schema.additional {
            Additional::Schema(values) => Some(&**values),
            _ => None,
        };
        Ok(Self {
            rules,
            properties,
            items: Self::compile_some(schema.items.as_deref())?,
            additional: Self::compile_some(additional)?,
        })
    }

    fn compile_some(schema: Option<&Schema>) -> Result<Option<Box<Self>>, String> {
        let tree = schema.map(Self::compile).transpose()?;
        Ok(tree.filter(|tree| !tree.is_empty()).map(Box::new))
    }

    /// Whether the schema has no rules, neither itself nor below.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
            && self.properties.is_empty()
            && self.items.is_none()
            && self.additional.is_none()
    }
}
