//! What ARO HCP refuses: a request for a cluster, a node pool or an external authentication at the wrong time
//! (facts/aro-rules.md §3, N24, E02 and §3.4).
//!
//! In: a request, and what Azure is at. Out: the code and the words of the refusal. It does not know the content of a
//! request: what is wrong with a spec is not found here.

use jiff::Timestamp;

use super::azure::{Azure, Work};
use crate::api::aso::{INVALID_REQUEST_CONTENT, LAST_NODE_POOL};

/// The type of clusters, as ids have it.
const CLUSTERS: &str = "/hcpopenshiftclusters/";
const NODE_POOLS: &str = "nodePools";
const EXTERNAL_AUTHS: &str = "externalAuths";

const ONE_EXTERNAL_AUTH: &str =
    "There are other external auths on the cluster. Only one external auth is allowed per cluster.";

/// Azure's code while something else works on a resource.
pub(super) const CONFLICT: &str = "Conflict";

/// Why Azure refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Azure's error code.
    pub(super) code: &'static str,
    /// Its words.
    pub(super) message: String,
}

/// Why Azure refuses to create or update a resource, if it does.
pub(super) fn refuse_put(azure: &Azure, id: &str, now: Timestamp) -> Option<Refusal> {
    let (cluster, kind) = place(id)?;
    let request = match azure.has(id) {
        true => "update",
        false => "create",
    };
    if let Some(work) = azure.work(id, now) {
        let message = format!("Cannot update resource while resource is {:?}", word(work));
        return Some(conflict(message));
    }
    let is_second = kind.eq_ignore_ascii_case(EXTERNAL_AUTHS)
        && request == "create"
        && azure.count(&cluster, EXTERNAL_AUTHS) > 0;
    busy_parent(azure, &cluster, request, now)
        .or_else(|| is_second.then(|| invalid(ONE_EXTERNAL_AUTH)))
}

/// Why Azure refuses to delete a resource that exists, if it does.
pub(super) fn refuse_deletion(azure: &Azure, id: &str, now: Timestamp) -> Option<Refusal> {
    let (cluster, _) = place(id)?;
    if azure.work(id, now) == Some(Work::Deleting) {
        return Some(conflict("Resource is already deleting".to_owned()));
    }
    busy_parent(azure, &cluster, "delete", now)
        .or_else(|| is_last_pool(azure, id).then(|| invalid(&format!("{LAST_NODE_POOL}."))))
}

/// Finishes the deletions whose time has come.
pub(super) fn pass(azure: &Azure, now: Timestamp) {
    for id in azure.overdue(now) {
        if !is_last_pool(azure, &id) {
            azure.delete(&id);
        }
    }
}

/// Whether it is the only node pool that its cluster has. One that is being deleted counts: Azure cannot delete the last one
/// either way.
pub(super) fn is_last_pool(azure: &Azure, id: &str) -> bool {
    let Some((cluster, kind)) = place(id) else {
        return false;
    };
    kind.eq_ignore_ascii_case(NODE_POOLS)
        && azure.has(&cluster)
        && azure.count(&cluster, NODE_POOLS) <= 1
}

/// While a cluster is created or deleted, nothing below it may be changed.
fn busy_parent(azure: &Azure, cluster: &str, request: &str, now: Timestamp) -> Option<Refusal> {
    let work = azure.work(cluster, now);
    let work = work.filter(|work| *work != Work::Updating)?;
    let message = format!(
        "Cannot {request} resource while parent resource is {}",
        word(work)
    );
    Some(conflict(message))
}

/// The cluster that a resource is below, and the type of the resource; of a cluster both are empty. `None` for what is not
/// of ARO HCP.
fn place(id: &str) -> Option<(String, &str)> {
    let start = id.to_ascii_lowercase().find(CLUSTERS)?;
    let (above, rest) = id.split_at_checked(start + CLUSTERS.len())?;
    let mut parts = rest.splitn(3, '/');
    let name = parts.next().unwrap_or_default();
    Some(match parts.next() {
        Some(kind) => (format!("{above}{name}"), kind),
        None => (String::new(), ""),
    })
}

const fn word(work: Work) -> &'static str {
    match work {
        Work::Provisioning => "provisioning",
        Work::Updating => "updating",
        Work::Deleting => "deleting",
    }
}

const fn conflict(message: String) -> Refusal {
    Refusal {
        code: CONFLICT,
        message,
    }
}

fn invalid(message: &str) -> Refusal {
    Refusal {
        code: INVALID_REQUEST_CONTENT,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const C: &str = "/sub/rg/providers/Microsoft.RedHatOpenShift/hcpOpenShiftClusters/c";
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn below(kind: &str, name: &str) -> String {
        format!("{C}/{kind}/{name}")
    }

    /// A cluster with these resources below it.
    fn azure(ids: &[&String]) -> Azure {
        let azure = Azure::bare();
        azure.put(C, json!({}));
        ids.iter().for_each(|id| azure.put(id, json!({})));
        azure
    }

    fn said(refusal: Option<Refusal>) -> String {
        refusal.map_or_else(String::new, |refusal| {
            format!("{}: {}", refusal.code, refusal.message)
        })
    }

    #[test]
    fn the_last_node_pool_goes_with_its_cluster_alone() {
        let (one, two) = (below("nodePools", "one"), below("nodePools", "two"));
        let azure = azure(&[&one, &two, &below("externalAuths", "ea")]);
        assert_eq!(refuse_deletion(&azure, &one, NOW), None);
        // One that is on its way out still counts, and then is the last one itself.
        azure.begin_deletion(&one, Timestamp::MAX);
        assert_eq!(refuse_deletion(&azure, &two, NOW), None);
        azure.delete(&one);
        let words = "InvalidRequestContent: The last node pool can not be deleted from a cluster.";
        assert_eq!(
            said(refuse_deletion(&azure, &two.to_uppercase(), NOW)),
            words
        );
        assert!(is_last_pool(&azure, &two));
        assert_eq!(refuse_deletion(&azure, C, NOW), None);
        azure.delete(C);
        assert_eq!(azure.ids(), Vec::<String>::new());
        assert!(!is_last_pool(&azure, &two));
    }

    #[test]
    fn what_is_busy_is_left_alone() {
        let (pool, other) = (below("nodePools", "one"), below("nodePools", "two"));
        let azure = azure(&[&pool, &other]);
        azure.begin(C, Timestamp::MAX);
        // A cluster that is updated holds up nothing below it, and may be deleted.
        assert_eq!(refuse_put(&azure, &pool, NOW), None);
        assert_eq!(refuse_deletion(&azure, &pool, NOW), None);
        let words = "Conflict: Cannot update resource while resource is \"updating\"";
        assert_eq!(said(refuse_put(&azure, C, NOW)), words);
        assert_eq!(refuse_deletion(&azure, C, NOW), None);
        azure.begin_deletion(C, Timestamp::MAX);
        let words = "Conflict: Resource is already deleting";
        assert_eq!(said(refuse_deletion(&azure, C, NOW)), words);
        assert_eq!(
            said(refuse_deletion(&azure, &pool, NOW)),
            words,
            "with its cluster"
        );
        let words = "Conflict: Cannot create resource while parent resource is deleting";
        assert_eq!(
            said(refuse_put(&azure, &below("nodePools", "new"), NOW)),
            words
        );
    }

    #[test]
    fn nothing_is_below_a_cluster_that_is_being_created() {
        let azure = Azure::bare();
        azure.begin(C, Timestamp::MAX);
        let words = "Conflict: Cannot create resource while parent resource is provisioning";
        assert_eq!(
            said(refuse_put(&azure, &below("nodePools", "one"), NOW)),
            words
        );
        azure.put(C, json!({}));
        assert_eq!(refuse_put(&azure, &below("nodePools", "one"), NOW), None);
        assert_eq!(refuse_put(&azure, "/sub/rg/other", NOW), None);
    }

    #[test]
    fn a_cluster_has_one_external_authentication() {
        let (one, two) = (below("externalAuths", "one"), below("externalAuths", "two"));
        let azure = azure(&[&one]);
        assert_eq!(refuse_put(&azure, &one, NOW), None, "an update");
        let words = format!("InvalidRequestContent: {ONE_EXTERNAL_AUTH}");
        assert_eq!(said(refuse_put(&azure, &two, NOW)), words);
        assert_eq!(refuse_deletion(&azure, &one, NOW), None);
    }

    #[test]
    fn a_deletion_that_nobody_waits_for_ends_by_itself() {
        let pool = below("nodePools", "one");
        let azure = azure(&[&pool]);
        let later = NOW + jiff::SignedDuration::from_secs(600);
        azure.begin_deletion(C, later);
        pass(&azure, NOW);
        assert_eq!(azure.ids().len(), 2);
        pass(&azure, later);
        assert_eq!(azure.ids(), Vec::<String>::new());
    }
}
