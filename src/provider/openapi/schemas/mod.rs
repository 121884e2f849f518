//! The schemas of bodies.
//!
//! In: nothing. Out: each schema with its name. It does not know the operations that use them.

mod answer;
pub(super) mod parts;
mod request;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

pub(super) use parts::{CLUSTER, CLUSTER_LIST, HEALTH, PROBLEM, named, string};
use parts::{DCM_REQUEST, DCM_SPEC, PROPOSAL_REQUEST};
pub(super) use request::{body, instance_id};

use crate::provider::request::Dialect;

/// Every schema, with its name.
pub(super) fn all() -> [(&'static str, RefOr<Schema>); 7] {
    [
        (CLUSTER, answer::cluster().into()),
        (CLUSTER_LIST, answer::list().into()),
        (HEALTH, answer::health().into()),
        (PROBLEM, answer::problem().into()),
        (DCM_REQUEST, request::envelope().into()),
        (DCM_SPEC, request::spec(Dialect::Dcm).into()),
        (PROPOSAL_REQUEST, request::spec(Dialect::Proposal).into()),
    ]
}
