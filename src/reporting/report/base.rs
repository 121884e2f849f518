//! The findings that a candidate has from what it is merged onto.
//!
//! In: the findings of the merge, and those of the base. Out: those of the candidate, and the others. Lines are not
//! compared, since the candidate may move them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::losses::Holdings;
use crate::model::{Arg, Finding, ObjectId, Severity};

/// What candidates are merged onto.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// What it is called: `the branch main`.
    pub(crate) name: String,
    /// Its commit.
    pub(crate) commit: String,
    /// Whether it has any object, or may have some that cannot be read.
    pub(crate) has_objects: bool,
    /// Its findings.
    pub(crate) findings: Arc<[Finding]>,
    /// Its clusters and node pools, if it has no errors.
    pub(crate) holdings: Arc<Holdings>,
}

/// What makes two findings the same.
type Key<'a> = (
    &'static str,
    Option<&'a str>,
    Option<&'a ObjectId>,
    Vec<Arg>,
);

fn key(finding: &Finding) -> Key<'_> {
    let path = finding.span.as_ref().map(|span| &*span.path);
    let subject = finding.subject().into_owned();
    (finding.id, path, finding.object.as_ref(), subject)
}

impl Base {
    /// How many errors it has.
    pub(crate) fn errors(&self) -> usize {
        let errors = self.findings.iter();
        errors
            .filter(|finding| finding.severity == Severity::Error)
            .count()
    }

    /// The findings that the base has not, and those that it has.
    pub(super) fn split(&self, findings: &[Finding]) -> (Vec<Finding>, Vec<Finding>) {
        let mut left: BTreeMap<Key<'_>, usize> = BTreeMap::new();
        for finding in &*self.findings {
            *left.entry(key(finding)).or_default() += 1;
        }
        let (mut own, mut existing) = (Vec::new(), Vec::new());
        for finding in findings {
            match left.get_mut(&key(finding)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    existing.push(finding.clone());
                }
                _ => own.push(finding.clone()),
            }
        }
        (own, existing)
    }
}
