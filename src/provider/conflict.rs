//! Requests for clusters that exist already.
//!
//! In: a request, and what exists. Out: that it is new, the cluster that the same request made before, or the problem. It does not know where
//! the clusters are kept.

use std::collections::BTreeSet;

use super::instance::{Stored, TreeIndex};
use super::problem::Problem;
use super::request::Request;
use crate::api::fleet::DuplicateCreate;

/// A request for a cluster, as far as it can be a repetition.
pub struct Asked<'a> {
    /// The ID that the client chose, if it chose one.
    pub chosen: Option<&'a str>,
    /// The digest of its `Idempotency-Key`.
    pub key: Option<&'a str>,
    /// The request.
    pub request: &'a Request,
    /// The namespace of the cluster.
    pub namespace: &'a str,
}

/// All that exists.
#[derive(Default)]
pub struct Existing<'a> {
    /// The instances, wherever they are known from.
    pub instances: Vec<&'a Stored>,
    /// The clusters in git.
    pub tree: Option<&'a TreeIndex>,
    /// The clusters on the hub, `namespace/name`.
    pub hub: BTreeSet<String>,
    /// The node pools on the hub, `namespace/name`.
    pub pools: BTreeSet<String>,
}

/// The instance that the same request made before; `None` if the request is new.
///
/// # Errors
/// 409 if another cluster has the name or the ID; 422 if the key belongs to another request.
pub fn earlier<'a>(
    existing: &Existing<'a>,
    asked: &Asked<'_>,
    duplicate: DuplicateCreate,
) -> Result<Option<&'a Stored>, Problem> {
    let is_same = |stored: &Stored| {
        let is_same_request = stored
            .request
            .as_ref()
            .is_some_and(|one| one.sent == asked.request.sent);
        is_same_request && asked.chosen.is_none_or(|id| id == stored.id)
    };
    let find = |wanted: &dyn Fn(&Stored) -> bool| {
        existing
            .instances
            .iter()
            .copied()
            .find(|stored| wanted(stored))
    };
    let by_key = find(&|stored| asked.key.is_some() && stored.key.as_deref() == asked.key);
    if let Some(stored) = by_key {
        let detail = "the Idempotency-Key was used for another request: send a new one";
        return is_same(stored)
            .then_some(Some(stored))
            .ok_or_else(|| Problem::unprocessable(detail));
    }
    let by_id = find(&|stored| asked.chosen == Some(&stored.id));
    if let Some(stored) = by_id {
        let replays = duplicate == DuplicateCreate::Replay && is_same(stored);
        let detail = "cluster with this ID already exists";
        return replays
            .then_some(Some(stored))
            .ok_or_else(|| Problem::exists(detail));
    }
    let name = &asked.request.name;
    let in_tree = |tree: &TreeIndex| {
        let key = (asked.namespace.to_owned(), name.clone());
        tree.names.contains_key(&key)
    };
    let is_taken = existing.tree.is_some_and(in_tree)
        || existing
            .hub
            .contains(&format!("{}/{name}", asked.namespace))
        || find(&|stored| stored.namespace == asked.namespace && stored.name == *name).is_some();
    if is_taken {
        return Err(Problem::exists(format!(
            "cluster with name {name:?} already exists"
        )));
    }
    if existing
        .pools
        .contains(&format!("{}/{name}", asked.namespace))
    {
        return Err(Problem::exists(format!(
            "a node pool with name {name:?} already exists"
        )));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(name: &str, count: u32) -> Request {
        let body = json!({
            "serviceType": "cluster", "version": "4.17", "metadata": {"name": name}, "nodes": {"worker": {"count": count}},
        });
        Request::read(body.to_string().as_bytes()).expect("it is valid")
    }

    fn stored(id: &str, name: &str, key: Option<&str>) -> Stored {
        Stored {
            id: id.to_owned(),
            name: name.to_owned(),
            namespace: "n".to_owned(),
            request: Some(request(name, 1)),
            requested_at: None,
            version: None,
            key: key.map(str::to_owned),
        }
    }

    /// The ID of the earlier instance, or the status of the problem.
    fn found(
        existing: &Existing,
        chosen: Option<&str>,
        key: Option<&str>,
        request: &Request,
        duplicate: DuplicateCreate,
    ) -> Result<Option<String>, u16> {
        let asked = Asked {
            chosen,
            key,
            request,
            namespace: "n",
        };
        let earlier = earlier(existing, &asked, duplicate);
        earlier
            .map(|one| one.map(|one| one.id.clone()))
            .map_err(|problem| problem.status())
    }

    #[test]
    fn only_an_equal_request_is_answered_again() {
        let one = stored("i-1", "a", Some("k1"));
        let existing = Existing {
            instances: vec![&one],
            ..Existing::default()
        };
        let (same, other) = (request("a", 1), request("a", 2));
        let again = Ok(Some("i-1".to_owned()));
        for (chosen, key, request, conflict, replay) in [
            (None, Some("k1"), &same, again.clone(), again.clone()),
            (Some("i-1"), Some("k1"), &same, again.clone(), again.clone()),
            (Some("i-2"), Some("k1"), &same, Err(422), Err(422)),
            (None, Some("k1"), &other, Err(422), Err(422)),
            (Some("i-1"), None, &same, Err(409), again.clone()),
            (Some("i-1"), Some("k2"), &same, Err(409), again.clone()),
            (Some("i-1"), None, &other, Err(409), Err(409)),
            (Some("i-2"), None, &same, Err(409), Err(409)),
            (None, None, &same, Err(409), Err(409)),
            (None, None, &request("b", 1), Ok(None), Ok(None)),
            (Some("i-1"), None, &request("b", 1), Err(409), Err(409)),
        ] {
            let at = format!("{chosen:?} {key:?} {}", request.sent);
            assert_eq!(
                found(&existing, chosen, key, request, DuplicateCreate::Conflict),
                conflict,
                "{at}"
            );
            assert_eq!(
                found(&existing, chosen, key, request, DuplicateCreate::Replay),
                replay,
                "{at}"
            );
        }
    }

    #[test]
    fn a_name_is_taken_wherever_it_is() {
        let wanted = request("a", 1);
        let refused =
            |existing: &Existing| found(existing, None, None, &wanted, DuplicateCreate::Conflict);
        let hub = |name: &str| Existing {
            hub: [name.to_owned()].into(),
            ..Existing::default()
        };
        assert_eq!(refused(&hub("n/a")), Err(409));
        assert_eq!(refused(&hub("other/a")), Ok(None));
        let mut tree = TreeIndex::default();
        tree.names
            .insert(("n".to_owned(), "a".to_owned()), "a.yaml:1:1".to_owned());
        let git = Existing {
            tree: Some(&tree),
            ..Existing::default()
        };
        assert_eq!(refused(&git), Err(409));
    }
}
