//! `capstan adopt`: the move of a fleet to another name or namespace.

use anyhow::Context as _;
use clap::Args;

use super::cluster::{AccessArgs, Found};
use super::exit::Exit;
use super::ui::{Ui, plain_lines};
use crate::adapters::kubernetes::adopt::{Moved, Server, adopt, exists, server, unplanned};
use crate::model::{ObjectId, is_dns_label, is_dns_subdomain};
use crate::plan::ApplySet;
use crate::settings::Environment;

#[derive(Debug, Args)]
pub(super) struct AdoptArgs {
    /// The fleet that ends: its name, or NAMESPACE/NAME where its ConfigMap is not in the namespace CAPSTAN_NAMESPACE
    #[arg(long, value_name = "FLEET")]
    from: String,
    /// The fleet that takes over what it has, in the same form
    #[arg(long, value_name = "FLEET")]
    to: String,
    /// Print what would be moved, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    access: AccessArgs,
}

/// Exit 1 if members stay that cannot be seen.
pub(super) fn run(args: &AdoptArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let from = set(&args.from, environment).context("--from")?;
    let to = set(&args.to, environment).context("--to")?;
    anyhow::ensure!(
        from != to,
        "--from and --to are the same fleet: there is nothing to move"
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let moved = runtime.block_on(work(&from, &to, args, ui, environment))?;
    let Some(moved) = moved else {
        ui.message(&format!(
            "there is no fleet {}: nothing is left to move",
            place(&from)
        ));
        return Ok(Exit::Fine);
    };
    let verb = if args.dry_run { "would move" } else { "moved" };
    let lines = moved.members.iter().map(|id| format!("{verb} {id}\n"));
    ui.data(&plain_lines(&lines.collect::<String>()))?;
    for ((group, kind), why) in &moved.unseen {
        ui.error(&format!("members of the kind {kind} of {group:?} stay in the fleet {}: {why}; run the same again once they can be listed", place(&from)));
    }
    ui.message(&summary(&moved, &from, &to, args.dry_run));
    Ok(Exit::failed_if(!moved.unseen.is_empty()))
}

/// Moves `from` to `to`; `None` if that was done before.
async fn work(
    from: &ApplySet,
    to: &ApplySet,
    args: &AdoptArgs,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Option<Moved>> {
    let found = Found::find(&args.access, Some(from.fleet()), environment).await?;
    ui.message(&format!(
        "using {}; --kubeconfig chooses another",
        found.name
    ));
    let client = found.client;
    match server(&client, from).await? {
        Server::Nobody => {}
        Server::Unknown => ui.message(&format!(
            "the parent of the fleet {} names no Lease, so it is not known if a daemon serves it: one that does must be stopped first",
            place(from)
        )),
        Server::Process { holder, lease } if args.dry_run => ui.message(&format!(
            "the fleet {} is served by {holder}, which holds the Lease {lease}: it must be stopped first",
            place(from)
        )),
        Server::Process { holder, lease } => anyhow::bail!(
            "the fleet {} is served by {holder}, which holds the Lease {lease} and would take back what moves: stop that daemon, or delete its Fleet object, and run the same again",
            place(from)
        ),
    }
    let planned = adopt(&client, from, to, true).await?;
    if !planned.is_known {
        anyhow::ensure!(
            exists(&client, to).await?,
            "there is neither a fleet {} nor a fleet {}",
            place(from),
            place(to)
        );
        return Ok(None);
    }
    let unplanned = unplanned(&client, to, &planned.members).await?;
    match unplanned.first() {
        Some(first) if args.dry_run => ui.message(&removes(first, unplanned.len(), to)),
        Some(first) => anyhow::bail!(removes(first, unplanned.len(), to)),
        None => {}
    }
    if args.dry_run {
        return Ok(Some(planned));
    }
    let moved = adopt(&client, from, to, false).await;
    let moved = moved.context("the move is not complete; run the same again")?;
    Ok(Some(moved))
}

/// The message for members that the fleet which takes over would remove.
fn removes(first: &ObjectId, count: usize, to: &ApplySet) -> String {
    let more = match count {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    format!(
        "the revision of the fleet {} lacks {first}{more}, so its daemon would remove what moves: push a revision that has it, or run `capstan suspend --name {}` first",
        place(to),
        to.fleet()
    )
}

fn summary(moved: &Moved, from: &ApplySet, to: &ApplySet, is_dry: bool) -> String {
    let (count, from, to) = (moved.members.len(), place(from), place(to));
    let objects = if count == 1 { "object" } else { "objects" };
    if is_dry {
        return format!("{count} {objects} of the fleet {from} would move to {to}");
    }
    let ends = match moved.unseen.is_empty() {
        true => format!("the fleet {from} is gone"),
        false => format!("the fleet {from} stays until the rest has moved"),
    };
    format!("moved {count} {objects} to the fleet {to}; {ends}")
}

/// Reads NAME or NAMESPACE/NAME.
fn set(text: &str, environment: &Environment) -> anyhow::Result<ApplySet> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (namespace, name),
        None => (environment.namespace.as_str(), text),
    };
    anyhow::ensure!(
        is_dns_label(namespace) && is_dns_subdomain(name),
        "{text}: not a fleet; write its name, or NAMESPACE/NAME"
    );
    Ok(ApplySet::new(name, namespace))
}

fn place(set: &ApplySet) -> String {
    format!("{}/{}", set.namespace(), set.fleet())
}
