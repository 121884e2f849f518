//! Words of a server, for people: one line without control characters and of limited length.

use crate::model::cut;

/// The longest text that is shown.
const LONGEST: usize = 300;

/// The text of `bytes` as one line: of a line that was drawn over, the last version; without escape
/// sequences; cut at a length that a message can have.
pub(super) fn line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(|line| {
        let versions = line.rsplit('\r').map(without_escapes);
        let mut versions = versions.filter(|line| !line.is_empty());
        versions.next().unwrap_or_default()
    });
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let text = lines.join(" ");
    cut::shortened(&text, LONGEST, "…")
}

/// Without `ESC [ … letter`, `ESC ] … BEL` and control characters.
fn without_escapes(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line.chars().peekable());
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\x1b', Some('[')) => {
                rest.next();
                rest.find(|c| c.is_ascii_alphabetic());
            }
            ('\x1b', Some(']')) => drop(rest.find(|c| *c == '\x07')),
            (c, _) if c.is_control() => {}
            (c, _) => text.push(c),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn nothing_a_server_says_moves_the_cursor_or_fills_the_screen() {
        let cases: [(&[u8], &str); 6] = [
            (b"plain\n", "plain"),
            (b"a\rb\rcounting: 100%\r\n", "counting: 100%"),
            (b"\x1b[31mred\x1b[0m \x1b]0;title\x07text\x00", "red text"),
            (b"one\n\n  two \n", "one two"),
            (b"\xff", "\u{fffd}"),
            (b"\x1b", ""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(line(bytes), expected);
        }
        let long = line("é".repeat(1_000).as_bytes());
        assert_eq!(long.chars().count(), 301);
    }
}
