//! A sink that is made of the keys of a credential: when they can be read, and again when they change.
//!
//! In: where the keys are, and how a sink is made of them. Out: that sink's work. Keys that cannot be read, or that
//! do not fit, are an error of each write: the daemon starts without them, and writes once they are there. It does
//! not know which forge it is, or what the keys mean.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;

use super::keys::{KeyPlace, Keys};
use crate::model::{AdapterError, Check, CheckSink};

/// Makes a sink of keys.
pub(super) type Make = Box<dyn Fn(&Keys) -> Result<Arc<dyn CheckSink>, AdapterError> + Send + Sync>;

/// See the module.
pub(super) struct KeyedSink {
    place: KeyPlace,
    /// What keys that another sink is made of begin with.
    prefix: &'static str,
    make: Make,
    /// The last sink, and the keys that it was made of.
    made: Mutex<Option<(Keys, Arc<dyn CheckSink>)>>,
}

impl KeyedSink {
    /// A sink that `make` makes of the keys at `place`, again when one changes that begins with `prefix`.
    pub(super) fn new(place: KeyPlace, prefix: &'static str, make: Make) -> Self {
        Self {
            place,
            prefix,
            make,
            made: Mutex::default(),
        }
    }

    async fn sink(&self) -> Result<Arc<dyn CheckSink>, AdapterError> {
        let keys = self.place.keys().await?;
        let own = keys.iter().filter(|(key, _)| key.starts_with(self.prefix));
        let own: Keys = own
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if let Some((of, sink)) = &*self.made()
            && *of == own
        {
            return Ok(Arc::clone(sink));
        }
        let sink = (self.make)(&keys)?;
        *self.made() = Some((own, Arc::clone(&sink)));
        Ok(sink)
    }

    fn made(&self) -> MutexGuard<'_, Option<(Keys, Arc<dyn CheckSink>)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> Option<Arc<dyn CheckSink>> {
        self.made().as_ref().map(|(_, sink)| Arc::clone(sink))
    }
}

impl CheckSink for KeyedSink {
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), AdapterError>> {
        async move { self.sink().await?.publish(checks, now).await }.boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let read = async move {
            match self.sink().await {
                Ok(sink) => sink.read(revisions, context).await,
                // The first write reports it.
                Err(error) => {
                    tracing::debug!(%error, "cannot look for checks of an earlier process");
                    Ok(Vec::new())
                }
            }
        };
        read.boxed()
    }

    fn unfinished<'a>(&'a self, context: &'a str) -> BoxFuture<'a, Vec<Check>> {
        let left = async move {
            match self.sink().await {
                Ok(sink) => sink.unfinished(context).await,
                Err(_) => Vec::new(),
            }
        };
        left.boxed()
    }

    fn shows_queued(&self) -> bool {
        true
    }

    fn renew(&self, revision: &str, context: &str) {
        if let Some(sink) = self.last() {
            sink.renew(revision, context);
        }
    }

    fn app(&self) -> Option<u64> {
        self.last()?.app()
    }

    fn may_approve<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<(), AdapterError>> {
        async move { self.sink().await?.may_approve(login).await }.boxed()
    }
}
