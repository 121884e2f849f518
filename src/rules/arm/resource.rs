//! A resource as written, and its fields.

use std::borrow::Cow;
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
    pub(in crate::rules) fn field(&self, dotted: impl Into<Cow<'static, str>>) -> Field<'_> {
        let dotted = dotted.into();
        Field {
            resource: self,
            node: self.node.dotted(&dotted),
            dotted,
            below: Vec::new(),
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
    /// Its path, down to `below`. Most fields are looked at and never reported, so that no path is made for them.
    dotted: Cow<'static, str>,
    below: Vec<Segment>,
}

impl<'a> Field<'a> {
    /// The field of this name inside of it.
    pub(in crate::rules) fn key(&self, name: &str) -> Self {
        Self {
            resource: self.resource,
            node: self.node.and_then(|node| node.get(name)),
            dotted: self.dotted.clone(),
            below: self.and(Segment::Key(name.to_owned())),
        }
    }

    /// What is below the dotted path, and one more step.
    fn and(&self, step: Segment) -> Vec<Segment> {
        self.below.iter().cloned().chain([step]).collect()
    }

    fn path(&self) -> Path {
        let mut path = Path::dotted(&self.dotted);
        path.0.extend(self.below.iter().cloned());
        path
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
            dotted: self.dotted.clone(),
            below: self.and(Segment::Index(index)),
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
                    dotted: self.dotted.clone(),
                    below: self.and(Segment::Key(key.name.to_string())),
                };
                (&*key.name, field)
            })
    }

    /// Its name in messages, as the document at its line has it: `podCIDR` in a definition, else `podCidr`.
    pub(in crate::rules) fn name(&self) -> String {
        let path = self.path().0;
        let items = path.iter().rev();
        let items = items.take_while(|part| matches!(part, Segment::Index(_)));
        let (list, items) = path.split_at(path.len() - items.count());
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
        let below = self.path();
        let place = resource.node.nearest(&below);
        let mut path = resource.path.clone();
        path.0.extend(below.0);
        Finding {
            severity: book::severity(id),
            ..Finding::error(id, message)
        }
        .at(place.span())
        .of(&resource.id)
        .field(&path)
    }
}
