//! The approve button: which presses approve something, and for which revisions they count.

use std::collections::BTreeSet;

use futures::FutureExt as _;

use super::forge::{Forge, no_forge};
use super::*;
use crate::follow::PressAnswer;
use crate::model::Button;
use crate::model::Press;
use crate::plan::approvals::{How, Pressed};

const SYNC: &str = "capstan/config/sync";
const PLAN: &str = "capstan/config/plan";

fn asking(revision: &str, context: &str, cluster: &str) -> Check {
    Check {
        revision: revision.to_owned(),
        context: context.to_owned(),
        button: Some(Button::new(
            revision,
            context,
            [format!("delete {cluster}")],
        )),
        ..Case::new().check(CheckState::Success, "1/1 ready")
    }
}

fn press(check: &Check, login: &str) -> Press {
    Press {
        commit: check.revision.clone(),
        context: check.context.clone(),
        app: 77,
        button: check.button.as_ref().unwrap().id.clone(),
        login: login.to_owned(),
    }
}

/// A fleet on GitHub whose applied revision waits for the approval of `c/one`.
async fn waiting() -> (Case, Arc<Forge>, Check) {
    let github = Arc::new(Forge::default());
    let setting = Setting {
        forge: Some(github.with_buttons()),
        has_buttons: true,
        candidates: &["refs/heads/pr/*"],
        ..Setting::default()
    };
    let mut case = Case::applying_with(config_maps(&["a"]), setting).await;
    let check = asking(&case.commit, SYNC, "c/one");
    case.set_check(check.clone());
    (case, github, check)
}

impl Case {
    /// Presses, and handles what that leads to.
    async fn press(&mut self, press: Press) {
        let (presses, reruns) = ([press].into(), [].into());
        self.hinted(Hint { reruns, presses });
        while let Some(event) = self.daemon.jobs.join_next().now_or_never().flatten() {
            self.daemon.handle(event.unwrap());
        }
        tokio::task::yield_now().await;
        while let Some(event) = self.daemon.jobs.join_next().now_or_never().flatten() {
            self.daemon.handle(event.unwrap());
        }
    }

    /// What may be deleted of `revision` after `applied`.
    fn approved(&self, applied: &str, revision: &str) -> Vec<String> {
        let approvals = self.daemon.source.approvals.for_revision(applied, revision);
        approvals.deletable().into_iter().collect()
    }

    fn commit_on(&self, branch: &str, onto: Option<&str>, message: &str) -> String {
        let author = Author::init(&self._dir.path().join("config.git")).unwrap();
        let files: Files = [("a.yaml".to_owned(), message.to_owned())].into();
        let time = Timestamp::UNIX_EPOCH;
        author.push(branch, onto, &files, message, time).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_press_of_who_may_write_approves_what_the_check_shows() {
    let (mut case, github, check) = waiting().await;
    let (commit, number) = (case.commit.clone(), case.number());
    case.press(press(&check, "writer")).await;
    assert_eq!(case.approved(&commit, &commit), ["c/one"]);
    assert_eq!(case.number(), number + 1, "it is applied once more");
    assert_eq!(case.state(), CheckState::Pending);
    assert_eq!(
        case.daemon
            .source
            .approvals
            .for_revision(&commit, &commit)
            .given[0]
            .who,
        "writer"
    );
    // The check has no button any more.
    case.press(press(&check, "writer")).await;
    assert_eq!(*github.asked.lock().unwrap(), ["writer"], "two presses");
    assert_eq!(case.number(), number + 1);
}

#[tokio::test(start_paused = true)]
async fn any_other_press_approves_nothing() {
    let (mut case, github, check) = waiting().await;
    let (commit, number) = (case.commit.clone(), case.number());
    let good = press(&check, "writer");
    let other = asking(&commit, SYNC, "c/two").button.unwrap().id;
    let elsewhere = asking("another", SYNC, "c/one");
    case.set_check(elsewhere.clone());
    for wrong in [
        Press {
            app: 78,
            ..good.clone()
        },
        Press {
            button: other,
            ..good.clone()
        },
        Press {
            context: PLAN.to_owned(),
            ..good.clone()
        },
        Press {
            context: "capstan/other/sync".to_owned(),
            ..good.clone()
        },
        press(&elsewhere, "writer"),
    ] {
        case.press(wrong.clone()).await;
        assert!(case.approved(&commit, &commit).is_empty(), "{wrong:?}");
    }
    assert!(github.asked.lock().unwrap().is_empty(), "nobody is asked");
    case.press(press(&check, "reader")).await;
    assert_eq!(*github.asked.lock().unwrap(), ["reader"]);
    assert!(case.approved(&commit, &commit).is_empty());
    assert_eq!(case.number(), number, "nothing is applied again");
    // What the check shows changed while the forge was asked.
    let button = check.button.clone().unwrap();
    case.set_check(asking(&commit, SYNC, "c/two"));
    let answered = ChecksEvent::PressAnswered(good, PressAnswer::Approved(button));
    case.only(Event::Checks(answered));
    assert!(case.approved(&commit, &commit).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_button_from_before_a_restart_can_be_pressed() {
    let (mut case, github, _) = waiting().await;
    let head = case.commit_on("pr/1", None, "delete");
    let refs: Refs = [("refs/heads/pr/1".to_owned(), head.clone())].into();
    let base = case.commit.clone();
    case.parts().plans.candidates().update(&refs, &base);
    let check = asking(&head, PLAN, "c/one");
    let unknown = press(&check, "writer");
    case.press(unknown.clone()).await;
    assert!(
        github.asked.lock().unwrap().is_empty(),
        "it wrote no such check"
    );
    github.earlier.lock().unwrap().push(check.clone());
    case.parts().heads.set_examining(true);
    case.press(unknown).await;
    assert_eq!(case.approved("", &head), ["c/one"]);
    let parts = case.parts();
    let waits: Vec<&String> = parts.plans.candidates().announced().collect();
    assert_eq!(waits, [&head], "it is planned again");
}

/// As a trailer in the message of the commit would.
#[tokio::test]
async fn a_press_counts_for_what_contains_its_commit_and_is_not_applied() {
    let case = Case::new();
    let first = case.commit.clone();
    let asked = case.commit_on("main", Some(&first), "delete");
    let next = case.commit_on("main", Some(&asked), "next");
    let aside = case.commit_on("aside", Some(&first), "squashed");
    case.daemon
        .source
        .revisions
        .origin
        .repository()
        .unwrap()
        .fetch()
        .unwrap();
    let one: BTreeSet<String> = ["c/one".to_owned()].into();
    let approve = |commit: &str, is_applied| {
        let check = asking(commit, SYNC, "c/one");
        case.daemon.source.approvals.add(Pressed {
            commit: check.revision,
            losses: one.iter().map(|name| format!("delete {name}")).collect(),
            login: "writer".to_owned(),
            how: How::Button,
            at: Timestamp::UNIX_EPOCH,
            is_applied,
        });
    };
    approve(&asked, false);
    approve("gone", false);
    let missing = "1".repeat(40);
    for (applied, revision, counts) in [
        (&*first, &*asked, true),
        (&first, &next, true),
        // Another commit, as after a squash.
        (&first, &aside, false),
        (&asked, &aside, false),
        // A forced push that takes it back, and one that brings it in.
        (&next, &first, false),
        (&aside, &next, true),
        // It was applied.
        (&asked, &next, false),
        (&asked, &asked, false),
        (&next, &asked, false),
        // Nothing was applied, or nobody knows what.
        ("", &asked, true),
        ("", &next, false),
        ("a directory", &asked, true),
        (&missing, &next, false),
    ] {
        let approved = case.approved(applied, revision);
        assert_eq!(
            approved.contains(&"c/one".to_owned()),
            counts,
            "{applied} {revision}"
        );
    }
    // Pressed on the check of what is applied, until another revision is.
    approve(&asked, true);
    assert_eq!(case.approved(&asked, &asked), ["c/one"]);
    case.daemon.source.take_up(&asked);
    assert_eq!(case.approved(&asked, &asked), ["c/one"]);
    case.daemon.source.take_up(&next);
    case.daemon.source.take_up(&asked);
    assert!(case.approved(&asked, &asked).is_empty());
    // After a restart.
    let origin = case.daemon.source.revisions.origin.clone();
    let config = case.daemon.source.config.clone();
    let again = Source::new(origin, config, &no_forge(), false);
    let record = case.daemon.source.approvals.recorded.record();
    again.approvals.recorded.recall(Some(record));
    assert_eq!(again.approvals.for_revision(&first, &next).deletable(), one);
}

#[tokio::test]
async fn lines_that_look_like_an_approval_are_those_of_what_is_not_applied() {
    let case = Case::new();
    let first = case.commit.clone();
    let wrong = "it\n\nCapstan-Approve: remove c/one\n";
    let asked = case.commit_on("main", Some(&first), wrong);
    let right = "it\n\nCapstan-Approve: delete c/one\n";
    let next = case.commit_on("main", Some(&asked), right);
    let source = &case.daemon.source;
    source
        .revisions
        .origin
        .repository()
        .unwrap()
        .fetch()
        .unwrap();
    let line = "Capstan-Approve: remove c/one";
    for (applied, revision, lines) in [
        (&*first, &*asked, &[line][..]),
        (&first, &next, &[line]),
        (&asked, &next, &[]),
        // It is applied, and asked for again: its own message still counts.
        (&asked, &asked, &[line]),
        (&next, &next, &[]),
        ("", &asked, &[line]),
    ] {
        let found = source.approvals.for_revision(applied, revision).unclear;
        assert_eq!(found, lines, "{applied} {revision}");
    }
}
