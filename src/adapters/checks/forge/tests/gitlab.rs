//! A strict GitLab: one project, whose statuses are jobs with transitions (forges.md §4).

use serde_json::json as value;

use super::*;
use crate::adapters::checks::forge::{ForgeSink, GitLab, Repository};
use crate::model::{CheckDetail, CheckSink as _, ErrorClass, ForgeKind};

const OWN: u64 = 7;
const PLAN: &str = "capstan/prod/plan";

struct Note {
    id: u64,
    author: u64,
    number: String,
    body: String,
}

#[derive(Default)]
struct Strict {
    /// (name, state, description), the oldest first; the id is the position.
    rows: Vec<(String, String, String)>,
    notes: Vec<Note>,
    /// The role is lower than Developer.
    is_guest: bool,
    permissions: Value,
    /// How many more jobs a pipeline takes.
    room: Option<usize>,
}

impl Strict {
    /// "Cannot transition status via :run from :running".
    fn cannot(state: &str, from: &str) -> Response<Vec<u8>> {
        let event = match state {
            "pending" => "enqueue",
            "running" => "run",
            _ => panic!("{from} to {state} is allowed"),
        };
        let text = format!(
            "Cannot transition status via :{event} from :{from} (Reason(s): Status cannot transition via \"{event}\")"
        );
        json(400, &value!({ "message": text }))
    }

    fn post_status(&mut self, sha: &str, body: &Value) -> Response<Vec<u8>> {
        if self.is_guest {
            return json(403, &value!({"message": "403 Forbidden"}));
        }
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let (state, name, description) = (text("state"), text("name"), text("description"));
        let states = ["pending", "running", "success", "failed", "canceled"];
        assert!(states.contains(&state.as_str()), "{body}");
        assert!(
            !name.is_empty() && description.chars().count() <= 255,
            "{body}"
        );
        assert!(
            body.get("target_url")
                .is_none_or(|url| !url.as_str().unwrap().is_empty()),
            "{body}"
        );
        if sha != HEAD && sha != "b".repeat(40) {
            return json(404, &value!({"message": "404 Commit Not Found"}));
        }
        let is_live = |row: &&mut (String, String, String)| {
            row.0 == name && matches!(row.1.as_str(), "pending" | "running")
        };
        match self.rows.iter_mut().rfind(is_live) {
            // A job that runs never waits again: the adapter knows that.
            Some(row) if row.1 == "running" && state == "pending" => panic!("running to pending"),
            Some(row) if row.1 == state => return Self::cannot(&state, &row.1.clone()),
            Some(row) => (row.1, row.2) = (state.clone(), description.clone()),
            None if self.room == Some(0) => {
                let text = "The number of jobs has exceeded the limit";
                return json(422, &value!({ "message": text }));
            }
            None => {
                self.rows
                    .push((name.clone(), state.clone(), description.clone()));
                self.room = self.room.map(|room| room - 1);
            }
        }
        let id = self.rows.len();
        json(
            201,
            &value!({"id": id, "name": name, "status": state, "description": description, "author": {"id": OWN}}),
        )
    }

    fn statuses(&self, query: &str) -> Response<Vec<u8>> {
        let name = |row: &str| query.contains(&format!("name={}", row.replace('/', "%2F")));
        assert!(
            query.contains("all=true"),
            "else only the newest of each name: {query}"
        );
        let rows = self.rows.iter().enumerate().filter(|(_, row)| name(&row.0));
        let shown = rows.map(|(at, row)| {
            value!({"id": at + 1, "name": row.0, "status": row.1, "description": row.2, "author": {"id": OWN}})
        });
        json(200, &value!(shown.collect::<Vec<_>>()))
    }

    fn note(
        &mut self,
        method: &str,
        parts: &[&str],
        query: &str,
        body: &Value,
    ) -> Response<Vec<u8>> {
        let shown =
            |one: &Note| value!({"id": one.id, "author": {"id": one.author}, "body": one.body});
        let text = || {
            let text = body["body"].as_str().unwrap();
            assert!(text.chars().count() <= 1_000_000);
            text.to_owned()
        };
        match (method, parts) {
            ("GET", [number, "notes"]) => {
                let page: usize = query.split("&page=").nth(1).unwrap().parse().unwrap();
                assert!(query.starts_with("per_page=100&"), "{query}");
                let of = self.notes.iter().filter(|one| one.number == *number);
                let page = of.skip((page - 1) * 100).take(100).map(shown);
                json(200, &value!(page.collect::<Vec<_>>()))
            }
            ("POST", [number, "notes"]) => {
                let id = 1_000 + self.notes.len() as u64;
                let (number, body) = ((*number).to_owned(), text());
                self.notes.push(Note {
                    id,
                    author: OWN,
                    number,
                    body,
                });
                json(201, &shown(self.notes.last().unwrap()))
            }
            ("PUT", [_, "notes", id]) => {
                let id: u64 = id.parse().unwrap();
                let Some(one) = self.notes.iter_mut().find(|one| one.id == id) else {
                    return json(404, &value!({"message": "404 Not found"}));
                };
                assert_eq!(one.author, OWN, "403: the note of somebody else");
                one.body = text();
                json(200, &shown(one))
            }
            _ => panic!("{method} {parts:?}"),
        }
    }
}

impl Server for Strict {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        assert_eq!(seen.header("authorization"), "Bearer s3cret");
        let (method, target) = seen.line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let rest = path
            .strip_prefix("/api/v4/projects/group%2Fsub%2Ffleet")
            .unwrap();
        let parts: Vec<&str> = rest.split('/').skip(1).collect();
        match (method, &parts[..]) {
            ("GET", []) => json(200, &value!({"permissions": self.permissions})),
            ("GET", ["repository", "commits", sha]) if *sha != HEAD => {
                json(404, &value!({"message": "404 Commit Not Found"}))
            }
            ("GET", ["repository", "commits", _]) => json(200, &value!({})),
            ("POST", ["statuses", sha]) => self.post_status(sha, &seen.body),
            ("GET", ["repository", "commits", _, "statuses"]) => self.statuses(query),
            (_, ["merge_requests", parts @ ..]) => self.note(method, parts, query, &seen.body),
            _ => panic!("{}", seen.line),
        }
    }
}

/// With an empty record, so that nothing is looked up.
fn gitlab(strict: Strict, dir: &std::path::Path) -> (Arc<Fake<Strict>>, ForgeSink<GitLab>) {
    let fake = Fake::new(strict);
    let sink = sink(&fake, dir);
    (fake, sink)
}

fn sink(fake: &Arc<Fake<Strict>>, dir: &std::path::Path) -> ForgeSink<GitLab> {
    let record = dir.join("sent.json");
    let empty = r#"{"v":1,"place":"gitlab.example/group/sub/fleet","sent":[]}"#;
    std::fs::write(&record, empty).unwrap();
    let address = "https://gitlab.example/group/sub/fleet.git";
    let repository = Repository::of(ForgeKind::GitLab, address).unwrap();
    let client = client(fake, Scheme::Bearer, GitLab::dialect());
    ForgeSink::new(GitLab::new(repository), client, Some(&record))
}

async fn publish(sink: &ForgeSink<GitLab>, check: &Check) -> Result<Vec<Later>, AdapterError> {
    sink.publish(std::slice::from_ref(check), Timestamp::UNIX_EPOCH)
        .await
}

fn states(fake: &Fake<Strict>) -> Vec<String> {
    let server = fake.server.lock().unwrap();
    server.rows.iter().map(|row| row.1.clone()).collect()
}

/// Rows 43 and 17 of forges.md §9.
#[tokio::test(start_paused = true)]
async fn a_status_moves_as_a_job_does() {
    use CheckDetail::{Approval, Queued, Superseded, Warnings};
    use CheckState::{Error, Failure, Pending, Success};
    let dir = tempfile::tempdir().unwrap();
    let (fake, sink) = gitlab(Strict::default(), dir.path());
    for (state, detail, title, requests, expected) in [
        (Pending, Some(Queued), "a", 1, &["pending"][..]),
        (Pending, Some(Queued), "b", 0, &["pending"]),
        (Pending, None, "c", 1, &["running"]),
        // Only the state counts, and a job that runs is not queued again.
        (Pending, None, "d", 0, &["running"]),
        (Pending, Some(Queued), "e", 0, &["running"]),
        (Success, None, "f", 1, &["success"]),
        (Success, Some(Warnings), "g", 0, &["success"]),
        (Pending, None, "h", 1, &["success", "running"]),
        // What waits for people is a job of its own.
        (
            Failure,
            Some(Approval),
            "i",
            2,
            &["success", "canceled", "pending"],
        ),
        (Failure, None, "j", 1, &["success", "canceled", "failed"]),
        (
            Error,
            Some(Superseded),
            "k",
            1,
            &["success", "canceled", "failed", "canceled"],
        ),
    ] {
        let check = Check {
            detail,
            ..check("capstan/prod/sync", state, title)
        };
        publish(&sink, &check).await.unwrap();
        assert_eq!(fake.lines().len(), requests, "{title}");
        assert_eq!(states(&fake), expected, "{title}");
    }
}

/// Row 43: GitLab refuses a transition to the state it already has; that is no error.
#[tokio::test(start_paused = true)]
async fn a_status_that_is_there_already_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, sink) = gitlab(Strict::default(), dir.path());
    let row = (
        PLAN.to_owned(),
        "running".to_owned(),
        "of an earlier process".to_owned(),
    );
    fake.server.lock().unwrap().rows.push(row);
    let running = check(PLAN, CheckState::Pending, "x");
    publish(&sink, &running).await.unwrap();
    publish(&sink, &running).await.unwrap();
    assert_eq!(fake.lines().len(), 1);
    publish(&sink, &check(PLAN, CheckState::Success, "y"))
        .await
        .unwrap();
    assert_eq!(states(&fake), ["success"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_up() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, sink) = gitlab(Strict::default(), dir.path());
    let done = check(PLAN, CheckState::Success, "x");
    fake.next([Some(Mishap::Lost)]);
    publish(&sink, &done).await.unwrap_err();
    publish(&sink, &done).await.unwrap();
    assert_eq!(
        states(&fake),
        ["success"],
        "a second row would stay for ever"
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_are_named_or_final() {
    let dir = tempfile::tempdir().unwrap();
    let (_, sink) = gitlab(
        Strict {
            is_guest: true,
            ..Strict::default()
        },
        dir.path(),
    );
    let done = check(PLAN, CheckState::Success, "x");
    let error = publish(&sink, &done).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    assert!(error.to_string().contains("the role Developer"), "{error}");
    let (fake, sink) = gitlab(
        Strict {
            room: Some(0),
            ..Strict::default()
        },
        dir.path(),
    );
    publish(&sink, &done).await.unwrap();
    let mut gone = done.clone();
    gone.revision = "5".repeat(40);
    publish(&sink, &gone).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    publish(&sink, &gone).await.unwrap();
    fake.lines();
    for check in [done, gone] {
        publish(
            &sink,
            &Check {
                title: "y".to_owned(),
                state: CheckState::Failure,
                ..check
            },
        )
        .await
        .unwrap();
    }
    assert_eq!(fake.lines(), [""; 0], "never again");
}

/// Row 41 of forges.md §9.
#[tokio::test(start_paused = true)]
async fn a_merge_request_has_one_note_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let (fake, first) = gitlab(Strict::default(), dir.path());
    let planted = "<!-- capstan: capstan/prod/plan -->\nplanted";
    for id in 0..100 {
        let (number, body) = ("3".to_owned(), planted.to_owned());
        fake.server.lock().unwrap().notes.push(Note {
            id,
            author: 1,
            number,
            body,
        });
    }
    let plan = |revision: &str, title: &str| Check {
        pull_request: Some(3),
        revision: revision.to_owned(),
        ..check(PLAN, CheckState::Success, title)
    };
    let ours = || {
        let server = fake.server.lock().unwrap();
        let ours = server.notes.iter().filter(|one| one.author == OWN);
        ours.map(|one| one.body.lines().nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    publish(&first, &plan(HEAD, "one")).await.unwrap();
    publish(&first, &plan(HEAD, "two")).await.unwrap();
    assert_eq!(ours(), ["## two"]);
    publish(&sink(&fake, dir.path()), &plan(&"b".repeat(40), "three"))
        .await
        .unwrap();
    assert_eq!(ours(), ["## three"], "the 101st note is found");
    let intact = |one: &Note| one.author == OWN || one.body == planted;
    assert!(fake.server.lock().unwrap().notes.iter().all(intact));
    fake.server
        .lock()
        .unwrap()
        .notes
        .retain(|one| one.author != OWN);
    publish(&first, &plan(HEAD, "four")).await.unwrap();
    assert_eq!(ours(), ["## four"]);
}

#[tokio::test(start_paused = true)]
async fn a_role_below_developer_is_told_before_the_first_check() {
    let dir = tempfile::tempdir().unwrap();
    let role = |level: u64| value!({"access_level": level, "notification_level": 3});
    for (permissions, is_told) in [
        (
            value!({"project_access": role(30), "group_access": null}),
            false,
        ),
        (
            value!({"project_access": role(20), "group_access": role(40)}),
            false,
        ),
        (
            value!({"project_access": role(20), "group_access": null}),
            true,
        ),
        // An administrator is no member.
        (
            value!({"project_access": null, "group_access": null}),
            false,
        ),
        (Value::Null, false),
    ] {
        let strict = Strict {
            permissions: permissions.clone(),
            ..Strict::default()
        };
        let (_, sink) = gitlab(strict, dir.path());
        let told = sink.probe().await.map_err(|error| error.to_string());
        assert_eq!(told.is_err(), is_told, "{permissions}");
        assert!(
            told.err()
                .is_none_or(|told| told.contains("the role Developer"))
        );
    }
}
