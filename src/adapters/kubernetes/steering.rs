//! What people ask of a fleet while its daemon runs: annotations on the parent of its ApplySet. And what the
//! daemon answers there: why the newest commit is not applied.
//!
//! In: a client and a set. Out: what is asked and recorded, whenever that changes; and both, written. A
//! watch carries it, so it costs no polling where watching is permitted, and an annotation outlives the daemon. It does
//! not know: what the daemon does about it.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::request::with_timeout;
use super::{Error, parent, watch};
use crate::api::labels;
use crate::apply::{
    APPLYING, NEWEST, Newest, Parent, SOURCE_ERROR, SourceError, Steering, whole_seconds,
};
use crate::model::ErrorClass;
use crate::plan::ApplySet;

/// How often the parent is read where it may not be watched.
const POLL: Duration = Duration::from_secs(20);
/// How often the parent is read again because others write it.
pub(super) const ATTEMPTS: usize = 5;
/// Who writes the annotations: another manager than the one of the parent's other fields, so that
/// neither removes what the other wrote.
const BY_HAND: &str = "capstan-cli";
/// Who records the newest commit, and approvals, for the same reason.
pub(super) const DAEMON: &str = "capstan-daemon";

/// What the parent says.
fn of(parent: Option<&ConfigMap>) -> Steering {
    let annotations = parent.and_then(|parent| parent.metadata.annotations.as_ref());
    let text = |key: &str| {
        let text = annotations.and_then(|all| all.get(key));
        text.filter(|text| !text.is_empty()).cloned()
    };
    let data = parent.and_then(|parent| parent.data.as_ref());
    let newest = data.and_then(|data| data.get(NEWEST));
    Steering {
        suspended: text(labels::SUSPENDED).map(|since| whole_seconds(&since)),
        sync_requested: text(labels::SYNC_REQUESTED),
        webhook: text(labels::WEBHOOK_RECEIVED),
        approve: text(labels::APPROVE_ANNOTATION),
        applying: data
            .and_then(|data| data.get(APPLYING))
            .cloned()
            .unwrap_or_default(),
        newest: newest.and_then(|text| Newest::read(text)),
        uid: parent.and_then(|parent| parent.metadata.uid.clone()),
    }
}

/// What is asked once the parent is seen as `live`, after this. Nobody resumes a fleet by deleting
/// its parent: without one, a suspended fleet stays so.
fn then(last: Option<&Steering>, live: Option<&ConfigMap>) -> Steering {
    let kept = last.filter(|last| live.is_none() && last.suspended.is_some());
    kept.cloned().unwrap_or_else(|| of(live))
}

/// What is asked of the fleet of `set`, now and whenever it changes.
pub fn steering(client: &Client, set: &ApplySet) -> BoxStream<'static, Steering> {
    let parent = set.parent();
    let (denied, is_denied) = tokio::sync::watch::channel(false);
    let watched = watch::object::<ConfigMap>(client, &parent.namespace, &parent.name);
    let (object, mut was_watched) = (parent.clone(), true);
    let watched = watched.filter_map(move |seen: watcher::Result<Option<ConfigMap>>| {
        let is_first = std::mem::replace(&mut was_watched, seen.is_ok());
        let error = seen.as_ref().err();
        denied.send_replace(error.is_some_and(watch::is_denied));
        match error.filter(|_| is_first) {
            Some(error) if watch::is_denied(error) => {
                tracing::warn!(%object, %error, "no permission to list and watch the parent, so it is read every {} s for `capstan sync`, `suspend` and `resume`", POLL.as_secs());
            }
            Some(error) => {
                tracing::warn!(%object, %error, "the parent cannot be watched, so `capstan sync`, `suspend` and `resume` are noticed late; retrying");
            }
            None => {}
        }
        std::future::ready(seen.ok())
    });
    let keeper = Keeper {
        client: client.clone(),
        set: set.clone(),
        last: None,
        live: None,
    };
    let api = Api::namespaced(client.clone(), &parent.namespace);
    let polled = polled(api, parent.name, is_denied);
    let seen = futures::stream::select(watched, polled.boxed());
    let asked = futures::stream::unfold((keeper, seen.boxed()), async |(mut keeper, mut seen)| {
        loop {
            let live = seen.next().await?;
            if let Some(changed) = keeper.see(live).await {
                return Some((changed, (keeper, seen)));
            }
        }
    });
    asked.boxed()
}

/// The parent, read again and again for as long as it may not be watched.
fn polled(
    api: Api<ConfigMap>,
    name: String,
    is_denied: tokio::sync::watch::Receiver<bool>,
) -> impl Stream<Item = Option<ConfigMap>> + Send {
    let begin = (api, name, is_denied, Duration::ZERO);
    futures::stream::unfold(begin, async |(api, name, mut is_denied, mut wait)| {
        loop {
            tokio::time::sleep(wait).await;
            is_denied.wait_for(|denied| *denied).await.ok()?;
            wait = POLL;
            let read = tokio::time::timeout(POLL, api.get_opt(&name)).await;
            if let Ok(Ok(live)) = read {
                return Some((live, (api, name, is_denied, wait)));
            }
        }
    })
}

/// What was seen of the parent.
struct Keeper {
    client: Client,
    set: ApplySet,
    /// What is asked by it.
    last: Option<Steering>,
    /// The parent when it was last there.
    live: Option<ConfigMap>,
}

impl Keeper {
    /// Takes in the parent as it is; returns what is asked now, if that changed.
    async fn see(&mut self, live: Option<ConfigMap>) -> Option<Steering> {
        let steering = then(self.last.as_ref(), live.as_ref());
        match live {
            Some(live) => self.live = Some(live),
            None if steering.suspended.is_some() => self.restore().await,
            None => self.live = None,
        }
        let is_change = self.last.as_ref() != Some(&steering);
        self.last = Some(steering.clone());
        Some(steering).filter(|_| is_change)
    }

    /// Creates the parent of a suspended fleet again, once each time it is deleted: without it, nobody could resume
    /// the fleet, and a restart would.
    async fn restore(&mut self) {
        let Some(live) = self.live.take() else { return };
        let object = self.set.parent();
        match with_timeout(&object, self.create_again(live)).await {
            Ok(true) => {
                tracing::warn!(%object, "the parent of the suspended fleet was deleted and is created again; `capstan resume` resumes the fleet");
            }
            Ok(false) => {
                tracing::warn!(%object, "the parent of the suspended fleet was deleted, and somebody else created it again");
            }
            Err(error) => {
                tracing::warn!(%object, %error, "the parent of the suspended fleet was deleted; the fleet stays suspended until this process ends or there is a parent that does not suspend it");
            }
        }
    }

    /// The parent is suspended from its first moment on. The engine gets back what it keeps there, or it could
    /// never remove it.
    async fn create_again(&self, live: ConfigMap) -> Result<bool, Error> {
        let json = serde_json::to_value(&live).unwrap_or_default();
        let parent = Parent::read(&self.set, &json).map_err(Error::Parent)?;
        let metadata = ObjectMeta {
            name: live.metadata.name,
            namespace: live.metadata.namespace,
            labels: live.metadata.labels,
            annotations: live.metadata.annotations,
            ..ObjectMeta::default()
        };
        let begin = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        parent::create(&self.client, &self.set, BY_HAND, &begin, &parent).await
    }
}

/// Sets an annotation on the parent of `set`, or removes it.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours.
pub async fn annotate_parent(
    client: &Client,
    set: &ApplySet,
    key: &str,
    value: Option<&str>,
) -> Result<(), Error> {
    let patch = |_: Option<&Parent>| Some(json!({"metadata": {"annotations": {key: value}}}));
    with_timeout(&set.parent(), change_parent(client, set, BY_HAND, patch)).await
}

/// Records in the parent of `set` that the newest commit of its `source` is not applied, and why; or that it is.
/// A fleet of which nothing was ever applied gets its parent here, if that `may_create` it: the parent of a
/// suspended fleet must come back suspended.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours, or is missing and may not be created.
pub async fn record_newest(
    client: &Client,
    set: &ApplySet,
    source: &str,
    newest: Option<&Newest>,
    may_create: bool,
) -> Result<(), Error> {
    let recorded = async {
        if parent::read(client, set).await?.is_none() {
            let Some(newest) = newest else {
                return Ok(());
            };
            if may_create && create_parent(client, set, source, newest).await? {
                return Ok(());
            }
        }
        let patch = |_: Option<&Parent>| Some(json!({"data": {NEWEST: newest.map(Newest::text)}}));
        change_parent(client, set, DAEMON, patch).await
    };
    with_timeout(&set.parent(), recorded).await
}

/// Records in the parent of `set`, if there is one, that its source cannot be read; or that it can. Nothing is written that is there.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours.
pub async fn record_source_error(
    client: &Client,
    set: &ApplySet,
    error: Option<&SourceError>,
) -> Result<(), Error> {
    let patch = |parent: Option<&Parent>| {
        let is_new = parent.is_some_and(|parent| parent.source_error.as_ref() != error);
        is_new.then(|| json!({"data": {SOURCE_ERROR: error.map(SourceError::text)}}))
    };
    with_timeout(&set.parent(), change_parent(client, set, DAEMON, patch)).await
}

/// Creates a parent that knows the source and the newest commit; `false` if there is one by now.
async fn create_parent(
    client: &Client,
    set: &ApplySet,
    source: &str,
    newest: &Newest,
) -> Result<bool, Error> {
    let mut begin = Parent::default().payload(set);
    begin["data"] = json!({NEWEST: newest.text()});
    let begin = serde_json::from_value(begin).map_err(|error| Error::Unsendable {
        object: set.parent(),
        cause: error.to_string(),
    })?;
    let parent = Parent {
        source: source.to_owned(),
        ..Parent::default()
    };
    parent::create(client, set, DAEMON, &begin, &parent).await
}

/// Changes the parent of a set, unless `patch` finds nothing to change. The patch carries the version that was read: a late
/// request of a process that may not write the fleet any more does not change what somebody has written since.
async fn change_parent(
    client: &Client,
    set: &ApplySet,
    manager: &str,
    patch: impl Fn(Option<&Parent>) -> Option<Json>,
) -> Result<(), Error> {
    let mut attempts = 1..ATTEMPTS;
    loop {
        let (parent, version) = parent::read(client, set).await?.unzip();
        let Some(mut patch) = patch(parent.as_ref()) else {
            return Ok(());
        };
        if let Some(version) = version {
            patch["metadata"]["resourceVersion"] = json!(version);
        }
        match patch_parent(client, set, manager, patch).await {
            Err(error) if error.class() == ErrorClass::Conflict && attempts.next().is_some() => {}
            answer => return answer,
        }
    }
}

pub(super) async fn patch_parent(
    client: &Client,
    set: &ApplySet,
    manager: &str,
    patch: Json,
) -> Result<(), Error> {
    let parent = set.parent();
    let params = PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    };
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &parent.namespace);
    let patched = api.patch(&parent.name, &params, &Patch::Merge(patch)).await;
    patched
        .map(drop)
        .map_err(|error| Error::new(&parent, error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use jiff::Timestamp;
    use kube::api::{DeleteParams, PostParams};
    use kube::client::Body;
    use kube_sim::{Server, SimClock};
    use tokio::time::Instant;

    use super::*;
    use crate::apply::{Members, Reason, Reasons};
    use crate::model::ObjectId;

    fn set() -> ApplySet {
        ApplySet::new("prod", "capstan-system")
    }

    /// A cluster in which the parent may only be read. Returns also how often it was.
    fn without_watches(live: &Arc<Mutex<Json>>) -> (Client, Arc<Mutex<usize>>) {
        let (live, reads) = (Arc::clone(live), Arc::new(Mutex::new(0)));
        let read = Arc::clone(&reads);
        let service = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let denied = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403});
            let (code, json) = match query.contains("fieldSelector") {
                true => (403, denied),
                false => {
                    *read.lock().unwrap() += 1;
                    (200, live.lock().unwrap().clone())
                }
            };
            let body = Body::from(json.to_string().into_bytes());
            let response = Response::builder().status(code).body(body).unwrap();
            std::future::ready(Ok::<_, Infallible>(response))
        });
        (Client::new(service, "default"), reads)
    }

    #[tokio::test(start_paused = true)]
    async fn a_parent_that_may_not_be_watched_is_read_every_20_seconds() {
        let parent = |suspended: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "capstan-prod", "annotations": {labels::SUSPENDED: suspended}}})
        };
        let live = Arc::new(Mutex::new(parent("then")));
        let (client, reads) = without_watches(&live);
        let mut asked = steering(&client, &set());
        let start = Instant::now();
        let first = asked.next().await.unwrap();
        assert_eq!(first.suspended.as_deref(), Some("then"));
        *live.lock().unwrap() = parent("");
        assert_eq!(asked.next().await.unwrap().suspended, None);
        assert_eq!(start.elapsed().as_secs(), 20);
        assert_eq!(*reads.lock().unwrap(), 2);
    }

    fn server() -> Server {
        Server::new(Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1)))
    }

    fn api(client: &Client) -> Api<ConfigMap> {
        Api::namespaced(client.clone(), set().namespace())
    }

    async fn live(client: &Client) -> Option<ConfigMap> {
        api(client).get_opt("capstan-prod").await.unwrap()
    }

    /// The parent of a fleet that was applied.
    fn applied() -> Parent {
        Parent {
            kinds: [(String::new(), "ConfigMap".to_owned())].into(),
            namespaces: ["shop".to_owned()].into(),
            source: "/srv/config.git".to_owned(),
            applying: "1".to_owned(),
            members: Members::of([ObjectId::new("", "ConfigMap", "shop", "a")].iter()),
            failed: Reasons {
                total: 1,
                first: vec![Reason::default()],
            },
            applied: "1".to_owned(),
            ..Parent::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_parent_of_a_suspended_fleet_is_created_again_as_it_was() {
        let (client, set) = (server().client("default"), set());
        parent::write(&client, &set, &applied(), "").await.unwrap();
        let suspend = annotate_parent(&client, &set, labels::SUSPENDED, Some("then"));
        suspend.await.unwrap();
        let before = live(&client).await.unwrap();
        let mut asked = steering(&client, &set);
        assert!(asked.next().await.unwrap().suspended.is_some());
        let delete = DeleteParams::default();
        api(&client).delete("capstan-prod", &delete).await.unwrap();
        let wait = Duration::from_secs(100);
        while let Ok(steering) = tokio::time::timeout(wait, asked.next()).await {
            assert!(steering.unwrap().suspended.is_some(), "it stays suspended");
        }
        let after = live(&client).await.unwrap();
        assert_eq!(after.metadata.labels, before.metadata.labels);
        assert_eq!(after.metadata.annotations, before.metadata.annotations);
        assert_eq!(after.data, before.data);
        // What the engine does not keep any more goes.
        let mended = Parent {
            failed: Reasons::default(),
            ..applied()
        };
        let version = after.metadata.resource_version.unwrap();
        let written = parent::write(&client, &set, &mended, &version);
        written.await.unwrap();
        let (read, _) = parent::read(&client, &set).await.unwrap().unwrap();
        assert_eq!(read.failed, Reasons::default());
        assert_eq!(read.suspended, "then");
    }

    /// A client whose first request does not find the parent, which is created just after it.
    fn too_early(server: &Server) -> Client {
        let (router, is_first) = (server.router(), AtomicBool::new(true));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            if is_first.swap(false, Ordering::Relaxed) {
                *request.method_mut() = Method::GET;
                *request.uri_mut() = "/api/v1/namespaces/none/configmaps/none".parse().unwrap();
                *request.body_mut() = Body::empty();
            }
            tower::Service::call(&mut router.clone(), request)
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn a_parent_that_was_just_created_is_not_overwritten() {
        let (server, set) = (server(), set());
        let client = server.client("default");
        parent::write(&client, &set, &applied(), "").await.unwrap();
        let newest = Newest::refused("2", "no");
        let record = record_newest(&too_early(&server), &set, "else", Some(&newest), true).await;
        record.unwrap();
        let (read, _) = parent::read(&client, &set).await.unwrap().unwrap();
        let expected = Parent {
            newest: Some(newest),
            ..applied()
        };
        assert_eq!(read, expected);
    }

    /// A client whose first patch arrives after somebody else has written the parent.
    fn too_late(server: &Server, seen: &Arc<Mutex<usize>>) -> Client {
        let (router, other) = (server.router(), server.client("default"));
        let seen = Arc::clone(seen);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (mut router, other) = (router.clone(), other.clone());
            let is_first = request.method() == Method::PATCH && {
                let mut seen = seen.lock().unwrap();
                *seen += 1;
                *seen == 1
            };
            async move {
                if is_first {
                    let patch = json!({"data": {NEWEST: Newest::refused("3", "other").text()}});
                    patch_parent(&other, &set(), DAEMON, patch).await.unwrap();
                }
                tower::Service::call(&mut router, request).await
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrives_late_is_refused_and_decided_again() {
        let (server, set, patches) = (server(), set(), Arc::default());
        let client = server.client("default");
        parent::write(&client, &set, &applied(), "").await.unwrap();
        let error = SourceError::new("then", "no route");
        let late = too_late(&server, &patches);
        let recorded = record_source_error(&late, &set, Some(&error)).await;
        recorded.unwrap();
        let (read, _) = parent::read(&client, &set).await.unwrap().unwrap();
        assert_eq!(read.newest, Some(Newest::refused("3", "other")));
        assert_eq!(read.source_error, Some(error));
        assert_eq!(*patches.lock().unwrap(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fleet_of_which_nothing_was_applied_gets_its_parent() {
        let (client, set) = (server().client("default"), set());
        let newest = Newest::refused("2", "no");
        let nothing = record_newest(&client, &set, "here", None, true).await;
        nothing.unwrap();
        let suspended = record_newest(&client, &set, "here", Some(&newest), false).await;
        assert_eq!(suspended.unwrap_err().class(), ErrorClass::Gone);
        assert_eq!(live(&client).await, None);
        let created = record_newest(&client, &set, "here", Some(&newest), true).await;
        created.unwrap();
        let (read, version) = parent::read(&client, &set).await.unwrap().unwrap();
        assert_eq!((&*read.source, read.newest), ("here", Some(newest)));
        // Nothing but the newest commit stays beside what the engine writes.
        let empty = Parent::default();
        let written = parent::write(&client, &set, &empty, &version).await;
        written.unwrap();
        let data = live(&client).await.unwrap().data.unwrap();
        assert_eq!(data.into_keys().collect::<Vec<_>>(), [NEWEST]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_ours_is_left_alone() {
        let (client, set) = (server().client("default"), set());
        parent::write(&client, &set, &applied(), "").await.unwrap();
        let delete = DeleteParams::default();
        api(&client).delete("capstan-prod", &delete).await.unwrap();
        let theirs = json!({"metadata": {"name": "capstan-prod"}, "data": {"theirs": "1"}});
        let theirs: ConfigMap = serde_json::from_value(theirs).unwrap();
        let params = PostParams::default();
        let theirs = api(&client).create(&params, &theirs).await.unwrap();
        let newest = Newest::refused("2", "no");
        for answer in [
            record_newest(&client, &set, "here", Some(&newest), true).await,
            annotate_parent(&client, &set, labels::SUSPENDED, Some("then")).await,
        ] {
            assert!(matches!(answer, Err(Error::Parent(_))), "{answer:?}");
        }
        assert_eq!(live(&client).await, Some(theirs));
    }

    #[test]
    fn an_empty_annotation_asks_for_nothing() {
        let parent = |annotations: Json| -> ConfigMap {
            serde_json::from_value(json!({"metadata": {"annotations": annotations}}))
                .expect("a ConfigMap")
        };
        let empty = parent(json!({labels::SUSPENDED: ""}));
        assert_eq!(of(Some(&empty)), Steering::default());
        assert_eq!(of(None), Steering::default());
        let all = json!({labels::SUSPENDED: "then", labels::SYNC_REQUESTED: "now", labels::APPROVE_ANNOTATION: "delete c/one"});
        let expected = Steering {
            suspended: Some("then".to_owned()),
            sync_requested: Some("now".to_owned()),
            webhook: None,
            approve: Some("delete c/one".to_owned()),
            applying: String::new(),
            newest: None,
            uid: None,
        };
        assert_eq!(of(Some(&parent(all))), expected);
    }

    #[test]
    fn a_suspended_fleet_whose_parent_is_gone_stays_suspended() {
        let last = Steering {
            suspended: Some("then".to_owned()),
            ..Steering::default()
        };
        assert_eq!(then(Some(&last), None), last);
        let parent = ConfigMap::default();
        let resumed = then(Some(&last), Some(&parent));
        assert_eq!(resumed, Steering::default());
        assert_eq!(then(Some(&resumed), None), resumed);
        assert_eq!(then(None, None), resumed);
    }
}
