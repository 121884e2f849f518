//! The platforms that worker nodes run on, and the kinds that they need.
//!
//! In: names and settings. Out: platforms and kinds. It does not know what the hub serves.

use std::collections::BTreeSet;
use std::fmt;

/// A platform that worker nodes run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Platform {
    /// Bare-metal hosts that Agents stand for.
    BareMetal,
    /// Virtual machines of OpenShift Virtualization.
    KubeVirt,
}

impl Platform {
    /// All platforms.
    pub const ALL: [Self; 2] = [Self::BareMetal, Self::KubeVirt];

    /// Returns the name in requests and in the registry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BareMetal => "baremetal",
            Self::KubeVirt => "kubevirt",
        }
    }

    /// Returns the platform with this name, which is compared with its case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|platform| platform.name() == name)
    }

    /// Returns the kind that the platform needs besides those of HyperShift.
    #[must_use]
    pub const fn kind(self) -> HubKind {
        match self {
            Self::BareMetal => HubKind::Agent,
            Self::KubeVirt => HubKind::VirtualMachineInstance,
        }
    }

    /// Returns the kinds that the platform needs and that are not `served`.
    pub(crate) fn missing_kinds(
        self,
        served: &BTreeSet<HubKind>,
    ) -> impl Iterator<Item = HubKind> + '_ {
        let needed = [HubKind::HostedCluster, HubKind::NodePool, self.kind()];
        needed.into_iter().filter(|kind| !served.contains(kind))
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A kind that a platform needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HubKind {
    /// The control plane of a cluster.
    HostedCluster,
    /// The worker nodes of a cluster.
    NodePool,
    /// A virtual machine that runs.
    VirtualMachineInstance,
    /// A bare-metal host that can become a node.
    Agent,
}

impl HubKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::HostedCluster,
        Self::NodePool,
        Self::VirtualMachineInstance,
        Self::Agent,
    ];

    /// Returns the API version and the kind.
    #[must_use]
    pub const fn api(self) -> (&'static str, &'static str) {
        match self {
            Self::HostedCluster => ("hypershift.openshift.io/v1beta1", "HostedCluster"),
            Self::NodePool => ("hypershift.openshift.io/v1beta1", "NodePool"),
            Self::VirtualMachineInstance => ("kubevirt.io/v1", "VirtualMachineInstance"),
            Self::Agent => ("agent-install.openshift.io/v1beta1", "Agent"),
        }
    }
}

impl fmt::Display for HubKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, kind) = self.api();
        write!(out, "{kind} ({version})")
    }
}

/// The platforms that the settings enable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnabledPlatforms {
    /// Those that the hub serves.
    #[default]
    Discovered,
    /// These; each is expected on the hub.
    Only(BTreeSet<Platform>),
}

impl EnabledPlatforms {
    /// Returns true if the settings do not switch the platform off.
    #[must_use]
    pub fn allow(&self, platform: Platform) -> bool {
        match self {
            Self::Discovered => true,
            Self::Only(platforms) => platforms.contains(&platform),
        }
    }
}
