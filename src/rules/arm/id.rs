//! The ARM id of a resource: `/subscriptions/S/resourceGroups/R/providers/P/type/name/...`.
//! Azure compares ids without case, so they are kept in lower case.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The id of a resource. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::rules) struct ArmId(Arc<Parts>);

/// What an id consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::rules) struct Parts {
    /// Its subscription; empty if the fleet does not name it.
    pub(in crate::rules) subscription: String,
    /// Its resource group; empty of a subscription.
    pub(in crate::rules) group: String,
    /// The namespace of its type, such as `microsoft.network`; empty of a resource group.
    pub(in crate::rules) provider: String,
    /// Types and names, outermost first: a virtual network, then a subnet.
    pub(in crate::rules) parts: Vec<(String, String)>,
}

impl Deref for ArmId {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl ArmId {
    /// A resource group.
    pub(in crate::rules) fn of_group(subscription: &str, group: &str) -> Self {
        Self(Arc::new(Parts {
            subscription: subscription.to_lowercase(),
            group: group.to_lowercase(),
            ..Parts::default()
        }))
    }

    /// Its parts, to change them.
    pub(in crate::rules) fn parts_mut(&mut self) -> &mut Parts {
        Arc::make_mut(&mut self.0)
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::rules) fn parse(text: &str) -> Result<Self, String> {
        let lower = text.to_lowercase();
        let Some(rest) = lower.strip_prefix('/') else {
            return Err("it does not start with `/`".to_owned());
        };
        let segments: Vec<&str> = rest.split('/').collect();
        if segments
            .iter()
            .any(|segment| segment.trim() != *segment || segment.is_empty())
        {
            return Err("a part of it is empty or surrounded by spaces".to_owned());
        }
        let (subscription, rest) = match segments.as_slice() {
            ["subscriptions", subscription, rest @ ..] => (*subscription, rest),
            _ => return Err("it does not start with `/subscriptions/<id>`".to_owned()),
        };
        let (group, rest) = match rest {
            ["resourcegroups", group, rest @ ..] => (*group, rest),
            rest => ("", rest),
        };
        let mut id = Self::of_group(subscription, group);
        match rest {
            [] => Ok(id),
            ["providers", provider, pairs @ ..] if !pairs.is_empty() && pairs.len() % 2 == 0 => {
                let pairs = pairs
                    .chunks(2)
                    .map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
                let parts = id.parts_mut();
                (*provider).clone_into(&mut parts.provider);
                parts.parts = pairs.collect();
                Ok(id)
            }
            _ => Err("`/providers/<namespace>/<type>/<name>` must follow the group".to_owned()),
        }
    }

    /// `microsoft.network/virtualnetworks/subnets`.
    pub(in crate::rules) fn kind(&self) -> String {
        let types = self.parts.iter().map(|(kind, _)| kind.as_str());
        let all: Vec<&str> = std::iter::once(self.provider.as_str())
            .chain(types)
            .collect();
        all.join("/")
    }

    /// Its own name.
    pub(in crate::rules) fn name(&self) -> &str {
        self.parts.last().map_or(&self.group, |(_, name)| name)
    }

    /// The resource it is part of: the virtual network of a subnet.
    pub(in crate::rules) fn parent(&self) -> Option<Self> {
        (self.parts.len() > 1).then(|| {
            let mut parent = self.clone();
            parent.parts_mut().parts.pop();
            parent
        })
    }

    /// The resource or the resource group that it is in.
    pub(in crate::rules) fn around(&self) -> Self {
        let group = || Self::of_group(&self.subscription, &self.group);
        self.parent().unwrap_or_else(group)
    }

    /// The resource of this type and name inside of it.
    pub(in crate::rules) fn child(&self, provider: &str, kind: &str, name: &str) -> Self {
        let mut child = self.clone();
        let parts = child.parts_mut();
        if parts.provider.is_empty() {
            parts.provider = provider.to_lowercase();
        }
        parts.parts.push((kind.to_lowercase(), name.to_lowercase()));
        child
    }

    /// The same, and the namespace of the object that names it if it has no subscription: two namespaces may use
    /// different subscriptions.
    pub(in crate::rules) fn named_in(self, namespace: &str) -> (Self, String) {
        let namespace = match self.subscription.is_empty() {
            true => namespace.to_owned(),
            false => String::new(),
        };
        (self, namespace)
    }

    /// Whether both are, or could be, in the same subscription.
    pub(in crate::rules) fn shares_subscription(&self, other: &Self) -> bool {
        let unknown = self.subscription.is_empty() || other.subscription.is_empty();
        unknown || self.subscription == other.subscription
    }
}

impl fmt::Display for ArmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subscription = match self.subscription.as_str() {
            "" => "?",
            known => known,
        };
        write!(f, "/subscriptions/{subscription}")?;
        if !self.group.is_empty() {
            write!(f, "/resourcegroups/{}", self.group)?;
        }
        if !self.provider.is_empty() {
            write!(f, "/providers/{}", self.provider)?;
        }
        self.parts
            .iter()
            .try_for_each(|(kind, name)| write!(f, "/{kind}/{name}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SUBNET: &str = "/subscriptions/S/resourceGroups/Rg/providers/Microsoft.Network/virtualNetworks/V/subnets/N";

    #[test]
    fn a_name_is_read_without_case_and_knows_its_parts() {
        let subnet = ArmId::parse(SUBNET).unwrap();
        assert_eq!(subnet.to_string(), SUBNET.to_lowercase());
        assert_eq!(subnet.kind(), "microsoft.network/virtualnetworks/subnets");
        assert_eq!((subnet.name(), subnet.group.as_str()), ("n", "rg"));
        assert_eq!(subnet.parent().unwrap().name(), "v");
        assert_eq!(subnet.parent().unwrap().parent(), None);
        let group = ArmId::of_group("s", "RG");
        assert_eq!(
            group,
            ArmId::parse("/subscriptions/S/resourcegroups/rg").unwrap()
        );
        let network = group.child("Microsoft.Network", "virtualNetworks", "V");
        assert_eq!(network.child("", "subnets", "N"), subnet);
    }

    #[test]
    fn what_is_no_name_says_why() {
        for (text, why) in [
            ("subscriptions/s", "start with `/`"),
            ("/groups/s", "/subscriptions/<id>"),
            ("/subscriptions/s/resourceGroups//providers/p/t/n", "empty"),
            (
                "/subscriptions/s/resourceGroups/r/providers/p/t",
                "/providers/",
            ),
            ("/subscriptions/s/resourceGroups/r/t/n", "/providers/"),
        ] {
            assert!(ArmId::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
