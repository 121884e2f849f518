//! Two who want the same field otherwise.

use capstan::apply::State;
use serde_json::json;
use tokio::time::{Duration, Instant};

use super::fixture::{Fixture, Kept, map, on_simulator, revision, theirs};

/// Somebody writes the field.
async fn hit(fixture: &Fixture, round: usize) {
    let object = theirs("a", &json!({"k": format!("theirs-{round}")}));
    fixture.apply_as("rival", &object).await;
}

async fn is_ours(fixture: &Fixture) -> bool {
    let live = fixture.config_map("a").await.expect("it is there");
    live["data"]["k"] == "ours"
}

/// The writes of a while in which the rival writes every five seconds.
async fn while_hit(fixture: &Fixture, kept: &mut Kept, seconds: u64) -> Vec<(String, String)> {
    let _ = fixture.writes();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut round = 100;
    while Instant::now() < end {
        hit(fixture, round).await;
        round += 1;
        while kept.reports_within(Duration::from_millis(1)).await {}
        tokio::time::sleep_until(end.min(Instant::now() + Duration::from_secs(5))).await;
    }
    fixture.writes()
}

/// On virtual time the backoffs pass at once; a real server has no such clock.
#[test]
fn a_fight_is_reported_and_backs_off_longer_each_time() {
    on_simulator("a_fight", &async |fixture: &Fixture| {
        let mut kept = fixture.keep(&map("a", "ours"), &revision("1")).await;
        for round in 1..=5 {
            let _ = fixture.writes();
            hit(fixture, round).await;
            let progress = kept.until("a", State::Progressing).await;
            assert!(
                progress.message.contains("changed by rival"),
                "{progress:?}"
            );
            kept.until_so(async || is_ours(fixture).await).await;
            assert_eq!(fixture.writes().len(), 1, "round {round}");
        }
        hit(fixture, 6).await;
        for (count, backoff) in [(6, 60), (7, 120), (8, 240)] {
            let progress = kept.until("a", State::Failed).await;
            let expected = format!(
                "for the {count}th time in ten minutes: two fight over it. It is put right in {backoff} s"
            );
            assert!(progress.message.contains(&expected), "{progress:?}");
            assert!(
                progress.message.contains(".data.k was changed by rival")
                    && progress.message.contains("capstan.dev/ignore"),
                "{progress:?}"
            );
            assert!(!progress.terminal, "it is put right later");
            let writes = while_hit(fixture, &mut kept, backoff - 1).await;
            assert_eq!(writes, [], "while it backs off");
            kept.until_so(async || is_ours(fixture).await).await;
            assert_eq!(fixture.writes().len(), 1, "after the backoff");
            hit(fixture, 7).await;
        }
    });
}
