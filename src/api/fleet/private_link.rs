//! The management cluster's side of Azure Private Link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{Controllers, Mode};
use crate::schema::patterns::{LABEL, PLAIN_RESOURCE_GROUP, SUBDOMAIN, UUID};

/// Settings for Azure Private Link to the API servers of private clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PrivateLink {
    /// The management cluster's place in Azure, where the Private Link Services are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub management: Option<Management>,
}

/// The switches of the controllers of private clusters that run beside the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSwitches {
    /// Of the controller that describes connections.
    pub observer: Mode,
    /// Of the controller of the management side.
    pub platform: Mode,
    /// Of the controller of the customer's side.
    pub endpoint: Mode,
}

impl From<Controllers> for LinkSwitches {
    fn from(controllers: Controllers) -> Self {
        Self {
            observer: controllers.private_link_observer,
            platform: controllers.private_link_platform,
            endpoint: controllers.private_link_endpoint,
        }
    }
}

impl LinkSwitches {
    /// Returns true if a controller with this switch runs. Without a management side it does only if somebody turns it on.
    #[must_use]
    pub fn runs(mode: Mode, has_management: bool) -> bool {
        match mode {
            Mode::Auto => has_management,
            Mode::On => true,
            Mode::Off => false,
        }
    }

    /// Returns true if the Fleet leaves private clusters to others, such as HyperShift.
    #[must_use]
    pub fn leave_it_to_others(self, has_management: bool) -> bool {
        let mut all = self.named().into_iter();
        !has_management && all.all(|(_, mode)| mode == Mode::Off)
    }

    /// The reasons for which the Fleet's controllers do not connect a private cluster, as what the Fleet document does.
    #[must_use]
    pub fn gaps(self, has_management: bool) -> Vec<String> {
        let all = self.named();
        let off = all.iter().filter(|(_, mode)| *mode == Mode::Off);
        let off: Vec<&str> = off.map(|(name, _)| *name).collect();
        let needs_place =
            self.platform == Mode::On || all.iter().any(|(_, mode)| *mode == Mode::Auto);
        let mut gaps = Vec::new();
        if needs_place && !has_management {
            gaps.push("has no `privateLink.management`".to_owned());
        }
        if !off.is_empty() {
            gaps.push(format!("switches {} off", off.join(", ")));
        }
        gaps
    }

    /// The switches with their fields in `spec.controllers`.
    fn named(self) -> [(&'static str, Mode); 3] {
        [
            ("privateLinkObserver", self.observer),
            ("privateLinkPlatform", self.platform),
            ("privateLinkEndpoint", self.endpoint),
        ]
    }
}

/// The management cluster's place in Azure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Management {
    /// Azure subscription of the management cluster.
    #[serde(rename = "subscriptionID")]
    #[schemars(regex(pattern = UUID))]
    pub subscription_id: String,
    /// The resource group of its load balancers, in which the Private Link Services are made.
    #[schemars(regex(pattern = PLAIN_RESOURCE_GROUP), length(min = 1, max = 90))]
    pub resource_group: String,
    /// The resource group of its virtual network; defaults to `resourceGroup`. Subnets for Private Link Services of networks elsewhere
    /// are errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = PLAIN_RESOURCE_GROUP), length(min = 1, max = 90))]
    pub network_resource_group: Option<String>,
    /// The AzureClusterIdentity that makes the Private Link Services and their subnets.
    pub identity_ref: IdentityName,
}

impl Management {
    /// The resource group of the management cluster's virtual network.
    #[must_use]
    pub fn network_resource_group(&self) -> &str {
        let group = self.network_resource_group.as_ref();
        group.unwrap_or(&self.resource_group)
    }
}

/// An AzureClusterIdentity of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityName {
    /// Its name.
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; defaults to the Fleet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(observer: Mode, platform: Mode, endpoint: Mode) -> LinkSwitches {
        LinkSwitches {
            observer,
            platform,
            endpoint,
        }
    }

    #[test]
    fn the_gaps_of_a_fleet_are_its_switches_and_the_place_that_is_missing() {
        let (auto, on, off) = (Mode::Auto, Mode::On, Mode::Off);
        let place = "has no `privateLink.management`";
        let platform = "switches privateLinkPlatform off";
        let all = "switches privateLinkObserver, privateLinkPlatform, privateLinkEndpoint off";
        for (modes, has_management, expected) in [
            (switches(auto, auto, auto), true, &[][..]),
            (switches(on, on, on), true, &[]),
            (switches(auto, auto, auto), false, &[place]),
            (switches(on, on, on), false, &[place]),
            (switches(on, off, on), false, &[platform]),
            (switches(auto, off, auto), true, &[platform]),
            (switches(auto, off, auto), false, &[place, platform]),
            (switches(off, off, off), true, &[all]),
        ] {
            assert_eq!(modes.gaps(has_management), expected, "{modes:?}");
        }
    }

    #[test]
    fn all_off_without_a_place_leaves_private_clusters_to_others() {
        let off = switches(Mode::Off, Mode::Off, Mode::Off);
        assert!(off.leave_it_to_others(false));
        assert!(!off.leave_it_to_others(true));
        let some = switches(Mode::Off, Mode::Auto, Mode::Off);
        assert!(!some.leave_it_to_others(false));
    }

    #[test]
    fn a_controller_runs_where_there_is_a_place_or_somebody_turns_it_on() {
        let runs = |mode| [false, true].map(|has| LinkSwitches::runs(mode, has));
        assert_eq!(runs(Mode::Auto), [false, true]);
        assert_eq!(runs(Mode::On), [true, true]);
        assert_eq!(runs(Mode::Off), [false, false]);
    }
}
