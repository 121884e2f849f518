//! `capstan why`: what one object waits for in the end, since when, and what usually helps.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value as Json, json};

use super::args::DataFormat;
use super::cluster::AccessArgs;
use super::cluster_status::{ClusterStatus, StatusReader, word, wrapped};
use super::exit::Exit;
use super::left::{self, Left};
use super::object_name::ObjectName;
use super::ui::{Ui, plain_lines};
use crate::health::Live;
use crate::model::words::json_document;
use crate::settings::Environment;
use crate::status::{Chain, Phase};

#[derive(Debug, Args)]
pub(super) struct WhyArgs {
    /// An object, as Kind/namespace/name; the namespace may be omitted if the name is unique
    pub(super) object: String,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

/// How many more blockers are listed.
const OTHERS: usize = 10;

/// Exit 1 when what blocks it failed so that waiting is in vain.
pub(super) fn run(args: &WhyArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let name = ObjectName::read(&args.object)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let status = runtime.block_on(async {
        let reader = StatusReader::open(&args.access, None, environment, ui).await?;
        reader.read_around(&name.sought).await
    })?;
    let ids: Vec<_> = status.graph.ids().collect();
    let at = name
        .find(
            &ids,
            "no object of a fleet, and none of the kinds that Capstan handles,",
        )
        .inspect_err(|_| {
            for unreadable in status.unreadable() {
                ui.error(&format!("not seen: {unreadable}"));
            }
        })?;
    let chain = status.graph.blocked(at);
    ui.data(&match args.format {
        DataFormat::Text => plain_lines(&text(&status, at, chain.as_ref())),
        DataFormat::Json => json_document(&report(&status, at, chain.as_ref())),
    })?;
    let phase = chain.map(|chain| status.graph.status(chain.blocker()).phase);
    Ok(Exit::failed_if(phase == Some(Phase::Failed)))
}

fn text(status: &ClusterStatus, at: usize, chain: Option<&Chain>) -> String {
    let mut out = String::new();
    let id = status.graph.id(at);
    let left = left(status, at);
    let left = left.map_or_else(String::new, |left| {
        wrapped(&format!("  {:<11}", left.word()), left.text())
    });
    let Some(chain) = chain else {
        let _ = write!(out, "{id} is ready\n{left}");
        return out;
    };
    let found = status.graph.status(at);
    let state = format!("{} {}", word(found.phase), status.age(at));
    let _ = writeln!(out, "{id}: {}", state.trim_end());
    out.push_str(&wrapped("  ", &found.words()));
    out.push_str(&left);
    if chain.path.len() > 1 {
        let _ = writeln!(out, "\nwaits for");
        out.push_str(&lines(status, &chain.path));
    }
    let blocker = chain.blocker();
    let cause = status.graph.status(blocker);
    let _ = writeln!(out, "\nblocked by {}", status.graph.id(blocker));
    if let Some(since) = cause.since {
        let clock = match status.is_simulated {
            true => " (simulated time)",
            false => "",
        };
        let _ = writeln!(out, "  since      {since}{clock}, {}", status.age(blocker));
    }
    if !cause.condition.is_empty() {
        let _ = writeln!(out, "  condition  {}", cause.condition);
    }
    out.push_str(&wrapped("  message    ", &cause.words()));
    let help = status.graph.help(blocker, status.now);
    if !help.is_empty() {
        out.push_str(&wrapped("  help       ", &help));
    }
    if !chain.others.is_empty() {
        let _ = writeln!(out, "\nand by {} more", chain.others.len());
        let shown = chain.others.len().min(OTHERS);
        out.push_str(&lines(status, &chain.others[..shown]));
    }
    out.push_str(&blind(status));
    for unreadable in status.unreadable() {
        let _ = write!(out, "\n{}", wrapped("not seen: ", &unreadable));
    }
    out
}

/// The fleets whose newer commits nobody knows of, which may explain what an object waits for.
fn blind(status: &ClusterStatus) -> String {
    let mut out = String::new();
    let fleets = status.survey.fleets.iter().zip(&status.survey.heartbeats);
    for ((set, parent), heartbeat) in fleets {
        let mut line = |text: &str| {
            let _ = write!(
                out,
                "\n{}",
                wrapped(&format!("fleet {}: ", set.fleet()), text)
            );
        };
        if heartbeat.is_lost(status.now) {
            line(&heartbeat.text().unwrap_or_default());
        }
        if let Some(error) = &parent.source_error {
            line(&format!(
                "its source cannot be read since {}: {}",
                error.since, error.why
            ));
        }
    }
    out
}

/// One line for each object.
fn lines(status: &ClusterStatus, objects: &[usize]) -> String {
    let line = |at: &usize| {
        let phase = word(status.graph.status(*at).phase);
        let line = format!(
            "  {phase:<11} {}  {}",
            status.graph.id(*at),
            status.age(*at)
        );
        format!("{}\n", line.trim_end())
    };
    objects.iter().map(line).collect()
}

/// The way in which an object left its fleet, if it did.
fn left(status: &ClusterStatus, at: usize) -> Option<Left> {
    let id = status.graph.id(at);
    let live = status.survey.found.objects.get(id).map(Live);
    Left::of(&status.survey.fleets, id, live)
}

fn report(status: &ClusterStatus, at: usize, chain: Option<&Chain>) -> Json {
    let links =
        |objects: &[usize]| -> Vec<Json> { objects.iter().map(|at| status.link(*at)).collect() };
    let left = left(status, at);
    let left = left.as_ref();
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Why",
        "at": status.now.to_string(),
        "simulatedTime": status.is_simulated,
        "object": status.graph.id(at).to_string(),
        "ready": chain.is_none(),
        "kept": left.and_then(|left| left.text_if(left::KEPT)),
        "released": left.and_then(|left| left.text_if(left::RELEASED)),
        "chain": chain.map_or_else(Vec::new, |chain| links(&chain.path)),
        "blocker": chain.map_or(Json::Null, |chain| status.blocker(chain.blocker())),
        "otherBlockers": chain.map_or_else(Vec::new, |chain| links(&chain.others)),
        "notSeen": status.unreadable(),
    })
}
