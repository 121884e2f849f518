//! U07 of what takes others along: a Namespace, a CustomResourceDefinition, a resource group, and resources of Azure that are
//! named by their ARM id.
//!
//! In: the objects that leave, and those of the new revision. Out: findings. What is in such an object need not be in the
//! fleet, such as a released cluster: where nothing of the fleet leaves with it, nobody has looked at that. A resource group
//! needs more: it goes with a cluster that is in it, whose loss people approve, and with nothing less. It does not know the
//! cluster.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value as Json;

use super::Changes;
use super::used::used;
use crate::api::deletion_policy::default_deletion_policy;
use crate::api::kinds::{RESOURCES, is_aso};
use crate::api::labels::{DELETION_POLICY, RECONCILE_POLICY};
use crate::api::platform::is_root;
use crate::graph::{Graph, Place, Vertex};
use crate::health::Live;
use crate::model::{Finding, ObjectId, Payload, message, rule_id};

impl Changes {
    /// Looks for objects of `gone` that take along what the new revision with this graph uses, or what nobody has looked at. `new` has
    /// its objects as they are sent, in their order; few revisions need any.
    pub fn take_along(
        &mut self,
        gone: &BTreeMap<&ObjectId, &Payload>,
        new: impl Fn(usize) -> Option<Json>,
        graph: &Graph,
    ) {
        if !gone.keys().any(|id| may_hold(id)) {
            return;
        }
        let gone: Vec<(&ObjectId, Json)> = gone
            .iter()
            .map(|(id, payload)| (*id, payload.json()))
            .collect();
        let holders = gone
            .iter()
            .filter(|(id, object)| may_hold(id) && is_deleted(id, object));
        let holders: Vec<&(&ObjectId, Json)> = holders.collect();
        let mut named = Names::default();
        if holders.iter().any(|(id, _)| is_aso(&id.group)) {
            for vertex in &graph.vertices {
                if let Place::TopLevel(at) = vertex.place
                    && let Some(object) = new(at)
                {
                    named.collect(&object, Some(vertex));
                }
            }
        }
        let along = Along::of(&gone);
        for (id, object) in holders {
            let users: Vec<&Vertex> = match is_definition(id) {
                true => {
                    let of_kind = |vertex: &&Vertex| {
                        let kind = (&*vertex.id.group, &*vertex.id.kind);
                        vertex.place != Place::Outside && kind == defined(object)
                    };
                    graph.vertices.iter().filter(of_kind).collect()
                }
                false => named.of(id, object).collect(),
            };
            if let Some(first) = users.first() {
                let place = first.origin.span().clone();
                self.used.extend(used(id, users, &place));
            } else if !along.has_any_in(id, object) {
                self.used.push(alone(id));
            }
        }
    }
}

/// Returns true if others may go with an object of this kind.
fn may_hold(id: &ObjectId) -> bool {
    id.is("", "Namespace") || is_definition(id) || is_aso(&id.group)
}

fn is_definition(id: &ObjectId) -> bool {
    id.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// The group and kind of a CustomResourceDefinition.
fn defined(object: &Json) -> (&str, &str) {
    let spec = &object["spec"];
    let (group, kind) = (&spec["group"], &spec["names"]["kind"]);
    (
        group.as_str().unwrap_or_default(),
        kind.as_str().unwrap_or_default(),
    )
}

/// Returns true if the object goes, and with it the resource that it stands for.
fn is_deleted(id: &ObjectId, object: &Json) -> bool {
    let live = Live(object);
    let policy = match live.annotation(DELETION_POLICY) {
        "" => default_deletion_policy(id),
        policy => policy,
    };
    let is_managed = !matches!(
        live.annotation(RECONCILE_POLICY),
        "skip" | "detach-on-delete"
    );
    policy == "Delete" && is_managed
}

fn alone(gone: &ObjectId) -> Finding {
    let message = message!(
        "{gone} leaves the fleet and is deleted, with everything in it that the fleet does not have",
        gone
    );
    let help = "keep its file, or set `capstan.dev/deletion-policy: Orphan` on it, and remove its file once that is applied; then delete it by hand when nothing is in it";
    Finding::error(rule_id::USED, message).of(gone).help(help)
}

/// What leaves, by what it is in.
#[derive(Default)]
struct Along<'a> {
    namespaces: BTreeSet<&'a str>,
    kinds: BTreeSet<(&'a str, &'a str)>,
    /// The namespaces and names of the owners of clusters.
    owners: BTreeSet<(&'a str, &'a str)>,
    /// The ARM ids in clusters.
    named: Names<'a>,
}

impl<'a> Along<'a> {
    fn of(gone: &'a [(&'a ObjectId, Json)]) -> Self {
        let mut along = Self::default();
        for (id, object) in gone {
            along.namespaces.insert(&id.namespace);
            for one in std::iter::once(object).chain(Live(object).list(&["spec", "resources"])) {
                along.kinds.insert((Live(one).group(), Live(one).kind()));
                if is_root(&Live(one).id()) {
                    let owner = Live(one).text(&["spec", "owner", "name"]);
                    along.owners.insert((&id.namespace, owner));
                    along.named.collect(one, None);
                }
            }
        }
        along
    }

    /// Returns true if something leaves that is in the object: a cluster, of a resource group. Of another resource of Azure,
    /// nothing needs to.
    fn has_any_in(&self, id: &ObjectId, object: &Json) -> bool {
        match () {
            () if is_definition(id) => self.kinds.contains(&defined(object)),
            () if id.is("", "Namespace") => self.namespaces.contains(&*id.name),
            () if id.is(RESOURCES, "ResourceGroup") => {
                self.owners.contains(&(&*id.namespace, &*id.name)) || self.named.has(id, object)
            }
            () => true,
        }
    }
}

/// The ARM ids in objects, by each name in them, and who has them. The name of a vault counts as one.
#[derive(Default)]
struct Names<'a>(HashMap<String, Vec<(Option<&'a Vertex>, String)>>);

impl<'a> Names<'a> {
    /// Adds those of an object, or of a part of one.
    fn collect(&mut self, value: &Json, user: Option<&'a Vertex>) {
        match value {
            Json::Object(members) => {
                for (key, value) in members {
                    match value.as_str().filter(|_| key == "vaultName") {
                        Some(name) => self.add(&format!("/vaults/{name}"), user),
                        None => self.collect(value, user),
                    }
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.collect(item, user)),
            Json::String(text) if text.starts_with('/') => self.add(text, user),
            _ => {}
        }
    }

    fn add(&mut self, id: &str, user: Option<&'a Vertex>) {
        let names: BTreeSet<String> = id.split('/').map(str::to_ascii_lowercase).collect();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            self.0.entry(name).or_default().push((user, id.to_owned()));
        }
    }

    fn all<'b>(
        &'b self,
        id: &'b ObjectId,
        object: &'b Json,
    ) -> impl Iterator<Item = Option<&'a Vertex>> + 'b {
        let known = self.0.get(&azure_name(object).to_ascii_lowercase());
        let known = known.into_iter().flatten();
        known
            .filter(|(_, text)| is_of(text, id, object))
            .map(|(user, _)| *user)
    }

    /// Those that name this resource, or something in it.
    fn of<'b>(&'b self, id: &'b ObjectId, object: &'b Json) -> impl Iterator<Item = &'a Vertex> {
        self.all(id, object).flatten()
    }

    fn has(&self, id: &ObjectId, object: &Json) -> bool {
        self.all(id, object).next().is_some()
    }
}

/// The name of a resource in Azure.
fn azure_name(object: &Json) -> &str {
    match Live(object).text(&["spec", "azureName"]) {
        "" => Live(object).name(),
        name => name,
    }
}

/// Returns true if an ARM id has the type and the name of this resource, and the name of its owner if it has one.
fn is_of(text: &str, id: &ObjectId, object: &Json) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    let is_type = |part: &str| {
        let part = part.to_ascii_lowercase();
        let singular = match part.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => part.trim_end_matches('s').to_owned(),
        };
        !singular.is_empty() && id.kind.to_ascii_lowercase().ends_with(&singular)
    };
    let is_this =
        |pair: &[&str]| is_type(pair[0]) && pair[1].eq_ignore_ascii_case(azure_name(object));
    let owner = Live(object).text(&["spec", "owner", "name"]);
    let is_near = owner.is_empty()
        || text.starts_with("/vaults/")
        || parts.iter().any(|part| part.eq_ignore_ascii_case(owner));
    is_near && parts.windows(2).any(is_this)
}
