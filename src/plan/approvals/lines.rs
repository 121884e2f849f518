//! The lines of a text that somebody wrote, as Markdown has them.
//!
//! In: a message or a comment. Out: the lines outside of code. It does not know what the lines say.

use crate::model::COMMAND;
use crate::model::cut::shortened;

/// The word after [`COMMAND`] with which a line of a comment approves.
pub(crate) const APPROVE: &str = "approve";
/// Another word after [`COMMAND`], which approves nothing: the webhook reads it.
const RERUN: &str = "rerun";
/// The most bytes of a text that is read for approvals: no person writes more.
pub(super) const MOST_TEXT: usize = 64 << 10;
/// The most characters of a line that are quoted.
pub(super) const QUOTED: usize = 200;

/// A fence that is open: its character, and how many of them.
type Fence = (char, usize);

/// Lists the lines that are not in a block of code with fences.
pub(super) fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Option<Fence> = None;
    text.lines().filter(move |line| {
        let Some((fence, info)) = fence(line) else {
            return open.is_none();
        };
        match open {
            Some((mark, count)) => {
                if info.trim().is_empty() && fence.0 == mark && fence.1 >= count {
                    open = None;
                }
                false
            }
            // It is code within a line.
            None if fence.0 == '`' && info.contains('`') => true,
            None => {
                open = Some(fence);
                false
            }
        }
    })
}

/// The fence that a line begins with, and what follows it. One that is indented by more than three spaces is none.
fn fence(line: &str) -> Option<(Fence, &str)> {
    let start = line.trim_start_matches(' ');
    let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = start.trim_start_matches(mark);
    let count = start.len() - info.len();
    (line.len() - start.len() <= 3 && count >= 3).then_some(((mark, count), info))
}

/// The line without the space around it, cut to what is quoted.
pub(super) fn quoted(line: &str) -> String {
    shortened(line.trim(), QUOTED, "…")
}

/// Returns true if the line begins with the command of comments, whatever is before it, and does not ask for another thing.
pub(crate) fn is_command(line: &str) -> bool {
    let start = line.trim_start_matches(|c: char| c.is_whitespace() || ">*-+_`".contains(c));
    let mut words = start.split_whitespace();
    let is_next =
        |next: Option<&str>, word: &str| next.is_some_and(|next| next.eq_ignore_ascii_case(word));
    is_next(words.next(), COMMAND) && !is_next(words.next(), RERUN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_ends_with_one_as_long_of_the_same_kind() {
        for (text, expected) in [
            ("a\n```\nb\n```\nc", &["a", "c"][..]),
            ("````\n```\nb\n````\nc", &["c"]),
            ("```\n~~~\n```x\nb\n```  \nc", &["c"]),
            ("   ~~~ yaml\nb", &[]),
            ("    ```\nb", &["    ```", "b"]),
            ("``` a ``` b\nc", &["``` a ``` b", "c"]),
            ("```\nb\n    ```\nc", &[]),
            ("``\nb", &["``", "b"]),
        ] {
            let lines: Vec<&str> = outside_fences(text).collect();
            assert_eq!(lines, expected, "{text}");
        }
    }
}
