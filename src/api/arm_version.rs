//! Versions of Azure's ARO HCP API, and ASO's names for them.
//!
//! In: version strings. Out: the known ARM versions with their features, and parsed ASO versions.
//! Source: facts/aro-rules.md §1.1 and §2.1, facts/aro-2026-09-01.md §1, and the CRDs themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A supported version of `Microsoft.RedHatOpenShift`, oldest first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum ArmVersion {
    /// The first preview: no integration subnet; the vault name is part of the key.
    #[serde(rename = "2024-06-10-preview")]
    V20240610,
    /// Integration subnet, vault visibility, image mirrors.
    #[default]
    #[serde(rename = "2025-12-23-preview")]
    V20251223,
    /// Ingress type, crypto restrictions, key rotation.
    #[serde(rename = "2026-06-30-preview")]
    V20260630,
    /// The fields of 2026-06-30; only the request for admin credentials differs, which users do not write.
    #[serde(rename = "2026-09-01-preview")]
    V20260901,
}

/// Fields of the embedded kinds, below `spec.properties`, that only newer versions have, with the first
/// version that has them.
const SINCE: &[(&str, &str, ArmVersion)] = &[
    (
        "HcpOpenShiftCluster",
        "platform.vnetIntegrationSubnetReference",
        ArmVersion::V20251223,
    ),
    (
        "HcpOpenShiftCluster",
        "etcd.dataEncryption.customerManaged.kms.vaultName",
        ArmVersion::V20251223,
    ),
    (
        "HcpOpenShiftCluster",
        "etcd.dataEncryption.customerManaged.kms.visibility",
        ArmVersion::V20251223,
    ),
    (
        "HcpOpenShiftCluster",
        "imageDigestMirrors",
        ArmVersion::V20251223,
    ),
    ("HcpOpenShiftCluster", "ingress", ArmVersion::V20260630),
    (
        "HcpOpenShiftCluster",
        "cryptoRestrictions",
        ArmVersion::V20260630,
    ),
    (
        "HcpOpenShiftClustersNodePool",
        "platform.osDisk.diskType",
        ArmVersion::V20251223,
    ),
];

impl ArmVersion {
    /// Every supported version, oldest first.
    pub const ALL: &'static [Self] = &[
        Self::V20240610,
        Self::V20251223,
        Self::V20260630,
        Self::V20260901,
    ];

    /// Azure's name for it, such as `2025-12-23-preview`.
    #[must_use]
    pub fn arm(self) -> &'static str {
        match self {
            Self::V20240610 => "2024-06-10-preview",
            Self::V20251223 => "2025-12-23-preview",
            Self::V20260630 => "2026-06-30-preview",
            Self::V20260901 => "2026-09-01-preview",
        }
    }

    /// The corresponding version of the group `redhatopenshift.azure.com`, as it is written. Azure Service
    /// Operator dropped the prefix `v1api` for versions that it added from 2.19 on.
    #[must_use]
    pub fn aso(self) -> &'static str {
        match self {
            Self::V20240610 => "v1api20240610preview",
            Self::V20251223 => "v1api20251223preview",
            Self::V20260630 => "v1api20260630preview",
            Self::V20260901 => "v20260901preview",
        }
    }

    /// The supported version for an ASO version, in either naming scheme.
    #[must_use]
    pub fn from_aso(version: &str) -> Option<Self> {
        let arm = AsoVersion::parse(version)?.arm();
        Self::ALL.iter().copied().find(|known| known.arm() == arm)
    }

    /// Whether `kind` has the field `spec.properties.<field>` in this version. Fields that are not in the
    /// table exist in all versions.
    #[must_use]
    pub fn knows(self, kind: &str, field: &str) -> bool {
        SINCE
            .iter()
            .filter(|(k, f, _)| *k == kind && *f == field)
            .all(|(_, _, since)| self >= *since)
    }

    /// The fields of `kind` below `spec.properties` that this version lacks, with the first version that has
    /// them.
    pub fn lacks(self, kind: &str) -> impl Iterator<Item = (&'static str, Self)> {
        let of_kind = SINCE.iter().filter(move |(of, ..)| *of == kind);
        let later = of_kind.filter(move |(.., since)| self < *since);
        later.map(|(_, field, since)| (*field, *since))
    }

    /// Whether clusters have a second subnet, through which Azure reaches the network.
    #[must_use]
    pub fn has_integration_subnet(self) -> bool {
        self.knows(
            "HcpOpenShiftCluster",
            "platform.vnetIntegrationSubnetReference",
        )
    }

    /// Whether the vault name is next to the key (`kms.vaultName`), with a visibility, and not part of it
    /// (`kms.activeKey.vaultName`).
    #[must_use]
    pub fn names_vault_beside_key(self) -> bool {
        self.knows(
            "HcpOpenShiftCluster",
            "etcd.dataEncryption.customerManaged.kms.vaultName",
        )
    }

    /// Whether Azure replaces the version of a cluster's encryption key: with a new enough API, and OpenShift 4.22 or
    /// later in the cluster. `running` is what runs there, such as `4.22.3`; what is not known is not in the way.
    #[must_use]
    pub fn rotates_keys(self, running: &str) -> bool {
        let mut parts = running.split('.').map(|part| part.parse::<u64>().ok());
        let minor = parts.next().flatten().zip(parts.next().flatten());
        self >= Self::V20260630 && minor.is_none_or(|minor| minor >= (4, 22))
    }
}

/// A parsed version of an ASO group: `^v(1api)?(\d{8})(preview)?(storage)?$`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AsoVersion {
    /// `yyyymmdd`: the date of the ARM version.
    pub date: String,
    /// Whether Azure calls it a preview.
    pub preview: bool,
    /// Whether it is ASO's internal storage version, which is not for users.
    pub storage: bool,
}

impl AsoVersion {
    /// Parses a version; `None` if it is not one of ASO's.
    #[must_use]
    pub fn parse(version: &str) -> Option<Self> {
        let rest = version.strip_prefix('v')?;
        let rest = rest.strip_prefix("1api").unwrap_or(rest);
        let (date, rest) = rest.split_at_checked(8)?;
        let (preview, rest) = cut(rest, "preview");
        let (storage, rest) = cut(rest, "storage");
        let whole = rest.is_empty() && date.bytes().all(|byte| byte.is_ascii_digit());
        whole.then(|| Self {
            date: date.to_owned(),
            preview,
            storage,
        })
    }

    /// The corresponding ARM version, such as `2020-11-01`.
    #[must_use]
    pub fn arm(&self) -> String {
        let (year, rest) = self.date.split_at_checked(4).unwrap_or_default();
        let (month, day) = rest.split_at_checked(2).unwrap_or_default();
        let ending = if self.preview { "-preview" } else { "" };
        format!("{year}-{month}-{day}{ending}")
    }
}

fn cut<'a>(text: &'a str, prefix: &str) -> (bool, &'a str) {
    text.strip_prefix(prefix)
        .map_or((false, text), |rest| (true, rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn aso_versions_of_both_schemes_are_parsed() {
        let version = AsoVersion::parse("v1api20251223preview").unwrap();
        assert_eq!(version.arm(), "2025-12-23-preview");
        assert!(!version.storage);
        assert_eq!(AsoVersion::parse("v20250301").unwrap().arm(), "2025-03-01");
        assert!(AsoVersion::parse("v1api20230701storage").unwrap().storage);
    }

    #[test]
    fn what_is_no_aso_version_is_none() {
        for text in [
            "",
            "v",
            "v1",
            "v1beta2",
            "1api20251223",
            "v1api2025122",
            "v1api20251223alpha",
            "v1api20251223storagepreview",
            "v1apiäöüß",
        ] {
            assert_eq!(AsoVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn known_versions_are_found_from_either_side() {
        for known in ArmVersion::ALL {
            assert_eq!(ArmVersion::from_aso(known.aso()), Some(*known));
            assert_eq!(serde_json::to_value(known).unwrap(), known.arm());
        }
        assert_eq!(
            ArmVersion::from_aso("v20251223preview"),
            Some(ArmVersion::V20251223)
        );
        for spelling in ["v20260901preview", "v1api20260901preview"] {
            assert_eq!(
                ArmVersion::from_aso(spelling),
                Some(ArmVersion::V20260901),
                "{spelling}"
            );
        }
        assert_eq!(ArmVersion::from_aso("v20261001preview"), None);
    }

    #[test]
    fn each_version_knows_its_fields() {
        let knows = |version: ArmVersion, field| version.knows("HcpOpenShiftCluster", field);
        assert!(!ArmVersion::V20240610.has_integration_subnet());
        assert!(!ArmVersion::V20240610.names_vault_beside_key());
        assert!(ArmVersion::V20251223.names_vault_beside_key());
        assert!(!knows(ArmVersion::V20251223, "ingress"));
        assert!(knows(ArmVersion::V20260630, "ingress"));
        for kind in [
            "HcpOpenShiftCluster",
            "HcpOpenShiftClustersNodePool",
            "HcpOpenShiftClustersExternalAuth",
        ] {
            let lacking = ArmVersion::V20260901.lacks(kind).count();
            assert_eq!(lacking, ArmVersion::V20260630.lacks(kind).count());
        }
        assert!(knows(ArmVersion::V20240610, "network.podCidr"));
    }
}
