//! Patterns of names and ids that schemas share, and how to say them.
//!
//! In: the pattern of a schema. Out: what to write. It does not know the field.

/// A pattern for UUIDs of either case.
pub const UUID: &str = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";

/// A pattern for DNS labels, such as the names of namespaces: at most 63 characters.
pub const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A pattern for DNS labels that start with a letter, such as the names of clusters.
pub const LETTER_FIRST: &str = "^[a-z]([-a-z0-9]*[a-z0-9])?$";

/// A pattern for DNS subdomains, such as the names of Secrets: at most 253 characters.
pub const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A pattern for the names of vaults: 3 to 24 characters.
pub const VAULT: &str = "^[A-Za-z](-?[A-Za-z0-9])+$";

/// A pattern for the names of keys in vaults: at most 127 characters.
pub const VAULT_KEY: &str = "^[A-Za-z0-9-]+$";

/// A pattern for the names of resource groups: at most 90 characters.
pub const RESOURCE_GROUP: &str = r"^[-\p{L}\p{N}_.()]*[-\p{L}\p{N}_()]$";

/// A pattern for the names of resource groups without other than ASCII letters, as HyperShift takes them: at most 90 characters.
pub const PLAIN_RESOURCE_GROUP: &str = r"^[-a-zA-Z0-9_.()]*[-a-zA-Z0-9_()]$";

/// A pattern for the names of virtual networks, and of what is in them.
pub const NETWORK: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9_])?$";

/// A pattern for the names of user-assigned identities: 3 to 128 characters.
pub const IDENTITY: &str = "^[A-Za-z0-9][-A-Za-z0-9_]*$";

/// A pattern for domains of at least two labels.
pub const DOMAIN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z]{2,}$";

/// A pattern for container images.
pub const IMAGE: &str = r"^\w+\S+$";

/// A pattern for OpenShift versions with their patch version, and of candidates.
pub const PATCH_VERSION: &str = r"^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,4}(-(ec|fc|rc)\.[0-9]{1,3})?$";

/// A pattern for repositories of images, without a tag.
pub const REPOSITORY: &str =
    r"^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$";

/// A pattern for ARM IDs of virtual networks, as HyperShift compares them.
pub const NETWORK_ID: &str = r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+$";

/// A pattern for ARM IDs of subnets, as HyperShift compares them.
pub const SUBNET_ID: &str = r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[A-Za-z0-9]([A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?$";

/// A pattern for ARM IDs of network security groups.
pub const SECURITY_GROUP_ID: &str = r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/networkSecurityGroups/[^/]+$";

/// A pattern for addresses of websites.
pub const HTTPS_URL: &str = r"^https://[^\s/]+(/\S*)?$";

/// A pattern for amounts of a resource above zero.
pub const QUANTITY: &str =
    r"^([1-9][0-9]*(\.[0-9]+)?|0\.[0-9]*[1-9][0-9]*)(m|[kMGTPE]|[KMGTPE]i)?$";

/// A pattern for one word.
pub const WORD: &str = r"^\S+$";

/// Advice for a value where a schema has this pattern, if it is one of these.
#[must_use]
pub fn advice(pattern: &str) -> Option<&'static str> {
    let text = match pattern {
        UUID => "write the ID as Azure shows it, such as 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
        LABEL => "use lower-case letters, digits and `-`; start and end with a letter or digit",
        LETTER_FIRST => {
            "use lower-case letters, digits and `-`; start with a letter and do not end with `-`"
        }
        SUBDOMAIN => {
            "write a DNS name: use lower-case letters, digits, `-` and `.`; start and end with a letter or digit, also beside each `.`"
        }
        VAULT => {
            "use letters, digits and `-`; start with a letter, end with a letter or digit, and do not write `--`"
        }
        VAULT_KEY => "use letters, digits and `-`",
        RESOURCE_GROUP => {
            "use letters, digits, `_`, `-`, `.` and parentheses, and do not end with `.`"
        }
        PLAIN_RESOURCE_GROUP => {
            "use the letters A to Z and a to z, digits, `_`, `-`, `.` and parentheses, and do not end with `.`"
        }
        NETWORK => {
            "use letters, digits, `_`, `.` and `-`; start with a letter or digit, and do not end with `.` or `-`"
        }
        IDENTITY => "use letters, digits, `-` and `_`, and start with a letter or digit",
        DOMAIN => "write a domain in lower case, such as example.com",
        IMAGE => {
            "write it as in `podman pull`, such as quay.io/openshift-release-dev/ocp-release:4.20.17-multi"
        }
        PATCH_VERSION => "write the full version and no more, such as 4.20.17",
        REPOSITORY => "write it without a tag, such as quay.io/openshift-release-dev/ocp-release",
        NETWORK_ID => {
            "write the ID as Azure shows it: /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/virtualNetworks/<name>"
        }
        SUBNET_ID => {
            "write the ID as Azure shows it: /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<subnet>"
        }
        SECURITY_GROUP_ID => {
            "write the ID as Azure shows it: /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/networkSecurityGroups/<name>"
        }
        HTTPS_URL => "write an address that starts with https://",
        QUANTITY => "write an amount as Kubernetes does, such as 16Gi, 500m or 4",
        WORD => "write it without spaces",
        _ => return None,
    };
    Some(text)
}
