//! Create, read, replace and delete one object.

use serde_json::{Value as Json, json};

use super::behaviours;
use crate::cluster::session::Session;

fn config_map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

async fn a_created_object_is_read_back(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({"k": "v"})))
        .await;
    s.get("configmaps/a").await;
}

async fn a_name_is_taken_once(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({}))).await;
    s.post("configmaps", &config_map("a", &json!({"k": "v"})))
        .await;
}

behaviours! { Api:
    a_created_object_is_read_back,
    a_name_is_taken_once,
}
