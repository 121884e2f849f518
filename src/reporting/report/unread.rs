//! Files that define nothing any more although they are there, and the objects that leave the fleet because of it.
//!
//! In: the findings of a revision, and the objects that it lacks. Out: lines for people. A deleted file is not
//! among them: its objects leave on purpose.

use std::collections::BTreeMap;

use crate::api::labels;
use crate::api::platform::is_leader;
use crate::model::{Finding, ObjectId, Payload, Severity};

/// How many objects of a file are named.
const NAMED: usize = 3;

/// The files of a revision that define nothing: by the path that objects have as their source, why.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread(BTreeMap<String, String>);

impl Unread {
    /// Those that have only comments (Y13; an empty file is an error) and those for other tools (Y16).
    pub(crate) fn of(findings: &[Finding]) -> Self {
        let file = |finding: &Finding| {
            let path = &*finding.span.as_ref()?.path;
            let why = match finding.id {
                "Y13" => format!("`{path}` contains no document"),
                "Y16" => finding.message.clone(),
                _ => return None,
            };
            let is_warning = finding.severity == Severity::Warning;
            is_warning.then(|| (path.to_owned(), why))
        };
        Self(findings.iter().filter_map(file).collect())
    }

    /// A line for each file that was the source of objects that are `gone`: why, and which.
    pub(super) fn lines<'a>(
        &self,
        gone: impl Iterator<Item = (&'a ObjectId, &'a Payload)>,
    ) -> Vec<String> {
        let mut by_file: BTreeMap<&String, Vec<&ObjectId>> = BTreeMap::new();
        for (id, payload) in gone.filter(|_| !self.0.is_empty()) {
            let payload = payload.json();
            let source = payload["metadata"]["annotations"][labels::SOURCE].as_str();
            if let Some(why) = source.and_then(|source| self.0.get(source)) {
                by_file.entry(why).or_default().push(id);
            }
        }
        let line = |(why, ids): (&String, Vec<&ObjectId>)| format!("{why}: {}", named(ids));
        by_file.into_iter().map(line).collect()
    }
}

/// A few objects by name, clusters first, and the number of the others.
fn named(mut ids: Vec<&ObjectId>) -> String {
    ids.sort_by_key(|id| (!is_leader(id), *id));
    let names = ids.iter().take(NAMED).map(ToString::to_string);
    let names = names.collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
