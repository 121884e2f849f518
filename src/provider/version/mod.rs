//! The OpenShift releases that the hub offers, and which of them a request means. Pure.
//!
//! In: live ClusterImageSets, a matrix of OpenShift and Kubernetes minor versions, and the version of a request. Out: a
//! [`Release`], or why there is none, and the versions to advertise. It does not know who asks, or where sets come from.

mod image_set;
mod matrix;
mod releases;
mod requested;
#[cfg(test)]
mod tests;

pub use matrix::{Matrix, MatrixError, Minor};
pub use releases::{Release, Releases};
pub use requested::VersionError;
