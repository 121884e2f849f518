//! The rights that applying lacks, put together once in the log.
//!
//! In: reports of the runner, and what it applies. Out: the roles that grant what is missing, again only when they change. It does
//! not know who was refused what: the API server is asked about everything that the plan needs.

use std::time::Duration;

use tokio::sync::watch;

use crate::adapters::kubernetes::{Error, Rights, Target, missing_rights};
use crate::apply::{Assignment, Report};
use crate::plan::ApplySet;

/// The pause after the API server was asked about every right of a plan: that may take hundreds of requests, and refusals are
/// reported every few seconds.
const REST: Duration = Duration::from_secs(60);

/// The reports that say something about rights, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusals {
    denied: u64,
    settled: u64,
}

impl Refusals {
    /// Takes in a report. Returns true if it says something about rights.
    pub(super) fn note(&mut self, report: &Report) -> bool {
        match report {
            Report::Denied => self.denied += 1,
            Report::Settled => self.settled += 1,
            _ => return false,
        }
        true
    }
}

/// Logs what is missing, until nobody reports any more.
pub(super) async fn follow(
    target: Target,
    set: ApplySet,
    assigned: watch::Receiver<Option<Assignment>>,
    refusals: watch::Receiver<Refusals>,
) {
    let (target, set) = (&target, &set);
    let ask = || ask(target, set, assigned.borrow().clone());
    tell(refusals, ask, log).await;
}

/// Asks the API server about everything that an assignment needs.
async fn ask(
    target: &Target,
    set: &ApplySet,
    assigned: Option<Assignment>,
) -> Option<Result<Rights, Error>> {
    let assigned = assigned?;
    let needs = (&*assigned.plan, &*assigned.embedded);
    Some(missing_rights(target, set, needs, assigned.prune).await)
}

/// Asks what is missing whenever something was refused, at most once in [`REST`], and tells it if it is not what was told before.
/// Once everything was applied, the next refusal is told in any case.
async fn tell<F>(
    mut refusals: watch::Receiver<Refusals>,
    ask: impl Fn() -> F,
    tell: impl Fn(&Rights),
) where
    F: Future<Output = Option<Result<Rights, Error>>>,
{
    let (mut told, mut seen) = (None, Refusals::default());
    while refusals.changed().await.is_ok() {
        let now = *refusals.borrow_and_update();
        let before = std::mem::replace(&mut seen, now);
        if now.settled != before.settled {
            told = None;
        }
        if now.denied == before.denied {
            continue;
        }
        match ask().await {
            Some(Ok(rights)) if told.as_ref() != Some(&rights) => {
                tell(&rights);
                told = Some(rights);
            }
            Some(Err(error)) => {
                tracing::debug!(%error, "the API server does not say which permissions are missing");
            }
            Some(Ok(_)) | None => {}
        }
        tokio::time::sleep(REST).await;
    }
}

/// One entry: all that is missing, and a list of roles that can be applied as it is. JSON is YAML, and fits on one line.
fn log(rights: &Rights) {
    if rights.missing.is_empty() {
        return;
    }
    let missing = rights.missing.join("; ");
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": rights.grant});
    tracing::error!(
        "permissions are missing: {missing}. An administrator can grant what this fleet needs with `kubectl apply --filename -` and this: {list}"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;

    fn lacking(verb: &str) -> Rights {
        Rights {
            missing: vec![verb.to_owned()],
            ..Rights::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_missing_is_asked_once_a_minute_and_told_when_it_changes() {
        let (sender, refusals) = watch::channel(Refusals::default());
        let (asked, told) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let start = Instant::now();
        let ask = || {
            let mut asked = asked.lock().expect("no panic");
            asked.push(start.elapsed().as_secs());
            let verb = if asked.len() < 3 { "get" } else { "list" };
            std::future::ready(Some(Ok(lacking(verb))))
        };
        let note = |rights: &Rights| {
            let seconds = start.elapsed().as_secs();
            let mut told = told.lock().expect("no panic");
            told.push((seconds, rights.missing[0].clone()));
        };
        let report = async {
            for second in 0..200 {
                let report = if second == 190 {
                    Report::Settled
                } else {
                    Report::Denied
                };
                sender.send_if_modified(|refusals| refusals.note(&report));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            drop(sender);
        };
        tokio::join!(tell(refusals, ask, note), report);
        let asked = asked.into_inner().expect("no panic");
        assert_eq!(asked[..4], [0, 60, 120, 180]);
        let told = told.into_inner().expect("no panic");
        let list = "list".to_owned();
        assert_eq!(told[..2], [(0, "get".to_owned()), (120, list.clone())]);
        assert_eq!(
            told[2..],
            [(240, list)],
            "everything was applied in between"
        );
    }

    #[test]
    fn other_reports_say_nothing_about_rights() {
        let mut refusals = Refusals::default();
        assert!(!refusals.note(&Report::Begun) && refusals == Refusals::default());
    }
}
