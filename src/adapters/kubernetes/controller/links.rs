//! Questions to Azure Resource Manager about Private Link.
//!
//! In: who asks it. Out: how it is asked, and which frontends are to be looked for again. It does not know how Azure is
//! reached, or who needs the answer.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::questions::{Answer, Manner, Questions};
use crate::model::{
    AzureError, AzureFault, Frontend, FrontendRequest, PrivateLinks, RejectRequest,
};
use crate::reconcile::outcome::Need;
use crate::reconcile::world::World;

/// The number of requests at once.
const AT_ONCE: usize = 8;

/// How long a frontend that was found is not looked for again.
const LIFE: SignedDuration = SignedDuration::from_mins(10);

/// Frontends that somebody needs.
pub(super) type Frontends = Questions<FrontendRequest, Frontend, AzureError>;

/// The answer about a frontend.
pub(super) type FrontendAnswer = Answer<FrontendRequest, Frontend, AzureError>;

/// Services whose connections are to be rejected.
pub(super) type Rejections = Questions<RejectRequest, usize, AzureError>;

/// The answer about the connections of a service.
pub(super) type RejectionAnswer = Answer<RejectRequest, usize, AzureError>;

/// Looks for frontends through `links`, which may take so long to answer.
pub(super) fn frontends(links: Arc<dyn PrivateLinks>, patience: Duration) -> Frontends {
    Questions::new(Manner {
        ask: Arc::new(move |request| links.frontend(request)),
        at_once: AT_ONCE,
        patience: (patience, |_| silent()),
        pause: |error, _| error.pause(),
    })
}

/// Rejects connections through `links`, which may take so long to answer.
pub(super) fn rejections(links: Arc<dyn PrivateLinks>, patience: Duration) -> Rejections {
    Questions::new(Manner {
        ask: Arc::new(move |request| links.reject(request)),
        at_once: AT_ONCE,
        patience: (patience, |_| silent()),
        pause: |error, _| error.pause(),
    })
}

fn silent() -> AzureError {
    AzureError::new(AzureFault::Other, "Azure Resource Manager does not answer")
}

/// Asks for the frontends that are needed and not known, or not known any more. Returns when to ask for one again.
pub(super) fn ask(
    frontends: &mut Frontends,
    world: World<'_>,
    needs: &[Need],
    now: Timestamp,
) -> Option<Timestamp> {
    let needed = needs.iter().filter_map(|need| match need {
        Need::Frontend(request) => Some(request),
        _ => None,
    });
    let again = needed.filter_map(|request| {
        let known = world
            .frontend(request)
            .filter(|answer| answer.found.is_ok());
        let fresh = known.map(|answer| answer.at + LIFE);
        match fresh.filter(|until| *until > now) {
            Some(until) => Some(until),
            None => frontends.ask(request.clone(), now),
        }
    });
    again.min()
}
