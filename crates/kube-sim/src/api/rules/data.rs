//! ConfigMaps and Secrets.

use serde_json::{Value, json};

use super::shared::{fields, immutable};
use crate::api::status::Cause;

/// How many bytes the values of a ConfigMap or Secret may have.
const LIMIT: usize = 1024 * 1024;

/// The types of Secrets that need keys, and which.
const NEEDED: &[(&str, &[&str])] = &[
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

pub(super) fn config_map(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let binary = &object["binaryData"];
    for (key, _) in fields(&object["data"]) {
        config_key("data", key, causes);
        if binary.get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(format!("data[{key}]"), &json!(key), detail));
        }
    }
    for (key, _) in fields(binary) {
        config_key("binaryData", key, causes);
    }
    let texts = fields(&object["data"]).filter_map(|(_, value)| value.as_str());
    let size = texts.map(str::len).sum::<usize>() + decoded_size(binary);
    if size > LIMIT {
        // The error is about the whole object, which has this name.
        causes.push(Cause::too_long("[]", LIMIT));
    }
    frozen(object, old, &["data", "binaryData"], causes);
}

pub(super) fn secret(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    for (key, _) in fields(&object["data"]) {
        config_key("data", key, causes);
    }
    if decoded_size(&object["data"]) > LIMIT {
        causes.push(Cause::too_long("data", LIMIT));
    }
    needed(object, causes);
    immutable("type", object, old, causes);
    frozen(object, old, &["data"], causes);
}

/// What a Secret of a known type has to have.
fn needed(object: &Value, causes: &mut Vec<Cause>) {
    let kind = object["type"].as_str().unwrap_or_default();
    let missing = |key: &&&str| object["data"].get(**key).is_none();
    let mut require = |key: &str| causes.push(Cause::required(format!("data[{key}]"), ""));
    let keys = NEEDED.iter().find(|(known, _)| *known == kind);
    let keys = keys.into_iter().flat_map(|(_, keys)| *keys);
    keys.filter(missing).for_each(|key| require(key));
    let basic = &["username", "password"];
    if kind == "kubernetes.io/basic-auth" && basic.iter().filter(missing).count() == basic.len() {
        basic.iter().for_each(|key| require(key));
    }
    let account = "kubernetes.io/service-account.name";
    let named = object["metadata"]["annotations"][account].as_str();
    if kind == "kubernetes.io/service-account-token" && named.is_none_or(str::is_empty) {
        let field = format!("metadata.annotations[{account}]");
        causes.push(Cause::required(field, ""));
    }
}

fn config_key(field: &str, key: &str, causes: &mut Vec<Cause>) {
    let mut wrong = |detail: &str| {
        causes.push(Cause::invalid(
            format!("{field}[{key}]"),
            &json!(key),
            detail,
        ));
    };
    if key.len() > 253 {
        wrong("must be no more than 253 characters");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if key.is_empty() || !key.chars().all(plain) {
        wrong(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        );
    }
    match key {
        "." | ".." => wrong(&format!("must not be '{key}'")),
        key if key.starts_with("..") => wrong("must not start with '..'"),
        _ => {}
    }
}

/// How many bytes the base64 of these values holds.
fn decoded_size(data: &Value) -> usize {
    let size =
        |text: &str| text.len() / 4 * 3 - text.bytes().rev().take_while(|b| *b == b'=').count();
    let texts = fields(data).filter_map(|(_, value)| value.as_str());
    texts.map(size).sum()
}

/// `immutable: true` cannot be taken back, and freezes these fields.
fn frozen(object: &Value, old: Option<&Value>, frozen: &[&str], causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else {
        return;
    };
    for field in ["immutable"].iter().chain(frozen) {
        if object[field] != old[field] {
            let detail = "field is immutable when `immutable` is set";
            causes.push(Cause::forbidden(*field, detail));
        }
    }
}
