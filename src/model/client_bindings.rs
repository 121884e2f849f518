//! Which client IDs may stand for this process.
//!
//! In: a text from a setting. Out: whether an identity in a namespace may name a client ID, although it proves itself as
//! this process and not by a secret of its own. It does not know which identities do so.

use std::collections::BTreeSet;

use super::dns::is_dns_label;
use super::namespaces::Namespaces;

/// The client IDs that identities of each namespace may name. The default limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientBindings {
    /// Namespaces with a client ID in lower case, or [`ANY`]; `None` if nothing is limited.
    bound: Option<BTreeSet<(String, String)>>,
    /// The client ID of this process itself, and the namespaces that may use it.
    own: Option<(String, Namespaces)>,
}

/// In place of a client ID: all of them.
const ANY: &str = "*";
/// A text that binds nothing.
const NONE: &str = "none";

impl ClientBindings {
    /// Reads `namespace=clientID`, separated by commas: `*` binds all client IDs, and `none` alone binds nothing.
    ///
    /// # Errors
    /// When a part is something else.
    pub fn of_text(text: &str) -> Result<Self, String> {
        if text.trim() == NONE {
            return Ok(Self::nobody());
        }
        let parts = text.split(',').map(str::trim).enumerate();
        let bound = parts.map(|(index, part)| {
            let pair = part.split_once('=');
            let pair = pair.map(|(namespace, client)| (namespace.trim(), client.trim()));
            let is_good = |(namespace, client): &(&str, &str)| {
                is_dns_label(namespace) && !client.is_empty() && !client.contains('=')
            };
            // A password in the wrong place must not be repeated.
            let (namespace, client) = pair.filter(is_good).ok_or_else(|| {
                let number = index + 1;
                format!("part {number} is not namespace=clientID; separate parts by commas")
            })?;
            Ok((namespace.to_owned(), client.to_ascii_lowercase()))
        });
        Ok(Self {
            bound: Some(bound.collect::<Result<_, String>>()?),
            own: None,
        })
    }

    /// Binds nothing.
    #[must_use]
    pub fn nobody() -> Self {
        Self {
            bound: Some(BTreeSet::new()),
            own: None,
        }
    }

    /// Keeps the client ID of this process for `namespaces`, unless bindings say who may name it.
    #[must_use]
    pub fn and_own(mut self, client: &str, namespaces: Namespaces) -> Self {
        self.own = Some((client.to_ascii_lowercase(), namespaces));
        self
    }

    /// Whether nothing is limited.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.bound.is_none()
    }

    /// Whether identities in `namespace` may name `client`. All client IDs are not that of this process, unless the
    /// namespace may use it.
    #[must_use]
    pub fn allow(&self, namespace: &str, client: &str) -> bool {
        let client = client.trim().to_ascii_lowercase();
        let own = self.own.as_ref().filter(|(own, _)| *own == client);
        let as_any = own.is_none_or(|(_, namespaces)| namespaces.has(namespace));
        let Some(bound) = &self.bound else {
            return as_any;
        };
        let is_bound = |client: &str| bound.contains(&(namespace.to_owned(), client.to_owned()));
        is_bound(&client) || (is_bound(ANY) && as_any)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn issue_15_a_client_is_bound_to_its_namespace() {
        assert!(ClientBindings::default().allow("b", "a1"));
        let bound = ClientBindings::of_text("team-a=A1, team-b=b1,platform=*").unwrap();
        for (namespace, client, expected) in [
            ("team-a", "a1", true),
            ("team-a", " A1 ", true),
            ("team-b", "a1", false),
            ("team-b", "*", false),
            ("team-c", "a1", false),
            ("platform", "a1", true),
        ] {
            assert_eq!(
                bound.allow(namespace, client),
                expected,
                "{namespace} {client}"
            );
        }
        let none = ClientBindings::of_text("none").unwrap();
        assert!(!none.is_open() && !none.allow("team-a", "a1"));
    }

    #[test]
    fn issue_15_the_client_of_the_process_is_for_its_namespaces() {
        let own = Namespaces::of_text("platform");
        let open = ClientBindings::default().and_own("P1", own.clone());
        assert!(open.allow("platform", "p1") && !open.allow("team-b", "p1"));
        assert!(open.allow("team-b", "b1"));
        let bound = ClientBindings::of_text("team-b=p1").unwrap();
        assert!(bound.and_own("p1", own.clone()).allow("team-b", "p1"));
        let all = ClientBindings::of_text("team-b=*,platform=*").unwrap();
        let all = all.and_own("p1", own);
        assert!(all.allow("team-b", "b1") && !all.allow("team-b", "p1"));
        assert!(all.allow("platform", "p1"));
    }

    #[test]
    fn issue_15_a_mistake_in_the_bindings_is_an_error_that_repeats_nothing() {
        for text in [
            "hunter2",
            "a=hunter2=x",
            "=hunter2",
            "A_b=hunter2",
            "a=",
            "a=b,",
            "a=b;c=d",
        ] {
            let why = ClientBindings::of_text(text).unwrap_err();
            assert!(
                why.contains("is not namespace=clientID") && !why.contains("hunter2"),
                "{why}"
            );
        }
    }
}
