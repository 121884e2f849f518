//! Changes that replace nodes or cannot be made, as findings: one per changed line.

use std::collections::{BTreeMap, BTreeSet};

use super::{Changes, FieldChange, beside, changed_word, migration};
use crate::model::{Change, Finding, ObjectId, Path};
use crate::plan::{Edit, RefusedVersion, Remedy};

/// How many fields a finding names.
const NAMED: usize = 5;
/// How many fields of one line are named one by one.
const FEW: usize = 3;

/// A map that is added or removed as a whole, however many lines it has.
type Cause<'a> = (&'a ObjectId, &'a ObjectId, &'a Path);

impl Changes {
    /// D14 for each cluster that would lose its last pool, U04 for each resource that would have two owners, U05 and
    /// U06 for each line with a version that Azure refuses, U01 for each that changes what cannot be changed, U02 for each
    /// that replaces nodes, and U03 for each that changes the version of Azure's API; errors first.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let of = |change: Change| {
            let mut reported: BTreeSet<Cause<'_>> = BTreeSet::new();
            self.lines.values().filter_map(move |fields| {
                let fields = fields.iter().filter(|field| field.change() == change);
                let fields =
                    fields.filter(|field| whole(field).is_none_or(|it| reported.insert(it)));
                finding(&fields.collect::<Vec<_>>())
            })
        };
        let mut found: Vec<Finding> = self.refusals().cloned().collect();
        found.extend(self.lines.values().flat_map(|fields| versions(fields)));
        found.extend(of(Change::Replace).chain(of(Change::Rolling)));
        migration::complete(self, &mut found);
        found
    }

    /// Whether any of the [findings](Self::findings) is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        let counts = [
            self.without_pool(),
            self.owned_twice(),
            self.used(),
            self.refused(),
        ];
        counts.iter().any(|count| *count > 0)
    }

    /// The errors that are not about fields: D14, U04 and U07.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.last_pools.iter().chain(&self.second_owners);
        findings.chain(&self.used)
    }

    /// How many fields change that cannot.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.consequences().filter(|one| one.is_error()).count()
    }
}

fn whole(field: &FieldChange) -> Option<Cause<'_>> {
    let consequence = field.consequence.as_ref()?;
    let is_inside = levels_inside(field) > 0 && consequence.edit != Edit::Changed;
    is_inside.then_some((&field.object, &field.part, &consequence.field))
}

/// How many levels the change is below the field that has the consequence.
fn levels_inside(field: &FieldChange) -> usize {
    let consequence = field.consequence.as_ref();
    consequence.map_or(0, |one| {
        field.field.0.len().saturating_sub(one.field.0.len())
    })
}

/// The findings about the fields of one line with versions that Azure refuses: one for each way in which they change.
fn versions(fields: &[FieldChange]) -> impl Iterator<Item = Finding> {
    let mut changes: BTreeMap<&RefusedVersion, Vec<&FieldChange>> = BTreeMap::new();
    for field in fields {
        if let Some(Remedy::Version(version)) = field.consequence.as_ref().map(|one| &one.remedy) {
            changes.entry(version).or_default().push(field);
        }
    }
    changes.into_values().filter_map(|fields| finding(&fields))
}

/// The finding about the fields of one line that have consequences of one kind.
fn finding(fields: &[&FieldChange]) -> Option<Finding> {
    let first = fields.first()?;
    let consequence = first.consequence.as_ref()?;
    let message = match &consequence.remedy {
        Remedy::Version(version) => versions_message(fields, version, consequence.why),
        _ => message(fields),
    };
    let finding = match consequence.is_error() {
        true => Finding::error(consequence.rule(), message),
        false => Finding::warning(consequence.rule(), message),
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
        ([one], Change::Replace) => refused(one),
        (_, Change::Replace) => "cannot be changed",
        ([_], _) => "changes",
        _ => "change",
    };
    let values = match fields {
        [one, rest @ ..]
            if whole(one).is_none()
                && rest
                    .iter()
                    .all(|other| (&other.old, &other.new) == (&one.old, &one.new)) =>
        {
            let (old, new) = beside(&one.old, &one.new);
            match one.name.as_str() {
                "" => String::new(),
                _ => format!(" from {old} to {new}"),
            }
        }
        many => same_word(many).map_or_else(String::new, |(old, new)| {
            format!(", in which {old:?} becomes {new:?}")
        }),
    };
    let why = fields.iter().filter_map(|field| field.consequence.as_ref());
    let why: BTreeSet<&str> = why.map(|one| one.why).collect();
    let why = why.into_iter().collect::<Vec<_>>().join("; ");
    if let [one] = fields {
        return format!("{} {verb}{values}: {why}", named(one));
    }
    // Of many the first is an example: the line is one for all.
    let names = match fields.len() {
        few if few <= FEW => some(fields.iter().map(|one| named(one))),
        many => format!("{} and {} more", named(fields[0]), many - 1),
    };
    format!("{} fields {verb}{values}: {names}: {why}", fields.len())
}

/// The word that changes in all of these, if it is the same one.
fn same_word(fields: &[&FieldChange]) -> Option<(String, String)> {
    let mut words = fields.iter().map(|one| changed_word(&one.old, &one.new));
    let first = words.next()??;
    let is_same = |word: Option<(String, String)>| word.as_ref() == Some(&first);
    words.all(is_same).then_some(first)
}

/// `the version of 2 control planes goes down from 4.21 to 4.20: Kind/ns/one, Kind/ns/two: why`
fn versions_message(fields: &[&FieldChange], version: &RefusedVersion, why: &str) -> String {
    if let [one] = fields {
        return format!("{one} {version}: {why}");
    }
    let of = match fields[0].part.kind.as_str() {
        "HcpOpenShiftCluster" => "control planes",
        _ => "node pools",
    };
    let names = some(fields.iter().map(|one| one.part.to_string()));
    format!(
        "the version of {} {of} {version}: {names}: {why}",
        fields.len()
    )
}

/// The first names, and how many more there are.
fn some(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names: Vec<String> = names.take(NAMED).collect();
    format!("{}{more}", names.join(", "))
}

/// The field; of a map that is added or removed as a whole that map.
fn named(field: &FieldChange) -> String {
    let levels = 0..whole(field).map_or(0, |_| levels_inside(field));
    let name = levels.fold(field.name.as_str(), |name, _| {
        name.rsplit_once(['.', '[']).map_or(name, |(map, _)| map)
    });
    match name {
        "" => field.part.to_string(),
        name => format!("{name} of {}", field.part),
    }
}

fn refused(field: &FieldChange) -> &'static str {
    let edit = whole(field).and(field.consequence.as_ref());
    match edit.map(|one| one.edit) {
        _ if field.name.is_empty() => "cannot be removed",
        Some(Edit::Added) => "cannot be added",
        Some(Edit::Removed) => "cannot be removed",
        _ => "cannot be changed",
    }
}
