//! The thirteen identities of a cluster's operators.
//!
//! Source: facts/aro-controllers.md §7.

/// Which half of the cluster an operator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plane {
    /// It runs beside the control plane, in Azure's hands.
    Control,
    /// It runs on the nodes.
    Data,
    /// It is Azure's service itself.
    Service,
}

/// An operator that acts at Azure with an identity of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Where it runs.
    pub(super) plane: Plane,
    /// What Azure calls the operator.
    pub(super) operator: &'static str,
}

const fn control(operator: &'static str) -> Identity {
    Identity {
        plane: Plane::Control,
        operator,
    }
}

const fn data(operator: &'static str) -> Identity {
    Identity {
        plane: Plane::Data,
        operator,
    }
}

pub(super) const CONTROL_PLANE: Identity = control("control-plane");
pub(super) const CLUSTER_API: Identity = control("cluster-api-azure");
pub(super) const CLOUD_CONTROLLER_MANAGER: Identity = control("cloud-controller-manager");
pub(super) const INGRESS: Identity = control("ingress");
pub(super) const DISK_CSI: Identity = control("disk-csi-driver");
pub(super) const FILE_CSI: Identity = control("file-csi-driver");
pub(super) const IMAGE_REGISTRY: Identity = control("image-registry");
pub(super) const CLOUD_NETWORK_CONFIG: Identity = control("cloud-network-config");
pub(super) const KMS: Identity = control("kms");
pub(super) const DATA_DISK_CSI: Identity = data("disk-csi-driver");
pub(super) const DATA_FILE_CSI: Identity = data("file-csi-driver");
pub(super) const DATA_IMAGE_REGISTRY: Identity = data("image-registry");
pub(super) const SERVICE: Identity = Identity {
    plane: Plane::Service,
    operator: "service-managed-identity",
};

/// All of them, in the order they are made.
pub(super) const IDENTITIES: &[Identity] = &[
    CONTROL_PLANE,
    CLUSTER_API,
    CLOUD_CONTROLLER_MANAGER,
    INGRESS,
    DISK_CSI,
    FILE_CSI,
    IMAGE_REGISTRY,
    CLOUD_NETWORK_CONFIG,
    KMS,
    DATA_DISK_CSI,
    DATA_IMAGE_REGISTRY,
    DATA_FILE_CSI,
    SERVICE,
];

impl Identity {
    /// What distinguishes it from the cluster's other identities in names: `cp-ingress`.
    pub(super) fn stem(&self) -> String {
        match self.plane {
            Plane::Control => format!("cp-{}", self.operator),
            Plane::Data => format!("dp-{}", self.operator),
            Plane::Service => self.operator.to_owned(),
        }
    }

    /// What it is called in a resource group that holds the identities of one cluster: `ingress`,
    /// `dp-disk-csi-driver`, `service`.
    pub(super) fn in_pool(&self) -> String {
        match self.plane {
            Plane::Control => self.operator.to_owned(),
            Plane::Data => self.stem(),
            Plane::Service => "service".to_owned(),
        }
    }

    /// It in one word, as names of role assignments have it: `ingressmi`, `dpfilecsidrivermi`.
    pub(super) fn word(&self) -> String {
        let plane = if self.plane == Plane::Data { "dp" } else { "" };
        format!("{plane}{}mi", self.operator.replace('-', ""))
    }
}

/// The identities of one plane.
pub(super) fn of(plane: Plane) -> impl Iterator<Item = &'static Identity> {
    IDENTITIES
        .iter()
        .filter(move |identity| identity.plane == plane)
}
