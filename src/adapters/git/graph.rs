//! Which commits lead to which.
//!
//! In: a repository and some of its commits. Out: the commits between them, and where two histories meet. Commits are
//! read as bytes, so that no author and no date ends a walk. The history of a shallow repository goes as far as its
//! file `shallow` says. It does not know: refs, what a commit holds.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::fs;
use std::rc::Rc;

use git2::{Odb, Oid, Repository};

use super::commit_object::CommitObject;

/// How much a commit may seem younger than one that it leads to: clocks are wrong.
const SLOP: i64 = 24 * 3600;

/// What leads to a commit, and when it was made.
struct Node {
    parents: Vec<Oid>,
    at: i64,
}

/// The commits of a repository.
pub(super) struct Graph<'r> {
    odb: Odb<'r>,
    /// The commits whose parents are left out.
    shallow: BTreeSet<Oid>,
    nodes: RefCell<HashMap<Oid, Rc<Node>>>,
}

/// Commits of which the newest comes first; of two of the same time, the one that was met first.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<(i64, Reverse<usize>, Oid)>,
    count: usize,
}

impl Queue {
    fn push(&mut self, at: i64, id: Oid) {
        self.count += 1;
        self.heap.push((at, Reverse(self.count), id));
    }

    fn pop(&mut self) -> Option<Oid> {
        Some(self.heap.pop()?.2)
    }
}

impl<'r> Graph<'r> {
    /// The commits of `repository`.
    pub(super) fn of(repository: &'r Repository) -> Result<Self, git2::Error> {
        Ok(Self {
            odb: repository.odb()?,
            shallow: shallow(repository),
            nodes: RefCell::default(),
        })
    }

    fn node(&self, id: Oid) -> Result<Rc<Node>, git2::Error> {
        if let Some(node) = self.nodes.borrow().get(&id) {
            return Ok(Rc::clone(node));
        }
        // What cannot be read as a commit has no history.
        let (parents, at) = match CommitObject::read(&self.odb, id)? {
            Some(commit) if self.shallow.contains(&id) => (Vec::new(), commit.at()),
            Some(commit) => (commit.parents.clone(), commit.at()),
            None => (Vec::new(), 0),
        };
        let node = Rc::new(Node { parents, at });
        self.nodes.borrow_mut().insert(id, Rc::clone(&node));
        Ok(node)
    }

    /// Whether `old` is one of `new`, or came before it. Commits that are much older than `old` are not looked
    /// behind: where dates lie, the answer may be no.
    pub(super) fn leads_to(&self, old: Oid, new: &[Oid]) -> Result<bool, git2::Error> {
        if new.contains(&old) {
            return Ok(true);
        }
        let oldest = self.node(old)?.at.saturating_sub(SLOP);
        let mut seen: HashSet<Oid> = new.iter().copied().collect();
        let mut left: Vec<Oid> = seen.iter().copied().collect();
        while let Some(id) = left.pop() {
            let node = self.node(id)?;
            // A date that is unknown is 0.
            if node.at < oldest && node.at != 0 {
                continue;
            }
            for parent in &node.parents {
                if *parent == old {
                    return Ok(true);
                }
                if seen.insert(*parent) {
                    left.push(*parent);
                }
            }
        }
        Ok(false)
    }

    /// The commits that lead to `to`, without those that lead to `from` already: the newest first, each before its
    /// parents, at most `limit`. No date can make a commit of `from` a new one.
    pub(super) fn between(
        &self,
        from: Option<Oid>,
        to: Oid,
        limit: usize,
    ) -> Result<Vec<Oid>, git2::Error> {
        if from.is_none() && limit <= 1 {
            return Ok([to].into_iter().take(limit).collect());
        }
        let new = self.new_in(from, to)?;
        let mut children: HashMap<Oid, usize> = HashMap::new();
        for id in &new {
            for parent in &self.node(*id)?.parents {
                *children.entry(*parent).or_default() += 1;
            }
        }
        let (mut queue, mut sorted) = (Queue::default(), Vec::new());
        if new.contains(&to) {
            queue.push(self.node(to)?.at, to);
        }
        while let Some(id) = queue.pop() {
            if sorted.len() >= limit {
                break;
            }
            sorted.push(id);
            for parent in &self.node(id)?.parents {
                let left = children.entry(*parent).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 && new.contains(parent) {
                    queue.push(self.node(*parent)?.at, *parent);
                }
            }
        }
        Ok(sorted)
    }

    /// What leads to `to` and not to `from`.
    fn new_in(&self, from: Option<Oid>, to: Oid) -> Result<HashSet<Oid>, git2::Error> {
        let (mut new, mut hidden) = (HashSet::new(), HashSet::new());
        // Commits in the queue that are new as far as it is known.
        let (mut queue, mut live) = (Queue::default(), HashSet::new());
        if let Some(from) = from {
            hidden.insert(from);
            queue.push(self.node(from)?.at, from);
        }
        if hidden.contains(&to) {
            return Ok(new);
        }
        new.insert(to);
        live.insert(to);
        queue.push(self.node(to)?.at, to);
        let mut is_checked = false;
        while let Some(id) = queue.pop() {
            live.remove(&id);
            let is_hidden = hidden.contains(&id);
            for parent in &self.node(id)?.parents {
                let is_met = match is_hidden {
                    true => {
                        new.remove(parent);
                        live.remove(parent);
                        !hidden.insert(*parent)
                    }
                    false => hidden.contains(parent) || !new.insert(*parent),
                };
                if !is_met {
                    queue.push(self.node(*parent)?.at, *parent);
                    if !is_hidden {
                        live.insert(*parent);
                    }
                }
            }
            if live.is_empty() && !is_checked {
                is_checked = true;
                if new.is_empty() || self.begins_at(&new, from)? {
                    break;
                }
            }
        }
        Ok(new)
    }

    /// Whether every way back from `new` leads to `from`, and to nothing beside it: then none of `new` can lead to
    /// `from`, and nothing more has to be looked at.
    fn begins_at(&self, new: &HashSet<Oid>, from: Option<Oid>) -> Result<bool, git2::Error> {
        let Some(from) = from else { return Ok(true) };
        for id in new {
            let node = self.node(*id)?;
            let is_inside = |parent: &Oid| *parent == from || new.contains(parent);
            if node.parents.is_empty() || !node.parents.iter().all(is_inside) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The newest commits that lead to both, none of which leads to another as far as dates tell.
    pub(super) fn merge_bases(&self, one: Oid, other: Oid) -> Result<Vec<Oid>, git2::Error> {
        const ONE: u8 = 1;
        const OTHER: u8 = 2;
        const STALE: u8 = 4;
        if one == other {
            return Ok(vec![one]);
        }
        let mut marks: HashMap<Oid, u8> = [(one, ONE), (other, OTHER)].into();
        let (mut queue, mut found) = (Queue::default(), Vec::new());
        queue.push(self.node(one)?.at, one);
        queue.push(self.node(other)?.at, other);
        // Commits in the queue, behind which a base may be.
        let mut live: HashSet<Oid> = [one, other].into();
        while !live.is_empty() {
            let Some(id) = queue.pop() else { break };
            live.remove(&id);
            let mut mark = marks[&id];
            if mark == ONE | OTHER {
                if !found.contains(&id) {
                    found.push(id);
                }
                mark |= STALE;
            }
            for parent in &self.node(id)?.parents {
                let known = marks.entry(*parent).or_default();
                if *known | mark == *known {
                    continue;
                }
                *known |= mark;
                match *known & STALE == 0 {
                    true => live.insert(*parent),
                    false => live.remove(parent),
                };
                queue.push(self.node(*parent)?.at, *parent);
            }
        }
        found.retain(|id| marks[id] & STALE == 0);
        Ok(found)
    }

    /// The newest commits that lead to any of `tips`, at most `limit`.
    pub(super) fn newest(&self, tips: &[Oid], limit: usize) -> Result<Vec<Oid>, git2::Error> {
        let (mut queue, mut seen, mut newest) = (Queue::default(), HashSet::new(), Vec::new());
        for tip in tips {
            if seen.insert(*tip) {
                queue.push(self.node(*tip)?.at, *tip);
            }
        }
        while newest.len() < limit {
            let Some(id) = queue.pop() else { break };
            newest.push(id);
            for parent in &self.node(id)?.parents {
                if seen.insert(*parent) {
                    queue.push(self.node(*parent)?.at, *parent);
                }
            }
        }
        Ok(newest)
    }
}

/// The commits of a shallow repository whose parents are not there, as git writes them.
pub(super) fn shallow(repository: &Repository) -> BTreeSet<Oid> {
    let text = fs::read_to_string(repository.commondir().join("shallow"));
    let text = text.unwrap_or_default();
    let ids = text.lines().filter_map(|line| Oid::from_str(line).ok());
    ids.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::fixture::Origin;

    /// A commit of this time with these parents.
    fn commit(origin: &Origin, at: &str, parents: &[Oid]) -> Oid {
        let tree = origin
            .repository
            .treebuilder(None)
            .unwrap()
            .write()
            .unwrap();
        let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
        let who = format!("A <a@example.com> {at} +0000");
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nx\n");
        let odb = origin.repository.odb().unwrap();
        odb.write(git2::ObjectType::Commit, text.as_bytes())
            .unwrap()
    }

    #[test]
    fn no_date_makes_a_commit_new_that_was_there_before() {
        let origin = Origin::new();
        let root = commit(&origin, "100", &[]);
        // It is an ancestor of `from` by a commit that says it is much older.
        let approval = commit(&origin, "900", &[root]);
        let liar = commit(&origin, "1", &[approval]);
        let from = commit(&origin, "950", &[liar]);
        let to = commit(&origin, "960", &[approval]);
        let graph = Graph::of(&origin.repository).unwrap();
        assert_eq!(graph.between(Some(from), to, 9).unwrap(), [to]);
        assert_eq!(graph.merge_bases(from, to).unwrap(), [approval]);
    }

    #[test]
    fn a_history_is_listed_children_first_whatever_the_dates_say() {
        let origin = Origin::new();
        let huge = "99999999999999999999";
        let root = commit(&origin, "100", &[]);
        let left = commit(&origin, huge, &[root]);
        let right = commit(&origin, "300", &[root]);
        let to = commit(&origin, huge, &[left, right]);
        let graph = Graph::of(&origin.repository).unwrap();
        let all = graph.between(None, to, 9).unwrap();
        assert_eq!(all, [to, right, left, root]);
        assert_eq!(graph.between(Some(left), to, 9).unwrap(), [to, right]);
        assert_eq!(graph.between(Some(to), root, 9).unwrap(), []);
        assert!(graph.leads_to(root, &[to]).unwrap());
        assert!(graph.leads_to(left, &[to]).unwrap());
        assert!(!graph.leads_to(to, &[left]).unwrap());
        assert_eq!(graph.merge_bases(left, right).unwrap(), [root]);
        assert_eq!(graph.newest(&[right], 1).unwrap(), [right]);
    }

    #[test]
    fn histories_that_cross_meet_twice() {
        let origin = Origin::new();
        let root = commit(&origin, "100", &[]);
        let (a, b) = (
            commit(&origin, "200", &[root]),
            commit(&origin, "201", &[root]),
        );
        let one = commit(&origin, "300", &[a, b]);
        let other = commit(&origin, "301", &[b, a]);
        let graph = Graph::of(&origin.repository).unwrap();
        assert_eq!(graph.merge_bases(one, other).unwrap(), [b, a]);
        let alone = commit(&origin, "300", &[]);
        assert_eq!(graph.merge_bases(one, alone).unwrap(), []);
    }
}
