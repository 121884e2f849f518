//! Pull requests that the daemon opens, on forges that answer as GitHub does.
//!
//! In: branches, texts and numbers. Out: pull requests as they are now. A forge is a [`PullRequestApi`]: it lists the pull
//! requests of two branches, and says what its refusals mean. All else is shared. Of an answer, only numbers, states,
//! branches and commits are read: the address of a page is made from that of the repository, and texts are not taken.
//! It does not know why a pull request is opened.

use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use serde_json::json;

use super::client::Client;
use super::fault::Fault;
use super::listed::{Branches, Listed};
use super::repository::Repository;
use super::wire::{Answer, Call};
use crate::adapters::checks::text::{Limit, line, markdown};
use crate::model::words::{is_unseen, said};
use crate::model::{
    AdapterError, NewPullRequest, OwnPullRequest, OwnPullRequests, PullRequestState,
};

/// GitHub takes 256 characters; Gitea shortens what has more than 255 bytes.
const TITLE: Limit = Limit::Bytes(255);
/// GitHub takes no more.
const BODY: Limit = Limit::Chars(65_536);

/// One kind of forge: its way to find pull requests, and its own when one is opened.
pub trait PullRequestApi: Send + Sync + 'static {
    /// The permission that a token needs to open and close pull requests, as a message says it.
    const NEEDS: &'static str;
    /// The part of the path of a page that is before the number.
    const PAGE: &'static str;
    /// The parameter for the length of a page of a list.
    const LENGTH: &'static str;

    /// The repository.
    fn repository(&self) -> &Repository;

    /// Says why a pull request cannot be opened where the token can list them, if the forge answers that something is
    /// absent.
    fn unopened(&self, branches: &Branches<'_>, said: &str) -> Fault;

    /// Finds the pull request of two branches of the repository: the open one, else the newest.
    fn find(
        &self,
        client: &Client,
        branches: &Branches<'_>,
    ) -> impl Future<Output = Result<Option<Listed>, Fault>> + Send;
}

/// The pull requests of one repository on a forge.
pub struct Opener<F> {
    forge: F,
    client: Client,
}

impl<F: PullRequestApi> Opener<F> {
    /// The pull requests of the repository of `forge`. A missing permission stops `client`, which is for nothing else.
    pub const fn new(forge: F, client: Client) -> Self {
        Self { forge, client }
    }

    async fn opened(&self, new: &NewPullRequest) -> Result<OwnPullRequest, Fault> {
        let branches = Branches::of(&new.head, &new.base)?;
        let title = line(&said(&new.title), TITLE);
        if title.is_empty() {
            return Err(Fault::Refused("the title is empty".to_owned()));
        }
        match self.post(&branches, &title, &text(&new.body)).await {
            Err(Fault::Absent(said)) => {
                self.listable().await?;
                Err(self.forge.unopened(&branches, &said))
            }
            // Forges say in different words that there is one already, and nobody knows what became of a lost request.
            Err(fault @ (Fault::Refused(_) | Fault::Busy(_) | Fault::Unclear(_))) => {
                let found = self.forge.find(&self.client, &branches).await;
                let open = found.ok().flatten().filter(Listed::is_open);
                open.map_or(Err(fault), |listed| self.shown(&listed))
            }
            posted => self.shown(&posted?),
        }
    }

    async fn post(
        &self,
        branches: &Branches<'_>,
        title: &str,
        body: &str,
    ) -> Result<Listed, Fault> {
        let Branches { head, base } = branches;
        let body = json!({"head": head, "base": base, "title": title, "body": body});
        let url = self.forge.repository().url(&["pulls"]);
        let call = Call::send(Method::POST, url, body).needing(F::NEEDS);
        let posted: Listed = self.client.call(&call).await?.parsed()?;
        if posted.is_of(branches) {
            Ok(posted)
        } else {
            Err(Fault::Refused(
                "it answered with the pull request of other branches".to_owned(),
            ))
        }
    }

    async fn found(&self, head: &str, base: &str) -> Result<Option<OwnPullRequest>, Fault> {
        let branches = Branches::of(head, base)?;
        let found = self.forge.find(&self.client, &branches).await;
        let listed = match found {
            Err(Fault::Absent(said)) => return Err(self.unlisted(&said).await),
            found => found?,
        };
        listed.map(|listed| self.shown(&listed)).transpose()
    }

    async fn numbered(&self, number: u64) -> Result<Option<OwnPullRequest>, Fault> {
        match self.client.call(&Call::get(self.url(number))).await {
            Err(Fault::Absent(_)) => self.listable().await.map(|()| None),
            answer => self.read(number, &answer?).map(Some),
        }
    }

    async fn closed(&self, number: u64) -> Result<OwnPullRequest, Fault> {
        let body = json!({"state": "closed"});
        let call = Call::send(Method::PATCH, self.url(number), body).needing(F::NEEDS);
        let closed = match self.client.call(&call).await {
            Err(Fault::Absent(_)) => {
                self.listable().await?;
                return Err(Fault::Gone("there is none of this number".to_owned()));
            }
            // Gitea refuses it once somebody has merged it.
            Err(fault @ (Fault::Refused(_) | Fault::Unclear(_))) => {
                let now = self.numbered(number).await.ok().flatten();
                now.ok_or(fault)?
            }
            answer => self.read(number, &answer?)?,
        };
        match closed.state {
            PullRequestState::Open => Err(Fault::Busy("it is still open".to_owned())),
            _ => Ok(closed),
        }
    }

    fn url(&self, number: u64) -> reqwest::Url {
        let number = number.to_string();
        self.forge.repository().url(&["pulls", &number])
    }

    fn read(&self, number: u64, answer: &Answer) -> Result<OwnPullRequest, Fault> {
        let listed: Listed = answer.parsed()?;
        if listed.number == number {
            return self.shown(&listed);
        }
        let other = listed.number;
        Err(Fault::Refused(format!(
            "it answered with pull request {other}"
        )))
    }

    fn shown(&self, listed: &Listed) -> Result<OwnPullRequest, Fault> {
        let parts = [F::PAGE, &listed.number.to_string()];
        Ok(OwnPullRequest {
            number: listed.number,
            url: self.forge.repository().page(&parts).into(),
            state: listed.state()?,
        })
    }

    /// Asks whether the token may list pull requests, to tell what is absent.
    async fn listable(&self) -> Result<(), Fault> {
        let mut url = self.forge.repository().url(&["pulls"]);
        url.set_query(Some(&format!("state=open&{}=1", F::LENGTH)));
        match self.client.call(&Call::get(url)).await {
            Err(Fault::Absent(said)) => Err(self.unlisted(&said).await),
            answer => answer.map(drop),
        }
    }

    /// Sends nothing for a while, since the token sees no pull requests.
    async fn unlisted(&self, said: &str) -> Fault {
        let why = format!(
            "{said}; the repository was deleted or renamed, it has no pull requests, or the token cannot read them"
        );
        self.client.block(Fault::Denied(why)).await
    }

    fn error(&self, what: &str, fault: Fault) -> AdapterError {
        let error = AdapterError::from(fault);
        let repository = self.forge.repository();
        AdapterError::new(
            error.class(),
            format!("{repository}: cannot {what}: {error}"),
        )
    }
}

/// A text without characters that nobody sees, cut to what a forge takes.
fn text(body: &str) -> String {
    let is_seen = |c: &char| matches!(c, '\n' | '\t') || !is_unseen(*c);
    let seen: String = body.chars().filter(is_seen).collect();
    markdown(&seen, BODY)
}

impl<F: PullRequestApi> OwnPullRequests for Opener<F> {
    fn open<'a>(
        &'a self,
        new: &'a NewPullRequest,
    ) -> BoxFuture<'a, Result<OwnPullRequest, AdapterError>> {
        let NewPullRequest { head, base, .. } = new;
        let opened = self.opened(new);
        let what = move || format!("open a pull request of {head:?} onto {base:?}");
        opened
            .map(move |done| done.map_err(|fault| self.error(&what(), fault)))
            .boxed()
    }

    fn find<'a>(
        &'a self,
        head: &'a str,
        base: &'a str,
    ) -> BoxFuture<'a, Result<Option<OwnPullRequest>, AdapterError>> {
        let found = self.found(head, base);
        let what = move || format!("find the pull request of {head:?} onto {base:?}");
        found
            .map(move |done| done.map_err(|fault| self.error(&what(), fault)))
            .boxed()
    }

    fn get(&self, number: u64) -> BoxFuture<'_, Result<Option<OwnPullRequest>, AdapterError>> {
        let found = self.numbered(number);
        let what = move || format!("read pull request {number}");
        found
            .map(move |done| done.map_err(|fault| self.error(&what(), fault)))
            .boxed()
    }

    fn close(&self, number: u64) -> BoxFuture<'_, Result<OwnPullRequest, AdapterError>> {
        let closed = self.closed(number);
        let what = move || format!("close pull request {number}");
        closed
            .map(move |done| done.map_err(|fault| self.error(&what(), fault)))
            .boxed()
    }
}
