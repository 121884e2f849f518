//! Regular expressions as Go understands them, for a crate that differs in a few places.
//!
//! In: a pattern in the syntax of Go's `regexp`. Out: a [`Regex`] that matches the same texts, or why
//! there is none, in Go's words. The differences: `\d`, `\w`, `\s` and `\b` are ASCII in Go, `\Q` to
//! `\E` is plain text, braces that are no repetition are literal, a character class holds `[`,
//! `&`, `~` and `-` as they are, and what is repeated is not repeated again.

use regex::{Regex, RegexBuilder};

/// The most that may be counted in braces.
const MOST_REPEATS: u32 = 1000;

/// Compiles `text`.
///
/// # Errors
/// Says why it cannot be, and of which part.
pub fn compile(text: &str) -> Result<Regex, String> {
    compile_within(text, 10 << 20)
}

/// The same for text of strangers: what takes more than `most` bytes of memory is an error.
///
/// # Errors
/// Says why it cannot be, and of which part.
pub fn compile_within(text: &str, most: usize) -> Result<Regex, String> {
    let mut translator = Translator {
        text,
        at: 0,
        out: String::with_capacity(text.len() + 16),
        open: 0,
        last: Last::Nothing,
    };
    translator.run()?;
    let compiled = RegexBuilder::new(&translator.out).size_limit(most).build();
    compiled.map_err(|error| {
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            return format!("the expression needs more than {most} bytes of memory: `{text}`");
        }
        let message = error.to_string();
        let last = message.lines().last().unwrap_or_default();
        format!("{}: `{text}`", last.trim_start_matches("error: "))
    })
}

/// What a repetition would repeat.
#[derive(Clone, Copy)]
enum Last {
    Nothing,
    Something,
    /// A repetition, and where its operator begins.
    Repetition(usize),
}

struct Translator<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// How many groups are open.
    open: usize,
    last: Last,
}

impl<'a> Translator<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest().chars().next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' if self.open == 0 => return Err(format!("unexpected ): `{}`", self.text)),
                ')' => {
                    self.open -= 1;
                    self.take(1, Last::Something);
                }
                '|' => self.take(1, Last::Nothing),
                '*' | '+' | '?' => self.repetition(1)?,
                '{' => match self.count()? {
                    Some(length) => self.repetition(length)?,
                    None => self.literal(c),
                },
                '}' | ']' => self.literal(c),
                _ => self.take(c.len_utf8(), Last::Something),
            }
        }
        match self.open {
            0 => Ok(()),
            _ => Err(format!("missing closing ): `{}`", self.text)),
        }
    }

    fn rest(&self) -> &'a str {
        cut(self.text, self.at).1
    }

    /// The first `length` bytes of the rest.
    fn next(&self, length: usize) -> &'a str {
        cut(self.rest(), length).0
    }

    /// Takes over the next `length` bytes as they are.
    fn take(&mut self, length: usize, last: Last) {
        self.out.push_str(self.next(length));
        self.at += length;
        self.last = last;
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
        self.at += c.len_utf8();
        self.last = Last::Something;
    }

    /// `(`, `(?i)`, `(?i:` or `(?P<name>`.
    fn group(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let named = rest.strip_prefix("(?P<").or(rest.strip_prefix("(?<"));
        if let Some(named) = named {
            let is_word = |name: &str| {
                !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric())
            };
            let Some((name, _)) = named.split_once('>').filter(|(name, _)| is_word(name)) else {
                let end = rest.find('>').map_or(rest.len(), |at| at + 1);
                return Err(format!("invalid named capture: `{}`", self.next(end)));
            };
            self.open += 1;
            self.take(rest.len() - named.len() + name.len() + 1, Last::Nothing);
            return Ok(());
        }
        let Some(flags) = rest.strip_prefix("(?") else {
            self.open += 1;
            self.take(1, Last::Nothing);
            return Ok(());
        };
        let Some(end) = flags.find(|c: char| !"imsU-".contains(c)) else {
            return Err(format!("missing closing ): `{}`", self.text));
        };
        match cut(flags, end).1.chars().next() {
            Some(':') => self.open += 1,
            Some(')') => {}
            other => {
                let length = 2 + end + other.map_or(0, char::len_utf8);
                let shown = self.next(length);
                return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
            }
        }
        self.take(2 + end + 1, Last::Nothing);
        Ok(())
    }

    /// How long `{2}`, `{2,}` or `{2,3}` is; braces around anything else count nothing.
    fn count(&self) -> Result<Option<usize>, String> {
        let rest = self.rest().strip_prefix('{').unwrap_or_default();
        let Some((inner, _)) = rest.split_once('}') else {
            return Ok(None);
        };
        let number = |text: &str| {
            let plain = text == "0" || !text.starts_with('0');
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            // What is too large to be read is too large to be counted.
            (plain && digits).then(|| text.parse().unwrap_or(u32::MAX))
        };
        let bounds = match inner.split_once(',') {
            None => number(inner).map(|least| (least, least)),
            Some((least, "")) => number(least).map(|least| (least, least)),
            Some((least, most)) => number(least).zip(number(most)),
        };
        let length = inner.len() + 2;
        match bounds {
            None => Ok(None),
            Some((least, most)) if least > most || most > MOST_REPEATS => {
                Err(format!("invalid repeat count: `{}`", self.next(length)))
            }
            Some(_) => Ok(Some(length)),
        }
    }

    /// A repetition whose operator is `length` bytes long; a `?` after it makes it lazy.
    fn repetition(&mut self, length: usize) -> Result<(), String> {
        let lazy = cut(self.rest(), length).1.starts_with('?');
        let end = self.at + length + usize::from(lazy);
        match self.last {
            Last::Nothing => {
                let operator = self.next(length);
                let why = "missing argument to repetition operator";
                Err(format!("{why}: `{operator}`"))
            }
            Last::Repetition(start) => {
                let operators = self.text.get(start..end).unwrap_or_default();
                let why = "invalid nested repetition operator";
                Err(format!("{why}: `{operators}`"))
            }
            Last::Something => {
                self.take(end - self.at, Last::Repetition(self.at));
                Ok(())
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        if let Some(quoted) = self.rest().strip_prefix("\\Q") {
            let plain = quoted.split("\\E").next().unwrap_or_default();
            plain.chars().for_each(|c| push_literal(&mut self.out, c));
            let ending = if plain.len() < quoted.len() { 2 } else { 0 };
            self.at += 2 + plain.len() + ending;
            self.last = Last::Something;
            return Ok(());
        }
        let (written, length) = match escaped(self.rest(), false)? {
            Escaped::Class(text, length) => (text, length),
            Escaped::Char(c, length) => {
                let mut text = String::new();
                push_literal(&mut text, c);
                (text, length)
            }
        };
        self.out.push_str(&written);
        self.at += length;
        self.last = Last::Something;
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest();
        let open = || format!("missing closing ]: `{whole}`");
        let mut rest = whole.strip_prefix('[').unwrap_or_default();
        let mut out = String::from("[");
        if let Some(negated) = rest.strip_prefix('^') {
            out.push('^');
            rest = negated;
        }
        let mut first = true;
        loop {
            match rest.chars().next() {
                None => return Err(open()),
                Some(']') if !first => break,
                _ => rest = class_item(rest, &mut out)?.ok_or_else(open)?,
            }
            first = false;
        }
        out.push(']');
        self.out.push_str(&out);
        self.at = self.text.len() - rest.len() + 1;
        self.last = Last::Something;
        Ok(())
    }
}

/// Translates the first item of a class and gives the rest; none where the class does not end.
fn class_item<'a>(rest: &'a str, out: &mut String) -> Result<Option<&'a str>, String> {
    if let Some(length) = posix_class(rest) {
        let (class, after) = cut(rest, length);
        out.push_str(class);
        return Ok(Some(after));
    }
    let (low, length) = match class_char(rest)? {
        None => return Ok(None),
        Some(Escaped::Class(text, length)) => {
            out.push_str(&text);
            return Ok(Some(cut(rest, length).1));
        }
        Some(Escaped::Char(c, length)) => (c, length),
    };
    push_literal(out, low);
    let (_, after) = cut(rest, length);
    let Some(to) = after.strip_prefix('-').filter(|to| !to.starts_with(']')) else {
        return Ok(Some(after));
    };
    let (high, end) = match class_char(to)? {
        None => return Ok(None),
        Some(Escaped::Class(_, end)) => (None, end),
        Some(Escaped::Char(c, end)) => (Some(c), end),
    };
    let (_, rest_after) = cut(to, end);
    match high.filter(|high| low <= *high) {
        None => {
            let range = rest.strip_suffix(rest_after).unwrap_or(rest);
            Err(format!("invalid character class range: `{range}`"))
        }
        Some(high) => {
            out.push('-');
            push_literal(out, high);
            Ok(Some(rest_after))
        }
    }
}

fn class_char(rest: &str) -> Result<Option<Escaped>, String> {
    match rest.chars().next() {
        None => Ok(None),
        Some('\\') => escaped(rest, true).map(Some),
        Some(c) => Ok(Some(Escaped::Char(c, c.len_utf8()))),
    }
}

/// The length of `[:name:]` at the beginning of `rest`.
fn posix_class(rest: &str) -> Option<usize> {
    let name = rest.strip_prefix("[:")?;
    let (name, _) = name.split_once(":]")?;
    name.chars()
        .all(|c| c.is_ascii_alphabetic() || c == '^')
        .then_some(name.len() + 4)
}

/// What an escape means, and how long it is.
enum Escaped {
    Char(char, usize),
    Class(String, usize),
}

/// Reads the escape that `rest` begins with.
fn escaped(rest: &str, in_class: bool) -> Result<Escaped, String> {
    let Some(c) = rest.chars().nth(1) else {
        return Err("trailing backslash at end of expression: ``".into());
    };
    let class = |inside: &str, outside: &str| {
        let text = if in_class { inside } else { outside };
        Ok(Escaped::Class(text.to_owned(), 2))
    };
    match c {
        'd' => class("0-9", "[0-9]"),
        'D' => class("[^0-9]", "[^0-9]"),
        'w' => class("0-9A-Za-z_", "[0-9A-Za-z_]"),
        'W' => class("[^0-9A-Za-z_]", "[^0-9A-Za-z_]"),
        's' => class(r"\t\n\f\r ", r"[\t\n\f\r ]"),
        'S' => class(r"[^\t\n\f\r ]", r"[^\t\n\f\r ]"),
        'b' if !in_class => class("", r"(?-u:\b)"),
        'B' if !in_class => class("", r"(?-u:\B)"),
        'A' | 'z' if !in_class => class("", cut(rest, 2).0),
        'p' | 'P' => unicode_class(rest),
        'a' => Ok(Escaped::Char('\u{7}', 2)),
        'f' => Ok(Escaped::Char('\u{c}', 2)),
        'n' => Ok(Escaped::Char('\n', 2)),
        'r' => Ok(Escaped::Char('\r', 2)),
        't' => Ok(Escaped::Char('\t', 2)),
        'v' => Ok(Escaped::Char('\u{b}', 2)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(Escaped::Char(c, 2)),
        _ => code(rest).ok_or_else(|| format!("invalid escape sequence: `\\{c}`")),
    }
}

/// `\pL` or `\p{Greek}`
fn unicode_class(rest: &str) -> Result<Escaped, String> {
    let name = rest.chars().nth(2);
    let length = match name {
        Some('{') => rest.find('}').map(|end| end + 1),
        name => name.map(|name| 2 + name.len_utf8()),
    };
    let length = length.ok_or_else(|| format!("invalid character class range: `{rest}`"))?;
    Ok(Escaped::Class(cut(rest, length).0.to_owned(), length))
}

/// A character by its number: `\x7F`, `\x{10FFFF}`, or in octal `\012`, where one digit other than
/// zero would be a reference to a group, which there is not.
fn code(rest: &str) -> Option<Escaped> {
    let (digits, radix, length) = if let Some(braced) = rest.strip_prefix("\\x{") {
        let (digits, _) = braced.split_once('}')?;
        (digits, 16, digits.len() + 4)
    } else if rest.starts_with("\\x") {
        (rest.get(2..4)?, 16, 4)
    } else {
        let octal = rest.bytes().skip(1).take(3);
        let count = octal.take_while(|b| (b'0'..=b'7').contains(b)).count();
        let alone = count == 1 && !rest.starts_with("\\0");
        (
            rest.get(1..=count).filter(|_| count > 0 && !alone)?,
            8,
            count + 1,
        )
    };
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, radix).ok().filter(|_| plain);
    let c = number.and_then(char::from_u32)?;
    Some(Escaped::Char(c, length))
}

/// The first `length` bytes, which end with a character, and the rest.
fn cut(text: &str, length: usize) -> (&str, &str) {
    text.split_at_checked(length).unwrap_or((text, ""))
}

fn push_literal(out: &mut String, c: char) {
    // Of the punctuation, these two mean more with a backslash than without.
    if c.is_ascii_punctuation() && !matches!(c, '<' | '>') {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().is_match(text)
    }

    #[test]
    fn classes_are_ascii_as_in_go() {
        assert!(matches(r"^\d+$", "42"));
        assert!(!matches(r"^\d+$", "٤٢"));
        assert!(matches(r"^[\w.-]+$", "a_b.c-d"));
        assert!(!matches(r"^[\w.-]+$", "ä"));
        assert!(matches(r"^[^\s]+$", "ab"));
        assert!(!matches(r"^[^\s]+$", "a b"));
    }

    #[test]
    fn a_class_holds_brackets_and_ampersands_as_they_are() {
        assert!(matches("^[[]$", "["));
        assert!(matches("^[]a]+$", "a]"));
        assert!(matches("^[^]]$", "a"));
        assert!(matches("^[a&&b]+$", "&b"));
        assert!(matches("^[a-c-e]+$", "b-e"));
        assert!(matches(r"^[\[\]\-]+$", "[-]"));
        assert!(matches("^[[:alpha:]_]+$", "a_b"));
        assert!(!matches("^[[:alpha:]_]+$", "a1"));
    }

    #[test]
    fn braces_count_or_stand_for_themselves() {
        assert!(matches("^a{2,3}$", "aaa"));
        assert!(matches("^a{,3}$", "a{,3}"));
        assert!(matches("^{{x}}$", "{{x}}"));
        assert!(matches(r"^\Qa.b*\E+$", "a.b**"));
        assert!(!matches(r"^\Qa.b\E$", "axb"));
        assert!(matches(r"^a+?\x41\101$", "aAA"));
        assert!(matches(r"^\<\/\>$", "</>"));
    }

    #[test]
    fn an_invalid_pattern_is_reported_in_the_words_of_go() {
        for (pattern, why) in [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("(?=look)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<=b)", "invalid named capture: `(?<=b)`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("*", "missing argument to repetition operator: `*`"),
            (r"\h", r"invalid escape sequence: `\h`"),
            (r"(a)\1", r"invalid escape sequence: `\1`"),
            ("\\", "trailing backslash at end of expression: ``"),
        ] {
            assert_eq!(compile(pattern).unwrap_err(), why, "{pattern}");
        }
    }
}
