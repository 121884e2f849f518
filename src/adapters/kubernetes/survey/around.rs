//! The surroundings of an object that no fleet has.
//!
//! In: an object as people name it. Out: the objects that it may be, what they belong to, and what belongs to them. It does not
//! know why no fleet has them.

use std::collections::BTreeSet;

use super::sought::Sought;
use super::{ROUNDS, SurveyError, Surveyor};
use crate::health::Live;
use crate::model::ObjectId;

impl Surveyor {
    /// Reads the objects that are meant, those that they belong to, and what these consist of and refer to.
    pub(super) async fn read_around(&mut self, sought: &Sought<'_>) -> Result<(), SurveyError> {
        let given = sought.namespace.map(str::to_owned);
        let places = given.map_or_else(|| self.namespaces.clone(), |given| [given].into());
        let listed = self.list(sought.kinds(), None, &places).await?;
        let meant = listed
            .into_iter()
            .filter(|live| sought.is(&Live(live).id()));
        meant.for_each(|live| self.found.insert(live));
        for _ in 0..ROUNDS {
            let owners = self.owners();
            if !self.look_up(owners).await? {
                break;
            }
        }
        // An AROMachinePool leads to its Cluster by a label.
        self.references().await?;
        self.children().await?;
        self.references().await
    }

    /// The owners that were not looked up yet.
    fn owners(&self) -> BTreeSet<ObjectId> {
        let objects = self.found.objects.values().map(Live);
        let owners = objects.flat_map(|live| {
            let owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
            owners.map(move |owner| {
                ObjectId::new(
                    owner.group(),
                    owner.kind(),
                    live.namespace(),
                    owner.text(&["name"]),
                )
            })
        });
        let is_new =
            |id: &ObjectId| !self.found.objects.contains_key(id) && !self.found.asked.contains(id);
        owners.filter(is_new).collect()
    }
}
