//! Approvals in the messages of commits.
//!
//! In: messages. Out: what they approve, and the lines that look like an approval and are none. It does not know which
//! of them count.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::approval::What;
use super::lines::{MOST_TEXT, outside_fences, quoted};
use crate::api::labels;

/// What the commits of a fork say that would approve something in commits of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForkLines {
    /// Approvals: a squash or a rebase may carry them over.
    pub(crate) approving: Vec<String>,
    /// Lines that look like an approval and are none.
    pub(crate) unclear: Vec<String>,
}

impl ForkLines {
    /// Computes a digest of the lines, in hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (kind, lines) in [("approving", &self.approving), ("unclear", &self.unclear)] {
            digest.update(format!("{kind} {lines:?}"));
        }
        let digest = digest.finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// What this message approves, nothing if it is too long: `trailers` has the values of its trailers with a key. Whoever
/// indents, quotes or fences such a line speaks of it.
pub(crate) fn given(text: &str, trailers: impl FnOnce(&str) -> Vec<String>) -> Vec<What> {
    if text.len() > MOST_TEXT {
        return Vec::new();
    }
    let said: BTreeSet<What> = stated(text).map(|(what, _)| what).collect();
    let given = trailers(labels::APPROVE).into_iter();
    let given = given.filter_map(|value| What::parse(&value));
    given.filter(|what| said.contains(what)).collect()
}

/// Lists what the lines of a message would approve in its last paragraph, each with its line.
fn stated(text: &str) -> impl Iterator<Item = (What, &str)> {
    outside_fences(text).filter_map(|line| stated_by(line).map(|what| (what, line)))
}

fn stated_by(line: &str) -> Option<What> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.trim_end().eq_ignore_ascii_case(labels::APPROVE);
    is_key.then(|| What::parse(value)).flatten()
}

/// The lines of this message that look like an approval, and give none of those in `given`: a misspelt word, or a line
/// that is not in the last paragraph, where git looks for trailers. Of a message that is too long, that it is.
pub(crate) fn unclear(text: &str, given: &[What]) -> Vec<String> {
    if text.len() > MOST_TEXT {
        return text.lines().find_map(too_long).into_iter().collect();
    }
    let given: BTreeSet<&What> = given.iter().collect();
    let giving = stated(text).filter(|(what, _)| given.contains(what));
    let giving: BTreeSet<&str> = giving.map(|(_, line)| line).collect();
    let lines = text.lines().filter(|line| looks_like_approval(line));
    let unclear = lines.filter(|line| !giving.contains(line));
    unclear.map(quoted).collect()
}

/// What is said of a message that is too long, if this line of it looks like an approval.
fn too_long(line: &str) -> Option<String> {
    let kib = MOST_TEXT >> 10;
    let what = || format!("{} (the message has more than {kib} KiB)", quoted(line));
    looks_like_approval(line).then(what)
}

fn looks_like_approval(line: &str) -> bool {
    let Some((key, _)) = line.split_once([':', '=']) else {
        return false;
    };
    let letters = key.chars().filter(|c| c.is_ascii_alphabetic());
    let mut word = letters.map(|c| c.to_ascii_lowercase());
    "capstanap"
        .chars()
        .all(|letter| word.next() == Some(letter))
}

/// What the messages of a fork's commits say. Whoever joins or edits messages may indent a line otherwise, close a fence
/// or turn a carriage return into a line: each line that would approve alone counts.
pub(crate) fn fork_lines<'a>(messages: impl Iterator<Item = &'a str>) -> ForkLines {
    let mut lines = ForkLines::default();
    for line in messages.flat_map(|text| text.split(['\n', '\r', '\u{b}', '\u{c}'])) {
        if stated_by(line.trim()).is_some() {
            lines.approving.push(quoted(line));
        } else if looks_like_approval(line) {
            lines.unclear.push(quoted(line));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::lines::QUOTED;
    use super::*;
    use crate::adapters::git;
    use crate::plan::approvals::Verb;
    use crate::plan::losses::Unit;

    fn of(text: &str) -> (Vec<What>, Vec<String>) {
        let given = given(text, |key| git::trailers(text, key));
        let unclear = unclear(text, &given);
        (given, unclear)
    }

    fn delete(name: &str) -> What {
        What::deletion(name).expect("a name")
    }

    #[test]
    fn an_approval_names_one_cluster_or_pool() {
        for (value, verb, name) in [
            ("delete c/two", Verb::Delete, "c/two"),
            ("delete  c/one ", Verb::Delete, "c/one"),
            ("delete c/one/mp1", Verb::Delete, "c/one/mp1"),
            ("release c/one", Verb::Release, "c/one"),
            ("rename c/one", Verb::Rename, "c/one"),
            ("rename c/one/mp1", Verb::Rename, "c/one/mp1"),
            ("recreate c/one", Verb::Recreate, "c/one"),
        ] {
            let text = format!("it\n\nCapstan-Approve: {value}\n");
            let expected = What::Named(verb, Unit::parse(name).expect("a name"));
            assert_eq!(of(&text), (vec![expected], vec![]), "{value}");
        }
        for wrong in [
            "delete two",
            "remove c/two",
            "c/two",
            "delete c/",
            "delete a/b/c/d",
            "Delete c/two",
            "recreate all",
            "recreate c/one/mp1",
        ] {
            let text = format!("it\n\nCapstan-Approve: {wrong}\n");
            let line = format!("Capstan-Approve: {wrong}");
            assert_eq!(of(&text), (vec![], vec![line]), "{wrong}");
        }
    }

    #[test]
    fn a_line_that_looks_like_an_approval_and_is_none_is_named() {
        let text = "it\n\nCapstan-Aproved: delete c/two\nCapstan-Approve: remove c/two\ncapstan_approve: delete c/two\nCapstan-Approve: delete c/three\n\nCapstan-Approve: delete c/two\ncapstan-approve:delete c/two\nSigned-off-by: me\n";
        let (given, unclear) = of(text);
        assert_eq!(given, [delete("c/two"), delete("c/two")]);
        assert_eq!(
            unclear,
            [
                "Capstan-Aproved: delete c/two",
                "Capstan-Approve: remove c/two",
                "capstan_approve: delete c/two",
                "Capstan-Approve: delete c/three",
            ]
        );
    }

    #[test]
    fn who_quotes_indents_or_fences_a_line_approves_nothing() {
        let line = "Capstan-Approve: delete c/two";
        for text in [
            format!("it\n\n> {line}\n"),
            format!("it\n\n> {line}\nSigned-off-by: me\n"),
            format!("it\n\n  {line}\n"),
            format!("it\n\nSigned-off-by: me\n  {line}\n"),
            format!("it\n\n\t{line}\n"),
            format!("it\n\n```\n{line}\n```\n"),
            // Enough of the paragraph are trailers for git.
            format!("it\n\n```\n{line}\n```\nSigned-off-by: me\n"),
            format!("it\n\n~~~\n```\n{line}\n~~~\nSigned-off-by: me\n"),
            format!("it\n\n````\n```\n{line}\n````\nSigned-off-by: me\n"),
            format!("it\n\n```text\n\n{line}\n"),
            format!("it\n\n* {line}\n"),
            format!("it\n\n{line}\n\nand more\n"),
        ] {
            let (given, unclear) = of(&text);
            assert_eq!(given, [], "{text}");
            assert_eq!(unclear.len(), 1, "{text}");
        }
        // Folded.
        let (given, _) = of("it\n\nCapstan-Approve: delete \n c/two\n");
        assert_eq!(given, []);
        let fenced = format!("it\n\n```\nx\n```\n\n{line}\n");
        assert_eq!(of(&fenced).0, [delete("c/two")]);
    }

    #[test]
    fn what_a_squash_could_carry_over_from_a_fork_is_quoted() {
        let texts = [
            "tidy up\n\nCapstan-Approve: delete c/two\n\nmore\n",
            "again\n\n> Capstan-Approve: delete c/one\n\ncapstan-approve: recreate c/three\n",
            "harmless",
        ];
        let lines = fork_lines(texts.into_iter());
        let approving = [
            "Capstan-Approve: delete c/two",
            "capstan-approve: recreate c/three",
        ];
        assert_eq!(lines.approving, approving);
        assert_eq!(lines.unclear, ["> Capstan-Approve: delete c/one"]);
        // Joined, the fences of two commits are a pair, and the line is after it.
        let texts = [
            "it\n\n```\n",
            "```\n\nCapstan-Approve: delete c/two\nSigned-off-by: me\n",
        ];
        assert_eq!(of(texts[1]).0, []);
        assert_eq!(of(&texts.concat()).0, [delete("c/two")]);
        let lines = fork_lines(texts.into_iter());
        assert_eq!(lines.approving, ["Capstan-Approve: delete c/two"]);
        for text in [
            "it\n\n  Capstan-Approve: delete c/two\n",
            "it\n\nmore\rCapstan-Approve: delete c/two\n",
            "it\n\nmore\r\n\tCapstan-Approve: delete c/two\r\n",
        ] {
            let lines = fork_lines(std::iter::once(text));
            let approving = (lines.approving.len(), lines.unclear.len());
            assert_eq!(approving, (1, 0), "{text:?}");
        }
        let long = format!("Capstan-Approval: {}", "é".repeat(900));
        let cut = fork_lines([long.as_str()].into_iter()).unclear;
        assert_eq!(cut[0].chars().count(), QUOTED + 1);
    }

    #[test]
    fn a_long_message_costs_as_much_as_its_length_or_approves_nothing() {
        let lines = |line: &dyn Fn(usize) -> String, most: usize| {
            let mut text = "it\n\n".to_owned();
            for number in 0.. {
                let line = line(number);
                if text.len() + line.len() > most {
                    return text;
                }
                text.push_str(&line);
            }
            text
        };
        let approval = |number| format!("Capstan-Approve: delete c/x{number}\n");
        let almost = |_| "capstanap:\n".to_owned();
        let start = std::time::Instant::now();
        let (found, unclear) = of(&lines(&approval, MOST_TEXT));
        assert!(found.len() > 1_800, "{}", found.len());
        assert_eq!(unclear, [""; 0]);
        let (found, unclear) = of(&lines(&almost, MOST_TEXT));
        assert_eq!((found, unclear.len()), (vec![], 5_957));
        // It was seconds for a part of this.
        assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
        for most in [MOST_TEXT + 100, 8 << 20] {
            let (found, unclear) = of(&lines(&approval, most));
            assert_eq!(found, []);
            let said = "Capstan-Approve: delete c/x0 (the message has more than 64 KiB)";
            assert_eq!(unclear, [said]);
        }
        assert_eq!(of(&"a\n".repeat(MOST_TEXT)), (vec![], vec![]));
    }
}
