//! What the runtime does while vaults and Entra ID fail or stay silent.

use super::refused::refusing;
use super::*;
use crate::model::{
    AzureCaller, AzureError, Frontend, FrontendRequest, PrivateLinks, RejectRequest,
};

/// Runs a controller of the ConfigMap `one`, which exists, for so many seconds.
async fn run_beside(connectors: Connectors, controller: Controller, seconds: u64) {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&client, "somebody", one).await.1.unwrap();
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let runtime = Runtime::new(
        client,
        Arc::new(time),
        vec![controller],
        connectors,
        Watched::default(),
        may_act,
        Arc::default(),
    );
    let limit = Duration::from_secs(seconds);
    assert!(tokio::time::timeout(limit, runtime.run()).await.is_err());
}

fn key_request() -> KeyRequest {
    KeyRequest {
        vault: "vault".to_owned(),
        key: "etcd".to_owned(),
        identity: Live(&config_map("one")).id(),
        namespace: "default".to_owned(),
        environment: String::new(),
    }
}

/// Vaults that refuse every request, and when they were asked.
struct Refusing(Instant, Arc<Mutex<Vec<u64>>>);

impl KeyVaults for Refusing {
    fn ensure(&self, _: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        self.1.lock().unwrap().push(self.0.elapsed().as_secs());
        let error = AdapterError::new(ErrorClass::Transient, "the vault is away");
        std::future::ready(Err(error.into())).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_request_that_fails_the_same_way_again_is_tried_again() {
    let request = key_request();
    let controller = controller(move |_, _, _| Outcome {
        writes: vec![Write::EnsureKey(request.clone())],
        needs: vec![Need::Key(request.clone())],
        ..Outcome::default()
    });
    let asked = Arc::new(Mutex::new(Vec::new()));
    let connectors = Connectors {
        keys: Arc::new(Refusing(Instant::now(), Arc::clone(&asked))),
        ..Connectors::default()
    };
    run_beside(connectors, controller, 40).await;
    assert_eq!(*asked.lock().unwrap(), [0, 1, 3, 7, 15, 31]);
}

/// An Entra ID that never answers.
struct SilentEntra;

impl Credentials for SilentEntra {
    fn check(&self, _: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>> {
        std::future::pending().boxed()
    }

    fn aso_secret(
        &self,
        _: &AsoSecretRequest,
    ) -> BoxFuture<'static, Result<SecretContent, AdapterError>> {
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn issue_15_a_token_that_does_not_come_holds_up_no_write_and_is_asked_for_again() {
    let request = CredentialRequest {
        of: CredentialOf::Default,
        environment: String::new(),
        version: String::new(),
    };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, live, _| {
        let answer = world.credential(&request);
        let second = start.elapsed().as_secs();
        let is_written = live.label("written") == "yes";
        let new = (second, answer.is_some(), is_written);
        log.lock().unwrap().push(new);
        let mut written = config_map("one");
        written["metadata"]["labels"] = json!({"written": "yes"});
        Outcome {
            writes: vec![
                Write::CheckCredential(request.clone()),
                Write::Apply(written),
            ],
            needs: vec![Need::Credential(request.clone())],
            ..Outcome::default()
        }
    });
    let connectors = Connectors {
        credentials: Arc::new(SilentEntra),
        ..Connectors::default()
    };
    run_beside(connectors, controller, 45).await;
    let mut seen = seen.lock().unwrap().clone();
    seen.dedup();
    let expected = [
        (0, false, false),
        (0, false, true),
        (20, true, true),
        (21, true, true),
        (41, true, true),
        (43, true, true),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn issue_15_a_secret_that_does_not_get_written_is_waited_for_a_minute() {
    let (client, _) = refusing(http::Method::PATCH, http::StatusCode::FORBIDDEN).await;
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let writer = Writer {
        client,
        connectors: Connectors {
            credentials: Arc::new(SilentEntra),
            ..Connectors::default()
        },
        manager: "controller",
        patience: Duration::from_secs(60),
        may_act,
        is_mute: Arc::default(),
    };
    let request = AsoSecretRequest {
        credential: CredentialRequest {
            of: CredentialOf::Default,
            environment: String::new(),
            version: String::new(),
        },
        namespace: "default".to_owned(),
        subscription: String::new(),
    };
    let start = Instant::now();
    let one = Live(&config_map("one")).id();
    let secret = Write::CredentialSecret(Box::new(request), json!({"kind": "Secret"}));
    let written = writer.perform(&one, vec![secret]).await;
    assert_eq!(start.elapsed().as_secs(), 60);
    let Written::Secret(_, Err(error)) = &written[0] else {
        panic!("{written:?}");
    };
    assert_eq!(error.to_string(), "the cluster does not answer");
}

/// Vaults that never answer.
struct Silent;

impl KeyVaults for Silent {
    fn ensure(&self, _: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_vault_that_never_answers_fails_after_a_minute() {
    let request = key_request();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let answer = world.key(&request);
        let class = answer.and_then(|answer| answer.version.as_ref().err());
        let class = class.map(|error| error.error.class());
        log.lock().unwrap().push((start.elapsed().as_secs(), class));
        Outcome {
            writes: vec![Write::EnsureKey(request.clone())],
            needs: vec![Need::Key(request.clone())],
            ..Outcome::default()
        }
    });
    let connectors = Connectors {
        keys: Arc::new(Silent),
        ..Connectors::default()
    };
    run_beside(connectors, controller, 100).await;
    let failed = Some(ErrorClass::Transient);
    assert_eq!(
        *seen.lock().unwrap(),
        [(0, None), (60, failed), (61, failed)]
    );
}

fn frontend_request() -> FrontendRequest {
    FrontendRequest {
        subscription: "s".to_owned(),
        resource_group: "g".to_owned(),
        network: "n".to_owned(),
        address: "10.0.0.4".to_owned(),
        caller: AzureCaller {
            identity: Live(&config_map("one")).id(),
            namespace: "default".to_owned(),
            environment: String::new(),
        },
    }
}

/// Runs a controller that needs a frontend. Returns the seconds in which it decided, each with what was known.
async fn needing_a_frontend(
    links: Arc<dyn PrivateLinks>,
    seconds: u64,
) -> Vec<(u64, Option<bool>)> {
    let request = frontend_request();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let found = world.frontend(&request).map(|answer| answer.found.is_ok());
        log.lock().unwrap().push((start.elapsed().as_secs(), found));
        Outcome {
            needs: vec![Need::Frontend(request.clone())],
            ..Outcome::default()
        }
    });
    let connectors = Connectors {
        links,
        ..Connectors::default()
    };
    run_beside(connectors, controller, seconds).await;
    let mut seen = seen.lock().unwrap().clone();
    seen.dedup();
    seen
}

/// An Azure that never answers, or always with a frontend; it counts how often it was asked for one.
struct Links {
    answers: bool,
    asked: Arc<Mutex<Vec<u64>>>,
    start: Instant,
}

impl PrivateLinks for Links {
    fn frontend(&self, _: &FrontendRequest) -> BoxFuture<'static, Result<Frontend, AzureError>> {
        self.asked
            .lock()
            .unwrap()
            .push(self.start.elapsed().as_secs());
        if !self.answers {
            return std::future::pending().boxed();
        }
        let frontend = Frontend {
            id: "f".to_owned(),
            load_balancer: "b".to_owned(),
            location: "uksouth".to_owned(),
        };
        std::future::ready(Ok(frontend)).boxed()
    }

    fn reject(&self, _: &RejectRequest) -> BoxFuture<'static, Result<usize, AzureError>> {
        std::future::pending().boxed()
    }
}

fn links(answers: bool) -> (Arc<Links>, Arc<Mutex<Vec<u64>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let links = Links {
        answers,
        asked: Arc::clone(&asked),
        start: Instant::now(),
    };
    (Arc::new(links), asked)
}

#[tokio::test(start_paused = true)]
async fn an_azure_that_never_answers_fails_after_two_minutes() {
    let (links, asked) = links(false);
    let seen = needing_a_frontend(links, 250).await;
    assert_eq!(seen[..2], [(0, None), (120, Some(false))]);
    // It is left alone for two minutes after that.
    assert_eq!(*asked.lock().unwrap(), [0, 240]);
}

#[tokio::test(start_paused = true)]
async fn a_frontend_is_looked_for_again_after_ten_minutes() {
    let (links, asked) = links(true);
    let seen = needing_a_frontend(links, 1300).await;
    assert_eq!(seen.last().map(|(_, found)| *found), Some(Some(true)));
    assert_eq!(*asked.lock().unwrap(), [0, 600, 1200]);
}
