//! T02 and T03: where an object lives, and of which kind it is.

use std::collections::HashSet;

use super::Judge;
use crate::api::embedded;
use crate::api::fleet::Tenant;
use crate::api::kinds::{self, CAPSTAN};
use crate::model::{Object, ObjectId};
use crate::rules::way::Way;

/// The group and kind of each definition in the fleet whose objects live in namespaces.
pub(super) fn defined(objects: &[Object]) -> HashSet<(&str, &str)> {
    objects.iter().filter_map(defines).collect()
}

fn defines(object: &Object) -> Option<(&str, &str)> {
    let definition = ("apiextensions.k8s.io", "CustomResourceDefinition");
    let spec = object.node.get("spec")?;
    let namespaced = spec.text(&["scope"]) == Some("Namespaced");
    let kind = (spec.text(&["group"])?, spec.text(&["names", "kind"])?);
    (object.id.is(definition.0, definition.1) && namespaced).then_some(kind)
}

impl Judge<'_> {
    /// The object is of a kind that the tenant has, in a namespace that it has.
    pub(super) fn scope(&mut self, namespaced: &HashSet<(&str, &str)>) {
        let object = self.object;
        self.kinds();
        if self.tenant.namespaces.is_none() {
            return;
        }
        let id = &object.id;
        // Of what nobody here knows, the cluster may know that it has no namespace, whatever it says.
        let lives_in_one =
            kinds::is_namespaced(id) || namespaced.contains(&(id.group.as_str(), id.kind.as_str()));
        if !lives_in_one && !self.names_kind(&id.group, &id.kind) {
            let what = format!(
                "{id} belongs to no namespace for all that is known here, and {} is not named in the kinds",
                named(&id.group, &id.kind)
            );
            return self.refuse("T03", &what, None);
        }
        // A namespace lives in itself.
        let namespace = match id.is("", "Namespace") {
            true => &id.name,
            false => &id.namespace,
        };
        if !namespace.is_empty() && !Self::allows(self.tenant.namespaces.as_ref(), namespace) {
            let metadata = Way::Key(&Way::Top, "metadata");
            let field = match id.is("", "Namespace") {
                true => "name",
                false => "namespace",
            };
            let node = object.node.at(&["metadata", field]);
            let way = Way::Key(&metadata, field);
            let what = format!("{id} is in the namespace {namespace}");
            self.refuse("T02", &what, node.map(|node| (node, &way)));
        }
    }

    /// What stands in the file is of kinds that the tenant has: of what a definition becomes the
    /// definition is, and what a patch has put in beside that.
    fn kinds(&mut self) {
        if self.tenant.kinds.is_none() {
            return;
        }
        let object = self.object;
        let id = object.definition.as_ref().unwrap_or(&object.id);
        if !self.names_kind(&id.group, &id.kind) {
            let what = format!("{id} is of the kind {}", named(&id.group, &id.kind));
            self.refuse("T03", &what, None);
        }
        let made = |id: &ObjectId| {
            object.definition.is_some() && kinds::find(&id.group, &id.kind).is_some()
        };
        for node in embedded::items(object) {
            let Some((id, _)) = ObjectId::read(node, &object.id.namespace) else {
                continue;
            };
            if !made(&id) && !self.names_kind(&id.group, &id.kind) {
                let what = format!(
                    "the resource {id} is of the kind {}",
                    named(&id.group, &id.kind)
                );
                let (resources, key) = (Way::Key(&Way::Top, "spec"), "resources");
                self.refuse("T03", &what, Some((node, &Way::Key(&resources, key))));
            }
        }
    }

    fn names_kind(&self, group: &str, kind: &str) -> bool {
        names_kind(self.tenant, group, kind)
    }
}

/// Whether the tenant's kinds name this one.
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
