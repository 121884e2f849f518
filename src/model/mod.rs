//! What everybody may hold: plain values, no I/O, no clock, no async.
//!
//! In: nothing. Out: the words the other rooms share. A [`Tree`] of files becomes [`Node`]s with an
//! [`Origin`] for every value, nodes become [`Object`]s, what is wrong becomes [`Finding`]s, what
//! should be done becomes [`Step`]s, what a live object says becomes [`Health`], and what a commit
//! is told becomes a [`Check`].
//!
//! It does not know: YAML syntax, our kinds, Kubernetes clients, git.

mod check;
mod clock;
mod error;
mod finding;
mod health;
mod node;
mod object;
mod path;
mod payload;
mod span;
mod step;
mod tree;

pub use check::{Annotation, Check, CheckState};
pub use clock::Clock;
pub use error::ErrorClass;
pub(crate) use finding::message;
pub use finding::{Arg, Finding, Message, Severity};
pub use health::{Health, HealthState};
pub use node::{Key, Map, Node, Origin, Value};
pub use object::{Object, ObjectId};
pub use path::{Path, Segment};
pub use payload::Payload;
pub use span::{Position, Span};
pub use step::{Action, Change, Needed, Predecessor, Step};
pub use tree::{Problem, Tree};
