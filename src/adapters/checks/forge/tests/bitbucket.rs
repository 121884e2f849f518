//! A strict Bitbucket of both editions: one repository, and per commit and key a build status (forges.md §4) and a
//! report.

use std::collections::BTreeMap;

use serde_json::json as value;

use super::bitbucket_insights::Reports;
use super::*;
use crate::adapters::checks::forge::{Bitbucket, Edition, Fault, ForgeSink, Repository};
use crate::model::{CheckDetail, CheckSink as _, ForgeKind};

pub(super) const PLAN: &str = "capstan/prod/plan";

pub(super) struct Strict {
    edition: Edition,
    statuses: BTreeMap<String, Value>,
    pub(super) reports: Reports,
}

impl Strict {
    pub(super) fn new(edition: Edition) -> Self {
        Self {
            edition,
            statuses: BTreeMap::new(),
            reports: Reports::new(edition),
        }
    }

    fn post(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        let text = |key: &str| seen.body[key].as_str().unwrap_or_default();
        let states = match self.edition {
            Edition::Cloud => ["INPROGRESS", "SUCCESSFUL", "FAILED", "STOPPED"],
            Edition::DataCenter => ["INPROGRESS", "SUCCESSFUL", "FAILED", "CANCELLED"],
        };
        assert!(states.contains(&text("state")), "{}", seen.body);
        assert!((1..=40).contains(&text("key").len()), "{}", seen.body);
        assert!(
            text("url").starts_with("https://"),
            "the URL is required: {}",
            seen.body
        );
        assert!(text("name").chars().count() <= 255 && text("description").chars().count() <= 255);
        if self.edition == Edition::DataCenter {
            assert_eq!(seen.header("x-atlassian-token"), "no-check");
        }
        self.statuses
            .insert(text("key").to_owned(), seen.body.clone());
        match self.edition {
            Edition::Cloud => json(201, &seen.body),
            Edition::DataCenter => with(204, &[], ""),
        }
    }

    fn get(&self, key: &str) -> Response<Vec<u8>> {
        match self.statuses.get(key) {
            Some(status) => json(200, status),
            None => json(404, &value!({"error": {"message": "no such build status"}})),
        }
    }
}

impl Server for Strict {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        let root = match self.edition {
            Edition::Cloud => format!("/2.0/repositories/ws/fleet/commit/{HEAD}/statuses/build"),
            Edition::DataCenter => {
                format!("/ctx/rest/api/latest/projects/~me/repos/fleet/commits/{HEAD}/builds")
            }
        };
        let (method, path) = seen.line.split_once(' ').unwrap();
        if let Some(answer) = self.reports.answer(method, path, seen) {
            return answer;
        }
        let rest = path
            .strip_prefix(root.as_str())
            .unwrap_or_else(|| panic!("{path}"));
        let key = rest.strip_prefix(match self.edition {
            Edition::Cloud => "/",
            Edition::DataCenter => "?key=",
        });
        match (method, key) {
            ("POST", None) if rest.is_empty() => self.post(seen),
            ("GET", Some(key)) => self.get(key),
            _ => panic!("{}", seen.line),
        }
    }
}

pub(super) fn sink(fake: &Arc<Fake<Strict>>, edition: Edition) -> ForgeSink<Bitbucket> {
    let (provider, address) = match edition {
        Edition::Cloud => (ForgeKind::Bitbucket, "https://bitbucket.org/ws/fleet"),
        Edition::DataCenter => (ForgeKind::Bitbucket, "https://h:7990/ctx/scm/~me/fleet.git"),
    };
    let repository = Repository::of(provider, address).unwrap();
    let client = client(fake, Scheme::Pair, Bitbucket::dialect());
    ForgeSink::new(Bitbucket::new(repository, edition), client, None)
}

#[tokio::test(start_paused = true)]
async fn a_commit_has_one_status_per_check() {
    use CheckDetail::{Approval, Superseded, Warnings};
    use CheckState::{Error, Failure, Pending, Success};
    for edition in [Edition::Cloud, Edition::DataCenter] {
        let fake = Fake::new(Strict::new(edition));
        let first = sink(&fake, edition);
        let ended = match edition {
            Edition::Cloud => "STOPPED",
            Edition::DataCenter => "CANCELLED",
        };
        for (state, detail, expected) in [
            (Pending, None, "INPROGRESS"),
            (Success, None, "SUCCESSFUL"),
            (Success, Some(Warnings), "SUCCESSFUL"),
            (Failure, Some(Approval), "FAILED"),
            (Failure, None, "FAILED"),
            (Error, None, "FAILED"),
            (Error, Some(Superseded), ended),
        ] {
            let title = format!("{state:?} {detail:?} {}", "é".repeat(300));
            // The page of the commit stands in for a URL.
            let check = Check {
                detail,
                target_url: None,
                ..check(PLAN, state, &title)
            };
            for _ in 0..2 {
                first
                    .publish(std::slice::from_ref(&check), Timestamp::UNIX_EPOCH)
                    .await
                    .unwrap();
            }
            let server = fake.server.lock().unwrap();
            assert_eq!(server.statuses.len(), 1);
            // Vector V14 of forges.md §8.
            let status = &server.statuses["cf5e1b6e542563259703cf4ad48cf677588c73b1"];
            assert_eq!(status["state"], expected);
        }
        let posts = fake
            .lines()
            .into_iter()
            .filter(|line| line.starts_with("POST") && !line.contains("/reports/"));
        assert_eq!(posts.count(), 7);
        let again = sink(&fake, edition);
        let read = again.read(&[HEAD.to_owned()], PLAN).await.unwrap();
        assert_eq!(read[0].state, Error);
        assert_eq!(
            again
                .read(&[HEAD.to_owned()], "capstan/prod/sync")
                .await
                .unwrap(),
            []
        );
    }
}

/// Row 42 of forges.md §9; a token without a colon is one of a repository or workspace.
#[tokio::test]
async fn a_token_is_a_pair_or_alone() {
    struct Open;
    impl Server for Open {
        fn answer(&mut self, _: &Seen) -> Response<Vec<u8>> {
            json(200, &value!({}))
        }
    }
    for (token, expected) in [
        ("capstan:s3cret", Some("Basic Y2Fwc3RhbjpzM2NyZXQ=")),
        ("userpassword", Some("Bearer userpassword")),
        ("a:b:c", None),
    ] {
        let fake = Fake::new(Open);
        let (tokens, clock) = (Tokens::of(&[token]), Ticking::start());
        let client = Client::new(
            fake.clone(),
            tokens,
            Scheme::Pair,
            Bitbucket::dialect(),
            clock,
        );
        let url = reqwest::Url::parse("https://git.example/x").unwrap();
        let answer = client
            .call(&crate::adapters::checks::forge::Call::get(url))
            .await;
        match expected {
            Some(expected) => assert_eq!(fake.requests()[0].header("authorization"), expected),
            None => assert!(matches!(answer, Err(Fault::Denied(_)))),
        }
    }
}
