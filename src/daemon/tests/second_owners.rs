//! A revision that would own in Azure what an applied object owns is not applied (U04), however it came to the followed
//! branch.

use super::*;
use crate::apply::Parent;

const SYNC: &str = "capstan/config/sync";

/// A resource group in Azure by the name of its object, which has these annotations.
fn group(name: &str, annotations: &str) -> String {
    format!(
        "apiVersion: resources.azure.com/v1api20200601\nkind: ResourceGroup\nmetadata: {{name: {name}, namespace: default, annotations: {{{annotations}}}}}\nspec:\n  azureName: rg\n  location: uksouth\n"
    )
}

impl Case {
    /// Pushes a commit with this file alone.
    fn push(&self, onto: Option<&str>, text: &str) -> String {
        let author = Author::init(self.daemon.source.config.url.as_ref()).unwrap();
        let files: Files = [("a.yaml".to_owned(), text.to_owned())].into();
        let commit = author.push("main", onto, &files, "it", Timestamp::UNIX_EPOCH);
        self.daemon.source.fetch().unwrap();
        commit.unwrap()
    }

    async fn until(&mut self, name: &str) {
        while self.handle_next().await.1 != name {}
    }

    /// The followed branch leads to `commit`: what its sync check says after it was examined.
    async fn follow(&mut self, commit: &str) -> Check {
        self.fetched(Ok(RemoteRefs {
            refs: None,
            head: commit.to_owned(),
            signed_anew: false,
        }));
        self.until("another").await;
        self.sync_check_of(commit)
    }

    fn sync_check_of(&self, commit: &str) -> Check {
        let view = self.daemon.view.borrow();
        view.check(SYNC, commit).cloned().unwrap()
    }

    /// What was taken up last is applied as a whole.
    async fn settle(&mut self) {
        while !self.parts().releases.current().unwrap().is_running() {
            self.handle_next().await;
        }
        let number = self.number();
        self.reported(number, Report::Settled);
        // The next look at the repository retains it.
        self.daemon.source.fetch().unwrap();
    }

    fn assert_refused(&mut self, check: &Check, applied: &str) {
        assert_eq!(check.state, CheckState::Failure, "{check:?}");
        assert_eq!(check.title, "not applied: 1 error");
        let parts = ["a.yaml:5:", "U04 ", "(keep the name a, or first apply it"];
        for part in parts
            .map(str::to_owned)
            .into_iter()
            .chain([format!("The last good revision {applied} stays applied.")])
        {
            assert!(check.summary.contains(&part), "{part}: {}", check.summary);
        }
        assert_eq!(self.applied().as_deref(), Some(applied));
        let newest = self.newest().unwrap();
        assert!(
            newest.is_refused && newest.why.contains("U04"),
            "{newest:?}"
        );
        assert_eq!(newest.revision, check.revision);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pushed_second_owner_is_refused_until_the_first_one_is_detached() {
    let mut case = Case::with(Setting::default().slow());
    let first = case.push(None, &group("a", ""));
    assert_eq!(case.follow(&first).await.state, CheckState::Pending);
    case.settle().await;
    let renamed = case.push(Some(&first), &group("b", ""));
    let check = case.follow(&renamed).await;
    case.assert_refused(&check, &first);
    // As the page of U04 says.
    let policy = "serviceoperator.azure.com/reconcile-policy: detach-on-delete";
    let detached = case.push(Some(&renamed), &group("a", policy));
    assert_eq!(case.follow(&detached).await.state, CheckState::Pending);
    assert_eq!(case.applied(), Some(detached.clone()));
    // The live object does not have the annotation yet.
    let renamed = case.push(Some(&detached), &group("b", ""));
    let check = case.follow(&renamed).await;
    case.assert_refused(&check, &detached);
    // Once it has, the commit is examined again.
    case.settle().await;
    case.until("another").await;
    assert_eq!(case.sync_check_of(&renamed).state, CheckState::Pending);
    assert_eq!(case.applied(), Some(renamed));
    assert_eq!(case.newest(), None);
}

/// A repository where a second owner was pushed, and then another commit; and the three.
fn restarted() -> (Case, [String; 3]) {
    let case = Case::with(Setting::default().slow());
    let first = case.push(None, &group("a", ""));
    let second = case.push(Some(&first), &group("b", ""));
    let third = case.push(Some(&second), &(group("b", "") + "# more\n"));
    (case, [first, second, third])
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_the_cluster_says_what_is_applied() {
    let (mut case, [first, _, third]) = restarted();
    let parent = Parent {
        applying: first.clone(),
        ..Parent::default()
    };
    let parent = parent.payload(&case.daemon.source.set).to_string();
    let client = tower::service_fn(move |_: Request<Body>| {
        let body = Body::from(parent.clone().into_bytes());
        std::future::ready(Ok::<_, Infallible>(Response::new(body)))
    });
    case.daemon.target.client = Client::new(client, "default");
    let check = case.follow(&third).await;
    case.assert_refused(&check, &first);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_say_what_is_applied_holds_a_commit_up_for_10_seconds() {
    let (mut case, [first, _, third]) = restarted();
    let mirror = case.daemon.source.revisions.origin.repository().unwrap();
    mirror.retain(RetainedRef::Applied, &first).unwrap();
    let start = Instant::now();
    let check = case.follow(&third).await;
    assert_eq!(start.elapsed().as_secs(), 10);
    case.assert_refused(&check, &first);
}
