//! Words of others, before they are shown.
//!
//! In: what a server, a person or an object says. Out: one line of bounded length, which neither controls a terminal nor
//! changes the direction of writing. Markdown and commands of CI systems are the matter of [`super::markdown`].

use std::fmt;

/// The longest words of others, in characters: enough for what API servers and forges explain, and less than a page.
const LONGEST: usize = 1_000;
/// The longest message around them.
const LONGEST_MESSAGE: usize = 4 * LONGEST;
/// At the end of what was cut.
const ELLIPSIS: char = '…';

/// Whether a character controls a terminal, ends a line, changes the direction of writing or is not seen. Joiners and the
/// space without width are not among them: scripts need the ones, and [`super::markdown`] the other.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A JSON document as text, in which no string steers a terminal, turns text around or is a command to a CI system: those
/// characters are escaped, which every JSON parser reads as the same. Only strings have them, but for line breaks.
#[must_use]
pub fn json_document(json: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(json).unwrap_or_default();
    safe_json(&text) + "\n"
}

/// The same for JSON that is text already.
#[must_use]
pub fn safe_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut before = ' ';
    for c in text.chars() {
        let is_command = c == '#' && before == '#';
        match c {
            '\n' => out.push(c),
            c if is_command || is_unseen(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Returns true if a text would be a command to a CI system, steer a terminal or turn text around where it is printed as it
/// is.
#[must_use]
pub fn is_hostile(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'#';
    // Most texts are, and many are looked at.
    if text.bytes().all(is_plain) {
        return text.trim_start().starts_with("::");
    }
    let of_line = |line: &str| {
        let is_command = line.contains("##[") || line.to_ascii_lowercase().contains("##vso[");
        let is_seen = |c: char| matches!(c, '\t' | '\r') || !is_unseen(c);
        is_command || line.trim_start().starts_with("::") || !line.chars().all(is_seen)
    };
    text.split('\n').any(of_line)
}

/// What others said: on one line, without characters that are not seen, and no longer than 1,000 characters.
#[must_use]
pub fn said(text: &str) -> String {
    line(text, LONGEST)
}

/// A whole message, which may repeat what others said: the same, and longer.
#[must_use]
pub fn message_line(text: &str) -> String {
    line(text, LONGEST_MESSAGE)
}

/// Reads no more of the text than it keeps, and what is not seen in between.
fn line(text: &str, longest: usize) -> String {
    let mut line = String::with_capacity(text.len().min(4 * longest));
    let (mut count, mut is_apart) = (0, false);
    for c in text.chars() {
        if is_unseen(c) || c.is_whitespace() {
            is_apart = count > 0;
            continue;
        }
        let more = 1 + usize::from(is_apart);
        if count + more > longest {
            // The last character makes room.
            if count == longest {
                line.pop();
            }
            line.push(ELLIPSIS);
            return line;
        }
        if std::mem::take(&mut is_apart) {
            line.push(' ');
        }
        line.push(c);
        count += more;
    }
    line
}

/// Writes text on one line: characters that are not seen, line breaks among them, are escaped as Rust does.
#[derive(Debug)]
pub struct Escaping<W>(pub W);

impl<W: fmt::Write> fmt::Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(is_unseen) {
            let plain = part.trim_end_matches(is_unseen);
            self.0.write_str(plain)?;
            if let Some(c) = part.chars().next_back().filter(|c| is_unseen(*c)) {
                write!(self.0, "{}", c.escape_default())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn what_others_said_is_one_line_that_steers_nothing() {
        for (text, expected) in [
            ("", ""),
            (" \n ", ""),
            ("as it is", "as it is"),
            ("größe 名前", "größe 名前"),
            ("a\r\n\tb", "a b"),
            ("\u{1b}[31mred\u{7}", "[31mred"),
            ("user\u{202e}nimda\u{202c}", "user nimda"),
            ("a\u{2066}b\u{2069}c\u{feff}d\u{ad}e\u{e0041}", "a b c d e"),
            ("a\u{200d}b", "a\u{200d}b"),
        ] {
            assert_eq!(said(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let long = "é".repeat(LONGEST);
        assert_eq!(said(&long), long);
        for more in ["x", " x", "\u{202e}x"] {
            let cut = said(&format!("{long}{more}"));
            assert_eq!(cut.chars().count(), LONGEST);
            assert!(cut.ends_with("é…"), "{more:?}");
        }
        assert_eq!(said(&format!("{long} \n")), long);
        assert_eq!(
            message_line(&"x".repeat(9_999)).chars().count(),
            LONGEST_MESSAGE
        );
    }

    #[test]
    fn what_is_not_seen_is_shown_escaped() {
        let mut shown = Escaping(String::new());
        let text = "a\u{1b}[2J\tb\u{202e}ß\n";
        shown.write_str(text).expect("a String takes all");
        assert_eq!(shown.0, "a\\u{1b}[2J\\tb\\u{202e}ß\\n");
    }

    #[test]
    fn a_json_document_is_the_same_and_has_nothing_hostile() {
        let text =
            "x\n::error ::y ##vso[a]b ###[c] \u{1b}[2J\u{7f}\u{9b}\u{202e}\u{e0041}ß\u{feff}";
        let json = serde_json::json!({text: [text, 1, {"a": "# ## b"}]});
        let printed = json_document(&json);
        let read: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(read, json);
        assert!(!printed.lines().any(is_hostile), "{printed}");
        assert!(printed.contains('ß'), "{printed}");
    }

    #[test]
    fn hostile_is_what_a_ci_system_or_a_terminal_obeys() {
        for text in [
            "a\n  ::error ::b",
            "::set-output name=a::b",
            "a ##VSO[task.x]b",
            "a##[b",
            "\u{1b}[2J",
            "a\u{202e}b",
        ] {
            assert!(is_hostile(text), "{text:?}");
        }
        for text in ["", "a::b", "## A heading\n\n### b\n", "a\tb\r\n", "größe"] {
            assert!(!is_hostile(text), "{text:?}");
        }
    }
}
