//! Which version of its encryption key a cluster uses.
//!
//! In: the newest version of the key, and the cluster. Out: the version to apply, and the condition that reports it. Azure
//! replaces the version of a cluster's key only with a new enough API and OpenShift; otherwise the cluster keeps the one it
//! has, and the condition says so.

use super::super::conditions::NewCondition;
use super::mutators::{KeyVersion, VERSION, VERSION_BESIDE, Wanted};
use super::named_key;
use crate::api::arm_version::ArmVersion;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::health::Live;
use crate::model::KeyRequest;

/// The version of this key that the HCP cluster uses; `None` if it uses none, or another key.
pub(super) fn used<'a>(request: &KeyRequest, hcp: Live<'a>) -> Option<&'a str> {
    let kms = Live(hcp.at(&KMS)?);
    let (vault, _) = named_key::vault_of(kms);
    let is_it = named_key::key_of(kms) == request.key && vault == request.vault;
    version_of(kms).filter(|_| is_it)
}

fn version_of(kms: Live<'_>) -> Option<&str> {
    let mut versions = [VERSION, VERSION_BESIDE]
        .map(|place| kms.text(place))
        .into_iter();
    versions.find(|version| !version.is_empty())
}

/// The version to apply, and the condition that reports it.
pub(super) fn next(
    request: &KeyRequest,
    newest: &str,
    used: Option<&str>,
    wanted: &Wanted,
    applied: Option<Live<'_>>,
) -> (KeyVersion, NewCondition) {
    let KeyRequest { key, vault, .. } = request;
    let kept = used.filter(|used| *used != newest);
    if let Some((used, why)) = kept.and_then(|used| Some((used, obstacle(used, wanted, applied)?)))
    {
        let message = c::key_rotated(key, used, vault, newest, why);
        let condition = NewCondition::yes(c::KEY_ROTATED, message);
        return (KeyVersion::of(request, used), condition);
    }
    let condition = NewCondition::yes(c::KEY_READY, c::key_ready(key, newest, vault));
    (KeyVersion::of(request, newest), condition)
}

/// Why the cluster keeps the version that it uses.
fn obstacle(used: &str, wanted: &Wanted, applied: Option<Live<'_>>) -> Option<&'static str> {
    let given = wanted.cluster().at(&KMS).map(Live).and_then(version_of);
    if given == Some(used) {
        return Some(c::VERSION_GIVEN);
    }
    let runs = applied.map(|hcp| hcp.text(&["status", "properties", "version", "id"]));
    let runs = runs.filter(|runs| !runs.is_empty());
    let runs = runs.unwrap_or_else(|| {
        wanted
            .cluster()
            .text(&["spec", "properties", "version", "id"])
    });
    let version = ArmVersion::from_aso(wanted.cluster().version());
    let rotates = !runs.is_empty() && version.is_some_and(|version| version.rotates_keys(runs));
    (!rotates).then_some(c::ROTATION_UNSUPPORTED)
}
