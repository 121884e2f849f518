//! Label selectors, as maps and as text.
//!
//! In: a selector of a document, or text in the syntax of `kubectl -l`. Out: the selector. It does not
//! know what is selected.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{Finding, Node, Path, rule_id};

/// A Kubernetes label selector. All requirements must be met; an empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Selector {
    /// Labels and the values they must have.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    pub match_expressions: Vec<Requirement>,
}

/// One requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// How its value is compared with `values`.
    pub operator: Operator,
    /// Empty for `Exists` and `DoesNotExist`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// How a label's value is compared with a list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Operator {
    /// It is in the list.
    In,
    /// It is not in the list, or the label is absent.
    NotIn,
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
}

impl Selector {
    /// How many labels and values it compares.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let values = self
            .match_expressions
            .iter()
            .map(|one| 1 + one.values.len());
        1 + (self.match_labels.len() + values.sum::<usize>()) as u64
    }
}

/// Findings for requirements with missing or superfluous values.
pub(super) fn findings(selector: &Selector, document: &Node) -> Vec<Finding> {
    let at = Path::dotted("spec.selector.matchExpressions");
    let wrong = |(index, requirement): (usize, &Requirement)| {
        let (wants, has) = (
            requirement.operator.takes_values(),
            !requirement.values.is_empty(),
        );
        let message = match (wants, has) {
            (true, false) => format!("{:?} needs values", requirement.operator),
            (false, true) => format!("{:?} takes no values", requirement.operator),
            _ => return None,
        };
        let field = at.index(index).key("values");
        let span = document.nearest(&field).span();
        Some(
            Finding::error(rule_id::INVALID_VALUE, message)
                .at(span)
                .field(&field),
        )
    };
    let requirements = selector.match_expressions.iter().enumerate();
    requirements.filter_map(wrong).collect()
}

impl Requirement {
    /// Whether it has values where they are needed, and none elsewhere. What is not valid matches nothing.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.operator.takes_values() != self.values.is_empty()
    }
}

impl Operator {
    fn takes_values(self) -> bool {
        matches!(self, Self::In | Self::NotIn)
    }
}

/// The error for text that is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a label selector such as env=prod or tier in (a, b)")]
pub struct NotASelector(String);

/// Parses the syntax of `kubectl -l`: `a=b`, `a==b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`,
/// separated by commas.
impl FromStr for Selector {
    type Err = NotASelector;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut selector = Self::default();
        for part in parts(text) {
            let requirement = requirement(part.trim());
            let requirement = requirement.ok_or_else(|| NotASelector(text.to_owned()))?;
            selector.match_expressions.push(requirement);
        }
        Ok(selector)
    }
}

/// Splits at commas outside parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
    .filter(move |part| !(part.trim().is_empty() && text.trim().is_empty()))
}

fn requirement(part: &str) -> Option<Requirement> {
    if let Some(key) = part.strip_prefix('!') {
        return named(key, Operator::DoesNotExist, Vec::new());
    }
    if let Some((key, value)) = part.split_once("!=") {
        return named(key, Operator::NotIn, vec![word(value)?]);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return named(key, Operator::In, vec![word(value)?]);
    }
    let Some((head, list)) = part.split_once('(') else {
        return named(part, Operator::Exists, Vec::new());
    };
    let (key, operator) = head.trim().rsplit_once(char::is_whitespace)?;
    let operator = match operator {
        "in" => Operator::In,
        "notin" => Operator::NotIn,
        _ => return None,
    };
    let values = list.trim().strip_suffix(')')?.split(',').map(word);
    named(key, operator, values.collect::<Option<_>>()?)
}

fn named(key: &str, operator: Operator, values: Vec<String>) -> Option<Requirement> {
    let key = word(key).filter(|key| !key.is_empty())?;
    Some(Requirement {
        key,
        operator,
        values,
    })
}

/// A key or value without surrounding blanks; `None` if it contains invalid characters.
fn word(text: &str) -> Option<String> {
    let text = text.trim();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    text.chars().all(allowed).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Operator, &[&str])]) {
        let selector: Selector = text.parse().expect("a selector");
        let found: Vec<_> = selector
            .match_expressions
            .iter()
            .map(|r| {
                (
                    r.key.as_str(),
                    r.operator,
                    r.values.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        let expected: Vec<(&str, Operator, Vec<&str>)> = expected
            .iter()
            .map(|(key, operator, values)| (*key, *operator, values.to_vec()))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        check("env=prod", &[("env", Operator::In, &["prod"])]);
        check("env==prod", &[("env", Operator::In, &["prod"])]);
        check("env!=prod", &[("env", Operator::NotIn, &["prod"])]);
        check(
            "tier in (a, b),!old , x.y/z",
            &[
                ("tier", Operator::In, &["a", "b"]),
                ("old", Operator::DoesNotExist, &[]),
                ("x.y/z", Operator::Exists, &[]),
            ],
        );
        check("tier notin (a)", &[("tier", Operator::NotIn, &["a"])]);
        check("env=", &[("env", Operator::In, &[""])]);
        check("", &[]);
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "=x", "a=b=c", "a of (b)", "a in (b", "a b", ",", "a=b,", "!", "a in b",
        ] {
            assert!(text.parse::<Selector>().is_err(), "{text}");
        }
    }
}
