//! Which limit a tree exceeds, as a finding (Y24).
//!
//! In: the counts of a tree. Out: the one finding for a tree that is not compiled. It does not know what counts.

use std::sync::Arc;

use rayon::prelude::*;

use super::outlines::{File, Outline, Outlines};
use super::wrong;
use crate::model::{Budget, Cost, Finding, Limit, Message, Span, message};
use crate::yaml;

/// The id of the finding.
pub(super) const ID: &str = "Y24";

/// The result of reading a file.
pub(super) enum Read<'k> {
    /// It was read before.
    Outline(&'k Arc<Outline>),
    /// All of it.
    Whole {
        file: yaml::File,
        /// The share of the limits that it took.
        cost: Cost,
    },
}

/// Reads the files that are not `known`, at once, on all processors; `None` if all have too many values together.
pub(super) fn read<'k>(
    files: &[File<'_>],
    known: &'k Outlines,
    budget: &Arc<Budget>,
) -> Option<Vec<Read<'k>>> {
    let read = files.par_iter().map(|file| {
        if let Some(outline) = known.find(*file) {
            budget.spend(outline.cost);
            return Some(Read::Outline(outline));
        }
        let own = Budget::of_part(budget);
        let file = wrong::read(file.0, file.1, &own)?;
        Some(Read::Whole {
            file,
            cost: own.cost(),
        })
    });
    read.collect()
}

/// The finding for files with too many values, at the file that has the most of those that still count. They are
/// counted again one by one from `used`, so that it is always the same file.
pub(super) fn too_many_values(files: &[File<'_>], used: u64, budget: &Budget) -> Finding {
    budget.rewind(Limit::Values, used);
    let mut largest = (0, None);
    for (path, text) in files {
        let before = budget.used(Limit::Values);
        let is_read = yaml::read_within(path, text, budget).is_some();
        let own = budget.used(Limit::Values) - before;
        if own > largest.0 {
            largest = (own, Some(*path));
        }
        if !is_read {
            break;
        }
    }
    let finding = exceeded(Limit::Values, budget);
    match largest.1 {
        Some(path) => finding.at(&Span::top(path)),
        None => finding,
    }
}

/// The finding for an exceeded limit, without a place.
pub(super) fn exceeded(limit: Limit, budget: &Budget) -> Finding {
    let most = grouped(budget.most(limit));
    let message: Message = match limit {
        Limit::Values => message!(
            "the fleet is too large: its files have more than {most} keys and values, counting what aliases copy",
            most
        ),
        Limit::Documents => message!(
            "the fleet is too large: its files have more than {most} documents, counting the items of lists",
            most
        ),
        Limit::Patterns => message!(
            "the fleet is too large: the targets of its patches have more than {most} different regular \
             expressions, counting one that is too large as 20",
            most
        ),
        Limit::Objects => message!(
            "the fleet is too large: its definitions become more than {most} values, counting what overlays merge into them",
            most
        ),
        Limit::Overlays => message!(
            "the fleet is too large: to select and patch objects, its overlays take more than {most} steps",
            most
        ),
    };
    let remedy = match limit {
        Limit::Values => "write fewer aliases",
        Limit::Documents => "remove documents that belong elsewhere",
        Limit::Patterns => "write names without special characters, or labels, to select objects",
        Limit::Objects => "make its longest lists and texts shorter",
        Limit::Overlays => "select fewer objects, or combine patches",
    };
    Finding::error(ID, message).help(format!(
        "{remedy}, exclude files with `.capstanignore`, or split the fleet: of a fleet over a limit nothing is \
         checked, applied or removed"
    ))
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
