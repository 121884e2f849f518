//! The clouds of Azure.
//!
//! In: the name that an object gives to its cloud. Out: where tokens are asked for, what they are for, and where
//! resources are managed.

use azure_core::cloud::{CloudConfiguration, CustomConfiguration};

/// A cloud of Azure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adapters::azure) enum Cloud {
    Public,
    China,
    UsGovernment,
}

impl Cloud {
    /// The cloud of an `azureEnvironment`.
    pub(in crate::adapters::azure) fn of_environment(name: &str) -> Result<Self, String> {
        match name {
            "" | "AzurePublicCloud" => Ok(Self::Public),
            "AzureChinaCloud" => Ok(Self::China),
            "AzureUSGovernmentCloud" => Ok(Self::UsGovernment),
            other => Err(format!(
                "azureEnvironment {other:?} is not a cloud: use AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud"
            )),
        }
    }

    /// The cloud of a `userAssignedIdentityCredentialsCloudType`, of whatever case.
    pub(super) fn of_type(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().as_str() {
            "" | "public" => Ok(Self::Public),
            "china" => Ok(Self::China),
            "usgovernment" => Ok(Self::UsGovernment),
            _ => Err(format!(
                "userAssignedIdentityCredentialsCloudType {name:?} is not a cloud: use public, china or usgovernment"
            )),
        }
    }

    /// The server of Entra ID.
    pub(super) const fn authority(self) -> &'static str {
        match self {
            Self::Public => "https://login.microsoftonline.com",
            Self::China => "https://login.chinacloudapi.cn",
            Self::UsGovernment => "https://login.microsoftonline.us",
        }
    }

    /// The host of Azure Resource Manager.
    pub(in crate::adapters::azure) const fn resource_manager(self) -> &'static str {
        match self {
            Self::Public => "management.azure.com",
            Self::China => "management.chinacloudapi.cn",
            Self::UsGovernment => "management.usgovcloudapi.net",
        }
    }

    /// What a token for Azure Resource Manager is asked for.
    pub(in crate::adapters::azure) const fn management(self) -> &'static str {
        match self {
            Self::Public => "https://management.azure.com/.default",
            Self::China => "https://management.chinacloudapi.cn/.default",
            Self::UsGovernment => "https://management.usgovcloudapi.net/.default",
        }
    }
}

/// A cloud whose server of Entra ID is this one.
pub(super) fn at(authority: &str) -> CloudConfiguration {
    let mut custom = CustomConfiguration::default();
    authority.clone_into(&mut custom.authority_host);
    custom.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_three_clouds() {
        for (environment, kind, cloud) in [
            ("", "", Cloud::Public),
            ("AzurePublicCloud", "PUBLIC", Cloud::Public),
            ("AzureChinaCloud", "China", Cloud::China),
            (
                "AzureUSGovernmentCloud",
                "usgovernment",
                Cloud::UsGovernment,
            ),
        ] {
            assert_eq!(Cloud::of_environment(environment), Ok(cloud));
            assert_eq!(Cloud::of_type(kind), Ok(cloud));
            let scope = format!("https://{}/.default", cloud.resource_manager());
            assert_eq!(cloud.management(), scope);
        }
        assert!(Cloud::of_environment("AzureGermanCloud").is_err());
        assert!(Cloud::of_type("german").is_err());
    }
}
