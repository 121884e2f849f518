//! The registration that the registry has, and the one that it is to get.
//!
//! In: registrations that are wanted, accepted and refused. Out: the one to send next. It does not know when it is sent.

use serde_json::Value;

/// A registration, and whether the registry refused it last.
#[derive(Debug)]
struct Offer {
    payload: Value,
    is_refused: bool,
}

/// The effect of an answer of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The registry has a registration that it did not have, or refused.
    New,
    /// It is as it was.
    None,
}

/// The registration on its way to the registry.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The registration of what the hub offers.
    wanted: Option<Offer>,
    /// The registration that the registry accepted last.
    accepted: Option<Offer>,
    /// The registration that was sent last.
    sent: Option<Value>,
}

impl Delivery {
    pub(super) const fn new() -> Self {
        Self {
            wanted: None,
            accepted: None,
            sent: None,
        }
    }

    /// Forgets what the registry has and refused: another replica may have registered since.
    pub(super) fn forget(&mut self) {
        self.wanted = None;
        self.accepted = None;
    }

    /// Takes what the hub offers now. A refusal of the same is remembered.
    pub(super) fn want(&mut self, payload: Value) {
        if is_of(self.wanted.as_ref(), &payload) {
            return;
        }
        self.wanted = Some(Offer {
            payload,
            is_refused: false,
        });
    }

    /// Returns true if the registry lacks what is wanted, and did not refuse it.
    pub(super) fn is_pending(&self) -> bool {
        let wanted = self.wanted.as_ref().filter(|wanted| !wanted.is_refused);
        wanted.is_some_and(|wanted| !is_of(self.accepted.as_ref(), &wanted.payload))
    }

    /// Returns what the registry accepted last.
    pub(super) fn registration(&self) -> Option<&Value> {
        self.accepted.as_ref().map(|offer| &offer.payload)
    }

    /// Returns what to send next: what is wanted, or if that was refused, what was accepted before, so that the
    /// registration does not lapse.
    pub(super) fn next(&self) -> Option<&Value> {
        let wanted = self.wanted.as_ref().filter(|wanted| !wanted.is_refused);
        let next = wanted.or(self.accepted.as_ref())?;
        Some(&next.payload)
    }

    /// Notes what was sent last.
    pub(super) fn send(&mut self, payload: Value) {
        self.sent = Some(payload);
    }

    /// Notes that the registry accepted what was sent last.
    pub(super) fn accepted(&mut self) -> Change {
        let Some(payload) = self.sent.take() else {
            return Change::None;
        };
        if let Some(wanted) = &mut self.wanted
            && wanted.payload == payload
        {
            wanted.is_refused = false;
        }
        let before = self.accepted.replace(Offer {
            payload: payload.clone(),
            is_refused: false,
        });
        match before {
            Some(before) if before.payload == payload && !before.is_refused => Change::None,
            _ => Change::New,
        }
    }

    /// Notes that the registry refused what was sent last, which is new unless it refused the same before.
    pub(super) fn refused(&mut self) -> Change {
        let Some(payload) = self.sent.take() else {
            return Change::None;
        };
        let offers = [&mut self.wanted, &mut self.accepted];
        let offers = offers.into_iter().flatten();
        let mut change = Change::New;
        for offer in offers.filter(|offer| offer.payload == payload) {
            if offer.is_refused {
                change = Change::None;
            }
            offer.is_refused = true;
        }
        change
    }
}

fn is_of(offer: Option<&Offer>, payload: &Value) -> bool {
    offer.is_some_and(|offer| offer.payload == *payload)
}
