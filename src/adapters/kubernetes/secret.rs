//! Connects to a cluster whose kubeconfig is in a Secret of another cluster.
//!
//! In: a client of the cluster with the Secret. Out: a client of the other cluster, which follows later
//! changes of the Secret. A writer of the Secret is trusted with that cluster, not with this
//! machine: its kubeconfig must not run a program or read a file. Nothing from it is ever reported, not
//! even in the messages of libraries, which may quote it; only the position of the error is.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::Request;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1;
use kube::client::Body;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::Error;
use super::address::check;
use super::kubeconfig::{Fault, client_of, config_of};
use super::request::in_time;
use super::watch;
use crate::apply::backoff;
use crate::model::{ErrorClass, ObjectId};

/// The keys in which Cluster API and others keep a kubeconfig.
const KEYS: [&str; 2] = ["value", "kubeconfig"];

const UNVERIFIED: &str = "insecure-skip-tls-verify is not allowed; put the cluster's \
                          certificate-authority-data there instead";

/// No client can be made from a Secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The Secret does not exist.
    #[error(
        "{0} does not exist. It must contain the kubeconfig of the cluster that the fleet is applied to: \
         create it, or correct spec.cluster.kubeconfigSecretRef"
    )]
    Missing(ObjectId),
    /// The Secret cannot be read.
    #[error(transparent)]
    Unread(Box<Error>),
    /// The Secret has none of the known keys.
    #[error(
        "{secret} has neither the key `value` nor `kubeconfig` (its keys: {known}): store the kubeconfig in one of these keys"
    )]
    Key {
        /// The Secret.
        secret: ObjectId,
        /// Its keys.
        known: String,
    },
    /// The kubeconfig cannot be used.
    #[error("{secret}: key {key}: {fault}")]
    Content {
        /// The Secret.
        secret: ObjectId,
        /// The key with the kubeconfig.
        key: String,
        /// What is wrong.
        fault: Fault,
    },
}

/// A client of the cluster whose kubeconfig is in the Secret `name` of the cluster `holder`. As long as
/// `holder` does not answer, the request is repeated, and the reason is reported to `waits` once; no request
/// goes to the cluster itself yet.
///
/// # Errors
/// If the Secret does not exist, cannot be read, or has no usable kubeconfig.
pub async fn connect_by_secret(
    holder: &Client,
    namespace: &str,
    name: &str,
    waits: impl Fn(&Error),
) -> Result<Client, SecretError> {
    let id = ObjectId::new("", "Secret", namespace, name);
    let found = read(holder, &id, waits).await?;
    let first = Connection::of(&id, &found).await?;
    let namespace = first.client.default_namespace().to_owned();
    let (sender, client) = channel(first.client.clone());
    let updates = watch::object(holder, &id.namespace, name);
    let task = tokio::spawn(follow(id, first, updates, sender).in_current_span());
    let switch = Switch {
        client,
        _follower: AbortOnDropHandle::new(task),
    };
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = switch.now();
        async move { client.send(request).await }
    });
    Ok(Client::new(service, namespace))
}

/// The current client. The task that updates it ends with it.
struct Switch {
    client: Receiver<Client>,
    _follower: AbortOnDropHandle<()>,
}

impl Switch {
    fn now(&self) -> Client {
        self.client.borrow().clone()
    }
}

/// A connection to a cluster.
struct Connection {
    /// The content that it was made from.
    text: Vec<u8>,
    /// The cluster's address.
    server: http::Uri,
    client: Client,
}

impl Connection {
    async fn of(id: &ObjectId, secret: &v1::Secret) -> Result<Self, SecretError> {
        let (key, text) = chosen(secret.data.as_ref()).map_err(|known| SecretError::Key {
            secret: id.clone(),
            known,
        })?;
        let fail = |fault| SecretError::Content {
            secret: id.clone(),
            key: key.to_owned(),
            fault,
        };
        let config = config_of(&text.0).await.map_err(fail)?;
        if config.accept_invalid_certs {
            return Err(fail(Fault::Part(UNVERIFIED)));
        }
        Ok(Self {
            text: text.0.clone(),
            server: config.cluster_url.clone(),
            client: client_of(config).map_err(fail)?,
        })
    }
}

async fn read(
    holder: &Client,
    id: &ObjectId,
    waits: impl Fn(&Error),
) -> Result<v1::Secret, SecretError> {
    let api: Api<v1::Secret> = Api::namespaced(holder.clone(), &id.namespace);
    for failures in 1.. {
        let asked = async {
            check(&id.namespace, &id.name).map_err(|error| Error::new(id, error))?;
            api.get(&id.name).await.map_err(|e| Error::new(id, e))
        };
        let error = match in_time(id, asked).await {
            Ok(secret) => return Ok(secret),
            Err(error) => error,
        };
        match error.class() {
            ErrorClass::Gone => break,
            ErrorClass::Transient => {}
            _ => return Err(SecretError::Unread(Box::new(error))),
        }
        if failures == 1 {
            waits(&error);
        }
        let wait = backoff(error.class(), failures, error.retry_after()).wait;
        tokio::time::sleep(wait).await;
    }
    Err(SecretError::Missing(id.clone()))
}

/// Switches to the new content of the Secret, if it can be used.
async fn follow(
    id: ObjectId,
    mut connection: Connection,
    mut updates: BoxStream<'static, watcher::Result<Option<v1::Secret>>>,
    sender: Sender<Client>,
) {
    let mut watched = true;
    while let Some(update) = updates.next().await {
        let interrupted = update.is_err();
        match update {
            Ok(Some(secret)) => {
                if let Some(next) = changed(&id, &connection, &secret).await {
                    tracing::info!(object = %id, "the kubeconfig has changed; the fleet now uses the new one");
                    let _ = sender.send(next.client.clone());
                    connection = next;
                }
            }
            Ok(None) => {
                tracing::warn!(object = %id, "the Secret was deleted; the fleet keeps using its last kubeconfig")
            }
            Err(error) if watched => {
                tracing::warn!(object = %id, %error, "the Secret cannot be watched, so a change is noticed late; retrying");
            }
            Err(_) => {}
        }
        watched = !interrupted;
    }
}

/// The connection that the Secret describes now, if it is a new one to the same cluster.
async fn changed(
    id: &ObjectId,
    connection: &Connection,
    secret: &v1::Secret,
) -> Option<Connection> {
    let next = match Connection::of(id, secret).await {
        Ok(next) => next,
        Err(error) => {
            tracing::warn!(%error, "the fleet keeps using the previous kubeconfig");
            return None;
        }
    };
    // The state of one cluster must not be taken for the state of another.
    if next.server != connection.server {
        tracing::warn!(object = %id, "the kubeconfig now names another server; the fleet stays on the old one until the daemon is restarted");
        return None;
    }
    (next.text != connection.text).then_some(next)
}

/// The kubeconfig in a Secret, and its key; otherwise the Secret's keys, for people.
fn chosen(data: Option<&BTreeMap<String, ByteString>>) -> Result<(&str, &ByteString), String> {
    let all = || data.into_iter().flatten();
    let known = KEYS
        .iter()
        .find_map(|key| all().find(|(name, _)| name == key));
    let only = || all().next().filter(|_| all().count() == 1);
    let found = known.or_else(only).map(|(key, text)| (key.as_str(), text));
    found.ok_or_else(|| {
        let keys: Vec<&str> = all().map(|(name, _)| name.as_str()).collect();
        match keys.as_slice() {
            [] => "none".to_owned(),
            keys => keys.join(", "),
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use http::{Response, StatusCode};
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;

    /// A value that must not appear in any message.
    const HIDDEN: &str = "t0psecret";

    fn id() -> ObjectId {
        ObjectId::new("", "Secret", "fleets", "mgmt")
    }

    fn secret(data: &[(&str, &str)]) -> v1::Secret {
        let data = data.iter();
        let data = data.map(|(key, text)| ((*key).to_owned(), ByteString((*text).into())));
        v1::Secret {
            data: Some(data.collect()),
            ..v1::Secret::default()
        }
    }

    fn kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "{{current-context: a, clusters: [{{name: a, cluster: {cluster}}}], \
             users: [{{name: a, user: {user}}}], contexts: [{{name: a, context: {{cluster: a, user: a}}}}]}}"
        )
    }

    /// The error of a kubeconfig; empty if it can be used.
    async fn error_of(text: &str) -> String {
        let connection = Connection::of(&id(), &secret(&[("value", text)])).await;
        connection
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    const SERVER: &str = "{server: 'http://127.0.0.1:1'}";

    #[test]
    fn the_key_is_the_one_of_cluster_api_or_the_usual_one_or_the_only_one() {
        let key = |data: &[(&str, &str)]| {
            let secret = secret(data);
            chosen(secret.data.as_ref()).map(|(key, _)| key.to_owned())
        };
        assert_eq!(key(&[("kubeconfig", ""), ("value", "")]).unwrap(), "value");
        assert_eq!(key(&[("a", ""), ("kubeconfig", "")]).unwrap(), "kubeconfig");
        assert_eq!(key(&[("admin.conf", "")]).unwrap(), "admin.conf");
        assert_eq!(key(&[("a", HIDDEN), ("b", "")]).unwrap_err(), "a, b");
        assert_eq!(key(&[]).unwrap_err(), "none");
    }

    #[tokio::test]
    async fn a_self_contained_kubeconfig_is_accepted() {
        for user in ["{}", "{token: x}", "{username: x, password: y}"] {
            assert_eq!(error_of(&kubeconfig(SERVER, user)).await, "", "{user}");
        }
        let only = kubeconfig(SERVER, "{}").replace("current-context: a, ", "");
        assert_eq!(error_of(&only).await, "");
        let empty = kubeconfig(SERVER, "{}").replace("current-context: a", "current-context: ''");
        assert_eq!(error_of(&empty).await, "");
    }

    #[tokio::test]
    async fn programs_are_not_run_and_files_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let trace = dir.path().join("trace");
        let run = format!(
            "{{apiVersion: client.authentication.k8s.io/v1, command: touch, args: ['{}']}}",
            trace.display()
        );
        let provider = format!(
            "{{name: gcp, config: {{cmd-path: touch, cmd-args: '{}'}}}}",
            trace.display()
        );
        let cases = [
            ("users[0].user.exec", SERVER, format!("{{exec: {run}}}")),
            (
                "users[0].user.auth-provider",
                SERVER,
                format!("{{auth-provider: {provider}}}"),
            ),
            ("users[0].user.tokenFile", SERVER, "{tokenFile: /x}".into()),
            (
                "users[0].user.client-certificate",
                SERVER,
                "{client-certificate: /x, client-key-data: eA==}".into(),
            ),
            (
                "users[0].user.client-key",
                SERVER,
                "{client-key: /x}".into(),
            ),
            (
                "clusters[0].cluster.certificate-authority",
                "{server: 'https://127.0.0.1:1', certificate-authority: /x}",
                "{}".into(),
            ),
        ];
        for (field, cluster, user) in cases {
            let message = error_of(&kubeconfig(cluster, &user)).await;
            let expected = format!(
                "Secret/fleets/mgmt: key value: {field} is not allowed: a kubeconfig from a Secret must not \
                 run a program or read a file on this machine; put the token or the certificates into the kubeconfig itself"
            );
            assert_eq!(message, expected);
        }
        assert!(!trace.exists());
    }

    /// The error of this kubeconfig contains `expected` and nothing from the kubeconfig.
    async fn check_error(text: &str, expected: &str) {
        let message = error_of(text).await;
        let beginning = "Secret/fleets/mgmt: key value: ";
        assert!(message.starts_with(beginning), "{message}");
        assert!(message.contains(expected), "{text}\n{message}");
        assert!(!message.contains(HIDDEN), "{message}");
    }

    #[tokio::test]
    async fn what_is_not_a_kubeconfig_is_reported_without_its_content() {
        let unread = "this is not a kubeconfig: it cannot be read";
        check_error("t0psecret", &format!("{unread} at line 1, column 1;")).await;
        check_error("a: [t0psecret", &format!("{unread} at line 1, column ")).await;
        check_error("users: {t0psecret: 1}", &format!("{unread} at line 1")).await;
        check_error(&kubeconfig(SERVER, "{token: [t0psecret]}"), unread).await;
        check_error(&kubeconfig(SERVER, "{exec: t0psecret}"), unread).await;
        check_error("", "this is not a kubeconfig: it has no clusters;").await;
        let bytes = v1::Secret {
            data: Some([("value".to_owned(), ByteString(vec![0xff]))].into()),
            ..v1::Secret::default()
        };
        let message = Connection::of(&id(), &bytes)
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(message.contains("this is not a kubeconfig;"), "{message}");
    }

    #[tokio::test]
    async fn what_is_wrong_in_a_kubeconfig_is_reported_without_its_content() {
        let token = format!("{{token: {HIDDEN}}}");
        let sound = kubeconfig(SERVER, &token);
        let context = sound.replace("current-context: a", "current-context: t0psecret");
        let expected = "its current-context is not among its contexts";
        check_error(&context, expected).await;
        let cluster = sound.replace("cluster: a,", "cluster: t0psecret,");
        let expected = "the cluster of its current-context is not among";
        check_error(&cluster, expected).await;
        let clusters = [
            ("{}", "its cluster has no server"),
            (
                "{server: 't0psecret:6443'}",
                "the server of its cluster is not a URL",
            ),
            (
                "{server: '://t0psecret'}",
                "the server of its cluster is not a URL",
            ),
            (
                "{server: 'http://x', proxy-url: 'http://t0psecret:t0psecret@x'}",
                "proxies are not supported",
            ),
            (
                "{server: 'http://x', proxy-url: 'http://t0psecret t0psecret'}",
                "its proxy-url is not a URL",
            ),
            (
                "{server: 'https://x', certificate-authority-data: t0psecret}",
                "its certificate-authority-data is not base64-encoded PEM",
            ),
            (
                "{server: 'https://x', insecure-skip-tls-verify: true}",
                "insecure-skip-tls-verify is not allowed",
            ),
        ];
        for (cluster, expected) in clusters {
            check_error(&kubeconfig(cluster, &token), expected).await;
        }
        let users = [
            (
                "{client-certificate-data: t0psecret, client-key-data: t0psecret}",
                "its certificates, its key or its impersonation settings are not valid",
            ),
            (
                r#"{token: "t0psecret\nx"}"#,
                "its token contains invalid characters",
            ),
        ];
        for (user, expected) in users {
            check_error(&kubeconfig("{server: 'https://x'}", user), expected).await;
        }
    }

    #[tokio::test]
    async fn a_secret_without_a_known_key_lists_those_it_has() {
        let keys = Connection::of(&id(), &secret(&[("a", HIDDEN), ("b", "")])).await;
        assert_eq!(
            keys.err().unwrap().to_string(),
            "Secret/fleets/mgmt has neither the key `value` nor `kubeconfig` (its keys: a, b): store the kubeconfig in one of these keys"
        );
    }

    /// A cluster that gives these answers in turn, and the seconds at which requests came.
    fn holder(answers: Vec<(u16, serde_json::Value)>) -> (Client, Arc<Mutex<Vec<u64>>>) {
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let asked = Arc::clone(&times);
        let mut answers = answers.into_iter();
        let service = tower::service_fn(move |_: Request<Body>| {
            asked.lock().unwrap().push(start.elapsed().as_secs());
            let (code, body) = answers.next().unwrap_or((503, json!({})));
            let mut response = Response::new(Body::from(body.to_string().into_bytes()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        (Client::new(service, "default"), times)
    }

    fn status(code: u16, reason: &str) -> (u16, serde_json::Value) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
            "message": "so it is", "reason": reason, "code": code});
        (code, status)
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_does_not_answer_is_asked_again_and_what_it_lacks_is_reported() {
        let away = || status(503, "ServiceUnavailable");
        let there = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mgmt"}});
        let (client, times) = holder(vec![away(), away(), away(), (200, there)]);
        let reports = Mutex::new(0);
        read(&client, &id(), |_| *reports.lock().unwrap() += 1)
            .await
            .unwrap();
        assert_eq!(*reports.lock().unwrap(), 1);
        assert_eq!(*times.lock().unwrap(), [0, 1, 3, 7]);

        let (client, _) = holder(vec![away(), status(404, "NotFound")]);
        let error = read(&client, &id(), |_| {}).await.unwrap_err().to_string();
        let expected = "Secret/fleets/mgmt does not exist. It must contain the kubeconfig";
        assert!(error.starts_with(expected), "{error}");
        let (client, _) = holder(vec![status(403, "Forbidden")]);
        let error = read(&client, &id(), |_| {}).await.unwrap_err().to_string();
        assert!(error.contains("so it is"), "{error}");
    }
}
