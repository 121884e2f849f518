//! What the environment says.

use std::env;
use std::fmt;
use std::path::PathBuf;

use super::azure::Azure;
use super::provider_environment::ProviderEnvironment;

/// The settings that come from the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Whether output may be coloured (`NO_COLOR` is not set).
    pub colour: bool,
    /// Whether the terminal understands no control sequences (`TERM=dumb`).
    pub dumb: bool,
    /// What to log (`CAPSTAN_LOG`), as a filter of the tracing crate.
    pub log: Option<String>,
    /// The form of a daemon's log lines (`CAPSTAN_LOG_FORMAT`): text or json.
    pub log_format: Option<String>,
    /// The namespace of a fleet's ConfigMap if no Fleet document sets it (`CAPSTAN_NAMESPACE`).
    pub namespace: String,
    /// Where the daemon keeps its mirrors of repositories (`CAPSTAN_CACHE`, by default in the user's cache).
    pub cache: PathBuf,
    /// The name of the machine or pod that this process runs on (`HOSTNAME`).
    pub host: Option<String>,
    /// Whether it names a cluster: by `KUBECONFIG`, or because this process runs in one.
    pub names_cluster: bool,
    /// The directory with the credential of the repository (`CAPSTAN_SOURCE_CREDENTIAL`).
    pub source_credential: Option<PathBuf>,
    /// The directory with the credential of the forge (`CAPSTAN_CHECKS_CREDENTIAL`).
    pub checks_credential: Option<PathBuf>,
    /// The proxy for git over HTTPS.
    pub proxy: Option<HttpsProxy>,
    /// How tokens of Azure are asked for.
    pub azure: Azure,
    /// The variables of a service provider (`SP_*` and `DCM_*`).
    pub provider: ProviderEnvironment,
}

/// A proxy for HTTPS, as curl and git read it from the environment. Its URL may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpsProxy {
    /// `HTTPS_PROXY`, else `ALL_PROXY`.
    pub url: String,
    /// `NO_PROXY`: hosts, domains and networks that are reached without it.
    pub except: String,
}

impl fmt::Debug for HttpsProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsProxy")
            .field("except", &self.except)
            .finish_non_exhaustive()
    }
}

impl Environment {
    /// Reads the environment.
    #[must_use]
    pub fn read() -> Self {
        let mut read = Self::from(|name| env::var(name).ok().filter(|value| !value.is_empty()));
        let all = env::vars_os().map(|(name, value)| (name, value.is_empty()));
        let all = all.filter_map(|(name, is_empty)| Some((name.into_string().ok()?, is_empty)));
        read.azure.check_names(all);
        read
    }

    /// The directory with the mirrors of the Fleet objects of a namespace.
    #[must_use]
    pub fn mirrors_of(&self, namespace: &str) -> PathBuf {
        self.cache.join("fleets").join(namespace)
    }

    pub(super) fn from(variable: impl Fn(&str) -> Option<String>) -> Self {
        let user_cache = || {
            let base = variable("XDG_CACHE_HOME").map(PathBuf::from);
            base.or_else(|| Some(std::path::Path::new(&variable("HOME")?).join(".cache")))
                .unwrap_or_else(env::temp_dir)
                .join("capstan")
        };
        Self {
            colour: variable("NO_COLOR").is_none(),
            dumb: variable("TERM").is_some_and(|term| term == "dumb"),
            log: variable("CAPSTAN_LOG"),
            log_format: variable("CAPSTAN_LOG_FORMAT"),
            namespace: variable("CAPSTAN_NAMESPACE").unwrap_or_else(|| "capstan-system".to_owned()),
            cache: variable("CAPSTAN_CACHE").map_or_else(user_cache, PathBuf::from),
            host: variable("HOSTNAME"),
            names_cluster: ["KUBECONFIG", "KUBERNETES_SERVICE_HOST"]
                .iter()
                .any(|name| variable(name).is_some()),
            source_credential: variable("CAPSTAN_SOURCE_CREDENTIAL").map(PathBuf::from),
            checks_credential: variable("CAPSTAN_CHECKS_CREDENTIAL").map(PathBuf::from),
            proxy: proxy(&variable),
            azure: Azure::from(&variable),
            provider: ProviderEnvironment::from(&variable),
        }
    }
}

/// Small letters come first, as in curl.
fn proxy(variable: &impl Fn(&str) -> Option<String>) -> Option<HttpsProxy> {
    let either = |name: &str| variable(&name.to_lowercase()).or_else(|| variable(name));
    Some(HttpsProxy {
        url: either("HTTPS_PROXY").or_else(|| either("ALL_PROXY"))?,
        except: either("NO_PROXY").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_has_defaults() {
        let environment = Environment::from(|name| (name == "HOME").then(|| "/home/me".to_owned()));
        assert!(environment.colour && environment.log.is_none());
        assert_eq!(environment.namespace, "capstan-system");
        assert_eq!(
            environment.cache,
            std::path::Path::new("/home/me/.cache/capstan")
        );
        let set = Environment::from(|name| Some(format!("{name}!")));
        assert!(!set.colour);
        assert_eq!(set.namespace, "CAPSTAN_NAMESPACE!");
    }

    #[test]
    fn the_proxy_is_that_of_curl() {
        let url = |set: &[(&str, &str)]| {
            let set = set.to_vec();
            let found = move |name: &str| {
                let mut set = set.iter();
                Some(set.find(|(key, _)| *key == name)?.1.to_owned())
            };
            Environment::from(found)
                .proxy
                .map(|proxy| (proxy.url, proxy.except))
        };
        let expected = |url: &str, except: &str| Some((url.to_owned(), except.to_owned()));
        assert_eq!(url(&[("HTTP_PROXY", "a"), ("NO_PROXY", "b")]), None);
        assert_eq!(
            url(&[("HTTPS_PROXY", "a"), ("https_proxy", "b")]),
            expected("b", "")
        );
        let all = [("ALL_PROXY", "a"), ("no_proxy", "b,c")];
        assert_eq!(url(&all), expected("a", "b,c"));
        let secret =
            Environment::from(|name| (name == "https_proxy").then(|| "hunter2".to_owned()));
        assert!(!format!("{secret:?}").contains("hunter2"));
    }
}
