//! Where the simulator refuses what a real server takes, and why it stays that way.

use http::header::ACCEPT;
use serde_json::{Value as Json, json};

use super::objects::config_map;
use super::{HISTORY, widget, with_spec};
use crate::kubernetes::{Kubernetes, if_asked};
use crate::servers::Server;
use crate::session::{Ask, Session};

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
    if let Some(real) = if_asked(Kubernetes::shared) {
        let real = talk(Server::Real(real));
        assert!(real.status < 300, "{}", real.text);
    }
}

fn defined(s: &Session, field: &Json) -> Ask {
    let definition = widget(s, &with_spec(&json!({"x": field})));
    Ask::new("POST", "customresourcedefinitions?dryRun=All").json(&definition)
}

/// The real server forgets, of defaults alone, that int-or-string is a type. Every object without the
/// field would be refused, so authors of such a definition want to know.
#[test]
fn a_default_of_int_or_string_is_either() {
    let field = json!({"x-kubernetes-int-or-string": true, "default": true});
    let name = "a-default-of-int-or-string-is-either";
    refused(name, |s| defined(s, &field), 422, "Invalid");
}

/// Whoever asks for YAML gets none: neither Capstan nor kubectl does, and a second printer would be one
/// more thing to be wrong.
#[test]
fn an_answer_is_json() {
    let ask = |_: &Session| Ask::new("GET", "configmaps").header(ACCEPT, "application/yaml");
    refused("an-answer-is-json", ask, 406, "NotAcceptable");
}

/// Where etcd has forgotten, the real server still sends for a while what its cache holds; when it stops
/// is random. Here a watch is over at once, which its holder has to expect anyway.
#[test]
fn a_compaction_ends_watches_of_the_past() {
    let first_event = |server: Server| {
        server.runtime().block_on(async {
            let name = "a-compaction-ends-watches-of-the-past";
            let session = Session::open(server.clone(), name).await;
            let made = session
                .post("configmaps", &config_map("a", &json!({})))
                .await;
            session.delete("configmaps/a").await;
            session.server.compact();
            let path = format!("configmaps?resourceVersion={}", made.version());
            session.watch(&path).await.next().await
        })
    };
    let simulated = first_event(Server::simulator());
    assert_eq!(
        (&simulated["type"], &simulated["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    if let Some(real) = if_asked(Kubernetes::shared).filter(|real| real.is_whole()) {
        let _alone = HISTORY.write();
        let real = first_event(Server::Real(real));
        assert_eq!(real["type"], "DELETED");
    }
}
