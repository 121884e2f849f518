//! T02 and T03: the namespace and the kind of an object.

use std::collections::HashSet;

use super::Judge;
use crate::api::embedded;
use crate::api::fleet::Tenant;
use crate::api::kinds::{self, CAPSTAN};
use crate::model::{Node, Object, ObjectId, message, rule_id};
use crate::rules::way::Way;

/// The group and kind of each CustomResourceDefinition in the fleet with namespaced objects.
pub(super) fn defined<'o>(
    objects: impl Iterator<Item = &'o Object>,
) -> HashSet<(&'o str, &'o str)> {
    objects.filter_map(defines).collect()
}

fn defines(object: &Object) -> Option<(&str, &str)> {
    let definition = ("apiextensions.k8s.io", "CustomResourceDefinition");
    let spec = object.node.get("spec")?;
    let namespaced = spec.text(&["scope"]) == Some("Namespaced");
    let kind = (spec.text(&["group"])?, spec.text(&["names", "kind"])?);
    (object.id.is(definition.0, definition.1) && namespaced).then_some(kind)
}

impl Judge<'_> {
    /// Checks the kind and the namespace of the object and of the resources that it carries.
    pub(super) fn scope(&mut self, namespaced: &HashSet<(&str, &str)>) {
        let object = self.object;
        // The objects of a definition count as the definition.
        let id = object.definition.as_ref().unwrap_or(&object.id);
        let is_named = self.names_kind(&id.group, &id.kind);
        if self.tenant.kinds.is_some() && !is_named {
            let kind = named(&id.group, &id.kind);
            self.refuse(
                rule_id::FOREIGN_KIND,
                message!("{id} is of kind {kind}", id, kind),
                None,
            );
        }
        // An unknown kind may be cluster-scoped, even if the object has a namespace.
        let of_kind = (object.id.group.as_str(), object.id.kind.as_str());
        let lives_in_one = kinds::is_namespaced(&object.id) || namespaced.contains(&of_kind);
        let is_limited = self.tenant.namespaces.is_some();
        if is_limited && !lives_in_one && !self.names_kind(of_kind.0, of_kind.1) {
            let what = message!(
                "{id} is cluster-scoped or of unknown scope, so {kind} must be listed in the tenant's kinds",
                id,
                kind = named(of_kind.0, of_kind.1)
            );
            self.refuse(rule_id::FOREIGN_KIND, what, None);
        } else {
            // Without a namespace it is in `default`, or, if the kind is allowed, in none.
            let reported = object.node.text(&["metadata", "namespace"]);
            if lives_in_one || reported.is_some_and(|reported| !reported.is_empty()) {
                self.place(
                    &object.id.namespace,
                    id,
                    &object.node,
                    &Way::Top,
                    "namespace",
                );
            }
            self.is_namespace(&object.id, &object.node, &Way::Top);
        }
        self.carried();
    }

    /// Checks the kinds of the resources that the object carries. They are in its namespace.
    fn carried(&mut self) {
        let object = self.object;
        let spec = Way::Key(&Way::Top, "spec");
        let resources = Way::Key(&spec, "resources");
        for (index, node) in embedded::items(object).iter().enumerate() {
            let Some((id, _)) = ObjectId::read(node, &object.id.namespace) else {
                continue;
            };
            let way = Way::Index(&resources, index);
            // The provider creates any resource listed there, with its own permissions.
            let must_be_named = self.tenant.kinds.is_some() || !kinds::is_aso(&id.group);
            if must_be_named
                && !is_generated(object, node, &id)
                && !self.names_kind(&id.group, &id.kind)
            {
                let kind = named(&id.group, &id.kind);
                let what = message!("the resource {id} is of kind {kind}", id, kind);
                self.refuse(rule_id::FOREIGN_KIND, what, Some((node, &way)));
            }
            self.is_namespace(&id, node, &way);
        }
    }

    /// A Namespace object counts as being in itself.
    fn is_namespace(&mut self, id: &ObjectId, node: &Node, way: &Way<'_>) {
        if id.is("", "Namespace") {
            self.place(&id.name, id, node, way, "name");
        }
    }

    /// Checks the namespace of `id`, written in `field` of the metadata of `node`.
    fn place(&mut self, namespace: &str, id: &ObjectId, node: &Node, way: &Way<'_>, field: &str) {
        if !namespace.is_empty() && !Self::allows(self.tenant.namespaces.as_ref(), namespace) {
            let metadata = Way::Key(way, "metadata");
            let way = Way::Key(&metadata, field);
            let node = node.at(&["metadata", field]);
            let what = message!("{id} is in the namespace {namespace}", id, namespace);
            self.refuse(
                rule_id::FOREIGN_NAMESPACE,
                what,
                node.map(|node| (node, &way)),
            );
        }
    }

    fn names_kind(&self, group: &str, kind: &str) -> bool {
        names_kind(self.tenant, group, kind)
    }
}

/// Whether the resource at `node` in `object` was generated from a definition: then its name and its kind come from
/// the definition's line, and not from a patch.
fn is_generated(object: &Object, node: &Node, id: &ObjectId) -> bool {
    let here = Some(object.origin.span());
    let made = |path: &[&str]| node.at(path).map(Node::span) == here;
    object.definition.is_some()
        && kinds::find(&id.group, &id.kind).is_some()
        && made(&["metadata", "name"])
        && made(&["kind"])
}

/// Whether the tenant's kinds include this one.
pub(super) fn names_kind(tenant: &Tenant, group: &str, kind: &str) -> bool {
    let kinds = tenant.kinds.as_deref().unwrap_or_default();
    kinds.contains(&named(group, kind))
}

/// A kind as tenants name it.
fn named(group: &str, kind: &str) -> String {
    match group {
        "" | CAPSTAN => kind.to_owned(),
        group => format!("{kind}.{group}"),
    }
}
