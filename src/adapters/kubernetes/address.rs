//! Where an object is in an API server.
//!
//! In: the namespace and the name of an object, which anybody may have chosen. Out: whether they can be parts of an address:
//! the client library puts them into a URL as they are, where `a?dryRun=All` is an object and a query. It does not know what
//! is asked there.

use kube::api::ApiResource;
use kube::core::{DynamicResourceScope, request};
use kube::{Api, Client, Resource};

use crate::model::{is_dns_label, is_dns_subdomain, is_path_segment};

/// Whether an object can be in this namespace, or in none if it is empty, and have this name.
pub(super) fn can_exist(namespace: &str, name: &str) -> bool {
    (namespace.is_empty() || is_dns_label(namespace)) && is_path_segment(name)
}

/// The same, as an error of a request.
pub(super) fn check(namespace: &str, name: &str) -> kube::Result<()> {
    if can_exist(namespace, name) {
        return Ok(());
    }
    Err(wrong(format!(
        "no object can have the name {name:?} in the namespace {namespace:?}"
    )))
}

fn wrong(why: String) -> kube::Error {
    kube::Error::BuildRequest(request::Error::Validation(why))
}

/// Whether a kind can be served so: the version of an embedded resource, and the plural of a kind that we do not know, are as
/// somebody wrote them.
fn can_be_served(resource: &ApiResource) -> bool {
    let ApiResource {
        group,
        version,
        plural,
        ..
    } = resource;
    (group.is_empty() || is_dns_subdomain(group)) && is_dns_label(version) && is_dns_label(plural)
}

/// The objects of a kind in the namespace of an object, or in none if that is empty, where the object can be.
pub(super) fn api<K>(
    client: &Client,
    resource: &ApiResource,
    (namespace, name): (&str, &str),
) -> kube::Result<Api<K>>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    if !can_be_served(resource) {
        return Err(wrong(format!(
            "no kind is served as {:?} of {:?}",
            resource.plural, resource.api_version
        )));
    }
    check(namespace, name)?;
    let client = client.clone();
    Ok(match namespace {
        "" => Api::all_with(client, resource),
        namespace => Api::namespaced_with(client, namespace, resource),
    })
}

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;

    use super::*;

    #[test]
    fn a_kind_that_would_be_more_than_a_part_of_an_address_is_refused() {
        let can = |group: &str, version: &str, kind: &str| {
            can_be_served(&ApiResource::from_gvk(&GroupVersionKind::gvk(
                group, version, kind,
            )))
        };
        assert!(can("", "v1", "Secret"));
        assert!(can(
            "redhatopenshift.azure.com",
            "v1api20251223preview",
            "HcpOpenShiftCluster"
        ));
        for (group, version, kind) in [
            ("", "v1?dryRun=All", "Secret"),
            ("a/b", "v1", "X"),
            ("x.dev", "..", "X"),
            ("x.dev", "v1", "X/status"),
            ("x.dev", "", "X"),
        ] {
            assert!(!can(group, version, kind), "{group} {version} {kind}");
        }
    }

    #[test]
    fn a_name_that_would_be_more_than_a_part_of_an_address_is_refused() {
        for (namespace, name) in [
            ("", "system:node"),
            ("", "me@example.com"),
            ("ns", "a.b-c"),
            ("", "a"),
        ] {
            assert!(check(namespace, name).is_ok(), "{namespace} {name}");
        }
        for (namespace, name) in [
            ("ns", ""),
            ("ns", "a?dryRun=All"),
            ("ns", ".."),
            ("ns", "a/status"),
            ("ns/secrets/x?y=", "a"),
            ("ns", "a#"),
            ("ns", "."),
            ("ns", "a b"),
            ("ns", "typo "),
            ("ns", "\u{fc}n\u{ef}"),
            ("ns", "a\nb"),
            ("ns", "a%2f"),
            ("ns.x", "a"),
            ("..", "a"),
        ] {
            assert!(!can_exist(namespace, name), "{namespace} {name}");
            let error = check(namespace, name).map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.contains("no object can have the name")));
        }
    }
}
