//! `capstan status`: which clusters are ready, what blocks the others, and since when.

mod alike;
mod aso;
mod fleet;
mod json;
mod text;

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use self::aso::Operators;
use super::args::{DataFormat, duration};
use super::cluster::AccessArgs;
use super::cluster_status::{ClusterStatus, StatusReader};
use super::exit::Exit;
use super::ui::{Ui, plain_lines};
use crate::model::words::json_document;
use crate::settings::Environment;
use crate::status::Heartbeat;

use fleet::{Fleet, Refusal};

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
/// How long a refusal that was there before may be out of date: a daemon looks for commits at least once a minute,
/// and examines what it finds.
const STALE: Duration = Duration::from_secs(90);

/// Exit 1 when something is missing, or failed so that waiting is in vain, or when no daemon or no source tells of newer commits; with `--wait` unless all is ready.
pub(super) fn run(args: &StatusArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let fleet = args.name.as_deref();
    let seen = runtime.block_on(async {
        let reader = StatusReader::open(&args.access, fleet, environment, ui).await?;
        let mut operator = aso::Looked::default();
        let read = async || {
            let status = reader.read().await?;
            let report = operator.report(|| aso::look(&reader, &status)).await;
            anyhow::Ok(Seen::of(&status, report, args.format))
        };
        follow(args, read, ui).await
    })?;
    if !args.watch {
        ui.data(&seen.text)?;
    }
    match &seen.failed {
        Some(why) if args.wait => ui.error(&format!("waiting does not help: {why}")),
        None if args.wait && !seen.ready => {
            ui.error(&format!("not ready within {:?}", args.timeout));
        }
        _ => {}
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
    let start = Instant::now();
    let deadline = start + args.timeout;
    let mut seen = read().await?;
    let before: BTreeSet<String> = seen.refused_revisions().collect();
    let mut shown = String::new();
    loop {
        seen.judge(&before, start.elapsed());
        if args.watch && shown != seen.text {
            ui.repaint(&seen.text)?;
            shown.clone_from(&seen.text);
        }
        let over = match args.wait {
            true => seen.ready || seen.failed.is_some() || Instant::now() >= deadline,
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
    /// What failed so that waiting does not help.
    failed: Option<String>,
    /// The newest commits that are refused.
    refused: Vec<Refusal>,
    /// Whether something failed so, or is missing.
    broken: bool,
}

impl Seen {
    fn of(status: &ClusterStatus, operators: Option<&Operators>, format: DataFormat) -> Self {
        let heartbeats = status.survey.heartbeats.iter();
        let heartbeats = heartbeats.chain(std::iter::repeat(&Heartbeat::Unnamed));
        let fleets = status.survey.fleets.iter().zip(heartbeats);
        let fleets = fleets.map(|((set, parent), heartbeat)| Fleet {
            view: status.graph.fleet(set, parent),
            object: status
                .survey
                .objects
                .iter()
                .find(|object| object.is_of(set)),
            is_lost: heartbeat.is_lost(status.now),
            set,
            parent,
            heartbeat,
        });
        let fleets: Vec<_> = fleets.collect();
        Self {
            text: match format {
                DataFormat::Text => plain_lines(&text::text(status, &fleets, operators)),
                DataFormat::Json => json_document(&json::report(status, &fleets, operators)),
            },
            ready: fleets.iter().all(Fleet::is_ready),
            failed: fleets.iter().find_map(|fleet| {
                fleet
                    .stall()
                    .or_else(|| fleet::failure(fleet.parent, &fleet.view))
            }),
            refused: fleets
                .iter()
                .filter_map(|fleet| fleet::refusal(fleet.parent))
                .collect(),
            broken: fleets
                .iter()
                .any(|fleet| fleet.view.broken || fleet.is_blind() || fleet.stall().is_some()),
        }
    }

    fn refused_revisions(&self) -> impl Iterator<Item = String> {
        self.refused.iter().map(|refusal| refusal.revision.clone())
    }

    /// A refused commit is a failure, unless it was refused `before` the wait: the daemon may not have seen
    /// yet that a newer commit mends it.
    fn judge(&mut self, before: &BTreeSet<String>, waited: Duration) {
        let is_final = |refusal: &&Refusal| waited >= STALE || !before.contains(&refusal.revision);
        if self.failed.is_none() {
            let refused = self.refused.iter().find(is_final);
            self.failed = refused.map(|refusal| refusal.text.clone());
        }
    }
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
                failed: flags.contains(&"json").then(String::new),
                refused: Vec::new(),
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

    /// How long a cluster is waited for that never is ready and in which these commits are refused, the last one
    /// from then on; and what failed.
    async fn refused(revisions: &[Option<&str>]) -> (u64, Option<String>) {
        let line = Line::parse_from(["status", "--wait", "--timeout", "5m"]);
        let ui = Ui::new(&Environment::default(), ColorChoice::Never);
        let (start, mut revisions) = (Instant::now(), revisions.iter().copied().peekable());
        let read = async || {
            let revision = match revisions.len() {
                1 => revisions.peek().copied(),
                _ => revisions.next(),
            };
            let refusal = |revision: &str| Refusal {
                revision: revision.to_owned(),
                text: format!("{revision} is refused"),
            };
            Ok(Seen {
                text: String::new(),
                ready: false,
                failed: None,
                refused: revision.flatten().map(refusal).into_iter().collect(),
                broken: false,
            })
        };
        let seen = follow(&line.args, read, &ui).await.expect("it is read");
        (start.elapsed().as_secs(), seen.failed)
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_from_before_is_final_after_90_seconds_and_a_new_one_at_once() {
        let (a, b) = (Some("a"), Some("b"));
        let failed = |revision: &str| Some(format!("{revision} is refused"));
        for (revisions, expected) in [
            (&[a][..], (90, failed("a"))),
            (&[a, a, b], (4, failed("b"))),
            (&[None, a], (2, failed("a"))),
            (&[a, a, None], (300, None)),
        ] {
            assert_eq!(refused(revisions).await, expected, "{revisions:?}");
        }
    }
}
