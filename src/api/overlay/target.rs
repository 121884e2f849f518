//! The objects that a patch applies to, selected as in kustomize.
//!
//! In: `target` of a patch. Out: the target, or a finding. It does not know which objects exist.
//!
//! Expressions are small, since anybody may write many of them, and names are short: a plain name needs no
//! expression, each text is compiled once for a tree, and those of a tree are counted.

use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::selector::{NotASelector, Selector};
use crate::model::{Budget, Finding, Limit, Node, Path, rule_id};
use kube_schema::small_regular_expression;

/// The most bytes of memory that one expression may need.
const MOST_BYTES: usize = 64 << 10;
/// An expression that needs no more than this is matched fast.
const FEW_BYTES: usize = 8 << 10;
/// How many small expressions one that cannot be compiled counts as: it costs as much to see that.
const TOO_LARGE: u64 = 20;
/// The longest text that is compared with an expression: no name, kind or group is so long.
const LONGEST: usize = 512;

/// The objects that a patch applies to. An absent field matches everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// API group.
    pub group: Option<Pattern>,
    /// Version without the group.
    pub version: Option<Pattern>,
    /// Kind.
    pub kind: Option<Pattern>,
    /// Namespace.
    pub namespace: Option<Pattern>,
    /// Name.
    pub name: Option<Pattern>,
    /// Labels.
    pub label_selector: Option<Selector>,
    /// Annotations.
    pub annotation_selector: Option<Selector>,
}

/// A regular expression that must match a whole text, anchored as in kustomize. A plain name matches
/// itself; an empty one matches everything.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// None for a plain name.
    regex: Option<Regex>,
    /// Whether it takes long to match.
    is_large: bool,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// Parses a regular expression in the syntax of Go.
    ///
    /// # Errors
    /// Returns why it is not valid.
    pub fn new(text: &str) -> Result<Self, String> {
        let compile = |most| small_regular_expression(&format!("^(?:{text})$"), most);
        let small = (!is_plain(text)).then(|| compile(FEW_BYTES));
        let (regex, is_large) = match small {
            None => (None, false),
            Some(Ok(regex)) => (Some(regex), false),
            Some(Err(_)) => (Some(compile(MOST_BYTES)?), true),
        };
        let text = text.to_owned();
        Ok(Self {
            text,
            regex,
            is_large,
        })
    }

    /// The expression as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches the whole of `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.text.is_empty()
            || self.text == text
            || text.len() <= LONGEST
                && self
                    .regex
                    .as_ref()
                    .is_some_and(|regex| regex.is_match(text))
    }

    /// The steps that it takes to match `text`.
    #[must_use]
    pub fn steps(&self, text: &str) -> u64 {
        if self.regex.is_none() || self.text.is_empty() || text.len() > LONGEST {
            return 1;
        }
        let length = 1 + text.len() as u64 / 32;
        length * if self.is_large { 200 } else { 10 }
    }
}

/// Whether a text without special characters is its own expression.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    text.chars().all(plain)
}

/// The expressions of a tree, each compiled once.
#[derive(Debug, Default)]
pub struct Patterns {
    known: HashMap<String, Result<Pattern, String>>,
    budget: Arc<Budget>,
}

impl Patterns {
    /// The expressions of a tree that may have as many as `budget` allows.
    #[must_use]
    pub fn within(budget: Arc<Budget>) -> Self {
        Self {
            known: HashMap::new(),
            budget,
        }
    }

    fn compile(&mut self, text: &str) -> Result<Pattern, String> {
        if is_plain(text) {
            return Pattern::new(text);
        }
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if !self.budget.allows(Limit::Patterns, 1) {
            return Err("the fleet has too many of them".to_owned());
        }
        let compiled = Pattern::new(text);
        if compiled.is_err() {
            self.budget.allows(Limit::Patterns, TOO_LARGE - 1);
        }
        self.known.insert(text.to_owned(), compiled.clone());
        compiled
    }
}

/// The objects that a patch applies to. An absent field matches everything. Values are regular expressions
/// that must match the whole field: `prod-.*`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TargetSpec {
    /// API group.
    group: Option<String>,
    /// Version without the group.
    version: Option<String>,
    /// Kind; embedded resources match too.
    kind: Option<String>,
    /// Namespace.
    namespace: Option<String>,
    /// Name.
    name: Option<String>,
    /// Labels, in the syntax of `kubectl -l`: `env=prod,tier in (a, b)`.
    label_selector: Option<String>,
    /// Annotations, in the same syntax.
    annotation_selector: Option<String>,
}

impl TargetSpec {
    /// The target at the path `at` of `document`.
    pub(super) fn read(
        &self,
        document: &Node,
        at: &Path,
        patterns: &mut Patterns,
    ) -> Result<Target, Box<Finding>> {
        let mut field = Field {
            document,
            at,
            patterns,
        };
        Ok(Target {
            group: field.pattern("group", self.group.as_deref())?,
            version: field.pattern("version", self.version.as_deref())?,
            kind: field.pattern("kind", self.kind.as_deref())?,
            namespace: field.pattern("namespace", self.namespace.as_deref())?,
            name: field.pattern("name", self.name.as_deref())?,
            label_selector: field.selector("labelSelector", self.label_selector.as_deref())?,
            annotation_selector: field
                .selector("annotationSelector", self.annotation_selector.as_deref())?,
        })
    }
}

/// The fields of a target, with their places.
struct Field<'a> {
    document: &'a Node,
    at: &'a Path,
    patterns: &'a mut Patterns,
}

impl Field<'_> {
    fn pattern(&mut self, name: &str, text: Option<&str>) -> Result<Option<Pattern>, Box<Finding>> {
        let pattern = text.map(|text| self.patterns.compile(text)).transpose();
        pattern.map_err(|why| {
            let finding = self.refused(
                name,
                &format!("{name} is not a valid regular expression: {why}"),
            );
            Box::new(finding.help("use a regular expression as in kustomize, such as `prod-.*`"))
        })
    }

    fn selector(&self, name: &str, text: Option<&str>) -> Result<Option<Selector>, Box<Finding>> {
        let selector = text.map(str::parse).transpose();
        selector.map_err(|why: NotASelector| Box::new(self.refused(name, &why.to_string())))
    }

    fn refused(&self, name: &str, message: &str) -> Finding {
        let path = self.at.key(name);
        let span = self.document.nearest(&path).span();
        Finding::error(rule_id::INVALID_VALUE, message)
            .at(span)
            .field(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_of_a_name() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "anything", true),
            (".*", "a", true),
            ("prod-.*", "prod-1", true),
            ("prod-.*", "a-prod-1", false),
            ("a|b", "b", true),
            ("a|b", "ab", false),
            ("a.c", "abc", true),
            ("(Aro|ARO)Cluster", "AROCluster", true),
        ] {
            let read = Pattern::new(pattern).expect(pattern);
            assert_eq!(read.matches(name), expected, "{pattern} {name}");
        }
        for wrong in ["*", "a(", "[b"] {
            assert!(Pattern::new(wrong).is_err(), "{wrong}");
        }
    }
}
