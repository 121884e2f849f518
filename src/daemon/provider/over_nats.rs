//! Messages over NATS.
//!
//! In: a connection. Out: deliveries, and whether it is up. It does not know what a message says.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::messages::{Deliver, Undelivered};
use crate::adapters::service_provider::nats::{Connection, Messenger};
use crate::model::ErrorClass;
use crate::provider::events::Arrival;

/// A connection to NATS.
pub(super) struct OverNats {
    messenger: Messenger,
    up: watch::Receiver<bool>,
    _following: AbortOnDropHandle<()>,
}

impl OverNats {
    pub(super) fn new(messenger: Messenger) -> Self {
        let mut connection = messenger.connection();
        let (sender, up) = watch::channel(false);
        let follow = async move {
            let mut reported = None;
            loop {
                let now = connection.borrow_and_update().clone();
                sender.send_replace(now == Connection::Up);
                if reported.as_ref() != Some(&now) {
                    match &now {
                        Connection::Up => tracing::info!("status messages: connected to NATS"),
                        Connection::Down { cause } => tracing::warn!(
                            cause,
                            "status messages: no connection to NATS; they follow once there is one"
                        ),
                    }
                }
                reported = Some(now);
                if connection.changed().await.is_err() {
                    return;
                }
            }
        };
        Self {
            messenger,
            up,
            _following: AbortOnDropHandle::new(tokio::spawn(follow.in_current_span())),
        }
    }
}

impl Deliver for OverNats {
    fn deliver<'a>(
        &'a self,
        subject: &'a str,
        id: &'a str,
        body: &'a [u8],
    ) -> BoxFuture<'a, Result<(), Undelivered>> {
        async move {
            let sent = self.messenger.publish(subject, id, body).await;
            sent.map(drop).map_err(|error| Undelivered {
                arrival: match error.class() {
                    ErrorClass::Transient | ErrorClass::Conflict => Arrival::Unknown,
                    _ => Arrival::Never,
                },
                why: error.to_string(),
            })
        }
        .boxed()
    }

    fn is_up(&self) -> watch::Receiver<bool> {
        self.up.clone()
    }
}
