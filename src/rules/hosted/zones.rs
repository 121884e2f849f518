//! H10: the zones that private clusters link to their networks, and the public names that these hide there.

use std::collections::BTreeMap;

use super::connection::{is_private, network};
use super::parts::{Hosted, Parts};
use crate::api::azure_private_link_service::INTERNAL_DOMAIN;
use crate::model::{Finding, Node, Path, message};

/// The longest name in DNS.
const LONGEST: usize = 253;

/// H10: the private zone of a cluster's endpoints hides no names that the nodes of a network look up in the public one, neither those
/// of the cluster nor those of others.
pub(super) fn zones_shadow_nothing(parts: &Parts<'_>) -> Vec<Finding> {
    let private = parts.clusters().filter(|one| is_private(*one));
    let mut findings: Vec<_> = private.filter_map(shadowing).collect();
    let mut networks = zones(parts);
    for cluster in parts.clusters() {
        if let Some(zones) = network(cluster).and_then(|network| networks.get_mut(&network)) {
            hide(cluster, zones);
        }
    }
    for zones in networks.values() {
        let pairs = zones.iter().flat_map(|(name, zone)| zone.shadows(name));
        findings.extend(pairs);
    }
    findings
}

/// The zones of a network, by name.
type Zones<'a> = BTreeMap<String, Zone<'a>>;

/// A private zone of external names that is linked to a network.
#[derive(Default)]
struct Zone<'a> {
    /// The clusters that make it.
    makers: Vec<Hosted<'a>>,
    /// The other clusters of the network with names that it hides, each with one of them.
    hidden: Vec<(Hosted<'a>, String)>,
}

/// The zones of each network.
fn zones<'a>(parts: &Parts<'a>) -> BTreeMap<String, Zones<'a>> {
    let mut networks: BTreeMap<String, Zones<'a>> = BTreeMap::new();
    for cluster in parts.clusters().filter(|one| is_private(*one)) {
        let zone = zone(cluster).filter(|(_, zone)| !is_within(zone, INTERNAL_DOMAIN));
        if let (Some(network), Some((_, zone))) = (network(cluster), zone) {
            let zones = networks.entry(network).or_default();
            zones.entry(zone).or_default().makers.push(cluster);
        }
    }
    networks
}

/// Notes a cluster in each zone that hides a public name of it. Azure asks the zone with the longest name, so the cluster's own zone
/// answers for the names in it, unless another one is in that.
fn hide<'a>(cluster: Hosted<'a>, zones: &mut Zones<'a>) {
    let own = zone(cluster).filter(|_| is_private(cluster));
    for name in public_names(cluster) {
        let within = own.as_ref().filter(|(_, own)| is_within(&name, own));
        for domain in domains(&name) {
            if within.is_some_and(|(_, own)| is_within(own, domain)) {
                break;
            }
            let zone = zones.get_mut(domain);
            let is_noted = |zone: &&mut Zone<'a>| {
                let last = zone.hidden.last();
                last.is_some_and(|(last, _)| last.object.id == cluster.object.id)
            };
            if let Some(zone) = zone.filter(|zone| !is_noted(zone)) {
                zone.hidden.push((cluster, name.clone()));
            }
        }
    }
}

/// The names of a cluster in the public DNS, in lower case: those of its applications, and those of its services.
fn public_names(cluster: Hosted<'_>) -> Vec<String> {
    let base = cluster.text("spec.dns.baseDomain");
    let apps = base.map(|base| format!("*.apps.{}.{base}", cluster.name()));
    let services = cluster.items("spec.services").iter();
    let services = services.filter_map(|one| Some(hostname(one)?.1.to_owned()));
    let names = apps.into_iter().chain(services);
    let names = names.filter(|name| name.len() <= LONGEST);
    names.map(|name| name.to_lowercase()).collect()
}

/// A name, and each domain that it is in, the longest first.
fn domains(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| Some(name.split_once('.')?.1))
}

impl Zone<'_> {
    /// Each maker with one cluster whose names it hides, and each of these with one maker.
    fn shadows(&self, name: &str) -> Vec<Finding> {
        let (Some(first), Some(hidden)) = (self.makers.first(), self.hidden.first()) else {
            return Vec::new();
        };
        let makers = self.makers.iter().map(|maker| (maker, hidden));
        let others = self.hidden.iter().skip(1).map(|hidden| (first, hidden));
        let pairs = makers.chain(others);
        let finding = |(maker, hidden): (&Hosted<'_>, &_)| shadowing_other(*maker, name, hidden);
        pairs.filter_map(finding).collect()
    }
}

fn shadowing_other(
    maker: Hosted<'_>,
    zone_name: &str,
    (other, name): &(Hosted<'_>, String),
) -> Option<Finding> {
    let (path, _) = zone(maker)?;
    let place = other.object.origin.span();
    let message = message!(
        "external DNS domain \"{zone}\" is a private zone in the network of {other} (at {place}), and hides the public names of that cluster, such as {name}",
        zone = zone_name,
        other = other.object.id,
        name
    );
    let help = "choose a domain in which no other cluster of the network has names, or another network for one of them";
    Some(maker.error("H10", &path, message).help(help))
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
                "without an external DNS domain, HyperShift's controllers make a private zone of the base domain {base}, which hides the public names in it from the cluster's network, such as *.apps.{own}",
                base,
                own
            );
            let help = "nothing to do if Capstan's controllers connect the cluster, which make no such zone; otherwise write `externalDNSDomain` in a definition, or the hostname of OAuthServer's route";
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
    let (way, name) = hostname(&services[index])?;
    let zone = name.strip_prefix(&format!("oauth-{}.", cluster.name()))?;
    let path = Path::dotted("spec.services").index(index);
    let path = path
        .key("servicePublishingStrategy")
        .key(way)
        .key("hostname");
    Some((path, zone.to_lowercase()))
}

/// The name of a published service, with the setting that has it.
fn hostname(service: &Node) -> Option<(&'static str, &str)> {
    let strategy = service.get("servicePublishingStrategy")?;
    let mut ways = ["route", "loadBalancer"].into_iter();
    ways.find_map(|way| Some((way, strategy.text(&[way, "hostname"])?)))
}

#[cfg(test)]
mod tests {
    use super::super::{findings_of, messages_of};
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
        assert!(
            found[0].contains(
                "HyperShift's controllers make a private zone of the base domain example.com"
            ),
            "{found:?}"
        );
    }

    /// A cluster in the network, with the names of its services.
    fn neighbor(id: &str, access: &str, base: &str, names: &[(&str, &str)]) -> String {
        let names = names.iter().map(|(service, name)| {
            format!("{{service: {service}, servicePublishingStrategy: {{type: Route, route: {{hostname: {name}}}}}}}")
        });
        let names: Vec<String> = names.collect();
        format!(
            "---\n{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: {id}, namespace: ns}}, spec: {{dns: {{baseDomain: {base}}}, services: [{}], platform: {{azure: {{topology: {access}, vnetID: /NET}}}}}}}}\n",
            names.join(", ")
        )
    }

    fn login(id: &str, base: &str, domain: &str) -> String {
        let name = format!("oauth-{id}.{domain}");
        neighbor(id, "Private", base, &[("OAuthServer", &name)])
    }

    /// The line of each finding, with the cluster whose names are hidden and one of these.
    fn hidden(clusters: &[String]) -> Vec<String> {
        let found = findings_of(zones_shadow_nothing, &clusters.concat());
        let told = found.iter().map(|one| {
            let line = one.split([' ', ':']).nth(1).unwrap_or_default();
            let other = one.split("HostedCluster/ns/").nth(1).unwrap_or("itself");
            let other = other.split(' ').next().unwrap_or_default();
            let name = one.rsplit(' ').next().unwrap_or_default();
            format!("{line} {other} {name}")
        });
        told.collect()
    }

    #[test]
    fn a_private_zone_hides_no_names_of_others_in_its_network() {
        let maker = login("a", "example.org", "shared.example.com");
        for base in ["shared.example.com", "sub.Shared.example.com"] {
            let expected = format!("2 b *.apps.b.{}", base.to_lowercase());
            for access in ["Public", "PublicAndPrivate", "Private"] {
                let other = neighbor("b", access, base, &[]);
                let found = hidden(&[maker.clone(), other.clone()]);
                assert!(found.contains(&expected), "{access}: {found:?}");
                let elsewhere = other.replace("/NET", "/other");
                let found = hidden(&[maker.clone(), elsewhere]);
                assert!(!found.contains(&expected), "{access}: {found:?}");
                let same = other.replace("/NET", "/net");
                assert!(hidden(&[maker.clone(), same]).contains(&expected));
            }
        }
        for base in ["example.com", "unshared.example.com", "com"] {
            let other = neighbor("b", "Public", base, &[]);
            assert_eq!(hidden(&[maker.clone(), other]), [""; 0], "{base}");
        }
    }

    #[test]
    fn a_shared_zone_hides_the_names_of_public_clusters_alone() {
        let maker = login("a", "example.org", "shared.example.com");
        let shares = login("b", "example.org", "Shared.example.com");
        assert_eq!(hidden(&[maker.clone(), shares.clone()]), [""; 0]);
        // Its own zone has the longer name, so Azure asks that one.
        let below = login("b", "example.org", "b.shared.example.com");
        assert_eq!(hidden(&[maker.clone(), below]), [""; 0]);
        let public = [
            ("APIServer", "api-c.shared.example.com"),
            ("Ignition", "ignition-c.shared.example.com"),
        ];
        let public = neighbor("c", "Public", "example.org", &public);
        let expected = ["2 c api-c.shared.example.com"];
        assert_eq!(hidden(&[maker.clone(), public.clone()]), expected);
        let found = hidden(&[maker, shares, public]);
        let second = "4 c api-c.shared.example.com";
        assert_eq!(found, [expected[0], second]);
    }

    #[test]
    fn a_zone_is_reported_once_for_each_cluster_that_it_hides() {
        let both = [
            login("a", "shared.example.com", "shared.example.com"),
            login("b", "shared.example.com", "shared.example.com"),
        ];
        let own = [
            "2 itself *.apps.a.shared.example.com",
            "4 itself *.apps.b.shared.example.com",
        ];
        assert_eq!(hidden(&both), own);
        let maker = login("a", "example.org", "example.com");
        let others = ["b", "c"].map(|id| neighbor(id, "Public", "example.com", &[]));
        let found = hidden(&[maker, others.concat()]);
        assert_eq!(
            found,
            ["2 b *.apps.b.example.com", "2 c *.apps.c.example.com"]
        );
        let long = neighbor("b", "Public", &"a.".repeat(100_000), &[]);
        assert_eq!(hidden(&[long]), [""; 0]);
    }

    #[test]
    fn many_clusters_of_a_network_take_little_work() {
        let makers = (0..2_000).map(|one| login(&format!("m{one}"), "example.org", "example.com"));
        let others =
            (0..2_000).map(|one| neighbor(&format!("p{one}"), "Public", "example.com", &[]));
        let all: Vec<String> = makers.chain(others).collect();
        assert_eq!(hidden(&all).len(), 3_999);
    }
}
