//! A directory in place of a repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tokio::sync::Notify;

use super::forge::no_forge;
use super::*;
use crate::daemon::jobs::LastApplied;
use crate::daemon::watching::pass_on;

pub(super) const ONE: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: default}}\n";

/// Exchanges the link `current` in `top` for one to a worktree with this text; the commit of that.
pub(super) fn publish(top: &Path, digit: &str, text: &str) -> String {
    let commit = digit.repeat(40);
    fs::create_dir(top.join(&commit)).unwrap();
    fs::write(top.join(&commit).join("a.yaml"), text).unwrap();
    symlink(&commit, top.join("new")).unwrap();
    fs::rename(top.join("new"), top.join("current")).unwrap();
    commit
}

/// What follows the link, as a new process.
pub(super) fn source(top: &Path) -> Arc<Source> {
    let mut config = SyncConfig::directory(&top.join("current"), &Environment::default());
    config.mirror = top.join("cache/current.directory");
    let origin = Origin::open(&config, &git::Access::default()).unwrap();
    Arc::new(Source::new(origin, config.into(), &no_forge(), false))
}

/// Looks, and examines what is there as the first revision of a process.
async fn first(case: &Case, source: &Arc<Source>) -> ExamineResult {
    let head = source.fetch().unwrap().head;
    let (source, sink) = (Arc::clone(source), &*case.daemon.ports.checks);
    jobs::examine(source, sink, head, LastApplied::Partly(None), true).await
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_is_not_watched_is_looked_at_every_5_seconds() {
    let top = tempfile::tempdir().unwrap();
    let source = source(top.path());
    let within = || {
        source
            .revisions
            .next_look_within()
            .map(|wait| wait.as_secs())
    };
    assert_eq!(within(), Some(5));
    let directory = Arc::clone(source.revisions.origin.directory().unwrap());
    directory.watch(|| {});
    assert_eq!(within(), None);
    assert_eq!(Case::new().daemon.source.revisions.next_look_within(), None);
}

#[tokio::test(start_paused = true)]
async fn changes_within_half_a_second_are_one_look() {
    let (changed, look_now) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (heard, looks) = (Arc::clone(&changed), Arc::clone(&look_now));
    let passing = tokio::spawn(async move { pass_on(&heard, || looks.notify_one()).await });
    let start = Instant::now();
    let (mut looks, end) = (Vec::new(), Duration::from_millis(1400));
    let changing = async {
        for _ in 0..100 {
            changed.notify_one();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let looking = async {
        while tokio::time::timeout(end, look_now.notified()).await.is_ok() {
            looks.push(start.elapsed().as_millis());
        }
    };
    tokio::join!(changing, looking);
    // Tokio's clock counts in milliseconds.
    let near = |(at, expected): (&u128, u128)| at.abs_diff(expected) <= 2;
    assert!(looks.iter().zip([0, 500, 1000]).all(near), "{looks:?}");
    assert_eq!(looks.len(), 3);
    passing.abort();
}

#[tokio::test]
async fn a_broken_revision_after_a_restart_leaves_the_one_before_applied() {
    let (case, top) = (Case::new(), tempfile::tempdir().unwrap());
    let good = publish(top.path(), "a", ONE);
    let one = source(top.path());
    let examined = first(&case, &one).await;
    assert!(examined.outcome.is_ok_and(|judged| judged.good().is_some()));
    let directory = one.revisions.origin.directory().unwrap();
    directory.retain(RetainedRef::Applied, &good).unwrap();
    drop(one);
    for (digit, text) in [("b", "{kind: "), ("c", "# no objects\n")] {
        let bad = publish(top.path(), digit, text);
        fs::remove_dir_all(top.path().join(&good)).unwrap_or_default();
        let examined = first(&case, &source(top.path())).await;
        assert_eq!(examined.revision, bad);
        assert!(examined.outcome.ok().unwrap().good().is_none());
        let fallback = examined.fallback.unwrap();
        let steps = fallback.plan.steps.len();
        assert_eq!((fallback.revision, steps), (good.clone(), 1));
    }
}

#[tokio::test]
async fn the_newest_is_retained_without_a_look() {
    let top = tempfile::tempdir().unwrap();
    let source = source(top.path());
    let retained = || {
        source
            .revisions
            .origin
            .directory()
            .unwrap()
            .retained(RetainedRef::Begun)
    };
    for revision in ["a", "b", "c"] {
        source.revisions.retain(RetainedRef::Begun, revision);
    }
    while retained().as_deref() != Some("c") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_is_away_or_empty_changes_nothing() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let top = tempfile::tempdir().unwrap();
    let source = source(top.path());
    let applied = case.applied();
    for expected in ["no such directory", "no YAML or JSON files"] {
        let answer = source.fetch();
        let answer = answer.map_err(|error| AdapterError::new(error.class(), error.to_string()));
        assert!(answer.is_err());
        case.fetched(answer);
        let shown = case.daemon.view.borrow().source_error.clone().unwrap();
        let shown = shown.to_string();
        assert!(shown.contains(expected), "{shown}");
        assert!(shown.contains("stays applied"), "{shown}");
        assert_eq!(case.applied(), applied);
        fs::create_dir_all(top.path().join("current")).unwrap();
    }
}

/// No repository, so nothing to verify: what asks for it is not applied.
#[tokio::test]
async fn signatures_of_a_directory_are_never_accepted() {
    let (case, top) = (Case::new(), tempfile::tempdir().unwrap());
    publish(top.path(), "a", ONE);
    let mut config = SyncConfig::directory(&top.path().join("current"), &Environment::default());
    config.mirror = top.path().join("cache");
    config.verify = Some(crate::settings::Verification {
        mode: crate::api::fleet::VerifyMode::Head,
        keys: Vec::new(),
    });
    let origin = Origin::open(&config, &git::Access::default()).unwrap();
    let examined = first(
        &case,
        &Arc::new(Source::new(origin, config.into(), &no_forge(), false)),
    )
    .await;
    let message = examined.outcome.err().unwrap().fault.message;
    assert!(message.contains("follow the repository"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_to_approve_in_a_commit_that_cannot_be_read() {
    let case = Case::applying(config_maps(&["a"])).await;
    assert!(!case.daemon.source.revisions.is_without_commits());
    let top = tempfile::tempdir().unwrap();
    publish(top.path(), "a", ONE);
    assert!(source(top.path()).revisions.is_without_commits());
}
