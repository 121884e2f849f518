//! IDs of Azure Resource Manager.
//!
//! In: an ID, as somebody wrote it. Out: its parts, of which a path can be made. An ID that could lead elsewhere is refused.
//! It does not know what is asked of the resource.

use std::fmt;

/// The provider of the resources.
const PROVIDER: &str = "Microsoft.Network";

/// A resource group. Azure compares the names of resources without regard to case; so do these.
#[derive(Clone, Debug)]
pub(super) struct ResourceGroup {
    subscription: String,
    name: String,
}

impl ResourceGroup {
    /// The resource group of a subscription; `None` if these cannot be their names.
    pub(super) fn new(subscription: &str, name: &str) -> Option<Self> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let is_subscription = is_within(subscription, 64) && subscription.bytes().all(is_plain);
        let is_part = |c: char| c.is_alphanumeric() || ['-', '_', '.', '(', ')'].contains(&c);
        let is_group = is_within(name, 90) && name.chars().all(is_part) && !name.ends_with('.');
        (is_subscription && is_group).then(|| Self {
            subscription: subscription.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Equal for the same resource group.
    pub(super) fn key(&self) -> (String, String) {
        (self.subscription.to_lowercase(), self.name.to_lowercase())
    }

    /// The path of its resources of a kind.
    pub(super) fn path<'a>(&'a self, kind: &'a str) -> Vec<&'a str> {
        let Self { subscription, name } = self;
        vec![
            "subscriptions",
            subscription,
            "resourceGroups",
            name,
            "providers",
            PROVIDER,
            kind,
        ]
    }
}

impl fmt::Display for ResourceGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subscription, name } = self;
        write!(
            f,
            "the resource group '{name}' in the subscription '{subscription}'"
        )
    }
}

/// The ID of a resource of Microsoft.Network.
#[derive(Clone, Debug)]
pub(super) struct ArmId {
    pub(super) group: ResourceGroup,
    kind: &'static str,
    name: String,
}

impl ArmId {
    /// The ID of a resource of this kind.
    pub(super) fn parse(id: &str, kind: &'static str) -> Option<Self> {
        let parts: Vec<&str> = id.split('/').collect();
        let [
            "",
            subscriptions,
            subscription,
            groups,
            group,
            providers,
            provider,
            found,
            name,
        ] = parts[..]
        else {
            return None;
        };
        let words = [
            (subscriptions, "subscriptions"),
            (groups, "resourceGroups"),
            (providers, "providers"),
            (provider, PROVIDER),
            (found, kind),
        ];
        let is_kind = words
            .iter()
            .all(|(found, word)| found.eq_ignore_ascii_case(word));
        let group = ResourceGroup::new(subscription, group)?;
        (is_kind && is_resource_name(name, 80)).then(|| Self {
            group,
            kind,
            name: name.to_owned(),
        })
    }

    /// Equal for the same resource.
    pub(super) fn key(&self) -> (String, String, &'static str, String) {
        let (subscription, group) = self.group.key();
        (subscription, group, self.kind, self.name.to_lowercase())
    }

    /// Its path.
    pub(super) fn path(&self) -> Vec<&str> {
        let mut path = self.group.path(self.kind);
        path.push(&self.name);
        path
    }
}

impl fmt::Display for ArmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

/// The ID above one such as `PARENT/KIND/NAME`.
pub(super) fn parent<'a>(id: &'a str, kind: &str) -> Option<&'a str> {
    let (rest, name) = id.rsplit_once('/')?;
    let (parent, found) = rest.rsplit_once('/')?;
    (is_resource_name(name, 128) && found.eq_ignore_ascii_case(kind)).then_some(parent)
}

/// Returns true if this can be the name of a resource: one segment of a path, which leads nowhere else.
pub(super) fn is_resource_name(name: &str, longest: usize) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || [b'-', b'_', b'.'].contains(&b);
    let is_inner = |edge: Option<char>| edge.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let (first, last) = (name.chars().next(), name.chars().next_back());
    is_within(name, longest) && name.bytes().all(is_part) && is_inner(first) && is_inner(last)
}

fn is_within(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.chars().count())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const KIND: &str = "privateLinkServices";

    #[test]
    fn ids_compare_without_regard_to_case() {
        let key = |id| ArmId::parse(id, KIND).unwrap().key();
        let one = "/subscriptions/AB-1/resourceGroups/RG.x/providers/Microsoft.Network/privateLinkServices/pls-A";
        let two = "/Subscriptions/ab-1/resourcegroups/rg.X/providers/microsoft.network/PrivateLinkServices/PLS-a";
        assert_eq!(key(one), key(two));
        assert_ne!(key(one), key(&format!("{two}b")));
        assert_eq!(ArmId::parse(one, KIND).unwrap().to_string(), one);
    }

    #[test]
    fn an_id_that_leads_elsewhere_is_refused() {
        let id = |subscription: &str, group: &str, name: &str| {
            format!(
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateLinkServices/{name}"
            )
        };
        assert!(ArmId::parse(&id("s", "g", "n"), KIND).is_some());
        for bad in [
            String::new(),
            "https://evil.example/".to_owned(),
            format!("//evil.example{}", id("s", "g", "n")),
            format!("@evil.example{}", id("s", "g", "n")),
            id("", "g", "n"),
            id("s", "..", "n"),
            id("s", "g.", "n"),
            id("s", "g", ".."),
            id("s", "g", "."),
            id("s", "g", ""),
            id("s", "g", "n?api-version=1"),
            id("s", "g", "n#x"),
            id("s", "g", "n/"),
            id("s", "g", "%2e%2e"),
            id("s", "g", "n/privateEndpointConnections/x"),
            id("s", "g", "n\\..\\x"),
            id("s", "g", "n\nx"),
            id("s@evil", "g", "n"),
            id("s", "g", &"n".repeat(81)),
            id("s", "g", "n").replace("Microsoft.Network", "Microsoft.Compute"),
            id("s", "g", "n").replace("privateLinkServices", "loadBalancers"),
        ] {
            assert!(ArmId::parse(&bad, KIND).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_parent_has_the_kind_below_it() {
        assert_eq!(parent("/a/b/Subnets/c", "subnets"), Some("/a/b"));
        for bad in ["", "subnets/c", "/a/subnets/..", "/a/nets/c", "/a/subnets/"] {
            assert_eq!(parent(bad, "subnets"), None, "{bad}");
        }
    }
}
