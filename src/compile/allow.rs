//! Warnings that a comment allows: `# capstan:allow N08, C14 reason`.
//!
//! In: the files of the trees, and their findings. Out: the findings without the allowed ones, the allowed
//! ones with their reasons, and Y20 to Y23 for comments that are invalid, or that name an unknown rule, an
//! error or a finding that is not there. It does not know the rules.
//!
//! A comment at the end of a line is for that line. A comment on its own line is for the next line that is not a
//! comment. The few errors that can be allowed, too, are those about which a person may know better
//! ([`book::ALLOWABLE`]).

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::cut;
use crate::model::{Finding, Message, Severity, Span, message};
use crate::rules::book;
use crate::yaml::{self, Comment};
use kube_schema::nearest;

/// What every suppression begins with.
const MARK: &str = "capstan:";
const ALLOW: &str = "capstan:allow";
const FORM: &str = "write `# capstan:allow N08 reason`; separate several rules with commas";

/// The maximum number of findings about comments in one file.
const MAX_FINDINGS: usize = 100;

/// A warning that a comment allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The warning.
    pub finding: Finding,
    /// The reason given in the comment.
    pub reason: String,
    /// The comment.
    pub by: Span,
}

/// The suppressions of all files.
#[derive(Debug, Default)]
pub(super) struct Suppressions {
    suppressions: Vec<Suppression>,
    /// Those for each line, by their places in the list.
    lines: HashMap<(Arc<str>, u32), Vec<usize>>,
    findings: Vec<Finding>,
    /// How many there are of each file.
    reported: HashMap<Arc<str>, usize>,
}

/// One rule that is allowed on one line.
#[derive(Debug)]
struct Suppression {
    id: &'static str,
    line: u32,
    reason: String,
    span: Span,
    met: Met,
}

/// The best match of a comment; earlier variants are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    /// A finding that can be allowed.
    Warning,
    Error,
    Info,
    Nothing,
}

impl Suppressions {
    /// Reads the suppressions of a file, and returns whether it may have any. JSON has no comments.
    pub(super) fn read(&mut self, path: &Arc<str>, text: &[u8]) -> bool {
        let has_mark = || text.windows(MARK.len()).any(|part| part == MARK.as_bytes());
        if path.ends_with(".json") || !has_mark() {
            return false;
        }
        let comments = yaml::comments(path, text);
        let meant = lines_meant(&comments);
        for (comment, line) in comments.iter().zip(meant) {
            if let Some(directive) = suppression(&comment.text) {
                self.add(comment, directive, line);
            }
        }
        true
    }

    fn add(&mut self, comment: &Comment, directive: &str, line: u32) {
        let (ids, reason) = match parts(directive) {
            Ok(parts) => parts,
            Err(message) => return self.find("Y20", &comment.span, message, FORM),
        };
        for id in ids {
            let known = |known: &&&str| known.eq_ignore_ascii_case(id);
            let Some(id) = book::ids().iter().find(known) else {
                self.unknown(id, &comment.span);
                continue;
            };
            let place = (Arc::clone(&comment.span.path), line);
            let here = self.lines.entry(place).or_default();
            here.push(self.suppressions.len());
            self.suppressions.push(Suppression {
                id,
                line,
                reason: reason.to_owned(),
                span: comment.span.clone(),
                met: Met::Nothing,
            });
        }
    }

    /// Takes what is allowed out of the findings, and adds what is wrong with the suppressions.
    pub(super) fn settle(mut self, findings: Vec<Finding>) -> (Vec<Finding>, Vec<Allowed>) {
        let mut allowed = Vec::new();
        let mut reported = Vec::with_capacity(findings.len());
        for finding in findings {
            match self.meet(&finding) {
                Some((reason, by)) => allowed.push(Allowed {
                    finding,
                    reason,
                    by,
                }),
                None => reported.push(finding),
            }
        }
        // With errors, some rules could not run, and what they would find is unknown.
        let whole = reported
            .iter()
            .all(|finding| finding.severity != Severity::Error);
        let judged = self.suppressions.iter();
        let judged = judged.filter(|suppression| whole || suppression.met != Met::Nothing);
        let useless: Vec<Finding> = judged.filter_map(Suppression::useless).collect();
        useless.into_iter().for_each(|finding| self.report(finding));
        reported.append(&mut self.findings);
        (reported, allowed)
    }

    /// The reason and the place of the suppression that allows a finding.
    fn meet(&mut self, finding: &Finding) -> Option<(String, Span)> {
        let span = finding.span.as_ref().filter(|_| !self.lines.is_empty())?;
        let here = self.lines.get(&(Arc::clone(&span.path), span.start.line))?;
        let met = match finding.severity {
            _ if book::ALLOWABLE.contains(&finding.id) => Met::Warning,
            Severity::Warning => Met::Warning,
            Severity::Error => Met::Error,
            Severity::Info => Met::Info,
        };
        let mut allows = None;
        for at in here {
            let suppression = &mut self.suppressions[*at];
            if suppression.id == finding.id {
                suppression.met = suppression.met.min(met);
                allows = allows.or(Some((suppression.reason.clone(), suppression.span.clone())));
            }
        }
        allows.filter(|_| met == Met::Warning)
    }

    fn unknown(&mut self, id: &str, span: &Span) {
        if self.reported.get(&span.path) > Some(&MAX_FINDINGS) {
            return;
        }
        let help = match nearest(id, book::ids().iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "run `capstan rules` for a list".to_owned(),
        };
        self.find("Y21", span, message!("unknown rule `{id}`", id), &help);
    }

    fn find(&mut self, id: &'static str, span: &Span, message: Message, help: &str) {
        self.report(Finding::warning(id, message).at(span).help(help));
    }

    fn report(&mut self, finding: Finding) {
        let path = finding.span.as_ref().map(|span| Arc::clone(&span.path));
        let reported = self.reported.entry(path.unwrap_or_default()).or_default();
        *reported += 1;
        if *reported <= MAX_FINDINGS {
            self.findings.push(finding);
        }
    }
}

/// The line that each comment is for, were it a suppression.
fn lines_meant(comments: &[Comment]) -> Vec<u32> {
    let mut below: Option<(u32, u32)> = None;
    let mut meant = Vec::with_capacity(comments.len());
    for comment in comments.iter().rev() {
        let line = comment.span.start.line;
        let next = match below {
            Some((alone, next)) if alone == line + 1 => next,
            _ => line + 1,
        };
        if comment.is_alone {
            below = Some((line, next));
        }
        meant.push(if comment.is_alone { next } else { line });
    }
    meant.reverse();
    meant
}

impl Suppression {
    /// Why it is of no use, if it is not.
    fn useless(&self) -> Option<Finding> {
        let (id, line) = (self.id, self.line);
        let (rule, message, help) = match self.met {
            Met::Warning => return None,
            Met::Error => (
                "Y22",
                message!("{id} is an error, and errors cannot be allowed", id),
                "fix the error, and remove this comment",
            ),
            Met::Info => (
                "Y23",
                message!(
                    "{id} is only information and does not need to be allowed",
                    id
                ),
                "remove this comment",
            ),
            Met::Nothing if id.starts_with('U') => (
                "Y22",
                message!(
                    "{id} is reported for a change and cannot be allowed in a file",
                    id
                ),
                "remove this comment",
            ),
            Met::Nothing => (
                "Y23",
                message!("line {line} has no {id} to allow", id),
                "remove this comment, or move it to the end of the line that the warning points at, or above that line",
            ),
        };
        Some(Finding::warning(rule, message).at(&self.span).help(help))
    }
}

/// The suppression in a comment, without a comment of its own behind it.
fn suppression(comment: &str) -> Option<&str> {
    let mut parts = comment.split(" # ").map(str::trim);
    parts.find(|part| {
        let word = part.strip_prefix(MARK);
        word.is_some_and(|word| word.starts_with(char::is_alphanumeric) || names_a_rule(word))
    })
}

/// Whether what follows `capstan:` and a blank was meant to be a suppression, and is no prose.
fn names_a_rule(directive: &str) -> bool {
    let mut words = directive.split_whitespace();
    let allows = words.next() == ALLOW.strip_prefix(MARK);
    let first = words.next().and_then(|word| word.split(',').next());
    allows && first.is_some_and(|id| book::find(id).is_some())
}

/// The rules that a suppression names, and the reason; or what is wrong with it.
fn parts(directive: &str) -> Result<(Vec<&str>, &str), Message> {
    let (word, mut rest) = directive
        .split_once(char::is_whitespace)
        .unwrap_or((directive, ""));
    if word == MARK {
        return Err(message!(
            "write `{ALLOW}` without a space: this allows nothing"
        ));
    }
    if word != ALLOW {
        return Err(message!("unknown comment `{word}`", word));
    }
    let mut ids = Vec::new();
    loop {
        rest = rest.trim_start();
        let (id, after) = cut::until(rest, |c| c == ',' || c.is_whitespace());
        ids.extend(Some(id).filter(|id| !id.is_empty()));
        match after.trim_start().strip_prefix(',') {
            Some(after) => rest = after,
            None => {
                rest = after.trim();
                break;
            }
        }
    }
    match (ids.as_slice(), rest) {
        ([], _) => Err(message!("`{ALLOW}` names no rule")),
        (_, "") => Err(message!("`{ALLOW}` gives no reason")),
        _ => Ok((ids, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of `line id` warnings, or errors with a `!`, in a file: what is reported, what is allowed.
    fn settled(text: &str, found: &[(u32, &'static str)]) -> (Vec<String>, Vec<String>) {
        let path: Arc<str> = Arc::from("a.yaml");
        let mut suppressions = Suppressions::default();
        suppressions.read(&path, text.as_bytes());
        let finding = |(line, id): &(u32, &'static str)| {
            let finding = match id.strip_suffix('!') {
                Some(id) => Finding::error(id, "bad"),
                None => Finding::warning(id, "odd"),
            };
            finding.at(&Span::new(&path, *line, 1, 1))
        };
        let (reported, allowed) = suppressions.settle(found.iter().map(finding).collect());
        let line = |finding: &Finding| finding.span.as_ref().map_or(0, |span| span.start.line);
        let tell = |one: &Finding| format!("{} {} {}", line(one), one.id, one.message);
        let allow =
            |one: &Allowed| format!("{} {}: {}", line(&one.finding), one.finding.id, one.reason);
        (
            reported.iter().map(tell).collect(),
            allowed.iter().map(allow).collect(),
        )
    }

    #[test]
    fn a_warning_is_allowed_from_its_line_or_from_above() {
        let text = "\
a: 1 # capstan:allow N08 raised next week
# capstan:allow N08,C14 , n12 we know # and more
# another remark
b: 1
c: 1 # see T-1 # capstan:allow N08 it is asked for in #7
";
        let found = [
            (1, "N08"),
            (4, "C14"),
            (4, "N08"),
            (4, "N12"),
            (5, "N08"),
            (5, "C14"),
        ];
        let (reported, allowed) = settled(text, &found);
        assert_eq!(reported, ["5 C14 odd"]);
        let expected = [
            "1 N08: raised next week",
            "4 C14: we know",
            "4 N08: we know",
            "4 N12: we know",
            "5 N08: it is asked for in #7",
        ];
        assert_eq!(allowed, expected);
    }

    #[test]
    fn a_comment_that_allows_nothing_is_reported() {
        let text = "\
a: 1 # capstan:allow N08 why not
b: 1 # capstan:allow N11 we like it
c: 1 # capstan:allow U02 we like it
# capstan:allow N08 for the next line

d: 1
";
        let (reported, allowed) = settled(text, &[(2, "N11!")]);
        let expected = [
            "2 N11 bad",
            "2 Y22 N11 is an error, and errors cannot be allowed",
        ];
        assert_eq!(
            reported, expected,
            "with an error, other comments are not checked"
        );
        assert_eq!(allowed, [""; 0]);
        let (reported, allowed) = settled(text, &[(6, "N08")]);
        let expected = [
            "6 N08 odd",
            "1 Y23 line 1 has no N08 to allow",
            "2 Y23 line 2 has no N11 to allow",
            "3 Y22 U02 is reported for a change and cannot be allowed in a file",
            "4 Y23 line 5 has no N08 to allow",
        ];
        assert_eq!(
            (reported, allowed),
            (expected.map(str::to_owned).to_vec(), vec![])
        );
    }

    #[test]
    fn an_error_about_which_a_person_knows_better_is_allowed() {
        let text = "a: 1 # capstan:allow P01 this is a public key\nb: 1\n";
        let (reported, allowed) = settled(text, &[(1, "P01!"), (2, "P01!")]);
        assert_eq!(reported, ["2 P01 bad"]);
        assert_eq!(allowed, ["1 P01: this is a public key"]);
    }

    #[test]
    fn findings_about_comments_are_limited() {
        let (reported, _) = settled(&"# capstan:allow N08,X,,Y why\n".repeat(20_000), &[]);
        assert_eq!(reported.len(), MAX_FINDINGS);
    }

    #[test]
    fn an_invalid_comment_is_reported() {
        for (comment, message) in [
            ("capstan:allow", "Y20 `capstan:allow` names no rule"),
            ("capstan:allow , ,", "Y20 `capstan:allow` names no rule"),
            ("capstan:allow N08", "Y20 `capstan:allow` gives no reason"),
            ("capstan:allow N08,", "Y20 `capstan:allow` gives no reason"),
            (
                "capstan:allow N08 # no",
                "Y20 `capstan:allow` gives no reason",
            ),
            ("capstan:alow N08 so", "Y20 unknown comment `capstan:alow`"),
            (
                "capstan: allow N08,N11 so",
                "Y20 write `capstan:allow` without a space: this allows nothing",
            ),
            ("capstan:allow N8 so", "Y21 unknown rule `N8`"),
        ] {
            let (reported, _) = settled(&format!("a: 1 # {comment}\n"), &[]);
            assert_eq!(reported, [format!("1 {message}")], "{comment}");
        }
        for text in [
            "a: 'x # capstan:allow N08'",
            "a: 1 # capstan: the tool",
            "a: 1 # capstan: allow the pool to grow",
            "a: 1 # capstan: allow",
            "a: 1 # capstan: allow 10 nodes at most",
            "a: |\n  # capstan:alow\n",
        ] {
            assert_eq!(settled(text, &[]).0, [""; 0], "{text}");
        }
    }
}
