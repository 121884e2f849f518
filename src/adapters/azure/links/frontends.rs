//! Frontends of the load balancers in a resource group.
//!
//! In: a resource group; later an address in a virtual network. Out: a listing; and the one frontend that has the address.
//! Networks may have the same addresses. It does not know who shares a listing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::Value;

use super::arm_id::{ArmId, ResourceGroup, parent};
use super::session::Session;
use crate::model::{AzureError, AzureFault, Frontend};

/// The kind of the resources.
const KIND: &str = "loadBalancers";

/// The kind of the resource in whose subnets addresses count.
pub(super) const NETWORK: &str = "virtualNetworks";

/// The largest number of pages.
const MOST_PAGES: usize = 20;

/// The largest number of frontends in a listing.
const MOST_FRONTENDS: usize = 20_000;

/// The largest number of resources that a message names.
const MOST_NAMED: usize = 5;

/// The longest name of a region, in characters.
const LONGEST_REGION: usize = 50;

/// The frontends of a resource group.
#[derive(Debug)]
pub(super) struct Listing {
    /// The time at which it was begun.
    pub(super) at: Timestamp,
    group: ResourceGroup,
    places: Vec<Place>,
}

/// A frontend, and the address that it has in a network.
#[derive(Debug)]
struct Place {
    frontend: Frontend,
    address: IpAddr,
    network: ArmId,
}

/// Lists the frontends of a resource group.
pub(super) async fn list(
    session: &Session,
    group: ResourceGroup,
    at: Timestamp,
) -> Result<Listing, AzureError> {
    let task = session.task(
        format!("list the load balancers of {group}"),
        "Microsoft.Network/loadBalancers/read",
    );
    let mut places = Vec::new();
    let mut next = session.url(&group.path(KIND));
    for _ in 0..MOST_PAGES {
        let answer = session.get(next, &task).await?;
        let page = session.json(&answer, &task)?;
        let Some(balancers) = page.get("value").and_then(Value::as_array) else {
            return Err(task.unexpected("its answer is not a list"));
        };
        places.extend(balancers.iter().flat_map(|one| places_of(one, &group)));
        if places.len() > MOST_FRONTENDS {
            let why = format!("its answer has more than {MOST_FRONTENDS} frontends");
            return Err(task.unexpected(&why));
        }
        next = match page.get("nextLink") {
            None | Some(Value::Null) => return Ok(Listing { at, group, places }),
            Some(Value::String(link)) if link.is_empty() => {
                return Ok(Listing { at, group, places });
            }
            Some(link) => {
                let url = link.as_str().and_then(|link| session.next_url(link));
                url.ok_or_else(|| task.unexpected("its next page is at another host"))?
            }
        };
    }
    Err(task.unexpected(&format!("its answer has more than {MOST_PAGES} pages")))
}

/// The frontends of a load balancer that have a private address. Whatever is not as Azure describes it is skipped.
fn places_of(balancer: &Value, group: &ResourceGroup) -> Vec<Place> {
    let text = |name: &str| balancer.get(name).and_then(Value::as_str);
    let id = text("id").and_then(|id| ArmId::parse(id, KIND));
    let id = id.filter(|id| id.group.key() == group.key());
    let (Some(id), Some(location)) = (id, text("location")) else {
        return Vec::new();
    };
    let Some(location) = region(location) else {
        return Vec::new();
    };
    let frontends = balancer.pointer("/properties/frontendIPConfigurations");
    let frontends = frontends.and_then(Value::as_array).into_iter().flatten();
    let place = |frontend: &Value| {
        let text = |path: &str| frontend.pointer(path).and_then(Value::as_str);
        let frontend = text("/id")?;
        let above = ArmId::parse(parent(frontend, "frontendIPConfigurations")?, KIND)?;
        let address = text("/properties/privateIPAddress")?.parse().ok()?;
        let network = parent(text("/properties/subnet/id")?, "subnets")?;
        let frontend = Frontend {
            id: frontend.to_owned(),
            load_balancer: id.to_string(),
            location: location.clone(),
        };
        (above.key() == id.key()).then_some(Place {
            frontend,
            address,
            network: ArmId::parse(network, NETWORK)?,
        })
    };
    frontends.filter_map(place).collect()
}

/// The name of a region. Some answers have the one that is shown, such as `West Europe`.
fn region(location: &str) -> Option<String> {
    let name = location.to_ascii_lowercase().replace(' ', "");
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric());
    (is_name && (1..=LONGEST_REGION).contains(&name.len())).then_some(name)
}

impl Listing {
    /// Returns the one frontend with an address in a network.
    pub(super) fn find(&self, address: IpAddr, network: &ArmId) -> Result<Frontend, AzureError> {
        let with_address = self.places.iter().filter(|place| place.address == address);
        let (here, elsewhere): (Vec<&Place>, Vec<&Place>) =
            with_address.partition(|place| place.network.key() == network.key());
        // A page may repeat what another has.
        let here = here.into_iter().map(|place| &place.frontend);
        let here: BTreeMap<_, _> = here.map(|one| (one.id.to_lowercase(), one)).collect();
        let mut found = here.values();
        match (found.next(), found.next()) {
            (Some(one), None) => Ok((*one).clone()),
            (Some(_), Some(_)) => {
                let ids = named(here.values().map(|one| one.id.clone()));
                let message = format!(
                    "several frontends in {} have the address {address} in the virtual network '{network}': {ids}; remove those that are not of the cluster",
                    self.group
                );
                Err(AzureError::new(AzureFault::Ambiguous, message))
            }
            (None, _) => Err(self.missing(address, network, &elsewhere)),
        }
    }

    fn missing(&self, address: IpAddr, network: &ArmId, elsewhere: &[&Place]) -> AzureError {
        let elsewhere: BTreeMap<_, _> = elsewhere
            .iter()
            .map(|place| (place.network.key(), place))
            .collect();
        let note = if elsewhere.is_empty() {
            String::new()
        } else {
            let others = elsewhere.values().map(|place| {
                format!(
                    "'{}' in the virtual network '{}'",
                    place.frontend.id, place.network
                )
            });
            let others = named(others);
            format!("; frontends in other networks have the address: {others}")
        };
        let message = format!(
            "no load balancer in {} has a frontend with the address {address} in the virtual network '{network}'{note}; check that the Service has an internal load balancer, and that this is the resource group of the load balancers of the management cluster",
            self.group
        );
        AzureError::new(AzureFault::NotFound, message)
    }
}

/// The first of these, on one line.
fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MOST_NAMED);
    let first: Vec<String> = all.take(MOST_NAMED).collect();
    let first = first.join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
