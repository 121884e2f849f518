//! Who may use what: the tenants of a fleet, and other settings of its rules from the Fleet document.
//!
//! It does not know which objects are checked against them.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LinkSwitches, Management, OutsideObject};
use crate::model::{ClientBindings, Finding, Node, Path, Value, rule_id};

/// What the files below a path may use. An absent list limits nothing, an empty list allows nothing. A
/// file must satisfy every tenant whose path matches it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// Glob for the files, relative to the fleet's path; a directory matches all files in it.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// Azure subscriptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<Vec<String>>,
    /// AzureClusterIdentities, and Secrets with credentials of Azure Service Operator, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identities: Option<Vec<String>>,
    /// Client IDs that AzureClusterIdentities of the types `WorkloadIdentity` and `UserAssignedMSI` may have: those
    /// authenticate as Capstan itself.
    #[serde(default, rename = "clientIDs", skip_serializing_if = "Option::is_none")]
    pub client_ids: Option<Vec<String>>,
    /// Kinds: `Kind` for the core group and Capstan's, `Kind.group` for all others. If namespaces are limited,
    /// cluster-scoped kinds must be listed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
}

/// The settings of a fleet's rules in its Fleet document. The default limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetPolicy {
    /// The fleet's path in its repository, to which paths of tenants are relative; empty for the root.
    pub root: String,
    /// The tenants; if empty, nothing is limited.
    pub tenants: Vec<Tenant>,
    /// Objects that something else applies.
    pub outside: Vec<OutsideObject>,
    /// Whether the subscriptions have Azure's feature `ExperimentalReleaseFeatures`.
    pub experimental: bool,
    /// Regions that have the ARO HCP service, besides those that are known.
    pub regions: Vec<String>,
    /// The management cluster's place in Azure, if private clusters are reached over Private Link.
    pub management: Option<Management>,
    /// The switches of the controllers of private clusters; `None` where no Fleet document decides which of them run.
    pub links: Option<LinkSwitches>,
    /// The client IDs that identities which authenticate as Capstan itself may name: a setting of the process, which the
    /// Fleet document cannot change.
    pub bindings: ClientBindings,
}

/// Normalizes a fleet's path in its repository, as a prefix of the paths of its files.
pub(super) fn root(path: &str) -> String {
    let parts = path.split('/').filter(|part| !["", "."].contains(part));
    parts.collect::<Vec<_>>().join("/")
}

impl Tenant {
    /// Returns true if nothing is limited.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let lists = [
            &self.namespaces,
            &self.subscriptions,
            &self.identities,
            &self.client_ids,
            &self.kinds,
        ];
        lists.iter().all(|list| list.is_none())
    }

    /// The glob of its path. `*` and `?` do not match `/`, `**` does.
    ///
    /// # Errors
    /// Returns why the path is not a valid glob.
    pub fn files(&self) -> Result<GlobSet, String> {
        let path = self.path.trim_matches('/');
        if path.starts_with('!') {
            return Err("paths that start with `!` are not supported".to_owned());
        }
        if path.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            return Err("one of its parts is empty, `.` or `..`, which never matches".to_owned());
        }
        let mut globs = GlobSetBuilder::new();
        for pattern in [path.to_owned(), format!("{path}/**")] {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
            globs.add(glob.map_err(|error| error.to_string())?);
        }
        globs.build().map_err(|error| error.to_string())
    }
}

/// Findings (S04) for paths of tenants that are not globs, and for lists without a value, which could mean
/// all or nothing.
pub(super) fn findings(document: &Node) -> Vec<Finding> {
    let tenancy = document.at(&["spec", "tenancy"]).and_then(Node::as_list);
    let tenants = tenancy.unwrap_or_default().iter().enumerate();
    let at = Path::dotted("spec.tenancy");
    let of_tenant = |(index, tenant): (usize, &Node)| {
        let at = at.index(index);
        let path = tenant.get("path").and_then(|node| not_a_glob(node, &at));
        let fields = tenant.as_map().into_iter().flat_map(|map| map.iter());
        let empty = fields.filter(|(_, value)| value.value == Value::Null);
        let empty = empty.map(|(key, value)| {
            let field = at.key(key.name.as_ref());
            let message = format!("{field} has no value, which could mean everything or nothing");
            let help = "write [] to allow nothing, or remove the line to allow everything";
            let finding = Finding::error(rule_id::INVALID_VALUE, message).at(value.span());
            finding.field(&field).help(help)
        });
        path.into_iter().chain(empty).collect::<Vec<_>>()
    };
    tenants.flat_map(of_tenant).collect()
}

fn not_a_glob(path: &Node, at: &Path) -> Option<Finding> {
    let tenant = Tenant {
        path: path.as_str()?.to_owned(),
        ..Tenant::default()
    };
    let why = tenant.files().err()?;
    let message = format!("{:?} is not a valid path of files: {why}", tenant.path);
    let finding = Finding::error(rule_id::INVALID_VALUE, message).at(path.span());
    let finding = finding.field(&at.key("path"));
    Some(finding.help("write a path relative to the fleet's path, such as clusters/team-a/**"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(path: &str, file: &str) -> bool {
        let tenant = Tenant {
            path: path.to_owned(),
            ..Tenant::default()
        };
        tenant.files().expect("a glob").is_match(file)
    }

    #[test]
    fn a_path_starts_at_the_top_and_a_directory_covers_all_in_it() {
        for path in ["teams/a", "/teams/a/", "teams/a/**", "teams/?", "**"] {
            assert!(has(path, "teams/a/x.yaml"), "{path}");
            assert!(has(path, "teams/a/deep/.x.yaml"), "{path}");
        }
        for (path, file) in [
            ("a", "teams/a/x.yaml"),
            ("teams/a", "teams/ab/x.yaml"),
            ("teams/a", "teams/A/x.yaml"),
            ("teams/*.yaml", "teams/a/x.yaml"),
            ("teams/*/x.yaml", "teams/a/b/x.yaml"),
            ("teams/a/x.yaml", "teams/a/x.yml"),
        ] {
            assert!(!has(path, file), "{path} {file}");
        }
        assert!(has("teams/*/{x,y}.yaml", "teams/a/y.yaml"));
    }

    #[test]
    fn the_fleet_s_path_is_read_as_files_are_found() {
        for path in ["a/b", "/a/b/", "./a/b", "a//b/.", "a/./b"] {
            assert_eq!(root(path), "a/b", "{path}");
        }
        assert_eq!(root("."), "");
    }

    #[test]
    fn an_invalid_path_is_explained() {
        for path in ["!teams/a", "teams/../x", "./teams", "a//b", "", "a{b", "["] {
            let path = path.to_owned();
            let tenant = Tenant {
                path,
                ..Tenant::default()
            };
            assert!(tenant.files().is_err(), "{tenant:?}");
        }
    }
}
