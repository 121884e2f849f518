//! P: no secrets in git. Encrypted values are allowed; they are recognized by their form and never decrypted.
//! A finding never repeats a value.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::{
    Finding, Map, Message, Node, Object, Path, Segment, Value, message, rule_id, work,
};
use crate::rules::book;
use crate::rules::placeholder::stands_for_a_secret;
use crate::rules::way::Way;

/// The kind that an operator in the cluster decrypts; it is applied as SOPS wrote it.
const FOR_AN_OPERATOR: (&str, &str) = ("isindir.github.com", "SopsSecret");
/// Names of fields and variables that hold a client secret, in lower case and letters only.
const CLIENT_SECRETS: &[&str] = &[
    "clientsecret",
    "azureclientsecret",
    "armclientsecret",
    "azureclientcertificatepassword",
];
const HELP: &str = "remove it and rotate it, since it stays in the git history; then encrypt it or create it in the cluster";

/// The fields of a Secret that hold its values.
const VALUES: [&str; 2] = ["data", "stringData"];

/// Whether a field of a map holds the values of a Secret, which may be embedded in another object. A Secret
/// without a version counts, too.
#[must_use]
pub fn holds_values(map: &Node, field: &str) -> bool {
    // The name comes first: this is called for every key of large maps.
    VALUES.contains(&field)
        && map.text(&["kind"]) == Some("Secret")
        && map
            .text(&["apiVersion"])
            .is_none_or(|version| !version.contains('/'))
}

/// P01: no Secret, embedded or not, holds a value in clear text. Each value has a finding of its own, so that a
/// comment that allows one does not allow those beside it.
pub(super) fn secrets_are_encrypted(object: &Object) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_map(&object.node, &Way::Top, &mut |map, node, way| {
        let fields = map.iter().filter(|(key, _)| holds_values(node, &key.name));
        for (field, values) in fields {
            let way = Way::Key(way, &field.name);
            let entries = values.as_map().into_iter().flat_map(Map::iter);
            let clear = entries.filter(|(_, value)| is_clear_text(value));
            findings.extend(clear.map(|(key, value)| clear_text(object, &key.name, value, &way)));
        }
    });
    findings
}

fn clear_text(object: &Object, key: &str, value: &Node, way: &Way<'_>) -> Finding {
    let holds = match way.around() {
        Way::Top => "holds values",
        _ => "embeds a Secret that holds values",
    };
    let message = message!(
        "{object} {holds} in clear text: {key}",
        object = object.id,
        key
    );
    finding(
        object,
        rule_id::SECRET_IN_GIT,
        value,
        &Way::Key(way, key).path(),
        message,
    )
}

/// The findings, with those for values of one Secret (P01) joined at the first of them.
#[must_use]
pub fn joined(findings: Vec<Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut first: HashMap<_, usize> = HashMap::new();
    for finding in findings {
        let mut values = finding.field.clone().unwrap_or_default();
        let key = values
            .0
            .pop()
            .filter(|_| finding.id == rule_id::SECRET_IN_GIT);
        let Some(Segment::Key(key)) = key else {
            joined.push(finding);
            continue;
        };
        let path = finding.span.as_ref().map(|span| Arc::clone(&span.path));
        match first.entry((finding.object.clone(), values, path)) {
            Entry::Occupied(at) => also(&mut joined[*at.get()], &key),
            Entry::Vacant(at) => {
                at.insert(joined.len());
                joined.push(finding);
            }
        }
    }
    joined
}

/// Adds a key to those that a finding names.
fn also(finding: &mut Finding, key: &str) {
    finding.message += &format!(", {key}");
    for (_, value) in finding.args.iter_mut().filter(|(name, _)| *name == "key") {
        *value += &format!(", {key}");
    }
}

/// Every map in `node`.
fn each_map(node: &Node, way: &Way<'_>, see: &mut dyn FnMut(&Map, &Node, &Way<'_>)) {
    match &node.value {
        Value::List(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| each_map(item, &Way::Index(way, index), see));
        }
        Value::Map(map) => {
            see(map, node, way);
            let entries = map.iter();
            entries.for_each(|(key, node)| each_map(node, &Way::Key(way, &key.name), see));
        }
        _ => {}
    }
}

/// Whether SOPS encrypted a part of an object that nothing in the cluster decrypts. Applying it would
/// replace the values in the cluster with ciphertext.
#[must_use]
pub fn is_encrypted(object: &Object) -> bool {
    let (group, kind) = FOR_AN_OPERATOR;
    object.definition.is_none()
        && !object.id.is(group, kind)
        && ciphertext(&object.node, &Way::Top).is_some()
}

/// The first value that SOPS encrypted.
fn ciphertext<'n>(node: &'n Node, way: &Way<'_>) -> Option<(&'n Node, Path)> {
    work::step();
    match &node.value {
        Value::String(text) => is_ciphertext(text).then(|| (node, way.path())),
        Value::List(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| ciphertext(item, &Way::Index(way, index)))
        }
        Value::Map(map) => {
            let mut entries = map.iter();
            entries.find_map(|(key, node)| ciphertext(node, &Way::Key(way, &key.name)))
        }
        _ => None,
    }
}

/// P05: objects that SOPS encrypted are left to the tool that decrypts them.
pub(super) fn encrypted_is_left_alone(object: &Object) -> Vec<Finding> {
    let found = ciphertext(&object.node, &Way::Top).filter(|_| is_encrypted(object));
    let report = |(node, path): (&Node, Path)| {
        let id = Some(object.id.to_string()).filter(|id| !id.contains(CIPHERTEXT));
        let is_named = id.is_some();
        let id = id.unwrap_or_else(|| "this document".to_owned());
        let message = message!(
            "{id} is encrypted with SOPS, so it is neither applied nor removed from the cluster",
            id
        );
        let found = finding(object, "P05", node, &path, message).help(format!(
            "let another tool decrypt and apply {id}, and exclude the file with .capstanignore"
        ));
        Finding {
            object: found.object.filter(|_| is_named),
            ..found
        }
    };
    found.map(report).into_iter().collect()
}

/// P06: the objects of a definition hold no ciphertext. Unlike plain objects, they would be applied.
pub(super) fn no_ciphertext_is_applied(object: &Object) -> Vec<Finding> {
    let made = object.definition.is_some();
    let found = made.then(|| ciphertext(&object.node, &Way::Top)).flatten();
    let report = |(node, path): (&Node, Path)| {
        let message = message!(
            "{object} would be applied with SOPS ciphertext, which nothing in the cluster decrypts",
            object = object.id
        );
        finding(object, "P06", node, &path, message)
            .help("write a value that is not secret, or name a Secret that another tool decrypts")
    };
    found.map(report).into_iter().collect()
}

/// A kind of secret to look for in the text of a field.
struct Look {
    id: &'static str,
    is: fn(&str, &str) -> bool,
    holds: &'static str,
}

const LOOKS: [Look; 3] = [
    Look {
        id: "P02",
        is: is_private_key,
        holds: "a private key",
    },
    Look {
        id: "P03",
        is: is_kubeconfig,
        holds: "a kubeconfig with credentials",
    },
    Look {
        id: "P04",
        is: is_client_secret,
        holds: "a client secret",
    },
];

fn is_private_key(_: &str, text: &str) -> bool {
    text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----")
}

fn is_kubeconfig(_: &str, text: &str) -> bool {
    let words = ["client-key-data", "token", "password"];
    let has =
        |word: &&str| text.contains(&format!("{word}:")) || text.contains(&format!("\"{word}\":"));
    let parts = ["clusters", "users", "server"];
    parts.iter().all(|part| text.contains(part)) && words.iter().any(has)
}

fn is_client_secret(name: &str, text: &str) -> bool {
    let filled_in = || text.contains("${") || text.contains("$(") || stands_for_a_secret(text);
    names_client_secret(name) && !text.is_empty() && !filled_in()
}

/// Whether a field or a variable of this name holds or references a client secret.
pub(super) fn names_client_secret(name: &str) -> bool {
    // Most names are shorter than the shortest of these.
    if name.len() < CLIENT_SECRETS[0].len() {
        return false;
    }
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let letters = letters.collect::<String>().to_lowercase();
    CLIENT_SECRETS.contains(&letters.as_str())
}

/// Whether the text of a field `name` holds a secret in clear text, as defined by P02 to P04.
pub(super) fn is_reported(name: &str, text: &str) -> bool {
    looks(name, text).next().is_some()
}

/// The secrets in the text of a field `name`, plain or in base64.
fn looks(name: &str, text: &str) -> impl Iterator<Item = &'static Look> {
    let plain = decoded(text);
    LOOKS.iter().filter(move |look| {
        let is = |text: &str| (look.is)(name, text);
        !is_ciphertext(text) && (is(text) || plain.as_deref().is_some_and(is))
    })
}

/// P02 to P04: no text holds a private key, a kubeconfig with credentials or a client secret, plain or in
/// base64. P01 checks the values of Secrets; those of SealedSecrets are encrypted.
pub(super) fn texts_hold_no_secrets(object: &Object) -> Vec<Finding> {
    let mut findings = Vec::new();
    let fields = object.node.as_map().into_iter().flat_map(Map::iter);
    let fields = fields
        .filter(|(key, _)| !holds_values(&object.node, &key.name))
        .filter(|(key, _)| key.name != "sops" && !object.id.is("bitnami.com", "SealedSecret"));
    for (key, node) in fields {
        let way = Way::Key(&Way::Top, &key.name);
        each_text(&key.name, node, &way, &mut |name, node, way| {
            for look in looks(name, node.as_str().unwrap_or_default()) {
                let message = message!("{name} holds {holds}", name, holds = look.holds);
                findings.push(finding(object, look.id, node, &way.path(), message));
            }
        });
    }
    findings
}

/// Every text below `node`, with its name: that of its field. A `value` has the `name` next to it, and in a
/// reference to a client secret the name of the reference.
fn each_text(name: &str, node: &Node, way: &Way<'_>, see: &mut dyn FnMut(&str, &Node, &Way<'_>)) {
    match &node.value {
        Value::String(_) => see(name, node, way),
        Value::List(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| each_text(name, item, &Way::Index(way, index), see));
        }
        Value::Map(map) => {
            let beside = match names_client_secret(name) {
                true => Some(name),
                false => map.get("name").and_then(Node::as_str),
            };
            for (key, value) in map.iter() {
                if holds_values(node, &key.name) {
                    continue;
                }
                let name = match beside.filter(|_| key.name == "value") {
                    Some(name) => name,
                    None => &key.name,
                };
                each_text(name, value, &Way::Key(way, &key.name), see);
            }
        }
        _ => {}
    }
}

/// The decoded text if it is base64 and longer than a name would be, in lines or not.
pub(super) fn decoded(text: &str) -> Option<String> {
    if text.len() <= 64 {
        return None;
    }
    let text: String = text.split_ascii_whitespace().collect();
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

/// Whether a value is set, and neither encrypted nor something that stands for a secret, plain or in base64.
fn is_clear_text(value: &Node) -> bool {
    match &value.value {
        Value::Null => false,
        Value::String(text) => {
            let harmless = |text: &str| text.is_empty() || stands_for_a_secret(text);
            let bytes = STANDARD.decode(text.trim()).ok();
            let plain = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            !is_ciphertext(text) && !harmless(text) && !plain.as_deref().is_some_and(harmless)
        }
        _ => true,
    }
}

/// The start of every value that SOPS encrypts.
const CIPHERTEXT: &str = "ENC[AES256_GCM,data:";

/// Whether SOPS wrote it.
pub(super) fn is_ciphertext(text: &str) -> bool {
    text.starts_with(CIPHERTEXT) && text.ends_with(']')
}

fn finding(
    object: &Object,
    id: &'static str,
    node: &Node,
    path: &Path,
    message: Message,
) -> Finding {
    let finding = Finding {
        severity: book::severity(id),
        ..Finding::error(id, message)
    };
    finding
        .at(node.span())
        .of(&object.id)
        .field(path)
        .help(HELP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of;

    const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";

    fn all(yaml: &str) -> Vec<String> {
        let rules = [secrets_are_encrypted, texts_hold_no_secrets];
        rules
            .iter()
            .flat_map(|rule| findings_of(*rule, yaml))
            .collect()
    }

    fn ids(yaml: &str) -> Vec<String> {
        let lines = all(yaml).into_iter();
        lines
            .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn a_secret_names_its_keys_and_never_its_values() {
        let yaml = format!(
            "{SECRET}data: {{clientSecret: aHVudGVyMg==, other: aHVudGVyMw==}}\nstringData: {{AZURE_CLIENT_SECRET: hunter2}}\n"
        );
        let reported = all(&yaml);
        let keys = ["clientSecret", "other", "AZURE_CLIENT_SECRET"];
        assert_eq!(reported.len(), keys.len(), "{reported:?}");
        for (line, key) in reported.iter().zip(keys) {
            let ends = format!(" holds values in clear text: {key}");
            assert!(line.starts_with("P01 ") && line.ends_with(&ends), "{line}");
        }
        let reported = reported.concat();
        assert!(
            !reported.contains("hunter") && !reported.contains("aHVud"),
            "{reported}"
        );
    }

    #[test]
    fn values_of_one_secret_are_reported_together() {
        let value = |key: &str, line: u32| {
            let path: Arc<str> = "a.yaml".into();
            Finding::error("P01", message!("s holds values in clear text: {key}", key))
                .at(&crate::model::Span::new(&path, line, 1, 1))
                .field(&Path::dotted("data").key(key))
        };
        let other = Finding::error("P02", "other");
        let found = joined(vec![value("a", 1), other.clone(), value("b", 2)]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].message, "s holds values in clear text: a, b");
        assert_eq!(found[0].args, [("key", "a, b".to_owned())]);
        assert_eq!(found[1], other);
    }

    #[test]
    fn a_secret_inside_another_object_is_one() {
        let object = |spec: &str| {
            format!("apiVersion: x.dev/v1\nkind: Thing\nmetadata: {{name: t}}\nspec: {{{spec}}}\n")
        };
        for (secret, column) in [
            (
                "resources: [{apiVersion: v1, kind: Secret, stringData: {clientSecret: hunter2}}]",
                78,
            ),
            ("template: {kind: Secret, data: {a: aHVudGVyMg==}}", 43),
        ] {
            let reported = all(&object(secret));
            let place = format!("P01 4:{column} Thing/default/t embeds a Secret ");
            assert!(
                reported.len() == 1 && reported[0].starts_with(&place),
                "{reported:?}"
            );
        }
        for other in [
            "template: {kind: Secret, data: {a: ''}}",
            "template: {apiVersion: x.dev/v1, kind: Secret, data: {a: b}}",
            "ref: {kind: Secret, name: s}",
        ] {
            assert_eq!(all(&object(other)), [""; 0], "{other}");
        }
    }

    #[test]
    fn what_is_empty_or_encrypted_is_no_secret_in_clear_text() {
        for data in [
            "",
            "data: {}",
            "data: {a: \"\", b: null}",
            "data: {a: 'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'}\nsops: {mac: x}",
        ] {
            assert_eq!(all(&format!("{SECRET}{data}\n")), [""; 0], "{data}");
        }
        for data in [
            "stringData: {a: 'op://prod/registry/password', b: '${PASSWORD}', c: UPDATE_ME}",
            // `${PASSWORD}` and `change-me`
            "data: {a: JHtQQVNTV09SRH0=, b: Y2hhbmdlLW1l, c: '<path:kv/data/a#b>'}",
        ] {
            assert_eq!(all(&format!("{SECRET}{data}\n")), [""; 0], "{data}");
        }
        let template = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: s}\nspec: {target: {template: {data: {clientSecret: '{{ .secret }}'}}}}\n";
        assert_eq!(all(template), [""; 0]);
        for data in ["data: {a: 'ENC[no'}", "stringData: {a: 1}"] {
            assert_eq!(ids(&format!("{SECRET}{data}\n")), ["P01"], "{data}");
        }
        let sealed = "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: s}\nspec: {encryptedData: {clientSecret: AgBy3i4OJSWK}}\n";
        assert_eq!(all(sealed), [""; 0]);
    }

    #[test]
    fn what_is_encrypted_is_left_out_unless_it_is_decrypted_in_the_cluster() {
        let cipher = "'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'";
        let object = |head: &str, rest: &str| format!("{head}\nmetadata: {{name: s}}\n{rest}\n");
        let map = "apiVersion: v1\nkind: ConfigMap";
        for (head, rest, expected) in [
            (map, format!("data: {{a: {{b: [{cipher}]}}}}"), &["P05"][..]),
            (map, format!("sops: {{mac: {cipher}}}"), &["P05"]),
            (map, "data: {a: 'ENC[no'}".to_owned(), &[]),
            (
                "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret",
                format!("spec: {{a: {cipher}}}"),
                &[],
            ),
        ] {
            let reported = findings_of(encrypted_is_left_alone, &object(head, &rest));
            let ids: Vec<&str> = reported
                .iter()
                .filter_map(|line| line.split(' ').next())
                .collect();
            assert_eq!(ids, expected, "{rest}");
            assert!(!reported.concat().contains("ENC["), "{reported:?}");
        }
    }

    #[test]
    fn what_is_encrypted_to_its_name_is_this_document() {
        let cipher = "ENC[AES256_GCM,data:p6/3w==,iv:YY=,tag:UQ=,type:str]";
        let yaml =
            format!("apiVersion: '{cipher}'\nkind: '{cipher}'\nmetadata: {{name: '{cipher}'}}\n");
        let reported = findings_of(encrypted_is_left_alone, &yaml);
        let expected = "P05 1:13 this document is encrypted with SOPS, so it is neither applied nor removed from the cluster";
        assert_eq!(reported, [expected]);
    }

    #[test]
    fn keys_and_credentials_are_found_in_any_text() {
        let object = |rest: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{rest}\n")
        };
        let key =
            "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----\\n".repeat(2);
        let plain = key.replace("\\n", "\n");
        let encoded = STANDARD.encode(&plain);
        let (first, rest) = encoded.split_at_checked(76).expect("ASCII");
        let lines = format!("{first}\\n{rest}");
        let config = "{\\\"clusters\\\": [{\\\"server\\\": \\\"s\\\"}], \\\"users\\\": [{\\\"token\\\": \\\"t\\\"}]}";
        for (rest, expected) in [
            (format!("data: {{k: \"{key}\"}}"), "P02"),
            (
                format!("binaryData: {{k: {}}}", STANDARD.encode(plain)),
                "P02",
            ),
            (format!("binaryData: {{k: \"{lines}\"}}"), "P02"),
            (format!("data: {{k: \"{config}\"}}"), "P03"),
            ("spec: {clientSecret: hunter2}".to_owned(), "P04"),
            (
                "spec: {env: [{name: AZURE_CLIENT_SECRET, value: hunter2}]}".to_owned(),
                "P04",
            ),
            (
                "spec: {clientSecret: {name: s, namespace: d, value: hunter2}}".to_owned(),
                "P04",
            ),
        ] {
            assert_eq!(ids(&object(&rest)), [expected], "{rest}");
        }
        for rest in [
            "spec: {clientSecret: {name: s}}",
            "spec: {env: [{name: AZURE_CLIENT_SECRET, value: $(OTHER)}]}",
            "spec: {clientSecretName: s}",
            "data: {ca: \"-----BEGIN CERTIFICATE-----\"}",
            "data: {k: \"clusters, users and a server\"}",
        ] {
            assert_eq!(ids(&object(rest)), [""; 0], "{rest}");
        }
    }
}
