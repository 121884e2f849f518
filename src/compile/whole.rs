//! All objects of a fleet at once, with their graph.
//!
//! In: what was read of it. Out: [`Compiled`]. It does not know how a fleet is checked without keeping its objects.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::compiled::Compiled;
use super::documents::Documents;
use super::made::Made;
use super::once::Clusters;
use super::sources::{Found, Sources};
use super::wrong::duplicate;
use super::{lost, metadata, misspelt};
use crate::api::embedded;
use crate::api::fleet::FleetPolicy;
use crate::graph;
use crate::model::{Finding, Object, ObjectId, Span, Tree};
use crate::rules::{self, tenancy};

/// The objects, their graph and the findings.
pub(super) fn compile(documents: Documents, policy: &FleetPolicy, tree: &Tree) -> Compiled {
    match Sources::of(documents) {
        Ok(sources) => compiled(sources, policy, tree),
        Err(stopped) => stopped.into(),
    }
}

fn compiled(mut sources: Sources, policy: &FleetPolicy, tree: &Tree) -> Compiled {
    let mut objects = Vec::new();
    let mut first = HashMap::new();
    let mut unread = 0;
    let made = sources.definitions.par_iter();
    let made = made.map(|node| {
        let lost = &sources.documents.lost;
        let budget = &sources.documents.budget;
        let (overlays, enforced) = (&sources.overlays, &sources.enforced);
        let made = Made::of(node.clone(), overlays, enforced, lost, budget);
        let is_allowed = budget.exceeded().is_none();
        is_allowed.then_some(made)
    });
    let Some(made) = made.collect::<Option<Vec<_>>>() else {
        return sources.stopped().into();
    };
    for (definition, made) in made {
        if made.lacks_labels {
            sources.overlays.without(&lost::nothing(definition.span()));
        }
        unread += usize::from(made.name.is_none());
        let is_broken = !made.reported.is_empty();
        let expanded = keep(&mut sources, made, &mut first);
        if is_broken || expanded.is_empty() {
            sources.overlays.without_objects(&definition);
        }
        objects.extend(expanded);
    }
    // Encrypted objects are not applied, so patches do not have to fit them.
    let raw = std::mem::take(&mut sources.raw).into_iter();
    let (mut encrypted, raw): (Vec<_>, Vec<_>) = raw.partition(rules::is_encrypted);
    objects.extend(raw);
    sources
        .documents
        .findings
        .extend(sources.overlays.patch(&mut objects));
    // A patch may add resources.
    sources
        .documents
        .findings
        .extend(misspelt::correct_kinds(&mut objects));
    if sources.documents.budget.exceeded().is_some() {
        return sources.stopped().into();
    }
    sources.blame_overlays();
    objects.append(&mut encrypted);
    let objects = unique(objects, &mut sources.documents.findings);
    let mut of_rules = rules::check(&objects, policy);
    of_rules.extend(tenancy::objects(policy, &objects, &[]));
    let (encrypted, objects): (Vec<_>, Vec<_>) = objects.into_iter().partition(rules::is_encrypted);
    of_rules.par_extend(objects.par_iter().flat_map_iter(metadata::findings));
    let left_alone: Vec<&Object> = encrypted.iter().collect();
    let (graph, of_graph, elsewhere) =
        graph::build_part(&objects, &left_alone, &policy.outside, &[]);
    let all = sources.documents.findings.iter().chain(&of_rules);
    let all = all.chain(&of_graph).chain(&sources.documents.lost.effects);
    let found = Found {
        clusters: Clusters::behind(all, &sources.documents.documents, &objects),
        of_rules,
        of_graph,
        unneeded: elsewhere.unneeded().collect(),
        unread,
        object_count: objects.len(),
        embedded_count: embedded::count(&objects),
    };
    Compiled {
        checked: sources.settle(policy, tree, found),
        objects,
        graph: Arc::new(graph),
    }
}

/// Keeps the objects of a definition: none if it is broken or a duplicate.
fn keep(sources: &mut Sources, made: Made, first: &mut HashMap<ObjectId, Span>) -> Vec<Object> {
    let documents = &mut sources.documents;
    documents.findings.extend(made.of_definition);
    documents.lost.effects.extend(made.effects);
    documents.lost.names.extend(made.incomplete);
    documents.lost.reported.extend(made.reported);
    let Some((id, here)) = made.name else {
        return Vec::new();
    };
    if let Some(first) = first.get(&id) {
        documents.findings.push(duplicate(&id, &here, first));
        return Vec::new();
    }
    first.insert(id, here);
    documents.findings.extend(made.of_objects);
    made.objects
}

/// Keeps the first of objects with the same id, and reports the others.
pub(super) fn unique(objects: Vec<Object>, findings: &mut Vec<Finding>) -> Vec<Object> {
    let mut first: HashMap<ObjectId, Span> = HashMap::new();
    let mut kept = Vec::with_capacity(objects.len());
    for object in objects {
        if let Some(span) = first.get(&object.id) {
            findings.push(duplicate(&object.id, object.origin.span(), span));
        } else {
            first.insert(object.id.clone(), object.origin.span().clone());
            kept.push(object);
        }
    }
    kept
}
