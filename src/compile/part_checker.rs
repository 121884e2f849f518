//! What the rules say of some parts of a fleet together.
//!
//! In: the objects of the parts, patched. Out: findings, and the links of the parts. It does not know which parts belong
//! together.

use std::collections::HashMap;
use std::sync::Arc;

use super::environment::Environment;
use super::metadata;
use super::once::{Clusters, DocumentIndex};
use super::whole::unique;
use crate::api::embedded;
use crate::api::fleet::FleetPolicy;
use crate::graph::{self, Elsewhere, Graph};
use crate::model::{Finding, Object, ObjectId, rule_id};
use crate::rules::{self, Links, tenancy};

/// The objects of some parts in the order of the fleet, each with the number of its part among these.
pub(super) type Members = Vec<(usize, Object)>;

/// What was found in some parts.
#[derive(Clone, Default)]
pub(super) struct PartFindings {
    pub(super) of_rules: Vec<Finding>,
    pub(super) of_graph: Vec<Finding>,
    /// What tenants may not, by part: equal ones are reported once.
    pub(super) of_tenants: Vec<(usize, Vec<Finding>)>,
    /// What is needed and not in the fleet (R04), by part: it is reported at the first that needs it.
    pub(super) unlisted: Vec<(usize, Finding)>,
    pub(super) elsewhere: Elsewhere,
    pub(super) clusters: Clusters,
    pub(super) object_count: usize,
    pub(super) embedded_count: usize,
    /// The graph of their objects, if it is wanted.
    pub(super) graph: Option<PartGraph>,
}

/// The graph of the objects of some parts.
#[derive(Clone)]
pub(super) struct PartGraph {
    pub(super) graph: Arc<Graph>,
    /// The number of each object's part.
    pub(super) parts: Vec<usize>,
}

impl PartFindings {
    /// The findings that may suggest what is in other parts.
    pub(super) fn suggested(&self) -> impl Iterator<Item = &Finding> {
        self.of_rules.iter().chain(&self.of_graph)
    }
}

/// Checks parts.
pub(super) struct PartChecker<'a> {
    pub(super) environment: Environment<'a>,
    pub(super) documents: &'a DocumentIndex,
    pub(super) policy: &'a FleetPolicy,
    pub(super) wants_graph: bool,
}

impl PartChecker<'_> {
    /// The findings for some parts together, beside what they need of the environment, and their links. `known` are findings
    /// about their objects that were there before.
    pub(super) fn check(&self, members: Members, known: &[&Finding]) -> (PartFindings, Links) {
        let all: Vec<&Object> = members.iter().map(|(_, object)| object).collect();
        let links = rules::links(&all, self.policy);
        let parts = Parts::of(&members);
        let mut of_rules = Vec::new();
        let objects = members.into_iter().map(|(_, object)| object).collect();
        let objects = unique(objects, &mut of_rules);
        let beside = self.environment.beside(&objects, &links.needed);
        of_rules.extend(rules::check_beside(&objects, &beside, self.policy));
        let of_tenants = self.of_tenants(&objects, &beside, &parts);
        let (encrypted, objects): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(rules::is_encrypted);
        of_rules.extend(objects.iter().flat_map(metadata::findings));
        let (left_alone, applied): (Vec<&Object>, Vec<&Object>) = beside
            .iter()
            .copied()
            .partition(|object| rules::is_encrypted(object));
        let left_alone: Vec<&Object> = encrypted.iter().chain(left_alone).collect();
        let outside = &self.policy.outside;
        let (graph, mut of_graph, elsewhere) =
            graph::build_part(&objects, &left_alone, outside, &applied);
        // Those about the environment are found where it is checked itself.
        let is_own = |one: &Finding| {
            let id = one.object.as_ref();
            id.is_none_or(|id| !beside.iter().any(|object| object.id == *id))
        };
        of_rules.retain(is_own);
        let unlisted = of_graph.extract_if(.., |one| one.id == rule_id::UNLISTED_DEPENDENCY);
        let unlisted = unlisted.map(|one| (parts.of_finding(&one), one)).collect();
        let of_all = of_tenants.iter().flat_map(|(_, found)| found);
        let all = of_rules.iter().chain(&of_graph).chain(of_all);
        let all = all.chain(known.iter().copied());
        let graph = self.wants_graph.then(|| PartGraph {
            graph: Arc::new(graph),
            parts: objects.iter().map(|one| parts.find(&one.id)).collect(),
        });
        let found = PartFindings {
            graph,
            clusters: Clusters::behind(all, self.documents, &objects),
            of_rules,
            of_graph,
            of_tenants,
            unlisted,
            elsewhere,
            object_count: objects.len(),
            embedded_count: embedded::count(&objects),
        };
        (found, links)
    }

    fn of_tenants(
        &self,
        objects: &[Object],
        beside: &[&Object],
        parts: &Parts,
    ) -> Vec<(usize, Vec<Finding>)> {
        if self.policy.tenants.is_empty() {
            return Vec::new();
        }
        let of_part = objects.chunk_by(|one, other| parts.find(&one.id) == parts.find(&other.id));
        of_part
            .map(|objects| {
                let found = tenancy::objects(self.policy, objects, beside);
                (parts.find(&objects[0].id), found)
            })
            .collect()
    }
}

/// The parts of objects and of the resources in them.
enum Parts {
    One(usize),
    Several(HashMap<ObjectId, usize>),
}

impl Parts {
    fn of(members: &Members) -> Self {
        let first = members.first().map_or(0, |(part, _)| *part);
        if members.iter().all(|(part, _)| *part == first) {
            return Self::One(first);
        }
        let mut parts = HashMap::new();
        for (part, object) in members {
            let carried = embedded::ids(object).map(|(id, _)| id);
            for id in std::iter::once(object.id.clone()).chain(carried) {
                parts.entry(id).or_insert(*part);
            }
        }
        Self::Several(parts)
    }

    fn find(&self, id: &ObjectId) -> usize {
        match self {
            Self::One(part) => *part,
            Self::Several(parts) => parts.get(id).copied().unwrap_or_default(),
        }
    }

    fn of_finding(&self, finding: &Finding) -> usize {
        let id = finding.object.as_ref();
        id.map_or(0, |id| self.find(id))
    }
}
