//! The tokens of an app.

use std::sync::Mutex;

use super::*;
use crate::adapters::checks::forge::tests::json;
use crate::model::{Clock, ErrorClass, TokenSource as _};
use serde_json::json as value;

/// A clock of which the wall time can be set.
struct Set {
    ticking: Arc<Ticking>,
    ahead: Mutex<Duration>,
}

impl Clock for Set {
    fn now(&self) -> jiff::Timestamp {
        self.ticking.now() + *self.ahead.lock().unwrap()
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

fn app(fake: &Arc<Fake<GitHub>>) -> (App, Arc<Set>) {
    let clock = Arc::new(Set {
        ticking: Ticking::start(),
        ahead: Mutex::default(),
    });
    let id = APP.to_string();
    let app = App::new(&id, KEY, repository(), fake.clone(), clock.clone());
    (app.unwrap(), clock)
}

/// Oracle row 30 of forges.md §9.
#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_before_it_ends_by_either_clock_and_when_it_is_refused() {
    let fake = github();
    let (app, clock) = app(&fake);
    let token = async || app.token().await.unwrap().secret().to_owned();
    assert_eq!(token().await, "ghs_1");
    assert_eq!(
        fake.lines(),
        [
            "GET /repos/o/r/installation",
            "POST /app/installations/7/access_tokens"
        ]
    );
    tokio::time::sleep(Duration::from_secs(47 * 60)).await;
    assert_eq!(token().await, "ghs_1");
    assert_eq!(fake.lines(), [""; 0]);
    // 10 minutes are left.
    tokio::time::sleep(Duration::from_secs(3 * 60)).await;
    assert_eq!(token().await, "ghs_2");
    app.refused(&crate::model::Token::new("another", None));
    assert_eq!(token().await, "ghs_2");
    let refused = app.token().await.unwrap();
    app.refused(&refused);
    assert_eq!(token().await, "ghs_3");
    // The monotonic clock goes on while the wall clock is set back.
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    assert_eq!(token().await, "ghs_4");
    // The wall clock goes on while the monotonic one stood still: until the next request, which the fake
    // would refuse because its own clock did not, only the renewal is seen.
    fake.lines();
    *clock.ahead.lock().unwrap() = Duration::from_secs(7_200);
    fake.next([
        Some(Mishap::Instead(json(200, &value!({"id": 7})))),
        Some(Mishap::Instead(json(
            201,
            &value!({"token": "ghs_5", "expires_at": "2026-01-02T00:00:00Z"}),
        ))),
    ]);
    assert_eq!(token().await, "ghs_5");
}

#[tokio::test(start_paused = true)]
async fn an_app_that_is_not_installed_is_reported() {
    let fake = github();
    let (app, _) = app(&fake);
    let absent = json(404, &value!({"message": "Not Found"}));
    fake.next([Some(Mishap::Instead(absent))]);
    let error = app.token().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    assert_eq!(
        error.to_string(),
        "GitHub App 12345: it is not installed in github.com/o/r; install it there"
    );
    assert_eq!(app.token().await.unwrap().secret(), "ghs_1");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_an_installation_need_not_be_looked_up_and_is_reported_if_it_is_wrong() {
    let fake = github();
    let app = app(&fake).0.installed_as(Some(7));
    let absent = json(404, &value!({"message": "Not Found"}));
    fake.next([Some(Mishap::Instead(absent))]);
    let error = app.token().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GitHub App 12345: it has no installation 7; correct or remove githubAppInstallationID"
    );
    assert_eq!(app.token().await.unwrap().secret(), "ghs_1");
    assert_eq!(fake.lines(), ["POST /app/installations/7/access_tokens"; 2]);
}

/// The whole way: a check run with the token of an app.
#[tokio::test(start_paused = true)]
async fn a_check_run_is_written_with_the_token_of_an_app() {
    let fake = github();
    let (app, clock) = app(&fake);
    let runs = CheckRuns::new(repository(), app.id());
    let client = crate::adapters::checks::forge::Client::new(
        fake.clone(),
        Arc::new(app),
        Scheme::Bearer,
        dialect(),
        clock,
    );
    let sink = ForgeSink::new(runs, client, None);
    publish(&sink, &[check(PLAN, CheckState::Success, "ready")]).await;
    let last = fake.requests().pop().unwrap();
    assert_eq!(last.line, "POST /repos/o/r/check-runs");
    assert_eq!(last.header("authorization"), "Bearer ghs_1");
}
