//! Cycles: things that wait for each other for ever.

use std::collections::BTreeSet;

use super::{Graph, Place};
use crate::model::Finding;

/// One finding (R02) per knot of vertices that wait for each other, printed whole.
pub(super) fn findings(graph: &Graph) -> Vec<Finding> {
    knots(graph)
        .iter()
        .map(|knot| finding(graph, knot))
        .collect()
}

fn finding(graph: &Graph, knot: &[usize]) -> Finding {
    let ring = ring(graph, knot);
    let names: Vec<String> = ring
        .iter()
        .map(|at| graph.vertices[*at].id.to_string())
        .collect();
    let first = &graph.vertices[ring[0]];
    Finding::error(
        "R02",
        format!(
            "a cycle of dependencies: {} -> {}",
            names.join(" -> "),
            names[0]
        ),
    )
    .at(first.origin.span())
    .of(&first.id)
    .help("none of these can become ready before the others: remove one of the references")
}

/// The strongly connected components with a cycle, each sorted, in order of their first vertex.
/// What cannot be peeled off from either end, walked forward and backward from each vertex.
fn knots(graph: &Graph) -> Vec<Vec<usize>> {
    let mut left = core(graph);
    let mut knots = Vec::new();
    while let Some(&start) = left.first() {
        let forward = reach(graph, start, &left, |edge| (edge.from, edge.to));
        let backward = reach(graph, start, &left, |edge| (edge.to, edge.from));
        let knot: Vec<usize> = forward.intersection(&backward).copied().collect();
        if knot.is_empty() {
            left.remove(&start);
        } else {
            left.retain(|at| !knot.contains(at));
            knots.push(knot);
        }
    }
    knots
}

/// The vertices that remain when those without a remaining need, and those nobody remaining needs,
/// are taken away: every cycle and the paths between cycles. Empty for a healthy fleet.
fn core(graph: &Graph) -> BTreeSet<usize> {
    let mut left: BTreeSet<usize> = (0..graph.vertices.len())
        .filter(|at| graph.vertices[*at].place != Place::Outside)
        .collect();
    for reverse in [false, true] {
        peel(graph, &mut left, reverse);
    }
    left
}

fn peel(graph: &Graph, left: &mut BTreeSet<usize>, reverse: bool) {
    let ends = |edge: &super::Edge| {
        if reverse {
            (edge.to, edge.from)
        } else {
            (edge.from, edge.to)
        }
    };
    let mut open = vec![0_usize; graph.vertices.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); graph.vertices.len()];
    for edge in &graph.edges {
        let (from, to) = ends(edge);
        if left.contains(&from) && left.contains(&to) {
            open[from] += 1;
            users[to].push(from);
        }
    }
    let mut free: Vec<usize> = left.iter().copied().filter(|at| open[*at] == 0).collect();
    while let Some(at) = free.pop() {
        left.remove(&at);
        for &user in &users[at] {
            open[user] -= 1;
            if open[user] == 0 {
                free.push(user);
            }
        }
    }
}

/// What can be reached from `start` in one or more steps within `allowed`.
fn reach(
    graph: &Graph,
    start: usize,
    allowed: &BTreeSet<usize>,
    ends: impl Fn(&super::Edge) -> (usize, usize),
) -> BTreeSet<usize> {
    let edges: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .map(ends)
        .filter(|(a, b)| allowed.contains(a) && allowed.contains(b))
        .collect();
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for &(_, to) in edges.iter().filter(|(from, _)| *from == at) {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

/// The shortest cycle through the first vertex of a knot.
fn ring(graph: &Graph, knot: &[usize]) -> Vec<usize> {
    let start = knot[0];
    let mut paths = std::collections::VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        let at = path[path.len() - 1];
        for edge in graph.needs(at).filter(|edge| knot.contains(&edge.to)) {
            if edge.to == start {
                return path;
            }
            if seen.insert(edge.to) {
                paths.push_back(path.iter().copied().chain([edge.to]).collect());
            }
        }
    }
    vec![start]
}
