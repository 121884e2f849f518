//! Health, readiness and metrics of controllers that run without a daemon.
//!
//! In: a port, and the controllers. Out: answers what they do. It does not know why they do it.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::probed_port::ProbedPort;
use crate::adapters::http::Probed;
use crate::adapters::kubernetes::controller::Counts;
use crate::adapters::kubernetes::{Sharers, Standing};

/// Answers about these controllers at a port until the handle is dropped.
pub fn serve_controllers(port: ProbedPort, controllers: &Sharers) -> AbortOnDropHandle<()> {
    port.serve(State {
        standing: controllers.standing(),
        counts: controllers.counts(),
    })
}

/// What the controllers do, and what they did.
struct State {
    standing: watch::Receiver<Standing>,
    counts: Arc<Counts>,
}

impl Probed for State {
    /// Whoever waits for its turn is ready to take it.
    fn readiness(&self) -> Result<(), String> {
        let standing = self.standing.borrow();
        match standing.is_ready() {
            true => Ok(()),
            false => Err(standing.to_string()),
        }
    }

    fn metrics(&self) -> String {
        text(&self.standing.borrow(), &self.counts)
    }
}

fn text(standing: &Standing, counts: &Counts) -> String {
    let mut text = String::new();
    let [taken, failed] = counts.writes();
    let decisions = counts.decisions();
    let _ = write!(
        text,
        "# HELP capstan_controllers_acting Whether the ARO controllers of this process act.
# TYPE capstan_controllers_acting gauge
capstan_controllers_acting {}
# HELP capstan_controllers_info What the ARO controllers of this process do.
# TYPE capstan_controllers_info gauge
capstan_controllers_info{{standing=\"{}\"}} 1
# HELP capstan_controllers_reconciles_total Decisions about objects.
# TYPE capstan_controllers_reconciles_total counter
capstan_controllers_reconciles_total {decisions}
# HELP capstan_controllers_writes_total Writes to the cluster by result.
# TYPE capstan_controllers_writes_total counter
capstan_controllers_writes_total{{result=\"ok\"}} {taken}
capstan_controllers_writes_total{{result=\"error\"}} {failed}
",
        u8::from(standing.acts()),
        standing.word(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::kubernetes::LeaseHolder;

    #[test]
    fn whoever_waits_for_its_turn_is_ready_and_does_not_act() {
        let holder = LeaseHolder {
            name: "other".to_owned(),
            namespace: None,
        };
        let cases = [
            (Standing::Acting, true, 1),
            (Standing::Unguarded("x".to_owned()), true, 1),
            (Standing::Waiting(holder), true, 0),
            (Standing::SteppedBack("CAPZ acts".to_owned()), true, 0),
            (Standing::Unserved("install".to_owned()), false, 0),
            (Standing::Blocked("no right".to_owned()), false, 0),
        ];
        for (standing, is_ready, acting) in cases {
            let (_sender, receiver) = watch::channel(standing.clone());
            let state = State {
                standing: receiver,
                counts: Arc::default(),
            };
            assert_eq!(state.readiness().is_ok(), is_ready, "{standing:?}");
            let metrics = state.metrics();
            let line = format!("\ncapstan_controllers_acting {acting}\n");
            assert!(metrics.contains(&line), "{metrics}");
        }
    }
}
