//! Health, readiness and metrics of a process that follows Fleet objects.
//!
//! In: the holder of the Lease, and signs of life. Out: answers. A Fleet that cannot be followed says so in its status:
//! one tenant's repository makes no process unready. It does not know the Fleets.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::adapters::http::{FleetWebhooks, Probed};
use crate::adapters::kubernetes::Holder;

/// The time between two signs of life of what follows the Fleets. A look at the Lease takes no longer.
pub(super) const PERIOD: Duration = Duration::from_secs(20);
/// The time without a sign of life after which the process is not alive.
const MOST_SILENCE: Duration = Duration::from_secs(60);

/// The last sign of life of a loop.
#[derive(Clone)]
pub(super) struct Pulse(Arc<Mutex<Instant>>);

impl Pulse {
    pub(super) fn start() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn beat(&self) {
        *self.0.lock() = Instant::now();
    }
}

/// The state of the process.
pub(super) struct State {
    pub(super) holder: watch::Receiver<Holder>,
    /// The last look at the Lease.
    pub(super) looked: Arc<Mutex<Instant>>,
    pub(super) pulse: Pulse,
    pub(super) webhooks: Arc<FleetWebhooks>,
}

impl Probed for State {
    fn liveness(&self) -> Result<(), String> {
        for (part, last) in [("the Lease", &self.looked), ("Fleets", &self.pulse.0)] {
            let silence = last.lock().elapsed();
            if silence > MOST_SILENCE {
                return Err(format!(
                    "nothing looked after {part} for {} s",
                    silence.as_secs()
                ));
            }
        }
        Ok(())
    }

    /// Whoever waits for the Lease is ready to take it.
    fn readiness(&self) -> Result<(), String> {
        match &*self.holder.borrow() {
            unknown @ Holder::Unknown(_) => Err(unknown.to_string()),
            _ => Ok(()),
        }
    }

    fn metrics(&self) -> String {
        let mut text = self.webhooks.metrics();
        let is_leader = u8::from(*self.holder.borrow() == Holder::Us);
        let _ = write!(
            text,
            "# HELP capstan_leader Whether this process holds the Lease and applies.
# TYPE capstan_leader gauge
capstan_leader{{name=\"sync\"}} {is_leader}
"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_process_is_alive_while_both_loops_go_on_and_ready_while_the_lease_can_be_read() {
        let (said, holder) = watch::channel(Holder::Other("b".to_owned()));
        let state = State {
            holder,
            looked: Arc::new(Mutex::new(Instant::now())),
            pulse: Pulse::start(),
            webhooks: Arc::new(FleetWebhooks::new([].into())),
        };
        assert_eq!((state.liveness(), state.readiness()), (Ok(()), Ok(())));
        assert!(state.metrics().ends_with("{name=\"sync\"} 0\n"));
        said.send_replace(Holder::Us);
        assert!(state.metrics().ends_with("{name=\"sync\"} 1\n"));
        tokio::time::advance(Duration::from_secs(61)).await;
        let why = Err("nothing looked after the Lease for 61 s".to_owned());
        assert_eq!(state.liveness(), why);
        *state.looked.lock() = Instant::now();
        let why = Err("nothing looked after Fleets for 61 s".to_owned());
        assert_eq!(state.liveness(), why);
        state.pulse.beat();
        assert_eq!(state.liveness(), Ok(()));
        said.send_replace(Holder::Unknown("no right".to_owned()));
        assert!(state.readiness().is_err());
    }
}
