//! External auths.

use super::{AUTH, Case, at, bad, case, good, hold, list};

fn bads(mark: &str, names: &'static str, values: &[&str]) -> Vec<Case> {
    bad(AUTH, mark, names, values)
}

fn goods(names: &'static str, values: &[&str]) -> Vec<Case> {
    good(AUTH, names, values)
}

/// An external auth with these clients, whose audience is `app`.
fn clients(clients: &str) -> Vec<Case> {
    vec![at(AUTH, "clients", clients)]
}

/// One client, `MARK`ed where a line asks for it.
fn client(id: &str, name: &str, namespace: &str, kind: &str) -> String {
    format!(
        "\n- clientId: {id}\n  component:\n    name: {name}\n    authClientNamespace: {namespace}\n  type: {kind}"
    )
}

#[test]
fn names_and_issuers() {
    let authority = "|\n        -----BEGIN CERTIFICATE-----\n        MIIBszCCAVmgAwIBAgIUQm9vayBvZiBydWxlcw==\n        -----END CERTIFICATE-----";
    let audience = |item: &str| vec![at(AUTH, "issuer.audiences", &format!("\n- app\n- {item}"))];
    hold(&[
        goods("spec.azureName", &["ab", "Entra-1"]),
        bads(
            "E01",
            "spec.azureName",
            &["e", "the-only-external", "entra-", "1entra", "e$a"],
        ),
        goods("issuer.url", &["https://login.example.com"]),
        bads("E03", "issuer.url", &["http://x", "aaa", "\"\""]),
        audience("cli"),
        audience("\"\" # E04"),
        vec![at(
            AUTH,
            "issuer.audiences",
            &format!("{} # E04", list("app", 11)),
        )],
        vec![case(
            AUTH,
            "spec:\n  properties:\n    clients: null\n    issuer:\n      audiences: [] # E04\n",
        )],
        goods("issuer.ca", &[authority]),
        bads("E05", "issuer.ca", &["not a pem"]),
    ]);
}

#[test]
fn clients_are_whole() {
    let console = |id: &str, kind: &str| client(id, "console", "openshift-console", kind);
    let cli = |name: &str, namespace: &str| clients(&client("app", name, namespace, "Public"));
    let many = |count: usize| {
        (0..count)
            .map(|at| client("app", &format!("cli-{at}"), "apps", "Public"))
            .collect::<String>()
    };
    hold(&[
        clients(&console("app", "Confidential")),
        clients(&console("app", "Public # E09")),
        clients(&client("app", "cli", "apps", "Confidential # E09")),
        clients(&console("app", "\"\" # E06")),
        clients(&console("app", "Secret # E06")),
        clients(&console("\"\" # E06", "Confidential")),
        clients(&console("other # E08", "Confidential")),
        clients(&console("\"app \" # E08", "Confidential")),
        cli(&"x".repeat(256), "apps"),
        cli(&format!("{} # E06", "x".repeat(257)), "apps"),
        cli("cli", &"x".repeat(63)),
        cli("cli", &format!("{} # E06", "x".repeat(64))),
        cli("\"\" # E06", "apps"),
        cli("cli", "\"\" # E06"),
        clients(&format!(
            "{}{}",
            client("app", "cli", "apps", "Public"),
            client("app", "cli # E07", "apps", "Public")
        )),
        clients(&many(20)),
        clients(&many(21).replacen("clientId: app", "clientId: app # key: E06", 1)),
    ]);
}

#[test]
fn claims() {
    const USER: &str = "claim.mappings.username";
    let user = |fields: &str| vec![at(AUTH, USER, fields)];
    let rule = |fields: &str| {
        vec![at(
            AUTH,
            "claim.validationRules",
            &format!("\n- type: RequiredClaim\n  requiredClaim:\n{fields}"),
        )]
    };
    hold(&[
        user("\nclaim: email\nprefixPolicy: Prefix\nprefix: \"entra:\""),
        user("\nclaim: email\nprefixPolicy: Prefix # E10"),
        user("\nclaim: email\nprefixPolicy: NoPrefix\nprefix: x # E10"),
        user("\nclaim: email\nprefixPolicy: Bogus # E10"),
        goods("claim.mappings.username.claim", &[&"x".repeat(256)]),
        bads(
            "E10",
            "claim.mappings.username.claim",
            &["\"\"", &"x".repeat(257)],
        ),
        goods("claim.mappings.groups.claim", &["roles"]),
        bads(
            "E11",
            "claim.mappings.groups.claim",
            &["\"\"", &"x".repeat(257)],
        ),
        rule("    claim: tid\n    requiredValue: x"),
        rule("    claim: \"\" # E12\n    requiredValue: x"),
        rule("    claim: tid\n    requiredValue: \"\" # E12"),
        rule("    claim: tid # key: E12"),
        vec![at(
            AUTH,
            "claim.validationRules",
            "\n- requiredClaim: {claim: tid, requiredValue: x} # key: E12",
        )],
        rule("    requiredValue: x # key: E12"),
    ]);
}
