//! A revision that can be applied.
//!
//! In: a compiled revision. Out: what is applied of it; of a broken one, its findings. Objects are not kept beside their plan:
//! they are most of a large fleet. It does not know when it is applied.

use std::sync::Arc;

use crate::compile::Compiled;
use crate::graph::Graph;
use crate::model::{Finding, ObjectId};
use crate::plan::{self, ApplySet, Plan};
use crate::reporting::report::{Base, Holdings, Notes};

/// A revision without errors.
#[derive(Clone)]
pub(crate) struct Release {
    pub(crate) revision: String,
    pub(crate) plan: Arc<Plan>,
    /// What controllers make of its objects, with versions.
    pub(crate) embedded: Arc<[(ObjectId, String)]>,
    pub(crate) graph: Arc<Graph>,
    /// What its check says of it.
    pub(crate) notes: Notes,
    findings: Arc<[Finding]>,
    holdings: Arc<Holdings>,
}

/// A compiled revision.
pub(crate) enum Compilation {
    /// It has no errors.
    Sound(Release),
    /// It has errors; these are its findings, without objects.
    Broken(Compiled),
}

impl Release {
    /// Returns true if there is nothing to apply.
    pub(crate) fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

impl Compilation {
    pub(crate) fn new(revision: &str, mut compiled: Compiled, set: &ApplySet) -> Self {
        let embedded = compiled.embedded();
        let objects = std::mem::take(&mut compiled.objects);
        if compiled.has_errors() {
            return Self::Broken(compiled);
        }
        Self::Sound(Release {
            revision: revision.to_owned(),
            holdings: Arc::new(Holdings::of(&objects)),
            notes: Notes::of(&compiled),
            findings: compiled.checked.findings.into(),
            plan: Arc::new(plan::into_plan(objects, &compiled.graph, set)),
            embedded: embedded.into(),
            graph: compiled.graph,
        })
    }

    /// A revision that comes after those with the plans `applied`: what they own in Azure must not be owned again.
    pub(crate) fn after(
        applied: &[Arc<Plan>],
        revision: &str,
        mut compiled: Compiled,
        set: &ApplySet,
    ) -> Self {
        if !compiled.has_errors() {
            let (objects, graph) = (&compiled.objects, &compiled.graph);
            let found = applied
                .iter()
                .map(|applied| plan::second_owners(set, objects, graph, applied))
                .find(|found| !found.is_empty());
            compiled.findings.splice(..0, found.unwrap_or_default());
        }
        Self::new(revision, compiled, set)
    }

    /// The release, if it has something to apply.
    pub(crate) fn good(&self) -> Option<&Release> {
        match self {
            Self::Sound(release) if !release.is_empty() => Some(release),
            Self::Sound(_) | Self::Broken(_) => None,
        }
    }

    /// What it comes to, if it has no errors.
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Sound(release) => Some(&release.plan),
            Self::Broken(_) => None,
        }
    }

    /// The same for candidates, which are merged onto `commit`; `name` is what people call that.
    pub(crate) fn base(&self, commit: &str, name: String) -> Base {
        let (has_objects, findings, holdings) = match self {
            Self::Sound(release) => {
                let (findings, holdings) = (&release.findings, &release.holdings);
                (
                    !release.is_empty(),
                    Arc::clone(findings),
                    Arc::clone(holdings),
                )
            }
            Self::Broken(compiled) => (true, compiled.findings.clone().into(), Arc::default()),
        };
        Base {
            name,
            commit: commit.to_owned(),
            has_objects,
            findings,
            holdings,
        }
    }
}
