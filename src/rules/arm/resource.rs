//! A resource as it is written, and its fields.

use crate::model::{Finding, Node, Object, ObjectId, Path};
use crate::rules::book;

/// A resource of Azure: embedded in another object, or an object itself.
pub(in crate::rules) struct Resource<'a> {
    /// What it is called in the cluster.
    pub(in crate::rules) id: ObjectId,
    /// The version of its kind, without the group.
    pub(in crate::rules) version: String,
    /// What it says.
    pub(in crate::rules) node: &'a Node,
    /// The object it is part of, or is.
    pub(in crate::rules) carrier: &'a Object,
    /// Where it stands in that.
    pub(in crate::rules) path: Path,
}

impl Resource<'_> {
    /// The field at dotted names, whether it is there or not.
    pub(in crate::rules) fn field(&self, dotted: &str) -> Field<'_> {
        let path = Path::dotted(dotted);
        Field {
            resource: self,
            node: self.node.lookup(&path),
            path,
        }
    }

    /// Where it says what it is called in Azure: `azureName`, else its own name.
    pub(in crate::rules) fn azure_name(&self) -> Field<'_> {
        let said = self.field("spec.azureName");
        match said.is_given() {
            true => said,
            false => self.field("metadata.name"),
        }
    }

    /// Whether a definition's expansion made that name, and has looked at it already.
    pub(in crate::rules) fn is_named_by_expansion(&self) -> bool {
        let made = self.carrier.definition.is_some();
        let name = self.azure_name();
        made && name.node.map(Node::span) == Some(self.carrier.origin.span())
    }
}

/// A field of a resource, whether it is there or not.
#[derive(Clone)]
pub(in crate::rules) struct Field<'a> {
    resource: &'a Resource<'a>,
    /// Its value; none when it is not there.
    pub(in crate::rules) node: Option<&'a Node>,
    path: Path,
}

impl<'a> Field<'a> {
    /// The field of this name inside of it.
    pub(in crate::rules) fn key(&self, name: &str) -> Self {
        Self {
            resource: self.resource,
            node: self.node.and_then(|node| node.get(name)),
            path: self.path.key(name),
        }
    }

    /// Its text.
    pub(in crate::rules) fn text(&self) -> Option<&'a str> {
        self.node.and_then(Node::as_str)
    }

    /// Its value as a whole number.
    pub(in crate::rules) fn number(&self) -> Option<i64> {
        match self.node?.value {
            crate::model::Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Whether it is there and not null.
    pub(in crate::rules) fn is_given(&self) -> bool {
        self.node
            .is_some_and(|node| node.value != crate::model::Value::Null)
    }

    /// Whether it is there, and null.
    pub(in crate::rules) fn is_null(&self) -> bool {
        self.node.is_some() && !self.is_given()
    }

    /// Its items, of a list; none otherwise.
    pub(in crate::rules) fn items(&self) -> impl Iterator<Item = Field<'a>> {
        let list = self.node.and_then(Node::as_list).unwrap_or_default();
        list.iter().enumerate().map(|(index, node)| Field {
            resource: self.resource,
            node: Some(node),
            path: self.path.index(index),
        })
    }

    /// Its entries, of a map; none otherwise.
    pub(in crate::rules) fn entries(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        let map = self.node.and_then(Node::as_map);
        map.into_iter()
            .flat_map(|map| map.iter())
            .map(|(key, node)| {
                let field = Field {
                    resource: self.resource,
                    node: Some(node),
                    path: self.path.key(&*key.name),
                };
                (&*key.name, field)
            })
    }

    /// The name it goes by in messages: the last part of its path.
    pub(in crate::rules) fn name(&self) -> String {
        let text = self.path.to_string();
        text.rsplit('.').next().unwrap_or_default().to_owned()
    }

    /// A finding of the rule `id` about it. Where it is not there, the nearest of what it would be in
    /// is pointed at.
    pub(in crate::rules) fn finding(
        &self,
        id: &'static str,
        message: impl Into<String>,
    ) -> Finding {
        let resource = self.resource;
        let place = resource.node.nearest(&self.path);
        let mut path = resource.path.clone();
        path.0.extend(self.path.0.iter().cloned());
        Finding {
            severity: book::severity(id),
            ..Finding::error(id, message)
        }
        .at(place.span())
        .of(&resource.id)
        .field(&path)
        .help(format!(
            "`capstan rules {id}` says why, with an example that keeps it"
        ))
    }
}
