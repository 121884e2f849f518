//! Which URL a kind has.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};

use super::Error;
use crate::model::ObjectId;

/// A kind as the cluster serves it.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

/// The kinds that the cluster serves, asked for once per group and version.
pub(super) struct Discovery {
    client: Client,
    known: BTreeMap<String, Vec<APIResource>>,
}

impl Discovery {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: BTreeMap::new(),
        }
    }

    /// How the cluster serves `object` at `version`. A kind that is missing is asked for again the
    /// next time: its definition may have been applied meanwhile.
    pub(super) async fn resolve(
        &mut self,
        object: &ObjectId,
        version: &str,
    ) -> Result<Served, Error> {
        let gvk = GroupVersionKind::gvk(&object.group, version, &object.kind);
        let api_version = gvk.api_version();
        if let Some(served) = self
            .known
            .get(&api_version)
            .and_then(|list| find(list, &gvk))
        {
            return Ok(served);
        }
        let answer = match object.group.as_str() {
            "" => self.client.list_core_api_resources(version).await,
            _ => self.client.list_api_group_resources(&api_version).await,
        };
        let resources = match answer {
            Ok(list) => list.resources,
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(Error::new(object, error)),
        };
        let served = find(&resources, &gvk);
        self.known.insert(api_version.clone(), resources);
        served.ok_or_else(|| Error::NotServed {
            object: object.clone(),
            kind: object.kind.clone(),
            api_version,
        })
    }
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
