//! `capstan status`: which clusters are ready, what blocks the others, and since when.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value as Json, json};

use super::args::DataFormat;
use super::cluster::AccessArgs;
use super::cluster_status::{ClusterStatus, word, wrapped};
use super::exit::Exit;
use super::ui::Ui;
use crate::apply::Parent;
use crate::plan::ApplySet;
use crate::settings::Environment;
use crate::status::{Chain, ClusterView, FleetView, Phase, Stray};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Show only this fleet
    #[arg(long, value_name = "NAME")]
    pub(super) fleet: Option<String>,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

/// How many causes are listed for objects that belong to no cluster.
const STRAYS: usize = 20;
/// How many objects are named that have the same cause.
const NAMED: usize = 3;
/// The phases that are counted besides ready, the worst first.
const COUNTED: [Phase; 8] = [
    Phase::Failed,
    Phase::NotServed,
    Phase::Retrying,
    Phase::Deleting,
    Phase::Waiting,
    Phase::NotMade,
    Phase::Progressing,
    Phase::Unknown,
];

/// Exit 1 when something failed so that waiting is in vain.
pub(super) fn run(args: &StatusArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let status = ClusterStatus::read(&args.access, args.fleet.as_deref(), environment)?;
    let fleets: Vec<(&ApplySet, &Parent, FleetView)> = status
        .survey
        .fleets
        .iter()
        .map(|(set, parent)| (set, parent, status.graph.fleet(set, parent)))
        .collect();
    ui.data(&match args.format {
        DataFormat::Text => text(&status, &fleets),
        DataFormat::Json => format!("{:#}\n", report(&status, &fleets)),
    })?;
    let failed = |view: &FleetView| view.count(Phase::Failed) > 0;
    Ok(Exit::failed_if(
        fleets.iter().any(|(.., view)| failed(view)),
    ))
}

fn text(status: &ClusterStatus, fleets: &[(&ApplySet, &Parent, FleetView)]) -> String {
    let mut out = String::new();
    for (set, parent, view) in fleets {
        let _ = writeln!(out, "fleet {}", set.fleet());
        if !parent.source.is_empty() {
            out.push_str(&wrapped("  source    ", &parent.source));
        }
        out.push_str(&wrapped("  revision  ", &revisions(parent)));
        let _ = writeln!(out, "  objects   {}", counts(view));
        out.push_str(&missing(parent, view));
        out.push('\n');
        let width = |cluster: &ClusterView| name(status, cluster).len();
        let width = view.clusters.iter().map(width).max().unwrap_or_default();
        for cluster in &view.clusters {
            out.push_str(&cluster_text(status, cluster, width));
        }
        let ready = |cluster: &ClusterView| cluster.phase == Phase::Ready;
        if view.clusters.last().is_some_and(ready) {
            out.push('\n');
        }
        out.push_str(&strays_text(status, view));
    }
    for unreadable in status.unreadable() {
        out.push_str(&wrapped("not seen: ", &unreadable));
    }
    let worst = fleets.iter().filter_map(|(.., view)| view.clusters.first());
    let worst = worst.max_by_key(|cluster| cluster.phase);
    if let Some(cluster) = worst.filter(|cluster| cluster.phase != Phase::Ready) {
        let id = status.graph.id(cluster.root);
        let _ = writeln!(out, "the full chain: capstan why {id}");
    }
    out
}

fn revisions(parent: &Parent) -> String {
    let Parent {
        applying,
        applied,
        ready,
        ..
    } = parent;
    let short = |revision: &str| match revision {
        "" => "none".to_owned(),
        id if id.len() == 40 && id.chars().all(|c| c.is_ascii_hexdigit()) => id[..12].to_owned(),
        other => other.to_owned(),
    };
    if applying == applied && applied == ready {
        return match applying.as_str() {
            "" => "none".to_owned(),
            revision => format!("{}, applied and ready", short(revision)),
        };
    }
    let (now, done, good) = (short(applying), short(applied), short(ready));
    match applying == applied {
        true => format!("{now}, applied; last ready {good}"),
        false => format!("{now}, being applied; last applied {done}, last ready {good}"),
    }
}

/// `31 of 55 ready; 1 failed, 20 progressing`.
fn counts(view: &FleetView) -> String {
    let other = |phase: &Phase| match view.count(*phase) {
        0 => None,
        count => Some(format!("{count} {}", word(*phase).to_lowercase())),
    };
    let others: Vec<String> = COUNTED.iter().filter_map(other).collect();
    let ready = format!("{} of {} ready", view.count(Phase::Ready), view.total());
    match others.as_slice() {
        [] => ready,
        others => format!("{ready}; {}", others.join(", ")),
    }
}

/// The line about missing objects, if there are any.
fn missing(parent: &Parent, view: &FleetView) -> String {
    let (wanted, missing) = (parent.objects.unwrap_or_default(), view.missing);
    match missing {
        0 => String::new(),
        _ => wrapped(
            "  missing   ",
            &format!(
                "{missing} of {wanted} objects are missing or belong to somebody else; the commit's check or `apply` says why"
            ),
        ),
    }
}

fn name(status: &ClusterStatus, cluster: &ClusterView) -> String {
    let id = status.graph.id(cluster.root);
    format!("{}/{}", id.namespace, id.name)
}

fn cluster_text(status: &ClusterStatus, cluster: &ClusterView, width: usize) -> String {
    let mut out = String::new();
    let age = status.age(cluster.root);
    let line = format!(
        "  {:<11} {:<width$}  {}/{} ready  {}",
        word(cluster.phase),
        name(status, cluster),
        cluster.ready,
        cluster.total,
        if cluster.phase == Phase::Ready {
            ""
        } else {
            &age
        },
    );
    let _ = writeln!(out, "{}", line.trim_end());
    if let Some(chain) = &cluster.chain {
        out.push_str(&chain_text(status, chain, "    "));
        out.push('\n');
    }
    out
}

/// What blocks, its message, and what helps.
fn chain_text(status: &ClusterStatus, chain: &Chain, indent: &str) -> String {
    let mut out = String::new();
    let at = chain.blocker();
    let found = status.graph.status(at);
    let state = format!("{} {}", word(found.phase), status.age(at));
    let id = status.graph.id(at);
    let _ = writeln!(out, "{indent}{id}: {}", state.trim_end());
    out.push_str(&words_text(status, at, &format!("{indent}  ")));
    let same = |at: &&usize| status.graph.status(**at).phase == found.phase;
    let same = chain.others.iter().filter(same).count();
    if same > 0 {
        let state = word(found.phase).to_lowercase();
        let _ = writeln!(out, "{indent}and {same} more {state}");
    }
    out
}

/// An object's message, and what helps.
fn words_text(status: &ClusterStatus, at: usize, indent: &str) -> String {
    let mut out = wrapped(indent, &status.graph.status(at).words());
    let help = status.graph.help(at, status.now);
    if !help.is_empty() {
        out.push_str(&wrapped(&format!("{indent}help: "), &help));
    }
    out
}

fn strays_text(status: &ClusterStatus, view: &FleetView) -> String {
    let mut out = String::new();
    for stray in view.strays.iter().take(STRAYS) {
        let Stray { blocker, objects } = stray;
        let phase = word(status.graph.status(*blocker).phase);
        let id = status.graph.id(*blocker);
        let line = format!("  {phase:<11} {id}  {}", status.age(*blocker));
        let _ = writeln!(out, "{}", line.trim_end());
        out.push_str(&words_text(status, *blocker, "    "));
        let waiting: Vec<String> = objects
            .iter()
            .filter(|at| *at != blocker)
            .map(|at| status.graph.id(*at).to_string())
            .collect();
        if !waiting.is_empty() {
            let more = waiting.len().saturating_sub(NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let named = waiting[..waiting.len().min(NAMED)].join(", ");
            out.push_str(&wrapped("    waited for by ", &format!("{named}{more}")));
        }
    }
    if view.strays.len() > STRAYS {
        let _ = writeln!(out, "  and {} more", view.strays.len() - STRAYS);
    }
    if !out.is_empty() {
        out.insert_str(0, "  in no cluster:\n");
        out.push('\n');
    }
    out
}

fn report(status: &ClusterStatus, fleets: &[(&ApplySet, &Parent, FleetView)]) -> Json {
    let fleet = |(set, parent, view): &(&ApplySet, &Parent, FleetView)| {
        let clusters = view
            .clusters
            .iter()
            .map(|cluster| cluster_json(status, cluster));
        let strays = view.strays.iter().map(|stray| {
            let objects = stray.objects.iter().map(|at| status.link(*at));
            let objects: Vec<Json> = objects.collect();
            json!({"blocker": status.blocker(stray.blocker), "objects": objects})
        });
        let phases = view.counts.iter();
        let phases: serde_json::Map<String, Json> = phases
            .map(|(phase, count)| (phase.word().to_owned(), json!(count)))
            .collect();
        json!({
            "name": set.fleet(),
            "parent": set.parent().to_string(),
            "source": parent.source,
            "revisions": {"applying": parent.applying, "applied": parent.applied, "ready": parent.ready},
            "ready": view.is_ready(),
            "objects": {"total": view.total(), "states": phases, "wanted": parent.objects, "missing": view.missing},
            "clusters": clusters.collect::<Vec<_>>(),
            "ofNoCluster": strays.collect::<Vec<_>>(),
        })
    };
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Status",
        "at": status.now.to_string(),
        "ready": fleets.iter().all(|(.., view)| view.is_ready()),
        "fleets": fleets.iter().map(fleet).collect::<Vec<_>>(),
        "notSeen": status.unreadable(),
    })
}

fn cluster_json(status: &ClusterStatus, cluster: &ClusterView) -> Json {
    let blocker = |chain: &Chain| status.blocker(chain.blocker());
    json!({
        "object": status.graph.id(cluster.root).to_string(),
        "state": cluster.phase.word(),
        "ready": cluster.ready,
        "total": cluster.total,
        "blocker": cluster.chain.as_ref().map_or(Json::Null, blocker),
        "otherBlockers": cluster.chain.as_ref().map_or(0, |chain| chain.others.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(applying: &str, applied: &str, ready: &str) -> String {
        revisions(&Parent {
            applying: applying.to_owned(),
            applied: applied.to_owned(),
            ready: ready.to_owned(),
            ..Parent::default()
        })
    }

    #[test]
    fn revisions_are_shown_only_where_they_differ() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(
            parent(commit, commit, commit),
            "0123456789ab, applied and ready"
        );
        assert_eq!(parent("2", "2", "1"), "2, applied; last ready 1");
        assert_eq!(
            parent("2", "1", ""),
            "2, being applied; last applied 1, last ready none"
        );
        assert_eq!(parent("", "", ""), "none");
    }
}
