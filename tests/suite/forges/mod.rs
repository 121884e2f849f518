//! Real forges: a Gitea server on loopback, built by `tests/gitea/build` and shared by the tests of a process.
//! `CAPSTAN_REQUIRE=gitea` turns a missing program into a failure.

mod faults;
mod gitea;
mod life;
mod program;
mod server_tests;
mod world;
