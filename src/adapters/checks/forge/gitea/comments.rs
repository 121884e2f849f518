//! The comments on pull requests.
//!
//! Gitea lists all comments of a pull request at once, those on lines elsewhere. `updated_at` differs from `created_at`
//! once a comment was edited. It tells only administrators of the repository what others may do there
//! (`GetRepoPermissions` in Gitea's routers/api/v1/repo/collaborators.go). `/user` needs the scope `read:user`.

use std::collections::BTreeSet;

use super::Gitea;
use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::comments::{Account, Comment, Comments};
use crate::adapters::checks::forge::conversation::Conversation;
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::lately::Page;
use crate::adapters::checks::forge::wire::Call;
use crate::model::MayWrite;

impl Gitea {
    const fn conversation<'a>(&'a self, client: &'a Client) -> Conversation<'a> {
        Conversation {
            repository: &self.repository,
            client,
            page: "limit",
        }
    }
}

impl Comments for Gitea {
    async fn own(&self, client: &Client) -> Result<Option<String>, Fault> {
        let asked = self.conversation(client).user().await;
        asked.map(Some).map_err(|fault| match fault {
            Fault::Refused(said) => Fault::Refused(format!(
                "approvals in comments need to know whose the token is: {said}"
            )),
            fault => fault,
        })
    }

    async fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let all = self
            .conversation(client)
            .comments(pull_request, page)
            .await?;
        Ok(Page {
            is_last: true,
            ..all
        })
    }

    async fn may_write(&self, client: &Client, account: &Account) -> Result<MayWrite, Fault> {
        self.conversation(client).may_write(&account.login).await
    }

    async fn tells_rights(&self, client: &Client) -> Result<bool, Fault> {
        let call = Call::get(self.repository.url(&[])).aside();
        let repository = client.call(&call).await?.json();
        Ok(repository["permissions"]["admin"] == true)
    }

    async fn authors(&self, client: &Client, pull_request: u64) -> Result<BTreeSet<String>, Fault> {
        self.conversation(client).authors(pull_request).await
    }
}
