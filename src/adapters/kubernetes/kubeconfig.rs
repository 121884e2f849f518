//! Kubeconfigs from untrusted authors.
//!
//! In: the text of a kubeconfig. Out: a client of its cluster, or what is wrong with it. It must not run a program or
//! read a file. Nothing from it is ever reported, not even in the messages of libraries, which may quote it; only the
//! position of the error is. It does not know where the text is from.

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::connect::{TOKEN, is_token_sound, place};

const NO_URL: &str = "the server of its cluster is not a URL such as https://host:6443";

/// What is wrong with a kubeconfig from a Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not a kubeconfig.
    #[error(
        "this is not a kubeconfig{0}; store the output of `kubectl config view --raw --minify --flatten` in it"
    )]
    Form(String),
    /// It needs something that a Secret must not do on this machine.
    #[error(
        "{0} is not allowed: a kubeconfig from a Secret must not run a program or read a file on this machine; \
         put the token or the certificates into the kubeconfig itself"
    )]
    Local(String),
    /// A part is missing or wrong.
    #[error("the kubeconfig cannot be used: {0}")]
    Part(&'static str),
}

/// How the cluster of a kubeconfig from an untrusted author is reached.
pub(super) async fn config_of(text: &[u8]) -> Result<Config, Fault> {
    let config = checked(text)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| Fault::Part(part(&error)))?;
    let server = &config.cluster_url;
    if !matches!(server.scheme_str(), Some("http" | "https")) || server.host().is_none() {
        return Err(Fault::Part(NO_URL));
    }
    if !is_token_sound(&config) {
        return Err(Fault::Part(TOKEN));
    }
    Ok(config)
}

/// A client of such a cluster.
pub(super) fn client_of(config: Config) -> Result<Client, Fault> {
    let client = super::connect::client(config);
    client.map_err(|error| Fault::Part(refused(&error)))
}

/// Reads a kubeconfig from an untrusted author.
fn checked(text: &[u8]) -> Result<Kubeconfig, Fault> {
    let text = std::str::from_utf8(text).map_err(|_| Fault::Form(String::new()))?;
    let mut config = Kubeconfig::from_yaml(text).map_err(|error| Fault::Form(place(&error)))?;
    if config.clusters.is_empty() {
        return Err(Fault::Form(": it has no clusters".to_owned()));
    }
    if let Some(local) = local(&config) {
        return Err(Fault::Local(local));
    }
    let current = config.current_context.take();
    config.current_context = current.filter(|name| !name.is_empty());
    if let ([only], None) = (config.contexts.as_slice(), &config.current_context) {
        config.current_context = Some(only.name.clone());
    }
    Ok(config)
}

/// The first field that would run a program or read a file.
fn local(config: &Kubeconfig) -> Option<String> {
    let names = |path: &Option<String>| path.as_ref().is_some_and(|path| !path.is_empty());
    let clusters = config.clusters.iter().enumerate().filter_map(|(at, one)| {
        let cluster = one.cluster.as_ref()?;
        let reads = names(&cluster.certificate_authority);
        reads.then(|| format!("clusters[{at}].cluster.certificate-authority"))
    });
    let users = config.auth_infos.iter().enumerate();
    let users = users.filter_map(|(at, one)| {
        let user = one.auth_info.as_ref()?;
        let fields = [
            ("exec", user.exec.is_some()),
            ("auth-provider", user.auth_provider.is_some()),
            ("tokenFile", names(&user.token_file)),
            ("client-certificate", names(&user.client_certificate)),
            ("client-key", names(&user.client_key)),
        ];
        let (field, _) = fields.into_iter().find(|(_, is_there)| *is_there)?;
        Some(format!("users[{at}].user.{field}"))
    });
    users.chain(clusters).next()
}

const fn part(error: &KubeconfigError) -> &'static str {
    match error {
        KubeconfigError::CurrentContextNotSet => "the kubeconfig has no current-context",
        KubeconfigError::LoadContext(_) => "its current-context is not among its contexts",
        KubeconfigError::LoadClusterOfContext(_) => {
            "the cluster of its current-context is not among its clusters"
        }
        KubeconfigError::MissingClusterUrl => "its cluster has no server",
        KubeconfigError::ParseClusterUrl(_) => NO_URL,
        KubeconfigError::ParseProxyUrl(_) => "its proxy-url is not a URL",
        KubeconfigError::LoadCertificateAuthority(_) | KubeconfigError::ParseCertificates(_) => {
            "its certificate-authority-data is not base64-encoded PEM"
        }
        KubeconfigError::LoadClientCertificate(_) => {
            "its client-certificate-data is not base64-encoded PEM"
        }
        KubeconfigError::LoadClientKey(_) => "its client-key-data is not base64-encoded PEM",
        _ => "its cluster or its user is incomplete",
    }
}

const fn refused(error: &kube::Error) -> &'static str {
    match error {
        kube::Error::ProxyProtocolUnsupported { .. }
        | kube::Error::ProxyProtocolDisabled { .. } => {
            "proxies are not supported; remove its proxy-url, or unset HTTPS_PROXY"
        }
        _ => "its certificates, its key or its impersonation settings are not valid",
    }
}
