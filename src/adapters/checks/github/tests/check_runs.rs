//! Check runs.

use super::*;
use crate::adapters::checks::forge::tests::{again, json};
use crate::model::{Annotation, ApprovalButtons as _, Button, ErrorClass};
use serde_json::{Value, json as value};

fn sink(fake: &Arc<Fake<GitHub>>, record: Option<&std::path::Path>) -> ForgeSink<CheckRuns> {
    let client = client(fake, Scheme::Bearer, dialect());
    ForgeSink::new(CheckRuns::new(repository(), "12345"), client, record)
}

fn annotated(count: u32) -> Check {
    let annotation = |line| Annotation {
        path: "clusters/a.yaml".to_owned(),
        line,
        level: "error".to_owned(),
        message: format!("finding {line}"),
    };
    Check {
        annotations: (0..count).map(annotation).collect(),
        ..check(PLAN, CheckState::Failure, "errors")
    }
}

fn runs(fake: &Arc<Fake<GitHub>>) -> Vec<Value> {
    fake.server.lock().unwrap().runs.clone()
}

/// Oracle row 26 of forges.md §9.
#[tokio::test(start_paused = true)]
async fn annotations_go_in_batches_and_the_conclusion_with_the_last() {
    for (count, requests) in [(0, 1), (1, 1), (50, 1), (51, 2), (120, 3), (900, 10)] {
        let dir = tempfile::tempdir().unwrap();
        let fake = github();
        let sink = sink(&fake, Some(&record(&dir)));
        publish(&sink, &[annotated(count)]).await;
        let seen = fake.requests();
        assert_eq!(seen.len(), requests, "{count}");
        for (at, seen) in seen.iter().enumerate() {
            let is_last = at + 1 == requests;
            assert_eq!(seen.body["conclusion"] == "failure", is_last);
        }
        let runs = runs(&fake);
        assert_eq!(runs.len(), 1);
        let shown = runs[0]["annotations"].as_array().unwrap();
        assert_eq!(shown.len(), count.min(500) as usize);
        let summary = runs[0]["output"]["summary"].as_str().unwrap();
        assert_eq!(summary.contains("… 400 more annotations"), count == 900);
        publish(&sink, &[annotated(count)]).await;
        assert_eq!(fake.lines(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_through_its_states_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let fake = github();
    let sink = sink(&fake, Some(&record(&dir)));
    let mut queued = check(PLAN, CheckState::Pending, "waits");
    queued.detail = Some(CheckDetail::Queued);
    let running = check(PLAN, CheckState::Pending, "1/2 ready");
    let done = check(PLAN, CheckState::Success, "2/2 ready");
    let failed = check(PLAN, CheckState::Failure, "a failed");
    for check in [queued, running, done, failed] {
        publish(&sink, &[check]).await;
    }
    let runs = runs(&fake);
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["conclusion"], "failure");
    let id = runs[0]["external_id"].as_str().unwrap();
    assert!(id.starts_with("capstan/prod/plan#"), "{id}");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_annotations_are_refused_ends_without_them() {
    for (count, accepted) in [(1, 0), (120, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let fake = github();
        let sink = sink(&fake, Some(&record(&dir)));
        let refused = json(422, &value!({"message": "Invalid request. annotations/0"}));
        let refused = Some(Mishap::Instead(refused));
        fake.next((0..accepted).map(|_| None).chain([refused]));
        publish(&sink, &[annotated(count)]).await;
        let runs = runs(&fake);
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0]["conclusion"], "failure");
        let shown = runs[0]["annotations"].as_array().unwrap();
        assert_eq!(shown.len(), accepted * 50);
        fake.lines();
        publish(&sink, &[annotated(count)]).await;
        assert_eq!(fake.lines(), [""; 0], "it is not tried again");
    }
}

/// Oracle row 27.
#[tokio::test(start_paused = true)]
async fn a_run_that_must_run_again_or_is_gone_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let fake = github();
    let sink = sink(&fake, Some(&record(&dir)));
    publish(&sink, &[check(PLAN, CheckState::Success, "ready")]).await;
    publish(&sink, &[check(PLAN, CheckState::Pending, "drift")]).await;
    publish(&sink, &[check(PLAN, CheckState::Success, "ready again")]).await;
    let lines = fake.lines();
    let methods: Vec<&str> = lines.iter().filter_map(|line| line.get(..4)).collect();
    assert_eq!(methods, ["POST", "POST", "PATC"]);
    assert_eq!(runs(&fake).len(), 2);
    fake.server.lock().unwrap().runs.clear();
    publish(&sink, &[check(PLAN, CheckState::Failure, "failed")]).await;
    let lines = fake.lines();
    assert_eq!(lines[0], "PATCH /repos/o/r/check-runs/2");
    assert_eq!(lines[1..], ["POST /repos/o/r/check-runs"]);
    publish(&sink, &[check(PLAN, CheckState::Failure, "failed")]).await;
    assert_eq!(fake.lines(), [""; 0]);
    // Other annotations would be appended to these.
    publish(&sink, &[annotated(1)]).await;
    publish(&sink, &[annotated(2)]).await;
    assert_eq!(runs(&fake).len(), 2);
}

/// Oracle row 28.
#[tokio::test(start_paused = true)]
async fn an_unclear_run_is_looked_up_and_continued() {
    for lost in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let fake = github();
        let sink = sink(&fake, Some(&record(&dir)));
        fake.next((0..lost).map(|_| None).chain([Some(Mishap::Lost)]));
        let error = sink
            .publish(&[annotated(120)], jiff::Timestamp::UNIX_EPOCH)
            .await;
        assert_eq!(error.unwrap_err().class(), ErrorClass::Transient);
        publish(&sink, &[annotated(120)]).await;
        let runs = runs(&fake);
        assert_eq!(runs.len(), 1, "no second run");
        let annotations = runs[0]["annotations"].as_array().unwrap();
        let first = annotations.iter().map(|one| one["message"].to_string());
        assert_eq!(first.collect::<std::collections::BTreeSet<_>>().len(), 120);
        assert_eq!(annotations.len(), 120, "none twice");
        assert_eq!(runs[0]["conclusion"], "failure");
        let lines = fake.lines();
        assert_eq!(
            lines.iter().filter(|line| line.starts_with("GET")).count(),
            1
        );
    }
}

/// Oracle row 29, the part of the sender: runs of others are not ours.
#[tokio::test(start_paused = true)]
async fn runs_of_other_apps_and_fleets_are_not_ours() {
    let fake = github();
    publish(
        &sink(&fake, None),
        &[check(PLAN, CheckState::Success, "ready")],
    )
    .await;
    let ours = runs(&fake)[0].clone();
    let (mut app, mut fleet) = (ours.clone(), ours);
    app["app"]["id"] = 99.into();
    (app["id"], fleet["id"]) = (50.into(), 51.into());
    fleet["external_id"] = "capstan/other/plan#x.y".into();
    fake.server.lock().unwrap().runs.extend([app, fleet]);
    fake.lines();
    let again = sink(&fake, None);
    let read = again.read(&[HEAD.to_owned()], PLAN).await.unwrap();
    assert_eq!(
        (read[0].state, read[0].title.as_str()),
        (CheckState::Success, "ready")
    );
    publish(&again, &[check(PLAN, CheckState::Success, "ready")]).await;
    let expected = format!(
        "GET /repos/o/r/commits/{HEAD}/check-runs?check_name=capstan%2Fprod%2Fplan&filter=latest&per_page=100&app_id=12345"
    );
    assert_eq!(fake.lines(), [expected]);
}

/// Oracle row 29: ours, once more, as a new run of the same name.
#[tokio::test(start_paused = true)]
async fn a_run_that_somebody_wants_again_is_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let fake = github();
    let sink = sink(&fake, Some(&record(&dir)));
    assert_eq!(sink.app(), Some(12_345));
    publish(&sink, &[annotated(1)]).await;
    publish(&sink, &[again(annotated(1), 1)]).await;
    publish(&sink, &[again(annotated(1), 1)]).await;
    assert_eq!(fake.lines(), ["POST /repos/o/r/check-runs"; 2]);
    let runs = runs(&fake);
    assert_eq!(runs[0]["external_id"], runs[1]["external_id"]);
    let failed = check(PLAN, CheckState::Failure, "all failed");
    publish(&sink, &[again(failed, 1)]).await;
    let away = check(PLAN, CheckState::Error, "no cluster");
    publish(&sink, &[again(away, 1)]).await;
    let expected = [
        "POST /repos/o/r/check-runs",
        "PATCH /repos/o/r/check-runs/3",
    ];
    assert_eq!(fake.lines(), expected, "other annotations need a third run");
}

/// The same when an answer is lost: there is exactly one more run, and it is not the old one.
#[tokio::test(start_paused = true)]
async fn a_run_that_somebody_wants_again_is_made_once_although_its_answer_is_lost() {
    for mishap in [Mishap::Lost, Mishap::Unsent] {
        let dir = tempfile::tempdir().unwrap();
        let fake = github();
        let sink = sink(&fake, Some(&record(&dir)));
        publish(&sink, &[annotated(1)]).await;
        fake.next([Some(mishap)]);
        let again = [again(annotated(1), 1)];
        let error = sink.publish(&again, jiff::Timestamp::UNIX_EPOCH).await;
        assert_eq!(error.unwrap_err().class(), ErrorClass::Transient);
        publish(&sink, &again).await;
        assert_eq!(runs(&fake).len(), 2);
        for run in runs(&fake) {
            assert_eq!(run["annotations"].as_array().unwrap().len(), 1, "{run}");
        }
        fake.lines();
        publish(&sink, &again).await;
        assert_eq!(fake.lines(), [""; 0]);
    }
}

/// Without a record, the old run is looked up before it is replaced.
#[tokio::test(start_paused = true)]
async fn a_run_of_an_earlier_process_is_not_taken_for_the_new_one() {
    let fake = github();
    let one = [check(PLAN, CheckState::Success, "ready")];
    publish(&sink(&fake, None), &one).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let later = sink(&fake, None);
    let one = one.map(|check| again(check, 1));
    fake.next([None, Some(Mishap::Lost)]);
    let lost = later.publish(&one, jiff::Timestamp::UNIX_EPOCH).await;
    assert_eq!(lost.unwrap_err().class(), ErrorClass::Transient);
    publish(&later, &one).await;
    assert_eq!(runs(&fake).len(), 2);
}

/// A process that ends before it can note the answer leaves a run that the next one must know of, to end it.
#[tokio::test(start_paused = true)]
async fn a_run_whose_answer_was_never_noted_is_found_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(GitHub::cloud(Ticking::EPOCH));
    let pending = [check(PLAN, CheckState::Pending, "0/1 ready")];
    fake.next([Some(Mishap::Lost)]);
    let first = sink(&fake, Some(&record(&dir)));
    let lost = first.publish(&pending, jiff::Timestamp::UNIX_EPOCH).await;
    assert_eq!(lost.unwrap_err().class(), ErrorClass::Transient);
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let later = sink(&fake, Some(&dir.path().join("sent.json")));
    let read = later.read(&[HEAD.to_owned()], PLAN).await.unwrap();
    assert_eq!(
        (read[0].state, read[0].title.as_str()),
        (CheckState::Pending, "0/1 ready")
    );
    publish(&later, &[check(PLAN, CheckState::Error, "superseded")]).await;
    let runs = runs(&fake);
    assert_eq!(
        (runs.len(), &runs[0]["conclusion"]),
        (1, &value!("failure"))
    );
}

/// Oracle rows 22, 24 and 50: the fake refuses what is over a limit, and every unknown word.
#[tokio::test(start_paused = true)]
async fn every_outcome_has_a_conclusion_and_every_text_fits() {
    let long = [String::new(), "é".repeat(40_000), "| a |\n".repeat(20_000)];
    for (state, detail) in every_outcome() {
        for text in &long {
            let fake = github();
            let mut one = check(PLAN, state, text);
            (one.detail, one.summary) = (detail, text.clone());
            one.target_url = None;
            one.annotations = annotated(1).annotations;
            one.annotations[0].message = format!("x{text}");
            publish(&sink(&fake, None), &[one]).await;
            assert_eq!(runs(&fake).len(), 1);
        }
    }
}

/// Oracle rows 32 and 51.
#[tokio::test(start_paused = true)]
async fn a_commit_that_is_gone_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let fake = github();
    let sink = sink(&fake, Some(&record(&dir)));
    let mut gone = check(PLAN, CheckState::Success, "ready");
    gone.revision = "5".repeat(40);
    let here = check("capstan/prod/sync", CheckState::Success, "ready");
    publish(&sink, &[gone.clone(), here.clone()]).await;
    assert_eq!(runs(&fake).len(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    publish(&sink, &[gone.clone(), here.clone()]).await;
    fake.lines();
    publish(&sink, &[gone, here]).await;
    assert_eq!(fake.lines(), [""; 0]);
}

/// Oracle row 31.
#[tokio::test(start_paused = true)]
async fn the_missing_permission_is_named() {
    let fake = github();
    let body = value!({"message": "Resource not accessible by integration"});
    let mut answer = json(403, &body);
    let name = "x-accepted-github-permissions";
    answer
        .headers_mut()
        .insert(name, "checks=write".parse().unwrap());
    fake.next([None, Some(Mishap::Instead(answer))]);
    let sink = sink(&fake, None);
    let checks = [check(PLAN, CheckState::Success, "ready")];
    let error = sink
        .publish(&checks, jiff::Timestamp::UNIX_EPOCH)
        .await
        .unwrap_err();
    let expected = "github.com/o/r: it answered 403: Resource not accessible by integration; the token needs checks=write";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.class(), ErrorClass::Denied);
}

fn waiting(clusters: &[&str]) -> Check {
    let clusters = clusters.iter().map(|name| (*name).to_owned());
    Check {
        detail: Some(CheckDetail::Approval),
        button: Some(Button::new(HEAD, PLAN, clusters)),
        ..check(PLAN, CheckState::Failure, "1 deletion needs approval")
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_an_approval_has_a_button_and_a_new_one_takes_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let fake = github();
    let sink = sink(&fake, Some(&record(&dir)));
    let annotations = annotated(51).annotations;
    let asked = waiting(&["c/one"]);
    let asked = Check {
        annotations,
        ..asked
    };
    let id = asked.button.as_ref().unwrap().id.clone();
    publish(
        &sink,
        &[Check {
            state: CheckState::Pending,
            ..asked.clone()
        }],
    )
    .await;
    publish(&sink, std::slice::from_ref(&asked)).await;
    let first = runs(&fake).pop().unwrap();
    assert_eq!(first["conclusion"], "action_required");
    let description = "Approve the loss listed above";
    let action = value!({"label": "Approve", "description": description, "identifier": id});
    assert_eq!(first["actions"], value!([action]));
    assert_eq!(runs(&fake).len(), 1);

    // Other clusters are another button; of the old one nothing is left on the newest run.
    let more = Check {
        annotations: asked.annotations.clone(),
        ..waiting(&["c/one", "c/two"])
    };
    publish(&sink, std::slice::from_ref(&more)).await;
    assert_eq!(runs(&fake).len(), 2);
    publish(&sink, &[more]).await;
    assert_eq!(runs(&fake).len(), 2, "it is shown");
    let done = check(PLAN, CheckState::Success, "1 to delete");
    publish(&sink, &[done]).await;
    let last = runs(&fake).pop().unwrap();
    assert_eq!(
        (&last["conclusion"], &last["actions"]),
        (&value!("success"), &Value::Null)
    );
    assert_eq!(runs(&fake).len(), 3);
}

/// A sync check is a success as long as what it waits for can wait.
#[tokio::test(start_paused = true)]
async fn a_success_with_a_button_asks_for_it() {
    let fake = github();
    let sink = sink(&fake, None);
    let state = CheckState::Success;
    publish(
        &sink,
        &[Check {
            state,
            detail: None,
            ..waiting(&["c/one", "c/two"])
        }],
    )
    .await;
    let run = runs(&fake).pop().unwrap();
    assert_eq!(run["conclusion"], "action_required");
    let description = &run["actions"][0]["description"];
    assert_eq!(description, "Approve the 2 losses listed above");
}

/// Nobody could tell whose button was pressed.
#[tokio::test(start_paused = true)]
async fn an_app_without_a_number_offers_no_button() {
    let fake = github();
    let client = client(&fake, Scheme::Bearer, dialect());
    let sink = ForgeSink::new(CheckRuns::new(repository(), "Iv1.abc"), client, None);
    publish(&sink, &[waiting(&["c/one"])]).await;
    let run = runs(&fake).pop().unwrap();
    assert_eq!(run["conclusion"], "action_required");
    assert_eq!(run["actions"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn who_may_write_to_the_repository_may_approve() {
    let fake = github();
    let sink = sink(&fake, None);
    for (permission, role, may) in [
        ("admin", "admin", true),
        ("write", "maintain", true),
        ("write", "write", true),
        ("write", "a role of ours", true),
        ("read", "triage", false),
        ("read", "read", false),
        ("none", "", false),
    ] {
        let set = |github: &mut GitHub| {
            github
                .collaborators
                .insert("octocat".to_owned(), (permission, role))
        };
        set(&mut fake.server.lock().unwrap());
        let answer = sink.may_approve("octocat").await;
        assert_eq!(answer.is_ok(), may, "{permission} {role}: {answer:?}");
        let message = answer.err().map(|error| error.to_string());
        assert!(message.is_none_or(|it| it.contains("octocat may not write to the repository")));
    }
    let stranger = sink.may_approve("stranger").await.unwrap_err();
    assert_eq!(stranger.class(), ErrorClass::Invalid);
    assert!(
        stranger
            .to_string()
            .contains("stranger is not a collaborator"),
        "{stranger}"
    );
    for odd in [
        json(200, &value!([])),
        json(500, &value!({})),
        json(200, &value!({})),
    ] {
        fake.next([Some(Mishap::Instead(odd))]);
        assert!(sink.may_approve("octocat").await.is_err());
    }
    // Checks are still written.
    publish(&sink, &[check(PLAN, CheckState::Success, "fine")]).await;
}
