//! Overlays' patches on objects.
//!
//! In: all objects, expanded and raw. Out: the same objects, patched in place. It does not know
//! where an object came from, only its labels: those of its definition are on it.

use rayon::prelude::*;

use super::{Entry, Overlays, select};
use crate::api::embedded;
use crate::api::overlay::Patch;
use crate::model::{Finding, Node, Object, Value};
use crate::schema::json_patch;
use crate::schema::strategic::{self, ListKeys};

impl Overlays {
    /// Applies the patches in order to the objects whose labels their overlays select, as these
    /// labels were before any patch, and to the resources embedded in them.
    #[must_use]
    pub fn patch(&mut self, objects: &mut [Object]) -> Vec<Finding> {
        let selections: Vec<Vec<bool>> = self
            .entries
            .iter()
            .map(|entry| entry.selection(objects))
            .collect();
        let mut findings = Vec::new();
        for (entry, selection) in self.entries.iter_mut().zip(selections) {
            entry.selected |= selection.contains(&true);
            let mut reached = Vec::new();
            for (patch, patched) in entry.overlay.patches.iter().zip(&mut entry.patched) {
                let selected = objects.par_iter_mut().zip(&selection);
                let selected = selected.filter(|(_, selected)| **selected);
                let runs = selected.map(|(object, _)| {
                    let mut run = Run::new(patch, &self.lists);
                    run.object(object);
                    (run.matched.then(|| object.origin.clone()), run.findings)
                });
                for (origin, found) in runs.collect::<Vec<_>>() {
                    *patched |= origin.is_some();
                    reached.extend(origin);
                    findings.extend(found);
                }
            }
            reached.iter().for_each(|origin| entry.reach(origin.span()));
        }
        findings
    }
}

impl Entry {
    /// Which of the objects it has patches for.
    fn selection(&self, objects: &[Object]) -> Vec<bool> {
        if self.overlay.patches.is_empty() {
            return Vec::new();
        }
        let selected = |object: &Object| select::selects(&self.overlay, &object.node);
        objects.par_iter().map(selected).collect()
    }
}

/// One patch on one object.
struct Run<'a> {
    patch: &'a Patch,
    lists: &'a ListKeys,
    /// Whether it matched anything.
    matched: bool,
    findings: Vec<Finding>,
}

impl<'a> Run<'a> {
    fn new(patch: &'a Patch, lists: &'a ListKeys) -> Self {
        Self {
            patch,
            lists,
            matched: false,
            findings: Vec::new(),
        }
    }

    /// Patches one object with its embedded resources.
    fn object(&mut self, object: &mut Object) {
        if select::means(&self.patch.target, object) {
            self.document(&mut object.node, &object.id.namespace);
        }
        if embedded::carries(&object.id) {
            self.resources(object);
        }
    }

    fn resources(&mut self, carrier: &mut Object) {
        let Some(list) = resources(&mut carrier.node) else {
            return;
        };
        let mut resources = std::mem::take(list);
        for resource in &mut resources {
            if select::means_embedded(&self.patch.target, resource, carrier) {
                self.document(resource, &carrier.id.namespace);
            }
        }
        if let Some(list) = self::resources(&mut carrier.node) {
            *list = resources;
        }
    }

    /// Patches a document, unless that would change its identity.
    fn document(&mut self, document: &mut Node, namespace: &str) {
        self.matched = true;
        let patch = &self.patch.patch;
        let mut findings = Vec::new();
        let patched = match &patch.value {
            Value::List(operations) => {
                json_patch::apply(document.clone(), operations, &mut findings)
            }
            _ => strategic::merge(document.clone(), patch, self.lists, &mut findings),
        };
        if identity(&patched, namespace) == identity(document, namespace) {
            *document = patched;
        } else {
            findings.push(changes_identity(patch));
        }
        if !findings.is_empty() {
            let object = Object::from_node(document.clone(), namespace);
            self.report(findings, object.as_ref());
        }
    }

    fn report(&mut self, findings: Vec<Finding>, object: Option<&Object>) {
        let of = |finding: Finding| match object {
            Some(object) => finding.of(&object.id),
            None => finding,
        };
        self.findings.extend(findings.into_iter().map(of));
    }
}

fn resources(carrier: &mut Node) -> Option<&mut Vec<Node>> {
    let mut node = carrier;
    for name in ["spec", "resources"] {
        let Value::Map(map) = &mut node.value else {
            return None;
        };
        node = map.get_mut(name)?;
    }
    match &mut node.value {
        Value::List(resources) => Some(resources),
        _ => None,
    }
}

/// The identity, which a patch may not change: apiVersion, kind, name and namespace.
fn identity<'n>(document: &'n Node, namespace: &'n str) -> [&'n str; 4] {
    let text = |names: &[&str]| document.text(names);
    [
        text(&["apiVersion"]).unwrap_or_default(),
        text(&["kind"]).unwrap_or_default(),
        text(&["metadata", "name"]).unwrap_or_default(),
        text(&["metadata", "namespace"]).unwrap_or(namespace),
    ]
}

fn changes_identity(patch: &Node) -> Finding {
    let message = "a patch may not change apiVersion, kind, name or namespace";
    Finding::error("O02", message)
        .at(patch.span())
        .help("remove these fields from the patch, and select the object in `target`")
}
