//! Clusters as the API shows them.
//!
//! In: an instance, the time, and its kubeconfig if it may be shown. Out: its status, and the body of an answer. Reads, lists and events use
//! the same status.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::agents::shortage;
use super::capabilities::Platform;
use super::definition::platform;
use super::instance::{Hosted, Instance};
use super::proposal::Review;
use super::request::{Dialect, Request};
use super::status::{Assessment, Nodes, State, Status, assess, nodes};
use crate::api::fleet::{ApiDialect, ServiceProvider, WriteMode};
use crate::api::labels::APPROVE;

/// The revision that is followed, as far as it concerns instances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Why the revision is not applied, if it has errors: the first of them with its place.
    pub finding: Option<String>,
    /// The ID of the fleet's ApplySet; `None` if the provider does not write to git.
    pub set: Option<String>,
    /// The clusters, `namespace/name`, whose deletion the branch approves.
    pub approved: BTreeSet<String>,
    /// True if the fleet says who approves: then the API does not.
    pub needs_person: bool,
}

/// The status of an instance.
#[must_use]
pub fn status(
    instance: &Instance,
    followed: &Followed,
    settings: &ServiceProvider,
    now: Timestamp,
) -> Assessment {
    let mut found = status_without_removal(instance, followed, settings, now);
    // Only what is not deleted yet can wait for that.
    let removal = instance.review.as_ref().filter(|_| instance.file.is_some());
    if let Some(review) = removal.filter(|_| found.status.state != State::Deleting) {
        found.status.message = match review {
            Review::Open(url) => format!("the deletion awaits merge: {url}"),
            Review::Unopened | Review::Closed(_) => {
                "the deletion awaits its pull request, which is opened next".to_owned()
            }
        };
    }
    found
}

fn status_without_removal(
    instance: &Instance,
    followed: &Followed,
    settings: &ServiceProvider,
    now: Timestamp,
) -> Assessment {
    let told = |state, message: String| Assessment {
        status: Status { state, message },
        again: None,
    };
    let addition = instance.review.as_ref().filter(|_| instance.file.is_none());
    let Some(hosted) = &instance.hosted else {
        if let Some(review) = addition {
            let (state, message) = awaited(review);
            return told(state, message);
        }
        let message = match &followed.finding {
            Some(why) => format!("the revision is not applied: {why}"),
            None if instance.is_taken => "the hub has a cluster of this name that is not part of the fleet: delete one of the two".to_owned(),
            None => "the definition is committed, and waits to be applied".to_owned(),
        };
        return told(State::Pending, message);
    };
    let pools: Vec<&Json> = hosted.pools.iter().map(AsRef::as_ref).collect();
    let mut found = assess(Some(&hosted.cluster), &pools, settings.status_mapping, now);
    let status = &mut found.status;
    // The provider makes each cluster with a node pool.
    if status.state == State::Ready && pools.is_empty() && instance.stored.request.is_some() {
        status.state = State::Provisioning;
        status.message = "the cluster has no node pool".to_owned();
    }
    let is_own = followed.set.is_some() && hosted.set() == followed.set.as_deref();
    if !is_own || status.state == State::Deleting {
        return found;
    }
    let name = hosted.full_name();
    match (&instance.file, &followed.finding) {
        (Some(_), _) if name == instance.stored.full_name() => {}
        (Some(_), _) => {
            let new = &instance.stored.name;
            status.message = format!(
                "the definition is called {new} now; the cluster keeps its name until its rename is approved"
            );
        }
        (None, Some(why)) => {
            status.message =
                format!("the definition was removed, and the revision is not applied: {why}");
        }
        // A fleet deletes a cluster whose file is gone once its revision is applied.
        (None, None) if followed.approved.contains(&name) => {
            status.state = State::Deleting;
            status.message = "the definition was removed; the cluster is deleted once all that is connected with it is applied".to_owned();
        }
        (None, None) => {
            status.message = unapproved(&name, settings.write_mode, followed.needs_person);
        }
    }
    found
}

/// Says how the deletion of a cluster, `namespace/name`, whose definition was removed is approved, in a fleet that may say who does.
#[must_use]
pub fn unapproved(name: &str, mode: WriteMode, needs_person: bool) -> String {
    let comment =
        format!("comment `/capstan approve delete {name}` on the pull request that removed it");
    let commit = format!("push a commit with the line `{APPROVE}: delete {name}`");
    let how = match mode {
        _ if needs_person => comment,
        WriteMode::PullRequest => format!("{comment}, or {commit}"),
        WriteMode::Direct | WriteMode::Commit => format!("delete it over this API, or {commit}"),
    };
    format!(
        "the definition was removed, and the cluster is kept until its deletion is approved: {how}"
    )
}

/// The status of a cluster whose definition is not merged.
fn awaited(review: &Review) -> (State, String) {
    match review {
        Review::Unopened => (
            State::Pending,
            "the definition awaits its pull request, which is opened next".to_owned(),
        ),
        Review::Open(url) => (State::Pending, format!("awaits merge: {url}")),
        Review::Closed(url) => (
            State::Failed,
            format!("the pull request was closed without a merge: {url}"),
        ),
    }
}

/// Says what machines a bare-metal cluster waits for; `None` if it waits for none.
#[must_use]
pub fn lacking<'a>(
    instance: &Instance,
    status: &Status,
    settings: &ServiceProvider,
    agents: impl Iterator<Item = &'a Json>,
) -> Option<String> {
    let request = instance.stored.request.as_ref()?;
    let waits = matches!(status.state, State::Pending | State::Provisioning);
    let is_bare_metal = platform(request, settings) == Platform::BareMetal;
    instance
        .hosted
        .as_ref()
        .filter(|_| waits && is_bare_metal)?;
    let worker = counts(instance).worker;
    let missing = worker.total.saturating_sub(worker.ready);
    // Machines that are on their way to this cluster are bound already.
    let name = &instance.stored.name;
    let (bound, others): (Vec<&Json>, Vec<&Json>) =
        agents.partition(|agent| agent["spec"]["clusterDeploymentName"]["name"] == **name);
    let bound = u32::try_from(bound.len())
        .unwrap_or(u32::MAX)
        .saturating_sub(worker.ready);
    shortage(
        request,
        settings,
        others.into_iter(),
        missing.saturating_sub(bound),
    )
}

/// Returns true if the credentials of a cluster with this status are shown.
#[must_use]
pub const fn shows_credentials(state: State) -> bool {
    matches!(state, State::Ready | State::Unavailable)
}

/// The place of the kubeconfig of a cluster: its Secret, and the key in it.
#[must_use]
pub fn kubeconfig_secret(hosted: &Hosted) -> Option<&str> {
    hosted.cluster["status"]["kubeconfig"]["name"].as_str()
}

/// The parts of a cluster that an answer shows.
pub struct Shown<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// Its status.
    pub status: &'a Status,
    /// Its kubeconfig in base64, if it may be shown.
    pub kubeconfig: Option<&'a str>,
}

/// The body of a read: the fields of both shapes, or of the one that the settings name.
#[must_use]
pub fn read(shown: &Shown<'_>, settings: &ServiceProvider) -> Json {
    let mut all = Map::new();
    if settings.api_dialect != ApiDialect::Proposal {
        dcm(shown, settings, &mut all);
    }
    if settings.api_dialect != ApiDialect::Dcm {
        proposal(shown, settings, &mut all);
    }
    Json::Object(all)
}

/// The body of the answer to the request for a cluster, in the shape of that request unless the settings name one.
#[must_use]
pub fn created(shown: &Shown<'_>, dialect: Dialect, settings: &ServiceProvider) -> Json {
    let mut body = Map::new();
    let is_dcm = match settings.api_dialect {
        ApiDialect::Auto => dialect == Dialect::Dcm,
        ApiDialect::Dcm => true,
        ApiDialect::Proposal => false,
    };
    if is_dcm {
        dcm(shown, settings, &mut body);
    } else {
        proposal(shown, settings, &mut body);
    }
    Json::Object(body)
}

/// The body of a list.
#[must_use]
pub fn list(clusters: Vec<Json>, next: Option<String>, settings: &ServiceProvider) -> Json {
    let mut body = Map::new();
    if settings.api_dialect != ApiDialect::Proposal {
        body.insert("clusters".to_owned(), clusters.clone().into());
    }
    if settings.api_dialect != ApiDialect::Dcm {
        body.insert("results".to_owned(), clusters.into());
    }
    if let Some(next) = next {
        body.insert("next_page_token".to_owned(), next.into());
    }
    Json::Object(body)
}

/// The shape of the proposal: every field is there, and empty until it has a value.
fn proposal(shown: &Shown<'_>, settings: &ServiceProvider, body: &mut Map<String, Json>) {
    let instance = shown.instance;
    let stored = &instance.stored;
    let counts = counts(instance);
    let count =
        |count: super::status::NodeCount| json!({"ready": count.ready, "total": count.total});
    let fields = json!({
        "requestId": stored.id,
        "name": stored.name,
        "status": settings.status_vocabulary.word(shown.status.state),
        "provisioningType": "hypershift",
        "platform": platform_of(instance, settings).map_or("", |platform| platform.name()),
        "version": version(instance),
        "apiEndpoint": endpoint(shown).unwrap_or_default(),
        "consoleUrl": console(shown, settings).unwrap_or_default(),
        "nodes": {"controlPlane": count(counts.control_plane), "worker": count(counts.worker)},
        "kubeconfig": shown.kubeconfig.unwrap_or_default(),
        "metadata": {"namespace": stored.namespace, "createdAt": created_at(instance)},
    });
    extend(body, fields);
}

/// The shape that DCM reads: a field without a value is absent.
fn dcm(shown: &Shown<'_>, settings: &ServiceProvider, body: &mut Map<String, Json>) {
    let instance = shown.instance;
    let stored = &instance.stored;
    let sent = stored.request.as_ref().map(|request| request.sent.clone());
    let spec = sent.unwrap_or_else(|| {
        json!({"metadata": {"name": stored.name}, "service_type": "cluster", "version": version(instance)})
    });
    let message = Some(&shown.status.message).filter(|message| !message.is_empty());
    let fields = json!({
        "id": stored.id,
        "path": format!("clusters/{}", stored.id),
        "spec": spec,
        "status": settings.status_vocabulary.word(shown.status.state),
        "status_message": message,
        "api_endpoint": endpoint(shown),
        "console_uri": console(shown, settings),
        "kubeconfig": shown.kubeconfig,
        "create_time": created_at(instance),
        "update_time": updated_at(instance),
    });
    extend(body, fields);
    body.retain(|_, value| !value.is_null());
}

fn extend(body: &mut Map<String, Json>, fields: Json) {
    if let Json::Object(fields) = fields {
        body.extend(fields);
    }
}

fn counts(instance: &Instance) -> Nodes {
    let request = instance.stored.request.as_ref();
    let requested = request.and_then(|request| request.control_plane.count);
    match &instance.hosted {
        Some(hosted) => {
            let pools: Vec<&Json> = hosted.pools.iter().map(AsRef::as_ref).collect();
            nodes(&hosted.cluster, &pools, requested)
        }
        None => {
            let worker = request.map(|request| request.worker.count.unwrap_or(1));
            let mut nodes = nodes(&Json::Null, &[], requested);
            nodes.worker.total = worker.unwrap_or_default();
            nodes
        }
    }
}

fn platform_of(instance: &Instance, settings: &ServiceProvider) -> Option<Platform> {
    let live = instance.hosted.as_ref();
    let live = live.and_then(|hosted| hosted.cluster["spec"]["platform"]["type"].as_str());
    match live {
        Some("KubeVirt") => Some(Platform::KubeVirt),
        Some("Agent") => Some(Platform::BareMetal),
        Some(_) => None,
        None => instance
            .stored
            .request
            .as_ref()
            .map(|request| platform(request, settings)),
    }
}

/// The version that was asked for, or else the one that runs.
fn version(instance: &Instance) -> String {
    let asked = instance.stored.version.clone();
    let running = || {
        let history =
            instance.hosted.as_ref()?.cluster["status"]["version"]["history"].as_array()?;
        let whole = history.iter().find(|entry| entry["state"] == "Completed")?;
        whole["version"].as_str().map(str::to_owned)
    };
    asked.or_else(running).unwrap_or_default()
}

fn created_at(instance: &Instance) -> Option<String> {
    let live = || {
        let hosted = instance.hosted.as_ref()?;
        hosted.cluster["metadata"]["creationTimestamp"]
            .as_str()
            .map(str::to_owned)
    };
    instance.stored.requested_at.clone().or_else(live)
}

/// The newest change of a condition, or else the creation.
fn updated_at(instance: &Instance) -> Option<String> {
    let hosted = instance.hosted.as_ref();
    let objects = hosted
        .into_iter()
        .flat_map(|hosted| hosted.pools.iter().chain([&hosted.cluster]));
    let conditions = objects.flat_map(|object| {
        object["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
    });
    let times = conditions.filter_map(|one| one["lastTransitionTime"].as_str());
    let newest = times
        .filter_map(|time| time.parse::<Timestamp>().ok())
        .max();
    let created = created_at(instance);
    let later = newest.filter(|newest| {
        let created = created
            .as_ref()
            .and_then(|created| created.parse::<Timestamp>().ok());
        created.is_none_or(|created| created < *newest)
    });
    later
        .map(|time| time.strftime("%FT%TZ").to_string())
        .or(created)
}

fn endpoint(shown: &Shown<'_>) -> Option<String> {
    let hosted = shown.instance.hosted.as_ref();
    let hosted = hosted.filter(|_| shows_credentials(shown.status.state))?;
    let endpoint = &hosted.cluster["status"]["controlPlaneEndpoint"];
    let host = endpoint["host"].as_str().filter(|host| !host.is_empty())?;
    let port = endpoint["port"].as_u64().unwrap_or(6443);
    // An IPv6 address.
    if host.contains(':') && !host.starts_with('[') {
        Some(format!("https://[{host}]:{port}"))
    } else {
        Some(format!("https://{host}:{port}"))
    }
}

fn console(shown: &Shown<'_>, settings: &ServiceProvider) -> Option<String> {
    let hosted = shown.instance.hosted.as_ref();
    let hosted = hosted.filter(|_| shows_credentials(shown.status.state))?;
    let domain = hosted.cluster["spec"]["dns"]["baseDomain"].as_str();
    let domain = domain.filter(|domain| !domain.is_empty())?;
    let pattern = settings
        .console_url
        .replace("{name}", &shown.instance.stored.name);
    Some(pattern.replace("{base_domain}", domain)).filter(|url| !url.is_empty())
}

/// Returns true if a request asks for the cluster that an instance is.
#[must_use]
pub fn is_same_request(instance: &Instance, request: &Request) -> bool {
    let stored = instance.stored.request.as_ref();
    stored.is_some_and(|stored| stored.sent == request.sent)
}
