//! A definition by itself, compiled.
//!
//! In: what was made of it and found in it. Out: the same as one value, which can be kept. It does not know other parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::made::Made;
use super::part_checker::PartFindings;
use crate::model::Cost;
use crate::overlay::Effects;
use crate::rules::Links;

/// A definition by itself, without its objects.
#[derive(Clone)]
pub(super) struct Part {
    /// True if patches may not have met all of its objects.
    pub(super) is_incomplete: bool,
    pub(super) made: Made,
    pub(super) effects: Effects,
    pub(super) found: PartFindings,
    pub(super) links: Arc<Links>,
    /// The namespaces of its objects.
    pub(super) namespaces: BTreeSet<String>,
    /// True if another definition has its id.
    pub(super) is_twice: bool,
}

/// A part, and a value for each of its objects.
#[derive(Clone)]
pub(super) struct CompiledPart<T> {
    pub(super) part: Part,
    pub(super) kept: Vec<T>,
    /// The share of the limits that it took.
    pub(super) cost: Cost,
    /// False if it was compiled before.
    pub(super) is_new: bool,
}
