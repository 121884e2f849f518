//! Which URL a kind has.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResource};
use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::Error;
use crate::api::kinds::Kind;
use crate::model::ObjectId;

/// A kind as the cluster serves it.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

/// What one group and version serves, once it was asked for.
type Resources = Arc<OnceCell<Vec<APIResource>>>;

/// The kinds that the cluster serves, asked for once per group and version. Clones share what they
/// learn; a second caller waits for the answer to the first.
#[derive(Clone)]
pub(super) struct Discovery {
    client: Client,
    known: Arc<Mutex<BTreeMap<String, Resources>>>,
}

impl Discovery {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// How the cluster serves `object` at `version`; if it does not, the error names what it serves
    /// instead.
    pub(super) async fn resolve(&self, object: &ObjectId, version: &str) -> Result<Served, Error> {
        if let Some(served) = self.find(object, version).await? {
            return Ok(served);
        }
        let served = self.versions(object).await?;
        // It may have come between the two questions.
        if served.iter().any(|one| one == version)
            && let Some(served) = self.find(object, version).await?
        {
            return Ok(served);
        }
        Err(Error::NotServed {
            object: object.clone(),
            version: version.to_owned(),
            served: served.into_iter().filter(|one| one != version).collect(),
        })
    }

    /// How the cluster serves `object` at `version`, if it does. A group that lacks the kind is asked
    /// for again the next time: its definition may have been applied meanwhile.
    pub(super) async fn find(
        &self,
        object: &ObjectId,
        version: &str,
    ) -> Result<Option<Served>, Error> {
        let gvk = GroupVersionKind::gvk(&object.group, version, &object.kind);
        let api_version = gvk.api_version();
        let cell = self.cell(&api_version);
        let resources = cell
            .get_or_try_init(|| self.ask(object, version, &api_version))
            .await?;
        let found = find(resources, &gvk);
        if found.is_none() {
            self.forget(&api_version, &cell);
        }
        Ok(found)
    }

    /// Forgets the answer about a group and version, so that it is asked for again.
    pub(super) fn doubt(&self, group: &str, version: &str) {
        let api_version = GroupVersionKind::gvk(group, version, "").api_version();
        let mut known = self.known.lock();
        known.remove(&api_version);
    }

    /// The version at which the cluster prefers to serve a kind; `None` if it does not serve it.
    pub(super) async fn preferred(&self, object: &ObjectId) -> Result<Option<String>, Error> {
        for version in self.of_group(object).await? {
            if self.find(object, &version).await?.is_some() {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }

    /// All versions at which the cluster serves a kind, the preferred one first.
    async fn versions(&self, object: &ObjectId) -> Result<Vec<String>, Error> {
        let mut versions = Vec::new();
        for version in self.of_group(object).await? {
            if self.find(object, &version).await?.is_some() {
                versions.push(version);
            }
        }
        Ok(versions)
    }

    /// The versions of a kind's group, the preferred one first.
    async fn of_group(&self, object: &ObjectId) -> Result<Vec<String>, Error> {
        if object.group.is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        let groups = self.groups(object).await?;
        Ok(versions(&groups, &object.group))
    }

    /// The groups that the cluster serves.
    async fn groups(&self, object: &ObjectId) -> Result<Vec<APIGroup>, Error> {
        let groups = self.client.list_api_groups().await;
        Ok(groups.map_err(|error| Error::new(object, error))?.groups)
    }

    async fn ask(
        &self,
        object: &ObjectId,
        version: &str,
        api_version: &str,
    ) -> Result<Vec<APIResource>, Error> {
        let answer = match object.group.as_str() {
            "" => self.client.list_core_api_resources(version).await,
            _ => self.client.list_api_group_resources(api_version).await,
        };
        match answer {
            Ok(list) => Ok(list.resources),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(Error::new(object, error)),
        }
    }

    fn cell(&self, api_version: &str) -> Resources {
        let mut known = self.known.lock();
        Arc::clone(known.entry(api_version.to_owned()).or_default())
    }

    /// Forgets `cell`, unless it was asked for again meanwhile.
    fn forget(&self, api_version: &str, cell: &Resources) {
        let mut known = self.known.lock();
        if known
            .get(api_version)
            .is_some_and(|now| Arc::ptr_eq(now, cell))
        {
            known.remove(api_version);
        }
    }
}

/// Those of `kinds` that the cluster serves at no version.
///
/// # Errors
/// When the cluster does not answer.
pub async fn unserved(client: &Client, kinds: &[Kind]) -> Result<Vec<Kind>, Error> {
    let discovery = Discovery::new(client.clone());
    let Some(first) = kinds.first() else {
        return Ok(Vec::new());
    };
    let id = |kind: &Kind| ObjectId::new(kind.group, kind.kind, "", "");
    let groups = discovery.groups(&id(first)).await?;
    let mut missing = Vec::new();
    for kind in kinds {
        let mut is_served = false;
        for version in versions(&groups, kind.group) {
            is_served = is_served || discovery.find(&id(kind), &version).await?.is_some();
        }
        if !is_served {
            missing.push(*kind);
        }
    }
    Ok(missing)
}

/// The versions of a group, the preferred one first.
fn versions(groups: &[APIGroup], group: &str) -> Vec<String> {
    let Some(group) = groups.iter().find(|one| one.name == group) else {
        return Vec::new();
    };
    let preferred = group.preferred_version.as_ref().map(|one| &one.version);
    let all = group.versions.iter().map(|one| &one.version);
    let others = all.filter(|version| Some(*version) != preferred);
    preferred.into_iter().chain(others).cloned().collect()
}

fn find(resources: &[APIResource], gvk: &GroupVersionKind) -> Option<Served> {
    let found = resources
        .iter()
        .find(|resource| resource.kind == gvk.kind && !resource.name.contains('/'))?;
    Some(Served {
        resource: ApiResource::from_gvk_with_plural(gvk, &found.name),
        namespaced: found.namespaced,
    })
}
