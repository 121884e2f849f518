//! The reviews of a strict Gitea, for one pull request. Rules and shapes are those of forges.md §3; a real one is asked
//! in `tests/suite/forges`.

use std::collections::BTreeMap;

use serde_json::json as value;

use super::gitea::{OWN, PLAN, Strict, gitea, plan, publish, sink};
use super::*;
use crate::model::{Annotation, CheckDetail};

/// Two files; lines 1 to 6 of one are shown, and line 40 of the other.
const DIFF: &str = "\
diff --git a/a.yaml b/a.yaml
--- a/a.yaml
+++ b/a.yaml
@@ -1,3 +1,6 @@
 one
+two
+three
+four
 five
 six
diff --git a/b.yaml b/b.yaml
--- a/b.yaml
+++ b/b.yaml
@@ -40 +40 @@
-old
+new
";

pub(super) struct Reviews {
    head: String,
    diff: String,
    pub(super) reviews: BTreeMap<u64, Review>,
    /// The server has no call to resolve a comment: Forgejo, and Gitea before 1.26.
    is_old: bool,
    /// How often the ref is asked for before it follows the head (LIVE).
    behind: u32,
    next: u64,
}

pub(super) struct Review {
    user: u64,
    state: &'static str,
    body: String,
    comments: Vec<Comment>,
}

#[derive(Clone)]
struct Comment {
    id: u64,
    user: u64,
    path: String,
    line: u64,
    body: String,
    resolver: Option<u64>,
}

impl Default for Reviews {
    fn default() -> Self {
        Self {
            head: HEAD.to_owned(),
            diff: DIFF.to_owned(),
            reviews: BTreeMap::new(),
            is_old: false,
            behind: 0,
            next: 0,
        }
    }
}

impl Reviews {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add(&mut self, user: u64, state: &'static str, body: &str, comments: &[(u64, &str)]) {
        let comments = comments.iter().map(|(line, body)| Comment {
            id: self.id(),
            user,
            path: "a.yaml".to_owned(),
            line: *line,
            body: (*body).to_owned(),
            resolver: None,
        });
        let comments = comments.collect();
        let (id, body) = (self.id(), body.to_owned());
        let review = Review {
            user,
            state,
            body,
            comments,
        };
        self.reviews.insert(id, review);
    }

    pub(super) fn reference(&mut self) -> Response<Vec<u8>> {
        let sha = match self.behind {
            0 => self.head.clone(),
            _ => "0".repeat(40),
        };
        self.behind = self.behind.saturating_sub(1);
        let reference =
            value!({"ref": "refs/pull/3/head", "object": {"type": "commit", "sha": sha}});
        json(200, &value!([reference]))
    }

    pub(super) fn answer(
        &mut self,
        method: &str,
        parts: &[&str],
        query: &str,
        body: &Value,
    ) -> Response<Vec<u8>> {
        match (method, parts) {
            ("GET", ["3"]) => json(200, &value!({"head": {"sha": self.head}})),
            ("GET", ["3.diff"]) => {
                assert_eq!(self.behind, 0, "it is the diff of another head");
                let kind = [("content-type", "text/plain; charset=utf-8")];
                with(200, &kind, &self.diff)
            }
            ("GET", ["3", "reviews"]) => self.list(query),
            ("POST", ["3", "reviews"]) => self.post(body),
            ("GET", ["3", "reviews", id, "comments"]) => {
                let review = &self.reviews[&id.parse().unwrap()];
                let person = |id: Option<u64>| id.map(|id| value!({"id": id}));
                let shown = |one: &Comment| {
                    value!({"id": one.id, "user": {"id": one.user}, "path": one.path, "position": one.line,
                        "body": one.body, "resolver": person(one.resolver)})
                };
                let comments = review.comments.iter().map(shown);
                json(200, &value!(comments.collect::<Vec<_>>()))
            }
            ("DELETE", ["3", "reviews", id]) => {
                let review = self.reviews.remove(&id.parse().unwrap()).unwrap();
                assert_eq!(review.user, OWN, "403: the review of somebody else");
                with(204, &[], "")
            }
            ("POST", ["comments", _, "resolve"]) if self.is_old => {
                with(404, &[], "404 page not found")
            }
            ("POST", ["comments", id, "resolve"]) => {
                let id: u64 = id.parse().unwrap();
                let comments = self.reviews.values_mut().flat_map(|one| &mut one.comments);
                match { comments }.find(|one| one.id == id) {
                    Some(one) => {
                        one.resolver = Some(OWN);
                        with(204, &[], "")
                    }
                    None => json(404, &value!({"message": "not found"})),
                }
            }
            _ => panic!("{method} {parts:?}"),
        }
    }

    fn list(&self, query: &str) -> Response<Vec<u8>> {
        let (page, limit) = query
            .strip_prefix("page=")
            .and_then(|rest| rest.split_once("&limit="))
            .unwrap();
        let (page, limit): (usize, usize) = (page.parse().unwrap(), limit.parse().unwrap());
        assert!(limit <= 50, "a page has 50 at most");
        // One that was begun is shown to whoever began it.
        let seen = |one: &(&u64, &Review)| one.1.state != "PENDING" || one.1.user == OWN;
        let shown = |(id, one): (&u64, &Review)| value!({"id": id, "user": {"id": one.user}, "state": one.state, "body": one.body});
        let rows = self.reviews.iter().filter(seen).map(shown);
        let rows: Vec<Value> = rows.skip((page - 1) * limit).take(limit).collect();
        json(200, &value!(rows))
    }

    fn post(&mut self, body: &Value) -> Response<Vec<u8>> {
        // Another event approves, refuses, or stays unseen.
        assert_eq!(body["event"], "COMMENT", "{body}");
        assert_eq!(body["commit_id"], self.head.as_str(), "{body}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut new = Vec::new();
        for one in body["comments"].as_array().unwrap() {
            let (path, line) = (text(&one["path"]), one["new_position"].as_u64().unwrap());
            // The real one takes any line, and shows no code with it (LIVE).
            let is_shown =
                path == "a.yaml" && (1..=6).contains(&line) || path == "b.yaml" && line == 40;
            assert!(is_shown || self.diff.len() > DIFF.len(), "{path}:{line}");
            new.push((path, line, text(&one["body"])));
        }
        assert!(!new.is_empty() && new.len() <= 20, "{}", new.len());
        assert!(
            !self
                .reviews
                .values()
                .any(|one| one.state == "PENDING" && one.user == OWN),
            "it would be sent, too"
        );
        let comments = new.into_iter().map(|(path, line, body)| Comment {
            id: self.id(),
            user: OWN,
            path,
            line,
            body,
            resolver: None,
        });
        let review = Review {
            user: OWN,
            state: "COMMENT",
            body: text(&body["body"]),
            comments: comments.collect(),
        };
        let id = self.id();
        self.reviews.insert(id, review);
        // Not 201 (LIVE).
        json(200, &value!({"id": id}))
    }
}

fn on(path: &str, line: u32, level: &str, message: &str) -> Annotation {
    Annotation {
        path: path.to_owned(),
        line,
        level: level.to_owned(),
        message: message.to_owned(),
    }
}

/// The plan of a head with these findings.
fn bad(head: &str, annotations: &[Annotation]) -> Check {
    Check {
        state: CheckState::Failure,
        revision: head.to_owned(),
        annotations: annotations.to_vec(),
        ..plan("2 errors")
    }
}

fn next_head(fake: &Fake<Strict>) -> String {
    let head = "b".repeat(40);
    fake.server.lock().unwrap().reviews.head = head.clone();
    head
}

/// What our reviews say: line, text and whether it is resolved.
fn said(fake: &Fake<Strict>) -> Vec<(u64, String, bool)> {
    let server = fake.server.lock().unwrap();
    let comments = server
        .reviews
        .reviews
        .values()
        .flat_map(|one| &one.comments);
    let said = |one: &Comment| {
        let text = one.body.lines().skip(1).collect::<Vec<_>>().join("\n");
        (one.line, text, one.resolver.is_some())
    };
    comments.filter(|one| one.user == OWN).map(said).collect()
}

fn reviews(fake: &Fake<Strict>) -> usize {
    let lines = fake.lines().into_iter();
    let is_review = |line: &String| line.starts_with("POST") && line.ends_with("/reviews");
    lines.filter(is_review).count()
}

#[tokio::test(start_paused = true)]
async fn findings_are_one_review_on_lines_of_the_diff_and_are_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sent.json");
    let fake = Fake::new(Strict::default());
    let first = sink(&fake, Some(&path));
    let found = [
        on("a.yaml", 5, "warning", "a `warning`"),
        on("/b.yaml", 40, "error", "N08 too new"),
        on("a.yaml", 5, "warning", "another"),
        on("a.yaml", 7, "error", "not in the diff"),
        on("other.yaml", 1, "error", "not in the diff"),
    ];
    let check = bad(HEAD, &found);
    for _ in 0..2 {
        publish(&first, &check).await.unwrap();
    }
    let error = "error: N08 too new".to_owned();
    let warnings = "warning: a `warning`\n\nwarning: another".to_owned();
    let expected = [(40, error, false), (5, warnings, false)];
    assert_eq!(said(&fake), expected);
    let body = {
        let server = fake.server.lock().unwrap();
        let review = server.reviews.reviews.values().next().unwrap();
        assert!(review.comments.iter().all(|one| {
            one.body
                .starts_with("<!-- capstan: capstan/prod/plan -->\n")
        }));
        review.body.clone()
    };
    let expected_body = "<!-- capstan: capstan/prod/plan -->\n`capstan/prod/plan` at 69b5906347: new findings on 2 lines; for 2 lines more, see the comment of this check";
    assert_eq!(body, expected_body);
    fake.lines();
    // After a restart, with the record and without it.
    publish(&sink(&fake, Some(&path)), &check).await.unwrap();
    assert_eq!(fake.lines(), [""; 0]);
    publish(&sink(&fake, None), &check).await.unwrap();
    assert_eq!((reviews(&fake), said(&fake)), (0, expected.to_vec()));
}

#[tokio::test(start_paused = true)]
async fn the_next_head_adds_what_is_new_and_resolves_what_is_gone() {
    let (fake, sink) = gitea(Strict::default());
    let (stays, goes) = (
        on("a.yaml", 2, "error", "stays"),
        on("a.yaml", 3, "error", "goes"),
    );
    publish(&sink, &bad(HEAD, &[stays.clone(), goes.clone()]))
        .await
        .unwrap();
    let head = next_head(&fake);
    let comes = on("a.yaml", 4, "error", "comes");
    publish(&sink, &bad(&head, &[stays.clone(), comes]))
        .await
        .unwrap();
    let one = |line, text: &str, resolved| (line, format!("error: {text}"), resolved);
    let expected = [
        one(2, "stays", false),
        one(3, "goes", true),
        one(4, "comes", false),
    ];
    assert_eq!(said(&fake), expected);
    // Back to the first head: what returns is said again, and what people resolved is not.
    {
        let mut server = fake.server.lock().unwrap();
        server.reviews.head = HEAD.to_owned();
        let all = server.reviews.reviews.values_mut();
        let first = all.flat_map(|one| &mut one.comments).next().unwrap();
        first.resolver = Some(1);
    }
    publish(&sink, &bad(HEAD, &[stays, goes])).await.unwrap();
    let expected = [
        one(2, "stays", true),
        one(3, "goes", true),
        one(4, "comes", true),
        one(3, "goes", false),
    ];
    assert_eq!(said(&fake), expected);
    // A plan that is well leaves nothing open.
    publish(&sink, &plan("well")).await.unwrap();
    assert!(said(&fake).iter().all(|(_, _, resolved)| *resolved));
}

#[tokio::test(start_paused = true)]
async fn an_old_server_keeps_old_comments_and_is_asked_once_for_each_head() {
    let (fake, sink) = gitea(Strict::default());
    fake.server.lock().unwrap().reviews.is_old = true;
    let found: Vec<Annotation> = (2..5)
        .map(|line| on("a.yaml", line, "error", "x"))
        .collect();
    publish(&sink, &bad(HEAD, &found)).await.unwrap();
    let head = next_head(&fake);
    fake.lines();
    for _ in 0..2 {
        let check = Check {
            revision: head.clone(),
            ..plan("well")
        };
        publish(&sink, &check).await.unwrap();
    }
    let lines = fake.lines();
    let asked = lines.iter().filter(|line| line.ends_with("/resolve"));
    assert_eq!(asked.count(), 1, "{lines:?}");
    assert_eq!(said(&fake).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn at_most_20_comments_are_open() {
    let (fake, sink) = gitea(Strict::default());
    let mut diff =
        "diff --git a/c.yaml b/c.yaml\n--- /dev/null\n+++ b/c.yaml\n@@ -0,0 +1,90 @@\n".to_owned();
    diff.push_str(&"+x\n".repeat(90));
    fake.server.lock().unwrap().reviews.diff.push_str(&diff);
    let level = |line| if line > 70 { "error" } else { "warning" };
    let found: Vec<Annotation> = (1..90)
        .map(|line| on("c.yaml", line, level(line), "x"))
        .collect();
    publish(&sink, &bad(HEAD, &found)).await.unwrap();
    let first = said(&fake);
    assert_eq!(first.len(), 20);
    assert!(
        first[..19].iter().all(|one| one.0 > 70),
        "errors come first"
    );
    let head = next_head(&fake);
    let mut fewer = found;
    fewer.truncate(75);
    publish(&sink, &bad(&head, &fewer)).await.unwrap();
    let open = said(&fake).into_iter().filter(|one| !one.2);
    assert_eq!(open.count(), 20);
}

#[tokio::test(start_paused = true)]
async fn what_says_nothing_about_lines_leaves_them_alone() {
    let (fake, sink) = gitea(Strict::default());
    let found = [on("a.yaml", 2, "error", "x")];
    publish(&sink, &bad(HEAD, &found)).await.unwrap();
    fake.lines();
    let conflict = bad(HEAD, &[]);
    let fault = Check {
        state: CheckState::Error,
        ..plan("the base has errors")
    };
    let running = Check {
        state: CheckState::Pending,
        ..plan("working")
    };
    let ended = Check {
        state: CheckState::Error,
        detail: Some(CheckDetail::Superseded),
        ..plan("ended")
    };
    let of_branch = Check {
        pull_request: None,
        ..bad(HEAD, &found)
    };
    for check in [conflict, fault, running, ended, of_branch] {
        publish(&sink, &check).await.unwrap();
    }
    let lines = fake.lines();
    assert!(
        !lines.iter().any(|line| line.contains("/pulls/")),
        "{lines:?}"
    );
    assert!(!said(&fake)[0].2);
    // The head has moved on: another check follows.
    next_head(&fake);
    publish(&sink, &bad(HEAD, &[on("a.yaml", 3, "error", "y")]))
        .await
        .unwrap();
    assert_eq!((reviews(&fake), said(&fake).len()), (0, 1));
}

/// Else its findings would be judged by the diff of the last head.
#[tokio::test(start_paused = true)]
async fn a_review_waits_until_the_diff_is_that_of_the_head() {
    let (fake, sink) = gitea(Strict::default());
    fake.server.lock().unwrap().reviews.behind = 5;
    let check = bad(HEAD, &[on("a.yaml", 2, "error", "x")]);
    let start = Instant::now();
    for wait in [1, 1, 2, 4, 8] {
        let later = publish(&sink, &check).await.unwrap();
        assert_eq!(later[0].wait, Duration::from_secs(wait));
        assert_eq!(reviews(&fake), 0);
        tokio::time::sleep(later[0].wait).await;
    }
    assert_eq!(start.elapsed().as_secs(), 16, "the others are not held up");
    assert_eq!(publish(&sink, &check).await.unwrap(), []);
    let lines = fake.lines();
    let again = |line: &&String| line.contains("/statuses/") || line.contains("/issues/");
    assert_eq!(lines.iter().find(again), None, "they were written at once");
    assert_eq!(said(&fake).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_review_is_given_up_after_10_minutes() {
    let (fake, sink) = gitea(Strict::default());
    fake.server.lock().unwrap().reviews.behind = 1_000;
    let check = bad(HEAD, &[on("a.yaml", 2, "error", "x")]);
    publish(&sink, &check).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(publish(&sink, &check).await.unwrap(), []);
    fake.lines();
    publish(&sink, &check).await.unwrap();
    assert_eq!(fake.lines(), [""; 0]);
}

/// A mark counts with its author, and an answer of other people is theirs.
#[tokio::test(start_paused = true)]
async fn reviews_of_others_are_theirs() {
    let (fake, sink) = gitea(Strict::default());
    let mark = format!("<!-- capstan: {PLAN} -->\n");
    {
        let mut server = fake.server.lock().unwrap();
        let text = format!("{mark}error: x");
        for _ in 0..60 {
            server.reviews.add(1, "COMMENT", &mark, &[(2, &text)]);
        }
        server.reviews.add(
            OWN,
            "COMMENT",
            "<!-- capstan: capstan/other/plan -->\n",
            &[(3, "other")],
        );
        server.reviews.add(1, "PENDING", "", &[(2, "unseen")]);
    }
    // Two heads, so that what is gone would be resolved.
    publish(&sink, &bad(HEAD, &[on("a.yaml", 2, "error", "x")]))
        .await
        .unwrap();
    let resolved = || {
        let server = fake.server.lock().unwrap();
        let comments = server
            .reviews
            .reviews
            .values()
            .flat_map(|one| &one.comments);
        comments.filter(|one| one.resolver.is_some()).count()
    };
    assert_eq!((reviews(&fake), resolved()), (1, 0));
    let head = next_head(&fake);
    publish(
        &sink,
        &Check {
            revision: head,
            ..plan("well")
        },
    )
    .await
    .unwrap();
    assert_eq!(resolved(), 1);
}

/// What comes before a review goes well: statuses, the status, comments, the comment, reviews, the pull request, its
/// ref, the diff.
fn before_review() -> impl Iterator<Item = Option<Mishap>> {
    std::iter::repeat_with(|| None).take(8)
}

#[tokio::test(start_paused = true)]
async fn a_review_whose_answer_was_lost_is_not_written_twice() {
    let (fake, sink) = gitea(Strict::default());
    let check = bad(HEAD, &[on("a.yaml", 2, "error", "x")]);
    fake.next(before_review().chain([Some(Mishap::Lost)]));
    publish(&sink, &check).await.unwrap_err();
    assert_eq!(said(&fake).len(), 1, "it was carried out");
    publish(&sink, &check).await.unwrap();
    assert_eq!((reviews(&fake), said(&fake).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_review_that_the_server_left_half_done_is_removed_and_one_of_a_person_is_not() {
    let (fake, sink) = gitea(Strict::default());
    let text = format!("<!-- capstan: {PLAN} -->\nerror: x");
    fake.server
        .lock()
        .unwrap()
        .reviews
        .add(OWN, "PENDING", "", &[(2, &text)]);
    let check = bad(HEAD, &[on("a.yaml", 2, "error", "x")]);
    publish(&sink, &check).await.unwrap();
    assert_eq!(said(&fake), [(2, "error: x".to_owned(), false)]);
    let (fake, sink) = gitea(Strict::default());
    let begun = [(2, text.as_str()), (3, "a thought")];
    fake.server
        .lock()
        .unwrap()
        .reviews
        .add(OWN, "PENDING", "", &begun);
    publish(&sink, &check).await.unwrap();
    assert_eq!((reviews(&fake), said(&fake).len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_review_that_is_refused_holds_nothing_up() {
    let refused = [
        json(500, &value!({"message": "object does not exist"})),
        json(
            422,
            &value!({"message": "review event COMMENT requires a body"}),
        ),
        json(403, &value!({"message": "user should have a permission"})),
        json(404, &value!({"message": "not found"})),
    ];
    for answer in refused {
        let (fake, sink) = gitea(Strict::default());
        let check = bad(HEAD, &[on("a.yaml", 2, "error", "x")]);
        fake.next(before_review().chain([Some(Mishap::Instead(answer))]));
        for _ in 0..2 {
            publish(&sink, &check).await.unwrap();
        }
        assert_eq!(
            (reviews(&fake), said(&fake).len()),
            (1, 0),
            "the same is not tried again"
        );
        // The next head is.
        let head = next_head(&fake);
        publish(&sink, &bad(&head, &[on("a.yaml", 2, "error", "x")]))
            .await
            .unwrap();
        assert_eq!(said(&fake).len(), 1);
    }
}
