//! Attempts to follow a Fleet, one after the other.
//!
//! In: an attempt to make. Out: its failures in the phase of the Fleet, and the next attempt after a rest. It does not know what an
//! attempt does.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::report::Phase;
use crate::adapters::kubernetes::FleetObject;
use crate::model::ErrorClass;

/// The wait before what a Fleet lacks, such as a Secret, is looked for again.
const RETRY: Duration = Duration::from_secs(15);
/// The rest of a Fleet whose daemon panicked.
const REST: Duration = Duration::from_secs(60);

/// Makes attempts to run the daemon, until it is told to stop.
pub(super) async fn attempts<A>(
    fleet: &FleetObject,
    phase: &watch::Sender<Phase>,
    stop: &CancellationToken,
    attempt: impl Fn() -> A,
) where
    A: Future<Output = Result<(), Failed>> + Send + 'static,
{
    while !stop.is_cancelled() {
        let rest = match AbortOnDropHandle::new(tokio::spawn(attempt())).await {
            Ok(Ok(())) => continue,
            Ok(Err(failed)) => {
                let Failed {
                    reason, message, ..
                } = failed;
                let idle = if failed.may_pass {
                    Phase::Waiting(reason, message)
                } else {
                    Phase::Stalled(reason, message)
                };
                rest_for(phase, fleet, &idle);
                RETRY
            }
            Err(panic) => {
                tracing::error!(fleet = fleet.id.name, namespace = fleet.id.namespace, error = %panic, "the daemon of a Fleet panicked");
                let message = "a bug in capstan ended the daemon of this Fleet, which starts again; please report what its log says";
                stall(phase, fleet, "Bug", message);
                REST
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// The reason that a daemon could not begin.
pub(super) struct Failed {
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// It may pass by itself.
    pub(super) may_pass: bool,
}

impl Failed {
    pub(super) fn new(class: ErrorClass, message: String) -> Self {
        let reason = match class {
            ErrorClass::Transient | ErrorClass::Conflict => "Unreachable",
            ErrorClass::Denied => "Denied",
            ErrorClass::Gone => "NotFound",
            ErrorClass::Invalid => "InvalidSpec",
            ErrorClass::Bug => "Bug",
        };
        let may_pass = matches!(class, ErrorClass::Transient | ErrorClass::Conflict);
        Self {
            reason,
            message,
            may_pass,
        }
    }
}

/// Says once that a person must act.
pub(super) fn stall(
    phase: &watch::Sender<Phase>,
    fleet: &FleetObject,
    reason: &'static str,
    message: &str,
) {
    rest_for(phase, fleet, &Phase::Stalled(reason, message.to_owned()));
}

/// Says once that nothing is done, and why.
pub(super) fn rest_for(phase: &watch::Sender<Phase>, fleet: &FleetObject, idle: &Phase) {
    let is_news = phase.send_if_modified(|phase| {
        let is_news = !phase.is(idle);
        *phase = idle.clone();
        is_news
    });
    if let (true, Phase::Stalled(reason, message) | Phase::Waiting(reason, message)) =
        (is_news, idle)
    {
        tracing::warn!(
            fleet = fleet.id.name,
            namespace = fleet.id.namespace,
            reason,
            "the Fleet is not followed: {message}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::model::ObjectId;

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_after_15_seconds_and_what_panics_after_a_minute() {
        let fleet = FleetObject {
            id: ObjectId::new("capstan.dev", "Fleet", "n", "f"),
            uid: "u".to_owned(),
            generation: Some(1),
            json: json!({}),
        };
        let (phase, phases) = watch::channel(Phase::Starting);
        let (stop, start) = (CancellationToken::new(), Instant::now());
        let begun = Arc::new(Mutex::new(Vec::new()));
        let attempt = || {
            let (begun, phases, stop) = (Arc::clone(&begun), phases.clone(), stop.clone());
            async move {
                let reason = match &*phases.borrow() {
                    Phase::Stalled(reason, _) => *reason,
                    _ => "",
                };
                let count = {
                    let mut begun = begun.lock().expect("no panic");
                    begun.push((start.elapsed().as_secs(), reason));
                    begun.len()
                };
                match count {
                    1 => {
                        let message = "Secret/n/git does not exist".to_owned();
                        Err(Failed::new(ErrorClass::Gone, message))
                    }
                    2 => unreachable!("on purpose"),
                    _ => {
                        stop.cancel();
                        Ok(())
                    }
                }
            }
        };
        attempts(&fleet, &phase, &stop, attempt).await;
        let begun = begun.lock().expect("no panic").clone();
        assert_eq!(begun, [(0, ""), (15, "NotFound"), (75, "Bug")]);
    }
}
