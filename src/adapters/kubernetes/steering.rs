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
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::request::with_timeout;
use super::{Error, parent, watch};
use crate::api::labels;
use crate::apply::{NEWEST, Newest, Parent, whole_seconds};
use crate::model::{ErrorClass, ObjectId};
use crate::plan::ApplySet;

/// How often the parent is read where it may not be watched.
const POLL: Duration = Duration::from_secs(20);
/// Who writes the annotations: another manager than the one of the parent's other fields, so that
/// neither removes what the other wrote.
const BY_HAND: &str = "capstan-cli";
/// Who records the newest commit, for the same reason.
const DAEMON: &str = "capstan-daemon";

/// What is asked of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// Since when it is suspended.
    pub suspended: Option<String>,
    /// When somebody last asked to look for commits at once.
    pub sync_requested: Option<String>,
    /// What the parent records of the newest commit.
    pub newest: Option<Newest>,
}

impl Steering {
    fn of(parent: Option<&ConfigMap>) -> Self {
        let annotations = parent.and_then(|parent| parent.metadata.annotations.as_ref());
        let text = |key: &str| {
            let text = annotations.and_then(|all| all.get(key));
            text.filter(|text| !text.is_empty()).cloned()
        };
        let data = parent.and_then(|parent| parent.data.as_ref());
        let newest = data.and_then(|data| data.get(NEWEST));
        Self {
            suspended: text(labels::SUSPENDED).map(|since| whole_seconds(&since)),
            sync_requested: text(labels::SYNC_REQUESTED),
            newest: newest.and_then(|text| Newest::read(text)),
        }
    }

    /// What is asked once the parent is seen as `live`, after this. Nobody resumes a fleet by deleting
    /// its parent: without one, a suspended fleet stays so.
    fn then(last: Option<&Self>, live: Option<&ConfigMap>) -> Self {
        let kept = last.filter(|last| live.is_none() && last.suspended.is_some());
        kept.cloned().unwrap_or_else(|| Self::of(live))
    }
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
        api: Api::namespaced(client.clone(), &parent.namespace),
        parent: parent.clone(),
        last: None,
        live: None,
    };
    let polled = polled(keeper.api.clone(), parent.name, is_denied);
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
    api: Api<ConfigMap>,
    parent: ObjectId,
    /// What is asked by it.
    last: Option<Steering>,
    /// The parent when it was last there.
    live: Option<ConfigMap>,
}

impl Keeper {
    /// Takes in the parent as it is; returns what is asked now, if that changed.
    async fn see(&mut self, live: Option<ConfigMap>) -> Option<Steering> {
        let steering = Steering::then(self.last.as_ref(), live.as_ref());
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
        let metadata = ObjectMeta {
            name: live.metadata.name,
            namespace: live.metadata.namespace,
            labels: live.metadata.labels,
            annotations: live.metadata.annotations,
            ..ObjectMeta::default()
        };
        let parent = ConfigMap { metadata, ..live };
        let params = PostParams {
            field_manager: Some(BY_HAND.to_owned()),
            ..PostParams::default()
        };
        let object = &self.parent;
        let created = async {
            let created = self.api.create(&params, &parent).await;
            created.map_err(|error| Error::new(object, error))
        };
        match with_timeout(object, created).await {
            Ok(_) => {
                tracing::warn!(%object, "the parent of the suspended fleet was deleted and is created again; `capstan resume` resumes the fleet");
            }
            Err(error) => {
                tracing::warn!(%object, %error, "the parent of the suspended fleet was deleted; the fleet stays suspended until this process ends or there is a parent that does not suspend it");
            }
        }
    }
}

/// Sets an annotation on the parent of `set`, or removes it.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn annotate_parent(
    client: &Client,
    set: &ApplySet,
    key: &str,
    value: Option<&str>,
) -> Result<(), Error> {
    let patch = json!({"metadata": {"annotations": {key: value}}});
    patch_parent(client, set, BY_HAND, patch).await
}

/// Records in the parent of `set` that the newest commit of its `source` is not applied, and why; or that it is.
/// A fleet of which nothing was ever applied gets its parent here.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn record_newest(
    client: &Client,
    set: &ApplySet,
    source: &str,
    newest: Option<&Newest>,
) -> Result<(), Error> {
    let patch = json!({"data": {NEWEST: newest.map(Newest::text)}});
    let record = async || patch_parent(client, set, DAEMON, patch.clone()).await;
    match (record().await, newest) {
        (Err(error), Some(_)) if error.class() == ErrorClass::Gone => {
            let empty = Parent {
                source: source.to_owned(),
                ..Parent::default()
            };
            parent::write(client, set, &empty, "").await?;
            record().await
        }
        (Err(error), None) if error.class() == ErrorClass::Gone => Ok(()),
        (answer, _) => answer,
    }
}

async fn patch_parent(
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
    let patch = Patch::Merge(patch);
    let patched = async {
        let patched = api.patch(&parent.name, &params, &patch).await;
        patched.map_err(|error| Error::new(&parent, error))
    };
    with_timeout(&parent, patched).await.map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::client::Body;
    use tokio::time::Instant;

    use super::*;

    /// A cluster with one ConfigMap, or none.
    #[derive(Clone)]
    struct Cluster {
        live: Arc<Mutex<Option<Json>>>,
        may_watch: bool,
        requests: Arc<Mutex<Vec<String>>>,
    }

    impl Cluster {
        fn new(may_watch: bool) -> Self {
            Self {
                live: Arc::new(Mutex::new(Some(live("then")))),
                may_watch,
                requests: Arc::default(),
            }
        }

        fn set(&self, live: Option<Json>) {
            *self.live.lock().unwrap() = live;
        }

        async fn answer(self, request: Request<Body>) -> Response<Body> {
            let (parts, body) = request.into_parts();
            let query = parts.uri.query().unwrap_or_default();
            let watches = query.contains("watch=true");
            let lists = query.contains("fieldSelector") && !watches;
            let verb = match (&parts.method, watches, lists) {
                (_, true, _) => "watch",
                (_, _, true) => "list",
                (&Method::GET, ..) => "get",
                _ => "create",
            };
            self.requests.lock().unwrap().push(verb.to_owned());
            let missing = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "message": "gone", "code": 404});
            let denied = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403});
            let live = self.live.lock().unwrap().clone();
            let (code, json) = match verb {
                "watch" | "list" if !self.may_watch => (403, denied),
                "watch" => {
                    // It ends at once, so that the parent is listed again.
                    let gone = json!({"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}});
                    (200, gone)
                }
                "list" => {
                    let items: Vec<Json> = live.into_iter().collect();
                    (
                        200,
                        json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}),
                    )
                }
                "get" => live.map_or((404, missing), |live| (200, live)),
                _ => {
                    let body = body.collect_bytes().await.unwrap();
                    let created: Json = serde_json::from_slice(&body).unwrap();
                    self.set(Some(created.clone()));
                    (201, created)
                }
            };
            let body = Body::from(json.to_string().into_bytes());
            Response::builder().status(code).body(body).unwrap()
        }

        fn steering(&self) -> BoxStream<'static, Steering> {
            let cluster = self.clone();
            let service = tower::service_fn(move |request| {
                let answer = cluster.clone().answer(request);
                async move { Ok::<_, std::convert::Infallible>(answer.await) }
            });
            steering(&Client::new(service, "default"), &set())
        }

        fn count(&self, verb: &str) -> usize {
            let requests = self.requests.lock().unwrap();
            requests.iter().filter(|request| *request == verb).count()
        }
    }

    fn set() -> ApplySet {
        ApplySet::new("prod", "capstan-system")
    }

    fn live(suspended: &str) -> Json {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"applied": "1"}, "metadata": {
            "name": "capstan-prod", "namespace": "capstan-system", "uid": "u", "resourceVersion": "1",
            "labels": {labels::APPLY_SET_ID: set().id()}, "annotations": {labels::SUSPENDED: suspended}}})
    }

    #[tokio::test(start_paused = true)]
    async fn a_parent_that_may_not_be_watched_is_read_every_20_seconds() {
        let cluster = Cluster::new(false);
        let mut asked = cluster.steering();
        let start = Instant::now();
        assert_eq!(
            asked.next().await.unwrap().suspended.as_deref(),
            Some("then")
        );
        cluster.set(Some(live("")));
        assert_eq!(asked.next().await.unwrap().suspended, None);
        assert_eq!(start.elapsed().as_secs(), 20);
        assert_eq!(cluster.count("get"), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_parent_of_a_suspended_fleet_is_created_again_as_it_was() {
        let cluster = Cluster::new(true);
        let mut asked = cluster.steering();
        assert!(asked.next().await.unwrap().suspended.is_some());
        cluster.set(None);
        let wait = tokio::time::timeout(Duration::from_secs(100), asked.next());
        assert!(wait.await.is_err(), "it stays suspended");
        let created = cluster.live.lock().unwrap().clone().unwrap();
        let mut expected = live("then");
        for server in ["uid", "resourceVersion"] {
            expected["metadata"].as_object_mut().unwrap().remove(server);
        }
        assert_eq!(created, expected);
        assert_eq!((cluster.count("create"), cluster.count("get")), (1, 0));
    }

    #[test]
    fn an_empty_annotation_asks_for_nothing() {
        let parent = |annotations: Json| -> ConfigMap {
            serde_json::from_value(json!({"metadata": {"annotations": annotations}}))
                .expect("a ConfigMap")
        };
        let empty = parent(json!({labels::SUSPENDED: ""}));
        assert_eq!(Steering::of(Some(&empty)), Steering::default());
        assert_eq!(Steering::of(None), Steering::default());
        let both = json!({labels::SUSPENDED: "then", labels::SYNC_REQUESTED: "now"});
        let expected = Steering {
            suspended: Some("then".to_owned()),
            sync_requested: Some("now".to_owned()),
            newest: None,
        };
        assert_eq!(Steering::of(Some(&parent(both))), expected);
    }

    #[test]
    fn a_suspended_fleet_whose_parent_is_gone_stays_suspended() {
        let last = Steering {
            suspended: Some("then".to_owned()),
            ..Steering::default()
        };
        assert_eq!(Steering::then(Some(&last), None), last);
        let parent = ConfigMap::default();
        let resumed = Steering::then(Some(&last), Some(&parent));
        assert_eq!(resumed, Steering::default());
        assert_eq!(Steering::then(Some(&resumed), None), resumed);
        assert_eq!(Steering::then(None, None), resumed);
    }
}
