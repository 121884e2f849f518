//! The admission webhook: its HTTP side, its certificates, and what it reads from the cluster.
//!
//! ```text
//! API server ─► TLS (certificate from the Secret) ─► Webhook ─► Reader ─► cluster
//!                        ▲                              │
//!                     Keeper ─► Secret, caBundle        └─► admission::decide
//! ```
//!
//! In: a client of the cluster, the settings of the rules, and what to do if a change cannot be judged. Out: answers, and
//! a certificate that the API server trusts, renewed while connections go on. Every request is answered within
//! [`ANSWER`]. It does not know: which port it is served on, what the rules are.

mod authority;
mod certificates;
mod injection;
mod keeper;
mod queue;
mod reader;
mod secret;
mod webhook;

pub use certificates::{Lifetimes, Serving, Store, Task};
pub use keeper::{Asked, Keeper, Names};
pub use reader::{ClusterReader, Reader};
pub use webhook::{ANSWER, MOST_BYTES, Webhook};

#[cfg(test)]
mod tests;
