//! How the cluster serves a kind of which only the group is known.

use std::collections::BTreeMap;

use super::error::SurveyError;
use super::read::Reader;
use crate::adapters::kubernetes::Error;
use crate::adapters::kubernetes::discovery::{Discovery, Served};
use crate::adapters::kubernetes::request::in_time;
use crate::model::ObjectId;

/// The versions of each group, the preferred one first.
pub(super) struct Kinds {
    discovery: Discovery,
    versions: BTreeMap<String, Vec<String>>,
}

impl Kinds {
    /// Fetches the groups of the cluster, once.
    pub(super) async fn ask(reader: &Reader) -> Result<Self, SurveyError> {
        let groups = reader.groups().await.map_err(SurveyError::new)?;
        let mut versions: BTreeMap<String, Vec<String>> = groups
            .into_iter()
            .map(|group| {
                let preferred = group.preferred_version.map(|preferred| preferred.version);
                let all = group.versions.into_iter().map(|one| one.version);
                let others = all.filter(|version| Some(version) != preferred.as_ref());
                let order = preferred.clone().into_iter().chain(others).collect();
                (group.name, order)
            })
            .collect();
        versions.insert(String::new(), vec!["v1".to_owned()]);
        let discovery = Discovery::new(reader.client().clone());
        Ok(Self {
            discovery,
            versions,
        })
    }

    /// How a kind is served: at the preferred version of its group, otherwise at the first version that has
    /// it; `None` if no version has it.
    pub(super) async fn find(&self, group: &str, kind: &str) -> Result<Option<Served>, Error> {
        let any = ObjectId::new(group, kind, "", "");
        for version in self.versions.get(group).into_iter().flatten() {
            let found = in_time(&any, self.discovery.find(&any, version)).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
