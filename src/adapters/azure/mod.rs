//! Entra ID: tokens for an identity that Azure knows.
//!
//! In: which identity, from the keys of a Secret, and what the token is for. Out: a
//! [`TokenSource`](crate::model::TokenSource), whose tokens are for Azure DevOps and its hosts alone, and the port through
//! which everything else gets a credential.

#[cfg(test)]
#[path = "../../../tests/support/authority.rs"]
pub(crate) mod authority;
mod bounded;
mod credential_source;
pub mod credentials;
mod entra_error;
mod identity;
mod keys;
mod links;
#[cfg(test)]
#[path = "../../../tests/support/log.rs"]
pub(crate) mod log;
mod tenant;
mod tokens;
#[cfg(test)]
#[path = "../../../tests/support/vaults.rs"]
pub(crate) mod vaults;

pub use credential_source::CredentialSource;
pub use identity::Identity;
pub use keys::AzureKeys;
pub use links::AzureLinks;
pub use tokens::EntraTokens;
