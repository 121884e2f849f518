//! Tenants of Entra ID.
//!
//! In: a text that somebody wrote. Out: whether it can name a tenant: it becomes a part of the address where tokens are
//! asked for.

use crate::model::is_dns_subdomain;

/// A tenant's ID, or the name of one of its domains; otherwise what is wrong with it.
///
/// # Errors
/// When the text can be neither.
pub(super) fn checked(text: &str) -> Result<&str, String> {
    // A GUID is one of these, too.
    match is_dns_subdomain(&text.to_ascii_lowercase()) {
        true => Ok(text),
        false => Err(format!(
            "{text:?} is neither the ID of a tenant, such as 00000000-0000-0000-0000-000000000000, nor the name of a domain"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_an_id_or_a_domain_and_leads_nowhere_else() {
        for tenant in [
            "7b795fb9-09d3-42f4-a494-38864f99ba3c",
            "7B795FB9-09D3-42F4-A494-38864F99BA3C",
            "contoso.onmicrosoft.com",
        ] {
            assert_eq!(checked(tenant), Ok(tenant));
        }
        for tenant in [
            "", ".", "..", "a/b", "a?b", "a#b", "a%2e", "a b", "-a", "größe", "a..b", "a\n",
        ] {
            assert!(checked(tenant).is_err(), "{tenant:?}");
        }
    }
}
