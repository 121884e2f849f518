//! What was read of a fleet, ready to be compiled.
//!
//! In: the documents. Out: definitions, overlays and plain objects; and, from what was found in all of them, the findings as they are
//! reported. It does not know how definitions become objects.

use std::sync::Arc;

use super::compiled::Checked;
use super::documents::Documents;
use super::enforced::Enforced;
use super::lost;
use super::made::Made;
use super::misspelt;
use super::once::{self, Clusters};
use super::order::sort;
use super::outliers::Outliers;
use super::wrong::{same_names, without_selector};
use crate::api::fleet::FleetPolicy;
use crate::model::{Budget, Finding, Limit, Node, Object, Severity, Tree};
use crate::overlay::{Effects, Overlays};
use crate::rules::{self, tenancy};

/// What was read of a fleet.
pub(super) struct Sources {
    pub(super) documents: Documents,
    /// One from an outline has no `spec`: use [`Self::patched`].
    pub(super) definitions: Vec<Node>,
    pub(super) raw: Vec<Object>,
    pub(super) overlays: Overlays,
    pub(super) enforced: Enforced,
    outliers: Outliers,
}

/// What was found in the objects of a fleet.
#[derive(Default)]
pub(super) struct Found {
    /// The findings of the rules.
    pub(super) of_rules: Vec<Finding>,
    /// The findings about references.
    pub(super) of_graph: Vec<Finding>,
    /// The entries of `outside` in the Fleet document without effect.
    pub(super) unneeded: Vec<Finding>,
    pub(super) clusters: Clusters,
    pub(super) unread: usize,
    pub(super) object_count: usize,
    pub(super) embedded_count: usize,
}

impl Sources {
    /// # Errors
    /// The result for the limit that the documents exceed.
    pub(super) fn of(mut documents: Documents) -> Result<Self, Checked> {
        documents.allows(Limit::Patterns, 0);
        if let Some(over) = documents.over {
            return Err(Checked::stopped(over));
        }
        documents
            .findings
            .extend(misspelt::correct_kinds(&mut documents.raw));
        documents.findings.extend(same_names(&documents.overlays));
        documents
            .findings
            .extend(without_selector(&documents.overlays));
        documents.clear_namespaces();
        let enforced = Enforced::of(&documents.overlays);
        let outliers = Outliers::of(&documents.definitions, &documents.overlays, &documents.raw);
        let overlays = Overlays::new(
            std::mem::take(&mut documents.overlays),
            documents.list_keys(),
        );
        let mut overlays = overlays.within(Arc::clone(&documents.budget));
        let all = documents
            .definitions
            .iter()
            .chain(&documents.lost.documents);
        if !overlays.weigh(all) {
            return Err(documents.stopped(None));
        }
        let definitions = std::mem::take(&mut documents.definitions);
        definitions.iter().for_each(|node| overlays.note(node));
        let broken = documents.lost.documents.iter();
        broken.for_each(|node| overlays.without(node));
        Ok(Self {
            raw: std::mem::take(&mut documents.raw),
            definitions,
            overlays,
            enforced,
            outliers,
            documents,
        })
    }

    /// A definition, merged and with its objects patched.
    pub(super) fn patched(&self, node: &Node, budget: &Budget) -> (Made, Effects) {
        let (overlays, lost) = (&self.overlays, &self.documents.lost);
        let whole = self.documents.taken_outlines.whole(node);
        let (_, mut made) = Made::of(whole, overlays, &self.enforced, lost, budget);
        let mut effects = overlays.apply(&mut made.objects, budget);
        // A patch may add resources.
        let misspelt = misspelt::correct_kinds(&mut made.objects);
        effects.findings.extend(misspelt);
        (made, effects)
    }

    /// The findings for overlays without effect, once all of them were applied. It adds to the findings so far, and may take some of
    /// them back.
    pub(super) fn blame_overlays(&mut self) {
        let documents = &mut self.documents;
        let mut unused = self.overlays.unused();
        let effects = &mut documents.lost.effects;
        self.outliers
            .blame_labels(&mut unused, &mut documents.findings, effects);
        let idle = self.overlays.idle();
        let blamed = lost::blame(idle, &mut unused, &mut documents.findings);
        documents.lost.effects.extend(blamed);
        documents.findings.append(&mut unused);
    }

    /// The findings as they are reported.
    pub(super) fn settle(self, policy: &FleetPolicy, tree: &Tree, found: Found) -> Checked {
        let Self {
            documents,
            definitions,
            overlays,
            outliers,
            ..
        } = self;
        let Documents {
            mut findings,
            documents,
            suppressions,
            lost,
            ..
        } = documents;
        findings.extend(found.of_rules);
        // What cannot be read may refer to what the Fleet document names.
        let is_error = |one: &Finding| one.severity == Severity::Error;
        if !findings.iter().any(is_error) {
            findings.extend(found.unneeded);
        }
        findings.extend(found.of_graph);
        findings.extend(tenancy::overlays(policy, tree, overlays.reached()));
        outliers.blame_namespaces(&mut findings);
        sort(&mut findings);
        let findings = lost.settle(findings);
        let findings = once::group(findings, &documents, &found.clusters);
        let (findings, allowed) = suppressions.settle(findings);
        let mut findings = rules::joined(findings);
        sort(&mut findings);
        // A mistake in an overlay may be behind others.
        findings.sort_by_key(|finding| !documents.has(finding));
        Checked {
            findings,
            allowed,
            definitions: definitions.len(),
            unread: found.unread,
            object_count: found.object_count,
            embedded_count: found.embedded_count,
        }
    }

    /// The result for the limit that is exceeded.
    pub(super) fn stopped(&self) -> Checked {
        self.documents.stopped(self.overlays.stopped_at())
    }
}
