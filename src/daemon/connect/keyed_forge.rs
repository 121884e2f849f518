//! A forge that is opened with the keys of a credential, and opened again when they change.
//!
//! In: where the keys are, and how ports are made of them. Out: the work of those ports. Keys that cannot be read, or that
//! do not fit, are an error of each request: the daemon starts without them, and writes once they are there. It does
//! not know which forge it is, or what the keys mean.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::keys::{KeyPlace, Keys};
use super::ports::ForgePorts;
use crate::model::{
    AdapterError, ApprovalButtons, ApprovalComments, Check, CheckSink, CommitSource, ErrorClass,
    Later, NewPullRequest, OwnPullRequest, OwnPullRequests, PullComment, PullRequests,
};

/// Makes ports of keys.
pub(super) type Make = Box<dyn Fn(&Keys) -> Result<ForgePorts, AdapterError> + Send + Sync>;

/// See the module.
pub(super) struct KeyedForge {
    place: KeyPlace,
    /// What keys that other ports are made of begin with.
    prefix: &'static str,
    make: Make,
    /// The last ports, and the keys that they were made of.
    made: Mutex<Option<(Keys, ForgePorts)>>,
}

impl KeyedForge {
    /// What `make` makes of the keys at `place`, again when one changes that begins with `prefix`.
    pub(super) fn new(place: KeyPlace, prefix: &'static str, make: Make) -> Self {
        Self {
            place,
            prefix,
            make,
            made: Mutex::default(),
        }
    }

    async fn ports(&self) -> Result<ForgePorts, AdapterError> {
        let keys = self.place.keys().await?;
        let own = keys.iter().filter(|(key, _)| key.starts_with(self.prefix));
        let own: Keys = own
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if let Some((of, ports)) = &*self.made.lock()
            && *of == own
        {
            return Ok(ports.clone());
        }
        let ports = (self.make)(&keys)?;
        *self.made.lock() = Some((own, ports.clone()));
        Ok(ports)
    }
}

impl KeyedForge {
    async fn conversations(&self) -> Result<Arc<dyn ApprovalComments>, AdapterError> {
        self.ports().await?.comments.ok_or_else(absent)
    }

    async fn opener(&self) -> Result<Arc<dyn OwnPullRequests>, AdapterError> {
        self.ports().await?.own_pull_requests.ok_or_else(absent)
    }
}

/// Says that the forge of these keys has no such port.
fn absent() -> AdapterError {
    let message = "the credential is not for that".to_owned();
    AdapterError::new(ErrorClass::Denied, message)
}

impl CheckSink for KeyedForge {
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        async move { self.ports().await?.checks.publish(checks, now).await }.boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        async move { self.ports().await?.checks.read(revisions, context).await }.boxed()
    }

    fn unfinished<'a>(
        &'a self,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        async move { self.ports().await?.checks.unfinished(context).await }.boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        async move { self.ports().await?.checks.probe().await }.boxed()
    }
}

impl ApprovalButtons for KeyedForge {
    fn app(&self) -> Option<u64> {
        self.made.lock().as_ref()?.1.buttons.as_ref()?.app()
    }

    fn may_approve<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<(), AdapterError>> {
        async move {
            let buttons = self.ports().await?.buttons.ok_or_else(absent)?;
            buttons.may_approve(login).await
        }
        .boxed()
    }
}

impl ApprovalComments for KeyedForge {
    fn comments(&self, pull_request: u64) -> BoxFuture<'_, Result<Vec<PullComment>, AdapterError>> {
        async move { self.conversations().await?.comments(pull_request).await }.boxed()
    }

    fn pull_requests<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u64>, AdapterError>> {
        async move { self.conversations().await?.pull_requests(commit).await }.boxed()
    }

    fn tells_rights(&self) -> BoxFuture<'_, Result<bool, AdapterError>> {
        async move { self.conversations().await?.tells_rights().await }.boxed()
    }

    fn authors(&self, pull_request: u64) -> BoxFuture<'_, Result<BTreeSet<String>, AdapterError>> {
        async move { self.conversations().await?.authors(pull_request).await }.boxed()
    }
}

impl PullRequests for KeyedForge {
    fn source_of<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<CommitSource, AdapterError>> {
        async move {
            let pull_requests = self.ports().await?.pull_requests.ok_or_else(absent)?;
            pull_requests.source_of(commit).await
        }
        .boxed()
    }
}

impl OwnPullRequests for KeyedForge {
    fn open<'a>(
        &'a self,
        new: &'a NewPullRequest,
    ) -> BoxFuture<'a, Result<OwnPullRequest, AdapterError>> {
        async move { self.opener().await?.open(new).await }.boxed()
    }

    fn find<'a>(
        &'a self,
        head: &'a str,
        base: &'a str,
    ) -> BoxFuture<'a, Result<Option<OwnPullRequest>, AdapterError>> {
        async move { self.opener().await?.find(head, base).await }.boxed()
    }

    fn get(&self, number: u64) -> BoxFuture<'_, Result<Option<OwnPullRequest>, AdapterError>> {
        async move { self.opener().await?.get(number).await }.boxed()
    }

    fn close(&self, number: u64) -> BoxFuture<'_, Result<OwnPullRequest, AdapterError>> {
        async move { self.opener().await?.close(number).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use http::Response;

    use super::*;
    use crate::adapters::checks::forge::tests::{Fake, Seen, Server, client, with};
    use crate::adapters::checks::forge::{ForgeSink, Gitea, Repository, Scheme};
    use crate::model::{ForgeKind, RateRemaining};

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
        let remaining = RateRemaining::default();
        let counted = remaining.clone();
        let make = move |_: &Keys| {
            let client =
                client(&server, Scheme::Bearer, Gitea::dialect()).counting(counted.clone());
            let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
            let sink = ForgeSink::new(Gitea::new(repository), client, None);
            Ok(ForgePorts::of(Arc::new(sink)))
        };
        let forge = KeyedForge::new(place, "app", Box::new(make));
        forge.probe().await.unwrap_err();
        forge.unfinished("capstan/prod/plan").await.unwrap_err();
        forge.read(&[], "capstan/prod/plan").await.unwrap_err();
        assert_eq!(remaining.get(), None);
        std::fs::create_dir(dir.path().join("keys")).unwrap();
        forge.probe().await.unwrap();
        assert_eq!(fake.lines(), ["GET /api/v1/repos/o/r"]);
        assert_eq!(remaining.get(), Some(42));
        let left = forge.unfinished("capstan/prod/plan").await;
        assert_eq!(left.unwrap(), []);
    }
}
