//! Text of others where Markdown, or a log that a CI system reads, gives it a meaning.
//!
//! In: any text. Out: one line that shows as that text: it makes no link, mention, table or HTML, and no command
//! (`##vso[`, `::error::`; the parsers of Azure Pipelines and GitHub Actions). It does not know what the text is about.

use super::words::is_unseen;

/// Between two characters, it keeps them from being read together, and is not seen. Forges ignore a backslash
/// before `@` and `#`.
const APART: char = '\u{200b}';

/// The text on one line, as it is read where nothing is formatted: a title, or a message on a line of a file.
#[must_use]
pub fn plain(text: &str) -> String {
    let line = one_line(text);
    match line.starts_with("::") {
        true => format!("{APART}{line}"),
        false => line,
    }
}

/// The text on one line of Markdown. What it has between two backticks is code.
#[must_use]
pub fn markdown(text: &str) -> String {
    let line = one_line(text);
    let parts: Vec<&str> = line.split('`').collect();
    let last = parts.len() - 1;
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        match at % 2 == 1 && at < last && !part.is_empty() {
            true if out.ends_with('`') => out += &format!(" {}", code(part)),
            true => out += &code(part),
            false => {
                if at % 2 == 1 {
                    out.push_str("\\`");
                }
                escape(part, &mut out);
                if at % 2 == 1 && at < last {
                    out.push_str("\\`");
                }
            }
        }
    }
    out
}

/// The same in a table.
#[must_use]
pub fn cell(text: &str) -> String {
    markdown(text).replace('|', "\\|")
}

/// The text as code: between more backticks than it has in a row.
#[must_use]
pub fn code(text: &str) -> String {
    let text = one_line(text);
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    match text.contains('`') {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// Without line breaks, characters that control a terminal or the direction of writing, and `##`.
fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if is_unseen(c) { ' ' } else { c })
        .collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = String::with_capacity(text.len());
    for c in words.join(" ").chars() {
        if c == '#' && line.ends_with('#') {
            line.push(APART);
        }
        line.push(c);
    }
    line
}

fn escape(text: &str, out: &mut String) {
    let chars: Vec<char> = text.chars().collect();
    for (at, c) in chars.iter().copied().enumerate() {
        let next = chars.get(at + 1).copied();
        let follows = |is: fn(char) -> bool| next.is_some_and(is);
        let is_first = out.is_empty();
        let in_word = at > 0 && chars[at - 1].is_alphanumeric();
        let is_special = match c {
            '\\' | '*' | '~' => true,
            '_' => !in_word || !follows(char::is_alphanumeric),
            '<' => follows(|c| c.is_alphanumeric() || matches!(c, '/' | '!' | '?')),
            '&' => follows(|c| c.is_alphanumeric() || c == '#'),
            '[' => is_first || next == Some('['),
            ']' => follows(|c| matches!(c, '(' | '[')),
            // A line that begins with `/` may be a command of GitLab.
            '#' | '>' | '+' | '-' | '=' | '/' => is_first,
            '.' | ')' => is_number(out) && matches!(next, None | Some(' ')),
            _ => false,
        };
        if is_special {
            out.push('\\');
        }
        out.push(c);
        let rest = &chars[at + 1..];
        let refers = match c {
            ':' => rest.starts_with(&['/', '/']),
            'w' | 'W' => ends_www(&chars[..=at]) && next == Some('.'),
            '@' => !in_word && follows(char::is_alphanumeric),
            '#' => follows(|c| c.is_ascii_digit()),
            _ => false,
        };
        if refers {
            out.push(APART);
        }
    }
}

/// Whether the text so far ends with the word `www`, which begins a link without a scheme.
fn ends_www(text: &[char]) -> bool {
    let mut last = text.iter().rev();
    last.by_ref()
        .take(3)
        .filter(|c| c.eq_ignore_ascii_case(&'w'))
        .count()
        == 3
        && last.next().is_none_or(|c| !c.is_alphanumeric())
}

/// Whether the line so far would begin a numbered list.
fn is_number(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_meaning_stays_as_it_is() {
        for text in [
            "a_b/c-d.yaml:14:14: U02 spec.x[0].id of Kind/ns/name changes from \"4.20\" to \"5\": why",
            "push a commit whose message ends in `Capstan-Approve: delete c/two`",
            "a < b, a & b, me@example.com, 50 #, a/b: c, awww.",
        ] {
            assert_eq!(markdown(text), text);
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn markdown_shows_the_text() {
        for (text, expected) in [
            ("*a* _b_ ~c~ \\", "\\*a\\* \\_b\\_ \\~c\\~ \\\\"),
            (
                "<img src=x> <!-- --> </p> &lt;",
                "\\<img src=x> \\<!-- --> \\</p> \\&lt;",
            ),
            ("[a](b) [[c]]", "\\[a\\](b) \\[[c]]"),
            (
                "@team, (@me) and #12",
                "@\u{200b}team, (@\u{200b}me) and #\u{200b}12",
            ),
            ("see https://h/a", "see https:\u{200b}//h/a"),
            (
                "www.h.example (WWW.h)",
                "www\u{200b}.h.example (WWW\u{200b}.h)",
            ),
            ("/approve", "\\/approve"),
            ("# a", "\\# a"),
            ("- a", "\\- a"),
            ("12. a", "12\\. a"),
            ("a\r\n\n  b\u{202e}c\u{7}d", "a b c d"),
            ("`a", "\\`a"),
            ("a `b` c`d", "a `b` c\\`d"),
            ("`a``b` c", "`a` `b` c"),
            ("`` @a", "\\`\\` @\u{200b}a"),
        ] {
            assert_eq!(markdown(text), expected, "{text}");
        }
        assert_eq!(cell("a|`b|c`"), "a\\|`b\\|c`");
        assert_eq!(code("a``b"), "``` a``b ```");
    }

    #[test]
    fn no_text_is_a_command() {
        let text = "##vso[task.complete] ###[error]";
        for shown in [plain(text), markdown(text), code(text)] {
            assert!(!shown.contains("##"), "{shown}");
        }
        assert_eq!(plain(" ::error::x"), "\u{200b}::error::x");
    }
}
