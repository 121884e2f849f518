//! The comments of a pull request, as the adapter reads them from a real Gitea.

use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::checks::forge;
use capstan::adapters::checks::forge::{Client, ForgeSink, HttpTransport, Repository, Scheme};
use capstan::model::{
    AdapterError, ApprovalComments, Clock, ForgeKind, MayWrite, PullComment, Token, TokenSource,
    Writer,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use jiff::Timestamp;
use serde_json::json;

use super::gitea::{Gitea, User, Working};
use crate::kubernetes::if_asked;

const LINE: &str = "/capstan approve delete clusters/c";

/// A token that never expires.
struct Fixed(Token);

impl TokenSource for Fixed {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        std::future::ready(Ok(self.0.clone())).boxed()
    }

    fn refused(&self, _: &Token) {}
}

/// The clock of this machine.
struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

/// What the adapter reads with this token.
fn read(
    gitea: &Gitea,
    repository: &str,
    token: &str,
    number: u64,
) -> Result<Vec<PullComment>, AdapterError> {
    let authority = reqwest::Certificate::from_pem(gitea.server.authority.as_bytes());
    let http = HttpTransport::builder().tls_certs_merge([authority.expect("a certificate")]);
    let transport = HttpTransport::new(http.build().expect("a client"));
    let tokens = Fixed(Token::new(token, None));
    let dialect = forge::Gitea::dialect();
    let client = Client::new(
        Arc::new(transport),
        Arc::new(tokens),
        Scheme::Bearer,
        dialect,
        Arc::new(Wall),
    );
    let address = format!("{}/{repository}.git", gitea.server.url());
    let place = Repository::of(ForgeKind::Gitea, &address).expect("an address");
    let sink = ForgeSink::new(forge::Gitea::new(place), client, None);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let names = runtime.block_on(sink.authors(number))?;
    let opener = repository.split('/').next().expect("an owner");
    assert!(names.contains(opener), "{names:?}");
    runtime.block_on(sink.comments(number))
}

fn told(found: &[PullComment]) -> Vec<(&str, Writer, bool, MayWrite)> {
    let row = |one: &PullComment| {
        let is_edited = one.edited.is_some_and(|at| at != one.created);
        (one.writer, is_edited, one.may_write)
    };
    let rows = found.iter().map(|one| (one.author.as_str(), row(one)));
    rows.map(|(author, (writer, is_edited, may_write))| (author, writer, is_edited, may_write))
        .collect()
}

/// Whose comment it is, whether it was edited, and who may write: what the fakes of the adapter's own tests say.
#[test]
fn gitea_says_whose_comments_may_approve() {
    let Some(gitea) = if_asked(Gitea::shared) else {
        return;
    };
    let owner = gitea.user("owner");
    let repository = owner.repository(gitea, "fleet");
    let [writer, reader, capstan] = ["writer", "reader", "capstan"].map(|name| gitea.user(name));
    for (user, permission) in [(&writer, "write"), (&capstan, "admin")] {
        let path = format!("/repos/{repository}/collaborators/{}", user.name);
        let body = json!({ "permission": permission });
        gitea.call(&owner.token, &Method::PUT, &path, body);
    }
    let working = Working::new(gitea, &owner, &repository);
    working.commit("main", &[("a.txt", "a\n")]);
    working.push("main");
    working.commit("change", &[("a.txt", "b\n")]);
    working.push("change");
    let number = owner.pull_request(gitea, &repository, "change");
    let path = format!("/repos/{repository}/issues/{number}/comments");
    let say = |user: &User, text: &str| {
        let said = gitea.call(&user.token, &Method::POST, &path, json!({ "body": text }));
        said["id"].as_u64().expect("an id")
    };
    say(&writer, "I like it");
    say(&writer, LINE);
    say(&reader, LINE);
    say(&capstan, LINE);
    let quoted = format!("> {LINE}\r\n\r\nnot yet");
    say(&owner, &quoted);
    let edited = say(&writer, "well");
    // Gitea counts seconds.
    std::thread::sleep(Duration::from_millis(1_100));
    let path = format!("/repos/{repository}/issues/comments/{edited}");
    gitea.call(&owner.token, &Method::PATCH, &path, json!({ "body": LINE }));

    let scopes = ["read:user", "read:repository", "read:issue"];
    let token = gitea.token(&capstan.name, &scopes);
    let found = read(gitea, &repository, &token, number).expect("an answer");
    let [writer_, reader_, own, owner_] =
        [&writer, &reader, &capstan, &owner].map(|user| user.name.as_str());
    let person = Writer::Person;
    assert_eq!(
        told(&found),
        [
            (writer_, person, false, MayWrite::Yes),
            (reader_, person, false, MayWrite::No),
            (own, Writer::Own, false, MayWrite::Unknown),
            (owner_, person, false, MayWrite::Yes),
            (writer_, person, true, MayWrite::Yes),
        ]
    );
    assert_eq!((found[0].text.as_str(), &found[3].text), (LINE, &quoted));

    // It tells those who are no administrators nothing about others.
    let token = gitea.token(&writer.name, &scopes);
    let found = read(gitea, &repository, &token, number).expect("an answer");
    let rights: Vec<MayWrite> = found.iter().map(|one| one.may_write).collect();
    assert_eq!(rights, [MayWrite::Unknown; 5]);
    let token = gitea.token(&capstan.name, &["read:repository", "read:issue"]);
    let error = read(gitea, &repository, &token, number).expect_err("a scope is missing");
    assert!(error.to_string().contains("read:user"), "{error}");
}
