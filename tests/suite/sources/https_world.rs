//! A repository behind HTTPS with a password, for tests.

use std::sync::Arc;

use capstan::adapters::git::Access;
use capstan::model::ErrorClass;

use super::https::{Seen, Server};
use super::repository::{Copied, Keys, Repository, has};

/// `capstan:s3cret`
pub(super) const BASIC: &str = "Basic Y2Fwc3RhbjpzM2NyZXQ=";
pub(super) const PATH: &str = "/fleet.git";

/// A repository, its server, which wants a password, and what it takes to reach it.
pub(super) struct World {
    pub(super) repository: Repository,
    pub(super) server: Server,
    pub(super) keys: Arc<Keys>,
}

impl World {
    /// `None` without git.
    pub(super) fn new() -> Option<Self> {
        if !has("git", "git") {
            return None;
        }
        let repository = Repository::new();
        repository
            .git(&["config", "http.receivepack", "true"])
            .expect("configured");
        let server = Server::start(repository.root());
        server.behave(|it| it.authorization = Some(BASIC.to_owned()));
        let keys = Keys::new(&[
            ("username", b"capstan"),
            ("password", b"s3cret"),
            ("ca.crt", &server.authority),
        ]);
        Some(Self {
            repository,
            server,
            keys,
        })
    }

    pub(super) fn access(&self) -> Access {
        Access {
            credentials: Some(Arc::clone(&self.keys) as _),
            ..Access::default()
        }
    }

    pub(super) fn mirror(&self) -> Copied {
        Copied::new(&self.server.url(PATH), &self.access())
    }

    pub(super) fn requests(&self) -> Vec<String> {
        let seen = self.server.seen().into_iter();
        seen.map(|Seen { method, uri, .. }| format!("{method} {uri}"))
            .collect()
    }

    /// The class and the message of the error of a fetch.
    pub(super) fn error(&self, access: &Access) -> (ErrorClass, String) {
        let error = Copied::new(&self.server.url(PATH), access)
            .fetch()
            .expect_err("refused");
        let message = error.to_string();
        assert!(!message.contains("s3cret"), "{message}");
        (error.class(), message)
    }
}

pub(super) const LIST: &str = "GET /fleet.git/info/refs?service=git-upload-pack";
pub(super) const FETCH: &str = "POST /fleet.git/git-upload-pack";
