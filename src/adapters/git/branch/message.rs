//! The message of a commit that is made here.
//!
//! In: a subject, a body and trailers. Out: the text of the message, whose trailers are these and no others. Control
//! characters in the subject and the body become spaces; a trailer with one is refused. It does not know what the
//! trailers are for.

use crate::adapters::git::Error;

/// The most bytes of a subject.
const MOST_SUBJECT: usize = 1_000;
/// The most bytes of a body: 64 KiB.
const MOST_BODY: usize = 64 << 10;
/// The most trailers.
const MOST_TRAILERS: usize = 50;
/// The most bytes of the key of a trailer.
const MOST_KEY: usize = 64;
/// The most bytes of the value of a trailer.
const MOST_VALUE: usize = 1_000;

/// What the message of a commit says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitMessage {
    /// One line.
    pub subject: String,
    /// What follows after an empty line; may be empty.
    pub body: String,
    /// Keys and values, in order, in a paragraph of their own.
    pub trailers: Vec<(String, String)>,
}

impl CommitMessage {
    /// The whole text.
    ///
    /// # Errors
    /// When it has no subject, a part is too long, a trailer is not a line, or the body would add to the trailers.
    pub(super) fn text(&self) -> Result<String, Error> {
        self.written().map_err(|cause| Error::Commit { cause })
    }

    fn written(&self) -> Result<String, String> {
        let (subject, body) = (one_line(&self.subject), lines(&self.body));
        if subject.is_empty() {
            return Err("its subject is empty".to_owned());
        }
        bounded("subject", &subject, MOST_SUBJECT)?;
        bounded("body", &body, MOST_BODY)?;
        if self.trailers.len() > MOST_TRAILERS {
            return Err(format!("it has more than {MOST_TRAILERS} trailers"));
        }
        let mut trailers = String::new();
        for (key, value) in &self.trailers {
            check_key(key)?;
            check_value(key, value)?;
            trailers.push_str(&format!("{key}: {value}\n"));
        }
        let mut text = subject + "\n";
        for part in [body, trailers].iter().filter(|part| !part.is_empty()) {
            text.push('\n');
            text.push_str(part.trim_end());
            text.push('\n');
        }
        match self.trailers == found(&text) {
            true => Ok(text),
            false => Err("its body has lines that git reads as trailers".to_owned()),
        }
    }
}

/// The trailers that git finds.
fn found(text: &str) -> Vec<(String, String)> {
    let found = git2::message_trailers_strs(text).ok();
    let found = found.iter().flat_map(git2::MessageTrailersStrs::iter);
    found
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn bounded(part: &str, text: &str, most: usize) -> Result<(), String> {
    match text.len() > most {
        true => Err(format!("its {part} is longer than {most} bytes")),
        false => Ok(()),
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic());
    match starts && key.len() <= MOST_KEY && key.chars().all(is_of_key) {
        true => Ok(()),
        false => Err(format!(
            "{key:?} is not the key of a trailer: a letter, then at most {} letters, digits and dashes",
            MOST_KEY - 1
        )),
    }
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    bounded(&format!("trailer {key}"), value, MOST_VALUE)?;
    match value.is_empty() || value.trim() != value || value.contains(breaks) {
        true => Err(format!(
            "the value of its trailer {key} is empty, or has spaces at an end or control characters"
        )),
        false => Ok(()),
    }
}

/// Whether some reader ends a line here, or draws over it.
fn breaks(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn one_line(text: &str) -> String {
    let words = text.split(|c: char| breaks(c) || c == ' ');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The lines without control characters, from the first that says something to the last.
fn lines(text: &str) -> String {
    let line = |line: &str| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.replace(breaks, " ").trim_end().to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::trailers;

    fn message(subject: &str, body: &str, trailers: &[(&str, &str)]) -> CommitMessage {
        let trailers = trailers.iter();
        CommitMessage {
            subject: subject.to_owned(),
            body: body.to_owned(),
            trailers: trailers
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    fn fault(message: &CommitMessage) -> String {
        message.text().unwrap_err().to_string()
    }

    #[test]
    fn the_parts_stand_apart() {
        for (body, trailers, expected) in [
            ("", &[][..], "Add it\n"),
            ("Why.\n", &[], "Add it\n\nWhy.\n"),
            ("", &[("A", "b c")], "Add it\n\nA: b c\n"),
            (
                "\n\nWhy.\r\n\r\nMore.  \n\n",
                &[("A", "b"), ("C-d", "e: f")],
                "Add it\n\nWhy.\n\nMore.\n\nA: b\nC-d: e: f\n",
            ),
        ] {
            assert_eq!(message("Add it", body, trailers).text().unwrap(), expected);
        }
    }

    #[test]
    fn a_subject_is_one_line_and_no_trailer() {
        for subject in [
            "Add\n\nApprove: all",
            "Add\r\n\r\nApprove: all",
            "Add\u{2028}\u{85}\0Approve: all",
        ] {
            let text = message(subject, "", &[("Request", "1")]).text().unwrap();
            assert_eq!(text, "Add Approve: all\n\nRequest: 1\n");
            assert_eq!(trailers(&text, "approve"), Vec::<String>::new());
        }
        let text = message("Approve: all", "", &[]).text().unwrap();
        assert_eq!(trailers(&text, "approve"), Vec::<String>::new());
        assert!(fault(&message(" \n ", "x", &[])).contains("its subject is empty"));
        assert!(fault(&message(&"x".repeat(1_001), "", &[])).contains("longer than 1000 bytes"));
    }

    #[test]
    fn a_body_adds_no_trailer() {
        let kept = message("s", "Approve: all\n\nx", &[]).text().unwrap();
        assert_eq!(trailers(&kept, "approve"), Vec::<String>::new());
        let above = message("s", "Approve: all", &[("Request", "1")]);
        assert_eq!(
            trailers(&above.text().unwrap(), "approve"),
            Vec::<String>::new()
        );
        for (body, trailers) in [
            ("Approve: all", &[][..]),
            ("x\n\nApprove: all\n\n", &[]),
            ("Approve: all\n---\n", &[("Request", "1")]),
            ("x\r\rApprove: all\n\nApprove: all", &[]),
        ] {
            let said = fault(&message("s", body, trailers));
            assert!(said.contains("git reads as trailers"), "{body:?}: {said}");
        }
        let cleaned = message("s", "a\u{1b}[31mb\tc", &[]).text().unwrap();
        assert_eq!(cleaned, "s\n\na [31mb c\n");
        assert!(fault(&message("s", &"x".repeat(65_537), &[])).contains("longer than 65536 bytes"));
    }

    #[test]
    fn a_trailer_is_a_line() {
        for (key, value, cause) in [
            ("", "x", "is not the key of a trailer"),
            ("A b", "x", "is not the key of a trailer"),
            ("A:", "x", "is not the key of a trailer"),
            ("A\nB", "x", "is not the key of a trailer"),
            ("1", "x", "is not the key of a trailer"),
            ("A", "", "the value of its trailer A"),
            ("A", "x\nApprove: all", "the value of its trailer A"),
            ("A", "x\r", "the value of its trailer A"),
            ("A", "x\u{2028}y", "the value of its trailer A"),
            ("A", "x ", "the value of its trailer A"),
            (
                "A",
                &"x".repeat(1_001),
                "trailer A is longer than 1000 bytes",
            ),
        ] {
            let said = fault(&message("s", "", &[(key, value)]));
            assert!(said.contains(cause), "{key:?} {value:?}: {said}");
        }
        let many = [("A", "b"); 51];
        assert!(fault(&message("s", "", &many)).contains("more than 50 trailers"));
        message("s", "", &many[1..]).text().unwrap();
    }
}
