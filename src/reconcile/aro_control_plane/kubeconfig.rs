//! A kubeconfig as Azure Service Operator writes it, and as Cluster API reads it.
//!
//! In: the base64 text of a Secret. Out: its certificate authority, when its credential expires, and the text that Cluster
//! API can use; or why it is not a kubeconfig, in words that hold nothing of it.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::certificate;
use crate::health::Live;

/// A kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kubeconfig {
    /// The certificate authority of the API server, in base64.
    pub(super) authority: Option<String>,
    /// When the credential expires, if that can be read off it.
    pub(super) expires: Option<Timestamp>,
    /// The text that Cluster API can use, in base64, if it is another.
    pub(super) rewritten: Option<String>,
}

/// Why a Secret has no kubeconfig.
type Wrong = &'static str;

/// Reads a kubeconfig.
pub(super) fn read(encoded: &str) -> Result<Kubeconfig, Wrong> {
    let bytes = BASE64_STANDARD.decode(encoded.trim());
    let bytes = bytes.map_err(|_| "it is not base64")?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not text")?;
    if text.trim().is_empty() {
        return Err("it is empty");
    }
    let mut config: Value =
        serde_saphyr::from_str(&text).map_err(|_| "it is not a kubeconfig in YAML")?;
    if !config.is_object() {
        return Err("it is not a kubeconfig in YAML");
    }
    let context = context(Live(&config))?;
    let (cluster, user) = (context.text(&["cluster"]), context.text(&["user"]));
    let expires = named(Live(&config), "users", user);
    let expires = expires.and_then(|(_, user)| expiry(Live(user).at(&["user"]).map(Live)?));
    let place = named(Live(&config), "clusters", cluster);
    let Some((place, _)) = place else {
        return Err("it has no cluster for its context");
    };
    let cluster = &mut config["clusters"][place]["cluster"];
    if Live(cluster).text(&["server"]).is_empty() {
        return Err("it names no server");
    }
    let authority = Live(cluster)
        .text(&["certificate-authority-data"])
        .to_owned();
    if !authority.is_empty() {
        if BASE64_STANDARD.decode(&authority).is_err() {
            return Err("its certificate-authority-data is not base64");
        }
        let authority = Some(authority);
        return Ok(Kubeconfig {
            authority,
            expires,
            rewritten: None,
        });
    }
    if !Live(cluster).text(&["certificate-authority"]).is_empty() {
        return Err("its certificate-authority is a file");
    }
    let mut rewritten = None;
    if !Live(cluster).flag(&["insecure-skip-tls-verify"]) {
        cluster["insecure-skip-tls-verify"] = json!(true);
        rewritten = Some(BASE64_STANDARD.encode(config.to_string()));
    }
    Ok(Kubeconfig {
        authority: None,
        expires,
        rewritten,
    })
}

/// The context in use: the current one, or the only one.
fn context(config: Live<'_>) -> Result<Live<'_>, Wrong> {
    let found = match (
        config.text(&["current-context"]),
        config.list(&["contexts"]),
    ) {
        ("", [only]) => Some(only),
        ("", _) => None,
        (name, _) => named(config, "contexts", name).map(|(_, found)| found),
    };
    let context = found.and_then(|found| Live(found).at(&["context"]));
    context.map(Live).ok_or("it has no current context")
}

/// The entry of this name in a list, and its place.
fn named<'a>(config: Live<'a>, list: &str, name: &str) -> Option<(usize, &'a Value)> {
    let mut entries = config.list(&[list]).iter().enumerate();
    entries.find(|(_, entry)| Live(entry).text(&["name"]) == name)
}

/// When the first of a user's credentials expires.
fn expiry(user: Live<'_>) -> Option<Timestamp> {
    let certificate = BASE64_STANDARD.decode(user.text(&["client-certificate-data"]));
    let certificate = certificate
        .ok()
        .and_then(|pem| certificate::not_after(&pem));
    let token = certificate::token_expiry(user.text(&["token"]));
    certificate.into_iter().chain(token).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(config: &Value) -> String {
        BASE64_STANDARD.encode(config.to_string())
    }

    fn config(cluster: &Value) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        })
    }

    #[test]
    fn without_an_authority_the_server_s_certificate_is_not_verified() {
        let plain = config(&json!({"server": "https://api:443"}));
        let read_back = read(&encoded(&plain)).expect("a kubeconfig");
        assert_eq!(read_back.authority, None);
        let rewritten = read_back.rewritten.expect("another text");
        let again = read(&rewritten).expect("a kubeconfig");
        assert_eq!(again.rewritten, None, "it is in the wanted form");
        let text = BASE64_STANDARD.decode(rewritten).expect("base64");
        let text: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(
            text["clusters"][0]["cluster"]["insecure-skip-tls-verify"],
            true
        );
        assert_eq!(text["users"], plain["users"]);
    }

    #[test]
    fn with_an_authority_nothing_is_rewritten() {
        let ca = BASE64_STANDARD.encode("a certificate");
        let of = config(&json!({"server": "https://api", "certificate-authority-data": ca}));
        let found = read(&encoded(&of)).expect("a kubeconfig");
        assert_eq!((found.authority, found.rewritten), (Some(ca), None));
    }

    #[test]
    fn yaml_and_an_only_context_do() {
        let yaml = "clusters:\n- name: c\n  cluster: {server: 'https://api', insecure-skip-tls-verify: true}\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n";
        let found = read(&BASE64_STANDARD.encode(yaml)).expect("a kubeconfig");
        assert_eq!(found.rewritten, None);
    }

    #[test]
    fn what_is_no_kubeconfig_says_so_and_nothing_of_its_text() {
        let mut without_context = config(&json!({"server": "https://api"}));
        without_context["current-context"] = json!("other");
        let cases = [
            "%%%".to_owned(),
            String::new(),
            BASE64_STANDARD.encode([0xff, 0xfe]),
            BASE64_STANDARD.encode("top: [secret"),
            BASE64_STANDARD.encode("top-secret"),
            encoded(&json!([])),
            encoded(&json!({"contexts": "secret"})),
            encoded(&without_context),
            encoded(&config(&json!({}))),
            encoded(&config(&json!("secret"))),
            encoded(&config(
                &json!({"server": "https://api", "certificate-authority": "/ca"}),
            )),
            encoded(&config(
                &json!({"server": "https://api", "certificate-authority-data": "%"}),
            )),
        ];
        for case in cases {
            let why = read(&case).expect_err("no kubeconfig");
            assert!(why.starts_with("it") && !why.contains("secret"), "{why}");
        }
    }
}
