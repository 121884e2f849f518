//! Approvals in the comments of a pull request.
//!
//! In: comments, when the head was planned, who wrote it and who may approve. Out: what the comments approve, which of
//! that does not count and why, and the lines that look like an approval and are none. It does not know the forge, or
//! what the plan showed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::approval::{Approval, Approvals, Doubt, How, What};
use super::comment_doubt::CommentDoubt;
use super::lines::{APPROVE, MOST_TEXT, is_command, outside_fences, quoted};
use crate::api::fleet::ApprovalRules;
use crate::model::{COMMAND, COMMENT_MARK, MayWrite, PullComment, Writer};

/// The most comments that are read, the newest.
const MOST: usize = 1_000;
/// What Markdown shows as a quote, as code or not at all, with its end.
const ASIDE: [(&str, &str); 3] = [
    ("<!--", "-->"),
    ("<pre", "</pre>"),
    ("<blockquote", "</blockquote>"),
];

/// What is known of a pull request to judge its comments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation<'a> {
    /// The commit at its head.
    pub(crate) head: &'a str,
    /// The time when the plan of the head was reported.
    pub(crate) planned: Timestamp,
    /// Who may approve.
    pub(crate) rules: &'a ApprovalRules,
    /// The names of who opened it and who wrote its commits; `None` if they are not known.
    pub(crate) authors: Option<&'a BTreeSet<String>>,
}

impl Conversation<'_> {
    /// What these comments approve.
    pub(crate) fn judge(&self, comments: &[PullComment]) -> Approvals {
        let mut found = Approvals::default();
        let newest = comments.len().saturating_sub(MOST);
        for comment in &comments[newest..] {
            // Capstan's own comments show what to write.
            if comment.writer == Writer::Own && comment.text.contains(COMMENT_MARK) {
                continue;
            }
            let said = read(&comment.text);
            found.unclear.extend(said.unclear);
            let doubt = self.doubt(comment);
            for what in said.approved {
                let approval = self.approval(what, comment);
                match doubt {
                    None => found.given.push(approval),
                    Some(doubt) => found.doubted.push((approval, Doubt::Comment(doubt))),
                }
            }
        }
        let given: BTreeSet<&What> = found.given.iter().map(|one| &one.what).collect();
        found
            .doubted
            .retain(|(approval, _)| !given.contains(&approval.what));
        found
    }

    fn approval(&self, what: What, comment: &PullComment) -> Approval {
        Approval {
            what,
            how: How::Comment,
            who: comment.author.clone(),
            at: Some(comment.created),
            commit: self.head.to_owned(),
        }
    }

    /// Why this comment approves nothing, if it does not.
    fn doubt(&self, comment: &PullComment) -> Option<CommentDoubt> {
        match comment.writer {
            Writer::Own => return Some(CommentDoubt::Own),
            Writer::Bot => return Some(CommentDoubt::Bot),
            Writer::Person => {}
        }
        if comment.edited.is_some_and(|at| at != comment.created) {
            return Some(CommentDoubt::Edited);
        }
        if comment.created <= self.planned {
            return Some(CommentDoubt::Early);
        }
        self.lacking_right(comment)
            .or_else(|| self.own_change(comment))
    }

    fn lacking_right(&self, comment: &PullComment) -> Option<CommentDoubt> {
        let is_named = |list: &Vec<String>| list.iter().any(|one| is_same(one, &comment.author));
        match (comment.may_write, &self.rules.approvers) {
            (MayWrite::No, _) => Some(CommentDoubt::Reader),
            (_, Some(list)) if !is_named(list) => Some(CommentDoubt::Unlisted),
            (MayWrite::Unknown, None) => Some(CommentDoubt::RightsUnknown),
            (MayWrite::Yes | MayWrite::Unknown, _) => None,
        }
    }

    /// Anybody may set any name in a commit, so this keeps the honest apart.
    fn own_change(&self, comment: &PullComment) -> Option<CommentDoubt> {
        if !self.rules.not_author {
            return None;
        }
        let Some(authors) = self.authors else {
            return Some(CommentDoubt::AuthorsUnknown);
        };
        let mut names = comment.other_names.iter().chain([&comment.author]);
        let is_author = names.any(|name| authors.iter().any(|one| is_same(one, name)));
        is_author.then_some(CommentDoubt::Author)
    }
}

/// Compares names of accounts, of which no forge has two that differ in case alone.
fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && one.eq_ignore_ascii_case(other)
}

/// What a comment says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    approved: Vec<What>,
    unclear: Vec<String>,
}

fn read(text: &str) -> Said {
    let mut lines = text.lines().filter(|line| is_command(line));
    if text.len() > MOST_TEXT {
        let kib = MOST_TEXT >> 10;
        let too_long = |line| format!("{} (the comment has more than {kib} KiB)", quoted(line));
        return Said {
            unclear: lines.next().map(too_long).into_iter().collect(),
            ..Said::default()
        };
    }
    let approving: Vec<&str> = alone(text)
        .into_iter()
        .filter(|line| approved_by(line).is_some())
        .collect();
    let giving: BTreeSet<&str> = approving.iter().copied().collect();
    Said {
        unclear: lines
            .filter(|line| !giving.contains(line))
            .map(quoted)
            .collect(),
        approved: approving.into_iter().filter_map(approved_by).collect(),
    }
}

/// The lines that stand alone. A line right after a quote belongs to it, as Markdown shows it.
fn alone(text: &str) -> Vec<&str> {
    let (mut is_quote, mut aside) = (false, None);
    let mut lines = Vec::new();
    for line in outside_fences(text) {
        let lower = line.to_ascii_lowercase();
        if let Some(end) = aside {
            if let Some((_, rest)) = lower.split_once(end) {
                aside = opened(rest);
            }
            continue;
        }
        aside = opened(&lower);
        is_quote = match line.trim() {
            "" => false,
            start => is_quote || start.starts_with('>'),
        };
        if !is_quote && aside.is_none() {
            lines.push(line);
        }
    }
    lines
}

/// The end of what this line opens and does not close.
fn opened(line: &str) -> Option<&'static str> {
    let is_open = |(start, end): &&(&str, &str)| {
        let rest = line.rfind(start).and_then(|at| line.get(at..));
        rest.is_some_and(|rest| !rest.contains(end))
    };
    ASIDE.iter().find(is_open).map(|(_, end)| *end)
}

/// What a line approves.
fn approved_by(line: &str) -> Option<What> {
    let rest = line.strip_prefix(COMMAND)?.strip_prefix(' ')?;
    What::parse(rest.strip_prefix(APPROVE)?.strip_prefix(' ')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "69b59063470310ebbd88a9156325322a124e55a3";
    const LINE: &str = "/capstan approve delete c/two";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn comment(text: &str) -> PullComment {
        PullComment {
            id: "1".to_owned(),
            author: "ann".to_owned(),
            other_names: vec!["Ann Other".to_owned()],
            writer: Writer::Person,
            text: text.to_owned(),
            created: at(100),
            edited: None,
            may_write: MayWrite::Yes,
        }
    }

    fn judged(comments: &[PullComment], rules: &ApprovalRules, authors: &[&str]) -> Approvals {
        let authors = authors.iter().map(|one| (*one).to_owned()).collect();
        let conversation = Conversation {
            head: HEAD,
            planned: at(99),
            rules,
            authors: Some(&authors),
        };
        conversation.judge(comments)
    }

    fn what(text: &str) -> What {
        What::parse(text).expect("an approval")
    }

    #[test]
    fn each_line_that_stands_alone_approves() {
        let text = format!("Fine.\r\n{LINE}  \r\n\r\n/capstan approve recreate c/one\r\nThanks!");
        let found = judged(&[comment(&text)], &ApprovalRules::default(), &[]);
        let approval = |text: &str| Approval {
            what: what(text),
            how: How::Comment,
            who: "ann".to_owned(),
            at: Some(at(100)),
            commit: HEAD.to_owned(),
        };
        assert_eq!(
            found.given,
            [approval("delete c/two"), approval("recreate c/one")]
        );
        assert_eq!((found.doubted.len(), found.unclear.len()), (0, 0));
    }

    #[test]
    fn who_quotes_fences_hides_or_misspells_a_line_approves_nothing() {
        for text in [
            "> LINE",
            "> LINE\n\nfine",
            "> a quote\nLINE",
            "> > a quote\nand on\nLINE",
            "```\nLINE\n```",
            "````\n```\nLINE\n````",
            "~~~text\nLINE",
            "  LINE",
            "\tLINE",
            "    LINE",
            "- LINE",
            "`LINE`",
            "<!--\nLINE\n-->",
            "<!--\n--> <!--\nLINE\n-->",
            "<details><pre>\nLINE\n</pre></details>",
            "<BlockQuote>\n\nLINE\n\n</BlockQuote>",
            "LINE please",
            "LINE\u{200b} x",
            "/capstan aprove delete c/two",
            "/capstan Approve delete c/two",
            "/Capstan approve delete c/two",
            "/capstan approve Delete c/two",
            "/capstan approve remove c/two",
            "/capstan approve delete two",
            "/capstan approve delete c/",
            "/capstan approve c/two",
            "/capstan approve",
            "/capstan  approve delete c/two",
            "/capstan delete c/two",
        ] {
            let text = text.replace("LINE", LINE);
            let found = judged(&[comment(&text)], &ApprovalRules::default(), &[]);
            assert_eq!((found.given, found.doubted), (vec![], vec![]), "{text}");
            assert_eq!(found.unclear.len(), 1, "{text}");
        }
        for text in [
            "/capstan rerun",
            "well, /capstan is it",
            "",
            "capstan approves",
        ] {
            let found = judged(&[comment(text)], &ApprovalRules::default(), &[]);
            assert_eq!(found, Approvals::default(), "{text}");
        }
        for text in [
            "> a quote\n\nLINE",
            "```\na\n```\nLINE",
            "<!-- a -->\nLINE",
            "<pre>\na\n</pre>\nLINE",
        ] {
            let text = text.replace("LINE", LINE);
            let found = judged(&[comment(&text)], &ApprovalRules::default(), &[]);
            assert_eq!(found.given.len(), 1, "{text}");
        }
    }

    /// The comment that approves, with a change.
    fn by(change: fn(&mut PullComment)) -> PullComment {
        let mut comment = comment(LINE);
        change(&mut comment);
        comment
    }

    fn approvers(names: &[&str]) -> ApprovalRules {
        let names = names.iter().map(|name| (*name).to_owned());
        ApprovalRules {
            approvers: Some(names.collect()),
            not_author: false,
        }
    }

    #[track_caller]
    fn assert_doubt(
        comment: &PullComment,
        rules: &ApprovalRules,
        authors: &[&str],
        expected: Option<CommentDoubt>,
    ) {
        let found = judged(std::slice::from_ref(comment), rules, authors);
        let doubts: Vec<Doubt> = found.doubted.into_iter().map(|(_, doubt)| doubt).collect();
        let expected: Vec<Doubt> = expected.map(Doubt::Comment).into_iter().collect();
        assert_eq!(doubts, expected, "{comment:?} {rules:?}");
        assert_eq!(found.given.len(), 1 - doubts.len(), "{comment:?}");
    }

    #[test]
    fn a_comment_counts_by_who_wrote_it_and_when() {
        use CommentDoubt::{Bot, Early, Edited, Own, Reader, RightsUnknown};
        for (comment, expected) in [
            (by(|_| {}), None),
            (by(|one| one.edited = Some(one.created)), None),
            (by(|one| one.writer = Writer::Own), Some(Own)),
            (by(|one| one.writer = Writer::Bot), Some(Bot)),
            (by(|one| one.edited = Some(at(101))), Some(Edited)),
            (by(|one| one.created = at(99)), Some(Early)),
            (by(|one| one.may_write = MayWrite::No), Some(Reader)),
            (
                by(|one| one.may_write = MayWrite::Unknown),
                Some(RightsUnknown),
            ),
        ] {
            assert_doubt(&comment, &ApprovalRules::default(), &["ann"], expected);
        }
    }

    #[test]
    fn the_fleet_says_whose_comments_count() {
        use CommentDoubt::{Author, AuthorsUnknown, Reader, Unlisted};
        let plain = || by(|_| {});
        for (comment, names, expected) in [
            (plain(), &["bob", "Ann"][..], None),
            (plain(), &["bob"], Some(Unlisted)),
            (plain(), &["Ann Other"], Some(Unlisted)),
            (plain(), &[], Some(Unlisted)),
            (by(|one| one.may_write = MayWrite::Unknown), &["ann"], None),
            (
                by(|one| one.may_write = MayWrite::No),
                &["ann"],
                Some(Reader),
            ),
            (by(|one| one.author.clear()), &[""], Some(Unlisted)),
        ] {
            assert_doubt(&comment, &approvers(names), &[], expected);
        }
        let other = ApprovalRules {
            not_author: true,
            ..ApprovalRules::default()
        };
        for (authors, expected) in [
            (&["bob", ""][..], None),
            (&["bob", "ANN"], Some(Author)),
            (&["ann other"], Some(Author)),
        ] {
            assert_doubt(&plain(), &other, authors, expected);
        }
        let unknown = Conversation {
            head: HEAD,
            planned: at(99),
            rules: &other,
            authors: None,
        };
        let found = unknown.judge(&[plain()]).doubted;
        assert_eq!(found[0].1, Doubt::Comment(AuthorsUnknown));
    }

    #[test]
    fn what_somebody_else_approves_is_not_doubted() {
        let reader = PullComment {
            may_write: MayWrite::No,
            ..comment(&format!("{LINE}\n/capstan approve delete c/one"))
        };
        let found = judged(&[reader, comment(LINE)], &ApprovalRules::default(), &[]);
        assert_eq!(found.given.len(), 1);
        assert_eq!(found.doubted.len(), 1);
        assert_eq!(found.doubted[0].0.what, what("delete c/one"));
    }

    #[test]
    fn what_capstan_shows_in_its_own_comments_says_nothing() {
        let own = PullComment {
            writer: Writer::Own,
            ..comment(&format!("{COMMENT_MARK}prod -->\n`{LINE}`\n\n{LINE}\n"))
        };
        let found = judged(std::slice::from_ref(&own), &ApprovalRules::default(), &[]);
        assert_eq!(found, Approvals::default());
        // Anybody can write the mark.
        let other = PullComment {
            writer: Writer::Person,
            ..own
        };
        let found = judged(&[other], &ApprovalRules::default(), &[]);
        assert_eq!(found.given.len(), 1);
    }

    #[test]
    fn a_comment_or_a_list_that_is_too_long_is_read_as_far_as_it_is_bounded() {
        let long = format!("{LINE}\n{}", "a\n".repeat(MOST_TEXT));
        let found = judged(&[comment(&long)], &ApprovalRules::default(), &[]);
        assert_eq!(found.given, []);
        let said = format!("{LINE} (the comment has more than 64 KiB)");
        assert_eq!(found.unclear, [said]);
        let mut many = vec![comment("/capstan approve delete c/old")];
        many.extend(vec![comment(LINE); MOST]);
        let found = judged(&many, &ApprovalRules::default(), &[]);
        assert_eq!(found.given.len(), MOST);
        let long = format!("/capstan approve {}", "é".repeat(900));
        let found = judged(&[comment(&long)], &ApprovalRules::default(), &[]);
        assert_eq!(found.unclear[0].chars().count(), 201);
    }
}
