//! The few fields of payloads that matter, of all forges in one: their names do not collide. What has
//! another type than expected counts as absent, so that one odd field costs no fetch.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::repository::Spelling;

#[derive(Deserialize)]
pub(super) struct Payload {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) action: Option<String>,
    #[serde(default, deserialize_with = "lenient", rename = "ref")]
    pub(super) reference: Option<String>,
    /// Of a pull request, at GitHub and Gitea.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) number: Option<u64>,
    /// Of GitHub and Gitea, also for a pull request.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) issue: Option<Issue>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) comment: Option<Comment>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) check_run: Option<Run>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) check_suite: Option<Run>,
    /// Of GitHub: a button of a check run.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) requested_action: Option<RequestedAction>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) sender: Option<Sender>,
    /// Of GitLab.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) object_kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) object_attributes: Option<Attributes>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) merge_request: Option<MergeRequest>,
    /// Of Azure DevOps.
    #[serde(default, deserialize_with = "lenient", rename = "eventType")]
    pub(super) event_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) resource: Option<Resource>,
    #[serde(default, deserialize_with = "lenient")]
    repository: Option<Repository>,
    /// Of GitLab, which says little of `repository`.
    #[serde(default, deserialize_with = "lenient")]
    project: Option<Repository>,
    /// Of Bitbucket Data Center.
    #[serde(default, deserialize_with = "lenient", rename = "pullRequest")]
    pub(super) pull_request: Option<PullRequest>,
    /// Of Bitbucket Cloud.
    #[serde(default, deserialize_with = "lenient", rename = "pullrequest")]
    pub(super) cloud_pull_request: Option<PullRequestOfCloud>,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) number: Option<u64>,
    /// What makes it a pull request.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) pull_request: Option<Present>,
}

/// Any object.
#[derive(Deserialize)]
pub(super) struct Present {}

/// A comment: its text is in a field of another name at each forge.
#[derive(Deserialize)]
pub(super) struct Comment {
    /// GitHub, Gitea, Forgejo.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) body: Option<String>,
    /// Bitbucket Data Center.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) text: Option<String>,
    /// Bitbucket Cloud.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: Option<Content>,
}

#[derive(Deserialize)]
pub(super) struct Content {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) raw: Option<String>,
}

/// What a GitLab event is about: a note, or a merge request.
#[derive(Deserialize)]
pub(super) struct Attributes {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) action: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) note: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) iid: Option<u64>,
}

/// What a note of GitLab is on.
#[derive(Deserialize)]
pub(super) struct MergeRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) iid: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct PullRequestOfCloud {
    #[serde(default, deserialize_with = "lenient")]
    source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(default, deserialize_with = "lenient")]
    commit: Option<Commit>,
}

#[derive(Deserialize)]
struct Commit {
    #[serde(default, deserialize_with = "lenient")]
    hash: Option<String>,
}

impl PullRequestOfCloud {
    /// The beginning of the id of its head.
    pub(super) fn head(&self) -> Option<String> {
        self.source.as_ref()?.commit.as_ref()?.hash.clone()
    }
}

/// A check run or a check suite.
#[derive(Deserialize)]
pub(super) struct Run {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) head_sha: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) app: Option<App>,
}

#[derive(Deserialize)]
pub(super) struct RequestedAction {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) identifier: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Sender {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) login: Option<String>,
    #[serde(default, deserialize_with = "lenient", rename = "type")]
    pub(super) kind: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct App {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Resource {
    #[serde(default, deserialize_with = "lenient", rename = "refUpdates")]
    pub(super) ref_updates: Option<Vec<RefUpdate>>,
    #[serde(default, deserialize_with = "lenient")]
    repository: Option<Repository>,
    /// What was written, and on what.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) comment: Option<CommentOfAzure>,
    #[serde(default, deserialize_with = "lenient", rename = "pullRequest")]
    pub(super) pull_request: Option<PullRequestOfAzure>,
}

#[derive(Deserialize)]
pub(super) struct CommentOfAzure {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct PullRequestOfAzure {
    #[serde(default, deserialize_with = "lenient", rename = "pullRequestId")]
    pub(super) id: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    repository: Option<Repository>,
}

#[derive(Deserialize)]
pub(super) struct RefUpdate {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: Option<String>,
}

/// Of Bitbucket Data Center.
#[derive(Deserialize)]
pub(super) struct PullRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<u64>,
    #[serde(default, deserialize_with = "lenient", rename = "toRef")]
    to: Option<To>,
}

#[derive(Deserialize)]
struct To {
    #[serde(default, deserialize_with = "lenient")]
    repository: Option<Repository>,
}

#[derive(Deserialize)]
pub(super) struct Repository {
    /// GitHub, Gitea, Forgejo, Bitbucket Cloud.
    #[serde(default, deserialize_with = "lenient")]
    full_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    clone_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    ssh_url: Option<String>,
    /// GitLab.
    #[serde(default, deserialize_with = "lenient")]
    path_with_namespace: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    git_http_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    git_ssh_url: Option<String>,
    /// Azure DevOps.
    #[serde(default, deserialize_with = "lenient", rename = "remoteUrl")]
    remote_url: Option<String>,
    /// Bitbucket.
    #[serde(default, deserialize_with = "lenient")]
    slug: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    project: Option<Project>,
    #[serde(default, deserialize_with = "lenient")]
    links: Option<Links>,
}

#[derive(Deserialize)]
struct Project {
    #[serde(default, deserialize_with = "lenient")]
    key: Option<String>,
}

#[derive(Deserialize)]
struct Links {
    #[serde(default, deserialize_with = "lenient")]
    html: Option<Link>,
    #[serde(default, deserialize_with = "lenient")]
    clone: Option<Vec<Link>>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(default, deserialize_with = "lenient")]
    href: Option<String>,
}

impl Payload {
    /// The repository that the event is about; of a pull request, the one that it is to.
    pub(super) fn repository(&self) -> Option<&Repository> {
        let of_resource = || {
            let resource = self.resource.as_ref()?;
            let commented = || resource.pull_request.as_ref()?.repository.as_ref();
            resource.repository.as_ref().or_else(commented)
        };
        let of_request = || self.pull_request.as_ref()?.to.as_ref()?.repository.as_ref();
        let direct = self.project.as_ref().or(self.repository.as_ref());
        direct.or_else(of_resource).or_else(of_request)
    }
}

impl Repository {
    pub(super) fn spellings(&self) -> Vec<Spelling> {
        let links = self.links.as_ref();
        let html = links.and_then(|links| links.html.as_ref());
        let clone = links.and_then(|links| links.clone.as_ref());
        let links = html.into_iter().chain(clone.into_iter().flatten());
        let urls = [
            &self.clone_url,
            &self.ssh_url,
            &self.git_http_url,
            &self.git_ssh_url,
            &self.remote_url,
        ];
        let urls = urls.into_iter().chain(links.map(|link| &link.href));
        let urls = urls.flatten().cloned().map(Spelling::Url);
        let names = [&self.full_name, &self.path_with_namespace];
        let names = names.into_iter().flatten().cloned().chain(self.by_key());
        urls.chain(names.map(Spelling::Name)).collect()
    }

    /// Of Bitbucket Data Center.
    fn by_key(&self) -> Option<String> {
        let key = self.project.as_ref()?.key.as_ref()?;
        Some(format!("{key}/{}", self.slug.as_ref()?))
    }
}

/// A value of the type `T`, or `None` for any other.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}
