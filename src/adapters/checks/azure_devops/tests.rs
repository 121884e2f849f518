//! Azure DevOps, against a strict fake of it.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use serde_json::{Value, json as value};

use super::{AzureDevOps, Posted, dialect};
use crate::adapters::checks::fake::azure_devops::{Azure, NEWER, Pull};
use crate::adapters::checks::forge::tests::{Fake, HEAD, Mishap, check, client, json, with};
use crate::adapters::checks::forge::{Forge as _, ForgeSink, Repository, Scheme};
use crate::model::{
    Annotation, Check, CheckDetail, CheckSink as _, CheckState, ErrorClass, ForgeKind,
};

const PLAN: &str = "capstan/prod/plan";

fn sink(fake: &Arc<Fake<Azure>>, record: Option<&std::path::Path>) -> ForgeSink<AzureDevOps> {
    let client = client(fake, Scheme::Basic(String::new()), dialect());
    ForgeSink::new(AzureDevOps::new(repository()), client, record)
}

fn repository() -> Repository {
    let address = "https://dev.azure.com/org/My%20Proj/_git/repo";
    Repository::of(ForgeKind::AzureDevOps, address).unwrap()
}

async fn publish(sink: &ForgeSink<AzureDevOps>, checks: &[Check]) {
    sink.publish(checks, jiff::Timestamp::UNIX_EPOCH)
        .await
        .unwrap();
}

/// An empty record, so that nothing is looked up.
fn record(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let path = dir.path().join("sent.json");
    let text = r#"{"v":1,"place":"dev.azure.com/org/My Proj/repo","sent":[]}"#;
    std::fs::write(&path, text).unwrap();
    path
}

fn plan(state: CheckState, title: &str, lines: &[u32]) -> Check {
    let annotation = |line: &u32| Annotation {
        path: "clusters/a.yaml".to_owned(),
        line: *line,
        level: "error".to_owned(),
        message: format!("finding {line} of @team <img>"),
    };
    Check {
        pull_request: Some(42),
        annotations: lines.iter().map(annotation).collect(),
        ..check(PLAN, state, title)
    }
}

/// The statuses of our threads and the first lines of their texts.
fn threads(fake: &Arc<Fake<Azure>>) -> Vec<(String, String)> {
    let mut server = fake.server.lock().unwrap();
    let shown = |thread: &Value| {
        let text = thread["comments"][0]["content"].as_str().unwrap();
        let first = text.lines().next().unwrap_or_default().to_owned();
        (thread["status"].as_str().unwrap().to_owned(), first)
    };
    server.pull().threads.iter().map(shown).collect()
}

fn states(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["state"].as_str().unwrap())
        .collect()
}

/// Oracle rows 35 and 50 of forges.md §9.
#[tokio::test(start_paused = true)]
async fn a_pull_request_gets_a_status_on_the_iteration_of_the_head() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    publish(&sink, &[plan(CheckState::Pending, "plans", &[])]).await;
    publish(&sink, &[plan(CheckState::Success, "1 to create", &[])]).await;
    publish(&sink, &[plan(CheckState::Success, "1 to create", &[])]).await;
    {
        let mut server = fake.server.lock().unwrap();
        assert_eq!(states(&server.statuses), ["pending", "succeeded"]);
        assert_eq!(states(&server.pull().statuses), ["pending", "succeeded"]);
        assert_eq!(server.pull().statuses[0]["iterationId"], 2);
        let context = value!({"name": "prod/plan", "genre": "capstan"});
        assert_eq!(server.statuses[0]["context"], context);
    }
    let closed = (
        "closed".to_owned(),
        "**capstan/prod/plan**: 1 to create".to_owned(),
    );
    assert_eq!(threads(&fake), [closed]);
    let lines = fake.lines();
    let asked = lines.iter().filter(|line| line.contains("iterations?"));
    assert_eq!(asked.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_moved_on_gets_its_commit_status_alone() {
    let fake = Fake::new(Azure::services());
    fake.server.lock().unwrap().pull().heads = vec![NEWER.to_owned()];
    let dir = tempfile::tempdir().unwrap();
    let sink = sink(&fake, Some(&record(&dir)));
    publish(&sink, &[plan(CheckState::Failure, "errors", &[4])]).await;
    let mut server = fake.server.lock().unwrap();
    assert_eq!(states(&server.statuses), ["failed"]);
    let pull = server.pull();
    assert!(pull.statuses.is_empty() && pull.threads.is_empty());
}

/// A policy that resets statuses counts those of the newest iteration alone.
#[tokio::test(start_paused = true)]
async fn a_head_that_a_forced_push_brings_back_gets_its_status_on_the_new_iteration() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    let begun = plan(CheckState::Pending, "being planned", &[]);
    let failed = plan(CheckState::Failure, "1 error", &[4]);
    for heads in [&[HEAD][..], &[HEAD, NEWER, HEAD]] {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        fake.server.lock().unwrap().pull().heads = heads;
        publish(&sink, std::slice::from_ref(&begun)).await;
        publish(&sink, std::slice::from_ref(&failed)).await;
    }
    let mut server = fake.server.lock().unwrap();
    let pull = server.pull();
    let iterations = pull.statuses.iter().map(|row| &row["iterationId"]);
    assert_eq!(iterations.collect::<Vec<_>>(), [1, 1, 3, 3]);
    assert_eq!(pull.threads.len(), 2);
}

/// A ref may outlive its pull request; the fake refuses to write on one that is closed.
#[tokio::test(start_paused = true)]
async fn a_closed_pull_request_gets_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    publish(&sink, &[plan(CheckState::Failure, "1 error", &[4])]).await;
    fake.server.lock().unwrap().pull().is_closed = true;
    publish(&sink, &[plan(CheckState::Success, "no fleet change", &[])]).await;
    {
        let mut server = fake.server.lock().unwrap();
        assert_eq!(states(&server.statuses), ["failed", "succeeded"]);
        assert_eq!(states(&server.pull().statuses), ["failed"]);
        // It is gone altogether.
        server.pulls.clear();
    }
    publish(&sink, &[plan(CheckState::Failure, "2 errors", &[4])]).await;
    assert_eq!(fake.server.lock().unwrap().statuses.len(), 3);
}

/// Somebody closes a pull request and opens another of the same head.
#[tokio::test(start_paused = true)]
async fn another_pull_request_of_the_same_head_gets_all_anew() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    let mut failed = plan(CheckState::Failure, "1 error", &[4]);
    publish(&sink, &[failed.clone()]).await;
    {
        let mut server = fake.server.lock().unwrap();
        server.pull().is_closed = true;
        let heads = server.pull().heads.clone();
        let other = Pull {
            heads,
            ..Pull::default()
        };
        server.pulls.insert(43, other);
    }
    failed.pull_request = Some(43);
    publish(&sink, &[failed]).await;
    let server = fake.server.lock().unwrap();
    let counts = server
        .pulls
        .values()
        .map(|pull| (pull.statuses.len(), pull.threads.len()));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 2), (1, 2)]);
    assert_eq!(server.statuses.len(), 1, "the commit shows it already");
}

/// One branch may have pull requests onto several others; a ref outlives its pull request.
#[tokio::test(start_paused = true)]
async fn of_several_pull_requests_each_that_is_open_shows_the_check() {
    for is_closed in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let fake = Fake::new(Azure::services());
        let sink = sink(&fake, Some(&record(&dir)));
        {
            let mut server = fake.server.lock().unwrap();
            let heads = server.pull().heads.clone();
            let newest = Pull {
                heads,
                is_closed,
                ..Pull::default()
            };
            server.pulls.insert(43, newest);
        }
        let mut failed = plan(CheckState::Failure, "1 error", &[4]);
        (failed.pull_request, failed.older_pull_requests) = (Some(43), vec![42]);
        publish(&sink, &[failed.clone()]).await;
        let counts: Vec<(usize, usize)> = {
            let server = fake.server.lock().unwrap();
            let count = |pull: &Pull| (pull.statuses.len(), pull.threads.len());
            server.pulls.values().map(count).collect()
        };
        let newest = if is_closed { (0, 0) } else { (1, 2) };
        assert_eq!(counts, [(1, 2), newest]);
        fake.lines();
        publish(&sink, &[failed]).await;
        assert_eq!(fake.lines(), [""; 0]);
    }
}

/// A head waits for its plan; then a push takes its place, and the check ends without a number.
#[tokio::test(start_paused = true)]
async fn what_waits_on_a_pull_request_ends_there_although_its_head_moved_on() {
    for restarts in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (fake, path) = (Fake::new(Azure::services()), record(&dir));
        let first = sink(&fake, Some(&path));
        publish(&first, &[plan(CheckState::Pending, "waiting", &[])]).await;
        let mut ended = plan(CheckState::Error, "not planned", &[]);
        (ended.pull_request, ended.detail) = (None, Some(CheckDetail::Superseded));
        let last = match restarts {
            true => sink(&fake, Some(&path)),
            false => first,
        };
        publish(&last, &[ended.clone()]).await;
        {
            let mut server = fake.server.lock().unwrap();
            assert_eq!(states(&server.statuses), ["pending", "notApplicable"]);
            let pull = server.pull();
            assert_eq!(states(&pull.statuses), ["pending", "error"]);
            assert_eq!(pull.statuses[1]["iterationId"], 2);
            assert!(pull.threads.is_empty(), "the newer head has those");
        }
        fake.lines();
        publish(&last, &[ended]).await;
        assert_eq!(fake.lines(), [""; 0]);
    }
}

/// The threads of a pull request show the newest head, whose check changed those of the head before.
#[tokio::test(start_paused = true)]
async fn the_threads_of_a_head_that_a_forced_push_brings_back_are_its_own_again() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    let failed = plan(CheckState::Failure, "1 error", &[4]);
    publish(&sink, std::slice::from_ref(&failed)).await;
    let first = threads(&fake);
    let mut solved = plan(CheckState::Success, "fine", &[]);
    solved.revision = NEWER.to_owned();
    publish(&sink, &[solved]).await;
    assert_ne!(threads(&fake), first);
    let heads = [HEAD, NEWER, HEAD].map(str::to_owned).to_vec();
    fake.server.lock().unwrap().pull().heads = heads;
    publish(&sink, &[plan(CheckState::Pending, "being planned", &[])]).await;
    publish(&sink, &[failed]).await;
    assert_eq!(threads(&fake), first);
}

/// What is refused on one pull request says nothing of what another one shows.
#[tokio::test(start_paused = true)]
async fn a_status_that_did_not_arrive_is_sent_again_although_threads_are_refused() {
    let unauthorized = value!({"message": "TF400813: not authorized"});
    let busy = value!({"message": "busy"});
    // The requests: the commit's status, the pull request, its iterations, its status.
    for before in [1, 2, 3] {
        let dir = tempfile::tempdir().unwrap();
        let fake = Fake::new(Azure::services());
        let sink = sink(&fake, Some(&record(&dir)));
        let refused = Some(Mishap::Instead(json(401, &unauthorized)));
        fake.next([None, None, None, None, refused]);
        publish(&sink, &[plan(CheckState::Failure, "1 error", &[])]).await;
        let other = Check {
            context: "capstan/other/plan".to_owned(),
            ..plan(CheckState::Success, "fine", &[])
        };
        let fails = Some(Mishap::Instead(json(503, &busy)));
        fake.next((0..before).map(|_| None).chain([fails]));
        let sent = sink.publish(std::slice::from_ref(&other), jiff::Timestamp::UNIX_EPOCH);
        sent.await.unwrap_err();
        tokio::time::sleep(std::time::Duration::from_secs(600)).await;
        publish(&sink, &[other]).await;
        let mut server = fake.server.lock().unwrap();
        assert_eq!(states(&server.pull().statuses), ["failed", "succeeded"]);
        assert_eq!(states(&server.statuses), ["failed", "succeeded"]);
    }
}

/// There is one warning, until threads are taken again.
#[tokio::test(start_paused = true)]
async fn only_a_refusal_counts_as_one_and_only_what_was_refused_ends_it() {
    let fake = Fake::new(Azure::services());
    let client = client(&fake, Scheme::Basic(String::new()), dialect());
    let azure = AzureDevOps::new(repository());
    let mut posted = Posted::default();
    let instead = |status, said: &str| {
        let message = value!({ "message": said });
        [
            None,
            None,
            None,
            None,
            Some(Mishap::Instead(json(status, &message))),
        ]
    };
    let failed = plan(CheckState::Failure, "1 error", &[]);
    fake.next(instead(404, "the thread is gone"));
    azure.write(&client, &failed, &mut posted).await.unwrap();
    assert!(!azure.threads.is_refused() && !azure.pull_requests.is_refused());
    posted = Posted::default();
    fake.next(instead(401, "TF400813: not authorized"));
    azure.write(&client, &failed, &mut posted).await.unwrap();
    assert!(azure.threads.is_refused() && !azure.pull_requests.is_refused());
    let pending = plan(CheckState::Pending, "being planned", &[]);
    azure.write(&client, &pending, &mut posted).await.unwrap();
    assert!(azure.threads.is_refused(), "it has no threads");
    azure.write(&client, &failed, &mut posted).await.unwrap();
    assert!(!azure.threads.is_refused());
}

/// Permissions on pull requests and scopes for threads are apart from those for statuses of commits.
#[tokio::test(start_paused = true)]
async fn statuses_of_commits_are_written_without_the_permission_for_pull_requests() {
    let needs = "TF401027: You need the Git 'PullRequestContribute' permission";
    let denied = value!({"message": needs});
    let unauthorized = value!({"message": "TF400813: not authorized"});
    // The requests: the commit's status, the pull request, its iterations, its status, its threads.
    for (before, answer, shown) in [(3, json(403, &denied), 0), (4, json(401, &unauthorized), 1)] {
        let dir = tempfile::tempdir().unwrap();
        let fake = Fake::new(Azure::services());
        let sink = sink(&fake, Some(&record(&dir)));
        fake.next(
            (0..before)
                .map(|_| None)
                .chain([Some(Mishap::Instead(answer))]),
        );
        let failed = plan(CheckState::Failure, "1 error", &[]);
        publish(&sink, std::slice::from_ref(&failed)).await;
        let sync = check("capstan/prod/sync", CheckState::Success, "ready");
        publish(&sink, &[sync]).await;
        assert_eq!(fake.server.lock().unwrap().pull().statuses.len(), shown);
        fake.lines();
        publish(&sink, &[failed]).await;
        assert_eq!(fake.lines(), [""; 0], "it is not asked again and again");
        // Somebody granted it.
        publish(&sink, &[plan(CheckState::Success, "fine", &[])]).await;
        let mut server = fake.server.lock().unwrap();
        assert_eq!(
            states(&server.statuses),
            ["failed", "succeeded", "succeeded"]
        );
        assert_eq!(server.pull().statuses.len(), shown + 1);
        assert_eq!(server.pull().threads.len(), 1);
    }
}

/// Oracle row 36; a thread per line, updated and closed, and never a second one.
#[tokio::test(start_paused = true)]
async fn findings_get_threads_that_are_updated_and_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (Fake::new(Azure::services()), record(&dir));
    let first = sink(&fake, Some(&path));
    let mut failed = plan(CheckState::Failure, "2 errors", &[4, 9]);
    failed.annotations[1].path = "elsewhere.yaml".to_owned();
    publish(&first, &[failed]).await;
    let two = threads(&fake);
    assert_eq!(two.len(), 2, "none on a file that is not changed");
    assert_eq!(two[1].0, "active");
    assert!(
        !two[1].1.contains("@team") && !two[1].1.contains(" <img>"),
        "{two:?}"
    );
    let place = fake.server.lock().unwrap().pull().threads[1]["threadContext"].clone();
    assert_eq!(place["filePath"], "/clusters/a.yaml");
    assert_eq!(place["rightFileStart"]["line"], 4);
    // The next head: a new process without a record, and the finding is on another line.
    let mut next = plan(CheckState::Failure, "1 error", &[4]);
    (next.revision, next.annotations[0].line) = (NEWER.to_owned(), 6);
    publish(&sink(&fake, None), &[next.clone()]).await;
    let again = threads(&fake);
    assert_eq!(again.len(), 2);
    assert_eq!(again[0].1, "**capstan/prod/plan**: 1 error");
    assert_eq!(again[1], two[1]);
    // It is solved.
    (next.state, next.annotations) = (CheckState::Success, Vec::new());
    publish(&sink(&fake, None), &[next.clone()]).await;
    let words: Vec<String> = threads(&fake).into_iter().map(|thread| thread.0).collect();
    assert_eq!(words, ["fixed", "fixed"]);
    fake.lines();
    // It comes back.
    next.state = CheckState::Failure;
    next.annotations = plan(CheckState::Failure, "", &[4]).annotations;
    publish(&sink(&fake, None), &[next]).await;
    let words: Vec<String> = threads(&fake).into_iter().map(|thread| thread.0).collect();
    assert_eq!(words, ["active", "active"]);
}

/// Oracle row 41.
#[tokio::test(start_paused = true)]
async fn a_thread_that_somebody_deleted_is_opened_anew_or_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    publish(&sink, &[plan(CheckState::Failure, "2 errors", &[4, 9])]).await;
    for thread in &mut fake.server.lock().unwrap().pull().threads {
        thread["isDeleted"] = true.into();
    }
    // The summary changes, and the second finding is gone.
    publish(&sink, &[plan(CheckState::Failure, "1 error", &[4])]).await;
    let all = threads(&fake);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(all[3].1, "**capstan/prod/plan**: 1 error");
    fake.lines();
    publish(&sink, &[plan(CheckState::Failure, "1 error", &[4])]).await;
    assert_eq!(fake.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn at_most_20_threads_on_changed_lines_are_open() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    let lines: Vec<u32> = (1..=60).collect();
    let mut failed = plan(CheckState::Failure, "60 errors", &lines);
    for annotation in &mut failed.annotations[..30] {
        annotation.path = "another.yaml".to_owned();
    }
    publish(&sink, &[failed.clone()]).await;
    assert_eq!(
        threads(&fake).len(),
        21,
        "lines of other files do not count"
    );
    failed.title = "still 60 errors".to_owned();
    publish(&sink, &[failed.clone()]).await;
    assert_eq!(threads(&fake).len(), 21);
    // Five that are open are solved, which makes room for five.
    failed.annotations.drain(30..35);
    publish(&sink, &[failed]).await;
    let all = threads(&fake);
    let open = all.iter().filter(|(status, _)| status == "active");
    assert_eq!((all.len(), open.count()), (26, 21));
}

/// Oracle row 41 in the form of threads.
#[tokio::test(start_paused = true)]
async fn a_mark_in_the_comment_of_somebody_else_counts_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let planted = value!({"id": 1, "status": "active", "comments": [
        {"id": 1, "content": "x\n\n<!-- capstan: capstan/prod/plan#summary -->", "author": {"id": "0"}},
    ]});
    fake.server
        .lock()
        .unwrap()
        .pull()
        .threads
        .push(planted.clone());
    publish(
        &sink(&fake, Some(&record(&dir))),
        &[plan(CheckState::Failure, "1 error", &[])],
    )
    .await;
    let mut server = fake.server.lock().unwrap();
    assert_eq!(server.pull().threads[0], planted);
    assert_eq!(server.pull().threads.len(), 2);
}

/// Oracle row 28, for threads.
#[tokio::test(start_paused = true)]
async fn a_thread_whose_answer_was_lost_is_found_again() {
    for lost in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        let fake = Fake::new(Azure::services());
        let sink = sink(&fake, Some(&record(&dir)));
        let failed = [plan(CheckState::Failure, "2 errors", &[4, 9])];
        fake.next((0..lost).map(|_| None).chain([Some(Mishap::Lost)]));
        let first = sink.publish(&failed, jiff::Timestamp::UNIX_EPOCH).await;
        if first.is_err() {
            publish(&sink, &failed).await;
        }
        assert_eq!(threads(&fake).len(), 3, "{lost}");
        assert_eq!(fake.server.lock().unwrap().statuses.len(), 1, "{lost}");
    }
}

/// Oracle rows 24 and 50: the fake refuses what is over a limit, and every unknown word.
#[tokio::test(start_paused = true)]
async fn every_outcome_has_a_state_and_every_text_fits() {
    use CheckDetail::{Approval, Queued, Superseded, Warnings};
    use CheckState::{Error, Failure, Pending, Success};
    for (state, detail, word) in [
        (Pending, Some(Queued), "pending"),
        (Pending, None, "pending"),
        (Success, None, "succeeded"),
        (Success, Some(Warnings), "succeeded"),
        (Error, Some(Superseded), "notApplicable"),
        (Failure, None, "failed"),
        (Failure, Some(Approval), "pending"),
        (Error, None, "error"),
    ] {
        let fake = Fake::new(Azure::services());
        let mut one = plan(state, &"é".repeat(3_000), &[1]);
        (one.detail, one.summary) = (detail, "é\n".repeat(100_000));
        one.annotations[0].message = "é".repeat(200_000);
        publish(&sink(&fake, None), &[one]).await;
        assert_eq!(states(&fake.server.lock().unwrap().statuses), [word]);
    }
}

/// Oracle row 33.
#[tokio::test(start_paused = true)]
async fn a_missing_credential_or_permission_is_named_and_no_page_is_quoted() {
    let page = "<html>hunter2</html>";
    let html = [("content-type", "text/html")];
    let to = [("location", "https://app.vssps.visualstudio.com/_signin")];
    let needs = "TF401027: You need the Git 'PullRequestContribute' permission to perform this action. Details: identity 'bot', scope 'repository'.";
    for (answer, words) in [
        (with(203, &html, page), "sign-in page"),
        (with(200, &html, page), "sign-in page"),
        (with(302, &to, ""), "sign-in page"),
        (
            json(401, &value!({"message": "TF400813: not authorized"})),
            "TF400813",
        ),
        (json(403, &value!({"message": needs})), needs),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let fake = Fake::new(Azure::services());
        let sink = sink(&fake, Some(&record(&dir)));
        fake.next([Some(Mishap::Instead(answer))]);
        let checks = [plan(CheckState::Pending, "plans", &[])];
        let error = sink
            .publish(&checks, jiff::Timestamp::UNIX_EPOCH)
            .await
            .unwrap_err();
        let text = error.to_string();
        assert_eq!(error.class(), ErrorClass::Denied);
        assert!(text.contains(words) && !text.contains("hunter2"), "{text}");
        sink.publish(&checks, jiff::Timestamp::UNIX_EPOCH)
            .await
            .unwrap_err();
        assert_eq!(fake.lines().len(), 1, "it stops");
    }
}

/// Oracle row 51.
#[tokio::test(start_paused = true)]
async fn a_commit_that_is_gone_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(Azure::services());
    let sink = sink(&fake, Some(&record(&dir)));
    let mut gone = plan(CheckState::Success, "ready", &[]);
    gone.revision = "5".repeat(40);
    publish(&sink, &[gone, plan(CheckState::Pending, "plans", &[])]).await;
    assert_eq!(fake.server.lock().unwrap().statuses.len(), 1);
}
