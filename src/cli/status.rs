//! `capstan status`: which clusters are ready, what blocks the others, and since when.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::args::{DataFormat, duration};
use super::cluster::AccessArgs;
use super::cluster_status::{ClusterStatus, StatusReader, word, wrapped};
use super::exit::Exit;
use super::ui::Ui;
use crate::apply::Parent;
use crate::plan::ApplySet;
use crate::settings::Environment;
use crate::status::{Chain, ClusterView, FleetView, Phase, Stray};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Show only this fleet
    #[arg(long, value_name = "FLEET")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// Show changes until interrupted
    #[arg(long)]
    pub(super) watch: bool,
    /// Wait until everything is ready, or waiting does not help
    #[arg(long)]
    pub(super) wait: bool,
    /// How long to wait
    #[arg(long, default_value = "60m", requires = "wait", value_parser = duration)]
    pub(super) timeout: Duration,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

/// How often the cluster is read while it is watched or waited for.
const INTERVAL: Duration = Duration::from_secs(2);

/// How many causes are listed for objects that belong to no cluster.
const STRAYS: usize = 20;
/// How many missing objects are named.
const ABSENT: usize = 20;
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

/// Exit 1 when something is missing, or failed so that waiting is in vain; with `--wait` unless all is ready.
pub(super) fn run(args: &StatusArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let fleet = args.name.as_deref();
    let seen = runtime.block_on(async {
        let reader = StatusReader::open(&args.access, fleet, environment, ui).await?;
        let read = async || anyhow::Ok(Seen::of(&reader.read().await?, args.format));
        follow(args, read, ui).await
    })?;
    if !args.watch {
        ui.data(&seen.text)?;
    }
    if args.wait && !seen.ready && !seen.failed {
        ui.error(&format!("not ready within {:?}", args.timeout));
    }
    Ok(Exit::failed_if(match args.wait {
        true => !seen.ready,
        false => seen.broken,
    }))
}

/// Reads the status until it is as it is waited for, and shows it meanwhile if it is watched. Returns the last one.
async fn follow(
    args: &StatusArgs,
    mut read: impl AsyncFnMut() -> anyhow::Result<Seen>,
    ui: &Ui,
) -> anyhow::Result<Seen> {
    let deadline = Instant::now() + args.timeout;
    let mut seen = read().await?;
    let mut shown = String::new();
    loop {
        if args.watch && shown != seen.text {
            ui.repaint(&seen.text)?;
            shown.clone_from(&seen.text);
        }
        let over = match args.wait {
            true => seen.ready || seen.failed || Instant::now() >= deadline,
            false => !args.watch,
        };
        if over {
            return Ok(seen);
        }
        let next = Instant::now() + INTERVAL;
        tokio::time::sleep_until(if args.wait { next.min(deadline) } else { next }).await;
        match read().await {
            Ok(status) => seen = status,
            Err(error) => ui.error(&format!("{error:#}; trying again")),
        }
    }
}

/// What was seen of a cluster.
struct Seen {
    text: String,
    ready: bool,
    /// Whether something failed so that waiting does not help.
    failed: bool,
    /// The same, or something is missing.
    broken: bool,
}

impl Seen {
    fn of(status: &ClusterStatus, format: DataFormat) -> Self {
        let fleets = status.survey.fleets.iter();
        let fleets = fleets.map(|(set, parent)| (set, parent, status.graph.fleet(set, parent)));
        let fleets: Vec<(&ApplySet, &Parent, FleetView)> = fleets.collect();
        let views = || fleets.iter().map(|(.., view)| view);
        Self {
            text: match format {
                DataFormat::Text => text(status, &fleets),
                DataFormat::Json => format!("{:#}\n", report(status, &fleets)),
            },
            ready: views().all(FleetView::is_ready),
            failed: views().any(|view| view.count(Phase::Failed) > 0),
            broken: views().any(|view| view.broken),
        }
    }
}

fn text(status: &ClusterStatus, fleets: &[(&ApplySet, &Parent, FleetView)]) -> String {
    let mut out = String::new();
    for (set, parent, view) in fleets {
        let _ = writeln!(out, "fleet {}", set.fleet());
        if !parent.source.is_empty() {
            out.push_str(&wrapped("  source    ", &parent.source));
        }
        out.push_str(&wrapped("  revision  ", &revisions(parent)));
        if !parent.suspended.is_empty() {
            let _ = writeln!(
                out,
                "  suspended since {}; `capstan resume --name {}` continues",
                parent.suspended,
                set.fleet()
            );
        }
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

/// The lines about missing objects and about leftovers, if there are any.
fn missing(parent: &Parent, view: &FleetView) -> String {
    let (wanted, missing) = (parent.objects.unwrap_or_default(), view.missing);
    let mut out = String::new();
    if missing > 0 {
        let why = "the commit's check or `apply` says why";
        let line =
            format!("{missing} of {wanted} objects are missing or belong to somebody else; {why}");
        out.push_str(&wrapped("  missing   ", &line));
        for id in view.absent.iter().take(ABSENT) {
            out.push_str(&wrapped("            ", &id.to_string()));
        }
        if view.absent.len() > ABSENT {
            let _ = writeln!(out, "            and {} more", view.absent.len() - ABSENT);
        }
    }
    if view.leftovers > 0 {
        let left = view.leftovers;
        let line = format!("{left} objects of an earlier revision still exist");
        out.push_str(&wrapped("  leftovers ", &line));
    }
    out
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
        let absent: Vec<String> = view.absent.iter().map(ToString::to_string).collect();
        let phases = view.counts.iter();
        let phases: serde_json::Map<String, Json> = phases
            .map(|(phase, count)| (phase.word().to_owned(), json!(count)))
            .collect();
        json!({
            "name": set.fleet(),
            "parent": set.parent().to_string(),
            "source": parent.source,
            "suspended": Some(&parent.suspended).filter(|since| !since.is_empty()),
            "revisions": {"applying": parent.applying, "applied": parent.applied, "ready": parent.ready},
            "ready": view.is_ready(),
            "objects": {"total": view.total(), "states": phases, "wanted": parent.objects, "missing": view.missing, "absent": absent, "leftovers": view.leftovers},
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
    use clap::Parser;

    use super::*;
    use crate::cli::args::ColorChoice;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: StatusArgs,
    }

    /// Follows a cluster that is ready with the fifth read. Returns how often it was read, after how long, and
    /// whether it was ready.
    async fn followed(flags: &[&str]) -> (usize, u64, bool) {
        let line = Line::parse_from([&["status"], flags].concat());
        let ui = Ui::new(&Environment::default(), ColorChoice::Never);
        let (start, mut reads) = (Instant::now(), 0);
        let read = async || {
            reads += 1;
            anyhow::ensure!(reads != 2, "the cluster is away for a moment");
            Ok(Seen {
                text: String::new(),
                ready: reads >= 5,
                failed: flags.contains(&"json"),
                broken: false,
            })
        };
        let seen = follow(&line.args, read, &ui).await.expect("it is read");
        (reads, start.elapsed().as_secs(), seen.ready)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_read_every_two_seconds_until_it_is_ready_or_time_is_up() {
        for (flags, expected) in [
            (&[][..], (1, 0, false)),
            (&["--wait"], (5, 8, true)),
            (&["--wait", "--watch"], (5, 8, true)),
            (&["--wait", "--timeout", "5s"], (4, 5, false)),
            (&["--wait", "--format", "json"], (1, 0, false)),
        ] {
            assert_eq!(followed(flags).await, expected, "{flags:?}");
        }
    }

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
