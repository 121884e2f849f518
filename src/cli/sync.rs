//! `capstan sync`, `capstan suspend` and `capstan resume`: what people ask of the daemon of a fleet. They
//! annotate the parent of its ApplySet, which the daemon watches.

use clap::Args;
use kube::Client;

use super::cluster::{AccessArgs, Found};
use super::exit::Exit;
use super::ui::Ui;
use crate::adapters::kubernetes::annotate_parent;
use crate::adapters::kubernetes::survey::{FleetChoice, KnownFleet, fleets, heartbeat};
use crate::api::labels;
use crate::apply::{CONTENT, Newest, Parent, whole_seconds};
use crate::daemon::wall_time;
use crate::plan::ApplySet;
use crate::settings::Environment;
use crate::status::{FleetObjectState, Heartbeat};

#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    /// The fleet; needed if the cluster has more than one
    #[arg(long, value_name = "FLEET")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) access: AccessArgs,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Look for commits now.
    Sync,
    /// Stop applying.
    Suspend,
    /// Start applying again.
    Resume,
}

pub(super) fn run(
    request: Request,
    args: &FleetArgs,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(async {
        let name = args.name.as_deref();
        let found = Found::find(&args.access, name, environment).await?;
        ui.message(&format!(
            "using {}; --kubeconfig chooses another",
            found.name
        ));
        let client = found.client;
        let KnownFleet {
            set,
            parent,
            object,
        } = find(&client, name, environment).await?;
        if let Some(alone) = object.as_ref().filter(|object| !object.has_parent) {
            anyhow::bail!(not_begun(request, alone));
        }
        let now = wall_time().to_string();
        // Of two requests to sync within a second, each counts; a suspension is for people to read.
        let now = match request {
            Request::Sync => now,
            Request::Suspend | Request::Resume => whole_seconds(&now),
        };
        let heartbeat = heartbeat(&client, (&set, &parent), wall_time()).await?;
        let (change, message) = answer(request, set.fleet(), &parent, &heartbeat, &now);
        if let Some((key, value)) = change {
            annotate_parent(&client, &set, key, value).await?;
        }
        let by_object = object.as_ref().filter(|_| request == Request::Resume);
        let still = by_object.and_then(still_suspended);
        anyhow::Ok((message, still))
    })?;
    let (message, still) = done;
    ui.message(&message);
    if let Some(still) = &still {
        ui.error(still);
    }
    Ok(Exit::failed_if(still.is_some()))
}

/// The message after `capstan resume` if the Fleet object still suspends the fleet.
fn still_suspended(object: &FleetObjectState) -> Option<String> {
    let FleetObjectState {
        name, namespace, ..
    } = object;
    let suspended = object.suspended.as_ref()?;
    let help = suspended.help(namespace, name);
    Some(format!(
        "fleet {name} stays suspended by its Fleet ({}): {help}",
        suspended.by
    ))
}

/// The help for a fleet of which the cluster has only the Fleet object: it has no ConfigMap to annotate.
fn not_begun(request: Request, object: &FleetObjectState) -> String {
    let FleetObjectState {
        name, namespace, ..
    } = object;
    let annotate = format!("kubectl annotate fleet {name} -n {namespace}");
    let help = match (request, still_suspended(object)) {
        (Request::Resume, Some(still)) => return still,
        (Request::Resume, None) => {
            return format!("fleet {name} is not suspended; its Fleet {}", object.text());
        }
        (Request::Sync, _) => format!(
            "ask the Fleet itself: {annotate} --overwrite capstan.dev/sync-requested=\"$(date -u +%FT%TZ)\""
        ),
        (Request::Suspend, _) => {
            format!("suspend the Fleet itself: {annotate} capstan.dev/suspended=\"$USER\"")
        }
    };
    format!(
        "the cluster has no ConfigMap capstan-{name} in namespace {namespace} yet, and its Fleet {}. Meanwhile, {help}",
        object.text()
    )
}

/// The fleet that is meant.
async fn find(
    client: &Client,
    name: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<KnownFleet> {
    let choice = FleetChoice {
        fleet: name.map(str::to_owned),
        namespace: environment.namespace.clone(),
    };
    let mut found = fleets(client, &choice).await?;
    let names: Vec<String> = found.iter().map(|fleet| place(&fleet.set)).collect();
    let first = found.pop().filter(|_| found.is_empty());
    first.ok_or_else(|| match name {
        None => anyhow::anyhow!(
            "the cluster has the fleets {}: choose one with --name",
            names.join(", ")
        ),
        Some(name) => anyhow::anyhow!(
            "the cluster has more than one fleet {name}: {}; choose one with CAPSTAN_NAMESPACE",
            names.join(", ")
        ),
    })
}

fn place(set: &ApplySet) -> String {
    format!("{} (in namespace {})", set.fleet(), set.namespace())
}

/// An annotation, and its new value.
type Change<'a> = (&'static str, Option<&'a str>);

/// The annotation to change, and what to report.
fn answer<'a>(
    request: Request,
    fleet: &str,
    parent: &Parent,
    heartbeat: &Heartbeat,
    now: &'a str,
) -> (Option<Change<'a>>, String) {
    let since = parent.suspended.as_str();
    let look = look(heartbeat);
    let (change, message) = match (request, since) {
        (Request::Sync, "") if matches!(heartbeat, Heartbeat::Idle(_)) => (
            Some((labels::SYNC_REQUESTED, Some(now))),
            format!("requested, but {look}"),
        ),
        (Request::Sync, "") => (
            Some((labels::SYNC_REQUESTED, Some(now))),
            format!(
                "requested: {look}, and retries what failed{}",
                by_hand(parent)
            ),
        ),
        (Request::Sync, _) => (
            Some((labels::SYNC_REQUESTED, Some(now))),
            format!(
                "requested: {look}; nothing is applied, since the fleet is suspended (capstan resume --name {fleet})"
            ),
        ),
        (Request::Suspend, "") => (
            Some((labels::SUSPENDED, Some(now))),
            format!(
                "suspended. Nothing is applied, repaired or removed until `capstan resume --name {fleet}`; commits are still checked"
            ),
        ),
        (Request::Suspend, since) => (None, format!("it has been suspended since {since}")),
        (Request::Resume, "") => (None, format!("it is not suspended{}", still(parent))),
        (Request::Resume, since) => (
            Some((labels::SUSPENDED, None)),
            format!("resumed; it was suspended since {since}{}", still(parent)),
        ),
    };
    (change, format!("fleet {fleet}: {message}"))
}

/// The daemon that looks for commits.
fn look(heartbeat: &Heartbeat) -> String {
    match heartbeat {
        Heartbeat::Unnamed => "a running daemon looks for commits now".to_owned(),
        Heartbeat::Alive(holder) => format!("{holder} looks for commits now"),
        Heartbeat::Unseen(why) => format!("a running daemon looks for commits now ({why})"),
        Heartbeat::Idle(_) => heartbeat.text().unwrap_or_default(),
        Heartbeat::Silent { .. } => {
            let text = heartbeat.text().unwrap_or_default();
            format!("{text}, which then looks for commits")
        }
    }
}

/// What applied the fleet last names it by its content if a person did.
fn by_hand(parent: &Parent) -> &'static str {
    match parent.applying.starts_with(CONTENT) {
        true => ". It was last applied by `capstan apply`, so it may have no daemon",
        false => "",
    }
}

/// The Fleet document may suspend the fleet, too.
fn still(parent: &Parent) -> String {
    let newest = parent.newest.as_ref();
    match newest.filter(|newest| newest.why == Newest::BY_DOCUMENT) {
        Some(_) => format!(
            " by a person; but {}. Change it to continue",
            Newest::BY_DOCUMENT
        ),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_fleet_object_suspends_is_named_and_not_resumed() {
        let read = |annotations: serde_json::Value, suspend: bool| {
            let object = json!({"metadata": {"name": "f", "namespace": "n", "annotations": annotations},
                "spec": {"apply": {"suspend": suspend}}});
            FleetObjectState::read(&object).expect("it has a name")
        };
        let by_annotation = read(json!({labels::SUSPENDED: "ada: upgrade"}), false);
        let by_field = read(json!({}), true);
        for (object, words) in [
            (
                &by_annotation,
                [
                    "(ada: upgrade)",
                    "annotate fleet f -n n capstan.dev/suspended-",
                ],
            ),
            (
                &by_field,
                ["(spec.apply.suspend)", "`spec.apply.suspend: false`"],
            ),
        ] {
            let still = still_suspended(object).unwrap_or_default();
            let alone = not_begun(Request::Resume, object);
            for text in [still, alone] {
                assert!(words.iter().all(|word| text.contains(word)), "{text}");
            }
        }
        let free = read(json!({}), false);
        assert_eq!(still_suspended(&free), None);
        for (request, word) in [
            (Request::Resume, "is not suspended"),
            (Request::Sync, "capstan.dev/sync-requested="),
            (Request::Suspend, "capstan.dev/suspended="),
        ] {
            let text = not_begun(request, &free);
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn only_what_changes_is_written() {
        let parent = |suspended: &str| Parent {
            suspended: suspended.to_owned(),
            ..Parent::default()
        };
        let change = |request, suspended| {
            answer(request, "f", &parent(suspended), &Heartbeat::Unnamed, "now").0
        };
        let suspend = (labels::SUSPENDED, Some("now"));
        assert_eq!(change(Request::Suspend, ""), Some(suspend));
        assert_eq!(change(Request::Suspend, "then"), None);
        assert_eq!(change(Request::Resume, ""), None);
        let resume = (labels::SUSPENDED, None);
        assert_eq!(change(Request::Resume, "then"), Some(resume));
        let document = Parent {
            newest: Some(Newest::waiting("1", Newest::BY_DOCUMENT)),
            ..parent("then")
        };
        for (fleet, mentions) in [(document, true), (parent("then"), false)] {
            let (_, message) = answer(Request::Resume, "f", &fleet, &Heartbeat::Unnamed, "now");
            assert_eq!(
                message.contains("spec.apply.suspend"),
                mentions,
                "{message}"
            );
        }
        let by_hand = Parent {
            applying: format!("{CONTENT}1"),
            ..Parent::default()
        };
        let (_, message) = answer(Request::Sync, "f", &by_hand, &Heartbeat::Unnamed, "now");
        assert!(message.contains("may have no daemon"), "{message}");
        let silent = Heartbeat::Silent {
            last: "pod".to_owned(),
            since: None,
        };
        let (_, message) = answer(Request::Sync, "f", &Parent::default(), &silent, "now");
        assert!(message.contains("no daemon serves the fleet"), "{message}");
        for suspended in ["", "then"] {
            let sync = (labels::SYNC_REQUESTED, Some("now"));
            assert_eq!(change(Request::Sync, suspended), Some(sync));
        }
    }
}
