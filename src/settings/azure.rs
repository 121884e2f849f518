//! How tokens of Azure are asked for.
//!
//! In: `CAPSTAN_AZURE_*`, or the same names without `CAPSTAN_`. Out: the identity of this process, if a type is set, and where
//! things are. It does not know what they are used for.

use std::fmt;
use std::path::PathBuf;

use crate::api::azure_cluster_identity::IdentityType;
use crate::model::Namespaces;

/// How tokens of Azure are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Azure {
    /// The server of Entra ID (`CAPSTAN_AZURE_AUTHORITY_HOST`); `None` for that of each cloud.
    pub authority: Option<String>,
    /// The directory with the files that identities may name, in a directory for each of their namespaces
    /// (`CAPSTAN_AZURE_FILES`).
    pub files: Option<PathBuf>,
    /// The token of the pod's service account (`CAPSTAN_AZURE_FEDERATED_TOKEN_FILE`).
    pub token: Option<PathBuf>,
    /// The identity of this process.
    pub identity: Option<AzureIdentity>,
    /// The namespaces that may use it (`CAPSTAN_AZURE_NAMESPACES`).
    pub namespaces: Namespaces,
    /// What is wrong with that, if it cannot be used.
    pub fault: Option<String>,
}

/// The identity of this process.
#[derive(Clone, PartialEq, Eq)]
pub struct AzureIdentity {
    /// What proves it (`CAPSTAN_AZURE_IDENTITY_TYPE`).
    pub kind: IdentityType,
    /// The client ID (`CAPSTAN_AZURE_CLIENT_ID`).
    pub client: String,
    /// The tenant's ID (`CAPSTAN_AZURE_TENANT_ID`).
    pub tenant: String,
    /// The password of a service principal (`CAPSTAN_AZURE_CLIENT_SECRET`).
    pub password: Option<String>,
    /// The file with a certificate and its key (`CAPSTAN_AZURE_CLIENT_CERTIFICATE_PATH`).
    pub certificate: Option<PathBuf>,
    /// The subscription of clusters that name none (`CAPSTAN_AZURE_SUBSCRIPTION_ID`).
    pub subscription: Option<String>,
}

impl fmt::Debug for AzureIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureIdentity")
            .field("kind", &self.kind)
            .field("client", &self.client)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// The types that this process can have.
const TYPES: [(&str, IdentityType); 4] = [
    ("ServicePrincipal", IdentityType::ServicePrincipal),
    (
        "ServicePrincipalCertificate",
        IdentityType::ServicePrincipalCertificate,
    ),
    ("UserAssignedMSI", IdentityType::UserAssignedMsi),
    ("WorkloadIdentity", IdentityType::WorkloadIdentity),
];

impl Azure {
    pub(super) fn from(variable: &impl Fn(&str) -> Option<String>) -> Self {
        let own = |name: &str| variable(&format!("CAPSTAN_AZURE_{name}"));
        let either = |name: &str| own(name).or_else(|| variable(&format!("AZURE_{name}")));
        let (identity, fault) = match identity(&own, &either) {
            Ok(identity) => (identity, None),
            Err(fault) => (None, Some(fault)),
        };
        let authority = own("AUTHORITY_HOST");
        Self {
            authority: authority.map(|host| host.trim_end_matches('/').to_owned()),
            files: own("FILES").map(PathBuf::from),
            token: either("FEDERATED_TOKEN_FILE").map(PathBuf::from),
            identity,
            namespaces: own("NAMESPACES")
                .map_or(Namespaces::All, |text| Namespaces::of_text(&text)),
            fault,
        }
    }
}

/// The identity of this process; none without a type, whatever else is set for others to read.
fn identity(
    own: &impl Fn(&str) -> Option<String>,
    either: &impl Fn(&str) -> Option<String>,
) -> Result<Option<AzureIdentity>, String> {
    let known = || TYPES.map(|(name, _)| name).join(", ");
    let Some(kind) = either("IDENTITY_TYPE") else {
        return match own("CLIENT_ID").or_else(|| own("CLIENT_SECRET")) {
            None => Ok(None),
            Some(_) => Err(format!(
                "CAPSTAN_AZURE_IDENTITY_TYPE is not set beside other CAPSTAN_AZURE_ variables: {}",
                known()
            )),
        };
    };
    let found = TYPES.iter().find(|(name, _)| *name == kind);
    let (_, found) = found.ok_or_else(|| {
        format!(
            "CAPSTAN_AZURE_IDENTITY_TYPE {kind:?} is not one of {}",
            known()
        )
    })?;
    let needed = |name: &str| {
        either(name).ok_or_else(|| format!("CAPSTAN_AZURE_{name} is not set, and {kind} needs it"))
    };
    match found {
        IdentityType::ServicePrincipal => drop(needed("CLIENT_SECRET")?),
        IdentityType::ServicePrincipalCertificate => drop(needed("CLIENT_CERTIFICATE_PATH")?),
        _ => {}
    }
    Ok(Some(AzureIdentity {
        kind: *found,
        client: needed("CLIENT_ID")?,
        tenant: needed("TENANT_ID")?,
        password: either("CLIENT_SECRET"),
        certificate: either("CLIENT_CERTIFICATE_PATH").map(PathBuf::from),
        subscription: either("SUBSCRIPTION_ID"),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(set: &[(&str, &str)]) -> Azure {
        Azure::from(&|name: &str| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn one_explicit_type_makes_an_identity() {
        let all = [
            ("AZURE_CLIENT_ID", "c"),
            ("AZURE_TENANT_ID", "t"),
            ("AZURE_CLIENT_SECRET", "hunter2"),
        ];
        // Others may read these.
        assert_eq!(read(&all), Azure::default());
        let typed = [
            &all[..],
            &[("CAPSTAN_AZURE_IDENTITY_TYPE", "ServicePrincipal")],
        ]
        .concat();
        let found = read(&typed);
        let identity = found.identity.clone().unwrap();
        assert_eq!(identity.password.as_deref(), Some("hunter2"));
        assert!(!format!("{found:?}").contains("hunter2"));
        let over = [&typed[..], &[("CAPSTAN_AZURE_CLIENT_ID", "own")]].concat();
        assert_eq!(read(&over).identity.unwrap().client, "own");
    }

    #[test]
    fn issue_15_a_list_says_which_namespaces_may_use_the_identity() {
        assert!(read(&[]).namespaces.has("a"));
        let found = read(&[("CAPSTAN_AZURE_NAMESPACES", "a,b")]).namespaces;
        assert!(found.has("b") && !found.has("c"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let kind = |kind| ("CAPSTAN_AZURE_IDENTITY_TYPE", kind);
        for (set, expected) in [
            (
                &[("CAPSTAN_AZURE_CLIENT_ID", "c")][..],
                "CAPSTAN_AZURE_IDENTITY_TYPE is not set",
            ),
            (
                &[kind("Password")],
                "\"Password\" is not one of ServicePrincipal, ",
            ),
            (
                &[kind("ServicePrincipal")],
                "CAPSTAN_AZURE_CLIENT_SECRET is not set",
            ),
            (
                &[kind("ServicePrincipalCertificate")],
                "CAPSTAN_AZURE_CLIENT_CERTIFICATE_PATH is not set",
            ),
            (
                &[kind("WorkloadIdentity")],
                "CAPSTAN_AZURE_CLIENT_ID is not set",
            ),
        ] {
            let found = read(set);
            assert!(found.identity.is_none());
            let fault = found.fault.unwrap();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
