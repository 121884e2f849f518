//! All controllers together: on the fixture, and on the in-process API.

mod aro;
mod manifests;
mod whole;
