//! URLs of the API.
//!
//! In: the path of a request. Out: which document or object it names. It does not know which groups,
//! versions and resources exist.

use percent_encoding::percent_decode_str;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/<group>`.
    Group(String),
    /// `/openapi/v3`.
    Specifications,
    /// `/openapi/v3/api/v1`, `/openapi/v3/apis/<group>/<version>`.
    Specification {
        /// API group, empty for core.
        group: String,
        /// Version.
        version: String,
    },
    /// `/api/v1`, `/apis/<group>/<version>`.
    Resources {
        /// API group, empty for core.
        group: String,
        /// Version.
        version: String,
    },
    /// A collection, an object or one of its subresources.
    Target(Target),
    /// Nothing.
    Unknown,
}

/// A collection, an object or a subresource, by the words in its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// API group, empty for core.
    pub(super) group: String,
    /// Version.
    pub(super) version: String,
    /// Namespace, when the path has one.
    pub(super) namespace: Option<String>,
    /// Plural of the resource.
    pub(super) plural: String,
    /// Name; none for a collection.
    pub(super) name: Option<String>,
    /// What comes after the name.
    pub(super) subresource: Option<String>,
}

/// Reads a path.
pub(super) fn route(path: &str) -> Route {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(decode)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["version"] => Route::Version,
        ["healthz" | "livez" | "readyz", ..] => Route::Health,
        ["api"] => Route::CoreVersions,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["openapi", "v3"] => Route::Specifications,
        ["openapi", "v3", "api", version] => specification("", version),
        ["openapi", "v3", "apis", group, version] => specification(group, version),
        ["api", version] => resources("", version),
        ["apis", group, version] => resources(group, version),
        ["api", version, rest @ ..] => target("", version, rest),
        ["apis", group, version, rest @ ..] => target(group, version, rest),
        _ => Route::Unknown,
    }
}

fn specification(group: &str, version: &str) -> Route {
    Route::Specification {
        group: group.to_owned(),
        version: version.to_owned(),
    }
}

fn resources(group: &str, version: &str) -> Route {
    Route::Resources {
        group: group.to_owned(),
        version: version.to_owned(),
    }
}

/// `namespaces/x/status` is the namespace's own; `namespaces/x/<anything else>` lies in it.
fn target(group: &str, version: &str, rest: &[&str]) -> Route {
    let (namespace, rest) = match rest {
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
            (Some((*namespace).to_owned()), rest)
        }
        rest => (None, rest),
    };
    let [plural, rest @ ..] = rest else {
        return Route::Unknown;
    };
    let mut target = Target {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace,
        plural: (*plural).to_owned(),
        ..Target::default()
    };
    match rest {
        [] => {}
        [name] => target.name = Some((*name).to_owned()),
        [name, subresource] => {
            target.name = Some((*name).to_owned());
            target.subresource = Some((*subresource).to_owned());
        }
        _ => return Route::Unknown,
    }
    Route::Target(target)
}

/// Undoes percent-encoding; an invalid escape is left as it is.
pub(super) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn named(path: &str) -> Target {
        match route(path) {
            Route::Target(target) => target,
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn a_namespace_is_an_object_and_a_place() {
        assert_eq!(named("/api/v1/namespaces/a").plural, "namespaces");
        assert_eq!(named("/api/v1/namespaces").name, None);
        let status = named("/api/v1/namespaces/a/status");
        assert_eq!(status.name.as_deref(), Some("a"));
        assert_eq!(status.subresource.as_deref(), Some("status"));
        let pods = named("/api/v1/namespaces/a/pods");
        assert_eq!(pods.namespace.as_deref(), Some("a"));
        assert_eq!(pods.plural, "pods");
        let name = named("/apis/apps/v1/namespaces/a/deployments/status");
        assert_eq!(name.name.as_deref(), Some("status"));
    }

    #[test]
    fn documents_of_discovery_have_their_own_routes() {
        assert_eq!(route("/apis/apps"), Route::Group("apps".into()));
        assert_eq!(route("/api/v1"), resources("", "v1"));
        assert_eq!(route("/apis/"), Route::Groups);
        assert_eq!(route("/"), Route::Unknown);
        assert_eq!(route("/openapi/v2"), Route::Unknown);
        assert_eq!(
            route("/api/v1/namespaces/a/pods/b/log/more"),
            Route::Unknown
        );
    }

    #[test]
    fn escapes_are_undone() {
        let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode";
        assert_eq!(named(role).name.as_deref(), Some("system:node"));
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz%é"), "%zz%é");
    }
}
