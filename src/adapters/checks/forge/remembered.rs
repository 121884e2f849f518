//! What was asked about users lately.
//!
//! In: answers, with the time. Out: those that still hold. It does not know who is asked.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::model::MayWrite;

/// How long an answer about a user holds.
const REMEMBERED: SignedDuration = SignedDuration::from_secs(300);

/// Answers about the user of the token, and about the rights of others by their ids.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    own: Mutex<Option<(Timestamp, Option<String>)>>,
    rights: Mutex<BTreeMap<String, (Timestamp, MayWrite)>>,
}

impl Remembered {
    /// The id of the user of the token; `None` if it is to be asked.
    pub(super) fn own(&self, now: Timestamp) -> Option<Option<String>> {
        let own = self.own.lock().clone();
        own.filter(|(at, _)| now < *at + REMEMBERED)
            .map(|(_, own)| own)
    }

    /// Notes the id of the user of the token.
    pub(super) fn set_own(&self, own: Option<String>, now: Timestamp) {
        *self.own.lock() = Some((now, own));
    }

    /// The answer about the user of this id; `None` if it is to be asked.
    pub(super) fn rights(&self, id: &str, now: Timestamp) -> Option<MayWrite> {
        let mut rights = self.rights.lock();
        rights.retain(|_, (at, _)| now < *at + REMEMBERED);
        rights.get(id).map(|(_, may_write)| *may_write)
    }

    /// Notes the answer about the user of this id.
    pub(super) fn set_rights(&self, id: &str, may_write: MayWrite, now: Timestamp) {
        self.rights.lock().insert(id.to_owned(), (now, may_write));
    }
}
