//! Assembles keys, values, maps and lists into documents.
//!
//! In: the parser's events, in order. Out: nodes, what was read of documents before an error, and findings
//! for what YAML allows and Capstan refuses: duplicate keys, two documents in one, too deep nesting, too many
//! copied values. It does not know the text.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::entries::Entries;
use crate::model::{Budget, Finding, Limit, Node, Origin, Position, Value, rule_id};

/// The most findings per file. With this many, people fix some and run the check again.
const MAX_FINDINGS: usize = 100;

/// What one file holds.
#[derive(Debug, Default)]
pub struct File {
    /// The documents, without empty ones.
    pub documents: Vec<Node>,
    /// What was read of documents before an error; null if that is nothing.
    pub broken: Vec<Node>,
    /// What is wrong with the file.
    pub findings: Vec<Finding>,
}

/// How many values are counted before the tree's other files learn of them.
const BATCH: u64 = 1024;

/// The documents of one file while they are read.
pub(super) struct Builder<'b> {
    budget: &'b Budget,
    /// The values that the budget does not know of yet.
    uncounted: u64,
    open: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, Node>,
    copies: usize,
    file: File,
}

/// A map or list that is not closed yet.
struct Frame {
    origin: Origin,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map(Entries),
}

impl<'b> Builder<'b> {
    pub(super) fn new(budget: &'b Budget) -> Self {
        Self {
            budget,
            uncounted: 0,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            copies: 0,
            file: File::default(),
        }
    }

    /// The documents, and what is wrong with the file; `None` if the tree has too many values.
    pub(super) fn done(mut self) -> Option<File> {
        self.settle().then_some(self.file)
    }

    /// Counts values, and returns whether the tree may have them. Nothing more is read if it may not.
    fn weigh(&mut self, values: u64) -> bool {
        self.uncounted += values;
        self.uncounted < BATCH || self.settle()
    }

    fn settle(&mut self) -> bool {
        self.budget
            .allows(Limit::Values, std::mem::take(&mut self.uncounted))
    }

    /// Whether the tree has too many values.
    pub(super) fn is_over(&self) -> bool {
        self.budget.exceeds(Limit::Values)
    }

    pub(super) fn report(&mut self, finding: Finding) {
        if !self.is_full() {
            self.file.findings.push(finding);
        }
    }

    /// Whether the last finding is on this line.
    pub(super) fn has_reported(&self, line: u32) -> bool {
        let last = self.file.findings.last();
        let span = last.and_then(|finding| finding.span.as_ref());
        span.is_some_and(|span| span.start.line == line)
    }

    /// Whether no more findings are kept of this file.
    pub(super) const fn is_full(&self) -> bool {
        self.file.findings.len() >= MAX_FINDINGS
    }

    /// Ends the document at an error and keeps what was read of it, or null at `origin`. A value that was
    /// read last is dropped: it may be the one with the error.
    pub(super) fn abandon(&mut self, origin: &Origin) {
        let reported = self.file.findings.len();
        match self.open.last_mut().map(|frame| &mut frame.content) {
            Some(Content::Map(entries)) if entries.at_key() => entries.forget_last(),
            Some(Content::List(items)) => drop(items.pop()),
            _ => {}
        }
        // Copies of unfinished values are of no use, and their limit may be reached.
        self.open.iter_mut().for_each(|frame| frame.anchor = 0);
        while !self.open.is_empty() {
            let _ = self.close();
        }
        self.file.findings.truncate(reported);
        let read = self.root.take();
        let nothing = || Node::new(Value::Null, origin);
        self.file.broken.push(read.unwrap_or_else(nothing));
        self.anchors.clear();
    }

    /// Where the innermost bracket was opened that is not closed yet.
    pub(super) fn open_bracket(&self) -> Option<Position> {
        let origin = &self.open.last()?.origin;
        (!is_empty(origin)).then_some(origin.span().start)
    }

    /// Takes the last document back, because it goes on where it seemed to end.
    pub(super) fn reopen(&mut self) {
        self.root = self.file.documents.pop();
    }

    /// Ends the document and keeps it, unless it is empty.
    pub(super) fn end_document(&mut self) {
        let document = self.root.take().filter(|root| root.value != Value::Null);
        self.file.documents.extend(document);
        self.open.clear();
        self.anchors.clear();
    }

    /// The innermost open collection, if it is a map.
    pub(super) fn open_entries(&mut self) -> Option<&mut Entries> {
        match &mut self.open.last_mut()?.content {
            Content::Map(entries) => Some(entries),
            Content::List(_) => None,
        }
    }

    pub(super) fn open_map(&mut self, origin: Origin, anchor: usize) -> ControlFlow<()> {
        self.push(origin, anchor, Content::Map(Entries::default()))
    }

    pub(super) fn open_list(&mut self, origin: Origin, anchor: usize) -> ControlFlow<()> {
        self.push(origin, anchor, Content::List(Vec::new()))
    }

    pub(super) fn scalar(
        &mut self,
        value: Value,
        origin: Origin,
        anchor: usize,
    ) -> ControlFlow<()> {
        // Nothing is written after the colon, so the finding points at the key.
        let key = self
            .open_entries()
            .and_then(|entries| entries.pending_key());
        let origin = match key {
            Some(key) if is_empty(&origin) => key.origin.clone(),
            _ => origin,
        };
        self.place(Node { value, origin }, anchor)
    }

    pub(super) fn alias(&mut self, anchor: usize, origin: &Origin) -> ControlFlow<()> {
        let Some(target) = self.anchors.get(&anchor) else {
            self.report(contains_itself(origin));
            return self.put(Node::new(Value::Null, origin));
        };
        let (values, height) = target.measure();
        if self.open.len() + height > Node::MAX_DEPTH {
            self.report(too_deep(origin));
            return ControlFlow::Break(());
        }
        let weight = target.weight();
        self.count(values, origin)?;
        if !self.weigh(weight) {
            return ControlFlow::Break(());
        }
        let copy = self.anchors[&anchor].clone();
        self.put(copy)
    }

    /// Closes the innermost map or list.
    pub(super) fn close(&mut self) -> ControlFlow<()> {
        let Some(frame) = self.open.pop() else {
            return ControlFlow::Continue(());
        };
        let (value, first) = match frame.content {
            Content::List(items) => {
                let first = items.first().map(|item| item.origin.clone());
                (Value::List(items), first)
            }
            Content::Map(entries) => {
                let is_block_at_root = self.open.is_empty() && is_empty(&frame.origin);
                let entries = match is_block_at_root {
                    true => self.last_document(entries),
                    false => entries,
                };
                let first = entries.first_key().map(|key| key.origin.clone());
                (self.finish(entries), first)
            }
        };
        // A block has no opening bracket: it starts where its first entry starts.
        let origin = match first {
            Some(first) if is_empty(&frame.origin) => first,
            _ => frame.origin,
        };
        self.place(Node { value, origin }, frame.anchor)
    }

    fn finish(&mut self, entries: Entries) -> Value {
        let (map, findings) = entries.finish(MAX_FINDINGS);
        let findings = findings.into_iter();
        findings.for_each(|finding| self.report(finding));
        Value::Map(map)
    }

    /// Keeps the documents at the root that lack a `---` after them, and returns the last. Each split moves what
    /// follows, so there is one for each finding that can be reported, and no more.
    fn last_document(&mut self, mut entries: Entries) -> Entries {
        while !self.is_full()
            && let Some(next) = entries.split_document()
        {
            let key = |entries: &Entries| entries.first_key().map(|key| key.origin.clone());
            let (first, second) = (key(&entries), key(&next));
            let value = self.finish(entries);
            let document = first.map(|origin| Node { value, origin });
            self.file.documents.extend(document);
            if let Some(origin) = second {
                self.report(no_separator(&origin));
            }
            entries = next;
        }
        entries
    }

    fn push(&mut self, origin: Origin, anchor: usize, content: Content) -> ControlFlow<()> {
        if self.open.len() == Node::MAX_DEPTH {
            self.report(too_deep(&origin));
            return ControlFlow::Break(());
        }
        self.open.push(Frame {
            origin,
            anchor,
            content,
        });
        ControlFlow::Continue(())
    }

    /// Puts a value into the innermost collection, and keeps a copy for the aliases of its anchor.
    fn place(&mut self, node: Node, anchor: usize) -> ControlFlow<()> {
        if !self.weigh(1) {
            return ControlFlow::Break(());
        }
        if anchor != 0 {
            let (values, _) = node.measure();
            self.count(values, &node.origin)?;
            if !self.weigh(node.weight()) {
                return ControlFlow::Break(());
            }
            self.anchors.insert(anchor, node.clone());
        }
        self.put(node)
    }

    fn put(&mut self, node: Node) -> ControlFlow<()> {
        match self.open.last_mut().map(|frame| &mut frame.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map(entries)) => {
                if let Some(finding) = entries.put(node) {
                    self.report(finding);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn count(&mut self, values: usize, origin: &Origin) -> ControlFlow<()> {
        self.copies += values;
        if self.copies <= Node::MAX_COPIES {
            return ControlFlow::Continue(());
        }
        self.report(too_many(origin));
        ControlFlow::Break(())
    }
}

fn is_empty(origin: &Origin) -> bool {
    origin.span().start == origin.span().end
}

fn no_separator(origin: &Origin) -> Finding {
    Finding::error(
        rule_id::UNREADABLE_FILE,
        "a `---` is missing before this line, which begins another document",
    )
    .at(origin.span())
    .help("add a line with `---` above it")
}

fn contains_itself(origin: &Origin) -> Finding {
    Finding::error(
        rule_id::UNREADABLE_FILE,
        "this alias refers to a value that contains it",
    )
    .at(origin.span())
    .help("write the value here instead of the alias")
}

fn too_deep(origin: &Origin) -> Finding {
    Finding::error(
        "Y05",
        format!(
            "maps and lists are nested more than {} levels deep",
            Node::MAX_DEPTH
        ),
    )
    .at(origin.span())
    .help("no Kubernetes object nests this deep; the document is skipped")
}

fn too_many(origin: &Origin) -> Finding {
    Finding::error(
        "Y06",
        format!(
            "anchors and aliases copy more than {} values in this file",
            Node::MAX_COPIES
        ),
    )
    .at(origin.span())
    .help("write the values out, or use an overlay; the document is skipped")
}
