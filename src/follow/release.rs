//! A revision that can be applied.
//!
//! In: what was kept of a compiled revision. Out: what is applied of it; of a broken one, its findings. Objects are not kept
//! beside their plan: they are most of a large fleet. It does not know when it is applied.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::compile::{Checked, Digest};
use crate::graph::Graph;
use crate::model::{EmbeddedId, Finding, Object};
use crate::plan::{self, Kept, Plan};
use crate::reporting::report::{Base, Holdings, Notes};

/// A revision without errors.
#[derive(Clone)]
pub(crate) struct Release {
    pub(crate) revision: String,
    pub(crate) plan: Arc<Plan>,
    /// The resources that controllers create from its objects, with versions.
    pub(crate) embedded: Arc<[EmbeddedId]>,
    pub(crate) graph: Arc<Graph>,
    /// The notes of its check.
    pub(crate) notes: Notes,
    findings: Arc<[Finding]>,
    holdings: Arc<Holdings>,
}

/// A compiled revision.
pub(crate) enum Compilation {
    /// It has no errors.
    Sound(Release),
    /// It has errors; these are its findings.
    Broken(Checked),
}

impl Release {
    /// Returns true if there is nothing to apply.
    pub(crate) fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

impl Compilation {
    pub(crate) fn new(revision: &str, digest: Digest<Kept>) -> Self {
        Self::after(&[], revision, digest, |_| Vec::new())
    }

    /// A revision that comes after those with the plans `applied`: what they own in Azure must not be owned again. `objects`
    /// are those of the revision in some namespaces; few revisions need any.
    pub(crate) fn after(
        applied: &[Arc<Plan>],
        revision: &str,
        digest: Digest<Kept>,
        objects: impl Fn(&BTreeSet<&str>) -> Vec<Object>,
    ) -> Self {
        let parts = digest.with_ids();
        let parts = parts.filter_map(|(id, kept)| Some((&**id, kept.part()?)));
        let holdings = Holdings::of_parts(parts);
        let Digest {
            mut checked,
            kept,
            graph,
        } = digest;
        if checked.has_errors() {
            return Self::Broken(checked);
        }
        let (plan, embedded) = plan::of_kept(&kept, &graph);
        let found = applied
            .iter()
            .map(|applied| plan::second_owners(&plan, applied, &objects))
            .find(|found| !found.is_empty());
        checked.findings.splice(..0, found.unwrap_or_default());
        if checked.has_errors() {
            return Self::Broken(checked);
        }
        Self::Sound(Release {
            revision: revision.to_owned(),
            holdings: Arc::new(holdings),
            notes: Notes::of(&checked),
            findings: checked.findings.into(),
            plan: Arc::new(plan),
            embedded,
            graph,
        })
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
            Self::Broken(checked) => (true, checked.findings.clone().into(), Arc::default()),
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
