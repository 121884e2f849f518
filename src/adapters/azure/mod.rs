//! Entra ID: tokens for an identity that Azure knows.
//!
//! In: which identity, from the keys of a Secret, and what the token is for. Out: a
//! [`TokenSource`](crate::model::TokenSource). Tokens are for Azure DevOps and its hosts alone.

mod identity;
mod tokens;

pub use identity::Identity;
pub use tokens::EntraTokens;
