//! Makes a sequence on which two servers differ as small as it can be made by leaving things out.

use serde_json::Value as Json;

use super::sequence::Step;

/// How many smaller sequences are tried at most.
const TRIES: usize = 600;

/// A part of `sequence` that still `differs`, and from which nothing more can be left out.
pub(super) fn shrink(
    mut sequence: Vec<Step>,
    mut differs: impl FnMut(&[Step]) -> bool,
) -> Vec<Step> {
    let mut tries = 0;
    loop {
        let before = sequence.clone();
        let mut at = 0;
        while let Some(smaller) = candidates(&sequence).into_iter().nth(at) {
            tries += 1;
            if tries > TRIES {
                return sequence;
            }
            if differs(&smaller) {
                sequence = smaller;
            } else {
                at += 1;
            }
        }
        if sequence == before {
            return sequence;
        }
    }
}

/// `sequence` with one thing less, the largest things first: the steps from the last on, then
/// parameters and parts of bodies.
fn candidates(sequence: &[Step]) -> Vec<Vec<Step>> {
    let steps = (0..sequence.len()).rev().map(|at| {
        let mut smaller = sequence.to_vec();
        smaller.remove(at);
        smaller
    });
    let parts = sequence.iter().enumerate().flat_map(|(at, step)| {
        plainer(step).into_iter().map(move |step| {
            let mut smaller = sequence.to_vec();
            smaller[at] = step;
            smaller
        })
    });
    steps.chain(parts).collect()
}

fn plainer(step: &Step) -> Vec<Step> {
    let mut plainer = Vec::new();
    let query: Vec<&str> = step.query.split('&').filter(|p| !p.is_empty()).collect();
    for at in 0..query.len() {
        let mut left = query.clone();
        left.remove(at);
        let query = left.join("&");
        plainer.push(Step {
            query,
            ..step.clone()
        });
    }
    for path in paths(&step.body) {
        let mut less = step.clone();
        remove(&mut less.body, &path);
        plainer.push(less);
    }
    plainer
}

/// Every place within `value`, holders before what they hold.
fn paths(value: &Json) -> Vec<Vec<String>> {
    let below: Vec<(String, &Json)> = match value {
        Json::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Json::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, item)| (at.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    let mut all: Vec<Vec<String>> = below.iter().map(|(key, _)| vec![key.clone()]).collect();
    for (key, value) in below {
        let deeper = paths(value).into_iter().map(|mut path| {
            path.insert(0, key.clone());
            path
        });
        all.extend(deeper);
    }
    all
}

fn remove(value: &mut Json, path: &[String]) {
    let [key, rest @ ..] = path else { return };
    let at = key.parse().unwrap_or(usize::MAX);
    match value {
        Json::Object(fields) if rest.is_empty() => drop(fields.remove(key)),
        Json::Array(items) if rest.is_empty() => drop(items.remove(at)),
        Json::Object(fields) => {
            if let Some(below) = fields.get_mut(key) {
                remove(below, rest);
            }
        }
        Json::Array(items) => remove(&mut items[at], rest),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::differential::sequence::Verb;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let step = |query: &str, body: Json| Step {
            verb: Verb::Apply,
            path: "things/a".into(),
            query: query.into(),
            onto_live: false,
            body,
        };
        let sequence = vec![
            step("fieldManager=ann", json!({"spec": {"text": "a"}})),
            step(
                "fieldManager=ann&force=true",
                json!({"spec": {"items": [1, {"name": "a", "x": 2}]}}),
            ),
            step("", Json::Null),
        ];
        let matters = |step: &Step| {
            step.query.contains("force") && step.body.to_string().contains(r#""name":"a""#)
        };
        let small = shrink(sequence, |steps| steps.iter().any(matters));
        let expected = step("force=true", json!({"spec": {"items": [{"name": "a"}]}}));
        assert_eq!(small, [expected]);
    }
}
