//! The graph as text and as Graphviz dot.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::{Executor, Graph, Place, Schedule};
use crate::model::Needed;

/// One line per object with what it needs below it; `*` marks the critical path, which is printed
/// whole at the end.
#[must_use]
pub fn text(graph: &Graph, schedule: &Schedule) -> String {
    let critical: BTreeSet<usize> = schedule.critical_path().into_iter().collect();
    let mut out = String::new();
    for (at, vertex) in graph.vertices.iter().enumerate() {
        let mark = if critical.contains(&at) { '*' } else { ' ' };
        let indent = if matches!(vertex.place, Place::Embedded(_)) {
            "  "
        } else {
            ""
        };
        let outside = if vertex.place == Place::Outside {
            "  (outside the fleet)"
        } else {
            ""
        };
        let ready = minutes(schedule.timings[at].ready);
        let _ = writeln!(out, "{mark} {ready:>6}  {indent}{}{outside}", vertex.id);
        for edge in graph.needs(at) {
            let until = match edge.until {
                Needed::Applied => "applied",
                Needed::Ready => "ready",
            };
            let who = match edge.executor {
                Executor::Sync => "sync",
                Executor::Controller => "controller",
            };
            let _ = writeln!(
                out,
                "          {indent}└ {} ({until}, {who}: {})",
                graph.vertices[edge.to].id, edge.why
            );
        }
    }
    out.push_str(&path_text(graph, schedule));
    out
}

fn path_text(graph: &Graph, schedule: &Schedule) -> String {
    let mut out = format!("\ncritical path, {} in all:\n", minutes(schedule.total()));
    for at in schedule.critical_path() {
        let timing = schedule.timings[at];
        let _ = writeln!(
            out,
            "  {:>6} → {:>6}  {}",
            minutes(timing.start),
            minutes(timing.ready),
            graph.vertices[at].id
        );
    }
    out
}

/// `12m05`.
fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}m{:02}", seconds / 60, seconds % 60)
}

/// Graphviz: solid edges delay a sync step, dashed ones are the controllers'; carriers are clusters;
/// the critical path is bold.
#[must_use]
pub fn dot(graph: &Graph, schedule: &Schedule) -> String {
    let path = schedule.critical_path();
    let critical: BTreeSet<usize> = path.iter().copied().collect();
    let mut out = String::from("digraph fleet {\n  rankdir=RL;\n  node [shape=box];\n");
    for (at, vertex) in graph.vertices.iter().enumerate() {
        let style = match (critical.contains(&at), vertex.place) {
            (true, _) => ", style=bold",
            (_, Place::Outside) => ", style=dotted",
            _ => "",
        };
        let _ = writeln!(
            out,
            "  n{at} [label=\"{}\\n{}\"{style}];",
            vertex.id.kind, vertex.id.name
        );
        if let Place::Embedded(carrier) = vertex.place {
            let _ = writeln!(out, "  n{at} -> n{carrier} [arrowhead=none, color=grey];");
        }
    }
    for edge in &graph.edges {
        let on_path = path.windows(2).any(|pair| pair == [edge.to, edge.from]);
        let style = match (on_path, edge.executor) {
            (true, _) => "bold",
            (false, Executor::Sync) => "solid",
            (false, Executor::Controller) => "dashed",
        };
        let _ = writeln!(
            out,
            "  n{} -> n{} [style={style}, label=\"{}\"];",
            edge.from, edge.to, edge.why
        );
    }
    out.push_str("}\n");
    out
}
