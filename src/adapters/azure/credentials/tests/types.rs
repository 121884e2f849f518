//! Every type of identity gets a token, and becomes a Secret for Azure Service Operator.

use std::pin::Pin;

use azure_core::http::{AsyncRawResponse, HttpClient, Request, RetryOptions, Transport};

use super::authority::certificate;
use super::*;

/// Gets a token with an identity, and the form that Azure Service Operator reads.
async fn used(stage: &Stage, id: &ObjectId) -> BTreeMap<String, String> {
    let credentials = stage.credentials();
    credentials.check(&request(id)).await.unwrap();
    let asked = secret_request(id, "anywhere");
    let mut content = aso(&credentials, &asked).await.unwrap();
    for (key, value) in [
        ("AZURE_SUBSCRIPTION_ID", "subscription"),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_CLIENT_ID", &id.name),
    ] {
        assert_eq!(content.remove(key).as_deref(), Some(value), "{key}");
    }
    content
}

fn only(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[tokio::test]
async fn section_5_a_service_principal_has_a_password() {
    let stage = Stage::new().await;
    for kind in ["ServicePrincipal", "ManualServicePrincipal"] {
        stage.principal("sp", "s3cret");
        // Editors end a file with a line break.
        stage.secret("team-a", "sp", &[("clientSecret", "s3cret\n")]);
        let spec = json!({"type": kind, "clientSecret": {"name": "sp", "namespace": "team-a"}});
        let id = stage.identity("sp", spec);
        let expected = only(&[("AZURE_CLIENT_SECRET", "s3cret")]);
        assert_eq!(used(&stage, &id).await, expected);
    }
    let asked = stage.authority.asked();
    assert_eq!(asked[0].scope, "https://management.azure.com/.default");
}

#[tokio::test]
async fn section_5_a_certificate_signs_an_assertion() {
    let stage = Stage::new().await;
    let (public, pem) = certificate(2020, 2090);
    let known = Known::Certificate(public);
    stage.authority.know("tenant", "app", known);
    let expected = only(&[
        ("AZURE_CLIENT_CERTIFICATE", pem.trim_end()),
        ("AZURE_CLIENT_CERTIFICATE_PASSWORD", ""),
    ]);
    for key in ["clientSecret", "certificate"] {
        stage.secret("team-a", "app", &[(key, &pem)]);
        let spec = json!({"type": "ServicePrincipalCertificate", "clientSecret": {"name": "app"}});
        let id = stage.identity("app", spec);
        assert_eq!(used(&stage, &id).await, expected, "{key}");
    }
    let path = stage.own_file("app.pem", pem.trim_end());
    let spec = json!({"type": "ServicePrincipalCertificate", "certPath": path});
    let id = stage.identity("app", spec);
    assert_eq!(used(&stage, &id).await, expected);
}

#[tokio::test]
async fn section_5_a_workload_has_the_token_of_its_service_account() {
    let stage = Stage::new().await;
    let known = Known::Federated("federated".to_owned());
    stage.authority.know("tenant", "workload", known);
    stage.file("token", "federated");
    let id = stage.identity("workload", json!({"type": "WorkloadIdentity"}));
    let expected = only(&[("AUTH_MODE", "workloadidentity")]);
    assert_eq!(used(&stage, &id).await, expected);
}

#[tokio::test]
async fn section_5_a_machine_has_managed_identities() {
    let stage = Stage::new().await;
    stage.authority.assign("uami");
    let id = stage.identity("uami", json!({"type": "UserAssignedMSI"}));
    let expected = only(&[("AUTH_MODE", "podidentity")]);
    assert_eq!(used(&stage, &id).await, expected);
    let asked = stage.authority.asked();
    assert_eq!(asked[0].scope, "https://management.azure.com");
}

#[tokio::test]
async fn section_5_the_credential_of_a_managed_identity_is_delivered_in_a_file() {
    let stage = Stage::new().await;
    let (public, pem) = certificate(2020, 2090);
    let known = Known::Certificate(public);
    stage.authority.know("tenant", "delivered", known);
    let content = json!({
        "client_id": "delivered",
        "tenant_id": "tenant",
        "client_secret": BASE64_STANDARD.encode(pem),
        "authentication_endpoint": format!("{}/", stage.authority.url()),
        "not_after": "2090-01-01T00:00:00Z",
    });
    let path = stage.own_file("credential.json", &content.to_string());
    let spec = json!({"type": "UserAssignedIdentityCredential", "userAssignedIdentityCredentialsPath": path,
        "userAssignedIdentityCredentialsCloudType": "usgovernment"});
    let id = stage.identity("ignored", spec);
    let credentials = stage.credentials();
    credentials.check(&request(&id)).await.unwrap();
    let asked = &stage.authority.asked()[0];
    assert_eq!(asked.client, "delivered");
    assert_eq!(asked.scope, "https://management.usgovcloudapi.net/.default");
    let error = aso(&credentials, &secret_request(&id, "anywhere")).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("UserAssignedIdentityCredential"), "{error}");
}

#[tokio::test]
async fn each_cloud_has_its_own_tokens() {
    let stage = Stage::new().await;
    let id = stage.principal("sp", "s3cret");
    let credentials = stage.credentials();
    for environment in ["AzureChinaCloud", "AzureUSGovernmentCloud"] {
        let mut request = request(&id);
        request.environment = environment.to_owned();
        credentials.check(&request).await.unwrap();
    }
    let scopes: Vec<String> = stage
        .authority
        .asked()
        .into_iter()
        .map(|asked| asked.scope)
        .collect();
    assert_eq!(
        scopes,
        [
            "https://management.chinacloudapi.cn/.default",
            "https://management.usgovcloudapi.net/.default"
        ]
    );
}

#[tokio::test]
async fn the_default_identity_has_one_type() {
    let stage = Stage::new().await;
    stage.principal("sp", "s3cret");
    let settings = Settings {
        default: Some(DefaultIdentity {
            kind: crate::api::azure_cluster_identity::IdentityType::ServicePrincipal,
            client: "sp".to_owned(),
            tenant: "tenant".to_owned(),
            password: Some("s3cret".to_owned()),
            certificate: None,
            subscription: Some("own".to_owned()),
        }),
        ..stage.settings()
    };
    let credentials = stage.with(settings.clone());
    let mut request = secret_request(&identity_id("", ""), "anywhere");
    request.credential.of = CredentialOf::Default;
    request.subscription = String::new();
    credentials.check(&request.credential).await.unwrap();
    let content = aso(&credentials, &request).await.unwrap();
    assert_eq!(content["AZURE_SUBSCRIPTION_ID"], "own");
    assert_eq!(content["AZURE_CLIENT_SECRET"], "s3cret");
    // Only listed namespaces get it.
    let listed = stage.with(Settings {
        namespaces: Namespaces::of_text("team-a"),
        ..settings
    });
    let error = aso(&listed, &request).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied);
    request.namespace = "team-a".to_owned();
    aso(&listed, &request).await.unwrap();
    // A team's identity is not told the subscription.
    request.credential.of = CredentialOf::Identity(identity_id("team-a", "sp"));
    let error = aso(&credentials, &request).await.unwrap_err().to_string();
    assert!(error.starts_with("spec.subscriptionID"), "{error}");
}

#[tokio::test]
async fn issue_15_a_default_identity_that_cannot_be_used_says_why() {
    let stage = Stage::new().await;
    let credentials = stage.with(Settings {
        fault: Some("CAPSTAN_AZURE_TENANT_ID is not set".to_owned()),
        ..stage.settings()
    });
    let mut request = request(&identity_id("", ""));
    request.of = CredentialOf::Default;
    let error = credentials.check(&request).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    let expected =
        "the identity of the process (CAPSTAN_AZURE_*): CAPSTAN_AZURE_TENANT_ID is not set";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn issue_15_a_certificate_of_another_team_is_not_read() {
    let stage = Stage::new().await;
    let (public, pem) = certificate(2020, 2090);
    stage
        .authority
        .know("tenant", "app", Known::Certificate(public));
    std::fs::create_dir(stage.files.path().join("team-b")).unwrap();
    stage.own_file("own.pem", &pem);
    let path = stage.file("team-b/app.pem", &pem);
    let spec = json!({"type": "ServicePrincipalCertificate", "certPath": path});
    let id = stage.identity("app", spec);
    let credentials = stage.credentials();
    let refused = credentials.check(&request(&id)).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Invalid);
    assert!(!refused.to_string().contains("PRIVATE KEY"), "{refused}");
    let secret = aso(&credentials, &secret_request(&id, "team-a")).await;
    assert_eq!(secret.unwrap_err().class(), ErrorClass::Invalid);
    assert!(stage.authority.asked().is_empty());
}

/// Notes where requests go, and answers none.
#[derive(Debug, Default)]
struct Hosts(Mutex<Vec<String>>);

impl HttpClient for Hosts {
    fn execute_request<'s, 'r, 'f>(
        &'s self,
        request: &'r Request,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
    where
        's: 'f,
        'r: 'f,
    {
        let host = request.url().host_str().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push(host);
        let cause = std::io::Error::other("nobody answers");
        let error = azure_core::Error::new(azure_core::error::ErrorKind::Io, cause);
        std::future::ready(Err(error)).boxed()
    }
}

#[tokio::test]
async fn issue_15_each_cloud_asks_its_own_entra_id() {
    let stage = Stage::new().await;
    let id = stage.principal("sp", "s3cret");
    for (environment, expected) in [
        ("", "login.microsoftonline.com"),
        ("AzurePublicCloud", "login.microsoftonline.com"),
        ("AzureChinaCloud", "login.chinacloudapi.cn"),
        ("AzureUSGovernmentCloud", "login.microsoftonline.us"),
    ] {
        let hosts = Arc::new(Hosts::default());
        let credentials = stage.with(Settings {
            options: ClientOptions {
                transport: Some(Transport::new(Arc::clone(&hosts) as _)),
                retry: RetryOptions::none(),
                ..ClientOptions::default()
            },
            ..Settings::default()
        });
        let request = CredentialRequest {
            environment: environment.to_owned(),
            ..request(&id)
        };
        credentials.check(&request).await.unwrap_err();
        let asked = hosts.0.lock().unwrap().clone();
        assert!(!asked.is_empty(), "{environment}");
        assert!(
            asked.iter().all(|host| host == expected),
            "{environment}: {asked:?}"
        );
    }
}
