//! What people ask of a fleet while its daemon runs: annotations on the parent of its ApplySet. And what the
//! daemon answers there: why the newest commit is not applied.
//!
//! In: a client and a set. Out: what is asked and recorded, whenever that changes; and both, written. A
//! watch carries it, so it costs no polling, and an annotation outlives the daemon. It does not know:
//! what the daemon does about it.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::request::with_timeout;
use super::{Error, parent, watch};
use crate::api::labels;
use crate::apply::{NEWEST, Newest, Parent, whole_seconds};
use crate::model::ErrorClass;
use crate::plan::ApplySet;

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
    let parents = watch::object::<ConfigMap>(client, &parent.namespace, &parent.name);
    let (mut is_watched, mut is_there) = (true, true);
    let mut last = None;
    let changes = parents.filter_map(move |seen: watcher::Result<Option<ConfigMap>>| {
        let was_watched = std::mem::replace(&mut is_watched, seen.is_ok());
        let steering = match seen {
            Ok(live) => {
                let steering = Steering::then(last.as_ref(), live.as_ref());
                let was_there = std::mem::replace(&mut is_there, live.is_some());
                if was_there && !is_there && steering.suspended.is_some() {
                    tracing::warn!(object = %parent, "the parent of the suspended fleet is gone; the fleet stays suspended until there is one that does not suspend it");
                }
                Some(steering)
            }
            Err(error) if was_watched => {
                tracing::warn!(object = %parent, %error, "the parent cannot be watched, so `capstan sync`, `suspend` and `resume` are noticed late; retrying");
                None
            }
            Err(_) => None,
        };
        let changed = steering.filter(|steering| last.as_ref() != Some(steering));
        last = changed.clone().or(last.take());
        std::future::ready(changed)
    });
    changes.boxed()
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
    use super::*;

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
