//! Texts cut to what a forge takes.
//!
//! In: a text and a limit in the forge's own unit. Out: a text that never exceeds it, cut where a reader
//! can live with it, with a count of what is missing. It does not know which forge has which limit.

/// The longest text a forge takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// In bytes of UTF-8.
    Bytes(usize),
    /// In Unicode scalar values.
    Chars(usize),
}

impl Limit {
    const fn most(self) -> usize {
        match self {
            Self::Bytes(most) | Self::Chars(most) => most,
        }
    }

    fn size(self, text: &str) -> usize {
        match self {
            Self::Bytes(_) => text.len(),
            Self::Chars(_) => text.chars().count(),
        }
    }

    fn fits(self, text: &str) -> bool {
        self.size(text) <= self.most()
    }

    /// The longest beginning of `text` of at most this size.
    fn head(self, text: &str, most: usize) -> &str {
        let (mut used, mut end) = (0, 0);
        for c in text.chars() {
            used += match self {
                Self::Bytes(_) => c.len_utf8(),
                Self::Chars(_) => 1,
            };
            if used > most {
                break;
            }
            end += c.len_utf8();
        }
        text.get(..end).unwrap_or_default()
    }
}

const ELLIPSIS: &str = "…";

/// `text` on one line, with `…` at its end if it was cut.
#[must_use]
pub fn line(text: &str, limit: Limit) -> String {
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if limit.fits(&whole) {
        return whole;
    }
    match limit.most().checked_sub(limit.size(ELLIPSIS)) {
        Some(room) => format!("{}{ELLIPSIS}", limit.head(&whole, room)),
        None => limit.head(&whole, limit.most()).to_owned(),
    }
}

/// Markdown, cut at the end of a line: open code fences and `<details>` are closed, and the last line
/// says how many lines are missing.
#[must_use]
pub fn markdown(text: &str, limit: Limit) -> String {
    if limit.fits(text) {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut open, mut used) = (Open::default(), 0);
    let mut best: Option<(usize, String)> = None;
    for (at, one) in lines.iter().enumerate() {
        used += limit.size(one);
        if used > limit.most() {
            break;
        }
        open.read(one);
        let end = format!("{}{}", open.closed(), missing(lines.len() - at - 1));
        if used + limit.size(&end) <= limit.most() {
            best = Some((at + 1, end));
        }
    }
    match best {
        Some((count, end)) => lines[..count].concat() + &end,
        None => first_line(lines[0], lines.len(), limit),
    }
}

/// The beginning of a first line that does not fit.
fn first_line(line: &str, lines: usize, limit: Limit) -> String {
    let end = format!("{ELLIPSIS}\n{}", missing(lines));
    match limit.most().checked_sub(limit.size(&end)) {
        Some(room) => format!("{}{end}", outside_code(limit.head(line.trim_end(), room))),
        None => self::line(line, limit),
    }
}

/// Without an inline code span that has no end.
fn outside_code(text: &str) -> &str {
    let (mut open, mut rest) = (None::<(usize, usize)>, text);
    while let Some(from) = rest.find('`').and_then(|at| rest.get(at..)) {
        rest = from.trim_start_matches('`');
        let (start, count) = (text.len() - from.len(), from.len() - rest.len());
        open = match open {
            None => Some((start, count)),
            Some((_, ticks)) if ticks == count => None,
            other => other,
        };
    }
    let cut = open.and_then(|(start, _)| text.get(..start));
    cut.unwrap_or(text)
}

/// The last line of a text that was cut. The empty line before it ends a table.
fn missing(lines: usize) -> String {
    let digits = lines.to_string();
    let mut count = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            count.push(',');
        }
        count.push(digit);
    }
    let word = if lines == 1 { "line" } else { "lines" };
    format!("\n{ELLIPSIS} {count} more {word}\n")
}

/// What is open at a place of a Markdown text.
#[derive(Default)]
struct Open {
    /// The fence of a block of code, with the space before it.
    fence: Option<String>,
    details: usize,
}

impl Open {
    fn read(&mut self, line: &str) {
        let fence = fence(line);
        match (&self.fence, fence) {
            (Some(open), Some((close, ""))) => {
                let (open, close) = (open.trim_start(), close.trim_start());
                if close.starts_with(open) {
                    self.fence = None;
                }
            }
            (Some(_), _) => {}
            (None, Some((open, info))) if !(open.ends_with('`') && info.contains('`')) => {
                self.fence = Some(open.to_owned());
            }
            (None, _) => {
                let opened = line.matches("<details").count();
                let closed = line.matches("</details>").count();
                self.details = (self.details + opened).saturating_sub(closed);
            }
        }
    }

    /// What ends all of it.
    fn closed(&self) -> String {
        let mut text = String::new();
        if let Some(fence) = &self.fence {
            text.push_str(&format!("{fence}\n"));
        }
        for _ in 0..self.details {
            text.push_str("\n</details>\n");
        }
        text
    }
}

/// The fence that a line begins with, with the space before it, and what follows it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let from = line.trim_start();
    let mark = from.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = from.trim_start_matches(mark);
    let is_fence = from.len() - rest.len() >= 3;
    is_fence.then_some((line.strip_suffix(rest)?, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle row 21 of forges.md §9.
    #[test]
    fn a_line_is_cut_by_characters_or_bytes() {
        for (text, expected) in [
            ("a".repeat(140), "a".repeat(140)),
            ("a".repeat(141), format!("{}…", "a".repeat(139))),
            ("é".repeat(141), format!("{}…", "é".repeat(139))),
            (" a\n\tb ".to_owned(), "a b".to_owned()),
        ] {
            assert_eq!(line(&text, Limit::Chars(140)), expected);
        }
        assert_eq!(line("éééé", Limit::Bytes(7)), "éé…");
    }

    /// Oracle row 22.
    #[test]
    fn markdown_is_cut_by_bytes_with_a_count() {
        let limit = Limit::Bytes(65_535);
        let whole = "a".repeat(65_535);
        assert_eq!(markdown(&whole, limit), whole);
        for text in [format!("{whole}a"), "é".repeat(40_000)] {
            let cut = markdown(&text, limit);
            assert!(cut.len() <= 65_535 && cut.len() > 65_500, "{}", cut.len());
            assert!(cut.ends_with("…\n\n… 1 more line\n"));
        }
        let lines = "- x\n".repeat(20_000);
        let cut = markdown(&lines, limit);
        let shown = cut.matches("- x\n").count();
        let rest = 20_000 - shown;
        let count = format!("{},{:03}", rest / 1000, rest % 1000);
        assert!(
            cut.ends_with(&format!("- x\n\n… {count} more lines\n")),
            "{rest}"
        );
        assert!(cut.len() <= 65_535 && cut.len() > 65_500);
    }

    /// Oracle row 23: at every limit, what the head opens is closed.
    #[test]
    fn what_is_open_at_the_cut_is_closed() {
        let text = "\
# Plan

<details>
<summary>findings</summary>

- one

```yaml
a: 1
b: ```
c: 3
```

<details><summary>inner</summary>

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

~~~~
~~~
</details>
~~~~
</details>
</details>

The end, with `code` and more of it, so that it is the longest line.
";
        for most in 30..=text.chars().count() {
            let cut = markdown(text, Limit::Chars(most));
            assert!(cut.chars().count() <= most, "{most}: {cut}");
            let mut open = Open::default();
            cut.lines().for_each(|line| open.read(line));
            assert!(open.fence.is_none() && open.details == 0, "{most}:\n{cut}");
            let rows = cut.lines().filter(|line| line.starts_with('|'));
            for row in rows {
                assert!(text.lines().any(|line| line == row), "{most}: {row}");
            }
            let shown = cut
                .lines()
                .take_while(|line| text.lines().any(|l| l == *line));
            assert!(
                cut == text || shown.count() > 0 || most < 40,
                "{most}:\n{cut}"
            );
        }
        assert_eq!(
            markdown(&format!("```\n{}```\n", "a\n".repeat(20)), Limit::Chars(30)),
            "```\na\na\n```\n\n… 19 more lines\n"
        );
        // A first line that does not fit ends before its open code span.
        assert_eq!(
            markdown("see `a` and ``b`c d e f g h i j k``", Limit::Chars(34)),
            "see `a` and …\n\n… 1 more line\n"
        );
    }

    /// Oracle row 24.
    #[test]
    fn tiny_limits_are_kept_without_a_panic() {
        let texts = [
            "",
            "x",
            "éé",
            "```\nx\n```\ny\nz",
            "<details>\n\nx\n</details>\n`",
        ];
        for most in 0..40 {
            for text in texts.map(|text| text.repeat(20)) {
                for limit in [Limit::Bytes(most), Limit::Chars(most)] {
                    assert!(limit.fits(&line(&text, limit)), "{limit:?}");
                    assert!(limit.fits(&markdown(&text, limit)), "{limit:?} {text:?}");
                }
            }
        }
    }
}
