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
use crate::model::{AdapterError, Check, CheckSink, CommitSource, Later};

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
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        async move { self.sink().await?.publish(checks, now).await }.boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        async move { self.sink().await?.read(revisions, context).await }.boxed()
    }

    fn unfinished<'a>(
        &'a self,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        async move { self.sink().await?.unfinished(context).await }.boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        async move { self.sink().await?.probe().await }.boxed()
    }

    fn rate_remaining(&self) -> Option<u64> {
        self.last()?.rate_remaining()
    }

    fn app(&self) -> Option<u64> {
        self.last()?.app()
    }

    fn may_approve<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<(), AdapterError>> {
        async move { self.sink().await?.may_approve(login).await }.boxed()
    }

    fn source_of<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Option<CommitSource>, AdapterError>> {
        async move { self.sink().await?.source_of(commit).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::Response;

    use super::*;
    use crate::adapters::checks::forge::tests::{Fake, Seen, Server, client, with};
    use crate::adapters::checks::forge::{ForgeSink, Gitea, Provider, Repository, Scheme};

    /// A forge that still takes 42 requests.
    struct Limited;

    impl Server for Limited {
        fn answer(&mut self, _: &Seen) -> Response<Vec<u8>> {
            with(200, &[("x-ratelimit-remaining", "42")], "{}")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_of_the_forge_is_not_known_without_keys_and_asked_with_them() {
        let dir = tempfile::tempdir().unwrap();
        let place = KeyPlace::Directory(dir.path().join("keys"));
        let fake = Fake::new(Limited);
        let server = Arc::clone(&fake);
        let make = move |_: &Keys| {
            let client = client(&server, Scheme::Bearer, Gitea::dialect());
            let repository = Repository::of(Provider::Gitea, "https://git.example/o/r").unwrap();
            let sink = ForgeSink::new(Gitea::new(repository), client, None);
            Ok(Arc::new(sink) as Arc<dyn CheckSink>)
        };
        let sink = KeyedSink::new(place, "app", Box::new(make));
        sink.probe().await.unwrap_err();
        sink.unfinished("capstan/prod/plan").await.unwrap_err();
        sink.read(&[], "capstan/prod/plan").await.unwrap_err();
        assert_eq!(sink.rate_remaining(), None);
        std::fs::create_dir(dir.path().join("keys")).unwrap();
        sink.probe().await.unwrap();
        assert_eq!(fake.lines(), ["GET /api/v1/repos/o/r"]);
        assert_eq!(sink.rate_remaining(), Some(42));
        let left = sink.unfinished("capstan/prod/plan").await;
        assert_eq!(left.unwrap(), []);
    }
}
