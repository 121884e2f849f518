//! H10: the zones that private clusters link to their networks, and the public names that these hide there.

use super::connection::is_private;
use super::parts::{Hosted, Parts};
use crate::api::azure_private_link_service::INTERNAL_DOMAIN;
use crate::model::{Finding, Node, Path, message};

/// H10: the private zone of a cluster's endpoints does not hide the names that its nodes look up in the public one.
pub(super) fn zones_shadow_nothing(parts: &Parts<'_>) -> Vec<Finding> {
    let private = parts.clusters().filter(|one| is_private(*one));
    private.filter_map(shadowing).collect()
}

fn shadowing(cluster: Hosted<'_>) -> Option<Finding> {
    let base = cluster.text("spec.dns.baseDomain")?;
    let own = format!("{}.{base}", cluster.name()).to_lowercase();
    match zone(cluster) {
        Some((path, zone)) if is_within(&own, &zone) => {
            let message = message!(
                "external DNS domain \"{zone}\" conflicts with cluster domain \"{own}\": its private zone hides the public names of the cluster, such as *.apps.{own}",
                zone,
                own
            );
            let help = "choose a domain that the cluster's own domain is not in";
            Some(cluster.error("H10", &path, message).help(help))
        }
        Some((path, zone)) if is_within(&zone, INTERNAL_DOMAIN) => {
            let message = message!(
                "external DNS domain \"{zone}\" is kept for the internal names of clusters",
                zone
            );
            let help = format!("choose a domain outside {INTERNAL_DOMAIN}");
            Some(cluster.error("H10", &path, message).help(help))
        }
        Some(_) => None,
        None => {
            let message = message!(
                "the private zone of this cluster is its base domain {base}, and hides the public names in it from the cluster's network, such as *.apps.{own}",
                base,
                own
            );
            let help = "write `externalDNSDomain` in a definition, or the hostname of OAuthServer's route: the zone is then that domain";
            Some(
                cluster
                    .warning("H10", &Path::dotted("spec.dns.baseDomain"), message)
                    .help(help),
            )
        }
    }
}

/// Returns true if `name` is this domain, or in it.
fn is_within(name: &str, domain: &str) -> bool {
    let start = name.strip_suffix(domain);
    start.is_some_and(|start| start.is_empty() || start.ends_with('.'))
}

/// The private zone of a cluster's endpoints, with the field of the name that it is from: what follows `oauth-<cluster>.` in the name of its
/// login. `None` if HyperShift takes the base domain.
pub(super) fn zone(cluster: Hosted<'_>) -> Option<(Path, String)> {
    let services = cluster.items("spec.services");
    let is_login = |one: &Node| one.text(&["service"]) == Some("OAuthServer");
    let index = services.iter().position(is_login)?;
    let strategy = services[index].get("servicePublishingStrategy")?;
    let mut ways = ["route", "loadBalancer"].into_iter();
    let (way, name) = ways.find_map(|way| Some((way, strategy.text(&[way, "hostname"])?)))?;
    let zone = name.strip_prefix(&format!("oauth-{}.", cluster.name()))?;
    let path = Path::dotted("spec.services").index(index);
    let path = path
        .key("servicePublishingStrategy")
        .key(way)
        .key("hostname");
    Some((path, zone.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::messages_of;
    use super::*;

    fn cluster(spec: &str) -> String {
        format!(
            "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: c, namespace: ns}}, spec: {{dns: {{baseDomain: example.com}}, {spec}}}}}\n"
        )
    }

    #[test]
    fn a_private_zone_hides_no_public_names() {
        let text = |login: &str| {
            cluster(&format!(
                "platform: {{azure: {{topology: Private}}}}, services: [{{service: OAuthServer, servicePublishingStrategy: {{type: Route, route: {{hostname: {login}}}}}}}]"
            ))
        };
        assert_eq!(
            messages_of(zones_shadow_nothing, &text("oauth-c.example.net")),
            [""; 0]
        );
        for login in [
            "oauth-c.example.com",
            "oauth-c.c.example.com",
            "oauth-c.com",
        ] {
            let found = messages_of(zones_shadow_nothing, &text(login));
            assert!(
                found[0].contains("conflicts with cluster domain \"c.example.com\""),
                "{login}: {found:?}"
            );
        }
        for login in ["oauth-c.hypershift.local", "oauth-c.One.Hypershift.Local"] {
            let found = messages_of(zones_shadow_nothing, &text(login));
            assert!(
                found[0].contains("is kept for the internal names"),
                "{found:?}"
            );
        }
        let found = messages_of(zones_shadow_nothing, &text("login.example.net"));
        assert!(found[0].starts_with("the private zone of this cluster is its base domain"));
    }
}
