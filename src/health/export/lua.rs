//! Rules as Lua, for Argo CD.
//!
//! In: the rules of a kind. Out: a script that returns the health of the global `obj`. Argo CD loads neither Lua's
//! library of strings nor another beyond `table` unless it is asked to, so what a text begins with is compared by
//! order; only what a text contains needs that library.

use std::fmt::Write as _;

use super::super::rule::{
    FAILURE, Keys, NODES, Of, READY_NODES, Rules, Test, UNOBSERVED, WANTED_NODES, Why,
};
use super::answer::Answer;
use crate::api::labels::REPLICAS_MANAGED_BY;

/// A function of the scripts by the name it is called by. Later ones call earlier ones.
const FUNCTIONS: &[(&str, &str)] = &[
    (
        "at",
        "local function at(...)
  local value = obj
  for _, key in ipairs({...}) do
    if type(value) ~= \"table\" then return nil end
    value = value[key]
  end
  return value
end
",
    ),
    (
        "text",
        "local function text(value)
  if type(value) == \"string\" then return value end
  return \"\"
end
",
    ),
    (
        "number",
        "local function number(value)
  if type(value) == \"number\" then return value end
  return 0
end
",
    ),
    (
        "list",
        "local function list(value)
  if type(value) == \"table\" then return value end
  return {}
end
",
    ),
    (
        "holds",
        "local function holds(items, kind)
  for _, item in ipairs(list(items)) do
    if type(item) == \"table\" and item.kind == kind then return true end
  end
  return false
end
",
    ),
    (
        "first",
        "local function first(items, field)
  local item = list(items)[1]
  if type(item) ~= \"table\" then return \"\" end
  return text(item[field])
end
",
    ),
    (
        "condition",
        "local function condition(kind)
  for _, one in ipairs(list(at(\"status\", \"conditions\"))) do
    if type(one) == \"table\" and one.type == kind then return one end
  end
  return nil
end
",
    ),
    (
        "is",
        "local function is(kind, asked)
  local one = condition(kind)
  return one ~= nil and asked(one)
end
",
    ),
    (
        "current",
        "local function current(one)
  local observed = one.observedGeneration
  if type(observed) ~= \"number\" then observed = number(at(\"status\", \"observedGeneration\")) end
  return observed >= number(at(\"metadata\", \"generation\"))
end
",
    ),
    (
        "begins",
        "local function begins(value, first, beyond)
  return text(value) >= first and text(value) < beyond
end
",
    ),
    (
        "contains",
        "local function contains(value, part)
  return string ~= nil and string.find(text(value), part, 1, true) ~= nil
end
",
    ),
    (
        "words",
        "local function words(reason, message)
  if text(reason) == \"\" or text(message) == \"\" then return text(reason) .. text(message) end
  return text(reason) .. \": \" .. text(message)
end
",
    ),
    (
        "explain",
        "local function explain(kind)
  local one = condition(kind) or {}
  return words(one.reason, one.message)
end
",
    ),
    (
        "nodes",
        "local function nodes(wanted, managed, present, ready)
  if text(managed) ~= \"\" or type(wanted) ~= \"number\" then wanted = present end
  return \"Ready: \" .. tostring(number(ready)) .. \"/\" .. tostring(number(wanted))
end
",
    ),
];

/// The script of a kind.
pub(super) fn script(rules: &Rules) -> String {
    let deleting = "at(\"metadata\", \"deletionTimestamp\") ~= nil";
    let mut body = String::new();
    let mut answer = |test: &str, answer: Answer, message: &str| {
        let status = status(answer);
        let result = format!("return {{status = \"{status}\", message = {message}}}");
        let _ = match test {
            "true" => writeln!(body, "do {result} end"),
            test => writeln!(body, "if {test} then\n  {result}\nend"),
        };
    };
    answer(deleting, Answer::Unfinished, "\"being deleted\"");
    for clause in &rules.clauses {
        let test = test(rules.group, &clause.when);
        answer(&test, clause.state.into(), &message(clause.why));
    }
    functions(&body) + &body
}

/// The functions that a script calls, and those that they call.
fn functions(body: &str) -> String {
    let mut used = String::new();
    for (name, text) in FUNCTIONS.iter().rev() {
        let call = format!("{name}(");
        let calls = |text: &str| {
            let mut ends = text
                .match_indices(&call)
                .filter_map(|(at, _)| text.get(..at));
            ends.any(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.'))
        };
        if calls(body) || calls(&used) {
            used = format!("{text}{used}");
        }
    }
    used
}

const fn status(answer: Answer) -> &'static str {
    match answer {
        Answer::Ready => "Healthy",
        Answer::Failed => "Degraded",
        Answer::Unfinished => "Progressing",
    }
}

fn message(why: Why) -> String {
    match why {
        Why::Nothing => quoted(""),
        Why::Words(reason, message) => quoted(&format!("{reason}: {message}")),
        Why::Unobserved(what) => format!(
            "{} .. tostring(number(at(\"metadata\", \"generation\"))) .. \" yet\"",
            quoted(&format!("{UNOBSERVED}: no {what} for generation "))
        ),
        Why::Condition(kind) => format!("explain({})", quoted(kind)),
        Why::Failure => format!("words({}, {})", at(FAILURE[0]), at(FAILURE[1])),
        Why::Nodes => {
            let managed = at(&["metadata", "annotations", REPLICAS_MANAGED_BY]);
            let [wanted, present, ready] = [WANTED_NODES, NODES, READY_NODES].map(at);
            format!("nodes({wanted}, {managed}, {present}, {ready})")
        }
    }
}

/// A test as an expression that needs no brackets around it.
fn test(group: &str, it: &Test) -> String {
    match it {
        Test::All(tests) => joined(group, tests, " and ", "true"),
        Test::Any(tests) => joined(group, tests, " or ", "false"),
        Test::Not(inner) => format!("(not {})", test(group, inner)),
        Test::Version(version) => {
            format!(
                "(obj.apiVersion == {})",
                quoted(&format!("{group}/{version}"))
            )
        }
        Test::Behind => {
            let [observed, generation] = [
                &["status", "observedGeneration"],
                &["metadata", "generation"],
            ]
            .map(|keys| at(keys));
            format!("(number({observed}) < number({generation}))")
        }
        Test::Flag(keys) => format!("({} == true)", at(keys)),
        Test::Present(keys) => format!("(text({}) ~= \"\")", at(keys)),
        Test::Text(keys, text) => format!("(text({}) == {})", at(keys), quoted(text)),
        Test::Filled(keys) => format!("(#list({}) > 0)", at(keys)),
        Test::Holds(keys, kind) => format!("holds({}, {})", at(keys), quoted(kind)),
        Test::FirstText(list, field, text) => {
            let (list, field) = (at(list), quoted(field));
            format!("(first({list}, {field}) == {})", quoted(text))
        }
        Test::FirstSame(list, field, keys) => {
            let (list, field, other) = (at(list), quoted(field), at(keys));
            format!("(text({other}) ~= \"\" and first({list}, {field}) == text({other}))")
        }
        Test::Number(keys) => format!("(type({}) == \"number\")", at(keys)),
        Test::Equal(one, other) => {
            let (a, b) = (at(one), at(other));
            format!("({a} ~= nil and {a} == {b})")
        }
        Test::AtLeast(one, other) => format!("(number({}) >= number({}))", at(one), at(other)),
        Test::Condition(kind, of) => {
            let asked: Vec<String> = of.iter().map(asked).collect();
            let asked = match asked.is_empty() {
                true => "true".to_owned(),
                false => asked.join(" and "),
            };
            format!("is({}, function(one) return {asked} end)", quoted(kind))
        }
    }
}

fn joined(group: &str, tests: &[Test], by: &str, none: &str) -> String {
    let parts = tests.iter().map(|it| test(group, it));
    let parts: Vec<String> = parts.filter(|part| part != none).collect();
    match parts.as_slice() {
        [] => none.to_owned(),
        [one] => one.clone(),
        parts => format!("({})", parts.join(by)),
    }
}

fn asked(of: &Of) -> String {
    let begins = |field: &str, start: &str| {
        format!(
            "begins(one.{field}, {}, {})",
            quoted(start),
            quoted(&beyond(start))
        )
    };
    match of {
        Of::True => "one.status == \"True\"".to_owned(),
        Of::False => "one.status == \"False\"".to_owned(),
        Of::NotTrue => "one.status ~= \"True\"".to_owned(),
        Of::Current => "current(one)".to_owned(),
        Of::Reason(reasons) => {
            let is = |reason: &&str| format!("one.reason == {}", quoted(reason));
            let reasons: Vec<String> = reasons.iter().map(is).collect();
            format!("({})", reasons.join(" or "))
        }
        Of::ReasonStarts(start) => begins("reason", start),
        Of::Severity(severity) => format!("one.severity == {}", quoted(severity)),
        Of::MessageStarts(start) => begins("message", start),
        Of::MessageContains(part) => format!("contains(one.message, {})", quoted(part)),
    }
}

/// The first text that is greater than every text with this start: its last letter is the next one. Ours end in
/// ASCII.
fn beyond(start: &str) -> String {
    let mut letters: Vec<char> = start.chars().collect();
    if let Some(last) = letters.last_mut() {
        *last = char::from_u32(u32::from(*last) + 1).unwrap_or(*last);
    }
    letters.into_iter().collect()
}

fn at(keys: Keys) -> String {
    let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
    format!("at({})", keys.join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}
