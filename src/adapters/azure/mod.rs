//! Entra ID: tokens for an identity that Azure knows.
//!
//! In: which identity, from the keys of a Secret, and what the token is for. Out: a
//! [`TokenSource`](crate::model::TokenSource). It does not know what the token is sent to.

mod identity;
mod tokens;

pub use identity::{Identity, KEYS};
pub use tokens::{AZURE_DEVOPS, EntraTokens};
