//! The comments on pull requests.
//!
//! `GET .../pullRequests/{id}/threads` lists all threads with all their comments; `lastContentUpdatedDate` is
//! `publishedDate` until the text changes (learn.microsoft.com/rest/api/azure/devops/git/pull-request-threads/list). A
//! thread on a line has a `threadContext`. `GET {organization}/_apis/connectionData` says whose the token is. What
//! somebody else may do can be read only with the scope `vso.security_manage`, one group at a time
//! (learn.microsoft.com/rest/api/azure/devops/security/access-control-lists), so it is not known here: only those that the
//! fleet names approve. The descriptor of an identity begins with its kind: `aadsp` is a service principal, `svc` a
//! service (SubjectType in Microsoft.VisualStudio.Services.Common).

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;

use super::{AzureDevOps, list, pull_request::unreadable};
use crate::adapters::checks::forge::{
    Account, Call, Client, Comment, Comments, Fault, Page, too_many_commits,
};
use crate::model::MayWrite;

/// How many commits of a pull request are read.
const COMMITS: usize = 100;
/// The kinds of identities that are no people.
const SERVICES: [&str; 3] = ["svc.", "aadsp.", "s2s."];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    id: u64,
    #[serde(default)]
    is_deleted: bool,
    thread_context: Option<serde_json::Value>,
    #[serde(default)]
    comments: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: u64,
    content: Option<String>,
    author: Option<Identity>,
    #[serde(default)]
    is_deleted: bool,
    comment_type: Option<String>,
    published_date: Timestamp,
    last_content_updated_date: Option<Timestamp>,
    last_updated_date: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    id: String,
    unique_name: Option<String>,
    display_name: Option<String>,
    descriptor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    authenticated_user: Identity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    created_by: Option<Identity>,
}

#[derive(Deserialize)]
struct Commit {
    author: Option<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    name: Option<String>,
    email: Option<String>,
}

impl From<Identity> for Account {
    fn from(identity: Identity) -> Self {
        let descriptor = identity.descriptor.unwrap_or_default();
        Self {
            id: identity.id,
            login: identity.unique_name.unwrap_or_default(),
            other_names: identity.display_name.into_iter().collect(),
            is_bot: SERVICES.iter().any(|kind| descriptor.starts_with(kind)),
        }
    }
}

impl Thread {
    /// The comments that people wrote on the pull request as a whole.
    fn comments(self) -> impl Iterator<Item = Comment> {
        let thread = self.id;
        let is_of_all = self.thread_context.is_none_or(|context| context.is_null());
        let rows = self.comments.into_iter();
        let rows = rows.filter(move |row| {
            let is_text = row.comment_type.as_deref() == Some("text");
            is_of_all && is_text && !self.is_deleted && !row.is_deleted
        });
        rows.map(move |row| Comment {
            id: format!("{thread}.{}", row.id),
            author: row.author.map(Account::from).unwrap_or_default(),
            text: row.content.unwrap_or_default(),
            created: row.published_date,
            edited: row.last_content_updated_date.or(row.last_updated_date),
        })
    }
}

impl Comments for AzureDevOps {
    async fn own(&self, client: &Client) -> Result<Option<String>, Fault> {
        let url = self.repository.rooted(&["_apis", "connectionData"]);
        let answer = client.call(&Call::get(url).aside()).await?;
        let connection: Connection = answer.read().map_err(unreadable)?;
        Ok(Some(connection.authenticated_user.id))
    }

    async fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        _: usize,
    ) -> Result<Page<Comment>, Fault> {
        let parts = ["pullRequests", &pull_request.to_string(), "threads"];
        let answer = client.call(&self.get(&parts, "").aside()).await?;
        let threads: Vec<Thread> = list(&answer)?;
        Ok(Page {
            rows: threads.into_iter().flat_map(Thread::comments).collect(),
            is_last: true,
        })
    }

    async fn may_write(&self, _: &Client, _: &Account) -> Result<MayWrite, Fault> {
        Ok(MayWrite::Unknown)
    }

    async fn tells_rights(&self, _: &Client) -> Result<bool, Fault> {
        Ok(false)
    }

    async fn authors(&self, client: &Client, pull_request: u64) -> Result<BTreeSet<String>, Fault> {
        let number = pull_request.to_string();
        let call = self.get(&["pullRequests", &number], "").aside();
        let opened: Opened = client.call(&call).await?.read().map_err(unreadable)?;
        let mut names = BTreeSet::new();
        if let Some(by) = opened.created_by {
            names.extend([by.unique_name, by.display_name].into_iter().flatten());
        }
        let parts = ["pullRequests", &number, "commits"];
        let call = self.get(&parts, &format!("$top={COMMITS}")).aside();
        let commits: Vec<Commit> = list(&client.call(&call).await?)?;
        if commits.len() >= COMMITS {
            return Err(too_many_commits(pull_request, COMMITS));
        }
        let signatures = commits.into_iter().filter_map(|commit| commit.author);
        names.extend(signatures.flat_map(|by| [by.name, by.email]).flatten());
        Ok(names)
    }
}
