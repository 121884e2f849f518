//! The violations of a schema by a written document, as findings.
//!
//! In: a schema and a [`Node`] with spans. Out: findings S01 to S05, each at the place to edit, with
//! what to write instead where that can be known. Nulls and defaults are treated as the API server
//! treats them before it validates. Rules in CEL (`x-kubernetes-validations`) are left to the API
//! server.

use std::collections::{HashMap, HashSet};

use kube_schema::{
    ListKind, Schema, Type, Unknown, Violation, ViolationKind, apply_defaults, nearest, overflows,
    unknown_fields, validate,
};

use super::advice::{self, TEMPLATE, is_template, rewrite};
use super::misplaced::{self, Reported, is_within};
use super::{patterns, quick};
use crate::model::{Arg, Finding, Node, ObjectId, Path, Segment, Span, Value, rule_id, work};

/// The most names that a help lists.
const MOST_NAMES: usize = 12;

/// The violations of `schema` by `node`. `at` is the path of the node in `object`, for embedded resources
/// and other parts.
#[must_use]
pub fn findings(
    schema: &Schema,
    node: &Node,
    at: &Path,
    object: Option<&ObjectId>,
) -> Vec<Finding> {
    let teller = Teller {
        schema,
        node,
        at,
        object,
    };
    if quick::fits(schema, node) {
        #[cfg(test)]
        assert!(causes(schema, node).is_empty(), "{node:?} fits {schema:?}");
        return Vec::new();
    }
    let causes = misplaced::grouped(schema, node, causes(schema, node));
    causes.iter().map(|one| teller.tell(one)).collect()
}

/// The violations of `schema` by `node`, without those that another one causes: those of a value that has the
/// wrong type, or of its parts, and missing fields that are there under a misspelt name.
pub(super) fn causes(schema: &Schema, node: &Node) -> Vec<Violation> {
    let written = node.to_json();
    let mut value = written.clone();
    apply_defaults(schema, &mut value);
    let mut found = unknown_fields(schema, &written);
    found.extend(validate(schema, &value, Unknown::Ignore));
    found.extend(overflows(schema, &value));
    let is_mistyped = |one: &&Violation| matches!(one.kind, ViolationKind::WrongType { .. });
    let mistyped = found.iter().filter(is_mistyped);
    let mistyped: HashSet<Path> = mistyped.map(|one| one.path.clone()).collect();
    found.retain(|one| is_mistyped(&one) || !is_within(&one.path, &mistyped));
    let mut renamed_to = HashSet::new();
    for (at, path) in misspelt(&found) {
        let nearest = path.0.last().and_then(name).map(str::to_owned);
        found[at].kind = ViolationKind::UnknownField { nearest };
        renamed_to.extend(renamed(&found[at]));
    }
    found.retain(|one| one.kind != ViolationKind::Missing || !renamed_to.contains(&one.path));
    found
}

/// The unknown fields that probably are missing ones: where each is in `found`, and the path that is missing.
fn misspelt(found: &[Violation]) -> Vec<(usize, Path)> {
    let is_unknown = |one: &Violation| matches!(one.kind, ViolationKind::UnknownField { .. });
    let mut unknown: HashMap<&[Segment], Vec<usize>> = HashMap::new();
    for (at, one) in found.iter().enumerate().filter(|(_, one)| is_unknown(one)) {
        unknown.entry(parent(&one.path.0)).or_default().push(at);
    }
    let missing = found
        .iter()
        .filter(|one| one.kind == ViolationKind::Missing);
    let mut misspelt = Vec::new();
    for path in missing.map(|one| &one.path) {
        let Some(beside) = unknown.get_mut(parent(&path.0)) else {
            continue;
        };
        let is_it = |at: &usize| {
            work::step();
            is_near(&found[*at].path, path)
        };
        if let Some(place) = beside.iter().position(is_it) {
            misspelt.push((beside.remove(place), path.clone()));
        }
    }
    misspelt
}

/// Whether the last names of two paths are alike.
fn is_near(found: &Path, wanted: &Path) -> bool {
    let found = found.0.last().and_then(name);
    let wanted = wanted.0.last().and_then(name);
    found.is_some_and(|found| nearest(found, wanted).is_some())
}

/// The path that an unknown field has under the right name.
pub(super) fn renamed(unknown: &Violation) -> Option<Path> {
    let ViolationKind::UnknownField { nearest } = &unknown.kind else {
        return None;
    };
    Some(Path(parent(&unknown.path.0).to_vec()).key(nearest.clone()?))
}

/// Whether a finding about an unknown field stands for a missing field, too.
#[must_use]
pub fn lacks_a_field(finding: &Finding) -> bool {
    finding.args.iter().any(|(name, _)| *name == MISSING)
}

/// Returns true if the finding is about a field that belongs in another place, which the help names.
#[must_use]
pub fn is_misplaced(finding: &Finding) -> bool {
    finding.args.iter().any(|(name, _)| *name == HOME)
}

/// The field that is probably meant by an unknown one.
#[must_use]
pub fn meant(finding: &Finding) -> Option<&str> {
    let mut args = finding.args.iter();
    args.find_map(|(name, value)| (*name == MEANT).then_some(&**value))
}

/// The argument of a finding about an unknown field with the one that is probably meant.
const MEANT: &str = "meant";
/// The argument of a finding about a known field in the wrong place with the right one.
const HOME: &str = "home";
/// The argument of a finding that stands for a missing field.
const MISSING: &str = "missing";

/// What all findings of one document share.
struct Teller<'a> {
    schema: &'a Schema,
    node: &'a Node,
    at: &'a Path,
    object: Option<&'a ObjectId>,
}

impl Teller<'_> {
    fn tell(&self, reported: &Reported) -> Finding {
        let violation = &reported.violation;
        let path = &violation.path;
        let field = self.field(path);
        let (id, message) = match &violation.kind {
            ViolationKind::UnknownField { .. } => {
                (rule_id::UNKNOWN_FIELD, format!("unknown field `{field}`"))
            }
            ViolationKind::WrongType { expected } => {
                let (wanted, found) = (either(expected), kind(self.node.nearest(path)));
                (
                    rule_id::WRONG_TYPE,
                    format!("`{field}` must be {wanted}, not {found}"),
                )
            }
            ViolationKind::Missing => (rule_id::MISSING_FIELD, format!("`{field}` is missing")),
            ViolationKind::NotAllowed | ViolationKind::WrongFormat => {
                (rule_id::INVALID_VALUE, plain(violation, &field))
            }
            ViolationKind::Rule { .. } | ViolationKind::Other => ("S05", plain(violation, &field)),
        };
        let mut finding = Finding::error(id, message)
            .at(self.span(violation))
            .field(&field);
        finding.args = args(violation);
        finding.args.extend(self.missing(violation));
        let missed = reported.is_missed.then(|| reported.names[0].clone());
        finding.args.extend(missed.map(|name| (MISSING, name)));
        let home = reported.homes.first().map(|home| (HOME, home.to_string()));
        finding.args.extend(home);
        finding.object = self.object.cloned();
        finding.help = self.elsewhere(reported).or_else(|| self.help(violation));
        finding
    }

    /// The missing field that an unknown one stands for.
    fn missing(&self, violation: &Violation) -> Option<Arg> {
        let path = renamed(violation)?;
        let name = path.0.last().and_then(name)?;
        let above = self.schema.at(&Path(parent(&path.0).to_vec()))?;
        let is_missing = self.node.lookup(&path).is_none();
        let required = &above.checks.as_ref()?.required;
        let is_required = required.iter().any(|one| one == name);
        (is_missing && is_required).then(|| (MISSING, name.to_owned()))
    }

    /// A path below the node as a path of the object.
    fn field(&self, path: &Path) -> Path {
        Path(self.at.0.iter().chain(&path.0).cloned().collect())
    }

    /// Findings about unknown and missing fields point at keys, all others at values.
    fn span(&self, violation: &Violation) -> &Span {
        let path = violation.path.0.as_slice();
        match violation.kind {
            ViolationKind::UnknownField { .. } => self.key(path),
            ViolationKind::Missing => self.key(path).or_else(|| self.key(parent(path))),
            _ => None,
        }
        .unwrap_or_else(|| self.node.nearest(&violation.path).span())
    }

    /// The span of the key at `path`, if there is one.
    fn key(&self, path: &[Segment]) -> Option<&Span> {
        let (Segment::Key(name), above) = path.split_last()? else {
            return None;
        };
        let map = self.node.lookup(&Path(above.to_vec()))?.as_map()?;
        map.entry(name).map(|(key, _)| key.origin.span())
    }

    /// The help for fields that belong elsewhere.
    fn elsewhere(&self, reported: &Reported) -> Option<String> {
        let home = |place: &Path| {
            // Only the items of lists below the document are any items.
            let below = Path(parent(&place.0).to_vec()).to_string();
            let below = below.replace("[0]", "[]");
            match (self.at.0.is_empty(), below.is_empty()) {
                (true, true) => "at the top of the document".to_owned(),
                (true, false) => format!("below `{below}`"),
                (false, true) => format!("below `{}`", self.at),
                (false, false) => format!("below `{}.{below}`", self.at),
            }
        };
        let homes: Vec<String> = reported.homes.iter().map(home).collect();
        let (last, others) = reported.names.split_last()?;
        let names = match others {
            [] => format!("`{last}` belongs"),
            others => format!("`{}` and `{last}` belong", others.join("`, `")),
        };
        (!homes.is_empty()).then(|| format!("{names} {}", homes.join(" or ")))
    }

    fn help(&self, violation: &Violation) -> Option<String> {
        let path = &violation.path;
        let is_value = !matches!(violation.kind, ViolationKind::UnknownField { .. });
        if is_value && self.node.lookup(path).is_some_and(is_template) {
            return Some(TEMPLATE.to_owned());
        }
        match &violation.kind {
            ViolationKind::UnknownField { nearest } => match nearest {
                Some(name) => Some(format!("did you mean `{name}`?")),
                None => {
                    let above = Path(parent(&path.0).to_vec());
                    self.colon(path).or_else(|| self.known_fields(&above))
                }
            },
            ViolationKind::WrongType { expected } => {
                rewrite(expected, self.node.nearest(path)).or_else(|| self.known_fields(path))
            }
            ViolationKind::Missing => {
                let wanted = self.schema.at(path)?;
                let name = path.0.last().and_then(name)?;
                let kind = (!wanted.types.is_empty()).then(|| either(&wanted.types))?;
                Some(format!("add `{name}`, {kind}"))
            }
            ViolationKind::NotAllowed => self
                .nearest_allowed(path)
                .or_else(|| self.limits(path))
                .or_else(|| self.in_words(path)),
            ViolationKind::WrongFormat => self.in_words(path),
            ViolationKind::Rule { .. } => None,
            ViolationKind::Other => self.own_key(path),
        }
    }

    /// The help for a key with a space in it that begins with a known field, as in `labels {env: prod}`.
    fn colon(&self, path: &Path) -> Option<String> {
        let (first, _) = path.0.last().and_then(name)?.split_once(' ')?;
        let above = self.schema.at(&Path(parent(&path.0).to_vec()))?;
        let is_known = above.properties.contains_key(first);
        is_known.then(|| format!("write a `:` after `{first}`"))
    }

    /// The fields of the map at `path`.
    fn known_fields(&self, path: &Path) -> Option<String> {
        let above = self.schema.at(path)?;
        let names: Vec<&str> = above.properties.keys().map(String::as_str).collect();
        let rest = names.len().saturating_sub(MOST_NAMES);
        let shown = names[..names.len() - rest].join(", ");
        match (names.is_empty(), rest) {
            (true, _) => None,
            (false, 0) => Some(format!("known fields: {shown}")),
            (false, rest) => Some(format!("known fields: {shown} and {rest} more")),
        }
    }

    fn nearest_allowed(&self, path: &Path) -> Option<String> {
        let allowed = self.schema.at(path)?.allowed();
        let found = self.node.lookup(path)?.as_str()?;
        let names = allowed.iter().filter_map(serde_json::Value::as_str);
        nearest(found, names).map(|name| format!("did you mean `{name}`?"))
    }

    /// The help for a number or a text that is too small or too large.
    fn limits(&self, path: &Path) -> Option<String> {
        let checks = self.schema.at(path)?.checks.as_ref()?;
        advice::within(checks, self.node.lookup(path)?)
    }

    /// The help for a well-known pattern.
    fn in_words(&self, path: &Path) -> Option<String> {
        let pattern = self.schema.at(path)?.checks.as_ref()?.pattern.as_ref()?;
        patterns::advice(pattern.text()).map(str::to_owned)
    }

    /// The help for duplicates in the list around `path`: the keys that must be unique.
    fn own_key(&self, path: &Path) -> Option<String> {
        match &self.schema.at(&Path(parent(&path.0).to_vec()))?.list {
            ListKind::Map(keys) => {
                let keys = keys.join("` and `");
                Some(format!("give each item of the list a unique `{keys}`"))
            }
            _ => None,
        }
    }
}

/// The field below the document or the embedded resource, so that the same mistake in many of them is one, and what is probably meant by it, or what is violated if that does not follow from the rule's id.
fn args(violation: &Violation) -> Vec<Arg> {
    let more = match &violation.kind {
        ViolationKind::UnknownField { nearest } => nearest.clone().map(|name| (MEANT, name)),
        ViolationKind::Rule { reason } => Some(("violation", reason.clone())),
        ViolationKind::NotAllowed | ViolationKind::WrongFormat | ViolationKind::Other => {
            Some(("violation", violation.message.clone()))
        }
        _ => None,
    };
    let field = ("field", violation.path.to_string());
    [field].into_iter().chain(more).collect()
}

fn parent(path: &[Segment]) -> &[Segment] {
    path.split_last().map_or(&[], |(_, above)| above)
}

fn name(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Key(name) => Some(name),
        Segment::Index(_) => None,
    }
}

/// The API server's message without the prefix that names the field.
fn plain(violation: &Violation, field: &Path) -> String {
    let message = &violation.message;
    let words = match message.split_once("\" must ") {
        Some((_, must)) if violation.field == "<nil>" => format!("must {must}"),
        _ => message.replacen(&format!("{} in body ", violation.field), "", 1),
    };
    let mut chars = words.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    let words: String = first.into_iter().chain(chars).collect();
    format!("`{field}`: {words}")
}

/// `a string or an integer`
fn either(types: &[Type]) -> String {
    let words: Vec<&str> = types
        .iter()
        .map(|wanted| match wanted {
            Type::Object => "a map",
            Type::Array => "a list",
            Type::String => "a string",
            Type::Integer => "an integer",
            Type::Number => "a number",
            Type::Boolean => "true or false",
        })
        .collect();
    words.join(" or ")
}

fn kind(node: &Node) -> &'static str {
    match node.value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Float(..) => "a number",
        Value::String(_) => "a string",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    }
}
