//! What becomes of lists and watches whose past has been forgotten.

use serde_json::{Value as Json, json};

use super::objects::config_map;
use super::{behaviours, thing};
use crate::reply::Reply;
use crate::session::{Ask, Session};

/// Makes ConfigMaps, and gives the version of the last.
async fn made(s: &Session, names: &[&str]) -> String {
    let mut version = String::new();
    for name in names {
        let ask = Ask::new("POST", "configmaps").json(&config_map(name, &json!({})));
        version = s.send(ask.silent()).await.version().to_owned();
    }
    version
}

/// Changes a ConfigMap, and gives its version.
async fn changed(s: &Session, name: &str, data: &Json) -> String {
    let path = format!("configmaps/{name}");
    let ask = Ask::new("PUT", &path).json(&config_map(name, data));
    s.send(ask.silent()).await.version().to_owned()
}

fn token(page: &Reply) -> String {
    page.at("/metadata/continue").replace('=', "%3D")
}

/// One behaviour, since a real server takes up to 15 seconds to drop what etcd has forgotten.
async fn what_is_forgotten_is_not_listed(s: &Session) {
    let old = made(s, &["a", "b", "c", "d"]).await;
    let first = s.get("configmaps?limit=1").await;
    changed(s, "b", &json!({"k": "new"})).await;
    made(s, &["cc"]).await;
    s.send(Ask::new("DELETE", "configmaps/d").silent()).await;
    s.server.compact();
    let gone = |reply: &Reply| reply.status == 410;
    let refused = s
        .until(
            &format!("configmaps?limit=1&continue={}", token(&first)),
            gone,
        )
        .await;
    let exact = format!("configmaps?resourceVersion={old}&resourceVersionMatch=Exact");
    s.until(&exact, gone).await;
    s.until(&format!("configmaps?resourceVersion={old}&limit=5"), gone)
        .await;
    s.note("what is newer can be had");
    s.get(&format!(
        "configmaps?resourceVersion={old}&resourceVersionMatch=NotOlderThan"
    ))
    .await;
    s.get(&format!("configmaps/a?resourceVersion={old}")).await;
    s.note("or what is left, as it is by now");
    let second = s
        .get(&format!("configmaps?limit=1&continue={}", token(&refused)))
        .await;
    let third = s
        .get(&format!("configmaps?limit=1&continue={}", token(&second)))
        .await;
    s.get(&format!("configmaps?continue={}", token(&third)))
        .await;
}

async fn a_watch_from_now_on_does_not_mind(s: &Session) {
    made(s, &["a"]).await;
    let list = s.send(Ask::new("GET", "configmaps").silent()).await;
    let mut open = s
        .watch(&format!("configmaps?resourceVersion={}", list.version()))
        .await;
    s.server.compact();
    changed(s, "a", &json!({"k": "new"})).await;
    open.next().await;
    let list = s.send(Ask::new("GET", "configmaps").silent()).await;
    s.server.compact();
    let mut watch = s
        .watch(&format!("configmaps?resourceVersion={}", list.version()))
        .await;
    changed(s, "a", &json!({"k": "newer"})).await;
    watch.next().await;
    let mut watch = s.watch("configmaps").await;
    watch.next().await;
}

async fn a_watch_from_before_its_kind_is_over(s: &Session) {
    let group = "a-watch-from-before-its-kind-is-over.capstan.dev";
    let mut definition = thing();
    definition["metadata"]["name"] = json!(format!("things.{group}"));
    definition["spec"]["group"] = json!(group);
    let old = made(s, &["a", "b"]).await;
    changed(s, "a", &json!({"k": "new"})).await;
    s.install(&definition).await;
    let path = format!("/apis/{group}/v1/namespaces/{}/things", s.namespace);
    for query in ["", "&allowWatchBookmarks=true"] {
        let mut watch = s
            .watch(&format!("{path}?resourceVersion={old}{query}"))
            .await;
        watch.take(2).await;
    }
}

behaviours! { Alone:
    a_watch_from_before_its_kind_is_over,
    a_watch_from_now_on_does_not_mind,
    what_is_forgotten_is_not_listed,
}
