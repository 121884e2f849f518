//! Pull requests that the library opens on a real Gitea: opened, found, merged, closed, and refused.

use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::checks::forge::{
    Client, Gitea as Dialect, GiteaPulls, HttpTransport, Opener, Repository, Scheme,
};
use capstan::daemon::WallClock;
use capstan::model::{
    AdapterError, ErrorClass, ForgeKind, NewPullRequest, OwnPullRequest, OwnPullRequests,
    PullRequestState, Token, TokenSource,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use serde_json::json;

use super::world::{World, config_map};

struct Fixed(String);

impl TokenSource for Fixed {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        std::future::ready(Ok(Token::new(self.0.clone(), None))).boxed()
    }

    fn refused(&self, _: &Token) {}
}

/// The pull requests in the repository of a world, for the owner of a token.
fn pulls(world: &World, token: &str) -> Opener<GiteaPulls> {
    let authority = reqwest::Certificate::from_pem(world.gitea.server.authority.as_bytes());
    let http = HttpTransport::builder().tls_certs_merge([authority.unwrap()]);
    let transport = Arc::new(HttpTransport::new(http.build().unwrap()));
    let tokens = Arc::new(Fixed(token.to_owned()));
    let clock = Arc::new(WallClock::start());
    let client = Client::new(transport, tokens, Scheme::Bearer, Dialect::dialect(), clock);
    let repository = Repository::of(ForgeKind::Gitea, &world.url()).unwrap();
    let own = client.beside(GiteaPulls::dialect());
    Opener::new(GiteaPulls::new(repository), own)
}

/// Pushes a branch with a change of its own.
fn push(world: &World, branch: &str) -> String {
    world.working.git(&["checkout", "-q", "main"]);
    let name = branch.replace('/', "-");
    let file = format!("{name}.yaml");
    let commit = world.working.commit(branch, &[(&file, &config_map(&name))]);
    world.working.push(branch);
    commit
}

fn new(head: &str) -> NewPullRequest {
    NewPullRequest {
        head: head.to_owned(),
        base: "main".to_owned(),
        title: format!("take {head}\u{1b}[2J {}", "é".repeat(300)),
        body: "Text with `code`.\n".to_owned(),
    }
}

/// Opens a pull request as soon as Gitea has taken note of its branch.
async fn open(pulls: &Opener<GiteaPulls>, new: &NewPullRequest) -> OwnPullRequest {
    for _ in 0..200 {
        match pulls.open(new).await {
            Err(early) if early.to_string().contains("as a branch (yet)") => {
                assert_eq!(early.class(), ErrorClass::Transient);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("{} is not known", new.head);
}

#[tokio::test]
async fn a_pull_request_is_opened_found_merged_and_another_one_closed() {
    let Some(world) = World::new() else { return };
    let pulls = pulls(
        &world,
        &world.gitea.token(&world.owner.name, &["write:repository"]),
    );
    let head = "capstan/create-7";
    push(&world, head);
    assert_eq!(pulls.find(head, "main").await, Ok(None));
    let opened = open(&pulls, &new(head)).await;
    assert_eq!(opened.state, PullRequestState::Open);
    let page = world
        .url()
        .replace(".git", &format!("/pulls/{}", opened.number));
    assert_eq!(opened.url, page);
    assert_eq!(pulls.open(&new(head)).await.as_ref(), Ok(&opened));
    assert_eq!(pulls.find(head, "main").await, Ok(Some(opened.clone())));
    assert_eq!(pulls.get(opened.number).await, Ok(Some(opened.clone())));

    let path = format!("/repos/{}/pulls/{}", world.repository, opened.number);
    let token = &world.owner.token;
    let merge = json!({"Do": "merge", "delete_branch_after_merge": true});
    merge_when_checked(&world, &path, &merge).await;
    let row = world.gitea.get(token, &path);
    assert_eq!(row["html_url"], page);
    let title = row["title"].as_str().unwrap();
    assert!(title.starts_with("take capstan/create-7 [2J éé"), "{title}");
    assert!(
        title.ends_with("é…") && title.len() >= 254,
        "not shortened again: {title}"
    );
    let commit = row["merge_commit_sha"].as_str().unwrap().to_owned();
    let merged = OwnPullRequest {
        state: PullRequestState::Merged {
            commit: commit.clone(),
        },
        ..opened
    };
    world.working.git(&["fetch", "-q", &world.url(), "main"]);
    assert_eq!(world.working.git(&["rev-parse", "FETCH_HEAD"]), commit);
    assert_eq!(pulls.get(merged.number).await, Ok(Some(merged.clone())));
    assert_eq!(pulls.find(head, "main").await, Ok(Some(merged.clone())));
    assert_eq!(pulls.close(merged.number).await, Ok(merged.clone()));

    // The branch is used again.
    push(&world, head);
    world
        .working
        .git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    world.working.push(head);
    let second = open(&pulls, &new(head)).await;
    assert!(second.number > merged.number);
    assert_eq!(pulls.open(&new(head)).await.as_ref(), Ok(&second));
    assert_eq!(pulls.find(head, "main").await, Ok(Some(second.clone())));
    let closed = OwnPullRequest {
        state: PullRequestState::Closed,
        ..second
    };
    for _ in 0..2 {
        assert_eq!(pulls.close(closed.number).await.as_ref(), Ok(&closed));
    }
    assert_eq!(pulls.find(head, "main").await, Ok(Some(closed)));
    assert_eq!(pulls.get(99).await, Ok(None));
    assert_eq!(pulls.close(99).await.unwrap_err().class(), ErrorClass::Gone);
}

/// Gitea refuses to merge until it has found out that it can.
async fn merge_when_checked(world: &World, path: &str, merge: &serde_json::Value) {
    let path = format!("{path}/merge");
    let mut last = (0, serde_json::Value::Null);
    for _ in 0..200 {
        last = world
            .gitea
            .try_call(&world.owner.token, &Method::POST, &path, merge);
        if last.0 == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{last:?}");
}

/// Paths of their own begin with these words.
#[tokio::test]
async fn branches_may_be_called_as_parts_of_paths_and_contain_what_is_escaped() {
    let Some(world) = World::new() else { return };
    let pulls = pulls(&world, &world.owner.token);
    for head in ["merge", "commits/x", "größe/50%&a=b#c"] {
        push(&world, head);
        assert_eq!(pulls.find(head, "main").await, Ok(None), "{head}");
        let opened = open(&pulls, &new(head)).await;
        assert_eq!(pulls.open(&new(head)).await.as_ref(), Ok(&opened), "{head}");
        assert_eq!(pulls.find(head, "main").await, Ok(Some(opened)), "{head}");
    }
    // Onto a branch with a slash.
    let base = "release/1";
    push(&world, base);
    let new = NewPullRequest {
        base: base.to_owned(),
        ..new("merge")
    };
    let opened = open(&pulls, &new).await;
    assert_eq!(pulls.find("merge", base).await, Ok(Some(opened)));
}

#[tokio::test]
async fn a_token_that_may_not_is_told_which_scope_is_missing() {
    let Some(world) = World::new() else { return };
    push(&world, "change");
    open(&pulls(&world, &world.owner.token), &new("change")).await;
    let owner = &world.owner.name;
    for scopes in [
        &["read:repository"][..],
        &["read:repository", "write:issue"],
    ] {
        let reader = pulls(&world, &world.gitea.token(owner, scopes));
        let found = reader.find("change", "main").await.unwrap().unwrap();
        for denied in [
            reader.open(&new("change")).await.unwrap_err(),
            pulls(&world, &world.gitea.token(owner, scopes))
                .close(found.number)
                .await
                .unwrap_err(),
        ] {
            assert_eq!(denied.class(), ErrorClass::Denied);
            let said = denied.to_string();
            assert!(said.contains("required=[write:repository]"), "{said}");
        }
    }
    // Anybody may open one in a public repository, and not close those of others.
    let stranger = world.gitea.user("stranger");
    let theirs = pulls(&world, &stranger.token);
    let found = theirs.find("change", "main").await.unwrap().unwrap();
    let denied = theirs.close(found.number).await.unwrap_err();
    assert_eq!(denied.class(), ErrorClass::Denied);
    assert!(
        denied
            .to_string()
            .contains("of a user who may write to the repository"),
        "{denied}"
    );
    let path = format!("/repos/{}", world.repository);
    let private = json!({"private": true});
    world
        .gitea
        .call(&world.owner.token, &Method::PATCH, &path, private);
    let blind = pulls(&world, &stranger.token);
    let denied = blind.find("change", "main").await.unwrap_err();
    assert_eq!(denied.class(), ErrorClass::Denied);
    assert!(
        denied.to_string().contains("the token cannot read them"),
        "{denied}"
    );
}
