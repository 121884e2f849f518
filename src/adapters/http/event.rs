//! What a delivery is about: which repository, and what happened to it.
//!
//! In: the sender, the name of the event in its header, the payload. Out: an [`Event`]. Everything else in the
//! payload is passed over, commits above all: they may be older or newer than what a fetch finds.

use http::HeaderMap;

use super::payload::{Attributes, Payload, PullRequestOfCloud, Repository};
use super::press;
use super::repository::Spelling;
use super::rerun::{is_command, may_approve};
use super::sender::Sender;
use crate::model::ForgeKind;
use crate::model::{Head, Press, Rerun};

/// What a delivery says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: Kind,
    /// The repository, in every spelling that the payload has.
    pub(super) repository: Vec<Spelling>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A branch or a tag moved, began or ended.
    Push,
    /// The head or the base of a pull request may have moved, or somebody commented on it to approve something.
    PullRequest,
    /// Somebody wants checks again.
    Rerun(Rerun),
    /// Somebody pressed the button of a check.
    Press(Press),
    /// Nothing that a fetch could find.
    Other,
}

/// Reads a payload, which is JSON. Nothing is read of a generic one.
pub(super) fn read(
    sender: Sender,
    headers: &HeaderMap,
    payload: &[u8],
) -> Result<Event, serde_json::Error> {
    if sender == Sender::Generic {
        return Ok(Event {
            kind: Kind::Push,
            repository: Vec::new(),
        });
    }
    let payload: Payload = serde_json::from_slice(payload)?;
    let kind = match sender {
        Sender::Forge(ForgeKind::AzureDevOps) => azure_devops(&payload),
        Sender::Forge(ForgeKind::GitLab) => gitlab(&payload),
        Sender::Forge(ForgeKind::Bitbucket) => {
            bitbucket(&name(headers, &["x-event-key"]), &payload)
        }
        Sender::Forge(ForgeKind::Gitea) => github(&name(headers, &["x-gitea-event"]), &payload),
        Sender::Forgejo => github(
            &name(headers, &["x-forgejo-event", "x-gitea-event"]),
            &payload,
        ),
        Sender::Forge(ForgeKind::GitHub) | Sender::Generic => {
            let event = name(headers, &["x-github-event"]);
            pressed(&event, &payload).unwrap_or_else(|| github(&event, &payload))
        }
    };
    let repository = payload.repository().map(Repository::spellings);
    Ok(Event {
        kind,
        repository: repository.unwrap_or_default(),
    })
}

/// The first of these headers, in lower case.
fn name(headers: &HeaderMap, names: &[&str]) -> String {
    let mut values = names.iter().filter_map(|name| headers.get(*name));
    let value = values.next().and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

/// GitHub, and Gitea and Forgejo, which write `synchronized`.
fn github(event: &str, payload: &Payload) -> Kind {
    let action = payload.action.as_deref().unwrap_or_default();
    match (event, action) {
        ("push" | "create" | "delete", _) => pushed(payload.reference.as_deref().into_iter()),
        ("pull_request", "reopened") => reopened(payload.number),
        (
            "pull_request",
            "opened" | "synchronize" | "synchronized" | "closed" | "edited" | "ready_for_review",
        ) => Kind::PullRequest,
        ("check_run" | "check_suite", "rerequested") => button(payload),
        ("issue_comment", "created") => {
            let comment = payload.comment.as_ref();
            let issue = payload.issue.as_ref();
            let issue = issue.filter(|issue| issue.pull_request.is_some());
            let number = issue.and_then(|issue| issue.number);
            commented(
                comment.and_then(|comment| comment.body.as_deref()),
                number.map(Head::PullRequest),
            )
        }
        _ => Kind::Other,
    }
}

/// A pull request is open again: its head may be the old one, and its check out of date.
fn reopened(number: Option<u64>) -> Kind {
    number.map_or(Kind::PullRequest, |number| {
        Kind::Rerun(Rerun::all(Head::PullRequest(number)))
    })
}

/// A comment on the pull request with this head.
fn commented(text: Option<&str>, head: Option<Head>) -> Kind {
    match (text, head) {
        (Some(text), Some(head)) if is_command(text) => Kind::Rerun(Rerun::all(head)),
        (Some(text), _) if may_approve(text) => Kind::PullRequest,
        _ => Kind::Other,
    }
}

/// The button of a check run that GitHub alone has.
fn pressed(event: &str, payload: &Payload) -> Option<Kind> {
    let is_press = event == "check_run" && payload.action.as_deref() == Some("requested_action");
    is_press.then(|| press::read(payload).map_or(Kind::Other, Kind::Press))
}

/// "Re-run" on a check run or a check suite.
fn button(payload: &Payload) -> Kind {
    let run = payload.check_run.as_ref().or(payload.check_suite.as_ref());
    let commit = run.and_then(|run| run.head_sha.clone());
    match (run, commit) {
        (Some(run), Some(commit)) => Kind::Rerun(Rerun {
            head: Head::Commit(commit),
            context: run.name.clone(),
            app: run.app.as_ref().and_then(|app| app.id),
        }),
        _ => Kind::Other,
    }
}

fn azure_devops(payload: &Payload) -> Kind {
    let event = payload.event_type.as_deref().unwrap_or_default();
    match event.to_ascii_lowercase().as_str() {
        "git.push" => {
            let resource = payload.resource.as_ref();
            let updates = resource.and_then(|resource| resource.ref_updates.as_ref());
            pushed(
                updates
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one.name.as_deref()),
            )
        }
        "git.pullrequest.created" | "git.pullrequest.updated" | "git.pullrequest.merged" => {
            Kind::PullRequest
        }
        "ms.vss-code.git-pullrequest-comment-event" => {
            let resource = payload.resource.as_ref();
            let comment = resource.and_then(|resource| resource.comment.as_ref());
            let pull = resource.and_then(|resource| resource.pull_request.as_ref());
            commented(
                comment.and_then(|comment| comment.content.as_deref()),
                pull.and_then(|pull| pull.id).map(Head::PullRequest),
            )
        }
        _ => Kind::Other,
    }
}

fn gitlab(payload: &Payload) -> Kind {
    let event = payload.object_kind.as_deref().unwrap_or_default();
    match event.to_ascii_lowercase().as_str() {
        "push" | "tag_push" => pushed(payload.reference.as_deref().into_iter()),
        "merge_request" => {
            let attributes = payload.object_attributes.as_ref();
            let reopening =
                |attributes: &&Attributes| attributes.action.as_deref() == Some("reopen");
            reopened(attributes.filter(reopening).and_then(|one| one.iid))
        }
        "note" => {
            let note = payload.object_attributes.as_ref();
            // Older versions name no action, and deliver new notes only.
            let is_new =
                |note: &&Attributes| note.action.as_deref().is_none_or(|it| it == "create");
            let pull = payload.merge_request.as_ref();
            commented(
                note.filter(is_new).and_then(|note| note.note.as_deref()),
                pull.and_then(|pull| pull.iid).map(Head::PullRequest),
            )
        }
        _ => Kind::Other,
    }
}

/// Cloud, and Data Center.
fn bitbucket(event: &str, payload: &Payload) -> Kind {
    let comment = payload.comment.as_ref();
    match event {
        "pullrequest:comment_created" => {
            let content = comment.and_then(|comment| comment.content.as_ref());
            // Cloud has no refs of pull requests.
            let pull = payload.cloud_pull_request.as_ref();
            commented(
                content.and_then(|content| content.raw.as_deref()),
                pull.and_then(PullRequestOfCloud::head).map(Head::Commit),
            )
        }
        "pr:comment:added" => {
            let pull = payload.pull_request.as_ref();
            commented(
                comment.and_then(|comment| comment.text.as_deref()),
                pull.and_then(|pull| pull.id).map(Head::PullRequest),
            )
        }
        "repo:push" | "repo:refs_changed" => Kind::Push,
        "pullrequest:created"
        | "pullrequest:updated"
        | "pullrequest:fulfilled"
        | "pullrequest:rejected"
        | "pr:opened"
        | "pr:from_ref_updated"
        | "pr:modified"
        | "pr:merged"
        | "pr:declined"
        | "pr:deleted" => Kind::PullRequest,
        _ => Kind::Other,
    }
}

/// A push of these refs. Notes and Capstan's own refs are none that a fleet follows: some forges deliver
/// what Capstan itself pushes. Who sends no refs may have pushed any.
fn pushed<'a>(refs: impl Iterator<Item = &'a str>) -> Kind {
    let is_own = |name: &str| name.starts_with("refs/notes/") || name.starts_with("refs/capstan/");
    let mut refs = refs.peekable();
    match refs.peek().is_some() && refs.all(is_own) {
        true => Kind::Other,
        false => Kind::Push,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use serde_json::{Value as Json, json};

    use super::super::repository::{is_named, path};
    use super::*;

    fn event(sender: impl Into<Sender>, name: (&str, &str), payload: &Json) -> Event {
        let header = HeaderName::try_from(name.0).expect("a name");
        let value = HeaderValue::from_str(name.1).expect("a value");
        let headers = [(header, value)].into_iter().collect();
        read(sender.into(), &headers, payload.to_string().as_bytes()).expect("it is readable")
    }

    fn kind(sender: impl Into<Sender>, name: (&str, &str), payload: &Json) -> Kind {
        event(sender, name, payload).kind
    }

    #[test]
    fn github_alone_has_a_button_to_approve() {
        let payload = json!({
            "action": "requested_action",
            "check_run": {"name": "capstan/prod/plan", "head_sha": "abc", "app": {"id": 1}},
            "requested_action": {"identifier": "b"},
            "sender": {"login": "octocat", "type": "User"},
        });
        let press = kind(ForgeKind::GitHub, ("X-GitHub-Event", "check_run"), &payload);
        assert!(matches!(&press, Kind::Press(press) if press.login == "octocat"));
        for (forge, name) in [
            (ForgeKind::GitHub.into(), ("X-GitHub-Event", "check_suite")),
            (ForgeKind::Gitea.into(), ("X-Gitea-Event", "check_run")),
            (Sender::Forgejo, ("X-Forgejo-Event", "check_run")),
        ] {
            assert_eq!(kind(forge, name, &payload), Kind::Other, "{name:?}");
        }
        let bot = json!({"action": "requested_action", "sender": {"login": "b", "type": "Bot"}});
        let name = ("X-GitHub-Event", "check_run");
        assert_eq!(kind(ForgeKind::GitHub, name, &bot), Kind::Other);
    }

    /// Oracle rows 6 and 9.
    #[test]
    fn a_push_of_branches_and_tags_is_a_reason_to_fetch() {
        let push = ("X-GitHub-Event", "Push");
        let zeros = "0".repeat(40);
        for (reference, expected) in [
            ("refs/heads/main", Kind::Push),
            ("refs/tags/v1", Kind::Push),
            ("refs/notes/capstan", Kind::Other),
            ("refs/capstan/applied", Kind::Other),
        ] {
            let payload =
                json!({"ref": reference, "after": zeros, "deleted": true, "head_commit": null});
            assert_eq!(
                kind(ForgeKind::GitHub, push, &payload),
                expected,
                "{reference}"
            );
        }
        for other in ["ping", "issues", "status", ""] {
            let name = ("X-GitHub-Event", other);
            assert_eq!(
                kind(ForgeKind::GitHub, name, &json!({"zen": "z"})),
                Kind::Other
            );
        }
        // Gitea sends this header, too, and its own decides.
        assert_eq!(kind(ForgeKind::Gitea, push, &json!({})), Kind::Other);
        let own = ("X-Gitea-Event", "push");
        let payload = json!({"ref": "refs/heads/main"});
        assert_eq!(kind(Sender::Forgejo, own, &payload), Kind::Push);
    }

    /// Oracle row 15 among them: a fork that was deleted.
    #[test]
    fn a_pull_request_whose_head_or_base_may_have_moved_is_one() {
        let payload = |action: &str| {
            json!({"action": action, "number": 7, "pull_request": {
                "head": {"ref": "refs/pull/7/head", "sha": "a", "repo": null}, "base": {"sha": "b"}}})
        };
        let of = |forge, name, action| kind(forge, (name, "pull_request"), &payload(action));
        for action in ["opened", "synchronize", "closed", "edited"] {
            assert_eq!(
                of(ForgeKind::GitHub, "X-GitHub-Event", action),
                Kind::PullRequest
            );
        }
        assert_eq!(
            of(ForgeKind::Gitea, "X-Gitea-Event", "synchronized"),
            Kind::PullRequest
        );
        assert_eq!(
            of(ForgeKind::GitHub, "X-GitHub-Event", "labeled"),
            Kind::Other
        );
    }

    /// Oracle row 29.
    #[test]
    fn a_rerun_names_commit_context_and_app() {
        let run = json!({"action": "rerequested", "check_run": {
            "id": 4, "name": "capstan/prod/plan", "head_sha": "c0", "external_id": "x", "app": {"id": 77}}});
        let expected = |context: Option<&str>| {
            Kind::Rerun(Rerun {
                head: Head::Commit("c0".to_owned()),
                context: context.map(str::to_owned),
                app: Some(77),
            })
        };
        let name = ("X-GitHub-Event", "check_run");
        assert_eq!(
            kind(ForgeKind::GitHub, name, &run),
            expected(Some("capstan/prod/plan"))
        );
        let suite = json!({"action": "rerequested", "check_suite": {
            "head_sha": "c0", "head_branch": null, "app": {"id": 77}, "pull_requests": []}});
        let name = ("X-GitHub-Event", "check_suite");
        assert_eq!(kind(ForgeKind::GitHub, name, &suite), expected(None));
        let created = json!({"action": "created", "check_run": {"head_sha": "c0"}});
        let name = ("X-GitHub-Event", "check_run");
        assert_eq!(kind(ForgeKind::GitHub, name, &created), Kind::Other);
        let broken = json!({"action": "rerequested"});
        assert_eq!(kind(ForgeKind::GitHub, name, &broken), Kind::Other);
    }

    fn rerun_of(number: u64) -> Kind {
        Kind::Rerun(Rerun::all(Head::PullRequest(number)))
    }

    /// In the form of each forge (GitHub and Gitea, GitLab, Bitbucket Cloud and Data Center, Azure DevOps).
    #[test]
    fn a_comment_on_a_pull_request_asks_for_a_rerun() {
        let cases = |text: &str| {
            let issue = |pull: Json| {
                json!({"action": "created", "issue": {"number": 7, "pull_request": pull},
                       "comment": {"id": 1, "body": text}})
            };
            let note = |action: Json| {
                json!({"object_kind": "note", "merge_request": {"id": 70, "iid": 7, "last_commit": {"id": "c0"}},
                       "object_attributes": {"note": text, "noteable_type": "MergeRequest", "action": action}})
            };
            let cloud = json!({"comment": {"content": {"raw": text}}, "pullrequest": {
                "id": 7, "source": {"commit": {"hash": "69b590634703"}}}});
            let center = json!({"eventKey": "pr:comment:added", "comment": {"text": text}, "pullRequest": {
                "id": 7, "fromRef": {"latestCommit": "c0"}}});
            let azure = json!({"eventType": "ms.vss-code.git-pullrequest-comment-event", "resource": {
                "comment": {"content": text}, "pullRequest": {"pullRequestId": 7}}});
            let edited = json!({"action": "edited", "issue": {"number": 7, "pull_request": {}},
                                "comment": {"body": text}});
            [
                kind(
                    ForgeKind::Gitea,
                    ("X-Gitea-Event", "issue_comment"),
                    &issue(json!({"merged": false})),
                ),
                kind(
                    ForgeKind::GitHub,
                    ("X-GitHub-Event", "issue_comment"),
                    &issue(json!({"url": "u"})),
                ),
                kind(ForgeKind::GitLab, ("X-None", ""), &note(Json::Null)),
                kind(ForgeKind::GitLab, ("X-None", ""), &note(json!("create"))),
                kind(
                    ForgeKind::Bitbucket,
                    ("X-Event-Key", "pr:comment:added"),
                    &center,
                ),
                kind(ForgeKind::AzureDevOps, ("X-None", ""), &azure),
                kind(
                    ForgeKind::Bitbucket,
                    ("X-Event-Key", "pullrequest:comment_created"),
                    &cloud,
                ),
                // An issue, and comments that were changed.
                kind(
                    ForgeKind::Gitea,
                    ("X-Gitea-Event", "issue_comment"),
                    &issue(Json::Null),
                ),
                kind(
                    ForgeKind::Gitea,
                    ("X-Gitea-Event", "issue_comment"),
                    &edited,
                ),
                kind(ForgeKind::GitLab, ("X-None", ""), &note(json!("update"))),
            ]
        };
        let of_commit = Rerun::all(Head::Commit("69b590634703".to_owned()));
        let asked = [vec![rerun_of(7); 6], vec![Kind::Rerun(of_commit)]].concat();
        let found = cases("The quota was raised.\r\n/capstan rerun");
        assert_eq!(found[..7], asked);
        assert_eq!(found[7..], [Kind::Other, Kind::Other, Kind::Other]);
        for other in [
            "looks good",
            "<!-- capstan: capstan/prod/plan -->\n/capstan rerun\n",
        ] {
            assert!(
                cases(other).iter().all(|kind| *kind == Kind::Other),
                "{other}"
            );
        }
    }

    #[test]
    fn a_pull_request_that_is_opened_again_is_planned_again() {
        let payload = json!({"action": "reopened", "number": 7, "pull_request": {}});
        let name = ("X-Gitea-Event", "pull_request");
        assert_eq!(kind(ForgeKind::Gitea, name, &payload), rerun_of(7));
        let request = |action: &str| {
            let payload = json!({"object_kind": "merge_request", "object_attributes": {"iid": 7, "action": action}});
            kind(ForgeKind::GitLab, ("X-None", ""), &payload)
        };
        assert_eq!(request("reopen"), rerun_of(7));
        assert_eq!(request("update"), Kind::PullRequest);
    }

    /// Oracle row 10.
    #[test]
    fn azure_devops_names_the_event_in_the_body() {
        let none = ("X-None", "");
        let push = |resource: Json| {
            let payload =
                json!({"eventType": "git.push", "publisherId": "tfs", "resource": resource});
            kind(ForgeKind::AzureDevOps, none, &payload)
        };
        let update = |name: &str| json!({"name": name, "oldObjectId": "0", "newObjectId": "1"});
        let three = [
            update("refs/heads/a"),
            update("refs/heads/main"),
            update("refs/notes/capstan"),
        ];
        assert_eq!(push(json!({"refUpdates": three, "pushId": 1})), Kind::Push);
        assert_eq!(
            push(json!({"refUpdates": [update("refs/notes/capstan")]})),
            Kind::Other
        );
        assert_eq!(push(json!({"pushId": 1})), Kind::Push, "details are off");
        let of = |event: &str| kind(ForgeKind::AzureDevOps, none, &json!({"eventType": event}));
        assert_eq!(of("git.pullrequest.updated"), Kind::PullRequest);
        assert_eq!(of("build.complete"), Kind::Other);
    }

    #[test]
    fn gitlab_and_bitbucket_have_their_own_names() {
        let of = |object: &str| {
            kind(
                ForgeKind::GitLab,
                ("X-None", ""),
                &json!({"object_kind": object}),
            )
        };
        assert_eq!((of("push"), of("tag_push")), (Kind::Push, Kind::Push));
        assert_eq!(
            (of("merge_request"), of("note")),
            (Kind::PullRequest, Kind::Other)
        );
        let of = |key: &str| kind(ForgeKind::Bitbucket, ("X-Event-Key", key), &json!({}));
        assert_eq!(
            (of("repo:push"), of("repo:refs_changed")),
            (Kind::Push, Kind::Push)
        );
        assert_eq!(
            (of("pullrequest:updated"), of("pr:opened")),
            (Kind::PullRequest, Kind::PullRequest)
        );
        assert_eq!(of("diagnostics:ping"), Kind::Other);
    }

    /// Oracle row 7.
    #[test]
    fn every_forge_names_its_repository() {
        let none = ("X-None", "");
        let github = json!({"repository": {"id": 1, "full_name": "O/R", "clone_url": "https://github.com/O/R.git"}});
        let gitlab = json!({"object_kind": "push", "repository": {"name": "R"},
            "project": {"id": 1, "path_with_namespace": "o/r", "git_ssh_url": "git@gitlab.com:o/r.git"}});
        let azure = json!({"eventType": "git.push", "resource": {"repository": {
            "id": "guid", "name": "r", "remoteUrl": "https://org@dev.azure.com/org/o/_git/r"}}});
        let request = json!({"eventType": "git.pullrequest.created", "resource": {"repository": {
            "name": "r", "project": {"name": "o"}, "remoteUrl": "https://org.visualstudio.com/o/_git/r"}}});
        let cloud = json!({"repository": {"full_name": "o/r", "links": {"html": {"href": "https://bitbucket.org/o/r"}}}});
        let center = json!({"eventKey": "repo:refs_changed", "repository": {"slug": "r", "project": {"key": "O"},
            "links": {"clone": [{"href": "ssh://git@h:7999/o/r.git", "name": "ssh"}]}}});
        let center_request = json!({"eventKey": "pr:opened", "pullRequest": {"toRef": {
            "repository": {"slug": "r", "project": {"key": "O"}}}}});
        for (forge, payload, ours) in [
            (ForgeKind::GitHub, &github, "git@github.com:o/r"),
            (ForgeKind::Gitea, &github, "https://git.internal/o/r"),
            (ForgeKind::GitLab, &gitlab, "https://gitlab.com/o/r.git"),
            (
                ForgeKind::AzureDevOps,
                &azure,
                "git@ssh.dev.azure.com:v3/org/o/r",
            ),
            (
                ForgeKind::AzureDevOps,
                &request,
                "https://dev.azure.com/org/o/_git/r",
            ),
            (ForgeKind::Bitbucket, &cloud, "git@bitbucket.org:o/r.git"),
            (ForgeKind::Bitbucket, &center, "https://h/scm/o/r.git"),
            (
                ForgeKind::Bitbucket,
                &center_request,
                "https://h/ctx/scm/o/r.git",
            ),
        ] {
            let event = event(forge, none, payload);
            let is_ours = |url: &str| is_named(&path(url).expect("a path"), &event.repository);
            assert!(is_ours(ours), "{ours}: {event:?}");
            assert!(!is_ours(&ours.replace("/r", "/r-2")), "{ours}: {event:?}");
        }
    }

    #[test]
    fn what_is_no_payload_is_an_error_and_an_unusual_one_is_read() {
        let headers = HeaderMap::new();
        for broken in ["", "[", "7", "{\"ref\": ", "\u{0}"] {
            let read = read(ForgeKind::GitHub.into(), &headers, broken.as_bytes());
            assert!(read.is_err(), "{broken}");
        }
        let unusual = json!({"ref": 7, "action": [], "repository": null, "resource": null,
            "check_run": {"app": null, "name": {}}, "project": "p", "pullRequest": null});
        let event = event(ForgeKind::GitHub, ("X-GitHub-Event", "push"), &unusual);
        assert_eq!(event.kind, Kind::Push);
        assert_eq!(event.repository, []);
        let generic = read(Sender::Generic, &headers, b"anything");
        assert_eq!(generic.expect("it is not read").kind, Kind::Push);
    }
}
