//! What follows from the answers to writes.
//!
//! In: the end of a key's writes. Out: the cache shows what was written and what was refused, and the schedule when the key
//! is due again. It does not know what is decided then.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::itself::Part;
use super::{Done, Runtime, STATUS};
use crate::adapters::kubernetes::Error;
use crate::adapters::kubernetes::controller::backoff::backoff;
use crate::adapters::kubernetes::controller::schedule::Key;
use crate::adapters::kubernetes::controller::writer::Written;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId};
use crate::reconcile::outcome::Write;

impl Runtime {
    /// Takes in the end of a key's writes; `last` when no others are in progress.
    pub(super) fn finish(&mut self, done: Done, last: bool) {
        let Some(key) = done.key else { return };
        let manager = self.controllers[key.controller].manager;
        let now = self.clock.now();
        let mut failed = None;
        let (mut settled, mut broken) = (BTreeSet::new(), BTreeSet::new());
        for written in done.written {
            self.counts.written(matches!(
                written,
                Written::Answered(..) | Written::Secret(_, Ok(_))
            ));
            match written {
                Written::Answered(write, answer) => {
                    settled.extend(Part::of(&write, &key.object));
                    self.answered(&key, &write, manager, answer, now);
                }
                Written::Failed(write, error) => {
                    broken.extend(Part::of(&write, &key.object));
                    failed = self.refused(&key, &write, manager, &error, now).or(failed);
                }
                Written::Secret(write, Ok(answer)) => {
                    let live = Live(&answer);
                    let version = live.text(&["metadata", "resourceVersion"]);
                    self.cache.snapshot.set_written(&live.id(), version);
                    self.answered(&key, &write, manager, Some(answer), now);
                }
                Written::Secret(write, Err(error)) => {
                    failed = self.unwritten(&key, &write, manager, error, now).or(failed);
                }
            }
        }
        for part in settled.difference(&broken) {
            if self.itself.settled(&key, *part) {
                self.schedule.enqueue(key.clone());
            }
        }
        if last {
            self.cache.forget_deleted();
        }
        let Some(class) = failed else {
            return self.schedule.done(&key);
        };
        let gone = matches!(class, ErrorClass::Gone | ErrorClass::Conflict)
            && self.cache.get(&key.object).is_none();
        if gone {
            return self.schedule.done(&key);
        }
        let pause = backoff(class, self.schedule.count_failure(&key));
        self.schedule.failed(&key, now, pause);
    }

    /// A Secret with a credential could not be written. Returns the class of the error when the whole key has to wait for it.
    fn unwritten(
        &mut self,
        key: &Key,
        write: &Write,
        manager: &'static str,
        error: AdapterError,
        now: Timestamp,
    ) -> Option<ErrorClass> {
        let class = error.class();
        tracing::debug!(object = %key.object, %error, "a Secret with a credential could not be written");
        let (Write::CredentialSecret(_, patch), Some(id)) = (write, write.object()) else {
            return Some(class);
        };
        if matches!(
            class,
            ErrorClass::Transient | ErrorClass::Conflict | ErrorClass::Gone
        ) {
            return Some(class);
        }
        let until = self.outbox.refused((&id, manager), patch, class, now);
        self.schedule.wake_by(key, until);
        if self.cache.snapshot.set_refusal(&id, Some(error)) {
            self.schedule.enqueue(key.clone());
        }
        None
    }

    /// A write succeeded.
    fn answered(
        &mut self,
        key: &Key,
        write: &Write,
        manager: &'static str,
        answer: Option<Value>,
        now: Timestamp,
    ) {
        let Some(id) = write.object() else { return };
        let sent = match write {
            Write::Apply(patch) => Some((manager, patch)),
            Write::ApplyAs(manager, patch) => Some((*manager, patch)),
            Write::CredentialSecret(_, patch) => Some((manager, patch)),
            _ => None,
        };
        if let (Some((manager, patch)), Some(answer)) = (sent, &answer)
            && self.outbox.answered((&id, manager), patch, answer, now)
        {
            tracing::warn!(object = %id, manager, "another controller keeps changing fields of this object; Capstan repairs them less and less often");
        }
        if let (Write::Status(patch), Some(answer)) = (write, &answer) {
            self.outbox.answered((&id, STATUS), patch, answer, now);
        }
        let is_over = match write {
            Write::Merge(_) => !self.outbox.has_refused(&id),
            Write::Delete { .. } => true,
            _ => sent.is_some(),
        };
        if is_over && self.cache.snapshot.set_refusal(&id, None) {
            self.schedule.enqueue(key.clone());
        }
        if let Some(answer) = answer {
            self.merge(answer);
        }
    }

    /// A write failed. Returns the class of the error when the whole key has to wait for it.
    fn refused(
        &mut self,
        key: &Key,
        write: &Write,
        manager: &'static str,
        error: &Error,
        now: Timestamp,
    ) -> Option<ErrorClass> {
        let class = error.class();
        tracing::debug!(object = %key.object, %error, "a write failed");
        if let Some(part) = Part::of(write, &key.object) {
            return self.refused_itself((key, part), manager, error);
        }
        let Some(id) = write.object() else {
            return Some(class);
        };
        if class == ErrorClass::Transient {
            // What fails once may succeed next time.
            if self.schedule.failures(key) > 0 {
                self.refusal_is_news(&id, manager, error);
            }
            return Some(class);
        }
        let sent = match write {
            Write::Apply(patch) => Some((manager, patch)),
            Write::ApplyAs(manager, patch) => Some((*manager, patch)),
            _ => None,
        };
        if let Some((manager, patch)) = sent {
            let until = self.outbox.refused((&id, manager), patch, class, now);
            self.schedule.wake_by(key, until);
            if self.refusal_is_news(&id, manager, error) {
                self.schedule.enqueue(key.clone());
            }
            return None;
        }
        if !is_lasting(class) {
            return Some(class);
        }
        // Nothing keeps this write from being sent again at once, so that only the first refusal is told at once.
        let is_first = self.cache.world().refusal(&id).is_none();
        self.refusal_is_news(&id, manager, error);
        if is_first {
            self.schedule.enqueue(key.clone());
            return None;
        }
        Some(class)
    }

    /// A write to the object of the key itself failed. What fails once may succeed next time; what is refused is reported
    /// at once, by the next decision.
    fn refused_itself(
        &mut self,
        (key, part): (&Key, Part),
        manager: &str,
        error: &Error,
    ) -> Option<ErrorClass> {
        let class = error.class();
        let fails_again = class == ErrorClass::Transient && self.schedule.failures(key) > 0;
        if !is_lasting(class) && !fails_again {
            return Some(class);
        }
        let before = self.itself.refused((key, part), manager, error);
        if before.is_none() && !fails_again {
            self.schedule.enqueue(key.clone());
            return None;
        }
        Some(class)
    }

    /// Records why a write to an object was refused. Returns whether that is news.
    fn refusal_is_news(&mut self, id: &ObjectId, manager: &str, error: &Error) -> bool {
        let class = error.class();
        let before = self.cache.world().refusal(id).map(AdapterError::class);
        let is_told = is_lasting(class) || class == ErrorClass::Transient;
        if before != Some(class) && is_told {
            tracing::warn!(object = %id, manager, %error, "a write was refused; it is tried again less and less often");
        }
        let refusal = AdapterError::new(class, error.to_string());
        self.cache.snapshot.set_refusal(id, Some(refusal))
    }
}

/// Whether a write that was refused so is refused until somebody changes something.
const fn is_lasting(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Denied | ErrorClass::Invalid | ErrorClass::Bug
    )
}
