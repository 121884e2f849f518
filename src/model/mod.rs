//! Values that every module may use: plain data, no I/O, no clock, no async.
//!
//! In: nothing. Out: the types that the other modules share. A [`Tree`] of files becomes [`Node`]s with
//! an [`Origin`] for every value, nodes become [`Object`]s, problems become [`Finding`]s, work becomes
//! [`Step`]s, the state of a live object becomes [`Health`], and the report on a commit becomes a
//! [`Check`].
//!
//! It does not know YAML syntax, our kinds, Kubernetes clients or git.

mod approval_buttons;
mod approval_comments;
mod budget;
mod check;
mod check_sink;
mod client_bindings;
mod clock;
mod credentials;
pub mod cut;
mod dns;
mod error;
mod finding;
mod forge;
mod health;
mod hex;
mod key_vault;
pub mod markdown;
mod namespaces;
mod node;
mod object;
mod object_reader;
mod own_pull_requests;
mod packed;
mod payload;
mod private_links;
mod public_key;
mod pull_requests;
mod quick_map;
mod rate_remaining;
mod repository_url;
pub mod rule_id;
mod span;
mod step;
mod tag_range;
mod token_source;
mod tree;
mod webhook;
pub mod words;
pub mod work;
mod workload;

pub use approval_buttons::ApprovalButtons;
pub use approval_comments::{ApprovalComments, COMMAND, MayWrite, PullComment, Writer};
pub use budget::{Budget, Cost, Limit};
pub use check::{Annotation, Button, COMMENT_MARK, Check, CheckDetail, CheckState};
pub use check_sink::{CheckSink, Later};
pub use client_bindings::ClientBindings;
pub use clock::Clock;
pub use credentials::{
    AsoSecretRequest, CredentialOf, CredentialRequest, Credentials, SecretContent,
};
pub use dns::{is_dns_label, is_dns_subdomain, is_path_segment};
pub use error::{AdapterError, ErrorClass};
pub(crate) use finding::message;
pub use finding::{Arg, Finding, Message, Severity};
pub use forge::{ApiUrl, ForgeKind, RepositoryId};
pub use health::{Health, HealthState};
pub use hex::hex;
pub use key_vault::{KeyError, KeyFault, KeyRequest, KeyVaults};
pub use kube_schema::{Path, Segment};
pub use namespaces::Namespaces;
pub use node::{Key, Map, Node, Origin, Value};
pub use object::{EmbeddedId, Object, ObjectId};
pub use object_reader::ObjectReader;
pub use own_pull_requests::{NewPullRequest, OwnPullRequest, OwnPullRequests, PullRequestState};
pub use packed::Packed;
pub use payload::Payload;
pub use private_links::{
    AzureCaller, AzureError, AzureFault, Frontend, FrontendRequest, PrivateLinks, RejectRequest,
};
pub use public_key::PublicKey;
pub use pull_requests::{CommitSource, PullRequests};
pub use quick_map::{QuickMap, QuickSet};
pub use rate_remaining::RateRemaining;
pub use repository_url::{Form, RepositoryUrl, is_loopback, without_escapes};
pub use span::{Position, Span};
pub use step::{Action, Change, Needed, Predecessor, Step};
pub use tag_range::TagRange;
pub use token_source::{Token, TokenSource};
pub use tree::{Problem, Tree};
pub use webhook::{Head, Hint, Press, Rerun};
pub use workload::{WorkloadNode, Workloads};
