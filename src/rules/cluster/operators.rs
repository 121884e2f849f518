//! The operators of a cluster that call Azure: those that Azure requires, and those that a cluster names, each
//! with the reference to its identity.

use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::rules::arm::{Field, Resource};

/// Which half of a cluster an operator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Plane {
    /// It runs with the control plane and is managed by Azure.
    Control,
    /// It runs on the nodes.
    Data,
    /// It is Azure's service itself.
    Service,
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Control => "control plane",
            Self::Data => "data plane",
            Self::Service => "service",
        })
    }
}

/// The operator that reaches the key of a cluster's data.
pub(super) const KMS: &str = "kms";

/// A role that an operator's identity needs, and where.
#[derive(Deserialize)]
pub(super) struct Grant {
    pub(super) plane: Plane,
    pub(super) operator: String,
    /// The display name of the role.
    pub(super) name: String,
    /// Its definition.
    pub(super) guid: String,
    pub(super) scopes: Vec<Scope>,
}

/// What a role is assigned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Scope {
    Network,
    Subnet,
    /// Or on its network: roles hold on what is inside, too.
    IntegrationSubnet,
    SecurityGroup,
    Vault,
    ControlIdentities,
    DataIdentities,
}

/// What Azure requires.
#[derive(Deserialize)]
pub(super) struct Required {
    pub(super) control: Vec<String>,
    pub(super) data: Vec<String>,
    pub(super) roles: Vec<Grant>,
}

/// The table of what Azure requires.
pub(super) fn required() -> &'static Required {
    static REQUIRED: OnceLock<Required> = OnceLock::new();
    REQUIRED.get_or_init(|| {
        let read = serde_json::from_str(include_str!("../data/operators.json"));
        read.expect("the table of operators is valid")
    })
}

/// An operator that a cluster names.
pub(super) struct Operator<'a> {
    pub(super) plane: Plane,
    pub(super) name: &'a str,
    /// The reference to its identity.
    pub(super) field: Field<'a>,
}

impl Operator<'_> {
    /// Whether it is this operator. Case matters (C56).
    pub(super) fn is(&self, plane: Plane, name: &str) -> bool {
        self.plane == plane && (plane == Plane::Service || self.name == name)
    }
}

impl fmt::Display for Operator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plane {
            Plane::Service => f.write_str("the ARO service"),
            plane => write!(f, "{plane} operator `{}`", self.name),
        }
    }
}

const IDENTITIES: &str = "spec.properties.platform.operatorsAuthentication.userAssignedIdentities";

/// The field with the identities of a plane's operators.
pub(super) fn field<'a>(cluster: &'a Resource<'a>, plane: Plane) -> Field<'a> {
    cluster.field(IDENTITIES).key(match plane {
        Plane::Control => "controlPlaneOperatorsReferences",
        Plane::Data => "dataPlaneOperatorsReferences",
        Plane::Service => "serviceManagedIdentityReference",
    })
}

/// All operators that a cluster names.
pub(super) fn of<'a>(cluster: &'a Resource<'a>) -> Vec<Operator<'a>> {
    let of_plane = |plane| {
        let entries = field(cluster, plane).entries().collect::<Vec<_>>();
        let named = entries.into_iter();
        named.map(move |(name, field)| Operator { plane, name, field })
    };
    let service = field(cluster, Plane::Service);
    let service = service.is_given().then(|| Operator {
        plane: Plane::Service,
        name: "service",
        field: service.clone(),
    });
    let planes = of_plane(Plane::Control).chain(of_plane(Plane::Data));
    planes.chain(service).collect()
}
