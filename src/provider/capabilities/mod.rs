//! The platforms and versions that this provider offers. Pure.
//!
//! In: the kinds that the hub serves, its releases, and the platforms that the settings enable. Out: what is advertised, and
//! why a platform is not. It does not know how the hub is asked, or who is told.

mod platform;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

pub use platform::{EnabledPlatforms, HubKind, Platform};

use super::version::Releases;

/// The longest name of a platform that a message repeats, in characters.
const LONGEST_NAME: usize = 63;

/// The capabilities of this provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The platforms that a cluster can be made on.
    pub platforms: BTreeSet<Platform>,
    /// The OpenShift minor versions, the lowest first.
    pub versions_openshift: Vec<String>,
    /// The Kubernetes minor versions, the lowest first.
    pub versions_kubernetes: Vec<String>,
    withheld: BTreeMap<Platform, Withheld>,
}

/// The reason why a platform is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Withheld {
    SwitchedOff,
    /// The hub does not serve these.
    Missing(Vec<HubKind>),
}

impl Capabilities {
    /// Returns what is offered on a hub that serves these kinds. Where a separate cluster runs the virtual machines, the kinds
    /// of KubeVirt are those of that cluster.
    #[must_use]
    pub fn new(
        enabled: &EnabledPlatforms,
        served: &BTreeSet<HubKind>,
        releases: &Releases,
    ) -> Self {
        let mut capabilities = Self {
            versions_openshift: releases.supported_openshift(),
            versions_kubernetes: releases.supported_kubernetes(),
            ..Self::default()
        };
        for platform in Platform::ALL {
            match withheld(platform, enabled, served) {
                Some(reason) => _ = capabilities.withheld.insert(platform, reason),
                None => _ = capabilities.platforms.insert(platform),
            }
        }
        capabilities
    }

    /// Returns the platform of a request if a cluster can be made on it.
    ///
    /// # Errors
    ///
    /// Returns why it cannot; each reason is an unprocessable entity (422).
    pub fn require(&self, platform: &str) -> Result<Platform, PlatformError> {
        let Some(known) = Platform::parse(platform) else {
            return Err(PlatformError::Unknown {
                platform: platform.chars().take(LONGEST_NAME).collect(),
                offered: self.offered(),
            });
        };
        self.is_offered(known).map(|()| known)
    }

    /// Checks that a cluster can be made on a platform.
    ///
    /// # Errors
    ///
    /// Returns why it cannot.
    pub fn is_offered(&self, platform: Platform) -> Result<(), PlatformError> {
        if self.platforms.contains(&platform) {
            return Ok(());
        }
        let offered = self.offered();
        Err(match self.withheld.get(&platform) {
            Some(Withheld::SwitchedOff) => PlatformError::SwitchedOff { platform, offered },
            Some(Withheld::Missing(kinds)) => PlatformError::Missing {
                platform,
                kinds: joined(kinds),
                offered,
            },
            None => PlatformError::Undiscovered { platform },
        })
    }

    fn offered(&self) -> String {
        if self.platforms.is_empty() {
            return "no platform is offered".to_owned();
        }
        let platforms = self.platforms.iter().map(|platform| platform.name());
        format!("offered: {}", platforms.collect::<Vec<_>>().join(", "))
    }
}

fn withheld(
    platform: Platform,
    enabled: &EnabledPlatforms,
    served: &BTreeSet<HubKind>,
) -> Option<Withheld> {
    if !enabled.allow(platform) {
        return Some(Withheld::SwitchedOff);
    }
    let missing: Vec<_> = platform.missing_kinds(served).collect();
    (!missing.is_empty()).then_some(Withheld::Missing(missing))
}

fn joined(kinds: &[HubKind]) -> String {
    let kinds = kinds.iter().map(HubKind::to_string);
    kinds.collect::<Vec<_>>().join(", ")
}

/// The reason why no cluster can be made on a platform.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlatformError {
    /// There is no such platform.
    #[error("unsupported platform {platform:?}; {offered}")]
    Unknown {
        /// The name in the request, cut.
        platform: String,
        /// The platforms that are offered.
        offered: String,
    },
    /// The settings do not enable it.
    #[error("unsupported platform \"{platform}\": it is not enabled here; {offered}")]
    SwitchedOff {
        /// The platform.
        platform: Platform,
        /// The platforms that are offered.
        offered: String,
    },
    /// The hub lacks kinds that it needs.
    #[error("unsupported platform \"{platform}\": the hub does not serve {kinds}; {offered}")]
    Missing {
        /// The platform.
        platform: Platform,
        /// The kinds that are missing.
        kinds: String,
        /// The platforms that are offered.
        offered: String,
    },
    /// The hub was not asked yet.
    #[error(
        "unsupported platform \"{platform}\": the hub has not been asked yet what it serves; try again in a minute"
    )]
    Undiscovered {
        /// The platform.
        platform: Platform,
    },
}
