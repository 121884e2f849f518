//! Repositories on real servers: `git http-backend` behind HTTPS, and `sshd`, both on loopback.
//! `CAPSTAN_REQUIRE=git` turns a missing program into a failure.

mod branch_signatures;
mod branches;
mod daemon;
mod hostile;
pub(crate) mod https;
mod https_faults;
mod https_notes;
mod https_world;
pub(crate) mod nameless;
mod over_https;
mod over_ssh;
pub(crate) mod repository;
mod signatures;
mod signed_daemon;
mod signers;
mod sshd;
