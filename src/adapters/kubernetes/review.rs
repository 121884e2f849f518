//! Reviews of access: may somebody do something?
//!
//! In: rules of roles, and an account. Out: those rights that the account lacks, by the API server's own answers. It does not
//! know what the rights are for.

use std::fmt;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value as Json;

use super::Error;
use super::request::with_timeout;
use crate::health::Live;
use crate::model::ObjectId;

/// The most questions that are asked at once.
const WIDTH: usize = 16;
/// The beginning of the user name of a service account.
const ACCOUNT: &str = "system:serviceaccount:";

/// A right: something that can be done with a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// API group.
    pub group: String,
    /// The plural of the kind, and `/status` or another subresource.
    pub resource: String,
    /// Empty for all objects.
    pub name: String,
    /// Empty for the whole cluster.
    pub namespace: String,
    /// Such as `get`.
    pub verb: String,
}

impl Right {
    /// All rights that a ClusterRole or a Role grants.
    #[must_use]
    pub fn of_role(role: &Json) -> Vec<Self> {
        let namespace = Live(role).namespace();
        let rules = role["rules"].as_array().into_iter().flatten();
        let mut rights = Vec::new();
        for rule in rules {
            let names = match rule.get("resourceNames") {
                Some(_) => texts(rule, "resourceNames"),
                None => vec![""],
            };
            for group in texts(rule, "apiGroups") {
                for resource in texts(rule, "resources") {
                    for name in &names {
                        let right = |verb: &str| Self {
                            group: group.to_owned(),
                            resource: resource.to_owned(),
                            name: (*name).to_owned(),
                            namespace: namespace.to_owned(),
                            verb: verb.to_owned(),
                        };
                        rights.extend(texts(rule, "verbs").into_iter().map(right));
                    }
                }
            }
        }
        rights
    }

    fn attributes(&self) -> ResourceAttributes {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let (resource, part) = match self.resource.split_once('/') {
            Some((resource, part)) => (resource, part),
            None => (self.resource.as_str(), ""),
        };
        ResourceAttributes {
            group: Some(self.group.clone()),
            resource: some(resource),
            subresource: some(part),
            name: some(&self.name),
            namespace: some(&self.namespace),
            verb: some(&self.verb),
            ..ResourceAttributes::default()
        }
    }
}

fn texts<'a>(rule: &'a Json, key: &str) -> Vec<&'a str> {
    let list = rule[key].as_array().into_iter().flatten();
    list.filter_map(Json::as_str).collect()
}

impl Right {
    /// The resource, as `secrets git` or `clusters.cluster.x-k8s.io`.
    #[must_use]
    pub fn what(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let space = if self.name.is_empty() { "" } else { " " };
        format!("{}{dot}{}{space}{}", self.resource, self.group, self.name)
    }

    /// A namespace, or the whole cluster if it is empty, as a place in messages.
    #[must_use]
    pub fn place(namespace: &str) -> String {
        match namespace {
            "" => "in the whole cluster".to_owned(),
            namespace => format!("in namespace {namespace}"),
        }
    }
}

/// `secrets git in namespace fleets`, without the verb.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what(), Self::place(&self.namespace))
    }
}

/// Those of `rights` that the caller lacks, or `account`, the user name of a service account.
///
/// # Errors
/// If the cluster does not answer, or the caller may not ask about others.
pub async fn lacking(
    client: &Client,
    rights: &[Right],
    account: Option<&str>,
) -> Result<Vec<Right>, Error> {
    let ask = |right: Right| async move {
        let is_allowed = allows(client, &right, account).await?;
        Ok::<_, Error>((!is_allowed).then_some(right))
    };
    let answers = stream::iter(rights.iter().cloned().map(ask)).buffered(WIDTH);
    let answers: Vec<Option<Right>> = answers.try_collect().await?;
    Ok(answers.into_iter().flatten().collect())
}

/// Returns true if the caller, or `account`, may do it.
pub(super) async fn allows(
    client: &Client,
    right: &Right,
    account: Option<&str>,
) -> Result<bool, Error> {
    let group = "authorization.k8s.io";
    let attributes = Some(right.attributes());
    let params = PostParams::default();
    let status: Option<SubjectAccessReviewStatus> = match account {
        None => {
            let id = ObjectId::new(group, "SelfSubjectAccessReview", "", &*right.verb);
            let spec = SelfSubjectAccessReviewSpec {
                resource_attributes: attributes,
                ..SelfSubjectAccessReviewSpec::default()
            };
            let review = SelfSubjectAccessReview {
                spec,
                ..SelfSubjectAccessReview::default()
            };
            let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
            let answer = async {
                let answer = api.create(&params, &review).await;
                answer.map_err(|error| Error::new(&id, error))
            };
            with_timeout(&id, answer).await?.status
        }
        Some(account) => {
            let id = ObjectId::new(group, "SubjectAccessReview", "", &*right.verb);
            let spec = SubjectAccessReviewSpec {
                resource_attributes: attributes,
                user: Some(account.to_owned()),
                groups: Some(groups(account)),
                ..SubjectAccessReviewSpec::default()
            };
            let review = SubjectAccessReview {
                spec,
                ..SubjectAccessReview::default()
            };
            let api: Api<SubjectAccessReview> = Api::all(client.clone());
            let answer = async {
                let answer = api.create(&params, &review).await;
                answer.map_err(|error| Error::new(&id, error))
            };
            with_timeout(&id, answer).await?.status
        }
    };
    Ok(status.is_some_and(|status| status.allowed))
}

/// The groups of a service account, which the API server does not add by itself.
fn groups(account: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    let place = account.strip_prefix(ACCOUNT);
    if let Some((namespace, _)) = place.and_then(|place| place.split_once(':')) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

/// The name of the caller, where the API server knows it (since Kubernetes 1.28).
pub async fn whoami(client: &Client) -> Option<String> {
    let id = ObjectId::new("authentication.k8s.io", "SelfSubjectReview", "", "");
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = SelfSubjectReview::default();
    let params = PostParams::default();
    let answer = async {
        let answer = api.create(&params, &review).await;
        answer.map_err(|error| Error::new(&id, error))
    };
    let answer = with_timeout(&id, answer).await.ok()?;
    answer.status?.user_info?.username
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_role_grants_each_verb_on_each_resource_and_name() {
        let role = json!({"metadata": {"namespace": "n"}, "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"]},
            {"apiGroups": ["x.dev"], "resources": ["things", "things/status"], "verbs": ["list", "patch"]},
        ]});
        let rights = Right::of_role(&role);
        let rights: Vec<String> = rights
            .iter()
            .map(|right| format!("{} {right}", right.verb))
            .collect();
        assert_eq!(
            rights,
            [
                "get secrets a in namespace n",
                "get secrets b in namespace n",
                "list things.x.dev in namespace n",
                "patch things.x.dev in namespace n",
                "list things/status.x.dev in namespace n",
                "patch things/status.x.dev in namespace n",
            ]
        );
        let part = Right::of_role(&role)[4].attributes();
        assert_eq!(part.resource.as_deref(), Some("things"));
        assert_eq!(part.subresource.as_deref(), Some("status"));
        assert_eq!(Right::of_role(&json!({"rules": []})), []);
    }

    #[test]
    fn a_service_account_has_its_groups() {
        let expected = [
            "system:authenticated",
            "system:serviceaccounts",
            "system:serviceaccounts:n",
        ];
        assert_eq!(groups("system:serviceaccount:n:capstan"), expected);
        assert_eq!(groups("somebody"), expected[..1]);
    }
}
