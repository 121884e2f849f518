//! Commit statuses.

use serde_json::{Value, json as value};

use super::*;
use crate::adapters::checks::fake::with;

fn sink(fake: &Arc<Fake<GitHub>>, record: Option<&std::path::Path>) -> ForgeSink<Statuses> {
    let client = client(fake, Scheme::Bearer, dialect());
    ForgeSink::new(Statuses::new(repository()), client, record)
}

fn rows(fake: &Arc<Fake<GitHub>>) -> usize {
    let server = fake.server.lock().unwrap();
    server.statuses.values().map(Vec::len).sum()
}

/// Oracle rows 21 and 50 of forges.md §9.
#[tokio::test(start_paused = true)]
async fn every_outcome_has_a_state_and_every_text_fits() {
    for (state, detail) in every_outcome() {
        for title in [String::new(), "a".repeat(141), "é".repeat(141)] {
            let fake = github();
            let mut one = check(PLAN, state, &title);
            (one.detail, one.target_url) = (detail, Some(String::new()));
            publish(&sink(&fake, None), &[one]).await;
            assert_eq!(rows(&fake), 1);
        }
    }
}

/// Oracle rows 16 to 18: only the newest row counts, whatever case others write a context in.
#[tokio::test(start_paused = true)]
async fn what_a_lost_record_knew_is_asked_once() {
    let fake = github();
    let first = sink(&fake, None);
    for title in ["A", "B"] {
        publish(&first, &[check(PLAN, CheckState::Pending, title)]).await;
    }
    let other = check("Capstan/prod/sync", CheckState::Pending, "A");
    publish(&first, &[other]).await;
    fake.lines();
    let again = sink(&fake, None);
    publish(&again, &[check(PLAN, CheckState::Pending, "B")]).await;
    let get = format!("GET /repos/o/r/commits/{HEAD}/statuses?per_page=100&page=1");
    assert_eq!(fake.lines(), std::slice::from_ref(&get));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let third = sink(&fake, None);
    publish(&third, &[check(PLAN, CheckState::Pending, "A")]).await;
    assert_eq!(
        fake.lines(),
        [get, format!("POST /repos/o/r/statuses/{HEAD}")]
    );
    let read = third
        .read(&[HEAD.to_owned()], "capstan/prod/sync")
        .await
        .unwrap();
    assert_eq!(read[0].title, "A");
}

/// Oracle row 32, second part.
#[tokio::test(start_paused = true)]
async fn progress_ends_before_the_limit_and_the_limit_ends_it_all() {
    let fake = github();
    let sink = sink(&fake, None);
    for at in 0..950 {
        let progress = check(PLAN, CheckState::Pending, &at.to_string());
        publish(&sink, &[progress]).await;
    }
    assert_eq!(rows(&fake), 900);
    for at in 0..150 {
        let state = if at % 2 == 0 {
            CheckState::Success
        } else {
            CheckState::Failure
        };
        publish(&sink, &[check(PLAN, state, &at.to_string())]).await;
    }
    assert_eq!(rows(&fake), 1000);
    fake.lines();
    publish(&sink, &[check(PLAN, CheckState::Error, "last")]).await;
    assert_eq!(fake.lines(), [""; 0]);
    let mut other = check(PLAN, CheckState::Success, "other");
    other.revision = OTHER.to_owned();
    publish(&sink, &[other]).await;
    assert_eq!(rows(&fake), 1001);
}

/// Oracle row 51.
#[tokio::test(start_paused = true)]
async fn a_commit_that_is_gone_is_passed_over() {
    let fake = github();
    let mut gone = check(PLAN, CheckState::Success, "ready");
    gone.revision = "5".repeat(40);
    publish(&sink(&fake, None), &[gone]).await;
    assert_eq!(rows(&fake), 0);
}

/// The last row of forges.md §11, by the headers of §1d.
#[test]
fn a_classic_token_is_told_what_it_lacks() {
    let lacks = |scopes: Option<&str>, body: Value| {
        let headers: Vec<_> = scopes
            .map(|scopes| ("x-oauth-scopes", scopes))
            .into_iter()
            .collect();
        Statuses::new(repository()).lacks(&with(200, &headers, &body.to_string()).into())
    };
    let (public, private) = (value!({"private": false}), value!({"private": true}));
    for (scopes, body) in [
        // Of a token of an App, or one with permissions of its own, nothing is known.
        (None, private.clone()),
        (Some(""), private.clone()),
        (Some("gist, repo"), private.clone()),
        (Some("repo:status"), private.clone()),
        (Some("public_repo"), public),
    ] {
        assert_eq!(lacks(scopes, body), None, "{scopes:?}");
    }
    for scopes in ["gist", "read:org, public_repo"] {
        let told = lacks(Some(scopes), private.clone()).unwrap();
        assert!(told.contains("repo:status"), "{told}");
    }
    let reader = value!({"private": true, "permissions": {"push": false, "pull": true}});
    assert!(
        lacks(Some("repo"), reader)
            .unwrap()
            .contains("write access")
    );
}
