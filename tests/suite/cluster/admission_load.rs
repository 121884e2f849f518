//! The admission webhook while somebody sends it as much as an API server lets through: others are answered in time, each
//! request is answered, and the process stays within the memory that its manifests give it.

use std::time::{Duration, Instant};

use capstan::adapters::azure_sim::Options;
use serde_json::{Value as Json, json};

use super::admission::{CLOSED, Guarded};
use super::pipeline::Management;
use crate::patience::until;

/// How many requests come at once, and how large each is.
const AT_ONCE: usize = 32;
const BYTES: usize = 2_400_000;
/// The memory limit of the manifests.
const LIMIT: u64 = 256 << 20;

/// The review of a new AROCluster with these resources.
fn review(namespace: &str, resources: &[Json]) -> String {
    let object = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROCluster",
        "metadata": {"name": "c", "namespace": namespace}, "spec": {"resources": resources}});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "infrastructure.cluster.x-k8s.io", "version": "v1beta2", "kind": "AROCluster"},
        "name": "c", "namespace": namespace, "operation": "CREATE", "object": object, "oldObject": null}})
    .to_string()
}

/// So many resources, each with a mistake that is reported, of [`BYTES`] in all.
fn large(count: usize) -> String {
    let vault = |at: usize, text: &str| {
        json!({"apiVersion": "keyvault.azure.com/v1api20230701", "kind": "Vault",
            "metadata": {"name": format!("v{at}")}, "spec": {"locatoin": "uksouth", "t": text}})
    };
    let bytes = vault(count, "").to_string().len() + 1;
    let text = "x".repeat((BYTES / count).saturating_sub(bytes));
    let resources: Vec<Json> = (0..count).map(|at| vault(at, &text)).collect();
    review("loud", &resources)
}

fn small() -> String {
    let resource = json!({"apiVersion": "a.azure.com/v1", "kind": "A", "metadata": {"name": "a"}});
    review("quiet", &[resource])
}

/// The address of the webhook, and a client that trusts it.
struct Caller {
    client: reqwest::Client,
    url: String,
}

impl Caller {
    fn of(guarded: &Guarded<'_>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (url, bundle) = guarded.served();
        let authorities = reqwest::Certificate::from_pem_bundle(&bundle).expect("certificates");
        let client = reqwest::Client::builder().tls_certs_only(authorities);
        Self {
            client: client.no_proxy().build().expect("a client"),
            url,
        }
    }

    /// The answer to a review. The API server applies its failurePolicy to one in plain text, and to none: a body that is
    /// refused unread may end the connection before the answer is read.
    async fn send(&self, body: String) -> Json {
        let sent = self.client.post(&self.url).body(body).send().await;
        let text = match sent {
            Ok(answer) => answer.text().await.expect("a body"),
            Err(error) => format!("the connection ended: {error:?}"),
        };
        serde_json::from_str(&text)
            .unwrap_or_else(|_| json!({"response": {"status": {"message": text}}}))
    }

    /// Sends the large request many times at once, and small ones of another namespace beside.
    async fn crowd(&self, large: &str) -> (Vec<Json>, Vec<(Duration, Json)>) {
        let crowd = futures::future::join_all((0..AT_ONCE).map(|_| self.send(large.to_owned())));
        let others = async {
            let mut answers = Vec::new();
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let begun = Instant::now();
                let answer = self.send(small()).await;
                answers.push((begun.elapsed(), answer));
            }
            answers
        };
        futures::future::join(crowd, others).await
    }
}

/// The most memory that a process has had; none where nothing tells.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

fn message(answer: &Json) -> &str {
    let message = answer["response"]["status"]["message"].as_str();
    message.unwrap_or_default()
}

/// A request that the process has no room or no time for. It says so, and may be sent again.
fn is_for_now(said: &str) -> bool {
    let words = [
        "too many requests of namespace \"loud\" at once; try again",
        "there are too many requests at once",
        "there was no answer in time",
        "the body took too long",
        "the connection ended",
    ];
    words.iter().any(|words| said.contains(words))
}

#[test]
fn large_requests_of_one_namespace_keep_nobody_else_waiting() {
    let cluster = Management::simulated(600, Options::default());
    let guarded = Guarded::over(&cluster);
    guarded.install();
    let running = guarded.serve(CLOSED);
    let caller = Caller::of(&guarded);
    let attacks = [
        (15_000, "spec.resources has 15000 resources"),
        (500, "errors:"),
    ];
    for (count, expected) in attacks {
        let large = large(count);
        let (crowd, others) = cluster.runtime.block_on(caller.crowd(&large));
        let is_judged = |answer: &Json| message(answer).contains(expected);
        let judged = crowd.iter().filter(|answer| is_judged(answer)).count();
        let put_off = crowd.iter().filter(|answer| is_for_now(message(answer)));
        assert_eq!(judged + put_off.count(), AT_ONCE, "{count}: {crowd:?}");
        // How many of a crowd are judged in time depends on the machine, and so does when it is done with the others.
        let alone = || cluster.runtime.block_on(caller.send(large.clone()));
        until(
            || is_judged(&alone()).then_some(()),
            || format!("{count}: nothing is judged"),
        );
        // Whoever would have waited for too long is refused.
        for (_, answer) in &others {
            assert_eq!(answer["response"]["allowed"], true, "{count}: {answer}");
        }
        let waited = others.iter().map(|(waited, _)| *waited).max();
        let peak = peak(running.id());
        eprintln!(
            "{count} resources: {judged} judged, others waited {waited:?}, {:?} MiB",
            peak.map(|peak| peak >> 20)
        );
        assert!(peak.is_none_or(|peak| peak < LIMIT), "{count}: {peak:?}");
    }
}
