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
use crate::adapters::kubernetes::{Group, Sharers, Standing};

/// Answers about these controllers at a port until the handle is dropped.
pub fn serve_controllers(port: ProbedPort, controllers: &[Sharers]) -> AbortOnDropHandle<()> {
    let states = controllers.iter().map(|one| State {
        group: one.group(),
        standing: one.standing(),
        counts: one.counts(),
    });
    port.serve(States(states.collect()))
}

/// The groups of this process.
struct States(Vec<State>);

/// What the controllers of a group do, and what they did.
struct State {
    group: Group,
    standing: watch::Receiver<Standing>,
    counts: Arc<Counts>,
}

impl Probed for States {
    /// Whoever waits for its turn is ready to take it.
    fn readiness(&self) -> Result<(), String> {
        let waiting = self.0.iter().filter_map(|state| {
            let standing = state.standing.borrow();
            let is_ready = standing.is_ready();
            (!is_ready).then(|| format!("{} {}", state.group, *standing))
        });
        let waiting: Vec<String> = waiting.collect();
        if waiting.is_empty() {
            Ok(())
        } else {
            Err(waiting.join("; "))
        }
    }

    fn metrics(&self) -> String {
        let mut text = String::new();
        for (name, help, kind, of) in METRICS {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for state in &self.0 {
                for (labels, value) in of(state) {
                    let group = state.group.name();
                    let _ = writeln!(text, "{name}{{controllers=\"{group}\"{labels}}} {value}");
                }
            }
        }
        text
    }
}

/// The lines of a metric about a group: labels besides that of the group, and the value.
type Lines = Vec<(String, u64)>;

/// A metric: its name, help, type and lines.
type Metric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&State) -> Lines,
);

const METRICS: [Metric; 4] = [
    (
        "capstan_controllers_acting",
        "Whether the controllers of this process act.",
        "gauge",
        |state| vec![(String::new(), u64::from(state.standing.borrow().acts()))],
    ),
    (
        "capstan_controllers_info",
        "What the controllers of this process do.",
        "gauge",
        |state| {
            let standing = state.standing.borrow();
            vec![(format!(",standing=\"{}\"", standing.word()), 1)]
        },
    ),
    (
        "capstan_controllers_reconciles_total",
        "Decisions about objects.",
        "counter",
        |state| vec![(String::new(), state.counts.decisions())],
    ),
    (
        "capstan_controllers_writes_total",
        "Writes to the cluster by result.",
        "counter",
        |state| {
            let [taken, failed] = state.counts.writes();
            let line = |result: &str, count| (format!(",result=\"{result}\""), count);
            vec![line("ok", taken), line("error", failed)]
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::kubernetes::LeaseHolder;

    #[test]
    fn whoever_waits_for_its_turn_is_ready_and_does_not_act() {
        let holder = LeaseHolder {
            name: "other".to_owned(),
            namespace: None,
            group: Group::Aro,
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
            let state = States(vec![State {
                group: Group::Aro,
                standing: receiver,
                counts: Arc::default(),
            }]);
            assert_eq!(state.readiness().is_ok(), is_ready, "{standing:?}");
            let metrics = state.metrics();
            let line = format!("\ncapstan_controllers_acting{{controllers=\"aro\"}} {acting}\n");
            assert!(metrics.contains(&line), "{metrics}");
        }
    }
}
