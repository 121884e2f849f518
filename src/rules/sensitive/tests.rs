//! What is hidden, and what must stay visible.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn map(yaml: &str) -> Node {
    let (mut documents, findings) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
    assert_eq!(findings, [], "{yaml}");
    documents.remove(0)
}

/// The paths of the hidden values of a document.
fn hidden(yaml: &str) -> Vec<String> {
    fn walk(node: &Node, path: &str, name: Name<'_>, found: &mut Vec<String>) {
        if name.hides(node) {
            return found.push(path.trim_start_matches('.').to_owned());
        }
        match &node.value {
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let name = name.of(&key.name, std::iter::once(node));
                    walk(value, &format!("{path}.{}", key.name), name, found);
                }
            }
            Value::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    let before = at.checked_sub(1).and_then(|at| items.get(at));
                    walk(item, &format!("{path}[{at}]"), name.item(before), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(&map(yaml), "", Name::default(), &mut found);
    found
}

#[test]
fn names_of_secrets_are_known_in_every_spelling() {
    for name in [
        "password",
        "DB_PASSWORD",
        "db.password",
        "adminPassword",
        "passwd",
        "SMTP_PASS",
        "smtpPass",
        "token",
        "api-token",
        "example.com/api-token",
        "tokens",
        "apiKey",
        "api_key",
        "X-Api-Key",
        "apiKeys",
        "accessKey",
        "AWS_SECRET_ACCESS_KEY",
        "accountKey",
        "connectionString",
        "ConnectionStrings",
        "sasToken",
        "clientSecret",
        "--client-secret",
        "sharedAccessKey",
        ".dockerconfigjson",
    ] {
        assert!(names_secret(name), "{name}");
    }
    for name in [
        "",
        "s",
        "tokenSecretRef",
        "passwordSecretName",
        "passwordSecretRef",
        "keyName",
        "audience",
        "tokenExpirationSeconds",
        "tokenURL",
        "tokenFile",
        "AWS_ACCESS_KEY_ID",
        "key",
        "topologyKey",
        "publicKey",
        "activeKey",
        "secretName",
        "secret",
        "pullSecret",
        "SharedAccessKeyName",
        "maxTokens",
        "bypass",
        "compass",
        "PWD",
        "ünpass",
    ] {
        assert!(!names_secret(name), "{name}");
    }
}

#[test]
fn values_are_hidden_by_the_name_of_their_field_or_variable() {
    for (yaml, expected) in [
        (
            "{data: {DB_PASSWORD: hunter2, region: x}}",
            "data.DB_PASSWORD",
        ),
        ("{spec: {password: 1234567}}", "spec.password"),
        ("{env: [{name: API_TOKEN, value: hunter2}]}", "env[0].value"),
        (
            "{parameters: [{key: apiKey, value: hunter2}]}",
            "parameters[0].value",
        ),
        ("{password: '${USER}:hunter2@${HOST}'}", "password"),
        ("{password: '{{a}}hunter2{{b}}'}", "password"),
        ("{password: $ecretPassw0rd}", "password"),
        ("{password: {value: hunter2}}", "password.value"),
        ("{passwords: [hunter2]}", "passwords[0]"),
        ("{passwords: {admin: hunter2}}", "passwords.admin"),
        ("{apiKeys: {ci: abc}}", "apiKeys.ci"),
        ("{tokens: {ci: {main: abc}}}", "tokens.ci.main"),
        ("{args: [--password, hunter2, --name, x]}", "args[1]"),
        ("{args: [--password=hunter2]}", "args[0]"),
        (
            "{metadata: {annotations: {example.com/token: hunter2}}}",
            "metadata.annotations.example.com/token",
        ),
        ("{clientSecret: {other: hunter2}}", "clientSecret.other"),
        ("{kind: Secret, stringData: {a: hunter2}}", "stringData"),
    ] {
        assert_eq!(hidden(yaml), [expected], "{yaml}");
    }
    for yaml in [
        "{spec: {tokenExpirationSeconds: 3600, keyName: k, audience: api}}",
        "{serviceAccountToken: {path: token, audience: vault, expirationSeconds: 3600}}",
        "{automountServiceAccountToken: false}",
        "{adminPassword: {name: s, key: password}}",
        "{password: {secretKeyRef: {name: s, key: k}, secretName: s}}",
        "{privateKey: {algorithm: RSA, size: 2048, rotationPolicy: Always}}",
        "{env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: token}}}]}",
        "{env: [{name: TOKEN, value: $(OTHER)}, {name: PASSWORD, value: ''}]}",
        "{data: [{secretKey: password, remoteRef: {key: db, property: password}}]}",
        "{password: $DB_PASSWORD, token: $TOKEN_2, apiKey: $_}",
        "{data: {USE_TOKEN: 'true', PASSWORD: '${PASSWORD}', API_KEY: 'op://vault/key'}}",
        "{tokenSecretRef: {name: s, key: token}, passwordSecretName: s}",
        "{password: 'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'}",
    ] {
        assert_eq!(hidden(yaml), [""; 0], "{yaml}");
    }
}

#[test]
fn values_are_hidden_by_their_form() {
    let jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln";
    let long = "x".repeat(200);
    for text in [
        "-----BEGIN OPENSSH PRIVATE KEY----- b -----END OPENSSH PRIVATE KEY-----",
        jwt,
        &format!("curl -H 'Authorization: Bearer {jwt}'"),
        "Authorization: Basic dXNlcjpodW50ZXIy=",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=aHVudGVyMg==",
        "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=aHVudA==",
        "Server=db;User=sa;Password=hunter2;",
        "https://a.blob.core.windows.net/c?sv=2024&se=2026&sig=aHVudGVyMg",
        "postgres://user:hunter2@db:5432/x",
        "url: x\\npassword: hunter2\\n",
        "{\\\"token\\\": \\\"hunter2\\\"}",
        "apiVersion: v1\\nkind: Secret\\nstringData:\\n  a: hunter2\\n",
        "ghp_0123456789012345678901234567890123",
        // The secret is far behind what is shown.
        &format!("{long} password=hunter2"),
    ] {
        assert_eq!(hidden(&format!("{{a: \"{text}\"}}")), ["a"], "{text}");
    }
    let plain = format!("a=b\npassword=hunter2\n{long}");
    let lines: Vec<String> = STANDARD
        .encode(plain)
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    assert_eq!(hidden(&format!("{{a: \"{}\"}}", lines.join("\\n"))), ["a"]);
    for text in [
        "-----BEGIN CERTIFICATE----- b -----END CERTIFICATE-----",
        "https://login.microsoftonline.com/tenant/v2.0",
        "ssh://git@github.com:22/a/b",
        "https://user:$(PASSWORD)@host/",
        "password: ${DB_PASSWORD}",
        "automountServiceAccountToken: false",
        "passwordSecretRef: s",
        "--token-file=/var/run/token",
        "token:",
        "Basic authentication",
        "kind: SecretStore\\nmetadata:\\n",
        "eyJ",
        "München: ein Text",
    ] {
        assert_eq!(hidden(&format!("{{a: \"{text}\"}}")), [""; 0], "{text}");
    }
}

#[test]
fn names_in_any_script_are_read() {
    for name in [
        "größe", "名前ab", "é123", "ß", "😀", "😀a", "éPas", "passé", "",
    ] {
        assert!(!names_secret(name), "{name}");
    }
    for name in ["größe_pass", "名Pass", "é-PASS", "größe.password"] {
        assert!(names_secret(name), "{name}");
    }
}
