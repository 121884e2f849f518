//! Acting as a ServiceAccount by impersonation, with the rights of that account alone.
//!
//! In: a client and an account. Out: the client as that account. It does not know what the account is used for.

use http::{HeaderName, HeaderValue};
use kube::Client;

use super::Error;
use super::request::with_timeout;
use crate::model::ObjectId;

/// The header of a request on behalf of another user (Kubernetes: "User impersonation"). The API server adds the groups of a
/// ServiceAccount itself.
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// The client as the ServiceAccount `account` of `namespace`; both are DNS names. Whoever `client` is needs the right to impersonate it.
///
/// # Errors
/// If the cluster does not answer, or refuses the impersonation.
pub async fn act_as(client: &Client, namespace: &str, account: &str) -> Result<Client, Error> {
    let id = ObjectId::new("", "ServiceAccount", namespace, account);
    let user = HeaderValue::from_str(&format!("system:serviceaccount:{namespace}:{account}"));
    let user = user.map_err(|error| Error::Unsendable {
        object: id.clone(),
        cause: error.to_string(),
    })?;
    let inner = client.clone();
    let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
        let inner = inner.clone();
        request.headers_mut().insert(IMPERSONATE_USER, user.clone());
        async move { inner.send(request).await }
    });
    let acting = Client::new(service, namespace);
    // Everybody may ask this, so only a refused impersonation is an error.
    let version = async {
        let version = acting.apiserver_version().await;
        version.map(drop).map_err(|error| Error::new(&id, error))
    };
    with_timeout(&id, version).await?;
    Ok(acting)
}
