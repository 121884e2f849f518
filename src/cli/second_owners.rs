//! Nothing is applied that would own in Azure what an applied object owns (U04).
//!
//! In: the objects of a revision, and the cluster. Out: whether it may be applied, and lines that say why not. As long as
//! nobody can tell, it may not. It does not know how anything is applied.

use std::time::Duration;

use kube::Client;

use crate::adapters::kubernetes::{SecondOwners, Unseen, second_owners};
use crate::model::Object;
use crate::plan::{self, ApplySet};

/// How long after a kind could not be read the cluster is asked again.
const AGAIN: Duration = Duration::from_secs(5);

/// Returns whether an applied object owns the same resources in Azure as one of `objects`, and reports which. Nothing is
/// applied then: the step that would create the object does not see the other one. While kinds cannot be read whose
/// objects may own them, it reports those and goes on asking. `unread` is called when something cannot be read, which may be for
/// missing rights.
pub(super) async fn is_second_owner(
    client: &Client,
    set: &ApplySet,
    objects: &[Object],
    report: impl Fn(&str),
    unread: impl AsyncFn(),
) -> anyhow::Result<bool> {
    if !objects.iter().any(|one| plan::owns_resources(&one.id)) {
        return Ok(false);
    }
    let mut reported = Unseen::new();
    loop {
        let SecondOwners { findings, unseen } = match second_owners(client, set, objects).await {
            Ok(owners) => owners,
            Err(error) => {
                unread().await;
                return Err(error.into());
            }
        };
        let kinds = |unseen: &Unseen| unseen.keys().cloned().collect::<Vec<_>>();
        if kinds(&unseen) != kinds(&reported) {
            for ((_, kind), why) in &unseen {
                report(&format!("not seen: {kind}: {why}"));
            }
            if !unseen.is_empty() {
                report(
                    "nothing is applied before these kinds can be read: one of their objects may own in Azure what a new object would own",
                );
                unread().await;
            }
        }
        for finding in &findings {
            report(&finding.to_string());
        }
        if !findings.is_empty() || unseen.is_empty() {
            return Ok(!findings.is_empty());
        }
        reported = unseen;
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value as Json, json};
    use tokio::time::Instant;

    use super::*;
    use crate::apply::Parent;
    use crate::compile::compile;
    use crate::model::Tree;

    const VERSION: &str = "resources.azure.com/v1api20200601";

    fn group(name: &str) -> Json {
        json!({
            "apiVersion": VERSION, "kind": "ResourceGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"azureName": "rg", "location": "uksouth"},
        })
    }

    fn objects(name: &str) -> Vec<Object> {
        let text = group(name).to_string();
        let tree = Tree {
            files: [(Arc::from("a.json"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        compile(&tree, &[]).objects
    }

    /// A cluster where the fleet has the resource group `a`, which cannot be listed for the first times.
    fn cluster(set: &ApplySet, failures: usize) -> Client {
        let parent = Parent {
            kinds: [("resources.azure.com".to_owned(), "ResourceGroup".to_owned())].into(),
            ..Parent::default()
        };
        let parent = parent.payload(set);
        let mut live = group("a");
        let label = crate::api::labels::PART_OF;
        live["metadata"]["labels"] = json!({label: set.id()});
        live["metadata"]["managedFields"] = json!([{
            "manager": "capstan", "operation": "Apply", "apiVersion": VERSION,
            "fieldsV1": {"f:metadata": {"f:labels": {format!("f:{label}"): {}}}},
        }]);
        let left = Arc::new(Mutex::new(failures));
        let version = json!({"groupVersion": VERSION, "version": "v1api20200601"});
        let answer = move |request: Request<Body>| {
            let mut left = left.lock().expect("no panic");
            let path = request.uri().path();
            let (status, body) = match path.strip_prefix("/apis") {
                Some("") => {
                    let groups = json!([{"name": "resources.azure.com", "versions": [version], "preferredVersion": version}]);
                    (200, json!({"kind": "APIGroupList", "groups": groups}))
                }
                Some("/resources.azure.com/v1api20200601") => {
                    let resource = json!({"name": "resourcegroups", "singularName": "", "namespaced": true, "kind": "ResourceGroup", "verbs": ["list"]});
                    let list = json!({"kind": "APIResourceList", "groupVersion": VERSION, "resources": [resource]});
                    (200, list)
                }
                Some(_) if *left > 0 => {
                    *left -= 1;
                    let status = json!({"kind": "Status", "status": "Failure", "message": "too many requests", "reason": "TooManyRequests", "code": 429});
                    (429, status)
                }
                Some(_) => {
                    let list = json!({"apiVersion": VERSION, "kind": "ResourceGroupList", "metadata": {}, "items": [live]});
                    (200, list)
                }
                None => (200, parent.clone()),
            };
            let response = Response::builder().status(status);
            let response = response.body(Body::from(body.to_string().into_bytes()));
            std::future::ready(Ok::<_, Infallible>(response.expect("a response")))
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// The answer about a resource group, what is reported, with the calls that say that something is unread, and the seconds.
    async fn asked(name: &str, failures: usize) -> (Option<bool>, Vec<String>, u64) {
        let set = ApplySet::new("test", "default");
        let (said, start) = (Mutex::new(Vec::new()), Instant::now());
        let report = |line: &str| said.lock().expect("no panic").push(line.to_owned());
        let client = cluster(&set, failures);
        let objects = objects(name);
        let asking = is_second_owner(&client, &set, &objects, report, async || report("unread"));
        let found = tokio::time::timeout(Duration::from_secs(60), asking).await;
        let found = found.ok().map(|found| found.expect("an answer"));
        (
            found,
            said.into_inner().expect("no panic"),
            start.elapsed().as_secs(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_cannot_be_read_for_a_moment_hides_no_second_owner() {
        let (found, said, _) = asked("b", 0).await;
        assert_eq!((found, said.len()), (Some(true), 1), "{said:?}");
        assert!(said[0].contains("U04"), "{said:?}");
        let (found, said, seconds) = asked("b", 2).await;
        assert_eq!((found, seconds), (Some(true), 10), "{said:?}");
        assert!(said[0].starts_with("not seen: ResourceGroup: "), "{said:?}");
        assert!(said[1].starts_with("nothing is applied before"), "{said:?}");
        assert_eq!(said[2], "unread");
        assert!(said[3].contains("U04") && said.len() == 4, "{said:?}");
        assert_eq!(asked("a", 2).await.0, Some(false));
        // Nothing lasts longer than the command may.
        assert_eq!(asked("b", 100).await.0, None);
    }
}
