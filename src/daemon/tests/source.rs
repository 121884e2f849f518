//! How often the repository is looked at, and what the cluster is told of it.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::api::fleet::{GitReference, VerifyMode};
use crate::daemon::jobs::LastApplied;
use crate::follow::Polling;
use crate::settings::Verification;

#[tokio::test(start_paused = true)]
async fn a_repository_is_looked_at_after_the_interval_and_less_and_less_while_it_is_away() {
    for (interval, expected) in [(1, [1, 2, 4, 8, 16, 32, 60, 60, 1]), (90, [90; 9])] {
        let mut case = Case::new();
        *case.parts().polling = Polling::new(Duration::from_secs(interval));
        let commit = case.commit.clone();
        case.parts().heads.set_examined(&commit);
        for (at, seconds) in expected.into_iter().enumerate() {
            let here = at == 0 || at == 8;
            let remote = RemoteRefs {
                signed_anew: false,
                refs: Some(Refs::new()),
                head: case.commit.clone(),
            };
            let failed = || AdapterError::new(away().class(), away().to_string());
            case.fetched(here.then_some(remote).ok_or_else(failed));
            assert_eq!(case.jobs().await, [(seconds * 1000, "Poll")], "look {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_cannot_be_read_now_is_read_again_after_15_seconds() {
    let mut case = Case::new();
    let commit = case.commit.clone();
    case.examined(ExamineResult::failed(commit.clone(), away().into()));
    assert_eq!(case.jobs().await, [(15_000, "Again")]);
    let bug = Failure::Panic("it does so each time".to_owned());
    case.examined(ExamineResult::failed(commit, bug.into()));
    assert_eq!(case.jobs().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_was_refused_is_examined_again_once_its_tags_change() {
    let mut case = Case::with(Setting {
        config: Some(|config| {
            config.reference = Some(GitReference {
                branch: None,
                tag: None,
                semver: Some(">=1".to_owned()),
                commit: None,
            });
            config.verify = Some(Verification {
                mode: VerifyMode::Tag,
                keys: Vec::new(),
            });
        }),
        ..Setting::default()
    });
    let commit = case.commit.clone();
    let tags = PathBuf::from(&case.daemon.source.config.url).join("refs/tags");
    fs::create_dir_all(&tags).unwrap();
    let tag = |name: &str| fs::write(tags.join(name), &commit).unwrap();
    tag("v1.0.0");
    assert!(looks(&mut case).await, "it is refused: no tag is signed");
    assert!(!looks(&mut case).await, "nothing changed");
    tag("v1.1.0");
    assert!(looks(&mut case).await, "another tag leads to it");
    assert!(!looks(&mut case).await);
}

/// Fetches; examines the head if the daemon wants to, and returns whether it did.
async fn looks(case: &mut Case) -> bool {
    let remote = case.daemon.source.fetch().unwrap();
    let head = remote.head.clone();
    case.fetched(Ok(remote));
    let wanted = case.parts().heads.is_examining();
    if wanted {
        case.daemon.jobs.abort_all();
        let (source, sink) = (
            Arc::clone(&case.daemon.source),
            Arc::clone(&case.daemon.ports.checks),
        );
        let before = LastApplied::Partly(None);
        let examined = jobs::examine(source, &*sink, head, before, true).await;
        case.examined(examined);
    }
    wanted
}

#[tokio::test(start_paused = true)]
async fn a_request_to_sync_ends_the_wait_and_retries_what_failed() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let asks = |at: &str| Steering {
        sync_requested: Some(at.to_owned()),
        ..Steering::default()
    };
    case.steered(asks("1"));
    *case.parts().polling = Polling::new(Duration::from_secs(90));
    let remote = RemoteRefs {
        signed_anew: false,
        refs: Some(Refs::new()),
        head: case.commit.clone(),
    };
    case.fetched(Ok(remote));
    tokio::time::sleep(Duration::from_secs(3)).await;
    case.steered(asks("2"));
    assert_eq!(case.number(), 1, "nothing failed");
    assert!(!case.parts().polling.want(), "a look is under way");
    case.reported(1, Report::Stuck("no rights".to_owned()));
    case.steered(asks("3"));
    assert_eq!(case.number(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_cluster_is_not_told_the_token_in_the_address_of_the_source() {
    let mut case = Case::new();
    let origin = case.daemon.source.revisions.origin.clone();
    let config = SyncConfig {
        url: "https://t0ken@git.example/fleet".to_owned(),
        ..SyncConfig::clone(&case.daemon.source.config)
    };
    let settings = Source::new(origin, config.into(), &super::forge::no_forge(), false).settings;
    assert_eq!(settings.source, "https://git.example/fleet");
    case = Case::applying(config_maps(&["a"])).await;
    let rollout = case.parts().releases.current_mut().unwrap();
    assert_eq!(rollout.run(&settings).source, settings.source);
}
