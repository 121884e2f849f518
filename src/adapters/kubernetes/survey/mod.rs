//! Reads once what the cluster has of fleets.
//!
//! In: a client and the choice of fleets. Out: the parents of the ApplySets, their members, what the
//! members' controllers created, what all of these refer to, and the cluster's time. What cannot be read
//! is listed with a reason; the only errors are a cluster that does not answer and a fleet that does not
//! exist. It does not know what follows from any of it.
//!
//! ```text
//! time ─► parents ─► members ─► embedded and owned ─► references ─► Survey
//! ```

mod around;
mod choice;
mod error;
mod heartbeat;
mod kinds;
mod objects;
mod parents;
mod read;
mod sought;

use std::collections::{BTreeMap, BTreeSet};

use futures::stream;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value as Json;

use super::request::answers;
use crate::api::labels::PART_OF;
use crate::apply::Parent;
use crate::model::ObjectId;
use crate::plan::ApplySet;
use crate::status::{FleetObjectState, Found, Heartbeat, ReadError, ReadErrorReason};
use kinds::Kinds;
use parents::Fleets;
use read::{Outcome, Reader, Scope};

pub use choice::FleetChoice;
pub use error::SurveyError;
pub use heartbeat::heartbeat;
use heartbeat::time;
pub use sought::Sought;

/// How many requests run at once.
const WIDTH: usize = 8;
/// How many times references of newly read objects are followed: an object, its identity, the identity's
/// Secret.
const ROUNDS: usize = 3;

/// The result.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The time in the cluster, if it reported one.
    pub at: Option<Timestamp>,
    /// The fleets, by name. One that has only its Fleet object has an empty parent.
    pub fleets: Vec<(ApplySet, Parent)>,
    /// Their objects, and others that those refer to.
    pub found: Found,
    /// The heartbeats of their daemons, in the same order; none if the cluster tells no time.
    pub heartbeats: Vec<Heartbeat>,
    /// The Fleet objects.
    pub objects: Vec<FleetObjectState>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Reads the cluster behind `client`.
///
/// # Errors
/// If it does not answer, if nothing of it may be read, or if it has no such fleet.
pub async fn survey(client: &Client, choice: &FleetChoice) -> Result<Survey, SurveyError> {
    let reader = Reader::new(client.clone());
    let at = time(&reader).await?;
    let fleets = parents::find(&reader, choice).await?;
    let mut surveyor = Surveyor::of(reader, &fleets.parents).await?;
    surveyor.read_fleets(&fleets.parents).await?;
    Ok(surveyor.into_survey(at, fleets).await)
}

/// The same, and the objects that `sought` means even where no fleet has them, with what belongs to them.
///
/// # Errors
/// If the cluster does not answer, or if nothing of it may be read.
pub async fn survey_around(
    client: &Client,
    choice: &FleetChoice,
    sought: &Sought<'_>,
) -> Result<Survey, SurveyError> {
    let reader = Reader::new(client.clone());
    let at = time(&reader).await?;
    let without = |notes| Fleets {
        notes,
        ..Fleets::default()
    };
    let fleets = match parents::find(&reader, choice).await {
        Err(SurveyError::NoFleet(notes)) => without(notes),
        // Whoever runs the controllers alone needs no right on ConfigMaps.
        Err(denied @ SurveyError::Denied(..)) => without(vec![denied.to_string()]),
        found => found?,
    };
    let mut surveyor = Surveyor::of(reader, &fleets.parents).await?;
    if !fleets.parents.is_empty() {
        surveyor.read_fleets(&fleets.parents).await?;
    }
    if !surveyor.found.objects.keys().any(|id| sought.is(id)) {
        surveyor.read_around(sought).await?;
    }
    Ok(surveyor.into_survey(at, fleets).await)
}

/// A fleet that people ask something of.
#[derive(Clone, Debug)]
pub struct KnownFleet {
    /// Its set.
    pub set: ApplySet,
    /// The parent of the set; empty if there is none yet.
    pub parent: Parent,
    /// Its Fleet object, if it has one that may be read.
    pub object: Option<FleetObjectState>,
}

/// The chosen fleets, by name, without their objects.
///
/// # Errors
/// If the cluster does not answer, if they may not be read, or if it has no such fleet.
pub async fn fleets(client: &Client, choice: &FleetChoice) -> Result<Vec<KnownFleet>, SurveyError> {
    let reader = Reader::new(client.clone());
    let Fleets {
        parents, objects, ..
    } = parents::find(&reader, choice).await?;
    let known = parents.into_iter().map(|(set, parent)| KnownFleet {
        object: objects.iter().find(|object| object.is_of(&set)).cloned(),
        set,
        parent,
    });
    Ok(known.collect())
}

/// The namespaces in which members are, or may be.
fn namespaces(fleets: &[(ApplySet, Parent)]) -> BTreeSet<String> {
    let own = fleets.iter().map(|(set, _)| set.parent().namespace);
    let others = fleets
        .iter()
        .flat_map(|(_, parent)| parent.namespaces.clone());
    own.chain(others).collect()
}

struct Surveyor {
    reader: Reader,
    kinds: Kinds,
    namespaces: BTreeSet<String>,
    found: Found,
}

impl Surveyor {
    async fn of(reader: Reader, fleets: &[(ApplySet, Parent)]) -> Result<Self, SurveyError> {
        let kinds = Kinds::ask(&reader).await?;
        Ok(Self {
            reader,
            kinds,
            namespaces: namespaces(fleets),
            found: Found::default(),
        })
    }

    async fn into_survey(self, at: Option<Timestamp>, chosen: Fleets) -> Survey {
        let Fleets {
            parents: fleets,
            objects,
            notes,
        } = chosen;
        let heartbeats = match at {
            Some(now) => {
                let reads = fleets.iter();
                let reads =
                    reads.map(|(set, parent)| heartbeat::read(&self.reader, (set, parent), now));
                stream::iter(reads).buffered(WIDTH).collect().await
            }
            None => Vec::new(),
        };
        Survey {
            at,
            fleets,
            heartbeats,
            found: self.found,
            objects,
            notes,
        }
    }

    /// The members of `fleets`, and what belongs to them.
    async fn read_fleets(&mut self, fleets: &[(ApplySet, Parent)]) -> Result<(), SurveyError> {
        self.members(fleets).await?;
        self.children().await?;
        self.references().await
    }

    /// What the objects refer to, and what that refers to.
    async fn references(&mut self) -> Result<(), SurveyError> {
        for _ in 0..ROUNDS {
            if !self.named().await? {
                break;
            }
        }
        Ok(())
    }

    /// The members of `fleets`, one list per kind.
    async fn members(&mut self, fleets: &[(ApplySet, Parent)]) -> Result<(), SurveyError> {
        let ids: Vec<String> = fleets.iter().map(|(set, _)| set.id()).collect();
        let selector = format!("{PART_OF} in ({})", ids.join(","));
        let kinds = fleets.iter().flat_map(|(_, parent)| parent.kinds.clone());
        let places = self.namespaces.clone();
        for live in self.list(kinds.collect(), Some(&selector), &places).await? {
            self.found.insert_labelled(live);
        }
        Ok(())
    }

    /// The objects that controllers created for the members.
    async fn children(&mut self) -> Result<(), SurveyError> {
        let kinds = self.found.made_kinds();
        let places = self.found.objects.keys().map(|id| &id.namespace);
        let places = places.filter(|place| !place.is_empty()).cloned().collect();
        let listed = self.list(kinds, None, &places).await?;
        self.found.adopt(listed);
        Ok(())
    }

    /// The objects that others refer to. `false` if there are no more.
    async fn named(&mut self) -> Result<bool, SurveyError> {
        let wanted = self.found.wanted();
        self.look_up(wanted).await
    }

    /// The objects of these names. `false` if there are none.
    async fn look_up(&mut self, wanted: BTreeSet<ObjectId>) -> Result<bool, SurveyError> {
        if wanted.is_empty() {
            return Ok(false);
        }
        self.found.asked.extend(wanted.iter().cloned());
        let mut groups: BTreeMap<(String, String), Vec<ObjectId>> = BTreeMap::new();
        for id in wanted {
            let kind = (id.group.clone(), id.kind.clone());
            groups.entry(kind).or_default().push(id);
        }
        for ((group, kind), ids) in groups {
            let Some(served) = self.served(&group, &kind).await? else {
                continue;
            };
            let reader = &self.reader;
            let look = async |id: ObjectId| (reader.get(&served, &id).await, id);
            let looks = stream::iter(ids.into_iter().map(look)).buffer_unordered(WIDTH);
            let looks = looks.map(|(outcome, id)| outcome.map(|outcome| (outcome, id)));
            let looks: Result<Vec<_>, _> = looks.try_collect().await;
            for (outcome, id) in looks.map_err(SurveyError::new)? {
                match outcome {
                    Outcome::Read(read) => {
                        read.into_iter().for_each(|live| self.found.insert(live))
                    }
                    Outcome::Lacking(reason) => {
                        let (namespace, name) = (Some(id.namespace), Some(id.name));
                        self.error(&id.group, &id.kind, namespace, name, reason);
                    }
                }
            }
        }
        Ok(true)
    }

    /// All objects of these kinds that match `selector`; only those in `places` if they may not be listed
    /// everywhere. What cannot be read is added to the errors.
    async fn list(
        &mut self,
        kinds: BTreeSet<(String, String)>,
        selector: Option<&str>,
        places: &BTreeSet<String>,
    ) -> Result<Vec<Json>, SurveyError> {
        let mut scopes = Vec::new();
        for (group, kind) in kinds {
            if let Some(served) = self.served(&group, &kind).await? {
                scopes.push(Scope::everywhere(served));
            }
        }
        let mut all = Vec::new();
        while !scopes.is_empty() {
            let reader = &self.reader;
            let read = async |scope: Scope| (reader.list(&scope, selector).await, scope);
            let reads = stream::iter(std::mem::take(&mut scopes).into_iter().map(read));
            let reads = reads.buffered(WIDTH);
            let reads = reads.map(|(outcome, scope)| outcome.map(|outcome| (outcome, scope)));
            let reads: Result<Vec<_>, _> = reads.try_collect().await;
            for (outcome, scope) in reads.map_err(SurveyError::new)? {
                match outcome {
                    Outcome::Read(read) => all.extend(read),
                    Outcome::Lacking(ReadErrorReason::Denied(..)) if scope.can_narrow() => {
                        scopes.extend(scope.narrowed(places));
                    }
                    Outcome::Lacking(reason) => {
                        let Scope { served, namespace } = scope;
                        let resource = served.resource;
                        self.error(&resource.group, &resource.kind, namespace, None, reason);
                    }
                }
            }
        }
        Ok(all)
    }

    /// How a kind is served; a kind that is not served, or of which nobody can say, is added to the errors.
    async fn served(
        &mut self,
        group: &str,
        kind: &str,
    ) -> Result<Option<super::discovery::Served>, SurveyError> {
        let lacking = match self.kinds.find(group, kind).await {
            Ok(Some(served)) => return Ok(Some(served)),
            Ok(None) => ReadErrorReason::NotServed,
            Err(error) if error.is_silence() && !answers(self.reader.client()).await => {
                return Err(SurveyError::Discovery(Box::new(error)));
            }
            Err(error) if error.is_about_kind() => ReadErrorReason::Failed(error.failure().message),
            Err(error) => return Err(SurveyError::Discovery(Box::new(error))),
        };
        self.error(group, kind, None, None, lacking);
        Ok(None)
    }

    fn error(
        &mut self,
        group: &str,
        kind: &str,
        namespace: Option<String>,
        name: Option<String>,
        reason: ReadErrorReason,
    ) {
        let error = ReadError {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace,
            name,
            reason,
        };
        if !self.found.errors.contains(&error) {
            self.found.errors.push(error);
        }
    }
}
