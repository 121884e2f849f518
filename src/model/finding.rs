//! One problem, described so that a person can fix it.

use std::fmt;

use serde::Serialize;

use super::{ObjectId, Path, Span};

/// How bad a finding is. A tree with errors is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Must be fixed.
    Error,
    /// Should be looked at.
    Warning,
    /// Good to know.
    Info,
}

/// One problem: what, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, such as `Y02`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The place to edit; `None` if the finding is about the whole fleet.
    pub span: Option<Span>,
    /// The object with the problem.
    pub object: Option<ObjectId>,
    /// The field of the object.
    pub field: Option<Path>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// If it comes from an overlay: the clusters with the problem, as `namespace/name`, in order. Object, field
    /// and message are those of one of them.
    pub clusters: Vec<String>,
}

/// How many clusters are named; the others are only counted.
const NAMED: usize = 5;

impl Finding {
    /// An error, with which a tree is not applied.
    pub fn error(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, message.into())
    }

    /// A warning, which should be looked at.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Warning, message.into())
    }

    /// Information.
    pub fn info(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Info, message.into())
    }

    fn new(id: &'static str, severity: Severity, message: String) -> Self {
        Self {
            id,
            severity,
            span: None,
            object: None,
            field: None,
            message,
            help: None,
            clusters: Vec::new(),
        }
    }

    /// Points at `span`.
    #[must_use]
    pub fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone());
        self
    }

    /// Sets the object.
    #[must_use]
    pub fn of(mut self, object: &ObjectId) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// Sets the field.
    #[must_use]
    pub fn field(mut self, field: &Path) -> Self {
        self.field = Some(field.clone());
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Id, message and clusters: `ID message, in namespace/name`.
    #[must_use]
    pub fn headline(&self) -> String {
        let scope = self.scope().map(|scope| format!(", {scope}"));
        format!("{} {}{}", self.id, self.message, scope.unwrap_or_default())
    }

    /// The clusters of a finding in an overlay: `in clusters/a, clusters/b and 3 more`.
    #[must_use]
    pub fn scope(&self) -> Option<String> {
        let named = &self.clusters[..self.clusters.len().min(NAMED)];
        let (last, rest) = named.split_last()?;
        Some(match (rest, self.clusters.len() - named.len()) {
            ([], 0) => format!("in {last}"),
            (rest, 0) => format!("in {} and {last}", rest.join(", ")),
            (_, more) => format!("in {} and {more} more", named.join(", ")),
        })
    }
}

/// One line: `path:line:column: ID message, in namespace/name (help)`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = &self.span {
            write!(f, "{span}: ")?;
        }
        f.write_str(&self.headline())?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_clusters_are_named_and_the_others_counted() {
        let scope = |count: usize| {
            let mut finding = Finding::error("X01", "wrong");
            finding.clusters = (0..count).map(|at| format!("n/{at}")).collect();
            finding.scope()
        };
        assert_eq!(scope(0), None);
        assert_eq!(scope(1).as_deref(), Some("in n/0"));
        assert_eq!(scope(3).as_deref(), Some("in n/0, n/1 and n/2"));
        assert_eq!(scope(5).as_deref(), Some("in n/0, n/1, n/2, n/3 and n/4"));
        assert_eq!(
            scope(7).as_deref(),
            Some("in n/0, n/1, n/2, n/3, n/4 and 2 more")
        );
    }
}
