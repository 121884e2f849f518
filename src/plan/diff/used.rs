//! U07: objects that leave the fleet although others use them.
//!
//! In: the objects that leave, and the graph of the new revision. Out: findings, each at the first line that names such an
//! object. It does not know what else applies them: what the Fleet document lists in `outside` is no finding.

use super::Changes;
use crate::graph::{Graph, Vertex};
use crate::model::{Finding, ObjectId, Span, message, rule_id};

/// How many users a finding names.
const NAMED: usize = 3;

impl Changes {
    /// Looks for objects of `gone` that the new revision with this graph still uses.
    pub fn leave<'a>(&mut self, gone: impl IntoIterator<Item = &'a ObjectId>, graph: &Graph) {
        for id in gone {
            let vertices = graph.vertices.iter().enumerate();
            let used = vertices.filter(|(_, vertex)| *vertex.id == *id);
            for (at, vertex) in used.filter(|_| graph.is_unlisted(id)) {
                self.used.extend(used_by(at, vertex, graph));
            }
        }
    }

    /// How many objects leave although others use them.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.used.len()
    }
}

fn used_by(at: usize, vertex: &Vertex, graph: &Graph) -> Option<Finding> {
    let edges = graph.edges.iter().filter(|edge| edge.to == at);
    let users = edges.map(|edge| &graph.vertices[edge.from]).collect();
    used(&vertex.id, users, vertex.origin.span())
}

/// The finding that `gone` leaves although these use it, the first of them at `place`; `None` without any.
pub(super) fn used(gone: &ObjectId, mut users: Vec<&Vertex>, place: &Span) -> Option<Finding> {
    users.sort_by_key(|user| &user.id);
    users.dedup_by_key(|user| &user.id);
    let first = users.first()?;
    let named = users.iter().take(NAMED).map(|user| {
        let span = user.origin.span();
        format!("{} ({}:{})", user.id, span.path, span.start.line)
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match users.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let users = format!("{named}{more}");
    let message = message!(
        "{gone} leaves the fleet, but is used by {users}",
        gone,
        users
    );
    let help =
        "keep its file; if something else applies it, name it in `outside` of the Fleet document";
    let finding = Finding::error(rule_id::USED, message);
    Some(finding.at(place).of(&first.id).help(help))
}
