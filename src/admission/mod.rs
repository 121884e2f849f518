//! What the admission webhook answers: the rules of `validate`, for one change of one object.
//!
//! ```text
//! AdmissionReview ─► Outline ─► Turns ─► Request ─► queries ─► (objects around it) ─► decide ─► Decision ─► AdmissionReview
//! ```
//!
//! In: a request of the API server, and what the cluster has around the object. Out: an answer, and the manifests that
//! make the API server ask. What is too large is refused by its outline, and one namespace does not keep others waiting. A change is refused only for errors that the object did not have before. It does not know:
//! how the objects around it are read, how the answer travels.

mod compare;
mod decide;
mod last_pool;
mod manifests;
mod outline;
mod queries;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod turns;

pub use decide::{Decision, decide};
pub use manifests::{
    CONFIGURATION, Installation, PATH, SECRET, SERVICE, SERVICE_ACCOUNT, TARGET_PORT, WEBHOOK,
    manifests,
};
pub use outline::{MOST_RESOURCES, MOST_VALUES, Outline};
pub use queries::{Query, queries};
pub use request::{Malformed, Operation, Request};
pub use response::{refused_as_too_large, refused_by_failure, refused_for_now, response, uid_of};
pub use turns::{Cost, Turns};
