//! What a webhook leads to.

use super::forge::Forge;
use super::*;
use crate::model::{Head, Rerun};
use crate::reporting::sync_context;

/// A fleet on a forge with buttons that is applied.
async fn applying() -> Case {
    let setting = Setting {
        forge: Some(Arc::<Forge>::default().with_buttons()),
        ..Setting::default()
    };
    Case::applying_with(config_maps(&["a"]), setting).await
}

/// Oracle row 29.
#[tokio::test(start_paused = true)]
async fn a_check_that_somebody_wants_again_is_written_although_nothing_changed() {
    let mut case = applying().await;
    let commit = case.commit.clone();
    let sync = sync_context("config");
    let mut ask = |commit: &str, context: Option<&str>, app| {
        let rerun = Rerun {
            head: Head::Commit(commit.to_owned()),
            context: context.map(str::to_owned),
            app,
        };
        let reruns = [rerun].into();
        let presses = [].into();
        case.hinted(Hint { reruns, presses });
        case.conclude();
        case.parts().turn.checks.is_busy()
    };
    assert!(!ask(&commit, Some(&sync), Some(78)), "another app");
    assert!(
        !ask(&commit, Some("capstan/other/sync"), Some(77)),
        "another fleet"
    );
    assert!(!ask(&"0".repeat(40), None, None), "another commit");
    assert!(ask(&commit, None, Some(77)), "the whole suite");
    assert!(case.parts().heads.is_examining());
    let written = case.parts().turn.checks.wanted(&sync, &commit).unwrap();
    assert_eq!(written.attempt, 1);
}

/// Anybody who may comment can ask for it.
#[tokio::test(start_paused = true)]
async fn a_check_is_made_again_once_a_minute() {
    let mut case = applying().await;
    let commit = case.commit.clone();
    let sync = sync_context("config");
    let mut ask = || {
        let reruns = [Rerun::all(Head::Commit(commit.clone()))].into();
        case.hinted(Hint {
            reruns,
            ..Hint::default()
        });
        let check = case.parts().turn.checks.wanted(&sync, &commit).unwrap();
        check.attempt
    };
    assert_eq!((ask(), ask()), (1, 1));
    let minute = Duration::from_secs(60) / SPEED;
    tokio::time::sleep(minute - Duration::from_millis(1)).await;
    assert_eq!(ask(), 1);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((ask(), ask()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_hints_in_a_second_are_heard_twice() {
    let mut case = Case::new();
    let hints = Arc::<Hints>::default();
    let events = case.daemon.events.clone();
    let (view, viewed) = watch::channel(View::default());
    let _following = watching::follow_hints(Arc::clone(&hints), None, viewed, events);
    let mut heard = async |milliseconds: u64| {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        let mut count = 0;
        let is_hint = |event| matches!(event, Event::People(PeopleEvent::WebhookReceived(_)));
        while case.events.try_recv().is_ok_and(is_hint) {
            count += 1;
        }
        count
    };
    hints.leave(None);
    assert_eq!(
        heard(60_000).await,
        0,
        "it is not known what is reported on"
    );
    view.send_modify(|view| view.examined = Some("1".to_owned()));
    assert_eq!(heard(1).await, 1, "at once");
    for _ in 0..1000 {
        hints.leave(None);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(heard(990).await, 0);
    assert_eq!(heard(20).await, 1);
    assert_eq!(heard(60_000).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_hint_ends_the_wait_and_makes_the_next_one_longer() {
    let mut case = Case::with(Setting::default().slow());
    let commit = case.commit.clone();
    case.parts().heads.set_examined(&commit);
    let looked = |case: &mut Case, head: &str| {
        let remote = RemoteRefs {
            signed_anew: false,
            refs: Some(Refs::new()),
            head: head.to_owned(),
        };
        case.parts().heads.set_examining(true);
        case.fetched(Ok(remote));
    };
    looked(&mut case, &commit);
    let now = case.daemon.now();
    let hint = Event::People(PeopleEvent::WebhookReceived(Hint::default()));
    let commands = case.daemon.follower.only(hint, now);
    assert!(matches!(commands[..], [Command::Fetch]));
    // The wait that was ended is of no use any more.
    assert_eq!(case.jobs().await, [(60_000, "Poll")]);
    case.parts().polling.ended(Duration::ZERO);
    looked(&mut case, &commit);
    assert_eq!(case.jobs().await, [(600_000, "Poll")]);
    looked(&mut case, "another");
    assert_eq!(case.jobs().await, [(60_000, "Poll")], "nobody announced it");
}
