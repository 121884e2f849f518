//! The notes on a merge request, and who may push.
//!
//! `GET /projects/:id/merge_requests/:iid/notes` lists the notes of people and, with `system`, those of GitLab; those on
//! lines have the type `DiffNote` (doc/api/notes.md of gitlabhq/gitlabhq). `updated_at` differs from `created_at` once a
//! note was edited, and also once its thread was resolved: neither counts. `GET /projects/:id/members/all/:user_id` has
//! the role of a member, also of a group above or an invited one, and answers 404 for anybody else (doc/api/members.md).
//! Whoever has the role Developer pushes. The tokens of projects and groups belong to users that are named
//! `project_<id>_bot_<random>` (doc/user/project/settings/project_access_tokens.md).

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;

use super::{DEVELOPER, GitLab, PAGE};
use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::comments::{Account, Comment, Comments, too_many_commits};
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::lately::Page;
use crate::adapters::checks::forge::wire::Call;
use crate::model::MayWrite;

/// How many pages of commits are read.
const PAGES: usize = 3;

#[derive(Deserialize)]
struct Row {
    id: u64,
    #[serde(default)]
    body: String,
    author: Option<User>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    #[serde(default)]
    system: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    username: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Member {
    access_level: u64,
    #[serde(default)]
    state: String,
}

#[derive(Deserialize)]
struct Opened {
    author: Option<User>,
}

#[derive(Deserialize)]
struct Commit {
    author_name: Option<String>,
    author_email: Option<String>,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self {
            id: user.id.to_string(),
            is_bot: is_bot(&user.username),
            login: user.username,
            other_names: user.name.into_iter().collect(),
        }
    }
}

/// Returns true for the user of the token of a project or a group.
fn is_bot(username: &str) -> bool {
    let of = ["project_", "group_"];
    let rest = of.iter().find_map(|prefix| username.strip_prefix(prefix));
    rest.and_then(|rest| rest.split_once('_'))
        .is_some_and(|(id, rest)| {
            id.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with("bot")
        })
}

impl GitLab {
    fn get(&self, parts: &[&str], query: &str) -> Call {
        let mut url = self.repository.url(parts);
        url.set_query(Some(query).filter(|query| !query.is_empty()));
        Call::get(url).aside()
    }
}

impl Comments for GitLab {
    async fn own(&self, client: &Client) -> Result<Option<String>, Fault> {
        let call = Call::get(self.repository.rooted(&["user"])).aside();
        let user: User = client.call(&call).await?.parsed()?;
        Ok(Some(user.id.to_string()))
    }

    async fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let parts = ["merge_requests", &pull_request.to_string(), "notes"];
        let query = format!("sort=asc&order_by=created_at&per_page={PAGE}&page={page}");
        let rows: Vec<Row> = client.call(&self.get(&parts, &query)).await?.parsed()?;
        let is_last = rows.len() < PAGE;
        let is_note = |row: &Row| !row.system && row.kind.as_deref() != Some("DiffNote");
        let notes = rows.into_iter().filter(is_note).map(|row| Comment {
            id: row.id.to_string(),
            author: row.author.map(Account::from).unwrap_or_default(),
            text: row.body,
            created: row.created_at,
            edited: row.updated_at,
        });
        Ok(Page {
            rows: notes.collect(),
            is_last,
        })
    }

    async fn may_write(&self, client: &Client, account: &Account) -> Result<MayWrite, Fault> {
        let call = self.get(&["members", "all", &account.id], "");
        let member: Member = match client.call(&call).await {
            Err(Fault::Absent(_)) => return Ok(MayWrite::No),
            Err(Fault::Refused(_)) => return Ok(MayWrite::Unknown),
            answer => answer?.parsed()?,
        };
        let may_write = member.access_level >= DEVELOPER && member.state == "active";
        Ok(if may_write {
            MayWrite::Yes
        } else {
            MayWrite::No
        })
    }

    async fn tells_rights(&self, _: &Client) -> Result<bool, Fault> {
        Ok(true)
    }

    async fn authors(&self, client: &Client, pull_request: u64) -> Result<BTreeSet<String>, Fault> {
        let number = pull_request.to_string();
        let call = self.get(&["merge_requests", &number], "");
        let opened: Opened = client.call(&call).await?.parsed()?;
        let mut names = BTreeSet::new();
        if let Some(author) = opened.author {
            names.extend([Some(author.username), author.name].into_iter().flatten());
        }
        for page in 1..=PAGES {
            let parts = ["merge_requests", &number, "commits"];
            let call = self.get(&parts, &format!("per_page={PAGE}&page={page}"));
            let commits: Vec<Commit> = client.call(&call).await?.parsed()?;
            let is_last = commits.len() < PAGE;
            let written = commits
                .into_iter()
                .flat_map(|commit| [commit.author_name, commit.author_email]);
            names.extend(written.flatten());
            if is_last {
                return Ok(names);
            }
        }
        Err(too_many_commits(pull_request, PAGES * PAGE))
    }
}
