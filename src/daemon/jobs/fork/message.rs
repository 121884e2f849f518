//! What the daemon asks of the process that plans the head of a fork, and what that answers.
//!
//! In: a request, or the bytes of an answer. Out: the bytes of a request, or an answer that fits its request. The
//! answer was made of what a stranger wrote: it is bounded, and nothing is taken from it but what a check of this
//! commit may say.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::api::fleet::{DeletionGuard, FleetPolicy, LinkSwitches, Management, OutsideObject};
use crate::daemon::jobs::failure::Unread;
use crate::model::markdown::plain;
use crate::model::{Annotation, Check, CheckState, ClientBindings};
use crate::reporting::report::Holdings;

/// The most bytes of an answer.
pub(super) const MOST_ANSWERED: u64 = 4 << 20;
/// The most characters of a check's text.
const MOST_TEXT: usize = 256 << 10;
/// The most characters of a line, such as a title.
const MOST_LINE: usize = 2_000;
/// The most paths in conflict.
const MOST_PATHS: usize = 1_000;
/// The most messages on lines.
const MOST_ANNOTATIONS: usize = 100;

/// A plan that is asked for, and all that is needed for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::daemon) struct Request {
    /// The version of Capstan that asks: another one may understand something else.
    pub(in crate::daemon) version: String,
    /// The directory of the mirror, and the address of its repository.
    pub(in crate::daemon) mirror: PathBuf,
    pub(in crate::daemon) source: String,
    /// The files with the objects that the mirror lacks.
    pub(in crate::daemon) packs: Vec<PathBuf>,
    /// The ref, and what it points to on the server.
    pub(in crate::daemon) name: String,
    pub(in crate::daemon) id: String,
    /// The commit that its check is about; `None` to find out which one that is, and nothing else.
    pub(in crate::daemon) commit: Option<String>,
    /// The commit that it is merged onto.
    pub(in crate::daemon) base: String,
    /// The daemon's findings there, if it was examined.
    pub(in crate::daemon) examined: Option<Examined>,
    pub(in crate::daemon) fleet: String,
    /// The directories of the fleet and of its overlays in the repository.
    pub(in crate::daemon) path: String,
    pub(in crate::daemon) overlays: Vec<String>,
    /// True if the daemon's machine has overlays of its own.
    pub(in crate::daemon) is_partial: bool,
    pub(in crate::daemon) policy: Policy,
    /// True if objects are removed; and the losses that need no approval.
    pub(in crate::daemon) prune: bool,
    pub(in crate::daemon) allowed: DeletionGuard,
    /// A digest of what else the check is made of.
    pub(in crate::daemon) conditions: String,
    /// The conditions of its last check.
    pub(in crate::daemon) seen: Option<String>,
}

impl Request {
    /// The directories of the fleet and of its overlays.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.path).chain(&self.overlays)
    }
}

/// A base that the daemon examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::daemon) struct Examined {
    /// Its name for people: `the branch main`.
    pub(in crate::daemon) name: String,
    /// True if it has no errors.
    pub(in crate::daemon) is_sound: bool,
    /// Its clusters and node pools, with the overlays of the daemon's machine.
    pub(in crate::daemon) holdings: Holdings,
}

/// The settings for rules that everybody can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::daemon) struct Policy {
    root: String,
    outside: Vec<OutsideObject>,
    experimental: bool,
    regions: Vec<String>,
    management: Option<Management>,
    links: Option<LinkSwitches>,
}

impl From<&FleetPolicy> for Policy {
    fn from(policy: &FleetPolicy) -> Self {
        Self {
            root: policy.root.clone(),
            outside: policy.outside.clone(),
            experimental: policy.experimental,
            regions: policy.regions.clone(),
            management: policy.management.clone(),
            links: policy.links,
        }
    }
}

impl From<Policy> for FleetPolicy {
    fn from(policy: Policy) -> Self {
        Self {
            root: policy.root,
            tenants: Vec::new(),
            outside: policy.outside,
            experimental: policy.experimental,
            regions: policy.regions,
            management: policy.management,
            links: policy.links,
            bindings: ClientBindings::default(),
        }
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) enum Answer {
    /// It leads to this commit.
    Resolved(String),
    /// It was merged.
    Planned {
        /// The ids of the merged files, a digest of what its messages would approve, and the conditions.
        input: String,
        /// Its check; none if the last one was made of the same.
        check: Option<Box<Check>>,
    },
    /// It does not merge: both sides changed these paths.
    Conflicts(Vec<String>),
    /// It could not be read.
    Unread(Unread),
}

/// Reads an answer to `request`, of which the check has this `context`.
///
/// # Errors
/// Returns what is wrong with an answer that does not fit.
pub(super) fn read(bytes: &[u8], request: &Request, context: &str) -> Result<Answer, String> {
    let answer = serde_json::from_slice(bytes);
    match answer.map_err(|error| error.to_string())? {
        Answer::Resolved(head) if is_id(&head) => Ok(Answer::Resolved(head)),
        Answer::Resolved(_) => Err("the commit is no id".to_owned()),
        Answer::Planned { input, check } => {
            let is_new = request.seen.as_ref() != Some(&input);
            if !is_input(&input, &request.conditions) || is_new != check.is_some() {
                return Err("its input does not fit".to_owned());
            }
            let check = check.map(|check| cleaned(*check, request, context));
            let check = check.transpose()?.map(Box::new);
            Ok(Answer::Planned { input, check })
        }
        Answer::Conflicts(paths) => {
            let paths = paths.iter().take(MOST_PATHS);
            Ok(Answer::Conflicts(paths.map(|path| line(path)).collect()))
        }
        Answer::Unread(unread) => Ok(Answer::Unread(Unread {
            message: line(&unread.message),
            ..unread
        })),
    }
}

fn is_id(word: &str) -> bool {
    (1..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if this may be ids of git and these conditions: it is written as it is.
fn is_input(input: &str, conditions: &str) -> bool {
    let ids = input.strip_suffix(conditions);
    let ids = ids.and_then(|ids| ids.strip_suffix(' '));
    input.len() < 64 << 10 && ids.is_some_and(|ids| ids.split(' ').all(is_id))
}

/// The part of a check that may be said of this commit. A fork's check has no button and no link, and it ends.
fn cleaned(check: Check, request: &Request, context: &str) -> Result<Check, String> {
    if request.commit.as_ref() != Some(&check.revision) || check.context != context {
        return Err("it is a check of something else".to_owned());
    }
    if check.state == CheckState::Pending {
        return Err("its check is pending".to_owned());
    }
    let annotations = check.annotations.into_iter().take(MOST_ANNOTATIONS);
    let annotation = |annotation: Annotation| Annotation {
        path: line(&annotation.path),
        level: level(&annotation.level).to_owned(),
        message: line(&annotation.message),
        ..annotation
    };
    Ok(Check {
        title: line(&check.title),
        summary: text(&check.summary),
        annotations: annotations.map(annotation).collect(),
        target_url: None,
        pull_request: None,
        older_pull_requests: Vec::new(),
        input: None,
        button: None,
        attempt: 0,
        ..check
    })
}

fn level(level: &str) -> &str {
    let known = ["error", "warning", "info"];
    known
        .into_iter()
        .find(|known| *known == level)
        .unwrap_or("error")
}

fn line(text: &str) -> String {
    let text: String = text.chars().take(MOST_LINE).collect();
    plain(&text)
}

/// A text of several lines without other characters that control a terminal or the direction of writing.
fn text(text: &str) -> String {
    let controls =
        |c: &char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let kept = text.chars().filter(|c| *c == '\n' || !controls(c));
    kept.take(MOST_TEXT).collect()
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const CONTEXT: &str = "capstan/prod/plan";

    pub(in crate::daemon::jobs::fork) fn request() -> Request {
        Request {
            version: "1".to_owned(),
            mirror: PathBuf::from("/mirror"),
            source: "/srv/git".to_owned(),
            packs: vec![PathBuf::from("/mirror/incoming/0.pack")],
            name: "refs/pull/1/head".to_owned(),
            id: "aa".to_owned(),
            commit: Some("aa".to_owned()),
            base: "bb".to_owned(),
            examined: Some(Examined {
                name: "the branch main".to_owned(),
                is_sound: true,
                holdings: Holdings::default(),
            }),
            fleet: "prod".to_owned(),
            path: String::new(),
            overlays: Vec::new(),
            is_partial: false,
            policy: (&FleetPolicy::default()).into(),
            prune: true,
            allowed: DeletionGuard::default(),
            conditions: "0123".to_owned(),
            seen: Some("cc 0123".to_owned()),
        }
    }

    fn check() -> Check {
        Check {
            summary: "one\n- two\n".to_owned(),
            ..Check::new(CONTEXT, "aa", CheckState::Success, "no errors")
        }
    }

    fn planned(input: &str, check: Option<Check>) -> Answer {
        let (input, check) = (input.to_owned(), check.map(Box::new));
        Answer::Planned { input, check }
    }

    fn read_back(answer: &Answer) -> Result<Answer, String> {
        read(&serde_json::to_vec(answer).unwrap(), &request(), CONTEXT)
    }

    #[test]
    fn what_is_asked_and_answered_arrives_as_it_was() {
        let line = serde_json::to_vec(&request()).unwrap();
        assert!(!line.contains(&b'\n'), "a request is one line");
        assert_eq!(serde_json::from_slice::<Request>(&line).unwrap(), request());
        for answer in [
            planned("dd 0123", Some(check())),
            planned("cc 0123", None),
            Answer::Resolved("aa".to_owned()),
            Answer::Conflicts(vec!["a.yaml".to_owned()]),
            Answer::Unread(Unread::failed("no such object".to_owned())),
        ] {
            assert_eq!(read_back(&answer), Ok(answer));
        }
    }

    #[test]
    fn an_answer_to_something_else_is_refused() {
        let other = |change: fn(&mut Check)| {
            let mut check = check();
            change(&mut check);
            planned("dd 0123", Some(check))
        };
        for answer in [
            planned("dd 0123", None),
            planned("cc 0123", Some(check())),
            planned("dd 0124", Some(check())),
            planned("../x 0123", Some(check())),
            other(|check| check.revision = "ab".to_owned()),
            other(|check| check.context = "capstan/prod/sync".to_owned()),
            other(|check| check.state = CheckState::Pending),
            Answer::Resolved("../x".to_owned()),
        ] {
            assert!(read_back(&answer).is_err(), "{answer:?}");
        }
        for text in [
            "",
            "{}",
            "[]",
            "{\"planned\":{}}",
            "{\"resolved\":\"aa\"} x",
            "{\"x\":1}",
        ] {
            assert!(
                read(text.as_bytes(), &request(), CONTEXT).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_check_says_nothing_that_a_fork_s_may_not_say() {
        let said = Check {
            title: "a\u{1b}[31m\nb".to_owned(),
            summary: "one\u{1b}[2J\r\n\u{202e}two\n".to_owned(),
            annotations: vec![
                Annotation {
                    path: "a\n.yaml".to_owned(),
                    line: 1,
                    level: "##vso".to_owned(),
                    message: "x".repeat(MOST_LINE + 1),
                };
                MOST_ANNOTATIONS + 1
            ],
            target_url: Some("https://elsewhere.example".to_owned()),
            pull_request: Some(1),
            older_pull_requests: vec![2],
            input: Some("x".to_owned()),
            button: Some(crate::model::Button::new("aa", CONTEXT, ["a/b".to_owned()])),
            ..check()
        };
        let Ok(Answer::Planned {
            check: Some(read), ..
        }) = read_back(&planned("dd 0123", Some(said)))
        else {
            unreachable!("it is read");
        };
        assert_eq!(
            (read.title.as_str(), read.summary.as_str()),
            ("a [31m b", "one[2J\ntwo\n")
        );
        assert_eq!(read.annotations.len(), MOST_ANNOTATIONS);
        let first = &read.annotations[0];
        assert_eq!(
            (first.path.as_str(), first.level.as_str()),
            ("a .yaml", "error")
        );
        assert_eq!(first.message.len(), MOST_LINE);
        let same = Check {
            title: read.title.clone(),
            summary: read.summary.clone(),
            annotations: read.annotations.clone(),
            ..check()
        };
        assert_eq!(*read, same);
    }
}
