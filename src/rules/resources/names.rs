//! A01: names of resources around a cluster.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::api::kinds::{AUTHORIZATION, KEYVAULT, MANAGED_IDENTITY, NETWORK, RESOURCES};
use crate::model::{Finding, is_dns_subdomain, message};
use crate::rules::arm::{Resource, World};
use crate::schema::patterns;

/// What names of some kinds must be like.
struct Limits {
    group: &'static str,
    kinds: &'static [&'static str],
    form: Form,
}

/// What a name must be like.
pub(in crate::rules) struct Form {
    /// The minimum and maximum number of characters.
    length: (usize, usize),
    /// One of [`patterns`].
    pattern: &'static str,
}

pub(in crate::rules) const VAULT: Form = Form {
    length: (3, 24),
    pattern: patterns::VAULT,
};
pub(in crate::rules) const VAULT_KEY: Form = Form {
    length: (1, 127),
    pattern: patterns::VAULT_KEY,
};

impl Form {
    /// Why Azure refuses a name, and what to write instead; `None` if it accepts it.
    pub(in crate::rules) fn refusal(&self, name: &str) -> Option<(String, &'static str)> {
        static PATTERNS: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
            let forms = LIMITS.iter().map(|limits| &limits.form).chain([&VAULT_KEY]);
            let pattern = |form: &Form| Some((form.pattern, Regex::new(form.pattern).ok()?));
            forms.filter_map(pattern).collect()
        });
        let (least, most) = self.length;
        let length = name.chars().count();
        let is_short_or_long = !(least..=most).contains(&length);
        let matches = || {
            PATTERNS
                .get(self.pattern)
                .is_none_or(|pattern| pattern.is_match(name))
        };
        let why = match least == most {
            _ if !is_short_or_long && matches() => return None,
            _ if !is_short_or_long => "is not allowed in Azure".to_owned(),
            true => format!("must have {most} characters, not {length}"),
            false => format!("must have {least} to {most} characters, not {length}"),
        };
        Some((why, patterns::advice(self.pattern)?))
    }
}

/// Azure's page on naming rules and restrictions for resources.
const LIMITS: [Limits; 6] = [
    Limits {
        group: RESOURCES,
        kinds: &["ResourceGroup"],
        form: Form {
            length: (1, 90),
            pattern: patterns::RESOURCE_GROUP,
        },
    },
    Limits {
        group: NETWORK,
        kinds: &["VirtualNetwork", "PrivateEndpoint"],
        form: Form {
            length: (2, 64),
            pattern: patterns::NETWORK,
        },
    },
    Limits {
        group: NETWORK,
        kinds: &[
            "VirtualNetworksSubnet",
            "NetworkSecurityGroup",
            "RouteTable",
            "NatGateway",
            "PublicIPAddress",
            "LoadBalancer",
        ],
        form: Form {
            length: (1, 80),
            pattern: patterns::NETWORK,
        },
    },
    Limits {
        group: KEYVAULT,
        kinds: &["Vault"],
        form: VAULT,
    },
    Limits {
        group: MANAGED_IDENTITY,
        kinds: &["UserAssignedIdentity"],
        form: Form {
            length: (3, 128),
            pattern: patterns::IDENTITY,
        },
    },
    Limits {
        group: AUTHORIZATION,
        kinds: &["RoleAssignment"],
        form: Form {
            length: (36, 36),
            pattern: patterns::UUID,
        },
    },
];

/// A01: Azure accepts the names of resource groups, networks, vaults and identities. Names that Capstan made from a
/// definition are X findings.
pub(super) fn are_valid(world: &World<'_>) -> Vec<Finding> {
    world.all().filter_map(fault).collect()
}

fn fault(resource: &Resource<'_>) -> Option<Finding> {
    let id = &resource.id;
    let is_of =
        |limits: &Limits| limits.group == id.group && limits.kinds.contains(&id.kind.as_str());
    let limits = LIMITS.iter().find(|limits| is_of(limits))?;
    let given = resource.field("spec.azureName");
    let field = match given.text().is_some_and(|name| !name.is_empty()) {
        true => given,
        // Azure Service Operator makes up the UUID of a role assignment.
        false if limits.group == AUTHORIZATION => return None,
        // What no object can be called is reported already.
        false => {
            let name = resource.field("metadata.name");
            name.text().filter(|text| is_dns_subdomain(text))?;
            name
        }
    };
    let name = field.text().filter(|_| !field.is_default())?;
    let (why, advice) = limits.form.refusal(name)?;
    let kind = &id.kind;
    let message = message!("the name {name:?} of the {kind} {why}", name, kind);
    let help = match limits.group {
        AUTHORIZATION => {
            "write a UUID, or remove azureName: Azure Service Operator makes one from the assignment"
        }
        _ => advice,
    };
    Some(field.finding("A01", message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_fleet;

    fn found(group: &str, kind: &str, name: &str) -> Vec<String> {
        let yaml = format!(
            "apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  azureName: {name:?}\n"
        );
        findings_of_fleet(are_valid, &yaml)
    }

    #[test]
    fn each_kind_has_its_own_names() {
        let long = |length| "a".repeat(length);
        for (group, kind, right, wrong) in [
            (
                RESOURCES,
                "ResourceGroup",
                vec!["a".into(), "A_(b).c-".into(), long(90)],
                vec!["a.".into(), "a b".into(), long(91)],
            ),
            (
                NETWORK,
                "VirtualNetwork",
                vec!["ab".into(), "9_.-b_".into(), long(64)],
                vec!["a".into(), "_ab".into(), "ab-".into(), long(65)],
            ),
            (
                NETWORK,
                "VirtualNetworksSubnet",
                vec!["a".into(), long(80)],
                vec!["a/b".into(), long(81)],
            ),
            (
                KEYVAULT,
                "Vault",
                vec!["a-1".into(), "A2345678901234567890123b".into()],
                vec![
                    "ab".into(),
                    "1ab".into(),
                    "ab-".into(),
                    "a--b".into(),
                    long(25),
                ],
            ),
            (
                MANAGED_IDENTITY,
                "UserAssignedIdentity",
                vec!["1_-".into(), long(128)],
                vec!["ab".into(), "-ab".into(), "a.b".into(), long(129)],
            ),
            (
                AUTHORIZATION,
                "RoleAssignment",
                vec!["8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31".into()],
                vec!["contributor".into()],
            ),
            ("other.example", "Vault", vec!["--".into()], vec![]),
        ] {
            for name in right {
                assert_eq!(found(group, kind, &name), [""; 0], "{kind} {name}");
            }
            for name in wrong {
                assert_eq!(found(group, kind, &name).len(), 1, "{kind} {name}");
            }
        }
    }

    #[test]
    fn a_role_assignment_without_a_name_in_azure_gets_one() {
        let yaml = "apiVersion: authorization.azure.com/v1\nkind: RoleAssignment\nmetadata: {name: contributor}\n";
        assert_eq!(findings_of_fleet(are_valid, yaml), [""; 0]);
    }

    #[test]
    fn without_a_name_in_azure_the_name_of_the_object_counts() {
        let yaml =
            "apiVersion: keyvault.azure.com/v1\nkind: Vault\nmetadata:\n  name: team.vault\n";
        assert_eq!(
            findings_of_fleet(are_valid, yaml),
            ["A01 4:9 the name \"team.vault\" of the Vault is not allowed in Azure"]
        );
    }
}
