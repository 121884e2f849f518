//! All controllers together: on the fixture, and on the in-process API.

mod aro;
mod identities;
mod keys;
mod manifests;
mod private;
mod stage;
mod whole;
