//! H18: the credential for the Private Endpoint and the DNS zones of a private cluster.

use super::connection::{access, is_private, uses_private_link};
use super::parts::{Hosted, Parts};
use crate::api::azure_cluster_identity::link_identity;
use crate::api::labels::{LINK_CREDENTIAL, LINK_IDENTITY};
use crate::model::{Finding, Path, is_dns_subdomain, message};

/// H18: a private cluster names one credential at most, and other clusters none.
pub(super) fn credentials_fit(parts: &Parts<'_>) -> Vec<Finding> {
    parts.clusters().filter_map(misfit).collect()
}

/// The field that makes a cluster private which names no credential. Over Swift there is no endpoint that would need one.
pub(super) fn lacking(cluster: Hosted<'_>) -> Option<Path> {
    let annotations = [LINK_IDENTITY, LINK_CREDENTIAL];
    let mut named = annotations.iter().filter_map(|name| {
        let (_, node) = cluster.annotation(name)?;
        node.as_str().filter(|text| !text.is_empty())
    });
    let needs_one = uses_private_link(cluster) && named.next().is_none();
    needs_one.then(|| access(cluster))
}

fn misfit(cluster: Hosted<'_>) -> Option<Finding> {
    let identity = cluster.annotation(LINK_IDENTITY);
    let credential = cluster.annotation(LINK_CREDENTIAL);
    let (name, (path, node)) = match (identity, credential) {
        (None, None) => return None,
        (Some(_), Some((path, _))) => return Some(both(cluster, &path)),
        (Some(identity), None) => (LINK_IDENTITY, identity),
        (None, Some(credential)) => (LINK_CREDENTIAL, credential),
    };
    if !is_private(cluster) {
        let message = message!(
            "the annotation {name} is for private clusters, which this one is not",
            name
        );
        let help = "remove it, or give the cluster a private connection";
        return Some(cluster.error("H18", &path, message).help(help));
    }
    let text = node.as_str()?;
    let (is_valid, help) = if name == LINK_IDENTITY {
        let is_valid = link_identity(cluster.object).is_some();
        (is_valid, "name an AzureClusterIdentity as NAMESPACE/NAME")
    } else {
        let help = "write the name of a Secret in the cluster's namespace";
        (is_dns_subdomain(text), help)
    };
    let message = message!("`{text}` is not valid for {name}", text, name);
    (!is_valid).then(|| cluster.error("H18", &path, message).help(help))
}

fn both(cluster: Hosted<'_>, path: &Path) -> Finding {
    let message = message!(
        "a cluster has either the annotation {identity} or {credential}",
        identity = LINK_IDENTITY,
        credential = LINK_CREDENTIAL
    );
    cluster
        .error("H18", path, message)
        .help("remove one of them")
}

#[cfg(test)]
mod tests {
    use super::super::messages_of;
    use super::*;

    #[test]
    fn a_private_cluster_names_one_credential_at_most() {
        let both =
            format!("a cluster has either the annotation {LINK_IDENTITY} or {LINK_CREDENTIAL}");
        let public = |name: &str| {
            format!("the annotation {name} is for private clusters, which this one is not")
        };
        let invalid = |text: &str, name: &str| format!("`{text}` is not valid for {name}");
        for (topology, identity, credential, expected) in [
            ("Private", "", "", None),
            ("Private", "ids/guests", "", None),
            ("PublicAndPrivate", "", "guests", None),
            ("Private", "ids/guests", "guests", Some(both.clone())),
            ("Public", "ids/guests", "guests", Some(both)),
            ("Public", "ids/guests", "", Some(public(LINK_IDENTITY))),
            ("Public", "", "guests", Some(public(LINK_CREDENTIAL))),
            (
                "Private",
                "guests",
                "",
                Some(invalid("guests", LINK_IDENTITY)),
            ),
            (
                "Private",
                "a/b/c",
                "",
                Some(invalid("a/b/c", LINK_IDENTITY)),
            ),
            ("Private", "", "a/b", Some(invalid("a/b", LINK_CREDENTIAL))),
        ] {
            let annotations = [(LINK_IDENTITY, identity), (LINK_CREDENTIAL, credential)];
            let annotations = annotations
                .into_iter()
                .filter(|(_, value)| !value.is_empty());
            let annotations = annotations.map(|(name, value)| format!("{name}: {value}"));
            let annotations = annotations.collect::<Vec<_>>().join(", ");
            let text = format!(
                "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: c, namespace: ns, annotations: {{{annotations}}}}}, spec: {{platform: {{azure: {{topology: {topology}}}}}}}}}\n"
            );
            let found = messages_of(credentials_fit, &text);
            assert_eq!(found, Vec::from_iter(expected), "{annotations}");
        }
    }
}
