//! The names of one cluster in the network of the cluster.
//!
//! In: the address of the endpoint. Out: a zone for the internal names and one for the external names, each linked to the
//! network, with the records of the cluster. Clusters of one resource group and domain share the zone of the external
//! names, and never touch each other's records. It does not know what answers at the address.

use serde_json::{Value, json};

use super::super::names::{self, OWNER, OWNER_TAG, SHARED, TYPE_TAG};
use super::super::resource::{
    DETACH, Proof, State as Resource, Wanted, is_foreign, is_of, keep as keep_resource,
};
use super::super::sharing::Sharing;
use super::super::state::State;
use super::sight::Sight;
use crate::api::labels::{CREDENTIAL_FROM, MANAGE, RECONCILE_POLICY, SKIP};
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{self, Outcome};

use super::super::found_by::external_domain;
use super::super::link::Link;

const ZONE: &str = "PrivateDnsZone";
const LINK: &str = "PrivateDnsZonesVirtualNetworkLink";
const RECORD: &str = "PrivateDnsZonesARecord";
/// The time to live of a record, in seconds.
const TTL: u32 = 300;

/// One of the zones of a cluster.
pub(super) struct Zone {
    /// Its name.
    pub(super) name: String,
    /// True if it has the internal names.
    pub(super) is_internal: bool,
    /// The records of the cluster: the end of the name of the object, and the name in the zone.
    pub(super) records: Vec<(&'static str, String)>,
}

/// The zones of a cluster.
pub(super) fn zones(link: &Link<'_>) -> Vec<Zone> {
    let cluster = &link.cluster.name;
    let zones = link.zones().into_iter().enumerate();
    let zone = zones.map(|(place, name)| {
        let is_internal = place == 0;
        let records = if is_internal {
            vec![("api", "api".to_owned()), ("apps", "*.apps".to_owned())]
        } else {
            vec![
                ("external-api", format!("api-{cluster}")),
                ("external-oauth", format!("oauth-{cluster}")),
            ]
        };
        Zone {
            name,
            is_internal,
            records,
        }
    });
    zone.collect()
}

impl Zone {
    /// The object of the zone in the namespace of a cluster.
    pub(super) fn id(&self, link: &Link<'_>, namespace: &str) -> ObjectId {
        let digest = names::digest(&link.resource_group().to_ascii_lowercase());
        names::aso(ZONE, namespace, &format!("{}-{digest}", self.name))
    }

    /// The object of the link from the zone to the network of a cluster.
    pub(super) fn link(&self, link: &Link<'_>, namespace: &str) -> ObjectId {
        let network = link.text("guestVNetID").to_ascii_lowercase();
        let zone = self.id(link, namespace).name;
        names::aso(
            LINK,
            namespace,
            &format!("{zone}-{}", names::digest(&network)),
        )
    }

    /// The object of a record of a cluster.
    pub(super) fn record(link: &Link<'_>, end: &str) -> ObjectId {
        let name = format!("{}-{end}", names::short(&link.cluster));
        names::aso(RECORD, &link.cluster.namespace, &name)
    }

    /// The field of the status with the ID of the zone.
    pub(super) const fn field(&self) -> &'static str {
        if self.is_internal {
            "privateDNSZoneID"
        } else {
            "baseDomainDNSZoneID"
        }
    }

    /// The reason of a part that fails.
    fn reason(&self, part: &str) -> String {
        let start = if self.is_internal { "" } else { "BaseDomain" };
        format!("{start}{part}CreationFailed")
    }
}

/// Keeps the zones, and writes their IDs to the status.
///
/// # Errors
/// When a name does not lead to the address: the condition that says so.
pub(super) fn keep(
    scene: &Sight<'_>,
    address: &str,
    state: &mut State,
    outcome: &mut Outcome,
) -> Result<(), NewCondition> {
    if !names::is_ipv4(address) {
        let message =
            format!("the address of the endpoint is {address}, and only IPv4 is supported");
        return Err(NewCondition::no(r::A_RECORD_CREATION_FAILED, message));
    }
    let mut failed = None;
    for zone in zones(scene.link) {
        if let Err(condition) = keep_zone(scene, &zone, address, state, outcome) {
            failed.get_or_insert(condition);
        }
    }
    let domain = external_domain(scene.link.live);
    if names::is_internal(&domain) {
        let message = format!(
            "the domain {domain} of the external names is kept for internal names: publish OAuth under another one"
        );
        failed.get_or_insert(NewCondition::no(
            r::BASE_DOMAIN_DNS_ZONE_CREATION_FAILED,
            message,
        ));
    }
    failed.map_or(Ok(()), Err)
}

fn keep_zone(
    scene: &Sight<'_>,
    zone: &Zone,
    address: &str,
    state: &mut State,
    outcome: &mut Outcome,
) -> Result<(), NewCondition> {
    let link = scene.link;
    let sharing = Sharing::of(scene.world, link.live, &link.cluster, &zone.name, outcome);
    if let Some(other) = sharing.taken_by(zone.field()) {
        let message = format!(
            "{other} has the same names in the zone {} of the same resource group: give this cluster another name or resource group",
            zone.name
        );
        return Err(NewCondition::no(r::NAMES_TAKEN, message));
    }
    // The zone of internal names is one cluster's.
    let policy = |is_needed| {
        if is_needed && !zone.is_internal {
            DETACH
        } else {
            MANAGE
        }
    };
    let zone_policy = policy(sharing.is_needed_elsewhere());
    let id = zone.id(link, scene.namespace());
    let zone_credential = credential(scene, &id, &sharing, outcome);
    if let Some(other) = undetached(scene, zone, &sharing, outcome) {
        let message = format!(
            "Waiting for the private-link-endpoint controller to annotate {other}: its deletion would take the zone {} along",
            zone.name
        );
        return Err(NewCondition::no(r::WAITING_FOR_NEIGHBOR, message));
    }
    let sharing = sharing.of_network();
    let name = link_name(scene, zone, &sharing, outcome);
    let link_policy = policy(sharing.is_needed_elsewhere());
    let id = zone.link(link, scene.namespace());
    let link_credential = credential(scene, &id, &sharing, outcome);
    let wanted = wanted_zone(scene, zone, (zone_policy, &zone_credential));
    free(scene, &wanted.id, &id, outcome);
    let live = keep_resource(scene.world, &wanted, outcome);
    let live = ready(live, &zone.reason("DNSZone"))?;
    state.field(zone.field(), live.text(&["status", "id"]));
    if zone.is_internal {
        state.field("dnsZoneName", &zone.name);
    }
    let terms = (link_policy, link_credential.as_str());
    let linked = keep_resource(
        scene.world,
        &wanted_link(scene, zone, &name, terms),
        outcome,
    );
    let linked = ready(linked, &zone.reason("VNetLink")).map(|_| ());
    let mut result = linked;
    for (end, name) in &zone.records {
        let path = link.path();
        let wanted = wanted_record(scene, zone, (end, name, address), &path);
        let made = keep_resource(scene.world, &wanted, outcome);
        let made = ready(made, &zone.reason("ARecord")).map(|_| ());
        result = result.and(made);
    }
    result
}

/// Deletes the link of a zone that somebody deletes: Azure keeps a zone that has links, and it is made again once it is gone.
fn free(scene: &Sight<'_>, zone: &ObjectId, linked: &ObjectId, outcome: &mut Outcome) {
    let goes = scene.world.get(zone).present().is_some_and(|live| {
        live.is_deleting()
            && live.annotation(OWNER) == SHARED
            && live.annotation(RECONCILE_POLICY) == MANAGE
    });
    if let Some(linked) = scene.world.get(linked).present().filter(|_| goes) {
        outcome.maybe(outcome::delete(linked));
    }
    outcome.need(linked.clone());
}

/// The Secret that an object names which clusters share: the cluster's own, unless another one's is in use.
fn credential(
    scene: &Sight<'_>,
    id: &ObjectId,
    sharing: &Sharing<'_>,
    outcome: &mut Outcome,
) -> String {
    let held = scene.world.get(id).present();
    let held = held.map(|held| held.annotation(CREDENTIAL_FROM));
    let is_used = |held: &&str| sharing.is_used_here(scene.world, held, outcome);
    held.filter(is_used).unwrap_or(scene.credential).to_owned()
}

fn ready<'a>(state: Resource<'a>, reason: &str) -> Result<Live<'a>, NewCondition> {
    match state {
        Resource::Ready(live) => Ok(live),
        Resource::Not(fault) => Err(fault.condition(r::WAITING_FOR_DNS, reason)),
    }
}

/// The object of the zone in another namespace that would take the zone in Azure with it.
fn undetached(
    scene: &Sight<'_>,
    zone: &Zone,
    sharing: &Sharing<'_>,
    outcome: &mut Outcome,
) -> Option<ObjectId> {
    let own = zone.id(scene.link, scene.namespace());
    if zone.is_internal || scene.world.get(&own).present().is_some() {
        return None;
    }
    let mut found = None;
    for namespace in sharing.namespaces() {
        let id = zone.id(scene.link, namespace);
        let live = scene.world.get(&id).present();
        outcome.need(id.clone());
        // One that was only looked at gets its policy from the clusters that are there when it is made.
        let is_harmless = |policy| [DETACH, SKIP].contains(&policy);
        if live.is_some_and(|live| !is_harmless(live.annotation(RECONCILE_POLICY))) {
            found = Some(id);
        }
    }
    found
}

/// The tags of what may be shared: of the internal names, the cluster's.
fn tags(scene: &Sight<'_>, zone: &Zone, kind: &str) -> Value {
    let owner = owner_tag(scene, zone);
    json!({OWNER_TAG: owner, TYPE_TAG: kind})
}

fn owner_tag<'a>(scene: &Sight<'a>, zone: &Zone) -> &'a str {
    if zone.is_internal {
        scene.link.cluster_id()
    } else {
        SHARED
    }
}

fn wanted_zone<'a>(
    scene: &'a Sight<'_>,
    zone: &Zone,
    (policy, credential): (&'static str, &'a str),
) -> Wanted<'a> {
    let link = scene.link;
    Wanted {
        id: zone.id(link, scene.namespace()),
        version: scene.version(ZONE),
        owner: SHARED,
        spec: json!({
            "azureName": zone.name,
            "owner": {"armId": link.resource_group()},
            "location": "global",
            "tags": tags(scene, zone, "private-dns-zone"),
        }),
        annotations: json!({}),
        credential,
        policy,
        proof: Proof::Tag(
            owner_tag(scene, zone),
            link.live.text(&["status", zone.field()]),
        ),
    }
}

/// The name of the link in Azure, where a zone has one link to a network: the name that it has already, if a cluster of
/// another namespace or HyperShift made it.
fn link_name(
    scene: &Sight<'_>,
    zone: &Zone,
    sharing: &Sharing<'_>,
    outcome: &mut Outcome,
) -> String {
    let link = scene.link;
    for namespace in sharing.namespaces() {
        let id = zone.link(link, namespace);
        outcome.need(id.clone());
        let held = scene.world.get(&id).present();
        // Anybody can make an object of this name in a namespace of their own.
        let ours = held.filter(|held| is_of(*held, SHARED) && !is_foreign(*held));
        let name = ours.map_or("", |held| held.text(&["spec", "azureName"]));
        if !name.is_empty() {
            return name.to_owned();
        }
    }
    if names::is_hypershift_endpoint(link.live.text(&["status", "privateEndpointID"])) {
        let [internal, external] = names::HYPERSHIFT_LINKS;
        let name = if zone.is_internal { internal } else { external };
        return name.to_owned();
    }
    let network = link.text("guestVNetID");
    let name = network.rsplit('/').next().unwrap_or_default();
    let digest = names::digest(&network.to_ascii_lowercase());
    format!("{name}-{digest}")
}

fn wanted_link<'a>(
    scene: &'a Sight<'_>,
    zone: &Zone,
    name: &str,
    (policy, credential): (&'static str, &'a str),
) -> Wanted<'a> {
    let link = scene.link;
    let network = link.text("guestVNetID");
    Wanted {
        id: zone.link(link, scene.namespace()),
        version: scene.version(LINK),
        owner: SHARED,
        spec: json!({
            "azureName": name,
            "owner": {"name": zone.id(link, scene.namespace()).name},
            "location": "global",
            "tags": tags(scene, zone, "vnet-link"),
            "registrationEnabled": false,
            "virtualNetwork": {"reference": {"armId": network}},
        }),
        annotations: json!({}),
        credential,
        policy,
        proof: Proof::Name,
    }
}

fn wanted_record<'a>(
    scene: &'a Sight<'_>,
    zone: &Zone,
    (end, name, address): (&str, &str, &str),
    path: &'a str,
) -> Wanted<'a> {
    let link = scene.link;
    Wanted {
        id: Zone::record(link, end),
        version: scene.version(RECORD),
        owner: path,
        spec: json!({
            "azureName": name,
            "owner": {"name": zone.id(link, scene.namespace()).name},
            "ttl": TTL,
            "aRecords": [{"ipv4Address": address}],
        }),
        annotations: json!({}),
        credential: scene.credential,
        policy: MANAGE,
        proof: Proof::Name,
    }
}
