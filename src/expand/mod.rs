//! Expands a definition to the objects of its cluster.
//!
//! In: a [`ClusterDefinition`], overlays already merged. Out: objects in apply order, every value
//! with its origin (the line that set it; for a default or a constant, the definition's name), and
//! findings. The same definition always gives the same bytes.
//!
//! It does not know clusters, files, other definitions, or who applies the objects.

mod aro;
mod hyper_shift;
mod node;
mod top;
mod values;
mod weight;

pub use weight::weight;

use crate::api::cluster_definition::{ClusterDefinition, Spec};
use crate::model::{Finding, Object};

/// The objects of the cluster in apply order, and findings. A definition that cannot be expanded gives only
/// findings.
#[must_use]
pub fn expand(definition: &ClusterDefinition) -> (Vec<Object>, Vec<Finding>) {
    match &definition.spec {
        Spec::Aro(spec) => aro::expand(definition, spec),
        Spec::HyperShift(spec) => hyper_shift::expand(definition, spec),
    }
}
