//! JSON patches (RFC 6902) on values that know where they came from.
//!
//! In: a value and operations. Out: the changed value, in which every part knows where it is written
//! and what it replaced; or the value as it was and a finding (O02). It does not know what the value
//! is.

use serde_json::Value as Json;

use crate::model::{Budget, Finding, Key, Limit, Node, Value, rule_id};

/// Applies the operations in order. If one fails, none is applied, and a finding names it.
#[must_use]
pub fn apply(node: Node, operations: &[Node], findings: &mut Vec<Finding>) -> Node {
    apply_within(&node, operations, &Budget::default(), findings).unwrap_or(node)
}

/// The changed value. `None` if an operation fails, which a finding names, or if `budget` allows no more.
#[must_use]
pub fn apply_within(
    node: &Node,
    operations: &[Node],
    budget: &Budget,
    findings: &mut Vec<Finding>,
) -> Option<Node> {
    if !budget.allows(Limit::Overlays, node.weight()) {
        return None;
    }
    let mut patched = node.clone();
    let mut copies = Copies { values: 0, budget };
    for operation in operations {
        if let Err(fault) = follow(&mut patched, operation, &mut copies) {
            let place = operation.get(fault.field).unwrap_or(operation);
            let finding =
                Finding::error(rule_id::UNAPPLICABLE_PATCH, fault.message).at(place.span());
            findings.push(finding.help(fault.help));
            return None;
        }
    }
    Some(patched)
}

/// What a patch copies.
struct Copies<'b> {
    values: usize,
    budget: &'b Budget,
}

impl Copies<'_> {
    /// Counts the steps to the value at a pointer and below it.
    fn visit(&self, root: &Node, path: &Pointer, below: bool) -> Result<(), Fault> {
        let mut steps = 1 + path.steps.len() as u64;
        let mut at = Some(root);
        for step in &path.steps {
            let Some(node) = at else { break };
            steps += match &node.value {
                Value::Map(map) => map.len() as u64,
                Value::List(items) => items.len() as u64,
                _ => 0,
            };
            at = step_into(node, step);
        }
        let inner = at.filter(|_| below).map_or(0, Node::weight);
        match self.budget.allows(Limit::Overlays, steps + inner) {
            true => Ok(()),
            false => Err(too_many()),
        }
    }

    /// Counts a copy.
    fn copy(&mut self, node: &Node) -> Result<(), Fault> {
        self.values += node.measure().0;
        let is_allowed = self.values <= Node::MAX_COPIES
            && self
                .budget
                .allows(Limit::Overlays, node.weight() * Limit::STEPS_PER_VALUE);
        is_allowed.then_some(()).ok_or_else(too_many)
    }
}

/// Why an operation cannot be followed, and what to do about it.
struct Fault {
    message: String,
    help: &'static str,
    /// The field of the operation to look at.
    field: &'static str,
}

impl Fault {
    fn new(field: &'static str, message: impl Into<String>, help: &'static str) -> Self {
        Self {
            message: message.into(),
            help,
            field,
        }
    }
}

fn follow(root: &mut Node, operation: &Node, copies: &mut Copies<'_>) -> Result<(), Fault> {
    let path = Pointer::read(operation, "path")?;
    let is_test = operation.text(&["op"]) == Some("test");
    copies.visit(root, &path, is_test)?;
    match operation.text(&["op"]) {
        Some("add") => add(root, &path, value(operation)?),
        Some("remove") => remove(root, &path).map(drop),
        Some("replace") => {
            let old = find(root, &path)?;
            let new = value(operation)?;
            deep_enough(&path, &new)?;
            *old = over(new, old);
            Ok(())
        }
        Some("move") => {
            let from = Pointer::read(operation, "from")?;
            if from.is_above(&path) {
                return Err(into_itself(&from));
            }
            copies.visit(root, &from, true)?;
            let node = remove(root, &from)?;
            add(root, &path, node)
        }
        Some("copy") => {
            let from = Pointer::read(operation, "from")?;
            copies.visit(root, &from, true)?;
            let node = find(root, &from)?;
            copies.copy(node)?;
            let node = node.clone();
            add(root, &path, node)
        }
        Some("test") => test(root, &path, operation),
        _ => Err(unknown(operation)),
    }
}

/// The value is not shown: it may be a secret.
fn test(root: &mut Node, path: &Pointer, operation: &Node) -> Result<(), Fault> {
    let found = find(root, path)?.to_json();
    if equal(&found, &value(operation)?.to_json()) {
        return Ok(());
    }
    let message = format!(
        "the test at `{}` fails: it holds another value",
        path.text()
    );
    let help = "make the patch fit what it meets, or narrow its target";
    Err(Fault::new("value", message, help))
}

/// Whether two values are equal as the RFC has it: numbers by what they are worth.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            let same = |(key, a): (&String, &Json)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (a, b) => a == b,
    }
}

fn value(operation: &Node) -> Result<Node, Fault> {
    let missing = || {
        let help = "`add`, `replace` and `test` need one";
        Fault::new("op", "the operation has no `value`", help)
    };
    operation.get("value").cloned().ok_or_else(missing)
}

/// The steps of a JSON pointer (RFC 6901), and the field it was read from.
struct Pointer {
    field: &'static str,
    steps: Vec<String>,
}

impl Pointer {
    fn read(operation: &Node, field: &'static str) -> Result<Self, Fault> {
        let text = operation.text(&[field]);
        let steps = text.and_then(|text| match text {
            "" => Some(Vec::new()),
            text => text.strip_prefix('/').map(|text| {
                let steps = text.split('/');
                steps
                    .map(|step| step.replace("~1", "/").replace("~0", "~"))
                    .collect()
            }),
        });
        let Some(steps) = steps else {
            let message = format!("the operation has no `{field}` that begins with `/`");
            return Err(Fault::new(field, message, POINTER));
        };
        let text = text.unwrap_or_default();
        if text
            .split('~')
            .skip(1)
            .any(|rest| !rest.starts_with(['0', '1']))
        {
            let message = format!("`{text}` has a `~` that is neither `~0` nor `~1`");
            return Err(Fault::new(field, message, POINTER));
        }
        Ok(Self { field, steps })
    }

    /// The pointer as it is written.
    fn text(&self) -> String {
        written(&self.steps)
    }

    /// Whether what is at `other` is inside of what is at this one.
    fn is_above(&self, other: &Self) -> bool {
        self.steps.len() < other.steps.len() && other.steps.starts_with(&self.steps)
    }

    /// There is nothing at the first `depth` steps; why, if that is a list's matter.
    fn absent(&self, root: &Node, depth: usize) -> Fault {
        let at = written(&self.steps[..depth]);
        let above = &self.steps[..depth.saturating_sub(1)];
        let list = above
            .iter()
            .try_fold(root, |node, step| step_into(node, step))
            .and_then(Node::as_list);
        let message = match list {
            Some(items) => format!(
                "there is nothing at `{at}`: the list at `{}` has {} items",
                written(above),
                items.len()
            ),
            None => format!("there is nothing at `{at}`"),
        };
        Fault::new(self.field, message, FIRST)
    }
}

const POINTER: &str =
    "write a JSON pointer, such as /spec/template; a `/` in a key is `~1`, a `~` is `~0`";

fn written(steps: &[String]) -> String {
    let escaped = |step: &String| format!("/{}", step.replace('~', "~0").replace('/', "~1"));
    steps.iter().map(escaped).collect()
}

fn step_into<'n>(node: &'n Node, step: &str) -> Option<&'n Node> {
    match &node.value {
        Value::Map(map) => map.get(step),
        Value::List(items) => items.get(index(step)?),
        _ => None,
    }
}

/// The value at a pointer.
fn find<'n>(root: &'n mut Node, path: &Pointer) -> Result<&'n mut Node, Fault> {
    enter(root, path, path.steps.len())
}

/// The value at the first `depth` steps of a pointer.
fn enter<'n>(root: &'n mut Node, path: &Pointer, depth: usize) -> Result<&'n mut Node, Fault> {
    let steps = &path.steps[..depth];
    let mut at = &*root;
    for (place, step) in (1..).zip(steps) {
        let Some(next) = step_into(at, step) else {
            return Err(path.absent(root, place));
        };
        at = next;
    }
    let found = steps
        .iter()
        .try_fold(&mut *root, |node, step| match &mut node.value {
            Value::Map(map) => map.get_mut(step),
            Value::List(items) => items.get_mut(index(step)?),
            _ => None,
        });
    Ok(found.expect("it is there, as was just seen"))
}

fn index(step: &str) -> Option<usize> {
    let is_plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| is_plain)
}

fn add(root: &mut Node, path: &Pointer, node: Node) -> Result<(), Fault> {
    deep_enough(path, &node)?;
    let depth = path.steps.len();
    let Some(last) = path.steps.last() else {
        *root = over(node, root);
        return Ok(());
    };
    match &mut enter(root, path, depth - 1)?.value {
        Value::Map(map) => match map.get_mut(last) {
            Some(old) => *old = over(node, old),
            None => {
                let key = Key {
                    name: last.clone().into(),
                    origin: node.origin.clone(),
                };
                map.insert(key, node);
            }
        },
        Value::List(items) => {
            let at = match last.as_str() {
                "-" => Some(items.len()),
                last => index(last).filter(|at| *at <= items.len()),
            };
            let Some(at) = at else {
                return Err(path.absent(root, depth));
            };
            items.insert(at, node);
        }
        _ => return Err(no_container(path)),
    }
    Ok(())
}

fn remove(root: &mut Node, path: &Pointer) -> Result<Node, Fault> {
    let depth = path.steps.len();
    let Some(last) = path.steps.last() else {
        let message = "the operation removes the whole value";
        let help = "leave the object out of the tree instead";
        return Err(Fault::new(path.field, message, help));
    };
    let removed = match &mut enter(root, path, depth - 1)?.value {
        Value::Map(map) => map.remove(last),
        Value::List(items) => {
            let at = index(last).filter(|at| *at < items.len());
            at.map(|at| items.remove(at))
        }
        _ => None,
    };
    removed.ok_or_else(|| path.absent(root, depth))
}

fn over(new: Node, old: &Node) -> Node {
    let origin = new.origin.over(&old.origin);
    Node { origin, ..new }
}

fn deep_enough(path: &Pointer, node: &Node) -> Result<(), Fault> {
    if path.steps.len() + node.measure().1 <= Node::MAX_DEPTH {
        return Ok(());
    }
    let most = Node::MAX_DEPTH;
    let message = format!("the operation nests more than {most} maps and lists");
    Err(Fault::new(
        path.field,
        message,
        "no Kubernetes object nests this deep",
    ))
}

/// RFC 6902 §4.4.
fn into_itself(from: &Pointer) -> Fault {
    let message = format!("what is at `{}` cannot be moved into itself", from.text());
    let help = "move it beside where it is, or `copy` it";
    Fault::new("path", message, help)
}

fn too_many() -> Fault {
    let message = format!("the patch copies more than {} values", Node::MAX_COPIES);
    Fault::new("from", message, "write the values out")
}

const FIRST: &str = "look at the object before the patch with `capstan render`; `add` needs the map or list above to be there";

fn no_container(path: &Pointer) -> Fault {
    let above = written(&path.steps[..path.steps.len() - 1]);
    let message = format!("what is at `{above}` is no map and no list");
    Fault::new(path.field, message, FIRST)
}

fn unknown(operation: &Node) -> Fault {
    let message = match operation.text(&["op"]) {
        Some(name) => format!("`{name}` is not an operation"),
        None => "the operation has no `op`".to_owned(),
    };
    let help = "it is one of add, remove, replace, move, copy and test";
    Fault::new("op", message, help)
}

#[cfg(test)]
mod tests;
