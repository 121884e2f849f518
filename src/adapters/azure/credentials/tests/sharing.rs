//! Many clusters share few tokens.

use futures::future::join_all;

use super::*;

/// The token that a cluster in a namespace gets.
async fn token(credentials: &AzureCredentials, id: &ObjectId, namespace: &str) -> String {
    let credential = credentials.credential(id, namespace, "").await.unwrap();
    let scopes = ["https://management.azure.com/.default"];
    let token = credential.get_token(&scopes, None).await.unwrap();
    token.token.secret().to_owned()
}

#[tokio::test]
async fn nfr_1_200_clusters_that_share_10_identities_make_10_token_requests() {
    let stage = Stage::new().await;
    let identities: Vec<ObjectId> = (0..10)
        .map(|number| stage.principal(&format!("sp{number}"), "s3cret"))
        .collect();
    let credentials = stage.credentials();
    let namespaces: Vec<String> = (0..200).map(|number| format!("ns{number}")).collect();
    let asking = namespaces.iter().enumerate().map(|(number, namespace)| {
        let id = &identities[number % 10];
        token(&credentials, id, namespace)
    });
    let tokens = join_all(asking).await;
    assert_eq!(tokens.len(), 200);
    assert_eq!(stage.authority.asked().len(), 10);
    assert_eq!(stage.authority.most_at_once(), 1, "one client at a time");
    // Vaults want tokens of their own.
    let keys = namespaces
        .iter()
        .enumerate()
        .map(async |(number, namespace)| {
            let id = &identities[number % 10];
            let credential = credentials.credential(id, namespace, "").await.unwrap();
            let scopes = ["https://vault.azure.net/.default"];
            credential.get_token(&scopes, None).await.unwrap();
        });
    join_all(keys).await;
    assert_eq!(stage.authority.asked().len(), 20);
}

#[tokio::test]
async fn the_same_principal_under_two_names_shares_its_tokens() {
    let stage = Stage::new().await;
    let one = stage.principal("sp", "s3cret");
    let other = identity_id("team-b", "other");
    let object = stage.objects.read(&one).await.unwrap().unwrap();
    stage.put(&other, object);
    stage.secret("team-b", "sp", &[("clientSecret", "s3cret")]);
    let credentials = stage.credentials();
    let first = token(&credentials, &one, "a").await;
    assert_eq!(token(&credentials, &other, "b").await, first);
    assert_eq!(stage.authority.asked().len(), 1);
}

#[tokio::test]
async fn a_changed_secret_is_a_new_credential_and_the_old_one_is_forgotten() {
    let stage = Stage::new().await;
    let id = stage.principal("sp", "old");
    let credentials = stage.credentials();
    let first = token(&credentials, &id, "a").await;
    stage.principal("sp", "new");
    let second = token(&credentials, &id, "a").await;
    assert_ne!(first, second);
    assert_eq!(stage.authority.asked().len(), 2);
    assert_eq!(credentials.0.cache.len(), 1);
}

/// The time of a test.
struct Time(Mutex<Timestamp>);

impl Clock for Time {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn real(&self, pause: std::time::Duration) -> std::time::Duration {
        pause
    }
}

/// A credential has the password in it.
#[tokio::test]
async fn issue_15_the_credential_of_a_deleted_identity_is_forgotten() {
    let stage = Stage::new().await;
    let (gone, kept) = (
        stage.principal("gone", "s3cret"),
        stage.principal("kept", "s3cret"),
    );
    let clock = Arc::new(Time(Mutex::new(Timestamp::now())));
    let objects: Arc<dyn ObjectReader> = Arc::clone(&stage.objects) as _;
    let credentials = AzureCredentials::new(objects, Arc::clone(&clock) as _, stage.settings());
    for id in [&gone, &kept] {
        token(&credentials, id, "a").await;
    }
    assert_eq!(credentials.0.cache.len(), 2);
    // Somebody asks for it once more.
    let object = stage.objects.read(&gone).await.unwrap().unwrap();
    stage.objects.0.lock().unwrap().remove(&gone);
    credentials.check(&request(&gone)).await.unwrap_err();
    assert_eq!(credentials.0.cache.len(), 1);
    // Nobody does.
    stage.put(&gone, object);
    token(&credentials, &gone, "a").await;
    for _ in 0..4 {
        *clock.0.lock().unwrap() += jiff::SignedDuration::from_hours(1);
        token(&credentials, &kept, "a").await;
    }
    assert_eq!(credentials.0.cache.len(), 1);
}
