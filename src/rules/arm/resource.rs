//! A resource as written, and its fields.

use std::sync::OnceLock;

use super::ArmId;
use crate::model::{Finding, Message, Node, Object, ObjectId, Path, Segment};
use crate::rules::book;

/// The annotation that says whether Azure Service Operator changes a resource.
pub(in crate::rules) const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";

/// A resource of Azure: embedded in another object, or an object itself.
pub(in crate::rules) struct Resource<'a> {
    /// What it is called in the cluster.
    pub(in crate::rules) id: ObjectId,
    /// The version of its kind, without the group.
    pub(in crate::rules) version: String,
    /// Its content.
    pub(in crate::rules) node: &'a Node,
    /// The object it is part of, or is.
    pub(in crate::rules) carrier: &'a Object,
    /// Its path in that object.
    pub(in crate::rules) path: Path,
    /// Its ARM id, once that was asked for.
    pub(super) azure_id: OnceLock<Option<ArmId>>,
}

impl Resource<'_> {
    /// The field at a dotted path, present or not.
    pub(in crate::rules) fn field(&self, dotted: &str) -> Field<'_> {
        let path = Path::dotted(dotted);
        Field {
            resource: self,
            node: self.node.lookup(&path),
            path,
        }
    }

    /// The field that gives its name in Azure: `azureName`, else its own name.
    pub(in crate::rules) fn azure_name(&self) -> Field<'_> {
        let azure_name = self.field("spec.azureName");
        if azure_name.is_given() {
            return azure_name;
        }
        self.field("metadata.name")
    }

    /// Whether it only reads what is in Azure, so that its fields change nothing.
    pub(in crate::rules) fn is_read_only(&self) -> bool {
        self.policy() == Some("skip")
    }

    /// Whether the resource in Azure stays when the object is deleted.
    pub(in crate::rules) fn is_detached(&self) -> bool {
        self.policy() == Some("detach-on-delete")
    }

    fn policy(&self) -> Option<&str> {
        self.node.text(&["metadata", "annotations", POLICY])
    }
}

/// A field of a resource, present or not.
#[derive(Clone)]
pub(in crate::rules) struct Field<'a> {
    /// The resource that it is a field of.
    pub(in crate::rules) resource: &'a Resource<'a>,
    /// Its value; none if it is absent.
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
        self.node?.as_int()
    }

    /// Whether it is present and not null.
    pub(in crate::rules) fn is_given(&self) -> bool {
        self.node
            .is_some_and(|node| node.value != crate::model::Value::Null)
    }

    /// Whether it is present and null.
    pub(in crate::rules) fn is_null(&self) -> bool {
        self.node.is_some() && !self.is_given()
    }

    /// Whether nobody wrote its value: it is absent, was generated from a definition, or is a default.
    pub(in crate::rules) fn is_default(&self) -> bool {
        let carrier = self.resource.carrier;
        let made = carrier.definition.is_some();
        let is_made = |node: &Node| made && node.span() == carrier.origin.span();
        !self.is_given() || self.node.is_some_and(is_made)
    }

    /// The items of a list; none of anything else.
    pub(in crate::rules) fn items(&self) -> impl Iterator<Item = Field<'a>> {
        let list = self.node.and_then(Node::as_list).unwrap_or_default();
        list.iter().enumerate().map(|(index, node)| Field {
            resource: self.resource,
            node: Some(node),
            path: self.path.index(index),
        })
    }

    /// The entries of a map; none of anything else.
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

    /// Its name in messages, as the document at its line has it: `podCIDR` in a definition, else `podCidr`.
    pub(in crate::rules) fn name(&self) -> String {
        let items = self.path.0.iter().rev();
        let items = items.take_while(|part| matches!(part, Segment::Index(_)));
        let (list, items) = self.path.0.split_at(self.path.0.len() - items.count());
        let list = Path(list.to_vec());
        let node = self.resource.node.lookup(&list);
        let text = match node.and_then(|node| node.origin.field()) {
            Some(field) => field.to_owned(),
            None => list.to_string(),
        };
        let name = text.rsplit('.').next().unwrap_or_default();
        format!("{name}{}", Path(items.to_vec()))
    }

    /// The name of the definition's field that its value comes from, from the cluster or node pool on.
    pub(in crate::rules) fn written(&self) -> Option<&'static str> {
        self.node.and_then(|node| node.origin.field())
    }

    /// Its name in messages if one word does not say enough: that in the definition, else `own`.
    pub(in crate::rules) fn name_or(&self, own: &'static str) -> &'static str {
        self.written().unwrap_or(own)
    }

    /// A finding of the rule `id` about it. If the field is absent, the finding points at the nearest parent.
    pub(in crate::rules) fn finding(
        &self,
        id: &'static str,
        message: impl Into<Message>,
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
    }
}
