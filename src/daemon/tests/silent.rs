//! A forge that takes connections and never answers: applying does not wait for it.

use super::forge::Silent;
use super::*;
use crate::daemon::jobs::LastApplied;
use crate::follow::CommentQuestion;

#[tokio::test(start_paused = true)]
async fn a_revision_is_applied_after_5_seconds_although_its_check_is_not_written() {
    let mut case = Case::on_forge(ForgePorts::of(Arc::new(Silent)));
    let commit = case.commit.clone();
    case.parts().heads.set(&commit, &commit);
    case.examined(case.examination(&commit, config_maps(&["a"])));
    case.conclude();
    let is_running = |case: &mut Case| case.parts().releases.current().unwrap().is_running();
    let start = Instant::now();
    while !is_running(&mut case) {
        let event = case.daemon.jobs.join_next().await.unwrap().unwrap();
        case.daemon.handle(event);
    }
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_revision_waits_5_seconds_for_what_earlier_ones_left() {
    let case = Case::new();
    let (source, commit) = (Arc::clone(&case.daemon.source), case.commit.clone());
    let start = Instant::now();
    let examined = jobs::examine(source, &Silent, commit, LastApplied::Partly(None), true).await;
    assert_eq!(
        (start.elapsed().as_secs(), examined.left_pending),
        (5, None)
    );
}

#[tokio::test(start_paused = true)]
async fn comments_are_given_up_after_60_seconds() {
    let mut case = Case::on_forge(ForgePorts::of(Arc::new(Silent)));
    let question = CommentQuestion {
        context: "capstan/config/plan".to_owned(),
        commit: case.commit.clone(),
        pull_requests: vec![7],
        asked: vec!["delete c/one".to_owned()],
        since: Timestamp::UNIX_EPOCH,
        is_followed: false,
    };
    let start = Instant::now();
    let questions = vec![question.clone(), question];
    case.daemon.carry_out(Command::ReadComments(questions));
    let event = case.daemon.jobs.join_next().await.unwrap().unwrap();
    assert_eq!(start.elapsed().as_secs(), 60);
    match event {
        Event::Checks(ChecksEvent::CommentsRead(answers)) => assert!(answers.is_empty()),
        _ => panic!("another event"),
    }
}
