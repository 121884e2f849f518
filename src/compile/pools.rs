//! Node pools that only an overlay has: its name for the pool is probably wrong.
//!
//! In: the names of the pools that a definition writes, the merged definition, and its findings. Out: the findings,
//! with one for all that such a pool lacks. It does not know which overlay the pool is from; the places do.

use crate::model::{Finding, Node, Path, Segment, rule_id};
use kube_schema::nearest;

/// The names of the node pools of a definition.
pub(super) fn names(definition: &Node) -> Vec<String> {
    let pools = definition
        .at(&["spec", "nodePools"])
        .and_then(Node::as_list);
    let names = pools
        .into_iter()
        .flatten()
        .filter_map(|pool| pool.text(&["name"]));
    names.map(str::to_owned).collect()
}

/// A pool that the definition does not write, and what it lacks.
struct Stray {
    index: usize,
    name: String,
    fields: Vec<String>,
    finding: Finding,
}

/// Replaces the findings for fields that a pool lacks by one, if the definition does not write the pool. If it writes
/// one without a name, that is the cause, and nothing is left.
pub(super) fn explain(written: &[String], merged: &Node, findings: &mut Vec<Finding>) {
    let lacks_name = |finding: &Finding| lacking(finding).is_some_and(|(_, field)| field == "name");
    let is_nameless = findings.iter().any(lacks_name);
    let mut strays: Vec<Stray> = Vec::new();
    findings.retain(|finding| {
        let Some(stray) = Stray::of(written, merged, finding) else {
            return true;
        };
        match strays.iter_mut().find(|other| other.index == stray.index) {
            Some(other) => other.fields.extend(stray.fields),
            None => strays.push(stray),
        }
        false
    });
    let reported = strays.into_iter().filter(|_| !is_nameless);
    findings.extend(reported.map(|stray| stray.finding(written)));
}

impl Stray {
    fn of(written: &[String], merged: &Node, finding: &Finding) -> Option<Self> {
        let (index, field) = lacking(finding)?;
        let pool = merged.lookup(&Path::dotted("spec.nodePools").index(index))?;
        let name = pool.text(&["name"])?;
        let is_written = written.iter().any(|one| one == name);
        (!is_written).then(|| Self {
            index,
            name: name.to_owned(),
            fields: vec![field.to_owned()],
            finding: finding.clone(),
        })
    }

    fn finding(self, written: &[String]) -> Finding {
        let (name, fields) = (self.name, self.fields.join("`, `"));
        let add = format!("to add a node pool, write `{fields}`, too");
        let help = match nearest(&name, written.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? {add}"),
            None => format!("the definition has `{}`; {add}", written.join("`, `")),
        };
        let message =
            format!("the definition has no node pool `{name}` to which this could be added");
        Finding {
            message,
            ..self.finding
        }
        .help(help)
    }
}

/// The index of a pool and the field that it lacks.
fn lacking(finding: &Finding) -> Option<(usize, &str)> {
    match finding.field.as_ref()?.0.as_slice() {
        [
            Segment::Key(spec),
            Segment::Key(pools),
            Segment::Index(index),
            Segment::Key(field),
        ] => {
            let is_pool =
                finding.id == rule_id::MISSING_FIELD && spec == "spec" && pools == "nodePools";
            is_pool.then_some((*index, field))
        }
        _ => None,
    }
}
