//! The sink, on a forge that keeps rows of (context, state, title) per commit.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::json as value;

use super::*;
use crate::adapters::checks::forge::{Call, Fault, Forge, ForgeSink, Found, PullRequest};
use crate::model::{CheckSink as _, ErrorClass};

/// Takes rows; the newest of a context counts.
#[derive(Default)]
struct Rows {
    rows: BTreeMap<String, Vec<(String, String)>>,
    gone: Vec<String>,
    /// Whether the repository can be read, and written.
    rights: (bool, bool),
}

impl Server for Rows {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        let (method, path) = seen.line.split_once(' ').unwrap();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let is_gone = |commit: &str| self.gone.iter().any(|gone| gone == commit);
        match (method, &parts[..]) {
            _ if !self.rights.0 => json(404, &value!({"message": "Not Found"})),
            ("GET", ["repo"]) => json(200, &value!({})),
            (_, [_, commit, ..]) if is_gone(commit) => json(404, &value!({"message": "no commit"})),
            ("GET", ["commit", _]) => json(200, &value!({})),
            ("GET", ["rows", commit]) => json(200, &value!(self.rows.get(*commit))),
            ("POST", ["rows", _]) if !self.rights.1 => json(404, &value!({"message": "Not Found"})),
            ("POST", ["rows", commit]) => {
                let text = |key: &str| seen.body[key].as_str().unwrap().to_owned();
                if text("title") == "bad" {
                    return json(422, &value!({"message": "bad title"}));
                }
                let row = (text("context"), text("title"));
                self.rows.entry((*commit).to_owned()).or_default().push(row);
                json(201, &value!({}))
            }
            _ => panic!("{}", seen.line),
        }
    }
}

struct Plain;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Shown(Option<String>);

fn at(path: &str) -> Url {
    Url::parse("https://git.example")
        .unwrap()
        .join(path)
        .unwrap()
}

impl Forge for Plain {
    type Remote = Shown;

    fn place(&self) -> String {
        "git.example/o/r".to_owned()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        Call::get(at(
            &revision.map_or("repo".to_owned(), |commit| format!("commit/{commit}"))
        ))
    }

    fn shows(&self, check: &Check, remote: &Shown) -> bool {
        remote.0.as_deref() == Some(&check.title)
    }

    async fn write(&self, client: &Client, check: &Check, remote: &mut Shown) -> Result<(), Fault> {
        let body = value!({"context": check.context, "title": check.title});
        let url = at(&format!("rows/{}", check.revision));
        client
            .call(&Call::send(http::Method::POST, url, body))
            .await?;
        remote.0 = Some(check.title.clone());
        Ok(())
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        remote: &mut Shown,
    ) -> Result<Option<Found>, Fault> {
        let answer = client
            .call(&Call::get(at(&format!("rows/{revision}"))))
            .await?;
        let rows: Option<Vec<(String, String)>> = answer.read().unwrap();
        let mut rows = rows.unwrap_or_default().into_iter();
        remote.0 = rows.rfind(|row| row.0 == context).map(|row| row.1);
        let found = |title| Found {
            state: CheckState::Pending,
            title,
        };
        Ok(remote.0.clone().map(found))
    }

    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        let call = Call::get(at(&format!("pulls/{commit}"))).aside();
        client.call(&call).await.map(|_| Vec::new())
    }
}

fn dialect() -> Dialect {
    Dialect {
        headers: Vec::new(),
        spacing: Duration::ZERO,
        verdict: |_, _| None,
    }
}

fn rows() -> Arc<Fake<Rows>> {
    let rights = (true, true);
    Fake::new(Rows {
        rights,
        ..Rows::default()
    })
}

fn sink(fake: &Arc<Fake<Rows>>, record: Option<&Path>) -> ForgeSink<Plain> {
    ForgeSink::new(Plain, client(fake, Scheme::Bearer, dialect()), record)
}

/// With an empty record, so that nothing is looked up.
fn record(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("sent.json");
    std::fs::write(&path, r#"{"v":1,"place":"git.example/o/r","sent":[]}"#).unwrap();
    path
}

fn plan(title: &str) -> Check {
    check("capstan/prod/plan", CheckState::Pending, title)
}

async fn publish(sink: &ForgeSink<Plain>, checks: &[Check]) {
    sink.publish(checks, Timestamp::UNIX_EPOCH).await.unwrap();
}

/// Oracle rows 16, 17 and 18.
#[tokio::test(start_paused = true)]
async fn the_same_is_not_sent_twice_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), record(dir.path()));
    let first = sink(&fake, Some(&path));
    publish(&first, &[plan("A")]).await;
    assert_eq!(fake.lines(), [format!("POST /rows/{HEAD}")]);
    publish(&first, &[plan("A")]).await;
    let second = sink(&fake, Some(&path));
    publish(&second, &[plan("A")]).await;
    assert_eq!(fake.lines(), [""; 0]);
    let mut other = plan("A");
    other.context = "capstan/other/plan".to_owned();
    publish(&second, &[plan("B"), other]).await;
    assert_eq!(fake.lines().len(), 2);
    publish(&second, &[plan("A")]).await;
    assert_eq!(fake.lines().len(), 1);
    let read = second
        .read(&[HEAD.to_owned()], "capstan/prod/plan")
        .await
        .unwrap();
    assert_eq!(read[0].input.as_deref(), Some("input"));
    assert_eq!(read[0].title, "A");
}

/// Oracle row 19.
#[tokio::test(start_paused = true)]
async fn of_one_check_only_the_newest_is_sent() {
    let fake = rows();
    publish(
        &sink(&fake, None),
        &[plan("pending"), plan("running"), plan("failed")],
    )
    .await;
    let server = fake.server.lock().unwrap();
    assert_eq!(
        server.rows[HEAD],
        [("capstan/prod/plan".to_owned(), "failed".to_owned())]
    );
}

/// Oracle row 28, for a forge of rows.
#[tokio::test(start_paused = true)]
async fn an_unclear_write_is_looked_up_before_it_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), record(dir.path()));
    let first = sink(&fake, Some(&path));
    fake.next([Some(Mishap::Lost)]);
    let error = first.publish(&[plan("A")], Timestamp::UNIX_EPOCH).await;
    assert_eq!(error.unwrap_err().class(), ErrorClass::Transient);
    publish(&first, &[plan("A")]).await;
    let (post, get) = (format!("POST /rows/{HEAD}"), format!("GET /rows/{HEAD}"));
    assert_eq!(fake.lines(), [post.clone(), get.clone()]);
    // Nothing was sent: it is repeated without a look.
    fake.next([Some(Mishap::Unsent)]);
    first
        .publish(&[plan("B")], Timestamp::UNIX_EPOCH)
        .await
        .unwrap_err();
    publish(&first, &[plan("B")]).await;
    assert_eq!(fake.lines(), [post.clone(), post.clone()]);
    // The process ends before it knows.
    fake.next([Some(Mishap::Lost)]);
    first
        .publish(&[plan("C")], Timestamp::UNIX_EPOCH)
        .await
        .unwrap_err();
    publish(&sink(&fake, Some(&path)), &[plan("C")]).await;
    assert_eq!(fake.lines(), [post, get]);
    assert_eq!(fake.server.lock().unwrap().rows[HEAD].len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_was_under_way_when_the_process_died_is_looked_up() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), record(dir.path()));
    publish(&sink(&fake, Some(&path)), &[plan("A")]).await;
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace(r#""unclear":false"#, r#""unclear":true"#),
    )
    .unwrap();
    fake.lines();
    publish(&sink(&fake, Some(&path)), &[plan("A")]).await;
    assert_eq!(fake.lines(), [format!("GET /rows/{HEAD}")]);
}

#[tokio::test(start_paused = true)]
async fn without_a_record_the_forge_is_asked_once() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), dir.path().join("deep/sent.json"));
    publish(&sink(&fake, None), &[plan("A")]).await;
    fake.lines();
    for text in [None, Some("{"), Some(r#"{"v":1,"place":"else","sent":[]}"#)] {
        let _ = std::fs::remove_file(&path);
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let again = sink(&fake, Some(&path));
        let read = again.read(&[HEAD.to_owned()], "capstan/prod/plan").await;
        assert_eq!(read.unwrap()[0].title, "A");
        publish(&again, &[plan("A")]).await;
        publish(&sink(&fake, Some(&path)), &[plan("A")]).await;
        assert_eq!(fake.lines(), [format!("GET /rows/{HEAD}")], "{text:?}");
    }
}

/// Oracle rows 32 and 51, for a forge of rows.
#[tokio::test(start_paused = true)]
async fn one_bad_check_does_not_hold_up_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), record(dir.path()));
    let sink = sink(&fake, Some(&path));
    let mut gone = plan("A");
    gone.revision = "5".repeat(40);
    fake.server.lock().unwrap().gone.push(gone.revision.clone());
    let mut bad = plan("bad");
    bad.context = "capstan/a/plan".to_owned();
    let checks = [gone.clone(), bad.clone(), plan("A")];
    publish(&sink, &checks).await;
    assert_eq!(fake.server.lock().unwrap().rows[HEAD].len(), 1);
    tokio::time::sleep(Duration::from_secs(600)).await;
    publish(&sink, &checks).await;
    fake.lines();
    publish(&sink, &checks).await;
    assert_eq!(fake.lines(), [""; 0], "neither is tried again");
    (gone.title, bad.title) = ("B".to_owned(), "good".to_owned());
    publish(&sink, &[gone, bad]).await;
    assert_eq!(fake.lines(), [format!("POST /rows/{HEAD}")]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_the_forge_does_not_know_yet_gets_its_check() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), record(dir.path()));
    let away = || {
        Some(Mishap::Instead(json(
            404,
            &value!({"message": "no commit"}),
        )))
    };
    let sink = sink(&fake, Some(&path));
    let mut other = plan("A");
    other.revision = "5".repeat(40);
    let checks = [other, plan("A")];
    let (post, get) = (format!("POST /rows/{HEAD}"), format!("GET /commit/{HEAD}"));
    // For minutes, and nothing waits for it.
    let start = Instant::now();
    for (at, wait) in [(0, 1), (1, 1), (100, 60), (599, 60)] {
        tokio::time::sleep_until(start + Duration::from_secs(at)).await;
        let before = if at == 0 { vec![None] } else { vec![] };
        fake.next(before.into_iter().chain([away(), away(), None]));
        let later = sink.publish(&checks, Timestamp::UNIX_EPOCH).await.unwrap();
        let expected = Later {
            context: "capstan/prod/plan".to_owned(),
            revision: HEAD.to_owned(),
            wait: Duration::from_secs(wait),
        };
        assert_eq!(later, [expected]);
        let lines = fake.lines();
        let asked = [post.clone(), get.clone(), "GET /repo".to_owned()];
        assert!(lines.ends_with(&asked), "{lines:?}");
    }
    assert_eq!(start.elapsed().as_secs(), 599);
    publish(&sink, &checks).await;
    assert_eq!(fake.lines(), [post]);
    assert_eq!(fake.server.lock().unwrap().rows[HEAD].len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_the_forge_never_knows_is_passed_over_after_10_minutes() {
    let fake = rows();
    let sink = sink(&fake, None);
    fake.server.lock().unwrap().gone.push(HEAD.to_owned());
    let checks = [plan("A")];
    for (after, expected) in [(0, 1), (599, 1), (1, 0), (0, 0)] {
        tokio::time::sleep(Duration::from_secs(after)).await;
        fake.lines();
        let later = sink.publish(&checks, Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(later.len(), expected);
    }
    assert_eq!(fake.lines(), [""; 0], "it is not tried again");
}

/// Rule 7 of forges.md §0.
#[tokio::test(start_paused = true)]
async fn a_404_is_a_missing_right_unless_the_commit_alone_is_absent() {
    for (rights, words) in [
        (
            (false, false),
            "deleted or renamed, or the token cannot read it",
        ),
        (
            (true, false),
            "can read this repository, but not write checks",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (fake, path) = (rows(), record(dir.path()));
        fake.server.lock().unwrap().rights = rights;
        let sink = sink(&fake, Some(&path));
        let error = sink
            .publish(&[plan("A")], Timestamp::UNIX_EPOCH)
            .await
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
        let text = error.to_string();
        assert!(
            text.starts_with("git.example/o/r: ") && text.contains(words),
            "{text}"
        );
        fake.lines();
        sink.publish(&[plan("A")], Timestamp::UNIX_EPOCH)
            .await
            .unwrap_err();
        assert_eq!(fake.lines(), [""; 0], "it stops for 10 minutes");
        fake.server.lock().unwrap().rights = (true, true);
        tokio::time::sleep(Duration::from_secs(600)).await;
        publish(&sink, &[plan("A")]).await;
    }
}

/// The last row of forges.md §11.
#[tokio::test(start_paused = true)]
async fn a_wrong_address_or_token_is_told_by_one_request() {
    let fake = rows();
    sink(&fake, None).probe().await.unwrap();
    assert_eq!(fake.lines(), ["GET /repo"]);
    fake.server.lock().unwrap().rights = (false, false);
    let absent = sink(&fake, None);
    let error = absent.probe().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    let text = error.to_string();
    let expected = "git.example/o/r: it answered 404: Not Found; the repository was deleted or renamed, or the token cannot read it";
    assert_eq!(text, expected);
    assert_eq!(fake.lines(), ["GET /repo"]);
    // Checks meet the same, and nothing is sent for them.
    let again = absent.publish(&[plan("A")], Timestamp::UNIX_EPOCH).await;
    assert_eq!(again.unwrap_err().to_string(), text);
    assert_eq!(fake.lines(), [""; 0]);
    let refused = || {
        Some(Mishap::Instead(json(
            401,
            &value!({"message": "Bad credentials"}),
        )))
    };
    fake.next([refused(), refused()]);
    let error = sink(&fake, None).probe().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    assert!(
        error.to_string().contains("it may be expired or revoked"),
        "{error}"
    );
}

/// The second part of oracle row 29.
#[tokio::test(start_paused = true)]
async fn what_somebody_wants_again_is_sent_once_more_although_it_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, path) = (rows(), record(dir.path()));
    let to = sink(&fake, Some(&path));
    publish(&to, &[plan("A")]).await;
    assert_eq!(fake.lines().len(), 1);
    publish(&to, &[plan("A")]).await;
    assert_eq!(fake.lines(), [""; 0]);
    publish(&to, &[again(plan("A"), 1)]).await;
    assert_eq!(fake.lines(), [format!("POST /rows/{HEAD}")]);
    publish(&to, &[again(plan("A"), 1)]).await;
    assert_eq!(fake.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_left_pending_is_found_in_its_record() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, record) = (rows(), record(dir.path()));
    let of = |revision: &str, state: CheckState| Check {
        revision: revision.to_owned(),
        ..check("capstan/prod/plan", state, "it")
    };
    let first = sink(&fake, Some(&record));
    let other = check("capstan/prod/sync", CheckState::Pending, "it");
    let (waits, done) = (of("a", CheckState::Pending), of("b", CheckState::Success));
    publish(&first, &[waits, done, other]).await;
    // It dies while two are under way, of which one arrives.
    fake.next([None, Some(Mishap::Lost)]);
    let (arrives, lost) = (of("c", CheckState::Pending), of("d", CheckState::Pending));
    first
        .publish(&[arrives, lost], Timestamp::UNIX_EPOCH)
        .await
        .unwrap_err();
    fake.server.lock().unwrap().rows.remove("d");
    drop(first);
    let second = sink(&fake, Some(&record));
    let left = async |sink: &ForgeSink<Plain>| {
        let left = sink
            .unfinished("capstan/prod/plan")
            .await
            .unwrap()
            .into_iter();
        left.map(|check| check.revision).collect::<Vec<_>>()
    };
    fake.lines();
    assert_eq!(left(&second).await, ["a", "c"]);
    assert_eq!(fake.lines(), ["GET /rows/d"], "it is looked up");
    assert_eq!(left(&second).await, ["a", "c"]);
    assert_eq!(fake.lines(), [""; 0]);
    // Without an answer, what is unclear counts as pending.
    drop(second);
    let third = sink(&fake, Some(&record));
    fake.next([Some(Mishap::Unsent)]);
    assert_eq!(left(&third).await, ["a", "c", "d"]);
}
