//! Watches: what happens to the objects of a scope, as it happens.
//!
//! In: a scope, options, and the shared state. Out: a stream of lines. The watch keeps the version up
//! to which it has sent everything and reads on from there in the collection's history, so that
//! nothing is lost between a list and a watch and no reader holds up a writer. A reader that falls so
//! far behind that the history has forgotten gets a 410 and must list again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::json;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::history::Event;
use super::object::{Form, Stored};
use super::reads::{Start, WatchOptions};
use super::resources::Resource;
use super::scope::Scope;
use super::shared::Shared;
use super::status::Refusal;
use super::store::{Collection, State};

/// How many objects or changes go into one piece of the stream.
const BATCH: usize = 256;
/// The longest time between two bookmarks of a watch.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// How long before its end a watch sends its last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// A watch that is open.
struct Watch {
    shared: Arc<Shared>,
    resource: Arc<Resource>,
    scope: Scope,
    form: Form,
    changes: Receiver<u64>,
    /// Objects that were there at the start and are still to be sent.
    present: std::vec::IntoIter<Stored>,
    /// Why the watch ends before it began.
    fault: Option<Refusal>,
    /// Whether a bookmark has to follow the objects that were there.
    announce: bool,
    /// Everything up to this version has been sent.
    sent: u64,
    bookmarks: bool,
    next_bookmark: Option<Instant>,
    end: Instant,
    over: bool,
}

/// Opens a watch. What it starts with is decided now, under the lock, not when the stream is read.
///
/// # Errors
/// 404 when the resource is no longer served.
pub(super) fn open(
    shared: &Arc<Shared>,
    state: &State,
    resource: &Arc<Resource>,
    scope: Scope,
    options: WatchOptions,
    form: Form,
) -> Result<impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static, Refusal> {
    let collection = state.collection(&resource.collection);
    let collection = collection.ok_or_else(|| Refusal::not_found(resource, ""))?;
    let (present, fault) = match options.start {
        Start::After(_) | Start::Next => (Vec::new(), None),
        Start::Present(version) if version > state.version => {
            let refusal = Refusal::version_too_large(version, state.version);
            (Vec::new(), Some(refusal))
        }
        Start::Present(_) => (all(collection, &scope), None),
    };
    let now = Instant::now();
    let outside = |duration| shared.clock.real(duration);
    let lasts = Duration::from_secs(options.seconds);
    // A short watch has nothing to say before its end.
    let first = lasts.saturating_sub(LAST_BOOKMARK).min(BOOKMARK_PERIOD);
    let marks = options.bookmarks && !first.is_zero();
    let watch = Watch {
        shared: shared.clone(),
        resource: resource.clone(),
        scope,
        form,
        changes: collection.history.subscribe(),
        present: present.into_iter(),
        fault,
        announce: options.bookmarks && matches!(options.start, Start::Present(_)),
        sent: match options.start {
            Start::After(version) => version,
            Start::Present(_) | Start::Next => state.version,
        },
        bookmarks: options.bookmarks,
        next_bookmark: marks.then(|| now + outside(first)),
        end: now + outside(lasts),
        over: false,
    };
    Ok(futures::stream::unfold(watch, |mut watch| async move {
        let piece = watch.next().await?;
        Some((Ok(piece), watch))
    }))
}

/// The objects of a scope.
fn all(collection: &Collection, scope: &Scope) -> Vec<Stored> {
    collection
        .from(&scope.prefix, "")
        .filter(|(key, object)| scope.has(key, object))
        .map(|(_, object)| object.clone())
        .collect()
}

impl Watch {
    /// The next piece; none when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.over {
            if let Some(piece) = self.opening().or_else(|| self.changes()) {
                return Some(piece);
            }
            if self.over {
                return None;
            }
            let wake = self.next_bookmark.map_or(self.end, |at| at.min(self.end));
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(wake) => {
                    self.over = Instant::now() >= self.end;
                    if let Some(piece) = self.bookmark_if_due() {
                        return Some(piece);
                    }
                }
                changed = self.changes.changed() => if changed.is_err() { self.over = true },
            }
        }
        None
    }

    /// What was there at the start.
    fn opening(&mut self) -> Option<Bytes> {
        let mut lines = Lines::new(&self.resource, self.form);
        if let Some(fault) = self.fault.take() {
            self.over = true;
            lines.error(&fault);
            return lines.finish();
        }
        for object in self.present.by_ref().take(BATCH) {
            lines.object("ADDED", &object);
        }
        if self.announce && self.present.len() == 0 {
            self.announce = false;
            lines.bookmark(self.sent, true);
        }
        lines.finish()
    }

    /// What happened since.
    fn changes(&mut self) -> Option<Bytes> {
        loop {
            let batch = self.read_on();
            let mut lines = Lines::new(&self.resource, self.form);
            match &batch {
                Ok(batch) => batch
                    .iter()
                    .for_each(|event| tell(&mut lines, event, &self.scope)),
                Err(refusal) => {
                    self.over = true;
                    lines.error(refusal);
                }
            }
            let full = batch.is_ok_and(|batch| batch.len() == BATCH);
            if let Some(piece) = lines.finish() {
                return Some(piece);
            }
            if !full {
                return None;
            }
        }
    }

    /// The next changes in the history that may concern this watch.
    fn read_on(&mut self) -> Result<Vec<Event>, Refusal> {
        let state = self.shared.lock();
        let Some(collection) = state.collection(&self.resource.collection) else {
            self.over = true;
            return Ok(Vec::new());
        };
        let later = collection.history.since(self.sent).map_err(|forgotten| {
            let (sent, known) = (self.sent, forgotten.0);
            Refusal::expired(format!("too old resource version: {sent} ({known})"))
        })?;
        let prefix = &self.scope.prefix;
        let batch: Vec<Event> = later
            .filter(|event| event.key.starts_with(prefix.as_str()))
            .take(BATCH)
            .cloned()
            .collect();
        match batch.last() {
            Some(last) if batch.len() == BATCH => self.sent = last.version(),
            _ => {
                // A watch may start at a version that is yet to come.
                self.sent = self.sent.max(state.version);
                self.over = collection.closed;
            }
        }
        Ok(batch)
    }

    fn bookmark_if_due(&mut self) -> Option<Bytes> {
        let due = self.next_bookmark.is_some_and(|at| at <= Instant::now());
        if !due || !self.bookmarks {
            return None;
        }
        let period = self.shared.clock.real(BOOKMARK_PERIOD);
        let last = self.shared.clock.real(LAST_BOOKMARK);
        let next = Instant::now() + period;
        let before_end = self.end.checked_sub(last).filter(|at| *at > Instant::now());
        self.next_bookmark = match before_end {
            Some(before_end) => Some(next.min(before_end)),
            None => Some(next).filter(|next| *next < self.end),
        };
        let mut lines = Lines::new(&self.resource, self.form);
        lines.bookmark(self.sent, false);
        lines.finish()
    }
}

/// Tells a change as the scope sees it: an object that enters it is added, one that leaves it is
/// deleted, in the state in which it was last seen.
fn tell(lines: &mut Lines<'_>, event: &Event, scope: &Scope) {
    let seen = |object: &Stored| scope.has(&event.key, object);
    let before = event.before.as_ref().filter(|object| seen(object));
    let after = (!event.deleted && seen(&event.after)).then_some(&event.after);
    match (before, after) {
        (None, Some(after)) => lines.object("ADDED", after),
        (Some(_), Some(after)) => lines.object("MODIFIED", after),
        (Some(before), None) => lines.object("DELETED", &before.at(event.version())),
        (None, None) => {}
    }
}

/// Lines of a watch, in the making.
struct Lines<'a> {
    resource: &'a Resource,
    form: Form,
    text: Vec<u8>,
}

impl<'a> Lines<'a> {
    const fn new(resource: &'a Resource, form: Form) -> Self {
        Self {
            resource,
            form,
            text: Vec::new(),
        }
    }

    fn object(&mut self, kind: &str, object: &Stored) {
        let opening = format!("{{\"type\":\"{kind}\",\"object\":");
        self.text.extend_from_slice(opening.as_bytes());
        object.render(self.resource, self.form, &mut self.text);
        self.text.extend_from_slice(b"}\n");
    }

    fn bookmark(&mut self, version: u64, end_of_start: bool) {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if end_of_start {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (api_version, kind) = match self.form.is_metadata() {
            false => (self.resource.api_version(), self.resource.kind.as_str()),
            true => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata"),
        };
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        self.line(&json!({"type": "BOOKMARK", "object": object}));
    }

    fn error(&mut self, refusal: &Refusal) {
        self.line(&json!({"type": "ERROR", "object": refusal.value()}));
    }

    fn line(&mut self, value: &serde_json::Value) {
        self.text.extend_from_slice(value.to_string().as_bytes());
        self.text.push(b'\n');
    }

    fn finish(self) -> Option<Bytes> {
        (!self.text.is_empty()).then(|| self.text.into())
    }
}
