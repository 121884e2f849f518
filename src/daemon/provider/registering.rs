//! The registration at a DCM: what the registrar decides, carried out.
//!
//! In: capabilities as they change, and who may write. Out: requests to the registry. It does not know when one is due.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::pace::{Turn, at};
use crate::adapters::kubernetes::Holder;
use crate::adapters::service_provider::registry::Registry;
use crate::daemon::wall_time;
use crate::provider::capabilities::Capabilities;
use crate::provider::registration::{Answer, Command, Event, Level, Registrar};

/// Registers the provider.
pub(super) struct Registering {
    pub(super) registrar: Registrar,
    pub(super) registry: Arc<Registry>,
    /// The address of the registry.
    pub(super) url: String,
    pub(super) capabilities: watch::Receiver<Option<Capabilities>>,
    pub(super) turn: Turn,
}

impl Registering {
    /// Registers until the handle is dropped. The port is open.
    pub(super) fn run(mut self) -> AbortOnDropHandle<()> {
        let run = async move {
            let begun = Instant::now();
            let (answers, mut answered) = mpsc::unbounded_channel();
            let mut wake = None;
            let mut capabilities = self.capabilities.clone();
            let mut holder = self.turn.0.clone();
            let mut event = Event::ServingBegan;
            if holder.is_none() {
                let commands = self.registrar.on(Event::LeadershipGained, begun.elapsed());
                self.carry_out(commands, begun, &mut wake, &answers);
            } else if let Some(holder) = &mut holder {
                holder.mark_changed();
            }
            loop {
                let commands = self.registrar.on(event, begun.elapsed());
                self.carry_out(commands, begun, &mut wake, &answers);
                event = tokio::select! {
                    biased;
                    Some(event) = answered.recv() => event,
                    Ok(()) = capabilities.changed() => match capabilities.borrow_and_update().clone() {
                        Some(known) => Event::Discovered(known),
                        None => Event::Woken,
                    },
                    is_ours = leadership(&mut holder) => if is_ours { Event::LeadershipGained } else { Event::LeadershipLost },
                    () = at(wake) => {
                        wake = None;
                        Event::Woken
                    }
                };
            }
        };
        AbortOnDropHandle::new(tokio::spawn(run.in_current_span()))
    }

    fn carry_out(
        &self,
        commands: Vec<Command>,
        begun: Instant,
        wake: &mut Option<Instant>,
        answers: &mpsc::UnboundedSender<Event>,
    ) {
        for command in commands {
            match command {
                Command::WakeAt(time) => *wake = Some(begun + time),
                Command::Report { level, text } => report(level, &text),
                Command::Discover => {
                    // What is known is looked at every few seconds.
                    let known = self.capabilities.borrow().clone();
                    let missing = || Event::DiscoveryFailed("the hub was not asked yet".to_owned());
                    let _ = answers.send(known.map_or_else(missing, Event::Discovered));
                }
                Command::Post { attempt, payload } => {
                    let (registry, url, answers) = (
                        Arc::clone(&self.registry),
                        self.url.clone(),
                        answers.clone(),
                    );
                    let post = async move {
                        let event = match registry
                            .post(&url, payload.to_string().as_bytes(), wall_time())
                            .await
                        {
                            Ok(reply) => Event::Answered {
                                attempt,
                                answer: Answer {
                                    status: reply.status,
                                    retry_after: reply.retry_after,
                                    body: reply.body,
                                },
                            },
                            Err(error) => Event::Unanswered {
                                attempt,
                                text: error.to_string(),
                            },
                        };
                        let _ = answers.send(event);
                    };
                    tokio::spawn(post.in_current_span());
                }
            }
        }
    }
}

fn report(level: Level, text: &str) {
    match level {
        Level::Info => tracing::info!("{text}"),
        Level::Warning => tracing::warn!("{text}"),
        Level::Error => tracing::error!("{text}"),
    }
}

/// Waits for a change of who may write, and returns true if it is this process.
async fn leadership(holder: &mut Option<watch::Receiver<Holder>>) -> bool {
    if let Some(holder) = holder
        && holder.changed().await.is_ok()
    {
        return *holder.borrow_and_update() == Holder::Us;
    }
    std::future::pending().await
}
