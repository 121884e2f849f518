//! Changes of versions that Azure refuses: U05 and U06.
//!
//! In: an object as it was, with the resource of it that changes, and as it will be. Out: what is refused, and why. It does
//! not know other objects: whether a node pool fits its cluster is N08.
//!
//! A version that Azure refused stays in the specification, and the way back from it must be open. So of a live object
//! the version in its status counts, which is the one that Azure took. Without a status Azure took none. What was
//! written counts only where nobody knows what runs.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::health::Live;
use crate::model::ObjectId;
use crate::rules::upgrade::{of_control_plane, of_node_pool};

/// Where a resource has its version.
pub(super) const ID: &[&str] = &["spec", "properties", "version", "id"];
const TAKEN: &[&str] = &["status", "properties", "version", "id"];

/// A version, and the one that Azure refuses after it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedVersion {
    /// The version before; one that runs is called so if another one is written.
    pub from: String,
    /// The version after.
    pub to: String,
    /// Says what the version does: `goes down`.
    pub verb: &'static str,
    /// What to write instead.
    pub help: String,
}

/// `goes down from 4.21 to 4.20`
impl std::fmt::Display for RefusedVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} from {} to {}", self.verb, self.from, self.to)
    }
}

/// An object as it was, and how many resources of each kind it has.
pub(super) struct Owner<'a> {
    live: Live<'a>,
    kinds: HashMap<&'a str, usize>,
}

impl<'a> Owner<'a> {
    pub(super) fn of(json: &'a Json) -> Self {
        let live = Live(json);
        let mut kinds = HashMap::new();
        for resource in live.list(&["spec", "resources"]) {
            *kinds.entry(Live(resource).kind()).or_default() += 1;
        }
        Self { live, kinds }
    }

    /// The version of a live object, or of the only resource of the kind in it, that Azure took; empty if none is known.
    fn taken(&self, kind: &str) -> &'a str {
        if self.live.kind() == kind {
            return self.live.text(TAKEN);
        }
        match self.kinds.get(kind) {
            Some(1) => self.live.text(&["status", "version"]),
            _ => "",
        }
    }
}

/// The change of the version from `before`, a resource of `owner`, to `after`, which has the id, if Azure refuses it; and
/// the reason.
pub(super) fn refused(
    owner: &Owner<'_>,
    before: &Json,
    (id, after): (&ObjectId, &Json),
) -> Option<(RefusedVersion, &'static str)> {
    let refusal = match id.kind.as_str() {
        _ if id.group != RED_HAT_OPENSHIFT => return None,
        "HcpOpenShiftCluster" => of_control_plane,
        "HcpOpenShiftClustersNodePool" => of_node_pool,
        _ => return None,
    };
    let (written, to) = (Live(before).text(ID), Live(after).text(ID));
    if written == to {
        return None;
    }
    let is_live = !owner.live.uid().is_empty();
    let from = match is_live {
        true => owner.taken(&id.kind),
        false => written,
    };
    let refused = refusal(from, to)?;
    let help = match refused.is_down && !is_live {
        true => format!(
            "{}; if Azure never took {from}, merge the change: an apply compares with the version that runs",
            refused.help
        ),
        false => refused.help,
    };
    let version = RefusedVersion {
        from: match from == written {
            true => from.to_owned(),
            false => format!("{from}, which runs,"),
        },
        to: to.to_owned(),
        verb: refused.verb,
        help,
    };
    Some((version, refused.why))
}

/// The version that runs, as far as it is known (C44); else the one written before a change, which is as high or higher.
pub(super) fn running<'a>(owner: &Owner<'a>, before: &'a Json, kind: &str) -> &'a str {
    match owner.taken(kind) {
        "" => Live(before).text(ID),
        taken => taken,
    }
}
