//! Comments on pull requests: which approve something, and what that leads to.

use std::collections::BTreeSet;

use super::forge::Forge;
use super::*;
use crate::model::{MayWrite, PullComment, Writer};

const SYNC: &str = "capstan/config/sync";
const PLAN: &str = "capstan/config/plan";
const LINE: &str = "/capstan approve delete c/one";

/// A comment of somebody who may write to the repository, so many seconds from now.
fn comment(author: &str, text: &str, seconds: i64) -> PullComment {
    let now = wall_time();
    PullComment {
        id: "1".to_owned(),
        author: author.to_owned(),
        other_names: Vec::new(),
        writer: Writer::Person,
        text: text.to_owned(),
        created: now + jiff::SignedDuration::from_secs(seconds),
        edited: None,
        may_write: MayWrite::Yes,
    }
}

/// A fleet on a forge without buttons.
async fn case(config: Option<fn(&mut SyncConfig)>) -> (Case, Arc<Forge>) {
    let forge = Arc::new(Forge::default());
    let setting = Setting {
        forge: Some(forge.ports()),
        candidates: &["refs/heads/pr/*"],
        config,
        ..Setting::default()
    };
    let case = Case::applying_with(config_maps(&["a"]), setting).await;
    (case, forge)
}

impl Case {
    /// Writes a check that asks for approval of the deletion of `c/one`, on this pull request.
    async fn ask(&mut self, context: &str, commit: &str, pull_request: Option<u64>) {
        self.ask_for("delete c/one", context, commit, pull_request)
            .await;
    }

    /// The same for another loss.
    async fn ask_for(
        &mut self,
        loss: &str,
        context: &str,
        commit: &str,
        pull_request: Option<u64>,
    ) {
        let check = Check {
            context: context.to_owned(),
            revision: commit.to_owned(),
            asked: vec![loss.to_owned()],
            pull_request,
            ..self.check(CheckState::Failure, "1 deleted")
        };
        self.set_check(check);
        // What a check says of one state is written once in a while.
        tokio::time::advance(Duration::from_secs(60)).await;
        self.conclude();
        while self.daemon.follower.is_publishing() {
            self.handle_next().await;
        }
    }

    /// Looks at the repository, and handles what that leads to.
    async fn look_for_comments(&mut self) {
        let refs = RemoteRefs {
            refs: None,
            head: self.commit.clone(),
            signed_anew: false,
        };
        self.fetched(Ok(refs));
        for _ in 0..5 {
            tokio::task::yield_now().await;
            let soon = std::time::Duration::from_millis(300);
            while let Ok(Some(event)) =
                tokio::time::timeout(soon, self.daemon.jobs.join_next()).await
            {
                match event.unwrap() {
                    event @ Event::Checks(ChecksEvent::CommentsRead(_)) => self.only(event),
                    event @ Event::Checks(ChecksEvent::Published(_)) => self.daemon.handle(event),
                    _ => {}
                }
            }
        }
    }

    fn deletable(&self, applied: &str, revision: &str) -> BTreeSet<String> {
        let approvals = &self.daemon.source.approvals;
        approvals.for_revision(applied, revision).deletable()
    }

    fn propose(&mut self) -> String {
        let head = "1".repeat(40);
        let refs: BTreeMap<String, String> = [("refs/heads/pr/1".to_owned(), head.clone())].into();
        let base = self.commit.clone();
        self.parts().plans.candidates().update(&refs, &base);
        head
    }
}

#[tokio::test(start_paused = true)]
async fn a_comment_on_the_head_approves_what_the_plan_shows() {
    let (mut case, forge) = case(None).await;
    let head = case.propose();
    case.parts().heads.set_examining(true);
    let say = |comments: &[PullComment]| {
        forge.comments.lock().unwrap().insert(7, comments.to_vec());
    };
    for (wrong, is_shown) in [
        (comment("ann", "fine", 5), false),
        (comment("ann", LINE, -60), true),
        (comment("ann", "/capstan approve delete c/two", 5), true),
        (comment("ann", "/capstan approve c/one", 5), true),
        (
            PullComment {
                may_write: MayWrite::No,
                ..comment("eve", LINE, 5)
            },
            true,
        ),
    ] {
        say(std::slice::from_ref(&wrong));
        case.ask(PLAN, &head, Some(7)).await;
        case.look_for_comments().await;
        assert!(case.deletable("", &head).is_empty(), "{wrong:?}");
        let parts = case.parts();
        let waits = parts.plans.candidates().announced().count();
        assert_eq!(waits, usize::from(is_shown), "{wrong:?}");
    }
    say(&[
        comment("eve", "/capstan approve", 4),
        comment("ann", LINE, 5),
    ]);
    case.ask(PLAN, &head, Some(7)).await;
    case.look_for_comments().await;
    let found = case.daemon.source.approvals.for_revision("", &head);
    assert_eq!(found.deletable(), ["c/one".to_owned()].into());
    assert_eq!(found.given[0].who, "ann");
    let parts = case.parts();
    let waits: Vec<&String> = parts.plans.candidates().announced().collect();
    assert_eq!(waits, [&head], "it is planned again");
}

#[tokio::test(start_paused = true)]
async fn a_comment_on_the_merged_pull_request_approves_what_the_sync_check_asks_for() {
    let (mut case, forge) = case(None).await;
    let (commit, number) = (case.commit.clone(), case.number());
    forge
        .pull_requests
        .lock()
        .unwrap()
        .insert(commit.clone(), 8);
    case.ask(SYNC, &commit, None).await;
    let said = comment("ann", "/capstan approve delete c/on", 5);
    forge.comments.lock().unwrap().insert(8, vec![said]);
    case.look_for_comments().await;
    assert!(case.deletable(&commit, &commit).is_empty());
    assert_eq!(case.number(), number, "nothing is applied again");
    let said = comment("ann", LINE, 5);
    forge.comments.lock().unwrap().insert(8, vec![said]);
    case.ask(SYNC, &commit, None).await;
    case.look_for_comments().await;
    assert_eq!(
        case.deletable(&commit, &commit),
        ["c/one".to_owned()].into()
    );
    assert_eq!(case.number(), number + 1, "it is applied once more");
}

#[tokio::test(start_paused = true)]
async fn the_fleet_says_who_may_approve() {
    let (mut case, forge) = case(Some(|config| {
        config.approvals.approvers = Some(vec!["ann".to_owned(), "author".to_owned()]);
        config.approvals.not_author = true;
    }))
    .await;
    let head = case.propose();
    case.parts().heads.set_examining(true);
    for (author, counts) in [("bob", false), ("author", false), ("ann", true)] {
        let said = comment(author, LINE, 5);
        forge.comments.lock().unwrap().insert(7, vec![said]);
        case.ask(PLAN, &head, Some(7)).await;
        case.look_for_comments().await;
        assert_eq!(!case.deletable("", &head).is_empty(), counts, "{author}");
    }
}

/// Of two losses one is approved: the check that asks for the other does not call that comment a mistake.
#[tokio::test(start_paused = true)]
async fn a_comment_that_counted_before_is_no_mistake() {
    let (mut case, forge) = case(None).await;
    let head = case.propose();
    case.parts().heads.set_examining(true);
    let said = comment("ann", LINE, 5);
    forge.comments.lock().unwrap().insert(7, vec![said]);
    case.ask(PLAN, &head, Some(7)).await;
    case.look_for_comments().await;
    assert!(!case.deletable("", &head).is_empty());
    for (loss, is_mistake) in [("delete c/two", false), ("delete c/three", true)] {
        if is_mistake {
            let said = comment("ann", "/capstan approve delete c/thre", 6);
            forge.comments.lock().unwrap().insert(7, vec![said]);
        }
        case.ask_for(loss, PLAN, &head, Some(7)).await;
        case.look_for_comments().await;
        let check = case.daemon.view.borrow().check(PLAN, &head).cloned();
        let is_pending = check.is_some_and(|check| check.state == CheckState::Pending);
        assert_eq!(is_pending, is_mistake, "{loss}");
    }
}
