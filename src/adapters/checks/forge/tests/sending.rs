//! The client: spacing, limits, tokens, redirects.

use std::time::Duration;

use serde_json::json as value;

use super::*;
use crate::adapters::checks::forge::{Call, Fault};
use crate::model::RateRemaining;

/// Answers 200, or what is left of a list.
struct Scripted(VecDeque<Response<Vec<u8>>>);

impl Server for Scripted {
    fn answer(&mut self, _: &Seen) -> Response<Vec<u8>> {
        self.0.pop_front().unwrap_or_else(|| json(200, &value!({})))
    }
}

fn script(answers: Vec<Response<Vec<u8>>>) -> Arc<Fake<Scripted>> {
    Fake::new(Scripted(answers.into()))
}

fn dialect() -> Dialect {
    Dialect {
        headers: vec![("accept", "application/json")],
        spacing: Duration::from_secs(1),
        verdict: |_, _| None,
    }
}

fn url() -> reqwest::Url {
    reqwest::Url::parse("https://git.example/api/x").unwrap()
}

fn post() -> Call {
    Call::send(http::Method::POST, url(), value!({"a": 1}))
}

fn of(fake: &Arc<Fake<Scripted>>, tokens: &[&'static str]) -> Client {
    let (tokens, clock) = (Tokens::of(tokens), Ticking::start());
    Client::new(fake.clone(), tokens, Scheme::Bearer, dialect(), clock)
}

#[tokio::test(start_paused = true)]
async fn changes_keep_their_distance_and_questions_need_none() {
    let fake = script(vec![]);
    let client = of(&fake, &["s3cret"]);
    for call in [post(), Call::get(url()), post(), post()] {
        client.call(&call).await.unwrap();
    }
    let seen = fake.requests();
    let at = |n: usize| (seen[n].at - seen[0].at).as_millis();
    assert_eq!([at(1), at(2), at(3)], [0, 1000, 2000]);
    assert_eq!(seen[0].header("authorization"), "Bearer s3cret");
    assert_eq!(seen[0].header("content-type"), "application/json");
    assert_eq!(seen[0].header("accept"), "application/json");
    assert_eq!(seen[0].body, value!({"a": 1}));
}

/// Oracle rows 31 and 34.
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_the_forge_limits_requests() {
    let retry = [("retry-after", "12")];
    let fake = script(vec![with(200, &retry, "{}"), with(403, &retry, "{}")]);
    let client = of(&fake, &["s3cret"]);
    client.call(&post()).await.unwrap();
    let fault = client.call(&post()).await.unwrap_err();
    assert_eq!(fault, Fault::Limited(Duration::from_secs(12)));
    assert_eq!(fake.lines().len(), 1, "nothing is sent meanwhile");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let fault = client.call(&post()).await.unwrap_err();
    assert_eq!(fault, Fault::Limited(Duration::from_secs(12)));
    assert_eq!(fake.lines().len(), 1, "9 seconds are waited for");
    tokio::time::sleep(Duration::from_secs(12)).await;
    client.call(&post()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_limit_leaves_is_known_from_the_last_answer_that_says_so() {
    let left = |header, value| with(200, &[(header, value)], "{}");
    let fake = script(vec![
        json(200, &value!({})),
        left("X-RateLimit-Remaining", "4999"),
        left("RateLimit-Remaining", "1999"),
        left("x-ratelimit-remaining", "many"),
        json(200, &value!({})),
    ]);
    let remaining = RateRemaining::default();
    let client = of(&fake, &["s3cret"]).counting(remaining.clone());
    let mut known = Vec::new();
    for _ in 0..5 {
        client.call(&Call::get(url())).await.unwrap();
        known.push(remaining.get());
    }
    let last = Some(1999);
    assert_eq!(known, [None, Some(4999), last, last, last]);
}

/// Oracle row 31.
#[tokio::test(start_paused = true)]
async fn a_forge_that_names_no_time_is_left_alone_for_longer_each_time() {
    let fake = script((0..9).map(|_| with(429, &[], "{}")).collect());
    let client = of(&fake, &["s3cret"]);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let Fault::Limited(wait) = client.call(&post()).await.unwrap_err() else {
            panic!("limited");
        };
        waits.push(wait.as_secs());
        tokio::time::sleep(wait).await;
    }
    assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    let reset = (Ticking::EPOCH + 86_400).to_string();
    let used_up = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", &*reset),
    ];
    let fake = script(vec![with(403, &used_up, "{}")]);
    let client = of(&fake, &["s3cret"]);
    let fault = client.call(&post()).await.unwrap_err();
    assert_eq!(fault, Fault::Limited(Duration::from_secs(86_400)));
}

/// Oracle row 31, and rule 7 of forges.md §0.
#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_asked_about_every_10_minutes_or_with_a_new_token() {
    let scope = [("x-accepted-github-permissions", "checks=write")];
    let denied = || {
        with(
            403,
            &scope,
            r#"{"message":"Resource not accessible by integration"}"#,
        )
    };
    let fake = script(vec![denied(), denied()]);
    let tokens = Tokens::of(&["old", "new"]);
    let client = Client::new(
        fake.clone(),
        tokens.clone(),
        Scheme::Bearer,
        dialect(),
        Ticking::start(),
    );
    let first = client.call(&post()).await.unwrap_err();
    assert!(first.to_string().contains("checks=write"), "{first}");
    tokio::time::sleep(Duration::from_secs(599)).await;
    assert_eq!(client.call(&post()).await.unwrap_err(), first);
    assert_eq!(fake.lines().len(), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.call(&post()).await.unwrap_err();
    assert_eq!(fake.lines().len(), 1);
    tokens.refused(&Token::new("old", None));
    client.call(&post()).await.unwrap();
}

/// Oracle row 30, second part.
#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_once() {
    let refused = || json(401, &value!({"message": "Bad credentials"}));
    let fake = script(vec![refused()]);
    of(&fake, &["old", "new"]).call(&post()).await.unwrap();
    let sent = fake.requests();
    let tokens = sent.iter().map(|seen| seen.header("authorization"));
    assert_eq!(tokens.collect::<Vec<_>>(), ["Bearer old", "Bearer new"]);
    for tokens in [&["only"][..], &["old", "new", "newer"]] {
        let fake = script(vec![refused(), refused(), refused()]);
        let client = of(&fake, tokens);
        let fault = client.call(&post()).await.unwrap_err();
        let expected = "the token is not accepted (it answered 401: Bad credentials); it may be expired or revoked: replace it";
        assert_eq!(fault, Fault::Denied(expected.to_owned()));
        assert_eq!(fake.lines().len(), tokens.len().min(2));
        client.call(&post()).await.unwrap_err();
        assert_eq!(fake.lines().len(), 0, "it stops");
    }
}

/// Oracle rows 39 and 40.
#[tokio::test(start_paused = true)]
async fn a_redirect_gets_the_same_request_and_another_server_gets_nothing() {
    let fake = script(vec![]);
    let moved = with(301, &[("location", "/api/y")], "");
    fake.next([Some(Mishap::Instead(moved))]);
    of(&fake, &["s3cret"]).call(&post()).await.unwrap();
    let seen = fake.requests();
    assert_eq!(seen[1].line, "POST /api/y");
    assert_eq!(seen[1].body, seen[0].body);
    assert_eq!(seen[1].header("authorization"), "Bearer s3cret");
    let other = [("location", "https://evil.example/api/x")];
    let fake = script(vec![with(307, &other, "")]);
    let fault = of(&fake, &["s3cret"]).call(&post()).await.unwrap_err();
    assert!(
        fault.to_string().contains("https://evil.example"),
        "{fault}"
    );
    let hosts = fake.requests();
    assert!(hosts.iter().all(|seen| seen.host == "git.example") && hosts.len() == 1);
    let around = || with(308, &[("location", "/api/x")], "");
    let fake = script((0..9).map(|_| around()).collect());
    let fault = of(&fake, &["s3cret"]).call(&post()).await.unwrap_err();
    assert_eq!(fault, Fault::Refused("it redirects too often".to_owned()));
    assert_eq!(fake.lines().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_unclear_for_a_change_alone() {
    let fake = script(vec![]);
    let client = of(&fake, &["s3cret"]);
    fake.next([Some(Mishap::Lost), Some(Mishap::Lost), Some(Mishap::Unsent)]);
    let fault = client.call(&post()).await.unwrap_err();
    assert!(matches!(fault, Fault::Unclear(_)));
    let fault = client.call(&Call::get(url())).await.unwrap_err();
    assert!(matches!(fault, Fault::Busy(_)));
    let fault = client.call(&post()).await.unwrap_err();
    assert!(matches!(fault, Fault::Busy(_)));
}

#[test]
fn every_scheme_has_its_header() {
    // Vector V13 of forges.md §8.
    let fake = script(vec![]);
    let basic = Scheme::Basic(String::new());
    let client = Client::new(
        fake.clone(),
        Tokens::of(&["pat123"]),
        basic,
        dialect(),
        Arc::new(Ticking(Instant::now())),
    );
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    runtime.block_on(client.call(&Call::get(url()))).unwrap();
    let seen = fake.requests();
    assert_eq!(seen[0].header("authorization"), "Basic OnBhdDEyMw==");
}
