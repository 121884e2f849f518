//! The comments on pull requests, and who may write.
//!
//! The Cloud: `GET .../pullrequests/{id}/comments`, oldest first, those on lines with `inline`; `updated_on` moves when the
//! text changes. People are known by their Atlassian account ID, since nicknames are not unique
//! (developer.atlassian.com/cloud/bitbucket/bitbucket-api-changes-gdpr). `GET /user` needs the scope `account`. `GET
//! /workspaces/{w}/permissions/repositories/{r}` lists what each user may do, to administrators of the repository alone
//! (developer.atlassian.com/cloud/bitbucket/rest/api-group-workspaces). The user of an access token has the type `app_user`.
//!
//! Data Center: `GET .../pull-requests/{id}/activities` has each comment with its answers; `version` counts the changes of
//! one, also of its state. Every answer names the user of the token in `X-AUSERNAME`
//! (community.developer.atlassian.com/t/obtain-authorised-users-username-from-api/24422). `GET /users` lists those with a
//! permission, however they came by it (docs.atlassian.com/bitbucket-server/rest, "Permission Filters").

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::pull_requests::get;
use super::{Bitbucket, Edition};
use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::comments::{Account, Comment, Comments, too_many_commits};
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::lately::Page;
use crate::adapters::checks::forge::wire::Answer;
use crate::model::MayWrite;

/// How many rows are listed at once: Bitbucket lists no more.
const LISTED: usize = 100;
/// The Cloud writes the two times of a new comment one after the other.
const SAME: SignedDuration = SignedDuration::from_secs(1);

#[derive(Deserialize)]
struct List<T> {
    values: Vec<T>,
    /// Where it goes on, in the Cloud.
    next: Option<String>,
    /// Whether it ends, on a server of one's own.
    #[serde(rename = "isLastPage")]
    is_last: Option<bool>,
}

impl<T> List<T> {
    fn is_last(&self) -> bool {
        self.next.is_none() && self.is_last != Some(false)
    }
}

/// A comment of the Cloud.
#[derive(Deserialize)]
struct Row {
    id: u64,
    content: Option<Content>,
    user: Option<User>,
    created_on: Timestamp,
    updated_on: Option<Timestamp>,
    #[serde(default)]
    deleted: bool,
    #[serde(default)]
    pending: bool,
    inline: Option<Value>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    raw: String,
}

/// A user of the Cloud.
#[derive(Deserialize)]
struct User {
    uuid: String,
    account_id: Option<String>,
    display_name: Option<String>,
    nickname: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
    user: User,
}

#[derive(Deserialize)]
struct Opened {
    author: Option<User>,
}

#[derive(Deserialize)]
struct Commit {
    author: Option<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    /// `Name <address>`.
    raw: Option<String>,
    user: Option<User>,
}

/// What happened to a pull request of Data Center.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Activity {
    comment: Option<OwnRow>,
    /// The line that the comment is on.
    comment_anchor: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnRow {
    id: u64,
    #[serde(default)]
    version: u64,
    #[serde(default)]
    text: String,
    author: Option<OwnUser>,
    created_date: i64,
    updated_date: Option<i64>,
    #[serde(default)]
    comments: Vec<Self>,
}

/// A user of Data Center.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnUser {
    name: String,
    display_name: Option<String>,
    email_address: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct OwnOpened {
    author: OwnParticipant,
}

#[derive(Deserialize)]
struct OwnParticipant {
    user: OwnUser,
}

#[derive(Deserialize)]
struct OwnCommit {
    author: Option<OwnUser>,
}

impl User {
    fn names(self) -> impl Iterator<Item = String> {
        let names = [self.account_id, self.display_name, self.nickname];
        names.into_iter().flatten()
    }
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self {
            id: user.uuid.clone(),
            login: user.account_id.clone().unwrap_or_default(),
            is_bot: user.kind.as_deref().is_some_and(|kind| kind != "user"),
            other_names: user.names().collect(),
        }
    }
}

impl OwnUser {
    fn names(self) -> impl Iterator<Item = String> {
        let names = [Some(self.name), self.display_name, self.email_address];
        names.into_iter().flatten()
    }
}

impl From<OwnUser> for Account {
    fn from(user: OwnUser) -> Self {
        Self {
            id: user.name.to_lowercase(),
            login: user.name.clone(),
            is_bot: user.kind.as_deref().is_some_and(|kind| kind != "NORMAL"),
            other_names: user.names().collect(),
        }
    }
}

impl From<Row> for Comment {
    fn from(row: Row) -> Self {
        let created = row.created_on;
        Self {
            id: row.id.to_string(),
            author: row.user.map(Account::from).unwrap_or_default(),
            text: row.content.map(|content| content.raw).unwrap_or_default(),
            created,
            edited: row.updated_on.filter(|at| *at >= created + SAME),
        }
    }
}

impl OwnRow {
    /// Adds the comment and its answers.
    fn add_to(self, found: &mut BTreeMap<u64, Comment>) -> Result<(), Fault> {
        let time = |millis| {
            let of = Timestamp::from_millisecond(millis);
            of.map_err(|cause| Fault::Refused(format!("cannot read its answer: {cause}")))
        };
        let changed = self.updated_date.filter(|at| *at != self.created_date);
        let changed = changed.unwrap_or_else(|| self.created_date.saturating_add(1));
        let edited = (self.version > 0).then_some(changed);
        let comment = Comment {
            id: self.id.to_string(),
            author: self.author.map(Account::from).unwrap_or_default(),
            text: self.text,
            created: time(self.created_date)?,
            edited: edited.map(time).transpose()?,
        };
        found.insert(self.id, comment);
        self.comments
            .into_iter()
            .try_for_each(|one| one.add_to(found))
    }
}

impl Bitbucket {
    async fn cloud_comments(
        &self,
        client: &Client,
        number: &str,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let url = self.repository.url(&["pullrequests", number, "comments"]);
        let query = format!("pagelen={LISTED}&page={page}");
        let list: List<Row> = get(client, url, &query).await?.parsed()?;
        let is_last = list.is_last();
        let rows = list.values.into_iter();
        let rows = rows.filter(|row| !row.deleted && !row.pending && row.inline.is_none());
        Ok(Page {
            rows: rows.map(Comment::from).collect(),
            is_last,
        })
    }

    async fn own_comments(
        &self,
        client: &Client,
        number: &str,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let url = self
            .repository
            .url(&["pull-requests", number, "activities"]);
        let query = format!("limit={LISTED}&start={}", (page - 1) * LISTED);
        let list: List<Activity> = get(client, url, &query).await?.parsed()?;
        let is_last = list.is_last();
        let mut found = BTreeMap::new();
        for activity in list.values {
            if let (Some(comment), None) = (activity.comment, activity.comment_anchor) {
                comment.add_to(&mut found)?;
            }
        }
        Ok(Page {
            rows: found.into_values().collect(),
            is_last,
        })
    }

    /// The list of who may do what in a repository of the Cloud.
    fn permissions(&self) -> Option<Url> {
        let [workspace, name, ..] = self.repository.id.path.as_slice() else {
            return None;
        };
        let parts = ["workspaces", workspace, "permissions", "repositories", name];
        Some(self.repository.rooted(&parts))
    }

    async fn may_write_in_cloud(&self, client: &Client, id: &str) -> Result<MayWrite, Fault> {
        let Some(mut url) = self.permissions() else {
            return Ok(MayWrite::Unknown);
        };
        let query = format!("user.uuid=\"{id}\"");
        url.query_pairs_mut()
            .append_pair("q", &query)
            .append_pair("pagelen", &LISTED.to_string());
        let Some(answer) = asked(ask(client, url).await)? else {
            return Ok(MayWrite::Unknown);
        };
        let list: List<Permission> = answer.parsed()?;
        let is_last = list.is_last();
        let of = list.values.into_iter().find(|one| one.user.uuid == id);
        Ok(match of {
            Some(one) if one.permission == "write" || one.permission == "admin" => MayWrite::Yes,
            None if !is_last => MayWrite::Unknown,
            Some(_) | None => MayWrite::No,
        })
    }

    async fn may_write_on_own_server(
        &self,
        client: &Client,
        login: &str,
    ) -> Result<MayWrite, Fault> {
        let [project, name, ..] = self.repository.id.path.as_slice() else {
            return Ok(MayWrite::Unknown);
        };
        let mut url = self.repository.rooted(&["api", "latest", "users"]);
        url.query_pairs_mut()
            .append_pair("filter", login)
            .append_pair("permission", "REPO_WRITE")
            .append_pair("permission.projectKey", project)
            .append_pair("permission.repositorySlug", name)
            .append_pair("limit", &LISTED.to_string());
        let Some(answer) = asked(ask(client, url).await)? else {
            return Ok(MayWrite::Unknown);
        };
        let list: List<OwnUser> = answer.parsed()?;
        let has = list.values.iter().any(|user| user.name == login);
        Ok(match (has, list.is_last()) {
            (true, _) => MayWrite::Yes,
            (false, true) => MayWrite::No,
            (false, false) => MayWrite::Unknown,
        })
    }

    async fn cloud_authors(&self, client: &Client, pull: u64) -> Result<BTreeSet<String>, Fault> {
        let number = pull.to_string();
        let url = self.repository.url(&["pullrequests", &number]);
        let opened: Opened = get(client, url, "").await?.parsed()?;
        let url = self.repository.url(&["pullrequests", &number, "commits"]);
        let query = format!("pagelen={LISTED}");
        let list: List<Commit> = get(client, url, &query).await?.parsed()?;
        if !list.is_last() {
            return Err(too_many_commits(pull, LISTED));
        }
        let signatures = list.values.into_iter().filter_map(|commit| commit.author);
        let mut names: BTreeSet<String> = opened.author.into_iter().flat_map(User::names).collect();
        for signature in signatures {
            names.extend(signature.user.into_iter().flat_map(User::names));
            let raw = signature.raw.unwrap_or_default();
            let parts = raw.split(['<', '>']).map(str::trim);
            names.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
        }
        Ok(names)
    }

    async fn own_authors(&self, client: &Client, pull: u64) -> Result<BTreeSet<String>, Fault> {
        let number = pull.to_string();
        let url = self.repository.url(&["pull-requests", &number]);
        let opened: OwnOpened = get(client, url, "").await?.parsed()?;
        let url = self.repository.url(&["pull-requests", &number, "commits"]);
        let query = format!("limit={LISTED}");
        let list: List<OwnCommit> = get(client, url, &query).await?.parsed()?;
        if !list.is_last() {
            return Err(too_many_commits(pull, LISTED));
        }
        let authors = list.values.into_iter().filter_map(|commit| commit.author);
        let all = authors.chain([opened.author.user]);
        Ok(all.flat_map(OwnUser::names).collect())
    }
}

async fn ask(client: &Client, url: Url) -> Result<Answer, Fault> {
    let query = url.query().unwrap_or_default().to_owned();
    get(client, url, &query).await
}

/// The answer; `None` if the token may not ask.
fn asked(answer: Result<Answer, Fault>) -> Result<Option<Answer>, Fault> {
    match answer {
        Err(Fault::Refused(_) | Fault::Absent(_)) => Ok(None),
        answer => answer.map(Some),
    }
}

impl Comments for Bitbucket {
    async fn own(&self, client: &Client) -> Result<Option<String>, Fault> {
        if self.edition == Edition::Cloud {
            let user = get(client, self.repository.rooted(&["user"]), "").await;
            let user: User = user
                .map_err(|fault| match fault {
                    Fault::Refused(said) => Fault::Refused(format!(
                        "approvals in comments need to know whose the token is, so it needs the scope account: {said}"
                    )),
                    fault => fault,
                })?
                .parsed()?;
            return Ok(Some(user.uuid));
        }
        let answer = get(client, self.repository.url(&[]), "").await?;
        match answer.header("x-ausername") {
            Some(name) => Ok(Some(name.to_lowercase())),
            None => Err(Fault::Refused(
                "approvals in comments need to know whose the token is, and the server does not say that in the header X-AUSERNAME; let the proxy before it pass that header".to_owned(),
            )),
        }
    }

    async fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let number = pull_request.to_string();
        match self.edition {
            Edition::Cloud => self.cloud_comments(client, &number, page).await,
            Edition::DataCenter => self.own_comments(client, &number, page).await,
        }
    }

    async fn may_write(&self, client: &Client, account: &Account) -> Result<MayWrite, Fault> {
        match self.edition {
            Edition::Cloud => self.may_write_in_cloud(client, &account.id).await,
            Edition::DataCenter => self.may_write_on_own_server(client, &account.login).await,
        }
    }

    async fn tells_rights(&self, client: &Client) -> Result<bool, Fault> {
        if self.edition == Edition::DataCenter {
            return Ok(true);
        }
        let Some(url) = self.permissions() else {
            return Ok(false);
        };
        let answer = asked(get(client, url, "pagelen=1").await)?;
        Ok(answer.is_some())
    }

    async fn authors(&self, client: &Client, pull_request: u64) -> Result<BTreeSet<String>, Fault> {
        match self.edition {
            Edition::Cloud => self.cloud_authors(client, pull_request).await,
            Edition::DataCenter => self.own_authors(client, pull_request).await,
        }
    }
}
