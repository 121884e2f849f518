//! One problem, reported so that a person can fix it.
//!
//! A finding has a message for people and the arguments of that message for programs: whatever groups,
//! fingerprints or compares findings looks at the rule, the arguments and the place, never at the words.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::{ObjectId, Path, Span};

/// How severe a finding is. A tree with an error is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Must be fixed.
    Error,
    /// Should be reviewed.
    Warning,
    /// For information only.
    Info,
}

/// An argument of a message: its name and its value, such as `("vmSize", "Standard_D2")`.
pub type Arg = (&'static str, String);

/// A message for people, and the arguments that it was formatted with. Write it with `message!`; a plain
/// text is a message without arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sentence.
    pub text: String,
    /// What it is about, in the order of the text.
    pub args: Vec<Arg>,
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        let args = Vec::new();
        Self { text, args }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Formats a [`Message`]: `message!("{field} must be {expected}", field = path, expected)`. What is listed
/// after the text is an argument. The text may use other variables too: those are only words.
macro_rules! message {
    (@value $name:ident) => {
        $name
    };
    (@value $name:ident $value:expr) => {
        $value
    };
    ($text:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        let ($($name,)*) = ($(::std::string::ToString::to_string(
            &$crate::model::message!(@value $name $($value)?),
        ),)*);
        $crate::model::Message {
            text: ::std::format!($text),
            args: ::std::vec![$((stringify!($name), $name)),*],
        }
    }};
}
pub(crate) use message;

/// One problem: what is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, such as `Y02`.
    pub id: &'static str,
    /// How severe it is.
    pub severity: Severity,
    /// The place to edit; `None` if the finding is about the whole fleet.
    pub span: Option<Span>,
    /// The object with the problem.
    pub object: Option<ObjectId>,
    /// The field of the object.
    pub field: Option<Path>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The arguments of the message. They are never printed.
    pub args: Vec<Arg>,
    /// What to do next.
    pub help: Option<String>,
    /// If it comes from an overlay: the clusters that it affects, as `namespace/name`, sorted. Object,
    /// field, message and arguments are those of one of them.
    pub clusters: Vec<String>,
}

/// How many clusters are named before the rest is only counted.
const NAMED: usize = 5;

impl Finding {
    /// A finding that keeps the tree from being applied.
    pub fn error(id: &'static str, message: impl Into<Message>) -> Self {
        Self::new(id, Severity::Error, message.into())
    }

    /// A finding that should be reviewed.
    pub fn warning(id: &'static str, message: impl Into<Message>) -> Self {
        Self::new(id, Severity::Warning, message.into())
    }

    /// A finding for information only.
    pub fn info(id: &'static str, message: impl Into<Message>) -> Self {
        Self::new(id, Severity::Info, message.into())
    }

    fn new(id: &'static str, severity: Severity, message: Message) -> Self {
        let Message { text, args } = message;
        Self {
            id,
            severity,
            span: None,
            object: None,
            field: None,
            message: text,
            args,
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

    /// Sets the object it is about.
    #[must_use]
    pub fn of(mut self, object: &ObjectId) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// Sets the field it is about.
    #[must_use]
    pub fn field(mut self, field: &Path) -> Self {
        self.field = Some(field.clone());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What it is about, for comparison with other findings of the same rule: its arguments, or its field if it
    /// has none.
    #[must_use]
    pub fn subject(&self) -> Cow<'_, [Arg]> {
        let field = || self.field.iter().map(|field| ("field", field.to_string()));
        match self.args.as_slice() {
            [] => Cow::Owned(field().collect()),
            args => Cow::Borrowed(args),
        }
    }

    /// What is wrong and which clusters it affects: `ID message, in namespace/name`.
    #[must_use]
    pub fn headline(&self) -> String {
        let scope = self.scope().map(|scope| format!(", {scope}"));
        format!("{} {}{}", self.id, self.message, scope.unwrap_or_default())
    }

    /// The clusters that an overlay's finding affects: `in clusters/a, clusters/b and 3 more`.
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
    fn a_message_carries_its_arguments() {
        let (size, most) = ("a", 3);
        let message = message!(
            "`{size}` is one of {count}, {most} at most",
            size,
            count = 2 + 2
        );
        assert_eq!(message.text, "`a` is one of 4, 3 at most");
        let args = [("size", "a".to_owned()), ("count", "4".to_owned())];
        assert_eq!(message.args, args);
        assert_eq!(*Finding::error("X01", message).subject(), args);
        let field = Path::dotted("spec.a");
        let plain = Finding::error("X01", "wrong").field(&field);
        assert_eq!(*plain.subject(), [("field", "spec.a".to_owned())]);
    }

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
