//! Which approvals in the messages of commits count: on the line of first parents, and only if no fork's pull request
//! brought the commit in.

use std::collections::BTreeSet;

use git2::{Oid, Repository, Signature, Time};

use super::forge::{Forge, Silent};
use super::*;
use crate::apply::ApprovalsRequest;
use crate::daemon::jobs::Purpose;
use crate::follow::{Candidate, Lane, PlanRequest};
use crate::model::CommitSource;
use crate::plan::approvals::{Approvals, Doubt, How, Pressed};

const APPROVING: &str = "tidy up\n\nCapstan-Approve: delete c/two\n";

impl Case {
    /// A case whose checks go to a forge.
    fn with_forge() -> (Self, Arc<Forge>) {
        let forge = Arc::new(Forge::default());
        (Self::on_forge(forge.ports()), forge)
    }

    /// What is approved of the candidate `commit`, as the thread that plans asks.
    async fn plan_approvals(&self, base: &str, commit: &str) -> Approvals {
        let source = Arc::clone(&self.daemon.source);
        let (base, commit) = (base.to_owned(), commit.to_owned());
        let work = move || source.approvals.for_candidate(&base, &commit, None);
        tokio::task::spawn_blocking(work).await.unwrap()
    }

    /// Asks the forge once more, and returns the commits that have an answer.
    async fn ask_again(&self, commits: &[&String]) -> BTreeSet<String> {
        let commits = commits.iter().map(|commit| (*commit).clone()).collect();
        let attribution = &self.daemon.source.approvals.attribution;
        attribution.take_new();
        attribution.ask_again(&commits, &BTreeSet::new()).await;
        attribution.take_new()
    }

    /// A commit on top of `parents`, to which a branch leads from now on.
    fn commit_onto(&self, parents: &[&str], message: &str) -> String {
        self.commit_files(parents, message, &[])
    }

    /// The same with these files, or without those that have no text.
    fn commit_files(
        &self,
        parents: &[&str],
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> String {
        let repository = Repository::open(self._dir.path().join("config.git")).unwrap();
        let find = |id: &&str| repository.find_commit(Oid::from_str(id).unwrap()).unwrap();
        let parents: Vec<_> = parents.iter().map(find).collect();
        let tree = parents[0].tree().unwrap();
        let mut builder = repository.treebuilder(Some(&tree)).unwrap();
        for (name, text) in files {
            match text {
                Some(text) => {
                    let blob = repository.blob(text.as_bytes()).unwrap();
                    builder.insert(*name, blob, 0o100_644).unwrap();
                }
                None => builder.remove(*name).unwrap(),
            }
        }
        let tree = repository.find_tree(builder.write().unwrap()).unwrap();
        let who = Signature::new("Eve", "eve@example.com", &Time::new(1, 0)).unwrap();
        let parents: Vec<_> = parents.iter().collect();
        let id = repository.commit(None, &who, &who, message, &tree, &parents);
        let id = id.unwrap();
        let name = format!("refs/heads/b-{id}");
        repository.reference(&name, id, true, "it").unwrap();
        self.daemon
            .source
            .revisions
            .origin
            .repository()
            .unwrap()
            .fetch()
            .unwrap();
        id.to_string()
    }

    /// What is approved of `revision`, as the thread that applies asks.
    async fn approvals(&self, applied: &str, revision: &str) -> Approvals {
        let source = Arc::clone(&self.daemon.source);
        let (applied, revision) = (applied.to_owned(), revision.to_owned());
        let asked =
            tokio::task::spawn_blocking(move || source.approvals.for_revision(&applied, &revision));
        asked.await.unwrap()
    }
}

/// The clusters that may be deleted, and why other approvals do not count.
fn words(approvals: &Approvals) -> (Vec<String>, Vec<&Doubt>) {
    let doubts = approvals.doubted.iter().map(|(_, doubt)| doubt);
    (
        approvals.deletable().into_iter().collect(),
        doubts.collect(),
    )
}

/// How a pull request of two commits, of which the first approves, becomes part of the followed branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Merge,
    /// The person who merges repeats the line.
    MergeSaying,
    Squash,
    Rebase,
    FastForward,
}

#[tokio::test(start_paused = true)]
async fn a_trailer_counts_on_the_line_of_first_parents_unless_it_is_a_fork_s() {
    use Way::{FastForward, Merge, MergeSaying, Rebase, Squash};
    for source in [None, Some(CommitSource::Own), Some(CommitSource::Fork(7))] {
        for way in [Merge, MergeSaying, Squash, Rebase, FastForward] {
            let (case, forge) = match source {
                Some(_) => Case::with_forge(),
                // Git notes know of no pull requests.
                None => (Case::new(), Arc::default()),
            };
            let first = case.commit.clone();
            let asked = case.commit_onto(&[&first], APPROVING);
            let head = case.commit_onto(&[&asked], "and more");
            let moved = case.commit_onto(&[&first], "meanwhile");
            let (saying, merged) = match way {
                Merge => (None, case.commit_onto(&[&moved, &head], "merge it")),
                MergeSaying => {
                    let merge = case.commit_onto(&[&moved, &head], APPROVING);
                    (Some(merge.clone()), merge)
                }
                Squash => {
                    let squash = case.commit_onto(&[&moved], APPROVING);
                    (Some(squash.clone()), squash)
                }
                Rebase => {
                    let asked = case.commit_onto(&[&moved], APPROVING);
                    let head = case.commit_onto(&[&asked], "and more");
                    (Some(asked), head)
                }
                FastForward => (Some(asked.clone()), head.clone()),
            };
            if let (Some(source), Some(saying)) = (source, &saying) {
                forge.sources.lock().unwrap().insert(saying.clone(), source);
            }
            let found = case.approvals(&first, &merged).await;
            let fork = Doubt::Fork(7);
            let (expected, doubts): (&[&str], Vec<&Doubt>) = match (way, source) {
                (Merge, _) => (&[], vec![&Doubt::Merged]),
                (MergeSaying, Some(CommitSource::Fork(_))) => (&[], vec![&fork, &Doubt::Merged]),
                (_, Some(CommitSource::Fork(_))) => (&[], vec![&fork]),
                _ => (&["c/two"], vec![]),
            };
            let expected: Vec<String> = expected.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(words(&found), (expected, doubts), "{way:?} {source:?}");
            if let Some(given) = found.given.first() {
                assert_eq!(given.who, "Eve <eve@example.com>");
                assert_eq!(Some(&given.commit), saying.as_ref());
            }
        }
    }
}

/// Somebody approves a removal, somebody else brings the cluster back, and then it goes once more.
#[tokio::test(start_paused = true)]
async fn an_approval_ends_once_a_later_commit_writes_of_the_cluster_again() {
    const TWO: Option<&str> = Some("kind: Cluster\nmetadata: {name: two}\n");
    const OTHER: Option<&str> = Some("kind: Cluster\nmetadata: {name: two-b}\n");
    let case = Case::new();
    let first = case.commit.clone();
    let with = case.commit_files(&[&first], "add it", &[("two.yaml", TWO)]);
    let removed = case.commit_files(&[&with], APPROVING, &[("two.yaml", None)]);
    let found = case.approvals(&with, &removed).await;
    assert_eq!(found.deletable().len(), 1);
    let other = case.commit_files(&[&removed], "another", &[("b.yaml", OTHER)]);
    let found = case.approvals(&with, &other).await;
    assert_eq!(
        found.deletable().len(),
        1,
        "it says nothing of this cluster"
    );
    case.daemon.source.approvals.add(Pressed {
        commit: removed.clone(),
        losses: ["delete c/two".to_owned()].into(),
        login: "ada".to_owned(),
        how: How::Button,
        at: Timestamp::UNIX_EPOCH,
        is_applied: false,
    });
    for file in ["two.yaml", "elsewhere.yaml"] {
        let back = case.commit_files(&[&other], "keep it", &[(file, TWO)]);
        let again = case.commit_files(&[&back], "tidy up", &[(file, None)]);
        let found = case.approvals(&with, &again).await;
        let doubt = Doubt::BroughtBack(back.clone());
        assert_eq!(words(&found), (vec![], vec![&doubt, &doubt]), "{file}");
        let said = case.commit_files(&[&back], APPROVING, &[(file, None)]);
        let found = case.approvals(&with, &said).await;
        assert_eq!(found.deletable().len(), 1, "the newer one counts");
    }
}

#[tokio::test(start_paused = true)]
async fn the_plan_of_a_branch_asks_the_forge_as_well() {
    let (case, forge) = Case::with_forge();
    let first = case.commit.clone();
    let own = case.commit_onto(&[&first], APPROVING);
    let theirs = case.commit_onto(
        &[&first],
        "it\n\nCapstan-Approve: delete c/one\nCapstan-Approve: recreate c/three\n",
    );
    let sources = [
        (own.clone(), CommitSource::Own),
        (theirs.clone(), CommitSource::Fork(7)),
    ];
    forge.sources.lock().unwrap().extend(sources);
    for (commit, clusters, doubts) in [(&own, &["c/two"][..], 0), (&theirs, &[], 2)] {
        let source = Arc::clone(&case.daemon.source);
        let (base, commit) = (first.clone(), commit.clone());
        let candidate = Candidate {
            name: format!("refs/heads/b-{commit}"),
            id: commit.clone(),
            commit: commit.clone(),
            seen: None,
            lane: Lane::Own,
            is_wanted: false,
            number: 1,
        };
        let (planning, onto) = (Arc::clone(&source), base.clone());
        let plan = move || {
            planning.planner.plan(
                &planning.approvals,
                PlanRequest {
                    candidate,
                    head: onto.clone(),
                    base: None,
                    applied: Some((onto, None)),
                    comments: Approvals::default(),
                    waiting: BTreeSet::new(),
                },
            )
        };
        let planned = tokio::task::spawn_blocking(plan).await.unwrap();
        assert!(planned.unattributed.is_empty(), "the plan has asked");
        let work = move || source.approvals.for_candidate(&base, &commit, Some(&base));
        let found = tokio::task::spawn_blocking(work).await.unwrap();
        let (found, why) = words(&found);
        assert_eq!(
            (found, why.len()),
            (clusters.iter().map(|it| (*it).to_owned()).collect(), doubts)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_the_forge_says_nothing_of_counts_once_it_does() {
    let (mut case, forge) = Case::with_forge();
    let first = case.commit.clone();
    let asked = case.commit_onto(&[&first], APPROVING);
    let found = case.approvals(&first, &asked).await;
    let away = Doubt::Unattributed("the forge is away".to_owned());
    assert_eq!(words(&found), (vec![], vec![&away]));
    // Everything else of it is applied meanwhile, and the daemon starts again.
    let (origin, config) = (
        case.daemon.source.revisions.origin.clone(),
        case.daemon.source.config.clone(),
    );
    let record = case.daemon.source.approvals.recorded.record();
    case.daemon.source = Arc::new(Source::new(origin, config, &forge.ports(), false));
    let recorded = &case.daemon.source.approvals.recorded;
    recorded.begin_keeping();
    recorded.recall(Some(record));
    let found = case.approvals(&asked, &asked).await;
    assert_eq!(words(&found).0, [""; 0]);
    assert_eq!(found.doubted.len(), 1);
    assert!(case.ask_again(&[&asked]).await.is_empty());
    let own = (asked.clone(), CommitSource::Own);
    forge.sources.lock().unwrap().extend([own]);
    // It is asked again after a while.
    assert_eq!(case.ask_again(&[&asked]).await, [asked.clone()].into());
    let found = case.approvals(&asked, &asked).await;
    assert_eq!(words(&found), (vec!["c/two".to_owned()], vec![]));
    // It is done with the revision that it counted for.
    let next = case.commit_onto(&[&asked], "next");
    let found = case.approvals(&asked, &next).await;
    assert_eq!(words(&found), (vec![], vec![]));
}

/// A forge updates the branch before it notes that it merged a pull request.
#[tokio::test(start_paused = true)]
async fn a_pushed_commit_approves_once_the_forge_still_lists_no_pull_request() {
    for merged in [None, Some(CommitSource::Fork(7))] {
        let (case, forge) = Case::with_forge();
        let first = case.commit.clone();
        let asked = case.commit_onto(&[&first], APPROVING);
        let says = |source| forge.sources.lock().unwrap().insert(asked.clone(), source);
        says(CommitSource::Unlisted);
        let found = case.approvals(&first, &asked).await;
        assert_eq!(words(&found).0, [""; 0]);
        let why = found.doubted[0].1.to_string();
        assert!(why.contains("lists no pull request with it"), "{why}");
        tokio::time::sleep(Duration::from_secs(14)).await;
        case.ask_again(&[&asked]).await;
        assert_eq!(words(&case.approvals(&first, &asked).await).0, [""; 0]);
        tokio::time::sleep(Duration::from_secs(1)).await;
        merged.map(says);
        case.ask_again(&[&asked]).await;
        let found = case.approvals(&first, &asked).await;
        match merged {
            None => assert_eq!(words(&found), (vec!["c/two".to_owned()], vec![])),
            Some(_) => assert_eq!(words(&found), (vec![], vec![&Doubt::Fork(7)])),
        }
    }
}

/// A branch of a merge queue has the commit before the merge, and the forge lists its pull request a moment after.
#[tokio::test(start_paused = true)]
async fn what_a_plan_asked_before_a_merge_settles_nothing() {
    let (case, forge) = Case::with_forge();
    let first = case.commit.clone();
    let asked = case.commit_onto(&[&first], APPROVING);
    let says = |source| forge.sources.lock().unwrap().insert(asked.clone(), source);
    says(CommitSource::Unlisted);
    for _ in 0..2 {
        let approvals = case.plan_approvals(&first, &asked).await;
        assert_eq!(approvals.deletable().len(), 1, "its plan counts it");
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let found = case.approvals(&first, &asked).await;
    assert_eq!(words(&found).0, [""; 0], "it was merged just now");
    tokio::time::sleep(Duration::from_secs(15)).await;
    says(CommitSource::Fork(7));
    case.ask_again(&[&asked]).await;
    let found = case.approvals(&first, &asked).await;
    assert_eq!(words(&found), (vec![], vec![&Doubt::Fork(7)]));
}

#[tokio::test(start_paused = true)]
async fn a_forge_that_never_answers_is_given_up_after_20_seconds() {
    let case = Case::on_forge(ForgePorts::of(Arc::new(Silent)));
    let first = case.commit.clone();
    let asked = case.commit_onto(&[&first], APPROVING);
    let start = Instant::now();
    assert!(case.ask_again(&[&asked]).await.is_empty());
    assert_eq!(start.elapsed(), Duration::from_secs(20));
    // What applies or plans waits for less.
    let start = Instant::now();
    case.daemon
        .source
        .approvals
        .attribution
        .ask_in_time(&[asked], Purpose::Apply)
        .await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

/// Who can make the forge fail for some commits keeps no others from an answer.
#[tokio::test(start_paused = true)]
async fn a_commit_is_asked_for_although_the_forge_fails_for_20_before_it() {
    let (case, forge) = Case::with_forge();
    let commits: Vec<String> = (10..35).map(|number| format!("{number}")).collect();
    let all: Vec<&String> = commits.iter().collect();
    let answered = [commits[24].clone(), commits[0].clone()];
    forge
        .sources
        .lock()
        .unwrap()
        .insert(answered[0].clone(), CommitSource::Own);
    assert!(case.ask_again(&all).await.is_empty());
    assert!(case.ask_again(&all).await.contains(&answered[0]));
    // It begins again with the first.
    forge
        .sources
        .lock()
        .unwrap()
        .insert(answered[1].clone(), CommitSource::Own);
    assert!(case.ask_again(&all).await.contains(&answered[1]));
}

#[tokio::test(start_paused = true)]
async fn a_late_approval_counts_for_the_next_revision_and_one_of_a_fork_for_none() {
    let (case, forge) = Case::with_forge();
    let first = case.commit.clone();
    let asked = case.commit_onto(&[&first], APPROVING);
    assert_eq!(case.approvals(&first, &asked).await.doubted.len(), 1);
    let next = case.commit_onto(&[&asked], "next");
    let aside = case.commit_onto(&[&first], "a forced push");
    forge
        .sources
        .lock()
        .unwrap()
        .insert(asked.clone(), CommitSource::Own);
    case.ask_again(&[&asked]).await;
    let found = case.approvals(&asked, &aside).await;
    assert_eq!(words(&found), (vec![], vec![]), "its commit is gone");
    let found = case.approvals(&asked, &next).await;
    assert_eq!(words(&found), (vec!["c/two".to_owned()], vec![]));

    let (case, forge) = Case::with_forge();
    let first = case.commit.clone();
    let asked = case.commit_onto(&[&first], APPROVING);
    assert_eq!(case.approvals(&first, &asked).await.doubted.len(), 1);
    let fork = CommitSource::Fork(7);
    forge.sources.lock().unwrap().insert(asked.clone(), fork);
    case.ask_again(&[&asked]).await;
    let found = case.approvals(&asked, &asked).await;
    assert_eq!(words(&found), (vec![], vec![&Doubt::Fork(7)]));
    let next = case.commit_onto(&[&asked], "next");
    let found = case.approvals(&asked, &next).await;
    assert_eq!(words(&found), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_forge_is_asked_again_and_applied_again() {
    let forge = Arc::new(Forge::default());
    let setting = Setting {
        forge: Some(forge.ports()),
        ..Setting::default()
    };
    let mut case = Case::applying_with(config_maps(&["a"]), setting).await;
    let first = case.commit.clone();
    let asked = case.commit_onto(&[&first], APPROVING);
    let number = case.number();
    let rollout = case.parts().releases.current_mut().unwrap();
    rollout.release.revision.clone_from(&asked);
    let counted = case.approvals(&first, &asked).await;
    assert!(counted.deletable().is_empty());
    let request = ApprovalsRequest {
        number,
        applied: first.clone(),
    };
    let read = GitEvent::ApprovalsRead(request, Some(Box::new(counted)));
    case.daemon.handle(Event::Git(read));
    let own = (asked.clone(), CommitSource::Own);
    forge.sources.lock().unwrap().extend([own]);
    let start = Instant::now();
    while case.number() == number {
        case.handle_next().await;
    }
    assert_eq!(start.elapsed().as_secs(), 15);
    let counted = case.approvals(&first, &asked).await;
    assert_eq!(counted.deletable(), ["c/two".to_owned()].into());
}

/// Whoever squashes writes a message of their own, and the head is on no branch any more.
#[tokio::test]
async fn what_was_approved_on_a_head_counts_for_its_squash_and_for_nothing_else() {
    let case = Case::new();
    let first = case.commit.clone();
    let with = case.commit_files(&[&first], "add it", &[("two.yaml", Some("# two\n"))]);
    let part = case.commit_files(&[&with], "remove it", &[("two.yaml", None)]);
    let head = case.commit_files(&[&part], "and more", &[("b.yaml", Some("# b\n"))]);
    let moved = case.commit_files(&[&with], "meanwhile", &[("c.yaml", Some("# c\n"))]);
    let change = [("two.yaml", None), ("b.yaml", Some("# b\n"))];
    let squash = case.commit_files(&[&moved], "remove it (#7)", &change);
    let next = case.commit_files(&[&squash], "next", &[("d.yaml", Some("# d\n"))]);
    let more = [change[0], change[1], ("d.yaml", Some("# d\n"))];
    let other = case.commit_files(&[&moved], "remove it and more", &more);
    let press = |at| Pressed {
        commit: head.clone(),
        losses: ["delete c/two".to_owned()].into(),
        login: "ada".to_owned(),
        how: How::Comment,
        at,
        is_applied: false,
    };
    // Commits of this test are of 1970.
    case.daemon.source.approvals.add(press(wall_time()));
    let found = case.approvals(&moved, &squash).await;
    assert!(found.deletable().is_empty(), "it was approved afterwards");
    case.daemon
        .source
        .approvals
        .add(press(Timestamp::UNIX_EPOCH));
    for (applied, revision, counts) in [
        (&moved, &squash, true),
        (&moved, &next, true),
        (&moved, &other, false),
        (&squash, &next, false),
        (&squash, &squash, false),
    ] {
        let found = case.approvals(applied, revision).await;
        assert_eq!(
            !found.deletable().is_empty(),
            counts,
            "{applied} {revision}"
        );
    }
}
