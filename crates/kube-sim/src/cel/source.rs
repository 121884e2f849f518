//! The text of an expression before it is parsed.
//!
//! In: the text of an expression. Out: its nesting and size; and an equivalent text with at most one
//! `!` or `-` in a row, because the parser of `kube-cel` takes an even number of them for one. Strings
//! and comments do not change.

/// How large the syntax tree of a text can become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// How deep its brackets are nested.
    pub(super) brackets: usize,
    /// How many punctuation characters it has.
    pub(super) signs: usize,
}

/// The shape of a text.
pub(super) fn shape(text: &str) -> Shape {
    let mut shape = Shape::default();
    let (mut open, mut before) = (0_usize, 0);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let above = text.get(..before).unwrap_or_default();
        let taken = quoted_or_comment(rest, above).unwrap_or_else(|| {
            match c {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            shape.signs += usize::from(c.is_ascii_punctuation() && c != '_');
            c.len_utf8()
        });
        shape.brackets = shape.brackets.max(open);
        before += taken;
        rest = rest.get(taken..).unwrap_or_default();
    }
    shape
}

/// The length of the string or comment at the start of `rest`, which follows `before`.
fn quoted_or_comment(rest: &str, before: &str) -> Option<usize> {
    match rest.chars().next()? {
        '"' | '\'' => Some(string(rest, is_raw(before))),
        '/' if rest.starts_with("//") => Some(rest.find('\n').unwrap_or(rest.len())),
        _ => None,
    }
}

/// The text with at most one sign before a value.
pub(super) fn single_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match (quoted_or_comment(rest, &out), c) {
            (Some(length), _) => length,
            (None, '!' | '-') => {
                let (signs, length) = run(rest, c);
                // After a value, the first `-` is a subtraction.
                let between = usize::from(c == '-' && ends_a_value(&out));
                let before = signs - between;
                out.extend(std::iter::repeat_n(c, between + before % 2));
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            (None, c) => c.len_utf8(),
        };
        let (part, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        out.push_str(part);
        rest = after;
    }
    out
}

/// How many times `sign` occurs at the start of `text`, and the length of that with blanks between.
fn run(text: &str, sign: char) -> (usize, usize) {
    let (mut signs, mut length) = (0, 0);
    for (at, c) in text.char_indices() {
        if c == sign {
            // `!=` is another operator.
            let is_other = || text.get(at..).is_some_and(|from| from.starts_with("!="));
            if signs > 0 && is_other() {
                break;
            }
            signs += 1;
            length = at + 1;
        } else if !c.is_whitespace() {
            break;
        }
    }
    (signs, length)
}

fn ends_a_value(text: &str) -> bool {
    let text = text.trim_end();
    let value = |c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '}' | '"' | '\'');
    let word = text
        .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next();
    text.ends_with(value) && word != Some("in")
}

/// Whether a string that begins after `text` is raw, so that `\` does not escape.
fn is_raw(text: &str) -> bool {
    let prefix = text
        .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next();
    prefix.is_some_and(|prefix| prefix.len() <= 2 && prefix.contains(['r', 'R']))
}

/// The length of the string at the start of `text`; all of it when it is not terminated.
fn string(text: &str, is_raw: bool) -> usize {
    let quote = match ["\"\"\"", "'''"]
        .iter()
        .find(|quote| text.starts_with(**quote))
    {
        Some(quote) => quote,
        None => text.get(..1).unwrap_or(text),
    };
    let mut at = quote.len();
    while let Some(from) = text.get(at..).filter(|from| !from.is_empty()) {
        if from.starts_with(quote) {
            return at + quote.len();
        }
        let mut chars = from.chars();
        let escapes = chars.next() == Some('\\') && !is_raw;
        at = text.len() - chars.as_str().len();
        if escapes {
            at += chars.next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_signs_cancel_out_and_three_become_one() {
        for (text, single) in [
            ("!!a", "a"),
            ("! !\n!a", "!a"),
            ("!a && !!b", "!a && b"),
            ("a != b", "a != b"),
            ("!(!a)", "!(!a)"),
            ("--a", "a"),
            ("a - -b", "a --b"),
            ("a - --b", "a -b"),
            ("a--b == -1", "a--b == -1"),
            ("a in --b", "a in b"),
        ] {
            assert_eq!(single_signs(text), single, "{text}");
        }
    }

    #[test]
    fn strings_and_comments_do_not_change() {
        for text in [
            "a == '!!' + \"--\"",
            r"a == 'it\'s !!'",
            r"a == r'\' + '!!'",
            "a == '''!!'\n--'''",
            "a // !!b -- c",
            "a == 'unterminated !!",
            "é == '☃--'",
        ] {
            assert_eq!(single_signs(text), text);
        }
    }
}
