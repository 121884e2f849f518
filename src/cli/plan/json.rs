//! A plan for programs.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::text::word;
use crate::adapters::kubernetes::Compared;
use crate::apply::PruneDecision;
use crate::model::{Finding, Needed, ObjectId, Predecessor, Step};
use crate::plan::{self, Changes, Consequence, Entry, FieldChange, Group, Shown, ValueChange};

/// The steps and their impact, the changed lines, and what is not done.
pub(super) fn json(compared: &Compared, changes: &Changes) -> Json {
    let plan = &compared.plan;
    let steps: Vec<Json> = plan.steps.iter().map(|one| step(one, compared)).collect();
    let impact = &plan.impact;
    let counts = impact.changes.iter();
    let counts: BTreeMap<&str, usize> = counts
        .map(|(change, count)| (plan::word(*change), *count))
        .collect();
    let leaving = compared.leaving.iter();
    let leaving = leaving.map(|(id, decision)| json!({"object": id.to_string(), "change": word(decision), "message": why(decision)}));
    let message =
        |(id, message): &(ObjectId, String)| json!({"object": id.to_string(), "message": message});
    let groups: Vec<Json> = changes.groups().iter().map(group).collect();
    let refused = compared.refused.iter().map(message);
    let of_fleet = changes.refusals().map(refusal);
    let unseen = compared.unseen.iter();
    let unseen = unseen
        .map(|((group, kind), message)| json!({"group": group, "kind": kind, "message": message}));
    json!({
        "unseen": unseen.collect::<Vec<_>>(),
        "leaving": leaving.collect::<Vec<_>>(),
        "blocked": compared.blocked.iter().map(message).collect::<Vec<_>>(),
        "refused": refused.chain(impossible(compared)).chain(of_fleet).collect::<Vec<_>>(),
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Plan",
        "steps": steps,
        "changes": groups,
        "impact": {
            "changes": counts, "clusters": impact.clusters, "embedded": impact.embedded,
            "rolls": {"nodes": impact.rolled.nodes, "clusters": impact.rolled.clusters},
        },
    })
}

/// An error that is not about a field.
fn refusal(finding: &Finding) -> Json {
    let object = finding.object.as_ref().map(ToString::to_string);
    json!({"object": object, "message": finding.to_string()})
}

/// What cannot be changed, or not like this, by object.
fn impossible(compared: &Compared) -> impl Iterator<Item = Json> {
    let of = |(id, all): (&ObjectId, &Vec<Consequence>)| -> Vec<Json> {
        let all = all.iter().filter(|one| one.is_error());
        let message = |one: &Consequence| format!("{}; {}", one.message(), one.help());
        all.map(|one| json!({"object": id.to_string(), "message": message(one)}))
            .collect()
    };
    compared.consequences.iter().flat_map(of)
}

fn step(step: &Step, compared: &Compared) -> Json {
    let before = |before: &Predecessor| {
        let until = match before.until {
            Needed::Applied => "applied",
            Needed::Ready => "ready",
        };
        let object = &compared.plan.steps[before.step].object;
        json!({"object": object.to_string(), "until": until})
    };
    let after: Vec<Json> = step.after.iter().map(before).collect();
    let fields = compared.fields.get(&step.object).into_iter().flatten();
    let follows = compared
        .consequences
        .get(&step.object)
        .into_iter()
        .flatten();
    let follows = follows.map(|one| json!({"field": one.field.pointer(), "of": one.part.to_string(), "change": plan::word(one.change), "message": one.why}));
    json!({
        "object": step.object.to_string(), "change": plan::word(step.change), "after": after,
        "fields": fields.collect::<Vec<_>>(), "consequences": follows.collect::<Vec<_>>(),
    })
}

/// The changed lines that reach the same clusters.
fn group(group: &Group<'_>) -> Json {
    let lines: Vec<Json> = group.entries.iter().map(line).collect();
    json!({"clusters": group.clusters, "lines": lines})
}

fn line(entry: &Entry<'_>) -> Json {
    let values: Vec<Json> = entry.values.iter().map(value).collect();
    json!({
        "path": *entry.line.path, "line": entry.line.number, "change": plan::word(entry.change),
        "messages": entry.why, "values": values,
    })
}

/// One old and one new value. A value that may be a secret is absent, as is one that is not set.
fn value(value: &ValueChange<'_>) -> Json {
    let field = |field: &&FieldChange| {
        json!({
            "object": field.object.to_string(), "of": field.part.to_string(),
            "field": field.field.pointer(), "name": field.name, "change": plan::word(field.change()),
        })
    };
    let fields: Vec<Json> = value.fields.iter().map(field).collect();
    let mut json = json!({"fields": fields});
    let both = [("old", value.old), ("new", value.new)];
    if both.iter().any(|(_, shown)| **shown == Shown::Secret) {
        json["secret"] = Json::from(true);
    }
    for (name, shown) in both {
        if let Some(shown) = shown.value() {
            json[name] = shown.clone();
        }
    }
    json
}

fn why(decision: &PruneDecision) -> String {
    match decision {
        PruneDecision::Held(why) => why.clone(),
        PruneDecision::Unapproved(loss) => loss.to_string(),
        PruneDecision::After(other) | PruneDecision::ReleaseAfter(other) => {
            format!("after {other}")
        }
        _ => String::new(),
    }
}
