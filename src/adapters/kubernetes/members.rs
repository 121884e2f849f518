//! The members of a fleet in the cluster, and those that leave it.
//!
//! In: the fleet's set, and what stays in it. Out: the live members; what happens to those that leave; which new objects
//! own the same resources in Azure as one of those. It does not know: what is done about it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value as Json;

use super::discovery::Discovery;
use super::request::{answers, with_timeout};
use super::{Error, parent};
use crate::api::labels;
use crate::api::platform::Role;
use crate::apply::{self, DeletionGuard, Member, PruneDecision, PruneInput};
use crate::health::Live;
use crate::model::{Finding, Object, ObjectId};
use crate::plan::losses;
use crate::plan::{self, ApplySet, Changes, Plan};

/// The kinds, by group and kind, that cannot be listed, and why. Their members are neither there nor gone: nobody knows.
pub type Unseen = BTreeMap<(String, String), String>;

/// What the fleet owns of these kinds in the cluster, and the kinds of which that cannot be seen. A cluster that says
/// nothing at all is an error, at the first kind.
pub(super) async fn read(
    client: &Client,
    discovery: &Discovery,
    set: &ApplySet,
    kinds: impl IntoIterator<Item = &(String, String)>,
) -> Result<(BTreeMap<ObjectId, Json>, Unseen), Error> {
    let (mut members, mut unseen) = (BTreeMap::new(), Unseen::new());
    for (group, kind) in kinds {
        let example = ObjectId::new(&**group, &**kind, "", "");
        match with_timeout(&example, list(client, discovery, set, &example)).await {
            Ok(listed) => members.extend(listed),
            Err(error) if error.is_silence() && !answers(client).await => return Err(error),
            Err(error) if error.is_about_kind() => {
                unseen.insert((group.clone(), kind.clone()), error.failure().message);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((members, unseen))
}

/// The members of one kind.
async fn list(
    client: &Client,
    discovery: &Discovery,
    set: &ApplySet,
    example: &ObjectId,
) -> Result<Vec<(ObjectId, Json)>, Error> {
    let Some(version) = discovery.preferred(example).await? else {
        return Ok(Vec::new());
    };
    let served = discovery.resolve(example, &version).await?;
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &served.resource);
    let labelled = ListParams::default().labels(&format!("{}={}", labels::PART_OF, set.id()));
    let listed = api.list(&labelled).await;
    let listed = listed.map_err(|error| Error::new(example, error))?;
    let member = |object: DynamicObject| {
        let mut live = serde_json::to_value(object).unwrap_or_default();
        live["apiVersion"] = Json::from(&*served.resource.api_version);
        live["kind"] = Json::from(example.kind.as_str());
        apply::is_applied(&live).then(|| (Live(&live).id(), live))
    };
    Ok(listed.into_iter().filter_map(member).collect())
}

/// What happens to the members that the plan lacks.
pub(super) fn leaving(
    members: &BTreeMap<ObjectId, Json>,
    plan: &Plan,
    guard: &DeletionGuard,
) -> BTreeMap<ObjectId, PruneDecision> {
    let steps = plan.steps.iter().map(|step| Arc::clone(&step.object));
    let steps: HashMap<Arc<ObjectId>, usize> = steps.zip(0..).collect();
    let left = members.iter().filter(|(id, _)| !steps.contains_key(*id));
    let refers = left.map(|(id, live)| {
        let refers = apply::references(std::slice::from_ref(live)).remove(id);
        (id.clone(), refers.unwrap_or_default())
    });
    let refers = refers.collect();
    let gone = members.iter().filter(|(id, _)| !steps.contains_key(*id));
    let new = plan
        .steps
        .iter()
        .filter(|step| Role::of(&step.object).is_some() && !members.contains_key(&step.object));
    let renamed = losses::renames(
        gone.map(|(_, live)| live),
        new.map(|step| step.action.payload.json()),
    );
    let members = members.iter();
    let members = members.map(|(id, live)| (id.clone(), Member::read(live, None, None)));
    apply::prune(&PruneInput {
        members: &members.collect(),
        leaving: &refers,
        steps: &steps,
        unapplied: &BTreeMap::new(),
        needed: &plan.outside,
        renamed: &renamed,
        guard,
    })
}

/// The members that own resources in Azure.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    applied: BTreeSet<ObjectId>,
    /// Those that are not in the plan, as they are.
    left: BTreeMap<ObjectId, Json>,
    /// Whether what leaves is deleted, unless something keeps it.
    prune: bool,
}

impl Owners {
    /// Those of `members`; `planned` are the objects of the plan.
    pub(super) fn of<'a>(
        mut members: BTreeMap<ObjectId, Json>,
        planned: impl Iterator<Item = &'a ObjectId>,
        prune: bool,
    ) -> Self {
        members.retain(|id, _| plan::owns_resources(id));
        let applied = members.keys().cloned().collect();
        for id in planned {
            members.remove(id);
        }
        Self {
            applied,
            left: members,
            prune,
        }
    }

    /// Adds to `changes` what would be owned a second time by `objects`, and which clusters would lose their last pool
    /// by these decisions.
    pub(super) fn leave(
        &self,
        changes: &mut Changes,
        objects: &[Object],
        decisions: &BTreeMap<ObjectId, PruneDecision>,
    ) {
        changes.succeed(self.left.values(), objects, |id| !self.applied.contains(id));
        // The last pool is held back, since its webhook would refuse the deletion.
        let is_deleted = |id: &ObjectId| {
            let decision = decisions.get(id);
            self.prune && decision.is_some_and(|decision| !decision.is_release())
        };
        let deleted = self.left.iter().filter(|(id, _)| is_deleted(id));
        changes.remove(deleted.map(|(_, live)| live), objects);
    }
}

/// What can be said of objects that would own the same resources in Azure as a member of the fleet.
#[derive(Debug, Default)]
pub struct SecondOwners {
    /// U04, for each such object.
    pub findings: Vec<Finding>,
    /// The kinds whose members cannot be seen, if one of those may own what a new object would own.
    pub unseen: Unseen,
}

/// U04: which objects would own the same resources in Azure as a member of the fleet that is none of them.
///
/// # Errors
/// When the cluster does not answer, or does not let us read.
pub async fn second_owners(
    client: &Client,
    set: &ApplySet,
    objects: &[Object],
) -> Result<SecondOwners, Error> {
    let Some((known, _)) = parent::read(client, set).await? else {
        return Ok(SecondOwners::default());
    };
    let kinds = known.kinds.iter();
    let kinds = kinds
        .filter(|(group, kind)| plan::owns_resources(&ObjectId::new(&**group, &**kind, "", "")));
    let discovery = Discovery::new(client.clone());
    let (members, mut unseen) = read(client, &discovery, set, kinds).await?;
    let owners = Owners::of(members, objects.iter().map(|object| &object.id), false);
    let mut owning = objects.iter().filter(|one| plan::owns_resources(&one.id));
    if owning.all(|one| owners.applied.contains(&one.id)) {
        // Nothing new owns anything.
        unseen.clear();
    }
    let mut changes = Changes::default();
    owners.leave(&mut changes, objects, &BTreeMap::new());
    Ok(SecondOwners {
        findings: changes.findings(),
        unseen,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::FutureExt as _;
    use http::{Request, Response};
    use kube::client::Body;
    use tokio::time::Instant;

    use super::*;

    /// Reads ten kinds of a cluster that says nothing but its version, if `has_version`. Also returns the seconds that
    /// took.
    async fn read_silent(has_version: bool) -> (Result<usize, Error>, u64) {
        let answer = move |request: Request<Body>| {
            if !has_version || request.uri().path() != "/version" {
                return std::future::pending().boxed();
            }
            let version = r#"{"major": "1", "minor": "34", "gitVersion": "v1.34.0", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}"#;
            let response = Response::new(Body::from(version.as_bytes().to_vec()));
            std::future::ready(Ok::<_, Infallible>(response)).boxed()
        };
        let client = Client::new(tower::service_fn(answer), "default");
        let kinds: BTreeSet<(String, String)> = (0..10)
            .map(|number| ("example.dev".to_owned(), format!("Kind{number}")))
            .collect();
        let (set, start) = (ApplySet::new("f", "default"), Instant::now());
        let discovery = Discovery::new(client.clone());
        let found = read(&client, &discovery, &set, &kinds).await;
        (
            found.map(|(_, unseen)| unseen.len()),
            start.elapsed().as_secs(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_beside_a_silent_cluster_is_given_up_at_the_first_steps() {
        use crate::compile::compile;
        use crate::model::Tree;

        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let client = Client::new(silent, "default");
        let map = |number| {
            format!(
                "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m{number}, namespace: default}}}}\n"
            )
        };
        let text: String = (0..100).map(map).collect();
        let tree = Tree {
            files: [("a.yaml".into(), text.as_bytes().into())].into(),
            ..Tree::default()
        };
        let compiled = compile(&tree, &[]);
        let set = ApplySet::new("f", "default");
        let plan = plan::against_none(&compiled.objects, &compiled.graph, &set);
        let (start, nowhere) = (Instant::now(), BTreeSet::new());
        let guard = DeletionGuard::default();
        let found = super::super::compare(&client, &set, plan, guard, &nowhere).await;
        assert!(found.is_err_and(|error| error.is_silence()));
        assert_eq!(start.elapsed().as_secs(), 70);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_cluster_is_given_up_at_the_first_kind() {
        let (found, seconds) = read_silent(false).await;
        assert!(found.is_err_and(|error| error.is_silence()));
        assert_eq!(seconds, 70);
        let (found, seconds) = read_silent(true).await;
        assert!(matches!(found, Ok(10)), "{found:?}");
        assert_eq!(seconds, 600);
    }
}
