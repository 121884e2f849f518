//! The groups of controllers: each has a Lease of its own, and may run in a process of its own.

use std::fmt;

use crate::api::azure_private_link_service::KINDS as CONNECTIONS;
use crate::api::kinds::{ARO, Kind, find};

/// The name of the Lease of the ARO controllers for the whole cluster.
pub const LEASE: &str = "capstan-aro-controllers";

/// Controllers that have one Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Those of the ARO provider's kinds.
    Aro,
    /// The one that describes the connections of private clusters.
    PrivateLinkObserver,
    /// The one that makes their management side.
    PrivateLinkPlatform,
    /// The one that makes their customer's side.
    PrivateLinkEndpoint,
}

impl Group {
    /// The groups for private clusters.
    pub const PRIVATE_LINK: [Self; 3] = [
        Self::PrivateLinkObserver,
        Self::PrivateLinkPlatform,
        Self::PrivateLinkEndpoint,
    ];

    /// Its name, as flags have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aro => "aro",
            Self::PrivateLinkObserver => "private-link-observer",
            Self::PrivateLinkPlatform => "private-link-platform",
            Self::PrivateLinkEndpoint => "private-link-endpoint",
        }
    }

    /// Its Lease.
    pub(super) const fn lease(self) -> &'static str {
        match self {
            Self::Aro => LEASE,
            Self::PrivateLinkObserver => "capstan-private-link-observer",
            Self::PrivateLinkPlatform => "capstan-private-link-platform",
            Self::PrivateLinkEndpoint => "capstan-private-link-endpoint",
        }
    }

    /// Whether all of its controllers step back at once, for those of CAPZ. The others decide for each object.
    pub(super) const fn steps_back(self) -> bool {
        matches!(self, Self::Aro)
    }

    /// The kinds of which one must be served before they begin.
    pub(super) fn kinds(self) -> Vec<Kind> {
        if self == Self::Aro {
            let known = ARO.iter().filter_map(|(group, kind)| find(group, kind));
            return known.copied().collect();
        }
        CONNECTIONS.to_vec()
    }

    /// The flag by which they act without their Lease.
    pub(super) const fn switch(self) -> &'static str {
        match self {
            Self::Aro => "`--aro on` (in a Fleet document: spec.controllers.aro)",
            Self::PrivateLinkObserver => {
                "`--private-link on` (in a Fleet document: spec.controllers.privateLinkObserver)"
            }
            Self::PrivateLinkPlatform => {
                "`--private-link on` (in a Fleet document: spec.controllers.privateLinkPlatform)"
            }
            Self::PrivateLinkEndpoint => {
                "`--private-link on` (in a Fleet document: spec.controllers.privateLinkEndpoint)"
            }
        }
    }
}

/// As the subject of a sentence.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aro => f.write_str("the ARO controllers"),
            other => write!(f, "the controllers of {}", other.name()),
        }
    }
}
