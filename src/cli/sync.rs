//! `capstan sync`, `capstan suspend` and `capstan resume`: what people ask of the daemon of a fleet. They
//! annotate the parent of its ApplySet, which the daemon watches.

use clap::Args;
use kube::Client;

use super::apply::CONTENT;
use super::cluster::{AccessArgs, Found};
use super::exit::Exit;
use super::ui::Ui;
use crate::adapters::kubernetes::annotate_parent;
use crate::adapters::kubernetes::survey::{FleetChoice, fleets, heartbeat};
use crate::api::labels;
use crate::apply::{Newest, Parent, whole_seconds};
use crate::daemon::wall_time;
use crate::plan::ApplySet;
use crate::settings::Environment;
use crate::status::Heartbeat;

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
        let (set, parent) = find(&client, name, environment).await?;
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
        anyhow::Ok(message)
    })?;
    ui.message(&done);
    Ok(Exit::Fine)
}

/// The fleet that is meant.
async fn find(
    client: &Client,
    name: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<(ApplySet, Parent)> {
    let choice = FleetChoice {
        fleet: name.map(str::to_owned),
        namespace: environment.namespace.clone(),
    };
    let mut found = fleets(client, &choice).await?;
    let names: Vec<String> = found.iter().map(|(set, _)| place(set)).collect();
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
    use super::*;

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
