//! One Fleet object and the daemon that follows it.
//!
//! In: the object. Out: a daemon, as long as the object can be used, and the phase that it is in. What fails is tried again;
//! what panics is, too. It does not know the other fleets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::report::{Phase, Reported, report};
use crate::adapters::git;
use crate::adapters::kubernetes::{Error, FleetObject, Target, connect_by_secret};
use crate::daemon::{forge_ports, run_with, source_access};
use crate::follow::View;
use crate::model::ErrorClass;
use crate::settings::{Environment, SyncConfig};

/// The help for a Fleet object with a directory.
const NO_DIRECTORY: &str = "spec.source.directory is a directory of the process, which a Fleet object may not read: use spec.source.git";
/// The wait before what a Fleet lacks, such as a Secret, is looked for again.
const RETRY: Duration = Duration::from_secs(15);
/// The rest of a Fleet whose daemon panicked.
const REST: Duration = Duration::from_secs(60);

/// The settings that all fleets of a process share.
pub struct FleetsSettings {
    /// The environment of the process.
    pub environment: Environment,
    /// The program that plans heads of forks in a process of its own: Capstan.
    pub fork_planner: PathBuf,
    /// The places where a Fleet may have its source: whoever writes Fleets must not read the files of this process, such as the mirrors of
    /// others.
    pub reach: git::Reach,
}

/// A Fleet that is followed. Dropped, it is stopped at once.
pub(super) struct Followed {
    stop: CancellationToken,
    following: AbortOnDropHandle<()>,
}

impl Followed {
    /// Follows a Fleet until it is told to stop.
    pub(super) fn start(fleet: FleetObject, target: Target, settings: Arc<FleetsSettings>) -> Self {
        let (fleet, stop) = (Arc::new(fleet), CancellationToken::new());
        let following = follow(fleet, target, settings, stop.clone());
        Self {
            stop,
            following: AbortOnDropHandle::new(tokio::spawn(following)),
        }
    }

    /// Stops in order: what is under way is ended, and due checks are written.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        let _ = self.following.await;
    }
}

async fn follow(
    fleet: Arc<FleetObject>,
    target: Target,
    settings: Arc<FleetsSettings>,
    stop: CancellationToken,
) {
    let (view, viewed) = watch::channel(View::default());
    let (phase, phases) = watch::channel(Phase::Starting);
    let config = SyncConfig::object(&fleet.json, &settings.environment);
    let config = config.map_err(|error| error.to_string());
    let config = config.and_then(|config| match (&config.directory, settings.reach) {
        (Some(_), git::Reach::Servers) => Err(NO_DIRECTORY.to_owned()),
        _ => Ok(config),
    });
    let config = match config {
        Ok(config) => Some(SyncConfig {
            fork_planner: Some(settings.fork_planner.clone()),
            ..config
        }),
        Err(error) => {
            stall(&phase, &fleet, "InvalidSpec", &error);
            None
        }
    };
    let reported = Reported {
        client: target.client.clone(),
        fleet: Arc::clone(&fleet),
        config: config.clone(),
        view: viewed,
        phases,
    };
    let reporting = AbortOnDropHandle::new(tokio::spawn(report(reported)));
    if let Some(config) = config {
        let attempt = || {
            attempt(
                config.clone(),
                target.clone(),
                phase.clone(),
                view.clone(),
                settings.reach,
                stop.clone(),
            )
        };
        attempts(&fleet, &phase, &stop, attempt).await;
    } else {
        stop.cancelled().await;
    }
    drop(reporting);
}

/// Makes attempts to run the daemon, until it is told to stop.
async fn attempts<A>(
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
                tracing::error!(fleet = fleet.id.name, error = %panic, "the daemon of a Fleet panicked");
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
struct Failed {
    reason: &'static str,
    message: String,
    may_pass: bool,
}

impl Failed {
    fn new(class: ErrorClass, message: String) -> Self {
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

/// Runs the daemon until `stop`, or until it cannot.
async fn attempt(
    config: SyncConfig,
    target: Target,
    phase: watch::Sender<Phase>,
    view: watch::Sender<View>,
    reach: git::Reach,
    stop: CancellationToken,
) -> Result<(), Failed> {
    if config.directory.is_none() {
        let checked = git::check_address(&config.url);
        checked.map_err(|error| Failed::new(error.class(), error.to_string()))?;
    }
    let access = git::Access {
        reach,
        ..source_access(&config, &target.client)
    };
    let forge = forge_ports(&config, &target.client).await;
    let forge = forge.map_err(|error| Failed::new(error.class(), error.to_string()))?;
    let target = match &config.kubeconfig_secret {
        Some(secret) if !config.is_check_only() => {
            let waits = |error: &Error| {
                let message = error.to_string();
                phase.send_replace(Phase::Waiting("ClusterNotReady", message));
            };
            let namespace = &config.namespace;
            let connecting = connect_by_secret(&target.client, namespace, secret, waits);
            let client = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                client = connecting => client,
            };
            let client = client.map_err(|error| Failed {
                reason: "ClusterNotReady",
                message: error.to_string(),
                may_pass: false,
            })?;
            Target {
                client,
                clock: target.clock,
            }
        }
        _ => target,
    };
    phase.send_replace(Phase::Following(target.client.clone()));
    let ended = run_with(config, &access, None, forge, target, view, stop).await;
    ended.map_err(|error| Failed::new(error.class(), error.to_string()))
}

/// Says once that a person must act.
fn stall(phase: &watch::Sender<Phase>, fleet: &FleetObject, reason: &'static str, message: &str) {
    rest_for(phase, fleet, &Phase::Stalled(reason, message.to_owned()));
}

/// Says once that nothing is done, and why.
fn rest_for(phase: &watch::Sender<Phase>, fleet: &FleetObject, idle: &Phase) {
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
            reason,
            "the Fleet is not followed: {message}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

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
