//! The answers to questions about comments.
//!
//! In: checks that ask for approvals, and the forge. Out: what the comments on their pull requests approve, and what of it
//! does not count. What the forge does not answer now is asked with the next look. It does not know what an approval leads
//! to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::commit_approvals::Commits as _;
use super::revisions::Revisions;
use crate::api::fleet::ApprovalRules;
use crate::daemon::spans::spawn_blocking;
use crate::follow::{CommentAnswer, CommentQuestion};
use crate::model::{AdapterError, ApprovalComments, COMMAND, PullComment};
use crate::plan::approvals::{APPROVE, Approval, Approvals, Conversation, What};

/// How many commits of the followed ref are asked about: one of them brought in what is asked.
const MOST_COMMITS: usize = 10;
/// How many pull requests of one check are read.
const MOST_PULL_REQUESTS: usize = 5;
/// How many lines that approve nothing are kept of one check: nobody reads more.
const MOST_LINES: usize = 20;
/// How long the answers may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers questions, one after the other; those that the forge does not answer are left out. `known` has the losses that
/// somebody approved before, each as a trailer has it.
pub(super) async fn read(
    revisions: Arc<Revisions>,
    forge: &dyn ApprovalComments,
    rules: &ApprovalRules,
    known: &BTreeSet<String>,
    questions: Vec<CommentQuestion>,
) -> Vec<CommentAnswer> {
    let (mut answers, until) = (Vec::new(), Instant::now() + PATIENCE);
    for question in questions {
        let (commit, context) = (question.commit.clone(), question.context.clone());
        let answer = answer(&revisions, forge, rules, known, question);
        match tokio::time::timeout_at(until, answer).await {
            Ok(Ok(answer)) => answers.push(answer),
            Ok(Err(error)) => {
                tracing::warn!(revision = commit, context, %error, "cannot read the comments that may approve; they are read again later");
            }
            Err(_) => {
                tracing::warn!(
                    revision = commit,
                    context,
                    "the forge took more than 60 seconds to list the comments that may approve; they are read again later"
                );
                break;
            }
        }
    }
    answers
}

/// Warns if the forge does not tell who may write, and nobody is named who may approve.
pub(super) async fn probe(forge: &dyn ApprovalComments, rules: &ApprovalRules) {
    if rules.approvers.is_some() {
        return;
    }
    match forge.tells_rights().await {
        Ok(true) => {}
        Ok(false) => tracing::warn!(
            "the forge does not tell Capstan's token who may write to the repository: no comment approves anything; name those who may approve in spec.approvals.approvers, or give the token the rights of an administrator"
        ),
        Err(error) => tracing::debug!(%error, "cannot ask whether the forge tells who may write"),
    }
}

async fn answer(
    revisions: &Arc<Revisions>,
    forge: &dyn ApprovalComments,
    rules: &ApprovalRules,
    known: &BTreeSet<String>,
    question: CommentQuestion,
) -> Result<CommentAnswer, AdapterError> {
    let mut pull_requests = question.pull_requests.clone();
    if pull_requests.is_empty() {
        for commit in commits(revisions, &question).await {
            for number in forge.pull_requests(&commit).await? {
                if !pull_requests.contains(&number) {
                    pull_requests.push(number);
                }
            }
        }
    }
    pull_requests.truncate(MOST_PULL_REQUESTS);
    let (mut given, mut rest) = (Vec::new(), Approvals::default());
    for number in &pull_requests {
        let comments = forge.comments(*number).await?;
        let found = judge(forge, rules, &question, *number, &comments).await?;
        rest.unclear.extend(found.unclear);
        rest.doubted.extend(found.doubted);
        for approval in found.given {
            let what = approval.what.to_string();
            if question.asked.contains(&what) {
                given.push(approval);
            } else if !known.contains(&what) {
                rest.unclear.push(format!("{COMMAND} {APPROVE} {what}"));
            }
        }
    }
    let given_or_unasked = |what: &What| {
        let is_given = given.iter().any(|one: &Approval| one.what == *what);
        is_given || !question.asked.contains(&what.to_string())
    };
    rest.doubted
        .retain(|(approval, _)| !given_or_unasked(&approval.what));
    rest.doubted.truncate(MOST_LINES);
    rest.unclear.truncate(MOST_LINES);
    Ok(CommentAnswer {
        question,
        pull_requests,
        given,
        rest,
    })
}

/// What the comments of one pull request say.
async fn judge(
    forge: &dyn ApprovalComments,
    rules: &ApprovalRules,
    question: &CommentQuestion,
    number: u64,
    comments: &[PullComment],
) -> Result<Approvals, AdapterError> {
    let needs_authors = rules.not_author && comments.iter().any(|one| one.text.contains(APPROVE));
    let authors = match needs_authors {
        true => forge.authors(number).await.inspect_err(|error| {
            tracing::warn!(number, %error, "cannot tell who wrote this pull request");
        }),
        false => Ok(BTreeSet::new()),
    };
    let conversation = Conversation {
        head: &question.commit,
        planned: question.since,
        rules,
        authors: authors.as_ref().ok(),
    };
    Ok(conversation.judge(comments))
}

/// The commits whose pull requests are read: the head of a candidate, or the newest of the followed ref.
async fn commits(revisions: &Arc<Revisions>, question: &CommentQuestion) -> Vec<String> {
    let commit = question.commit.clone();
    if !question.is_followed {
        return vec![commit];
    }
    let (revisions, newest) = (Arc::clone(revisions), commit.clone());
    let line = move || revisions.origin.first_parents(None, &newest, MOST_COMMITS);
    let line = spawn_blocking(line).await;
    let line = line.ok().and_then(Result::ok).unwrap_or_default();
    match line.is_empty() {
        true => vec![commit],
        false => line.into_iter().map(|commit| commit.id).collect(),
    }
}
