//! Git's protocol, spoken with a server: what it has, what it sends and what it takes.
//!
//! In: an address, a way to reach it, and a local repository. Out: refs, objects, and one ref moved over
//! there. It blocks; the network runs on a thread of its own. It does not know which refs are wanted.
//!
//! We speak the protocol (version 0, which every server knows) ourselves and leave packs to libgit2. Its own
//! transports would need `unsafe` and a registration for the whole process, and they pass on what goes wrong
//! only in words, so that no error would have a class.

mod advertisement;
mod body;
mod fault;
mod fetch;
mod http;
mod http_error;
mod packet;
mod push;
mod service;
mod session;
mod ssh;
mod ssh_error;
mod ssh_process;
mod text;

pub(super) use fetch::haves;
pub(super) use push::Report;
pub(super) use service::Service;
pub(super) use session::{Server, Session};
