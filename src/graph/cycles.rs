//! Cycles: objects that wait for each other forever.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Graph, Place};
use crate::model::{Finding, message};

/// One finding (R02) per knot (strongly connected component), with a whole cycle in the message.
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
        message!(
            "dependency cycle: {ring} -> {first}",
            ring = names.join(" -> "),
            first = names[0]
        ),
    )
    .at(first.origin.span())
    .of(&first.id)
    .help("none of these can become ready before the others; remove one of the references")
}

/// The strongly connected components with a cycle, each sorted, in order of their first vertex: what
/// cannot be peeled off from either end, sorted by when a walk leaves it, then walked backward.
fn knots(graph: &Graph) -> Vec<Vec<usize>> {
    let mut left = core(graph);
    let within = |at: usize| left.contains(&at);
    let (forward, backward) = (links(graph, within, false), links(graph, within, true));
    let mut knots = Vec::new();
    for start in finished(&left, &forward).into_iter().rev() {
        if !left.contains(&start) {
            continue;
        }
        let mut knot = Vec::new();
        let mut open = vec![start];
        left.remove(&start);
        while let Some(at) = open.pop() {
            knot.push(at);
            let more = backward[at].iter().filter(|next| left.remove(next));
            open.extend(more);
        }
        knot.sort_unstable();
        if knot.len() > 1 || forward[start].contains(&start) {
            knots.push(knot);
        }
    }
    knots.sort();
    knots
}

/// Per vertex: where its edges lead, or come from, within the vertices asked for.
fn links(graph: &Graph, within: impl Fn(usize) -> bool, backward: bool) -> Vec<Vec<usize>> {
    let mut links = vec![Vec::new(); graph.vertices.len()];
    for edge in &graph.edges {
        if within(edge.from) && within(edge.to) {
            match backward {
                true => links[edge.to].push(edge.from),
                false => links[edge.from].push(edge.to),
            }
        }
    }
    links
}

/// The vertices in the order in which a walk, depth first, is done with them.
fn finished(starts: &BTreeSet<usize>, links: &[Vec<usize>]) -> Vec<usize> {
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    for &start in starts {
        if !seen.insert(start) {
            continue;
        }
        // Each vertex on the way with how many of its links were followed.
        let mut way = vec![(start, 0)];
        while let Some((at, next)) = way.pop() {
            match links[at].get(next) {
                Some(&to) => {
                    way.push((at, next + 1));
                    if seen.insert(to) {
                        way.push((to, 0));
                    }
                }
                None => order.push(at),
            }
        }
    }
    order
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

/// The shortest cycle through the first vertex of a knot.
fn ring(graph: &Graph, knot: &[usize]) -> Vec<usize> {
    let start = knot[0];
    let within: BTreeSet<usize> = knot.iter().copied().collect();
    let mut came_from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for edge in graph.needs(at).filter(|edge| within.contains(&edge.to)) {
            if edge.to == start {
                let back = |at: &usize| came_from.get(at).copied();
                let mut ring: Vec<usize> = std::iter::successors(Some(at), back).collect();
                ring.reverse();
                return ring;
            }
            if let Entry::Vacant(first) = came_from.entry(edge.to) {
                first.insert(at);
                open.push_back(edge.to);
            }
        }
    }
    vec![start]
}
