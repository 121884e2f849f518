//! One thing wrong, said so that a person can mend it.

use std::fmt;

use serde::Serialize;

use super::{ObjectId, Path, Span};

/// How bad a finding is. An error keeps a tree from being applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Must be mended.
    Error,
    /// Should be looked at.
    Warning,
    /// Good to know.
    Info,
}

/// One thing wrong: what, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule, such as `Y02`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The place to edit; none when the finding is about the whole fleet.
    pub span: Option<Span>,
    /// The object it is about.
    pub object: Option<ObjectId>,
    /// The field within the object.
    pub field: Option<Path>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// Where it comes from an overlay: the clusters it is true of, as `namespace/name`, in order. Object,
    /// field and message are those of one of them.
    pub clusters: Vec<String>,
}

/// How many clusters are named before the others are only counted.
const NAMED: usize = 5;

impl Finding {
    /// A finding that keeps the tree from being applied.
    pub fn error(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, message.into())
    }

    /// A finding that should be looked at.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Warning, message.into())
    }

    /// A finding that is good to know.
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

    /// Names the object it is about.
    #[must_use]
    pub fn of(mut self, object: &ObjectId) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// Names the field it is about.
    #[must_use]
    pub fn field(mut self, field: &Path) -> Self {
        self.field = Some(field.clone());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What is wrong and where it shows: `ID message, in namespace/name`.
    #[must_use]
    pub fn headline(&self) -> String {
        let scope = self.scope().map(|scope| format!(", {scope}"));
        format!("{} {}{}", self.id, self.message, scope.unwrap_or_default())
    }

    /// The clusters that an overlay's finding is true of: `in clusters/a, clusters/b and 3 more`.
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
