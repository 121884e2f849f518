//! The findings of a check by the line that they are on, for forges that show them in pull requests.
//!
//! In: a check. Out: each line that has findings, once, with what is found there. It does not know how a forge shows
//! a line, or which lines it takes.

use std::collections::BTreeMap;

use crate::model::markdown::markdown as escaped;
use crate::model::{Annotation, Check};

/// On how many lines of a pull request one check comments at a time. More is noise; the summary has all.
pub(super) const MOST: usize = 20;

/// A line with findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From the root of the repository, without a `/` before it.
    pub(super) path: String,
    /// 1-based.
    pub(super) line: u32,
    /// What is found there, as Markdown.
    pub(super) texts: Vec<String>,
    pub(super) is_error: bool,
}

/// The lines with findings, by path and number.
pub(super) fn lines(check: &Check) -> Vec<Line> {
    let mut found: BTreeMap<(&str, u32), Vec<&Annotation>> = BTreeMap::new();
    for annotation in &check.annotations {
        let path = annotation.path.trim_start_matches('/');
        let at = (path, annotation.line.max(1));
        found.entry(at).or_default().push(annotation);
    }
    let line = |((path, line), found): ((&str, u32), Vec<&Annotation>)| Line {
        path: path.to_owned(),
        line,
        texts: found.iter().map(|one| text(one)).collect(),
        is_error: found.iter().any(|one| one.level == "error"),
    };
    found.into_iter().map(line).collect()
}

fn text(annotation: &Annotation) -> String {
    format!("{}: {}", annotation.level, escaped(&annotation.message))
}
