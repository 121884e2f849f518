//! The comments of pull requests, as each forge lists them, and who may write: a server that knows these requests and no
//! other.

use serde_json::json as value;

use super::pull_requests::{Answers, Known};
use super::*;
use crate::adapters::checks::azure_devops::{self, AzureDevOps};
use crate::adapters::checks::forge::{
    Bitbucket, Comments, Edition, ForgeSink, GitLab, Gitea, Repository,
};
use crate::adapters::checks::github::{self, CheckRuns, Statuses};
use crate::model::{ApprovalComments as _, ErrorClass, ForgeKind, MayWrite, PullComment, Writer};

const LINE: &str = "/capstan approve delete c/two";
const WRITTEN: &str = "2026-01-01T10:00:00Z";

/// A sink of `forge`, and what answers it.
fn sink<F: Comments>(
    forge: F,
    scheme: Scheme,
    dialect: Dialect,
    answers: Answers<'_>,
) -> (ForgeSink<F>, Arc<Fake<Known>>) {
    let known = answers
        .iter()
        .map(|(line, status, body)| ((*line).to_owned(), (*status, body.clone())));
    let fake = Fake::new(Known(known.collect()));
    let sink = ForgeSink::new(forge, client(&fake, scheme, dialect), None);
    (sink, fake)
}

/// What is to be told apart: id, author, writer, whether it is edited, and the right to write.
fn told<'a>(found: &'a [PullComment]) -> Vec<(&'a str, &'a str, Writer, bool, MayWrite)> {
    let row = |one: &'a PullComment| {
        let PullComment {
            id,
            author,
            writer,
            may_write,
            ..
        } = one;
        let is_edited = one.edited.is_some_and(|at| at != one.created);
        (id.as_str(), author.as_str(), *writer, is_edited, *may_write)
    };
    found.iter().map(row).collect()
}

/// Who made the pull request.
async fn authors<F: Comments>(sink: &ForgeSink<F>) -> String {
    let names = sink.authors(7).await.unwrap();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// A comment of GitHub or Gitea.
fn row(id: u64, user: &Value, text: &str) -> Value {
    value!({"id": id, "user": user, "body": text, "created_at": WRITTEN, "updated_at": WRITTEN})
}

fn user(id: i64, login: &str) -> Value {
    value!({"id": id, "login": login, "type": "User"})
}

fn permission(word: &str) -> Value {
    value!({"permission": word, "role_name": word, "user": {}})
}

fn on_github() -> Statuses {
    Statuses::new(Repository::of(ForgeKind::GitHub, "git@github.com:o/r.git").unwrap())
}

const HUB_1: &str = "GET /repos/o/r/issues/7/comments?per_page=50&page=1";
const HUB_2: &str = "GET /repos/o/r/issues/7/comments?per_page=50&page=2";

#[tokio::test(start_paused = true)]
async fn github_says_who_commented_and_may_write() {
    let of = |login: &str| format!("GET /repos/o/r/collaborators/{login}/permission");
    let [ann, bob, eve, gone] = ["ann", "bob", "eve", "gone"].map(of);
    let mut edited = row(5, &user(1, "ann"), LINE);
    edited["updated_at"] = "2026-01-01T10:00:01Z".into();
    let app = value!({"id": 9, "login": "capstan[bot]", "type": "Bot"});
    let mut first = vec![row(1, &user(2, "bob"), "fine"); 49];
    let long = format!("{LINE}\n{}", "é".repeat(1 << 20));
    first.push(row(1, &user(4, "me"), &long));
    let second = value!([
        row(2, &user(1, "ann"), LINE),
        row(
            3,
            &user(2, "bob"),
            &format!("> {LINE}\r\n\r\nno /CAPSTAN for me")
        ),
        row(4, &user(3, "eve"), LINE),
        edited,
        row(6, &app, LINE),
        row(7, &user(4, "me"), LINE),
        row(8, &Value::Null, LINE),
        row(9, &user(5, "gone"), LINE),
    ]);
    let answers = [
        (HUB_1, 200, value!(first)),
        (HUB_2, 200, second),
        ("GET /user", 200, user(4, "me")),
        (&*ann, 200, permission("admin")),
        (&*bob, 200, permission("read")),
        (
            &*eve,
            403,
            value!({"message": "Must have push access to view collaborator permission."}),
        ),
        (&*gone, 404, value!({"message": "gone is not a user"})),
    ];
    let (sink, fake) = sink(on_github(), Scheme::Bearer, github::dialect(), &answers);
    let found = sink.comments(7).await.unwrap();
    assert_eq!(
        told(&found),
        [
            ("1", "me", Writer::Own, false, MayWrite::Unknown),
            ("2", "ann", Writer::Person, false, MayWrite::Yes),
            ("3", "bob", Writer::Person, false, MayWrite::No),
            ("4", "eve", Writer::Person, false, MayWrite::Unknown),
            ("5", "ann", Writer::Person, true, MayWrite::Yes),
            ("6", "capstan[bot]", Writer::Bot, false, MayWrite::Unknown),
            ("7", "me", Writer::Own, false, MayWrite::Unknown),
            ("8", "", Writer::Person, false, MayWrite::No),
            ("9", "gone", Writer::Person, false, MayWrite::No),
        ]
    );
    // What is kept is more than is read for approvals, and no more than that.
    assert_eq!(found[0].text.len(), (64 << 10) + 8);
    assert_eq!(found[1].text, LINE);
    // Nobody is asked about twice, until five minutes are over.
    assert_eq!(fake.lines().len(), 7);
    sink.comments(7).await.unwrap();
    assert_eq!(fake.lines(), [HUB_1, HUB_2]);
    tokio::time::advance(Duration::from_secs(301)).await;
    sink.comments(7).await.unwrap();
    assert_eq!(fake.lines().len(), 7);
}

/// GitHub tells the token of an app nothing of a user.
#[tokio::test(start_paused = true)]
async fn the_token_of_an_app_on_github_is_of_no_person() {
    let rows = value!([row(2, &user(1, "ann"), LINE)]);
    let of = "GET /repos/o/r/collaborators/ann/permission";
    let denied = value!({"message": "Resource not accessible by integration"});
    let answers = [
        (HUB_1, 200, rows),
        ("GET /user", 403, denied),
        (of, 200, permission("write")),
    ];
    let expected = [("2", "ann", Writer::Person, false, MayWrite::Yes)];
    let (statuses, _) = sink(on_github(), Scheme::Bearer, github::dialect(), &answers);
    let found = statuses.comments(7).await.unwrap();
    assert_eq!(told(&found), expected);
    let repository = Repository::of(ForgeKind::GitHub, "git@github.com:o/r.git").unwrap();
    let runs = CheckRuns::new(repository, "77");
    let (runs, fake) = sink(runs, Scheme::Bearer, github::dialect(), &answers);
    let found = runs.comments(7).await.unwrap();
    assert_eq!(told(&found), expected);
    assert_eq!(fake.lines(), [HUB_1, of]);
}

#[tokio::test(start_paused = true)]
async fn a_pull_request_with_too_many_comments_is_an_error_that_says_what_to_do() {
    let lines: Vec<String> = (1..=21)
        .map(|page| HUB_1.replace("page=1", &format!("page={page}")))
        .collect();
    let rows = value!(vec![row(1, &user(2, "bob"), LINE); 50]);
    let answers: Vec<_> = lines
        .iter()
        .map(|line| (line.as_str(), 200, rows.clone()))
        .collect();
    let (sink, _) = sink(on_github(), Scheme::Bearer, github::dialect(), &answers);
    let error = sink.comments(7).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert_eq!(
        error.to_string(),
        "github.com/o/r: pull request 7 has more than 1000 comments, which are not read; approve with a line in a commit message"
    );
}

#[tokio::test(start_paused = true)]
async fn github_says_who_made_a_pull_request() {
    let commit = |author: Value| {
        value!({"author": author, "committer": {"login": "web-flow"},
            "commit": {"author": {"name": "Ann O", "email": "ann@example.com"}}})
    };
    let commits = value!([commit(value!({"login": "bob"})), commit(Value::Null)]);
    let list = "GET /repos/o/r/pulls/7/commits?per_page=50&page=1";
    let answers = [
        (
            "GET /repos/o/r/pulls/7",
            200,
            value!({"user": user(1, "ann")}),
        ),
        (list, 200, commits),
    ];
    let (first, _) = sink(on_github(), Scheme::Bearer, github::dialect(), &answers);
    let expected = "Ann O, ann, ann@example.com, bob, web-flow";
    assert_eq!(authors(&first).await, expected);
    let pages: Vec<String> = (1..=5)
        .map(|page| list.replace("page=1", &format!("page={page}")))
        .collect();
    let full = value!(vec![commit(Value::Null); 50]);
    let mut answers = answers[..1].to_vec();
    answers.extend(pages.iter().map(|line| (line.as_str(), 200, full.clone())));
    let (many, _) = sink(on_github(), Scheme::Bearer, github::dialect(), &answers);
    let error = many.authors(7).await.unwrap_err().to_string();
    assert!(error.contains("250 commits or more"), "{error}");
}

fn on_gitea() -> Gitea {
    Gitea::new(Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap())
}

const TEA: &str = "GET /api/v1/repos/o/r/issues/7/comments?limit=50&page=1";
const TEA_USER: &str = "GET /api/v1/user";
const TEA_OF: &str = "GET /api/v1/repos/o/r/collaborators/ann/permission";

#[tokio::test(start_paused = true)]
async fn gitea_says_who_commented_and_tells_its_administrators_who_may_write() {
    let ann = value!({"id": 1, "login": "ann", "full_name": "Ann O", "email": "ann@example.com"});
    let mut rows = vec![row(1, &ann, "fine"); 50];
    rows.push(row(2, &ann, LINE));
    rows.push(row(3, &user(7, "capstan"), LINE));
    rows.push(row(4, &user(-2, "gitea-actions"), LINE));
    for (status, answer, expected) in [
        (200, permission("owner"), MayWrite::Yes),
        (200, permission("read"), MayWrite::No),
        (
            403,
            value!({"message": "Only admins can query all permissions"}),
            MayWrite::Unknown,
        ),
    ] {
        let answers = [
            (TEA, 200, value!(rows)),
            (TEA_USER, 200, user(7, "capstan")),
            (TEA_OF, status, answer),
        ];
        let (sink, fake) = sink(on_gitea(), Scheme::Bearer, Gitea::dialect(), &answers);
        let found = sink.comments(7).await.unwrap();
        assert_eq!(
            told(&found),
            [
                ("2", "ann", Writer::Person, false, expected),
                ("3", "capstan", Writer::Own, false, MayWrite::Unknown),
                ("4", "gitea-actions", Writer::Bot, false, MayWrite::Unknown),
            ]
        );
        assert_eq!(found[0].other_names, ["Ann O", "ann@example.com"]);
        // All are on one page.
        assert_eq!(fake.lines(), [TEA, TEA_USER, TEA_OF]);
    }
    for is_admin in [true, false] {
        let place = value!({"permissions": {"admin": is_admin, "push": true}});
        let answers = [("GET /api/v1/repos/o/r", 200, place)];
        let (sink, _) = sink(on_gitea(), Scheme::Bearer, Gitea::dialect(), &answers);
        assert_eq!(sink.tells_rights().await.unwrap(), is_admin);
    }
    let scope = "token does not have at least one of required scope(s), required=[read:user]";
    let answers = [
        (TEA, 200, value!(rows)),
        (TEA_USER, 403, value!({"message": scope})),
    ];
    let (sink, _) = sink(on_gitea(), Scheme::Bearer, Gitea::dialect(), &answers);
    let error = sink.comments(7).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(
        error.to_string().contains("required=[read:user]"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn gitlab_says_who_commented_and_has_which_role() {
    let author = |id: u64, username: &str| value!({"id": id, "username": username, "name": "A"});
    let note = |id: u64, author: Value, kind: Value, updated: &str| {
        value!({"id": id, "body": LINE, "author": author, "type": kind, "system": id == 1,
            "created_at": "2026-01-01T10:00:00.123Z", "updated_at": updated})
    };
    let written = "2026-01-01T10:00:00.123Z";
    let notes = value!([
        note(1, author(1, "ann"), Value::Null, written),
        note(2, author(1, "ann"), Value::Null, written),
        note(
            3,
            author(2, "bob"),
            value!("DiscussionNote"),
            "2026-01-01T10:00:09Z"
        ),
        note(4, author(3, "eve"), Value::Null, written),
        note(5, author(4, "gone"), Value::Null, written),
        note(6, author(5, "project_9_bot_af0"), Value::Null, written),
        note(7, author(6, "me"), Value::Null, written),
        note(8, author(1, "ann"), value!("DiffNote"), written),
    ]);
    let list = "GET /api/v4/projects/g%2Fs%2Fr/merge_requests/7/notes?sort=asc&order_by=created_at&per_page=100&page=1";
    let of = |id: u64| format!("GET /api/v4/projects/g%2Fs%2Fr/members/all/{id}");
    let [ann, bob, eve, gone] = [1, 2, 3, 4].map(of);
    let member = |level: u64, state: &str| value!({"access_level": level, "state": state});
    let opened = "GET /api/v4/projects/g%2Fs%2Fr/merge_requests/7";
    let commits = format!("{opened}/commits?per_page=100&page=1");
    let commit = value!({"author_name": "Bob", "author_email": "bob@example.com"});
    let answers = [
        (list, 200, notes),
        ("GET /api/v4/user", 200, author(6, "me")),
        (opened, 200, value!({"author": author(1, "ann")})),
        (&*commits, 200, value!([commit])),
        (&*ann, 200, member(30, "active")),
        (&*bob, 200, member(20, "active")),
        (&*eve, 403, value!({"message": "403 Forbidden"})),
        (&*gone, 404, value!({"message": "404 Not found"})),
    ];
    let repository = Repository::of(ForgeKind::GitLab, "https://gitlab.com/g/s/r").unwrap();
    let forge = GitLab::new(repository);
    let (sink, _) = sink(forge, Scheme::Bearer, GitLab::dialect(), &answers);
    let found = sink.comments(7).await.unwrap();
    assert_eq!(
        told(&found),
        [
            ("2", "ann", Writer::Person, false, MayWrite::Yes),
            ("3", "bob", Writer::Person, true, MayWrite::No),
            ("4", "eve", Writer::Person, false, MayWrite::Unknown),
            ("5", "gone", Writer::Person, false, MayWrite::No),
            (
                "6",
                "project_9_bot_af0",
                Writer::Bot,
                false,
                MayWrite::Unknown
            ),
            ("7", "me", Writer::Own, false, MayWrite::Unknown),
        ]
    );
    assert_eq!(authors(&sink).await, "A, Bob, ann, bob@example.com");
}

#[tokio::test(start_paused = true)]
async fn azure_devops_says_who_commented_and_not_who_may_write() {
    let by = |id: &str, descriptor: &str| value!({"id": id, "uniqueName": format!("{id}@example.com"), "displayName": id, "descriptor": descriptor});
    let comment = |id: u64, author: Value, kind: &str, content_updated: &str| {
        value!({"id": id, "author": author, "content": LINE, "commentType": kind, "publishedDate": WRITTEN,
            "lastUpdatedDate": "2026-01-01T11:00:00Z", "lastContentUpdatedDate": content_updated})
    };
    let later = "2026-01-01T10:00:00.01Z";
    let deleted =
        value!({"id": 9, "isDeleted": true, "commentType": "text", "publishedDate": WRITTEN});
    let threads = value!({"value": [
        {"id": 1, "comments": [comment(1, by("ann", "aad.x"), "text", WRITTEN), comment(2, by("bob", "msa.x"), "text", later)]},
        {"id": 2, "threadContext": null, "comments": [comment(1, by("sys", "svc.x"), "text", WRITTEN),
            comment(2, by("ann", "aad.x"), "system", WRITTEN), deleted]},
        {"id": 3, "threadContext": {"filePath": "/a"}, "comments": [comment(1, by("ann", "aad.x"), "text", WRITTEN)]},
        {"id": 4, "isDeleted": true, "comments": [comment(1, by("ann", "aad.x"), "text", WRITTEN)]},
        {"id": 5, "comments": [comment(1, by("me", "aad.x"), "text", WRITTEN)]},
    ]});
    let base = "/org/P/_apis/git/repositories/repo/pullRequests/7";
    let list = format!("GET {base}/threads?api-version=7.1");
    let opened = format!("GET {base}?api-version=7.1");
    let commits = format!("GET {base}/commits?$top=100&api-version=7.1");
    let who = value!({"authenticatedUser": {"id": "me"}});
    let commit = value!({"author": {"name": "Bob", "email": "bob@example.com", "date": WRITTEN}});
    let answers = [
        (&*list, 200, threads),
        ("GET /org/_apis/connectionData", 200, who),
        (&*opened, 200, value!({"createdBy": by("ann", "aad.x")})),
        (&*commits, 200, value!({"value": [commit]})),
    ];
    let address = "https://dev.azure.com/org/P/_git/repo";
    let repository = Repository::of(ForgeKind::AzureDevOps, address).unwrap();
    let forge = AzureDevOps::new(repository);
    let (sink, _) = sink(forge, Scheme::Pair, azure_devops::dialect(), &answers);
    let found = sink.comments(7).await.unwrap();
    let unknown = MayWrite::Unknown;
    assert_eq!(
        told(&found),
        [
            ("1.1", "ann@example.com", Writer::Person, false, unknown),
            ("1.2", "bob@example.com", Writer::Person, true, unknown),
            ("2.1", "sys@example.com", Writer::Bot, false, unknown),
            ("5.1", "me@example.com", Writer::Own, false, unknown),
        ]
    );
    assert!(!sink.tells_rights().await.unwrap());
    let expected = "Bob, ann, ann@example.com, bob@example.com";
    assert_eq!(authors(&sink).await, expected);
}

/// A user of Bitbucket Cloud.
fn member(id: &str, kind: &str) -> Value {
    value!({"uuid": format!("{{{id}}}"), "account_id": format!("557058:{id}"), "display_name": id, "type": kind})
}

#[tokio::test(start_paused = true)]
async fn bitbucket_cloud_says_who_commented_and_tells_its_administrators_who_may_write() {
    let comment = |id: u64, user: Value, updated: &str| {
        value!({"id": id, "content": {"raw": LINE}, "user": user, "deleted": id == 90, "pending": id == 91,
            "created_on": "2026-01-01T10:00:00.000001+00:00", "updated_on": updated})
    };
    let [just, later] = ["00.000400", "01.000001"];
    let time = |second: &str| format!("2026-01-01T10:00:{second}+00:00");
    let (just, later) = (time(just), time(later));
    let mut inline = comment(92, member("ann", "user"), &just);
    inline["inline"] = value!({"path": "a.yaml", "to": 1});
    let first = value!({"next": "https://api.bitbucket.org/x", "values": [
        comment(1, member("ann", "user"), &just),
        comment(2, member("bob", "user"), &later),
        comment(90, member("ann", "user"), &just),
        comment(91, member("ann", "user"), &just),
        inline,
    ]});
    let second = value!({"values": [
        comment(3, member("token", "app_user"), &just),
        comment(4, member("me", "user"), &just),
        comment(5, member("eve", "user"), &just),
    ]});
    let list = |page: u64| {
        format!("GET /2.0/repositories/ws/r/pullrequests/7/comments?pagelen=100&page={page}")
    };
    let of = |id: &str| {
        format!(
            "GET /2.0/workspaces/ws/permissions/repositories/r?q=user.uuid%3D%22%7B{id}%7D%22&pagelen=100"
        )
    };
    let [first_line, second_line] = [1, 2].map(list);
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(of);
    let has = |id: &str, permission: &str| value!({"values": [{"permission": permission, "user": member(id, "user")}]});
    let opened = "GET /2.0/repositories/ws/r/pullrequests/7";
    let commits = format!("{opened}/commits?pagelen=100");
    let commit =
        value!({"author": {"raw": "Bob B <bob@example.com>", "user": member("bob", "user")}});
    let answers = [
        (&*first_line, 200, first),
        (&*second_line, 200, second),
        (opened, 200, value!({"author": member("ann", "user")})),
        (&*commits, 200, value!({"values": [commit]})),
        ("GET /2.0/user", 200, member("me", "user")),
        (&*ann, 200, has("ann", "write")),
        (&*bob, 200, value!({"values": []})),
        (&*eve, 403, value!({"error": {"message": "Access denied"}})),
    ];
    let repository = Repository::of(ForgeKind::Bitbucket, "git@bitbucket.org:ws/r.git").unwrap();
    let forge = Bitbucket::new(repository, Edition::Cloud);
    let (sink, _) = sink(forge, Scheme::Pair, Bitbucket::dialect(), &answers);
    let found = sink.comments(7).await.unwrap();
    assert_eq!(
        told(&found),
        [
            ("1", "557058:ann", Writer::Person, false, MayWrite::Yes),
            ("2", "557058:bob", Writer::Person, true, MayWrite::No),
            ("3", "557058:token", Writer::Bot, false, MayWrite::Unknown),
            ("4", "557058:me", Writer::Own, false, MayWrite::Unknown),
            ("5", "557058:eve", Writer::Person, false, MayWrite::Unknown),
        ]
    );
    let expected = "557058:ann, 557058:bob, Bob B, ann, bob, bob@example.com";
    assert_eq!(authors(&sink).await, expected);
    let place = "GET /2.0/workspaces/ws/permissions/repositories/r?pagelen=1";
    for (status, expected) in [(200, true), (403, false)] {
        let answers = [(place, status, value!({"values": []}))];
        let repository = Repository::of(ForgeKind::Bitbucket, "git@bitbucket.org:ws/r.git");
        let forge = Bitbucket::new(repository.unwrap(), Edition::Cloud);
        let (sink, _) = self::sink(forge, Scheme::Pair, Bitbucket::dialect(), &answers);
        assert_eq!(sink.tells_rights().await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn bitbucket_data_center_says_who_commented_and_may_write() {
    let user = |name: &str, kind: &str| value!({"name": name, "displayName": name, "type": kind});
    let comment = |id: u64, version: u64, author: Value, answers: Value| {
        let created = 1_767_261_600_000_u64 + id;
        value!({"id": id, "version": version, "text": LINE, "author": author, "createdDate": created,
            "updatedDate": created + version, "comments": answers})
    };
    let none = || value!([]);
    let answer = comment(3, 1, user("bob", "NORMAL"), none());
    let activities = value!({"isLastPage": true, "values": [
        {"id": 9, "action": "COMMENTED", "commentAction": "ADDED", "commentAnchor": {"path": "a"},
            "comment": comment(8, 0, user("ann", "NORMAL"), none())},
        {"id": 8, "action": "COMMENTED", "commentAction": "ADDED", "comment": comment(5, 0, user("ci", "SERVICE"), none())},
        {"id": 7, "action": "COMMENTED", "commentAction": "ADDED", "comment": comment(4, 0, user("Me", "NORMAL"), none())},
        {"id": 6, "action": "COMMENTED", "commentAction": "ADDED", "comment": comment(2, 0, user("ann", "NORMAL"), value!([answer]))},
        {"id": 5, "action": "OPENED"},
    ]});
    let base = "/rest/api/latest/projects/K/repos/r";
    let list = format!("GET {base}/pull-requests/7/activities?limit=100&start=0");
    let place = format!("GET {base}");
    let opened = format!("{place}/pull-requests/7");
    let commits = format!("{opened}/commits?limit=100");
    let by = value!({"user": user("ann", "NORMAL")});
    let commit = value!({"author": {"name": "Bob", "emailAddress": "bob@example.com"}});
    let of = |name: &str| {
        format!(
            "GET /rest/api/latest/users?filter={name}&permission=REPO_WRITE&permission.projectKey=K&permission.repositorySlug=r&limit=100"
        )
    };
    let [ann, bob] = ["ann", "bob"].map(of);
    let users = |all: Value| value!({"isLastPage": true, "values": all});
    let answers = [
        (&*list, 200, activities),
        (&*place, 200, value!({"slug": "r"})),
        (&*opened, 200, value!({"author": by})),
        (
            &*commits,
            200,
            value!({"isLastPage": true, "values": [commit]}),
        ),
        (
            &*ann,
            200,
            users(value!([user("joann", "NORMAL"), user("ann", "NORMAL")])),
        ),
        (&*bob, 200, users(value!([user("bobby", "NORMAL")]))),
    ];
    let on_server = || {
        let repository = Repository::of(ForgeKind::Bitbucket, "https://h:7990/scm/K/r.git");
        Bitbucket::new(repository.unwrap(), Edition::DataCenter)
    };
    let (named, fake) = sink(on_server(), Scheme::Pair, Bitbucket::dialect(), &answers);
    let whoami = with(200, &[("x-ausername", "me")], "{}");
    fake.next([None, Some(Mishap::Instead(whoami))]);
    let found = named.comments(7).await.unwrap();
    assert_eq!(
        told(&found),
        [
            ("2", "ann", Writer::Person, false, MayWrite::Yes),
            ("3", "bob", Writer::Person, true, MayWrite::No),
            ("4", "Me", Writer::Own, false, MayWrite::Unknown),
            ("5", "ci", Writer::Bot, false, MayWrite::Unknown),
        ]
    );
    assert_eq!(authors(&named).await, "Bob, ann, bob@example.com");
    // A proxy drops the header.
    let (nameless, _) = sink(on_server(), Scheme::Pair, Bitbucket::dialect(), &answers);
    let error = nameless.comments(7).await.unwrap_err().to_string();
    assert!(error.contains("X-AUSERNAME"), "{error}");
}
