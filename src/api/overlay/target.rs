//! The objects that a patch applies to, selected as in kustomize.
//!
//! In: `target` of a patch. Out: the target, or a finding. It does not know which objects exist.

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::selector::{NotASelector, Selector};
use crate::model::{Finding, Node, Path};
use kube_schema::regular_expression;

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
    regex: Regex,
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
        Ok(Self {
            regex: regular_expression(&format!("^(?:{text})$"))?,
            text: text.to_owned(),
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
        self.text.is_empty() || self.text == text || self.regex.is_match(text)
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
    pub(super) fn read(&self, document: &Node, at: &Path) -> Result<Target, Box<Finding>> {
        let field = Field { document, at };
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
}

impl Field<'_> {
    fn pattern(&self, name: &str, text: Option<&str>) -> Result<Option<Pattern>, Box<Finding>> {
        let pattern = text.map(Pattern::new).transpose();
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
        Finding::error("S04", message).at(span).field(&path)
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
