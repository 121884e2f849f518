//! A server to hold sequences with, many at once.

use futures::StreamExt as _;
use kube::Client;
use tokio::runtime::Runtime;

use super::run;
use super::sequence::Step;
use crate::conformance::thing;
use crate::servers::Server;
use crate::session::Session;

/// How many are held with a server at once.
const AT_ONCE: usize = 8;

/// One of the two servers, with the kinds installed.
pub(super) struct Side {
    server: Server,
    client: Client,
    runtime: Runtime,
}

impl Side {
    /// Installs the kinds, out of `namespace`.
    pub(super) fn new(server: Server, namespace: &str) -> Self {
        let runtime = server.runtime();
        let client = runtime.block_on(async {
            let client = server.client().await;
            let session = Session::with(server.clone(), client.clone(), namespace).await;
            session.install(&thing()).await;
            client
        });
        Self {
            server,
            client,
            runtime,
        }
    }

    /// How these sequences go, each in a namespace of its own.
    pub(super) fn converse(&self, sequences: &[(String, Vec<Step>)]) -> Vec<String> {
        let talks = sequences.iter().map(async |(namespace, steps)| {
            let client = self.client.clone();
            let session = Session::with(self.server.clone(), client, namespace).await;
            run::converse(&session, steps).await
        });
        let talks = futures::stream::iter(talks).buffered(AT_ONCE);
        self.runtime.block_on(talks.collect())
    }

    /// How one sequence goes.
    pub(super) fn one(&self, namespace: &str, steps: &[Step]) -> String {
        let mut talks = self.converse(&[(namespace.to_owned(), steps.to_vec())]);
        talks.pop().expect("one went in")
    }
}
