//! The conversation of a pull request, as GitHub and Gitea have it: both list the comments of an issue of that number.
//!
//! In: a pull request, or a user. Out: comments, authors and rights. Comments on lines and the texts of reviews are not
//! among the comments of an issue. It does not know whose comment counts.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::comments::{Account, Comment, too_many_commits};
use super::fault::Fault;
use super::lately::Page;
use super::repository::Repository;
use super::wire::Call;
use crate::model::MayWrite;

/// How many comments or commits are listed at once: Gitea lists no more commits.
const LISTED: usize = 50;
/// How many commits of a pull request are read: GitHub lists no more.
const COMMITS: usize = 250;
/// Permissions that include writing. A role of an organization's own on GitHub has the permission that it is based on.
const WRITING: [&str; 4] = ["owner", "admin", "maintain", "write"];

/// A comment in a list.
#[derive(Deserialize)]
struct Row {
    id: u64,
    body: Option<String>,
    user: Option<User>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
}

/// An account. Those of Gitea itself have numbers below zero.
#[derive(Deserialize)]
struct User {
    id: i64,
    login: String,
    full_name: Option<String>,
    email: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Collaborator {
    permission: Option<String>,
    role_name: Option<String>,
}

#[derive(Deserialize)]
struct PullRequest {
    user: Option<User>,
}

#[derive(Deserialize)]
struct Commit {
    author: Option<Login>,
    committer: Option<Login>,
    commit: Signed,
}

/// Gitea has an empty one for a commit of nobody that it knows.
#[derive(Deserialize)]
struct Login {
    login: Option<String>,
}

#[derive(Deserialize)]
struct Signed {
    author: Option<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    name: Option<String>,
    email: Option<String>,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        let names = [user.full_name, user.email].into_iter().flatten();
        Self {
            id: user.id.to_string(),
            login: user.login,
            other_names: names.filter(|name| !name.is_empty()).collect(),
            is_bot: user.id < 0 || user.kind.is_some_and(|kind| kind != "User"),
        }
    }
}

/// The pull requests of a repository.
pub(in crate::adapters::checks) struct Conversation<'a> {
    pub(in crate::adapters::checks) repository: &'a Repository,
    pub(in crate::adapters::checks) client: &'a Client,
    /// What the length of a page is called.
    pub(in crate::adapters::checks) page: &'static str,
}

impl Conversation<'_> {
    /// Asks for the user of the token.
    pub(in crate::adapters::checks) async fn user(&self) -> Result<String, Fault> {
        let call = Call::get(self.repository.rooted(&["user"])).aside();
        let user: User = self.client.call(&call).await?.parsed()?;
        Ok(user.id.to_string())
    }

    /// Lists comments, oldest first.
    pub(in crate::adapters::checks) async fn comments(
        &self,
        number: u64,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let parts = ["issues", &number.to_string(), "comments"];
        let rows: Page<Row> = self.list(&parts, page).await?;
        Ok(rows.map(|row| Comment {
            id: row.id.to_string(),
            author: row.user.map(Account::from).unwrap_or_default(),
            text: row.body.unwrap_or_default(),
            created: row.created_at,
            edited: row.updated_at,
        }))
    }

    /// Asks for the permission of a user; `None` if the user has none.
    pub(in crate::adapters::checks) async fn permission(
        &self,
        login: &str,
    ) -> Result<Option<Permission>, Fault> {
        let url = self.repository.url(&["collaborators", login, "permission"]);
        let answer = match self.client.call(&Call::get(url).aside()).await {
            Err(Fault::Absent(_)) => return Ok(None),
            answer => answer?,
        };
        let found: Collaborator = answer.parsed()?;
        let of = [found.permission, found.role_name];
        let may_write = |one: &String| WRITING.contains(&one.as_str());
        Ok(Some(Permission {
            may_write: of.iter().flatten().any(may_write),
            name: of.into_iter().flatten().next(),
        }))
    }

    /// Asks whether a user may write; who may not ask does not know.
    pub(in crate::adapters::checks) async fn may_write(
        &self,
        login: &str,
    ) -> Result<MayWrite, Fault> {
        match self.permission(login).await {
            Ok(Some(permission)) if permission.may_write => Ok(MayWrite::Yes),
            Ok(_) => Ok(MayWrite::No),
            Err(Fault::Refused(_)) => Ok(MayWrite::Unknown),
            Err(fault) => Err(fault),
        }
    }

    /// Lists who opened the pull request, and who wrote its commits.
    pub(in crate::adapters::checks) async fn authors(
        &self,
        pull_request: u64,
    ) -> Result<BTreeSet<String>, Fault> {
        let number = pull_request.to_string();
        let call = Call::get(self.repository.url(&["pulls", &number])).aside();
        let opened: PullRequest = self.client.call(&call).await?.parsed()?;
        let mut names = BTreeSet::new();
        names.extend(opened.user.map(|user| user.login));
        for page in 1..=COMMITS / LISTED {
            let parts = ["pulls", &number, "commits"];
            let Page { rows, is_last } = self.list::<Commit>(&parts, page).await?;
            for commit in rows {
                let logins = [commit.author, commit.committer].into_iter().flatten();
                names.extend(logins.filter_map(|one| one.login));
                let author = commit.commit.author;
                names.extend(
                    author
                        .into_iter()
                        .flat_map(|by| [by.name, by.email])
                        .flatten(),
                );
            }
            if is_last {
                names.remove("");
                return Ok(names);
            }
        }
        Err(too_many_commits(pull_request, COMMITS))
    }

    async fn list<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        page: usize,
    ) -> Result<Page<T>, Fault> {
        let mut url = self.repository.url(parts);
        url.set_query(Some(&format!("{}={LISTED}&page={page}", self.page)));
        let answer = self.client.call(&Call::get(url).aside()).await?;
        let rows: Option<Vec<T>> = answer.parsed()?;
        let rows = rows.unwrap_or_default();
        let is_last = rows.len() < LISTED;
        Ok(Page { rows, is_last })
    }
}

/// What a user may do.
pub(in crate::adapters::checks) struct Permission {
    pub(in crate::adapters::checks) may_write: bool,
    /// As the forge calls it.
    pub(in crate::adapters::checks) name: Option<String>,
}
