//! Writes to the object itself that the cluster refuses: nothing else is done for the object meanwhile.
//!
//! In: the ends of such writes, and what is decided next. Out: a warning for each object and class of error, and a decision
//! that reports it. It does not know why the write is refused.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::adapters::kubernetes::Error;
use crate::adapters::kubernetes::controller::schedule::Key;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId};
use crate::reconcile::outcome::{Outcome, Write};
use crate::reconcile::refused;

/// The part of an object that a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Object,
    Status,
}

impl Part {
    const ALL: [Self; 2] = [Self::Object, Self::Status];

    /// The part of `object` that `write` is about, if it is about it.
    pub(super) fn of(write: &Write, object: &ObjectId) -> Option<Self> {
        let is_own = write.object().as_ref() == Some(object);
        let part = match write {
            Write::Status(_) => Self::Status,
            _ => Self::Object,
        };
        is_own.then_some(part)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Object => "this object, and does nothing else for it",
            Self::Status => "the status of this object",
        }
    }
}

/// The refused writes to objects themselves.
#[derive(Debug, Default)]
pub(super) struct Itself {
    refused: BTreeMap<(Key, Part), AdapterError>,
}

impl Itself {
    /// A write was refused. Returns the class of the last refusal before, unless that write succeeded since.
    pub(super) fn refused(
        &mut self,
        (key, part): (&Key, Part),
        manager: &str,
        error: &Error,
    ) -> Option<ErrorClass> {
        let class = error.class();
        let refusal = AdapterError::new(class, error.to_string());
        let before = self.refused.insert((key.clone(), part), refusal);
        let before = before.map(|before| before.class());
        if before != Some(class) {
            tracing::warn!(object = %key.object, manager, %error, "Capstan cannot write {}; it is tried again less and less often", part.name());
        }
        before
    }

    /// A write succeeded. Returns whether one like it was refused before.
    pub(super) fn settled(&mut self, key: &Key, part: Part) -> bool {
        self.refused.remove(&(key.clone(), part)).is_some()
    }

    /// Forgets what is not written any more, and adds to a decision what is refused.
    pub(super) fn tell(
        &mut self,
        key: &Key,
        live: Option<Live<'_>>,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        for part in Part::ALL {
            let of = |write: &Write| Part::of(write, &key.object) == Some(part);
            if !outcome.writes.iter().any(of) {
                self.settled(key, part);
            }
        }
        let refusals = Part::ALL.into_iter().filter_map(|part| {
            let refusal = self.refused.get(&(key.clone(), part))?;
            Some(format!("Capstan cannot write {}: {refusal}", part.name()))
        });
        let why = refusals.collect::<Vec<_>>().join("; ");
        if let Some(live) = live.filter(|_| !why.is_empty()) {
            refused::tell(live, &why, now, outcome);
        }
    }

    /// The object was deleted.
    pub(super) fn forget(&mut self, key: &Key) {
        for part in Part::ALL {
            self.settled(key, part);
        }
    }
}
