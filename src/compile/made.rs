//! One definition, merged and expanded.
//!
//! In: a definition as its document, and what the overlays of the fleet say. Out: its objects before patches, and findings. It does
//! not know other definitions.

use super::enforced::Enforced;
use super::lost::{self, Lost};
use super::{metadata, pools};
use crate::api::cluster_definition::{self, ClusterDefinition};
use crate::expand;
use crate::model::{Budget, Finding, Limit, Node, Object, ObjectId, Path, Segment, Severity, Span};
use crate::overlay::Overlays;

/// The result of compiling one definition alone.
#[derive(Clone)]
pub(super) struct Made {
    /// The id of the definition and where it is; `None` if it cannot be read.
    pub(super) name: Option<(ObjectId, Span)>,
    pub(super) of_definition: Vec<Finding>,
    pub(super) objects: Vec<Object>,
    pub(super) of_objects: Vec<Finding>,
    /// Findings about what overlays that cannot be read may set.
    pub(super) effects: Vec<Finding>,
    /// The place of its name, if there are such overlays, or if it is only read as far as it can be.
    pub(super) incomplete: Option<Span>,
    /// The places of its errors, if it is only read as far as it can be.
    pub(super) reported: Vec<Span>,
    /// True if nobody knows which overlays select it.
    pub(super) lacks_labels: bool,
}

impl Made {
    /// Merges the overlays into the definition and expands it. Returns the merged definition, too.
    pub(super) fn of(
        node: Node,
        overlays: &Overlays,
        enforced: &Enforced,
        unread: &Lost,
        budget: &Budget,
    ) -> (Node, Self) {
        let id = cluster_definition::id(&node);
        let mut lost = overlays.lost(&node);
        let own = unread.of_definition(&id);
        lost.extend(own.iter().cloned());
        let written = pools::names(&node);
        let (merged, findings) = overlays.merge_within(node, budget);
        let findings = findings.into_iter().map(|found| found.of(&id));
        let mut of_definition: Vec<Finding> = findings.collect();
        let (definition, findings) = cluster_definition::read(&merged);
        of_definition.extend(findings);
        of_definition.extend(metadata::of_definition(&id, &merged));
        let lacks_labels = lost::lacks_labels(&of_definition) || own.contains(&Path::default());
        lost.extend(lacks_labels.then(Path::default));
        pools::explain(&written, &merged, &mut of_definition);
        let (effects, of_definition): (Vec<_>, Vec<_>) = of_definition
            .into_iter()
            .partition(|finding| lost::explains(&lost, finding));
        let is_whole = definition.is_some();
        // Without names and labels, nobody knows what it makes and which overlays select it.
        let is_known = !of_definition.iter().any(is_of_names);
        let rest = || cluster_definition::read_rest(&merged);
        let definition = definition.or_else(|| rest().filter(|_| is_known));
        let is_rest = !is_whole && definition.is_some();
        let spans = of_definition.iter().filter(|_| is_rest);
        let reported = spans.filter_map(|finding| finding.span.clone()).collect();
        let expanded = definition
            .as_ref()
            .filter(|definition| budget.allows(Limit::Objects, expand::weight(definition)))
            .map(expand::expand);
        let (objects, mut of_objects) = expanded.unwrap_or_default();
        of_objects.extend(enforced.findings(&objects));
        let name = |read: ClusterDefinition| (read.id, read.origin.span().clone());
        let name = definition.map(name);
        let made = Self {
            incomplete: name
                .as_ref()
                .filter(|_| is_rest || !lost.is_empty())
                .map(|(_, span)| span.clone()),
            name,
            of_definition,
            objects,
            of_objects,
            effects,
            reported,
            lacks_labels,
        };
        (merged, made)
    }
}

/// Returns true for an error in the names of objects: in the metadata, or in the name of a node pool.
fn is_of_names(finding: &Finding) -> bool {
    let [metadata, pools] = ["metadata", "spec.nodePools"].map(Path::dotted);
    let is_name = |field: &Path| {
        let is_last = |last: &Segment| *last == Segment::Key("name".to_owned());
        field.0.starts_with(&metadata.0)
            || field.0.starts_with(&pools.0) && field.0.last().is_some_and(is_last)
    };
    finding.severity == Severity::Error && finding.field.as_ref().is_some_and(is_name)
}
