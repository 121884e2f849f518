//! `capstan why`: what one object waits for in the end, since when, and what usually helps.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::Exit;
use super::args::{DataFormat, WhyArgs};
use super::standing::{Look, word, wrapped};
use super::ui::Ui;
use super::wanted::Wanted;
use crate::settings::Environment;
use crate::status::{Chain, Phase};

/// How many more blockers are listed.
const OTHERS: usize = 10;

/// Exit 1 when what blocks it failed so that waiting is in vain.
pub(super) fn run(args: &WhyArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let wanted = Wanted::read(&args.object)?;
    let look = Look::take(&args.access, None, environment)?;
    let ids: Vec<_> = look.scene.ids().collect();
    let at = wanted.find(&ids, "no fleet of this cluster")?;
    let chain = look.scene.blocked(at);
    ui.data(&match args.format {
        DataFormat::Text => text(&look, at, chain.as_ref()),
        DataFormat::Json => format!("{:#}\n", report(&look, at, chain.as_ref())),
    })?;
    let phase = chain.map(|chain| look.scene.status(chain.blocker()).phase);
    Ok(Exit::failed_if(phase == Some(Phase::Failed)))
}

fn text(look: &Look, at: usize, chain: Option<&Chain>) -> String {
    let mut out = String::new();
    let id = look.scene.id(at);
    let Some(chain) = chain else {
        let _ = writeln!(out, "{id} is ready");
        return out;
    };
    let status = look.scene.status(at);
    let state = format!("{} {}", word(status.phase), look.age(at));
    let _ = writeln!(out, "{id}: {}", state.trim_end());
    out.push_str(&wrapped("  ", &status.words()));
    if chain.path.len() > 1 {
        let _ = writeln!(out, "\nwaits for");
        out.push_str(&lines(look, &chain.path));
    }
    let blocker = chain.blocker();
    let cause = look.scene.status(blocker);
    let _ = writeln!(out, "\nblocked by {}", look.scene.id(blocker));
    if let Some(since) = cause.since {
        let _ = writeln!(out, "  since      {since}, {}", look.age(blocker));
    }
    if !cause.condition.is_empty() {
        let _ = writeln!(out, "  condition  {}", cause.condition);
    }
    out.push_str(&wrapped("  says       ", &cause.words()));
    let help = look.scene.help(blocker, look.now);
    if !help.is_empty() {
        out.push_str(&wrapped("  help       ", &help));
    }
    if !chain.others.is_empty() {
        let _ = writeln!(out, "\nand by {} more", chain.others.len());
        let shown = chain.others.len().min(OTHERS);
        out.push_str(&lines(look, &chain.others[..shown]));
    }
    for unseen in look.unseen() {
        let _ = write!(out, "\n{}", wrapped("not seen: ", &unseen));
    }
    out
}

/// One line for each object.
fn lines(look: &Look, objects: &[usize]) -> String {
    let line = |at: &usize| {
        let phase = word(look.scene.status(*at).phase);
        let line = format!("  {phase:<11} {}  {}", look.scene.id(*at), look.age(*at));
        format!("{}\n", line.trim_end())
    };
    objects.iter().map(line).collect()
}

fn report(look: &Look, at: usize, chain: Option<&Chain>) -> Json {
    let links =
        |objects: &[usize]| -> Vec<Json> { objects.iter().map(|at| look.link(*at)).collect() };
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Why",
        "at": look.now.to_string(),
        "object": look.scene.id(at).to_string(),
        "ready": chain.is_none(),
        "chain": chain.map_or_else(Vec::new, |chain| links(&chain.path)),
        "blocker": chain.map_or(Json::Null, |chain| look.blocker(chain.blocker())),
        "otherBlockers": chain.map_or_else(Vec::new, |chain| links(&chain.others)),
        "notSeen": look.unseen(),
    })
}
