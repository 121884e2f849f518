//! An in-memory Kubernetes API server behind `kube::Client::new`, which also serves a port.
//!
//! In: HTTP requests and a clock. Out: what a real API server would answer, down to the wording of
//! its refusals, and the same answers each time: versions, uids and generated names are counted, maps
//! are ordered, and time comes from the clock alone. What a change sets off (garbage collection,
//! the end of namespaces, the life of definitions) is done before the next request is seen.
//!
//! ```text
//! server ─► call ─► list, watch ─► scope ──────────────────────► store ─► history
//!            │  └─► write, delete ─► strategy, managers, rules ─►   ▲
//!            └────► gc ─► definitions, namespaces ─► delete ────────┘
//! ```
//!
//! Limits: no OpenAPI beyond the part from which kubectl learns that fields are validated here, tables with few
//! columns and not in watches, no protobuf, no admission webhooks, no scale and other small
//! subresources, conversion between versions by name only, the costs of CEL rules are not counted; a
//! rule that cannot be evaluated here is reported in a `Warning` header. Users and
//! there is no authorization: every request is allowed.
//!
//! It does not know: the controllers that play on it, Azure, our own kinds.

mod accept;
mod address;
mod aggregate;
mod blank;
mod builtin;
mod call;
mod commit;
mod conditions;
mod custom;
mod defaults;
mod definition_form;
mod definition_parts;
mod definition_rules;
mod definitions;
mod delete;
mod discovery;
mod document;
mod embedded;
mod event_forms;
mod gc;
mod history;
mod kinds;
mod labels;
mod list;
mod managers;
mod metadata;
mod names;
mod namespaces;
mod naming;
mod numbers;
mod object;
mod options;
mod owners;
mod part;
mod patch;
mod path;
mod query;
mod reads;
mod request;
mod resources;
mod respond;
mod rules;
mod schemas;
mod scope;
mod select;
mod served;
mod server;
mod shared;
mod status;
mod store;
mod strategic;
mod strategy;
mod strict;
mod table;
mod times;
mod values;
mod watch;
mod write;
mod zeros;

pub use server::Server;

#[cfg(test)]
mod tests;
