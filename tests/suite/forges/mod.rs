//! Forges, and the shipped program that writes to them.
//!
//! A real one: a Gitea server on loopback, built by `tests/gitea/build` and shared by the tests of a process.
//! `CAPSTAN_REQUIRE=gitea` turns a missing program into a failure. All but the core of its tests wait until
//! `CAPSTAN_REAL=all` asks for them. The others are [strict fakes](fake) behind a [front](front).

mod approvals;
mod azure_devops;
mod azure_world;
mod commented;
mod comments;
mod fake;
mod faults;
mod front;
mod gitea;
mod github;
mod github_world;
mod life;
mod probe;
mod program;
mod proposals;
mod pulls;
mod reviews;
mod served;
mod server_tests;
mod states;
mod world;
