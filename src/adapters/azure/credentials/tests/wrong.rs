//! What a person has to change, in words.

use super::authority::{KEY, certificate};
use super::*;
use crate::adapters::azure::log::Log;

/// The class and the text of the error of an identity.
async fn refused(stage: &Stage, id: &ObjectId) -> (ErrorClass, String) {
    let error = stage.credentials().check(&request(id)).await;
    let error = error.unwrap_err();
    (error.class(), error.to_string())
}

#[tokio::test]
async fn a_wrong_password_a_wrong_tenant_and_an_unknown_client_are_denied() {
    let stage = Stage::new().await;
    let id = stage.principal("sp", "right");
    stage.secret("team-a", "sp", &[("clientSecret", "wrong-password")]);
    let (class, text) = refused(&stage, &id).await;
    assert_eq!(class, ErrorClass::Denied);
    assert!(
        text.contains("AADSTS7000215: Invalid client secret provided."),
        "{text}"
    );
    assert!(
        !text.contains("wrong-password") && !text.contains("Trace"),
        "{text}"
    );
    let secret = json!({"name": "sp"});
    let spec = json!({"type": "ServicePrincipal", "clientSecret": secret, "tenantID": "other"});
    let (class, text) = refused(&stage, &stage.identity("sp", spec)).await;
    assert_eq!(class, ErrorClass::Denied);
    assert!(text.contains("AADSTS90002"), "{text}");
    let spec = json!({"type": "ServicePrincipal", "clientSecret": secret, "clientID": "other"});
    let (class, text) = refused(&stage, &stage.identity("sp", spec)).await;
    assert_eq!(class, ErrorClass::Denied);
    assert!(text.contains("AADSTS700016"), "{text}");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let stage = Stage::new().await;
    let sp = |secret: Value| json!({"type": "ServicePrincipal", "clientSecret": secret});
    stage.secret("team-a", "empty", &[]);
    stage.secret("team-a", "misnamed", &[("password", "hunter2")]);
    stage.secret("team-b", "elsewhere", &[("clientSecret", "hunter2")]);
    let cases = [
        (
            sp(json!({"name": "none"})),
            ErrorClass::Gone,
            "Secret/team-a/none does not exist",
        ),
        (
            sp(json!({"name": "empty"})),
            ErrorClass::Invalid,
            "no value for the key clientSecret: it is empty",
        ),
        (
            sp(json!({"name": "misnamed"})),
            ErrorClass::Invalid,
            "no value for the key clientSecret: it has password",
        ),
        (
            sp(json!({})),
            ErrorClass::Invalid,
            "spec.clientSecret names no Secret",
        ),
        (
            sp(json!({"name": "elsewhere", "namespace": "team-b"})),
            ErrorClass::Denied,
            "capstan.dev/identity-namespaces: team-a",
        ),
        (
            json!({"type": "Password"}),
            ErrorClass::Invalid,
            "its spec cannot be read",
        ),
        (
            json!({"type": "WorkloadIdentity"}),
            ErrorClass::Invalid,
            "token",
        ),
        (
            json!({"type": "ServicePrincipalCertificate", "certPath": "/etc/passwd"}),
            ErrorClass::Invalid,
            "CAPSTAN_AZURE_FILES",
        ),
        (
            json!({"type": "UserAssignedIdentityCredential"}),
            ErrorClass::Invalid,
            "spec.userAssignedIdentityCredentialsPath is empty",
        ),
        (
            json!({"type": "UserAssignedMSI", "clientID": " "}),
            ErrorClass::Invalid,
            "spec.clientID is empty",
        ),
    ];
    for (spec, class, expected) in cases {
        let id = stage.identity("id", spec);
        let (found, text) = refused(&stage, &id).await;
        assert_eq!(found, class, "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let (class, text) = refused(&stage, &identity_id("team-a", "missing")).await;
    assert_eq!(class, ErrorClass::Gone);
    assert_eq!(text, "AzureClusterIdentity/team-a/missing does not exist");
}

#[tokio::test]
async fn issue_15_nobody_learns_which_secrets_another_namespace_has() {
    let stage = Stage::new().await;
    let mut found = Vec::new();
    for exists in [false, true] {
        if exists {
            stage.secret("team-b", "theirs", &[("clientSecret", "hunter2")]);
        }
        let secret = json!({"name": "theirs", "namespace": "team-b"});
        let spec = json!({"type": "ServicePrincipal", "clientSecret": secret});
        found.push(refused(&stage, &stage.identity("id", spec)).await);
    }
    assert_eq!(found[0], found[1]);
}

#[tokio::test]
async fn a_secret_of_another_namespace_may_be_shared() {
    let stage = Stage::new().await;
    stage.principal("sp", "s3cret");
    let spec = json!({"type": "ServicePrincipal", "clientSecret": {"name": "shared", "namespace": "platform"}});
    let id = stage.identity("sp", spec);
    for (namespaces, allowed) in [("team-b", false), ("team-b, team-a", true), ("*", true)] {
        stage.secret("platform", "shared", &[("clientSecret", "s3cret")]);
        let secret = ObjectId::new("", "Secret", "platform", "shared");
        let mut object = stage.objects.read(&secret).await.unwrap().unwrap();
        object["metadata"]["annotations"] = json!({"capstan.dev/identity-namespaces": namespaces});
        stage.put(&secret, object);
        let checked = stage.credentials().check(&request(&id)).await;
        assert_eq!(checked.is_ok(), allowed, "{namespaces}");
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_explained() {
    let stage = Stage::new().await;
    let (public, _) = certificate(2020, 2090);
    let (_, expired) = certificate(2020, 2021);
    let (_, early) = certificate(2080, 2090);
    let stranger = rcgen::generate_simple_self_signed(vec!["x".to_owned()]).unwrap();
    let other = format!("{}{KEY}", stranger.cert.pem());
    let elliptic = format!("{public}{}", stranger.signing_key.serialize_pem());
    let half = KEY.get(..KEY.len() / 2).unwrap();
    let cases = [
        (
            expired.as_str(),
            "its certificate expired at 2021-01-01T00:00:00Z",
        ),
        (&early, "its certificate is valid from 2080-01-01T00:00:00Z"),
        (&other, "its private key is not that of its certificate"),
        (&elliptic, "not an RSA key"),
        (&public, "it has no private key in PEM"),
        (KEY, "it has no certificate in PEM"),
        ("hello", "it has no private key in PEM"),
        (half, "PEM"),
        ("0\u{1}binary", "openssl pkcs12"),
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "encrypted",
        ),
    ];
    for (pem, expected) in cases {
        stage.secret("team-a", "app", &[("certificate", pem)]);
        let spec = json!({"type": "ServicePrincipalCertificate", "clientSecret": {"name": "app"}});
        let (class, text) = refused(&stage, &stage.identity("app", spec)).await;
        assert_eq!(class, ErrorClass::Invalid, "{text}");
        assert!(
            text.starts_with(
                "AzureClusterIdentity/team-a/app: Secret/team-a/app, key certificate: "
            ),
            "{text}"
        );
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("MII"), "{text}");
    }
    assert!(stage.authority.asked().is_empty());
}

#[tokio::test]
async fn an_unknown_cloud_is_named() {
    let stage = Stage::new().await;
    let id = stage.principal("sp", "s3cret");
    let mut request = request(&id);
    request.environment = "AzureGermanCloud".to_owned();
    let error = stage.credentials().check(&request).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(
        error
            .to_string()
            .contains("\"AzureGermanCloud\" is not a cloud"),
        "{error}"
    );
}

#[tokio::test]
async fn section_9_allowed_namespaces_are_enforced_wherever_a_credential_is_used() {
    let stage = Stage::new().await;
    stage.principal("sp", "s3cret");
    let namespace = ObjectId::new("", "Namespace", "", "team-b");
    stage.put(&namespace, json!({"metadata": {"labels": {"team": "b"}}}));
    let secret = json!({"name": "sp"});
    let selects = |team: &str| json!({"selector": {"matchLabels": {"team": team}}});
    for (allowed, expected) in [
        (json!({}), true),
        (json!(null), false),
        (json!({"list": []}), false),
        (json!({"list": ["team-b"]}), true),
        (json!({"list": ["team-c"]}), false),
        (selects("b"), true),
        (selects("c"), false),
    ] {
        let spec = json!({"type": "ServicePrincipal", "clientSecret": secret, "allowedNamespaces": allowed});
        let id = stage.identity("sp", spec);
        let credentials = stage.credentials();
        let given = credentials.credential(&id, "team-b", "").await;
        assert_eq!(given.is_ok(), expected, "{allowed}");
        let secret = aso(&credentials, &secret_request(&id, "team-b")).await;
        assert_eq!(secret.is_ok(), expected, "{allowed}");
        if let Err(error) = secret {
            assert_eq!(error.class(), ErrorClass::Denied);
            assert_eq!(
                error.to_string(),
                crate::api::conditions::NAMESPACE_NOT_ALLOWED
            );
        }
    }
}

/// Team B writes what it knows of team A: the client ID and the tenant are no secrets, and the proof is that of the process.
#[tokio::test]
async fn issue_15_the_proof_of_the_process_is_only_for_clients_of_the_namespace() {
    let stage = Stage::new().await;
    stage.file("token", "federated");
    for client in ["client-a", "client-b"] {
        let known = Known::Federated("federated".to_owned());
        stage.authority.know("tenant", client, known);
    }
    let bound = ClientBindings::of_text("team-a=client-a,team-b=client-b").unwrap();
    let bound = stage.with(Settings {
        bindings: bound,
        ..stage.settings()
    });
    for kind in ["WorkloadIdentity", "UserAssignedMSI"] {
        let id = stage.identity("stolen", json!({"type": kind, "clientID": "client-b"}));
        let error = bound.check(&request(&id)).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied, "{error}");
        let expected = "AzureClusterIdentity/team-a/stolen: spec.clientID is not bound to the namespace team-a";
        assert!(error.to_string().starts_with(expected), "{error}");
        let secret = aso(&bound, &secret_request(&id, "team-a")).await;
        assert_eq!(secret.unwrap_err().class(), ErrorClass::Denied);
        let key = bound.credential(&id, "team-a", "").await;
        assert!(key.is_err_and(|error| error.class() == ErrorClass::Denied));
    }
    assert!(stage.authority.asked().is_empty(), "nobody asks Entra ID");
    let own = stage.identity(
        "own",
        json!({"type": "WorkloadIdentity", "clientID": "client-a"}),
    );
    bound.check(&request(&own)).await.unwrap();
    // Nothing is limited unless somebody says so.
    let id = stage.identity(
        "other",
        json!({"type": "WorkloadIdentity", "clientID": "client-b"}),
    );
    stage.credentials().check(&request(&id)).await.unwrap();
    let secret = stage.principal("client-c", "hunter2");
    bound.check(&request(&secret)).await.unwrap();
}

#[tokio::test]
async fn issue_15_namespaces_that_could_act_as_each_other_are_warned_about_once() {
    let log = Log::begin();
    let stage = Stage::new().await;
    stage.file("token", "federated");
    let spec = json!({"type": "WorkloadIdentity", "clientID": "c", "tenantID": "tenant"});
    let others = identity_id("team-b", "b");
    stage.put(&others, json!({"spec": spec.clone()}));
    let ours = stage.identity("a", spec);
    let warning = "team-a, team-b authenticate as Capstan itself";
    let bound = stage.with(Settings {
        bindings: ClientBindings::of_text("team-a=c,team-b=c").unwrap(),
        ..stage.settings()
    });
    let open = stage.credentials();
    for id in [&ours, &others, &ours, &others] {
        bound.check(&request(id)).await.unwrap_err();
    }
    tracing::info!("nothing was open");
    for id in [&ours, &others, &ours, &others] {
        open.check(&request(id)).await.unwrap_err();
    }
    let text = log.end();
    let (before, after) = text.split_once("nothing was open").unwrap();
    assert!(!before.contains(warning), "{before}");
    assert_eq!(after.matches(warning).count(), 1, "{after}");
}
