//! Approvals of deletions, and to recreate an HCP cluster that Azure failed to create, as the messages of commits and
//! people with the button of a check give them. Pure.
//!
//! In: messages, and presses. Out: what they approve, and the lines that look like an approval and are none. It does not
//! know which of them count.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::adapters::git;
use crate::api::labels;

/// The word that approves a deletion.
const DELETE: &str = "delete";
/// The word that approves a recreation.
const RECREATE: &str = "recreate";
/// The most bytes of a message that is read for approvals: no person writes more, and git looks for trailers at its end.
const MOST_TEXT: usize = 64 << 10;
/// The most characters of a line that are quoted.
const QUOTED: usize = 200;

/// What somebody approves: it happens to a cluster, `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The cluster may be deleted.
    Delete(String),
    /// Its HCP cluster, which Azure failed to create, may be deleted and made again.
    Recreate(String),
}

/// How somebody approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// With the trailer `Capstan-Approve` in the message of the commit.
    Trailer,
    /// With the button of the check of the commit.
    Button,
}

/// One approval, whatever its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Approval {
    pub(super) what: What,
    pub(super) how: How,
    /// The author of the commit, or who pressed.
    pub(super) who: String,
    pub(super) at: Timestamp,
    pub(super) commit: String,
}

/// Why an approval does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The pull request of a fork with this number brought its commit in.
    Fork(u64),
    /// A merge brought its commit in, which is not on the line of first parents.
    Merged,
    /// It is not known yet how its commit came in, and why not.
    Unattributed(String),
    /// This later commit writes of the cluster again, so that its next removal is another one.
    BroughtBack(String),
    /// It cannot be told whether a later commit writes of the cluster again, and why not.
    Unsearched(String),
    /// The signature of its commit is not accepted, and why not.
    Unverified(String),
}

/// What is approved of a revision, or of a candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Approvals {
    /// Those that count.
    pub(super) given: Vec<Approval>,
    /// Those that do not, and why.
    pub(super) doubted: Vec<(Approval, Doubt)>,
    /// The clusters, `namespace/name`, whose deletion the candidate's own commits approve.
    pub(super) own: BTreeSet<String>,
    /// Lines of commits that look like an approval and are none.
    pub(super) unclear: Vec<String>,
}

/// What counted for a revision that is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Granted {
    /// The revision.
    pub(super) revision: String,
    /// What is approved of it.
    pub(super) approvals: Approvals,
}

/// What the commits of a fork say that would approve something in commits of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ForkLines {
    /// Approvals: a squash or a rebase may carry them over.
    pub(super) approving: Vec<String>,
    /// Lines that look like an approval and are none.
    pub(super) unclear: Vec<String>,
}

impl ForkLines {
    /// Computes a digest of the lines, in hexadecimal digits.
    pub(super) fn digest(&self) -> String {
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

/// Somebody approved the deletion of clusters with the button of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pressed {
    /// The commit of the check.
    pub(super) commit: String,
    /// The clusters, `namespace/name`.
    pub(super) clusters: BTreeSet<String>,
    /// Who pressed.
    pub(super) login: String,
    pub(super) at: Timestamp,
    /// Whether the commit was applied already, and none since.
    #[serde(default)]
    pub(super) is_applied: bool,
}

impl Pressed {
    /// The approvals that it gives, one for each cluster.
    pub(super) fn approvals(&self) -> impl Iterator<Item = Approval> {
        self.clusters.iter().map(|cluster| Approval {
            what: What::Delete(cluster.clone()),
            how: How::Button,
            who: self.login.clone(),
            at: self.at,
            commit: self.commit.clone(),
        })
    }
}

impl Approvals {
    /// Lists the clusters, `namespace/name`, that may be deleted.
    pub(super) fn deletable(&self) -> BTreeSet<String> {
        let given = self.given.iter().filter_map(|one| one.what.deletes());
        given.map(str::to_owned).collect()
    }

    /// Lists the clusters, `namespace/name`, whose HCP cluster may be recreated.
    pub(super) fn recreatable(&self) -> BTreeSet<String> {
        let given = self.given.iter().filter_map(|one| match &one.what {
            What::Recreate(cluster) => Some(cluster.clone()),
            What::Delete(_) => None,
        });
        given.collect()
    }

    /// Drops what a merge brought in and somebody approves elsewhere.
    pub(super) fn drop_repeated(&mut self) {
        let given: BTreeSet<&What> = self.given.iter().map(|one| &one.what).collect();
        self.doubted
            .retain(|(approval, doubt)| *doubt != Doubt::Merged || !given.contains(&approval.what));
    }

    /// Lists the commits of approvals that wait for the forge.
    pub(super) fn unattributed(&self) -> impl Iterator<Item = &String> {
        let waiting = self.doubted.iter();
        let waiting = waiting.filter(|(_, doubt)| matches!(doubt, Doubt::Unattributed(_)));
        waiting.map(|(approval, _)| &approval.commit)
    }
}

impl What {
    /// Reads `delete <namespace>/<name>` and `recreate <namespace>/<name>`.
    fn parse(value: &str) -> Option<Self> {
        let (verb, name) = value.trim().split_once(' ')?;
        let name = name.trim();
        let (namespace, rest) = name.split_once('/')?;
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', ' ', '\n', '\t']);
        let name = (is_name(namespace) && is_name(rest)).then(|| name.to_owned())?;
        match verb {
            DELETE => Some(Self::Delete(name)),
            RECREATE => Some(Self::Recreate(name)),
            _ => None,
        }
    }

    /// The cluster that may be deleted.
    pub(super) fn deletes(&self) -> Option<&str> {
        match self {
            Self::Delete(cluster) => Some(cluster),
            Self::Recreate(_) => None,
        }
    }
}

/// As the trailer has it.
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delete(cluster) => write!(f, "{DELETE} {cluster}"),
            Self::Recreate(cluster) => write!(f, "{RECREATE} {cluster}"),
        }
    }
}

/// In words that follow "does not count:".
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fork(number) => write!(
                f,
                "pull request {number} of a fork brought the commit in; whoever may write to the repository approves in a commit of their own"
            ),
            Self::Merged => f.write_str(
                "a merge brought the commit in; repeat the line in the message of a commit on the branch itself, such as the merge",
            ),
            Self::Unattributed(why) => write!(
                f,
                "it is not known yet whether a fork's pull request brought the commit in, which is asked again: {why}"
            ),
            Self::BroughtBack(commit) => write!(
                f,
                "the later commit {} has the cluster's name in a file again; repeat the line in a commit after it",
                short(commit)
            ),
            Self::Unsearched(why) => write!(
                f,
                "it cannot be told whether a later commit brings the cluster back: {why}; repeat the line in a new commit"
            ),
            Self::Unverified(why) => write!(f, "the commit is not verified: {why}"),
        }
    }
}

/// The beginning of a commit's id, as people read it.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The name of a cluster, without its namespace.
pub(super) fn name(cluster: &str) -> &str {
    cluster.rsplit_once('/').map_or(cluster, |(_, name)| name)
}

/// What the trailers of this message approve: nothing if it is too long. Whoever indents, quotes or fences such a line
/// speaks of it.
pub(super) fn given(text: &str) -> Vec<What> {
    if text.len() > MOST_TEXT {
        return Vec::new();
    }
    let trailers = git::trailers(text, labels::APPROVE);
    let said: BTreeSet<What> = stated(text).map(|(what, _)| what).collect();
    let given = trailers.iter().filter_map(|value| What::parse(value));
    given.filter(|what| said.contains(what)).collect()
}

/// Lists what the lines of a message would approve in its last paragraph, each with its line.
fn stated(text: &str) -> impl Iterator<Item = (What, &str)> {
    let mut fence = None;
    text.lines().filter_map(move |line| {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return stated_by(line).map(|what| (what, line)),
            (Some(_), _) => {}
        }
        None
    })
}

fn stated_by(line: &str) -> Option<What> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.trim_end().eq_ignore_ascii_case(labels::APPROVE);
    is_key.then(|| What::parse(value)).flatten()
}

/// The lines of this message that look like an approval, and give none of those in `given`: a misspelt word, or a line
/// that is not in the last paragraph, where git looks for trailers. Of a message that is too long, that it is.
pub(super) fn unclear(text: &str, given: &[What]) -> Vec<String> {
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
pub(super) fn fork_lines<'a>(messages: impl Iterator<Item = &'a str>) -> ForkLines {
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

fn quoted(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<What>, Vec<String>) {
        let given = given(text);
        let unclear = unclear(text, &given);
        (given, unclear)
    }

    fn delete(cluster: &str) -> What {
        What::Delete(cluster.to_owned())
    }

    #[test]
    fn an_approval_names_one_cluster() {
        for (value, expected) in [
            ("delete c/two", delete("c/two")),
            ("delete  c/one ", delete("c/one")),
            ("recreate c/one", What::Recreate("c/one".to_owned())),
        ] {
            let text = format!("it\n\nCapstan-Approve: {value}\n");
            assert_eq!(of(&text), (vec![expected], vec![]), "{value}");
        }
        for wrong in [
            "delete two",
            "remove c/two",
            "c/two",
            "delete c/",
            "delete a/b/c",
            "Delete c/two",
            "recreate all",
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
