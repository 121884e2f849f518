//! Which lists of built-in kinds a strategic merge patch merges, and by which key.
//!
//! In: a kind, and where a list stands. Out: its key (the `patchStrategy` and `patchMergeKey` of
//! k8s.io/api). It does not know the lists themselves.

/// The lists of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists<'a> {
    kind: &'a str,
}

/// The field above, empty for any; the list; its key, empty for texts that merge as they are.
const LISTS: &[(&str, &str, &str)] = &[
    ("containers", "ports", "containerPort"),
    ("ephemeralContainers", "ports", "containerPort"),
    ("initContainers", "ports", "containerPort"),
    ("metadata", "finalizers", ""),
    ("metadata", "ownerReferences", "uid"),
    ("status", "conditions", "type"),
    ("status", "hostIPs", "ip"),
    ("status", "podIPs", "ip"),
    ("webhooks", "matchConditions", "name"),
    ("", "containers", "name"),
    ("", "env", "name"),
    ("", "ephemeralContainers", "name"),
    ("", "hostAliases", "ip"),
    ("", "imagePullSecrets", "name"),
    ("", "initContainers", "name"),
    ("", "resourceClaims", "name"),
    ("", "schedulingGates", "name"),
    ("", "topologySpreadConstraints", "topologyKey"),
    ("", "volumeDevices", "devicePath"),
    ("", "volumeMounts", "mountPath"),
    ("", "volumes", "name"),
    ("", "webhooks", "name"),
];

impl<'a> Lists<'a> {
    pub(super) const fn of(kind: &'a str) -> Self {
        Self { kind }
    }

    /// Whether the list `name` of the map under `at` merges.
    pub(super) fn merges(self, at: &str, name: &str) -> bool {
        self.found(at, name).is_some()
    }

    /// The key of its items; none for texts and for lists that do not merge.
    pub(super) fn key(self, at: &str, name: &str) -> Option<&'static str> {
        self.found(at, name).filter(|key| !key.is_empty())
    }

    fn found(self, at: &str, name: &str) -> Option<&'static str> {
        match (self.kind, at, name) {
            ("CustomResourceDefinition", "status", "conditions") => None,
            ("Service", "spec", "ports") => Some("port"),
            ("ServiceAccount", "", "secrets") => Some("name"),
            _ => {
                let fits =
                    |row: &&(&str, &str, &str)| row.1 == name && (row.0.is_empty() || row.0 == at);
                LISTS.iter().find(fits).map(|row| row.2)
            }
        }
    }
}
