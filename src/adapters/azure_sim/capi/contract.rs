//! The contract that an object was written in.

use crate::api::capi;
use crate::health::Live;

/// Whether an object was written in contract v1beta1, by its reference at `path`: the version of the stored object is
/// the newest.
pub(super) fn is_older(live: Live<'_>, path: &[&str]) -> bool {
    let part = |name: &str| live.at(path)?.get(name)?.as_str();
    capi::is_v1beta1(part("apiGroup"), part("apiVersion"))
}
