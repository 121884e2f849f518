//! What applies revisions: it is started when the first is assigned, and again should it end.
//!
//! In: assignments, and what people approved of them. Out: its reports and questions, as events. It does not know what an
//! assignment is for.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::missing_rights::{self, Refusals};
use crate::adapters::kubernetes::{self, Input, Options, Target};
use crate::apply::Assignment;
use crate::follow::{ClusterEvent, Event};

/// What applies one revision after the other; it ends when this is dropped.
pub(in crate::daemon) struct Runner {
    inputs: UnboundedSender<Input>,
    /// The newest assignment.
    assigned: watch::Sender<Option<Assignment>>,
    _task: AbortOnDropHandle<()>,
}

impl Runner {
    /// Starts one that drives `target`.
    pub(in crate::daemon) fn start(
        target: Target,
        options: Options,
        events: UnboundedSender<Event>,
    ) -> Self {
        let (inputs, input) = unbounded_channel();
        let (reports, mut reported) = unbounded_channel();
        let (questions, mut asked) = unbounded_channel();
        let (assigned, newest) = watch::channel(None);
        let (refusals, refused) = watch::channel(Refusals::default());
        let set = options.set.clone();
        let rights = missing_rights::follow(target.clone(), set, newest, refused);
        let run = kubernetes::run(target, options, input, reports, questions);
        let task = async move {
            let forward = async {
                loop {
                    let event = tokio::select! {
                        biased;
                        Some((number, report)) = reported.recv() => {
                            refusals.send_if_modified(|refusals| refusals.note(&report));
                            ClusterEvent::Reported(number, report)
                        }
                        Some(request) = asked.recv() => ClusterEvent::ApprovalsAsked(request),
                        else => break,
                    };
                    let _ = events.send(Event::Cluster(event));
                }
            };
            let all = futures::future::join3(run, forward, rights);
            let _ = AssertUnwindSafe(all).catch_unwind().await;
            let _ = events.send(Event::Cluster(ClusterEvent::RunnerEnded));
        };
        Self {
            inputs,
            assigned,
            _task: AbortOnDropHandle::new(tokio::spawn(task.in_current_span())),
        }
    }

    /// Hands it an input. One that has ended takes none.
    pub(in crate::daemon) fn send(&self, input: Input) {
        if let Input::Assign(assignment) = &input {
            self.assigned.send_replace(Some(assignment.clone()));
        }
        let _ = self.inputs.send(input);
    }
}
