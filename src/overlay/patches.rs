//! Overlays' patches on objects.
//!
//! In: all objects, expanded and raw. Out: the same objects, patched in place. It does not know
//! where an object came from, only its labels: those of its definition are on it.

use rayon::prelude::*;
use std::collections::HashMap;

use super::{Entry, Overlays, select, width};
use crate::api::embedded;
use crate::api::overlay::Patch;
use crate::model::{Budget, Finding, Limit, Node, Object, Origin, Span, Value, rule_id};
use crate::schema::json_patch;
use crate::schema::strategic::{self, ListKeys};

impl Overlays {
    /// Applies the patches in order to the objects whose labels their overlays select, as these
    /// labels were before any patch, and to the resources embedded in them.
    #[must_use]
    pub fn patch(&mut self, objects: &mut [Object]) -> Vec<Finding> {
        let effects = self.apply(objects, &self.budget);
        self.record(&effects);
        effects.findings
    }

    /// The same, without recording which overlays have an effect. `budget` counts the patches.
    #[must_use]
    pub fn apply(&self, objects: &mut [Object], budget: &Budget) -> Effects {
        let mut effects = Effects {
            width: width(objects.iter().map(|object| &object.node)),
            ..Effects::default()
        };
        if !self.weigh_width(effects.width) {
            return effects;
        }
        let selections: Vec<Vec<bool>> = self
            .entries
            .iter()
            .map(|entry| entry.selection(objects))
            .collect();
        for (at, (entry, selection)) in self.entries.iter().zip(selections).enumerate() {
            if !selection.contains(&true) {
                continue;
            }
            let mut effect = Effect::default();
            for patch in &entry.overlay.patches {
                let mut patched = false;
                let weight = patch.patch.weight();
                let selected = objects.par_iter_mut().zip(&selection);
                let selected = selected.filter(|(_, selected)| **selected);
                let runs = selected.map(|(object, _)| {
                    let mut run = Run::new(patch, weight, &self.lists, budget);
                    run.object(object);
                    (run.matched.then(|| object.origin.clone()), run.findings)
                });
                for (origin, found) in runs.collect::<Vec<_>>() {
                    patched |= origin.is_some();
                    effect.reach(origin.as_ref());
                    effects.findings.extend(found);
                }
                effect.patched.push(patched);
                if budget.exceeded().is_some() {
                    effects.stopped_at = Some(patch.origin.span().clone());
                    return effects;
                }
            }
            effects.of_overlays.push((at, effect));
        }
        effects
    }

    /// Counts again what it took to select among the objects that `effects` are about.
    pub fn weigh_again(&self, effects: &Effects) {
        self.weigh_width(effects.width);
    }

    /// Records which overlays and patches had an effect.
    pub fn record(&mut self, effects: &Effects) {
        for (at, effect) in &effects.of_overlays {
            let entry = &mut self.entries[*at];
            entry.selected = true;
            for (patched, now) in entry.patched.iter_mut().zip(&effect.patched) {
                *patched |= now;
            }
            effect.reached.iter().for_each(|span| entry.reach(span));
        }
        if effects.stopped_at.is_some() {
            self.stopped_at.clone_from(&effects.stopped_at);
        }
    }
}

/// What patches did to some objects.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// The width of the objects.
    width: u64,
    /// What could not be applied.
    pub findings: Vec<Finding>,
    /// The overlays that select any of the objects, by their place.
    of_overlays: Vec<(usize, Effect)>,
    /// The patch that the budget did not allow.
    stopped_at: Option<Span>,
}

/// What the patches of one overlay did.
#[derive(Clone, Debug, Default)]
struct Effect {
    /// Whether each of the patches matched an object.
    patched: Vec<bool>,
    /// The first object in each file that a patch matched.
    reached: Vec<Span>,
}

impl Effect {
    fn reach(&mut self, origin: Option<&Origin>) {
        let span = origin.map(Origin::span);
        let known = |span: &&Span| self.reached.iter().any(|one| one.path == span.path);
        if let Some(span) = span.filter(|span| !known(span)) {
            self.reached.push(span.clone());
        }
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
    /// How many values the patch has.
    weight: u64,
    budget: &'a Budget,
    lists: &'a ListKeys,
    /// Whether it matched anything.
    matched: bool,
    findings: Vec<Finding>,
}

impl<'a> Run<'a> {
    fn new(patch: &'a Patch, weight: u64, lists: &'a ListKeys, budget: &'a Budget) -> Self {
        Self {
            patch,
            weight,
            budget,
            lists,
            matched: false,
            findings: Vec::new(),
        }
    }

    /// Patches one object with its embedded resources.
    fn object(&mut self, object: &mut Object) {
        let mut steps = 0;
        let is_meant = select::means(&self.patch.target, object, &mut steps);
        if self.budget.allows(Limit::Overlays, steps) && is_meant {
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
            let target = &self.patch.target;
            let mut steps = 0;
            let is_meant = select::means_embedded(target, resource, carrier, &mut steps);
            if !self.budget.allows(Limit::Overlays, steps) {
                break;
            }
            if is_meant {
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
        if !self.allows(document) {
            return;
        }
        let mut findings = Vec::new();
        let patched = match &patch.value {
            Value::List(operations) => {
                json_patch::apply_within(document, operations, self.budget, &mut findings)
            }
            _ if may_change_identity(patch) => {
                let copy = document.clone();
                Some(strategic::merge(copy, patch, self.lists, &mut findings))
            }
            _ => {
                let nothing = Node::new(Value::Null, &document.origin);
                let base = std::mem::replace(document, nothing);
                *document = strategic::merge(base, patch, self.lists, &mut findings);
                None
            }
        };
        match patched {
            Some(new) if identity(&new, namespace) == identity(document, namespace) => {
                *document = new;
            }
            Some(_) => findings.push(changes_identity(patch)),
            None => {}
        }
        if !findings.is_empty() {
            let cost = FINDING * findings.len() as u64;
            self.budget.allows(Limit::Overlays, cost);
            let object = Object::from_node(document.clone(), namespace);
            self.report(findings, object.as_ref());
        }
    }

    /// Counts the steps and values of patching a document, and returns whether they are allowed.
    fn allows(&self, document: &Node) -> bool {
        let patch = &self.patch.patch;
        let steps = match &patch.value {
            // A JSON patch counts the rest as it goes.
            Value::List(_) => 0,
            _ if may_change_identity(patch) => document.weight(),
            _ => touched(document, patch),
        };
        let added = self.weight * Limit::STEPS_PER_VALUE;
        self.budget.allows(Limit::Overlays, steps + added)
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

/// How many entries of a document a strategic merge may move.
fn touched(document: &Node, patch: &Node) -> u64 {
    match (&document.value, &patch.value) {
        (Value::Map(map), Value::Map(patch)) => {
            let changes: HashMap<&str, &Node> = patch
                .iter()
                .map(|(key, change)| (&*key.name, change))
                .collect();
            let below = map.iter().filter_map(|(key, inner)| {
                let change = changes.get(&*key.name)?;
                Some(touched(inner, change))
            });
            map.len() as u64 + below.sum::<u64>()
        }
        // Elements are looked up by their keys.
        (Value::List(_), _) => document.weight(),
        _ => 1,
    }
}

/// Whether a strategic merge patch may change the identity of what it is for: almost none does, and only those
/// need a copy to go back to.
fn may_change_identity(patch: &Node) -> bool {
    let sets = |node: &Node, names: [&str; 2]| {
        node.as_map().is_none_or(|map| {
            let mut keys = map.iter().map(|(key, _)| &*key.name);
            keys.any(|key| key.starts_with('$') || names.contains(&key))
        })
    };
    let metadata = patch.get("metadata");
    sets(patch, ["apiVersion", "kind"])
        || metadata.is_some_and(|node| sets(node, ["name", "namespace"]))
}

/// How many steps a finding weighs: its memory would hold many values.
const FINDING: u64 = 200;

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
    Finding::error(rule_id::UNAPPLICABLE_PATCH, message)
        .at(patch.span())
        .help("remove these fields from the patch, and select the object in `target`")
}
