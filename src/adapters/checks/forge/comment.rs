//! The comment on a pull request that shows a check.
//!
//! In: a check. Out: its text, which begins with a mark that finds it again. A pull request has one comment per
//! context; it is changed in place. It does not know how comments are written.

use super::outcome::outcome;
use crate::adapters::checks::text::{Limit, markdown};
use crate::model::Check;

/// The number of the pull request on which this check is shown as a comment.
pub(super) fn pull_request(check: &Check) -> Option<u64> {
    let is_final = outcome(check.state, check.detail).is_final();
    check
        .pull_request
        .filter(|_| is_final && !check.summary.is_empty())
}

/// How every mark begins.
pub(super) use crate::model::COMMENT_MARK as MARK;

/// How the comment of this context begins. Markdown shows it as nothing.
pub(super) fn mark(context: &str) -> String {
    // Within a comment of HTML, `--` may end it.
    format!("{MARK}{} -->", context.replace("--", "-\u{200b}-"))
}

/// The text of the comment, cut to `limit` characters.
pub(super) fn text(check: &Check, limit: usize) -> String {
    let commit = check.revision.get(..10).unwrap_or(&check.revision);
    let (mark, summary) = (mark(&check.context), check.summary.trim_end());
    let text = format!("{mark}\n{summary}\n\n`{}` at {commit}\n", check.context);
    markdown(&text, Limit::Chars(limit))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;
    use crate::model::CheckState;

    #[test]
    fn a_comment_is_found_by_its_context_and_is_never_too_long() {
        let mut plan = check("capstan/prod/plan", CheckState::Success, "nothing to do");
        let whole = text(&plan, 65_536);
        let expected = "<!-- capstan: capstan/prod/plan -->\n## nothing to do\n\n`capstan/prod/plan` at 69b5906347\n";
        assert_eq!(whole, expected);
        assert!(!whole.starts_with(&mark("capstan/prod")));
        plan.summary = "- a finding\n".repeat(10_000);
        let cut = text(&plan, 65_536);
        assert!(cut.chars().count() <= 65_536 && cut.starts_with(&mark(&plan.context)));
        assert!(
            !mark("a--> b")
                .trim_start_matches("<!--")
                .trim_end_matches("-->")
                .contains("--")
        );
    }
}
