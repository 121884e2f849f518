//! Where the simulator refuses what a real server takes, and why it stays that way.

use serde_json::{Value as Json, json};

use super::{widget, with_spec};
use crate::cluster::kubernetes::Kubernetes;
use crate::cluster::servers::Server;
use crate::cluster::session::{Ask, Session};

/// Sends a request to a fresh simulator, which refuses it so, and to the real server, which takes it.
fn refused(namespace: &str, ask: impl Fn(&Session) -> Ask, status: u16, reason: &str) {
    let talk = |server: Server| {
        server.runtime().block_on(async {
            let session = Session::open(server.clone(), namespace).await;
            session.send(ask(&session)).await
        })
    };
    let simulated = talk(Server::simulator());
    assert_eq!(
        (simulated.status, simulated.at("/reason")),
        (status, reason)
    );
    if let Some(real) = Kubernetes::shared() {
        let real = talk(Server::Real(real));
        assert!(real.status < 300, "{}", real.text);
    }
}

fn defined(s: &Session, field: &Json) -> Ask {
    let definition = widget(s, &with_spec(&json!({"x": field})));
    Ask::new("POST", "customresourcedefinitions?dryRun=All").json(&definition)
}

/// The real server forgets, of defaults alone, that int-or-string is a type. Every object without the
/// field would be refused, so whoever writes such a definition wants to know.
#[test]
fn a_default_of_int_or_string_is_either() {
    let field = json!({"x-kubernetes-int-or-string": true, "default": true});
    let name = "a-default-of-int-or-string-is-either";
    refused(name, |s| defined(s, &field), 422, "Invalid");
}
