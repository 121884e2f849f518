//! What the admission webhook answers: the rules of `validate`, for one change of one object.
//!
//! ```text
//! AdmissionReview ─► Request ─► queries ─► (objects around it) ─► decide ─► Decision ─► AdmissionReview
//! ```
//!
//! In: a request of the API server, and what the cluster has around the object. Out: an answer, and the manifests that
//! make the API server ask. A change is refused only for errors that the object did not have before. It does not know:
//! how the objects around it are read, how the answer travels.

mod compare;
mod decide;
mod last_pool;
mod manifests;
mod queries;
mod request;
mod response;

pub use decide::{Decision, decide};
pub use manifests::{
    CONFIGURATION, Installation, PATH, SECRET, SERVICE, SERVICE_ACCOUNT, TARGET_PORT, WEBHOOK,
    manifests,
};
pub use queries::{Query, queries};
pub use request::{Malformed, Operation, Request};
pub use response::{refused_by_failure, response, uid_of};
