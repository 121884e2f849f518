//! Changes that replace nodes or cannot be made, as findings: one per changed line.

use std::collections::BTreeSet;

use super::{Changes, FieldChange, beside};
use crate::model::{Change, Finding};

/// How many fields a finding names.
const NAMED: usize = 5;

impl Changes {
    /// U01 for each line that changes what cannot be changed, and U02 for each that replaces nodes; errors first.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let of = |change: Change| {
            self.lines.values().filter_map(move |fields| {
                let fields = fields.iter().filter(|field| field.change() == change);
                finding(&fields.collect::<Vec<_>>())
            })
        };
        of(Change::Replace).chain(of(Change::Rolling)).collect()
    }

    /// How many fields change that cannot.
    #[must_use]
    pub fn refused(&self) -> usize {
        let changes = self.fields().map(FieldChange::change);
        changes.filter(|change| *change == Change::Replace).count()
    }
}

/// The finding about the fields of one line that have consequences of one kind.
fn finding(fields: &[&FieldChange]) -> Option<Finding> {
    let first = fields.first()?;
    let consequence = first.consequence.as_ref()?;
    let message = message(fields);
    let finding = match consequence.change {
        Change::Replace => Finding::error("U01", message),
        _ => Finding::warning("U02", message),
    };
    let clusters = fields.iter().filter_map(|field| field.cluster.clone());
    let clusters: BTreeSet<String> = clusters.collect();
    let mut finding = finding
        .at(&first.span)
        .of(&first.object)
        .field(&first.field)
        .help(consequence.help());
    if clusters.len() > 1 {
        finding.clusters = clusters.into_iter().collect();
    }
    Some(finding)
}

/// `spec.x of Kind/ns/name cannot be changed from "a" to "b": why`
fn message(fields: &[&FieldChange]) -> String {
    let verb = match (fields, fields[0].change()) {
        ([one], Change::Replace) if one.name.is_empty() => "cannot be removed",
        (_, Change::Replace) => "cannot be changed",
        ([_], _) => "changes",
        _ => "change",
    };
    let values = match fields {
        [one, rest @ ..]
            if rest
                .iter()
                .all(|other| (&other.old, &other.new) == (&one.old, &one.new)) =>
        {
            let (old, new) = beside(&one.old, &one.new);
            match one.name.as_str() {
                "" => String::new(),
                _ => format!(" from {old} to {new}"),
            }
        }
        _ => String::new(),
    };
    let why = fields.iter().filter_map(|field| field.consequence.as_ref());
    let why: BTreeSet<&str> = why.map(|one| one.why).collect();
    let why = why.into_iter().collect::<Vec<_>>().join("; ");
    if let [one] = fields {
        return format!("{one} {verb}{values}: {why}");
    }
    let named: Vec<String> = fields.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match fields.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} fields {verb}{values}: {}{more}: {why}",
        fields.len(),
        named.join(", ")
    )
}
