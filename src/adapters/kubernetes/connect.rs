//! Connects to a cluster.
//!
//! In: the user's choice of a cluster. Out: a client, which repeats requests that an overloaded server
//! rejected (429, 503, 504) and honours its `Retry-After`. It does not know what the client is for.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::retry::repeating;

/// The choice of a cluster. Without either field: the cluster that this process runs in, or the one in
/// `KUBECONFIG` or `~/.kube/config`, as with kubectl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// A kubeconfig file.
    pub kubeconfig: Option<PathBuf>,
    /// A context in it other than its current one.
    pub context: Option<String>,
}

/// No client can be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No cluster is configured.
    #[error(
        "no cluster is configured: this process does not run in a cluster, and {}; use --kubeconfig FILE",
        plain(.0)
    )]
    Nowhere(KubeconfigError),
    /// The file cannot be used.
    #[error("cannot read the kubeconfig: {}", plain(.0))]
    File(Box<KubeconfigError>),
    /// The context does not exist.
    #[error(
        "the kubeconfig {file} has no context {wanted:?}; it has {known}: choose one of them with --context"
    )]
    Context {
        /// Which file it is.
        file: String,
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: String,
    },
    /// Something in the kubeconfig does not work, such as its certificates.
    #[error("the kubeconfig cannot be used: {0}")]
    Credentials(Box<dyn std::error::Error + Send + Sync>),
}

/// The library's message quotes paths as Rust does, and shows the lines of an invalid file, which may
/// contain a token.
fn plain(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(_) => format!("it is not a kubeconfig in YAML{}", place(error)),
        KubeconfigError::ReadConfig(cause, path) => format!("{}: {cause}", path.display()),
        other => other.to_string(),
    }
}

/// The position at which parsing a kubeconfig failed; empty if unknown.
pub(super) fn place(error: &KubeconfigError) -> String {
    let location = match error {
        KubeconfigError::Parse(cause) => cause.location(),
        _ => None,
    };
    location.map_or_else(String::new, |at| {
        format!(
            ": it cannot be read at line {}, column {}",
            at.line(),
            at.column()
        )
    })
}

/// A client for the chosen cluster. No request is sent yet.
///
/// # Errors
/// Returns an error if no kubeconfig is found, or if it is not valid.
pub async fn connect(access: &Access) -> Result<Client, ConnectError> {
    connect_named(access).await.map(|(client, _)| client)
}

/// The same, and what to call the cluster in messages: its address, and the context of the kubeconfig.
///
/// # Errors
/// Returns an error if no kubeconfig is found, or if it is not valid.
pub async fn connect_named(access: &Access) -> Result<(Client, String), ConnectError> {
    let (config, context) = match (&access.kubeconfig, &access.context) {
        (None, None) => match Config::incluster() {
            Ok(config) => (config, None),
            Err(_) => from_file(access).await?,
        },
        _ => from_file(access).await?,
    };
    if !is_token_sound(&config) {
        return Err(ConnectError::Credentials(TOKEN.into()));
    }
    let address = address(&config.cluster_url);
    let name = match context {
        Some(context) => format!("{address} (context {context})"),
        None => address,
    };
    let client = client(config);
    let client = client.map_err(|error| ConnectError::Credentials(Box::new(error)))?;
    Ok((client, name))
}

/// A client that repeats rejected requests as we want it: the library's own would do so for minutes.
pub(super) fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.default_retry = false;
    Ok(repeating(Client::try_from(config)?))
}

/// A URL without a user and a password.
fn address(url: &http::Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("https");
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{}", url.path().trim_end_matches('/'))
}

/// The message for an invalid token.
pub(super) const TOKEN: &str = "its token contains invalid characters, such as a line break";

/// Whether the token, if there is one, fits into a request. Otherwise making a client would panic.
pub(super) fn is_token_sound(config: &Config) -> bool {
    // The error would show the token.
    let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
    let token = user["token"].as_str().unwrap_or_default();
    http::HeaderValue::from_str(token).is_ok()
}

/// What a kubeconfig says, and the context that is used.
async fn from_file(access: &Access) -> Result<(Config, Option<String>), ConnectError> {
    let file = match &access.kubeconfig {
        Some(file) => {
            Kubeconfig::read_from(file).map_err(|cause| ConnectError::File(Box::new(cause)))?
        }
        None => Kubeconfig::read().map_err(ConnectError::Nowhere)?,
    };
    if let Some(wanted) = &access.context
        && !file.contexts.iter().any(|context| context.name == *wanted)
    {
        let known: Vec<&str> = file.contexts.iter().map(|one| one.name.as_str()).collect();
        let file = access.kubeconfig.as_ref();
        return Err(ConnectError::Context {
            file: file.map_or_else(
                || "of KUBECONFIG or ~/.kube/config".to_owned(),
                |file| file.display().to_string(),
            ),
            wanted: wanted.clone(),
            known: match known.as_slice() {
                [] => "none".to_owned(),
                known => known.join(", "),
            },
        });
    }
    let context = access.context.clone();
    let used = context.clone().or_else(|| file.current_context.clone());
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(file, &options).await;
    let config = config.map_err(|error| ConnectError::Credentials(Box::new(error)))?;
    Ok((config, used))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;

    use super::*;

    const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: one, cluster: {server: \"http://127.0.0.1:1\"}}]
users: [{name: me, user: {}}]
contexts: [{name: one, context: {cluster: one, user: me, namespace: here}}, {name: two, context: {cluster: gone, user: me}}]
";

    async fn connected(text: &str, context: Option<&str>) -> Result<Client, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let access = Access {
            kubeconfig: Some(file.path().to_owned()),
            context: context.map(ToOwned::to_owned),
        };
        connect(&access).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn the_current_context_is_used_unless_another_is_named() {
        let client = connected(KUBECONFIG, None).await.unwrap();
        assert_eq!(client.default_namespace(), "here");
        let refused = |result: Result<Client, String>| result.err().unwrap_or_default();
        let missing = refused(connected(KUBECONFIG, Some("three")).await);
        assert!(
            missing.ends_with(
                " has no context \"three\"; it has one, two: choose one of them with --context"
            ),
            "{missing}"
        );
        let broken = refused(connected(KUBECONFIG, Some("two")).await);
        assert!(broken.contains("gone"), "{broken}");
        let token = KUBECONFIG.replace("user: {}", r#"user: {token: "a\nb"}"#);
        let broken = refused(connected(&token, None).await);
        assert!(broken.ends_with("such as a line break"), "{broken}");
        let broken = refused(connected("{", None).await);
        assert!(broken.contains("YAML"), "{broken}");
        let token = KUBECONFIG.replace("user: {}", "user: {token: hunter2, : }}");
        let broken = refused(connected(&token, None).await);
        assert!(broken.contains("at line 5, column "), "{broken}");
        assert!(!broken.contains("hunter2"), "{broken}");
    }

    #[tokio::test]
    async fn a_cluster_is_called_by_its_address_and_context() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let text = KUBECONFIG.replace("http://127.0.0.1:1", "http://me:hunter2@127.0.0.1:1/k8s/");
        file.write_all(text.as_bytes()).unwrap();
        let access = Access {
            kubeconfig: Some(file.path().to_owned()),
            context: None,
        };
        let (_, name) = connect_named(&access).await.unwrap();
        assert_eq!(name, "http://127.0.0.1:1/k8s (context one)");
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_named() {
        let access = Access {
            kubeconfig: Some("no/such/file".into()),
            context: None,
        };
        let error = connect(&access).await.err().unwrap().to_string();
        assert!(
            error.starts_with("cannot read the kubeconfig: no/such/file: "),
            "{error}"
        );
    }
}
