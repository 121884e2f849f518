//! A strict Gitea: it refuses what the real one refuses, and panics on what the real one wrongly stores. Rules and
//! shapes are those of forges.md §3; what is marked LIVE there is tested on the real server, too (`tests/suite/forges`).

use serde_json::json as value;

use super::gitea_reviews::Reviews;
use super::*;
use crate::adapters::checks::forge::{ForgeSink, Gitea, Repository};
use crate::model::{CheckDetail, CheckSink as _, ErrorClass, ForgeKind};

pub(super) const OWN: u64 = 7;
pub(super) const PLAN: &str = "capstan/prod/plan";

struct Comment {
    id: u64,
    user: u64,
    pull: u64,
    body: String,
}

/// One repository.
pub(super) struct Strict {
    name: &'static str,
    /// (sha, the row as it is shown).
    rows: Vec<(String, Value)>,
    comments: Vec<Comment>,
    pub(super) reviews: Reviews,
    pub(super) scopes: Vec<&'static str>,
    /// Whether the user of the token may write.
    is_writer: bool,
    /// Ids of the rows of comments and statuses.
    next: u64,
}

impl Default for Strict {
    fn default() -> Self {
        Self {
            name: "r",
            rows: Vec::new(),
            comments: Vec::new(),
            reviews: Reviews::default(),
            scopes: vec!["write:repository", "write:issue"],
            is_writer: true,
            next: 0,
        }
    }
}

impl Strict {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn lacks(&self, scope: &str) -> Option<Response<Vec<u8>>> {
        let has = self.scopes.contains(&scope);
        (!has).then(|| {
            let text = format!(
                "token does not have at least one of required scope(s), required=[{scope}], token scope={}",
                self.scopes.join(",")
            );
            json(403, &value!({"message": text, "url": "https://git.example/api/swagger"}))
        })
    }

    fn post_status(&mut self, sha: &str, body: &Value) -> Response<Vec<u8>> {
        if let Some(denied) = self.lacks("write:repository") {
            return denied;
        }
        let text = |key: &str| body[key].as_str().unwrap().to_owned();
        // The real one stores any state and any length: row 50 of forges.md §9.
        let states = ["pending", "success", "error", "failure", "warning"];
        assert!(states.contains(&text("state").as_str()), "{body}");
        assert!(text("description").chars().count() <= 255, "{body}");
        assert!(!text("context").is_empty(), "{body}");
        if sha != HEAD && sha != "b".repeat(40) {
            let text = format!("GetCommit[{sha}]: object does not exist [id: {sha}, rel_path: ]");
            return json(500, &value!({"message": text}));
        }
        let row = value!({"id": self.id(), "status": text("state"), "context": text("context"),
            "description": text("description").trim(), "target_url": text("target_url"), "creator": {"id": OWN}});
        self.rows.push((sha.to_owned(), row.clone()));
        json(201, &row)
    }

    fn statuses(&self, sha: &str, query: &str) -> Response<Vec<u8>> {
        let of = |key: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let number = |key: &str| of(key).unwrap().parse::<usize>().unwrap();
        assert!(number("limit") <= 50, "a page has 50 at most");
        let mut rows: Vec<Value> = self
            .rows
            .iter()
            .filter(|row| row.0 == sha)
            .map(|row| row.1.clone())
            .collect();
        if of("sort") == Some("highestindex") {
            rows.reverse();
        }
        let page = rows
            .into_iter()
            .skip((number("page") - 1) * number("limit"));
        let page: Vec<Value> = page.take(number("limit")).collect();
        // As the combined status has it: null for none.
        json(
            200,
            &if page.is_empty() {
                Value::Null
            } else {
                value!(page)
            },
        )
    }

    fn comment(&mut self, method: &str, parts: &[&str], body: &Value) -> Response<Vec<u8>> {
        let needs = if method == "GET" {
            "read:issue"
        } else {
            "write:issue"
        };
        if !(method == "GET" && self.scopes.contains(&"write:issue"))
            && let Some(denied) = self.lacks(needs)
        {
            return denied;
        }
        let text = || body["body"].as_str().unwrap().to_owned();
        let shown =
            |one: &Comment| value!({"id": one.id, "user": {"id": one.user}, "body": one.body});
        match (method, parts) {
            ("PATCH", ["comments", id]) => {
                let id: u64 = id.parse().unwrap();
                let Some(one) = self.comments.iter_mut().find(|one| one.id == id) else {
                    return json(404, &value!({"message": "not found"}));
                };
                assert_eq!(one.user, OWN, "403: the comment of somebody else");
                one.body = text();
                json(200, &shown(one))
            }
            // All, whatever page is asked for.
            ("GET", [pull, "comments"]) => {
                let of = self
                    .comments
                    .iter()
                    .filter(|one| one.pull.to_string() == *pull);
                json(200, &value!(of.map(shown).collect::<Vec<_>>()))
            }
            ("POST", [pull, "comments"]) => {
                let (id, pull) = (self.id(), pull.parse().unwrap());
                let one = Comment {
                    id,
                    user: OWN,
                    pull,
                    body: text(),
                };
                assert!(one.body.chars().count() <= 65_536);
                let answer = json(201, &shown(&one));
                self.comments.push(one);
                answer
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
        let path = path.strip_prefix("/api/v1/repos/o/").unwrap();
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        if name != self.name {
            let to = format!("/api/v1/repos/o/{}/{rest}?{query}", self.name);
            return with(301, &[("location", &to)], "");
        }
        let parts: Vec<&str> = rest.split('/').collect();
        match (method, &parts[..]) {
            ("GET", [""]) => json(200, &value!({"permissions": {"push": self.is_writer}})),
            ("POST", ["statuses", sha]) => self.post_status(sha, &seen.body),
            ("GET", ["commits", sha, "statuses"]) => self.statuses(sha, query),
            (_, ["issues", parts @ ..]) => self.comment(method, parts, &seen.body),
            ("GET", ["git", "refs", "pull", "3", "head"]) => self.reviews.reference(),
            ("GET", ["pulls", parts @ ..]) => self.reviews.answer(method, parts, query, &seen.body),
            (_, ["pulls", parts @ ..]) => match self.lacks("write:repository") {
                Some(denied) => denied,
                None => self.reviews.answer(method, parts, query, &seen.body),
            },
            _ => panic!("{}", seen.line),
        }
    }
}

pub(super) fn gitea(strict: Strict) -> (Arc<Fake<Strict>>, ForgeSink<Gitea>) {
    let fake = Fake::new(strict);
    let sink = sink(&fake, None);
    (fake, sink)
}

pub(super) fn sink(fake: &Arc<Fake<Strict>>, record: Option<&std::path::Path>) -> ForgeSink<Gitea> {
    let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
    let client = client(fake, Scheme::Bearer, Gitea::dialect());
    ForgeSink::new(Gitea::new(repository), client, record)
}

pub(super) async fn publish(
    sink: &ForgeSink<Gitea>,
    check: &Check,
) -> Result<Vec<Later>, AdapterError> {
    sink.publish(std::slice::from_ref(check), Timestamp::UNIX_EPOCH)
        .await
}

/// The plan check of a pull request.
pub(super) fn plan(title: &str) -> Check {
    Check {
        pull_request: Some(3),
        ..check(PLAN, CheckState::Success, title)
    }
}

fn states(fake: &Fake<Strict>) -> Vec<String> {
    let server = fake.server.lock().unwrap();
    let state = |row: &(String, Value)| row.1["status"].as_str().unwrap().to_owned();
    server.rows.iter().map(state).collect()
}

/// The state map of forges.md §0, and row 50 of §9.
#[tokio::test(start_paused = true)]
async fn every_outcome_is_a_state_that_gitea_has() {
    use CheckDetail::{Approval, Queued, Superseded, Warnings};
    use CheckState::{Error, Failure, Pending, Success};
    let (fake, sink) = gitea(Strict::default());
    for (state, detail, expected) in [
        (Pending, Some(Queued), "pending"),
        (Success, None, "success"),
        (Success, Some(Warnings), "warning"),
        (Failure, None, "failure"),
        (Failure, Some(Approval), "failure"),
        (Error, None, "error"),
        (Error, Some(Superseded), "error"),
    ] {
        let check = Check {
            detail,
            ..check(
                "capstan/prod/sync",
                state,
                &format!("{state:?} {detail:?} {}", "x".repeat(300)),
            )
        };
        publish(&sink, &check).await.unwrap();
        publish(&sink, &check).await.unwrap();
        assert_eq!(states(&fake).last().unwrap(), expected);
    }
    assert_eq!(states(&fake).len(), 7, "none is sent twice");
}

/// Row 37 of forges.md §9, and row 18: the newest row of the context counts.
#[tokio::test(start_paused = true)]
async fn the_newest_status_is_the_one_with_the_largest_id() {
    let (fake, first) = gitea(Strict::default());
    let mut other = check("capstan/other/plan", CheckState::Failure, "x");
    for number in 0..60 {
        other.title = number.to_string();
        publish(&first, &other).await.unwrap();
    }
    for (state, title) in [(CheckState::Success, "A"), (CheckState::Pending, "B")] {
        publish(&first, &check(PLAN, state, title)).await.unwrap();
    }
    let found = sink(&fake, None)
        .read(&[HEAD.to_owned()], PLAN)
        .await
        .unwrap();
    assert_eq!(
        (found[0].state, found[0].title.as_str()),
        (CheckState::Pending, "B")
    );
    assert_eq!(
        sink(&fake, None)
            .read(&["b".repeat(40)], PLAN)
            .await
            .unwrap(),
        []
    );
}

/// Row 38.
#[tokio::test(start_paused = true)]
async fn a_500_for_a_commit_that_does_not_exist_is_final_and_others_are_not() {
    let (fake, sink) = gitea(Strict::default());
    let mut gone = check(PLAN, CheckState::Success, "A");
    gone.revision = "5".repeat(40);
    publish(&sink, &gone).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    publish(&sink, &gone).await.unwrap();
    fake.lines();
    gone.title = "B".to_owned();
    publish(&sink, &gone).await.unwrap();
    assert_eq!(fake.lines(), [""; 0]);
    let there = check(PLAN, CheckState::Success, "A");
    publish(&sink, &there).await.unwrap();
    fake.next([Some(Mishap::Instead(json(
        500,
        &value!({"message": "database is locked"}),
    )))]);
    let next = check(PLAN, CheckState::Failure, "B");
    let error = publish(&sink, &next).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    publish(&sink, &next).await.unwrap();
    assert_eq!(states(&fake), ["success", "failure"]);
}

/// Row 39.
#[tokio::test(start_paused = true)]
async fn a_renamed_repository_gets_its_checks() {
    let (fake, sink) = gitea(Strict {
        name: "renamed",
        ..Strict::default()
    });
    publish(&sink, &check(PLAN, CheckState::Success, "A"))
        .await
        .unwrap();
    assert_eq!(states(&fake), ["success"]);
}

/// Row 41, and rule 2: one comment, changed in place, also for the next head.
#[tokio::test(start_paused = true)]
async fn a_pull_request_has_one_comment_of_ours() {
    let (fake, sink) = gitea(Strict::default());
    let mark = "<!-- capstan: capstan/prod/plan -->\n";
    for id in 100..201 {
        let body = format!("{mark}planted");
        fake.server.lock().unwrap().comments.push(Comment {
            id,
            user: 1,
            pull: 3,
            body,
        });
    }
    let ours = || {
        let server = fake.server.lock().unwrap();
        let ours = server.comments.iter().filter(|one| one.user == OWN);
        ours.map(|one| one.body.clone()).collect::<Vec<_>>()
    };
    let mut pending = plan("working");
    pending.state = CheckState::Pending;
    publish(&sink, &pending).await.unwrap();
    assert_eq!(ours(), [""; 0], "only results are shown to people");
    publish(&sink, &plan("first")).await.unwrap();
    publish(&sink, &plan("second")).await.unwrap();
    let mut next = plan("third");
    next.revision = "b".repeat(40);
    publish(&sink, &next).await.unwrap();
    assert_eq!(ours().len(), 1);
    let is_shown = |text: &str| ours()[0].starts_with(&format!("{mark}## {text}"));
    assert!(is_shown("third"), "{:?}", ours());
    // A forced push back to the first head.
    publish(&sink, &plan("second")).await.unwrap();
    assert!(is_shown("second"), "{:?}", ours());
    fake.lines();
    publish(&sink, &plan("second")).await.unwrap();
    assert_eq!(fake.lines(), [""; 0]);
    publish(&sink, &next).await.unwrap();
    let planted = format!("{mark}planted");
    let intact = |one: &Comment| one.user == OWN || one.body == planted;
    assert!(fake.server.lock().unwrap().comments.iter().all(intact));
    // Somebody deletes it.
    fake.server
        .lock()
        .unwrap()
        .comments
        .retain(|one| one.user != OWN);
    next.title = "fourth".to_owned();
    next.summary = "## fourth".to_owned();
    publish(&sink, &next).await.unwrap();
    assert_eq!(ours().len(), 1);
}

/// Rule 7 of forges.md §0, with the words of §3.
#[tokio::test(start_paused = true)]
async fn a_scope_that_is_missing_is_named() {
    let (fake, sink) = gitea(Strict {
        scopes: vec!["write:repository"],
        ..Strict::default()
    });
    for title in ["A", "B", "B"] {
        publish(&sink, &plan(title)).await.unwrap();
    }
    assert_eq!(states(&fake).len(), 2, "statuses go on without comments");
    let comments = fake
        .lines()
        .into_iter()
        .filter(|line| line.contains("/issues/"));
    assert_eq!(
        comments.count(),
        2,
        "it is asked with each check: somebody may grant it"
    );
    let (_, narrow) = gitea(Strict {
        scopes: vec!["read:repository"],
        ..Strict::default()
    });
    let error = publish(&narrow, &plan("A")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    assert!(
        error.to_string().contains("required=[write:repository]"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_is_told_before_the_first_check() {
    gitea(Strict::default()).1.probe().await.unwrap();
    let (fake, sink) = gitea(Strict {
        is_writer: false,
        ..Strict::default()
    });
    let error = sink.probe().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    assert!(error.to_string().contains("collaborator"), "{error}");
    // Gitea has the last word.
    publish(&sink, &check(PLAN, CheckState::Success, "A"))
        .await
        .unwrap();
    assert_eq!(states(&fake), ["success"]);
}
