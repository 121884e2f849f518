//! How tokens of Azure are asked for.
//!
//! In: `CAPSTAN_AZURE_*`, or the same names without `CAPSTAN_`. Out: the identity of this process, if a type is set, and where
//! things are. It does not know what they are used for.

use std::fmt;
use std::path::PathBuf;

use crate::api::azure_cluster_identity::IdentityType;
use crate::model::{ClientBindings, Namespaces, is_dns_label};

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
    /// The client IDs that identities which prove themselves as this process may name
    /// (`CAPSTAN_AZURE_IDENTITY_BINDINGS`).
    pub bindings: ClientBindings,
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

/// The variables, without `CAPSTAN_AZURE_`.
const NAMES: [&str; 11] = [
    "AUTHORITY_HOST",
    "CLIENT_CERTIFICATE_PATH",
    "CLIENT_ID",
    "CLIENT_SECRET",
    "FEDERATED_TOKEN_FILE",
    "FILES",
    BINDINGS,
    "IDENTITY_TYPE",
    NAMESPACES,
    "SUBSCRIPTION_ID",
    "TENANT_ID",
];
const NAMESPACES: &str = "NAMESPACES";
const BINDINGS: &str = "IDENTITY_BINDINGS";

impl Azure {
    pub(super) fn from(variable: &impl Fn(&str) -> Option<String>) -> Self {
        let own = |name: &str| variable(&format!("CAPSTAN_AZURE_{name}"));
        let either = |name: &str| own(name).or_else(|| variable(&format!("AZURE_{name}")));
        let namespaces = own(NAMESPACES).map_or(Ok(Namespaces::All), |text| named(&text));
        let both = identity(&own, &either).and_then(|identity| Ok((identity, namespaces?)));
        let (identity, namespaces, mut fault) = match both {
            Ok((identity, namespaces)) => (identity, namespaces, None),
            Err(fault) => (None, Namespaces::All, Some(fault)),
        };
        let bindings = match own(BINDINGS).map(|text| ClientBindings::of_text(&text)) {
            None => ClientBindings::default(),
            Some(Ok(bindings)) => bindings,
            Some(Err(why)) => {
                fault.get_or_insert(format!("CAPSTAN_AZURE_{BINDINGS}: {why}"));
                ClientBindings::nobody()
            }
        };
        // A list of namespaces must not be bypassed by an identity that names the same client.
        let bindings = match identity.as_ref().filter(|one| one.kind.is_of_process()) {
            Some(identity) => bindings.and_own(&identity.client, namespaces.clone()),
            None => bindings,
        };
        let authority = own("AUTHORITY_HOST");
        Self {
            authority: authority.map(|host| host.trim_end_matches('/').to_owned()),
            files: own("FILES").map(PathBuf::from),
            token: either("FEDERATED_TOKEN_FILE").map(PathBuf::from),
            identity,
            namespaces,
            bindings,
            fault,
        }
    }

    /// Finds a mistake in the `names` of all variables that are set, empty ones included: a typo must not let every
    /// namespace use the identity, or any client.
    pub(super) fn check_names(&mut self, names: impl Iterator<Item = (String, bool)>) {
        for (name, is_empty) in names {
            let Some(short) = name.strip_prefix("CAPSTAN_AZURE_") else {
                continue;
            };
            let why = if !NAMES.contains(&short) {
                let known = NAMES.join(", ");
                format!("{name} is not known; after CAPSTAN_AZURE_ comes one of {known}")
            } else if short == NAMESPACES && is_empty {
                format!("{name} is empty: name the namespaces, or unset it to let all use it")
            } else if short == BINDINGS && is_empty {
                format!("{name} is empty: write none to bind nothing, or unset it to limit nothing")
            } else {
                continue;
            };
            self.identity = None;
            self.bindings = ClientBindings::nobody();
            self.fault.get_or_insert(why);
        }
    }
}

/// The namespaces in a list.
fn named(text: &str) -> Result<Namespaces, String> {
    match text
        .split(',')
        .map(str::trim)
        .find(|name| !is_dns_label(name))
    {
        Some(name) => Err(format!(
            "CAPSTAN_AZURE_NAMESPACES: {name:?} is not the name of a namespace; separate names by commas"
        )),
        None => Ok(Namespaces::of_text(text)),
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
                "CAPSTAN_AZURE_IDENTITY_TYPE is not set, but other CAPSTAN_AZURE_ variables are: set it to one of {}",
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
        let faulty = read(&[("CAPSTAN_AZURE_NAMESPACES", "team-a;team-b")]);
        assert!(faulty.fault.unwrap().contains("\"team-a;team-b\""));
    }

    #[test]
    fn issue_15_a_typo_gives_the_identity_to_nobody() {
        let typed = [
            ("CAPSTAN_AZURE_IDENTITY_TYPE", "UserAssignedMSI"),
            ("CAPSTAN_AZURE_CLIENT_ID", "c"),
            ("CAPSTAN_AZURE_TENANT_ID", "t"),
        ];
        for (name, is_empty, expected) in [
            ("CAPSTAN_AZURE_NAMESPACES", false, None),
            ("AZURE_WHATEVER", false, None),
            ("CAPSTAN_AZURE_NAMESPACE", false, Some("is not known")),
            ("CAPSTAN_AZURE_NAMESPACES", true, Some("is empty")),
            ("CAPSTAN_AZURE_IDENTITY_BINDINGS", true, Some("is empty")),
            (
                "CAPSTAN_AZURE_IDENTITY_BINDING",
                false,
                Some("is not known"),
            ),
        ] {
            let mut found = read(&typed);
            found.check_names(std::iter::once((name.to_owned(), is_empty)));
            assert_eq!(found.identity.is_some(), expected.is_none(), "{name}");
            assert_eq!(
                found.bindings.allow("a", "other"),
                expected.is_none(),
                "{name}"
            );
            let fault = found.fault.unwrap_or_default();
            assert!(fault.contains(expected.unwrap_or_default()), "{fault}");
        }
    }

    #[test]
    fn issue_15_bindings_say_who_may_name_which_client() {
        assert!(read(&[]).bindings.is_open());
        let bound = read(&[("CAPSTAN_AZURE_IDENTITY_BINDINGS", "team-a=c1")]);
        assert!(bound.bindings.allow("team-a", "c1") && !bound.bindings.allow("team-b", "c1"));
        let faulty = read(&[("CAPSTAN_AZURE_IDENTITY_BINDINGS", "team-a:c1")]);
        assert!(!faulty.bindings.allow("team-a", "c1"));
        assert!(
            faulty
                .fault
                .unwrap()
                .starts_with("CAPSTAN_AZURE_IDENTITY_BINDINGS: part 1 ")
        );
        let own = read(&[
            ("CAPSTAN_AZURE_IDENTITY_TYPE", "WorkloadIdentity"),
            ("CAPSTAN_AZURE_CLIENT_ID", "c"),
            ("CAPSTAN_AZURE_TENANT_ID", "t"),
            ("CAPSTAN_AZURE_NAMESPACES", "platform"),
        ]);
        assert!(own.bindings.allow("platform", "c") && !own.bindings.allow("team-b", "c"));
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
