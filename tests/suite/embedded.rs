//! A daemon with a simulated cluster, as other programs of the same user see it.

use std::path::{Path, PathBuf};
use std::process::Command;

use capstan::model::CheckState;
use serde_json::Value as Json;

use crate::cli::capstan;
use crate::daemon::{DEFINITION, SYNC, World};
use crate::patience::until;

/// The exit code and stdout of a command that is not told which cluster is meant.
fn ran(cache: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = capstan(arguments)
        .env("CAPSTAN_CACHE", cache)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .expect("it runs");
    let data = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), data)
}

fn kubeconfigs(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache.join("embedded"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn status_why_and_kubectl_reach_the_cluster_of_a_daemon() {
    let mut world = World::on(None);
    let cache = world.cache();
    let revision = world.push("main", None, DEFINITION);
    world.start(3000);
    world.wait(&revision, SYNC, CheckState::Success);
    let (code, text) = ran(&cache, &["status", "--wait", "--timeout", "1m"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("55 of 55 ready"), "{text}");
    let (code, text) = ran(&cache, &["why", "Cluster/one"]);
    let ready = (Some(0), "Cluster/clusters/one is ready\n");
    assert_eq!((code, &*text), ready);
    let [kubeconfig] = kubeconfigs(&cache).try_into().expect("one kubeconfig");
    let kubectl = |arguments: &[&str]| {
        let mut kubectl = Command::new("kubectl");
        let output = kubectl.arg("--kubeconfig").arg(&kubeconfig).args(arguments);
        let output = output.env("HOME", &cache).output().ok()?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        Some(output.stdout)
    };
    match kubectl(&["get", "clusters.cluster.x-k8s.io", "-A", "-o", "json"]) {
        None => eprintln!("skipped: there is no kubectl"),
        Some(list) => {
            let list: Json = serde_json::from_slice(&list).expect("JSON");
            assert_eq!(list["items"][0]["metadata"]["name"], "one");
        }
    }
    world.stop();
    until(
        || kubeconfigs(&cache).is_empty().then_some(()),
        || "the kubeconfig is left behind".to_owned(),
    );
}

#[test]
fn suspend_acts_on_the_cluster_that_status_shows() {
    let mut world = World::on(None);
    let cache = world.cache();
    let revision = world.push("main", None, DEFINITION);
    world.start(3000);
    world.wait(&revision, SYNC, CheckState::Success);
    // What kubectl would use is not what `status` shows.
    let kube = cache.join(".kube");
    std::fs::create_dir_all(&kube).expect("created");
    let production = "apiVersion: v1\nkind: Config\ncurrent-context: production\n\
        clusters: [{name: production, cluster: {server: \"http://127.0.0.1:1\"}}]\n\
        contexts: [{name: production, context: {cluster: production}}]\n";
    std::fs::write(kube.join("config"), production).expect("written");
    let printed = |arguments: &[&str]| {
        let output = capstan(arguments)
            .env("CAPSTAN_CACHE", &cache)
            .env("HOME", &cache)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .output()
            .expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        (output.status.code(), text)
    };
    let simulated = "using the simulated cluster of a running daemon (";
    for (command, answer) in [
        ("sync", "fleet config: requested: a running daemon"),
        ("suspend", "fleet config: suspended."),
    ] {
        let (code, text) = printed(&[command]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(simulated) && text.contains(answer), "{text}");
    }
    let (code, text) = printed(&["status", "--name", "config"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("  suspended since "), "{text}");
    let (code, text) = printed(&["resume", "--name", "config"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("fleet config: resumed;"), "{text}");
    // No simulated cluster has this fleet.
    let (code, text) = printed(&["suspend", "--name", "prod"]);
    assert_eq!(code, Some(2), "{text}");
    let named = "using the cluster http://127.0.0.1:1 (context production); ";
    assert!(text.contains(named), "{text}");
    world.stop();
}

#[test]
fn the_cluster_of_a_killed_daemon_is_not_taken_for_a_running_one() {
    let mut world = World::on(None);
    let cache = world.cache();
    world.push("main", None, DEFINITION);
    world.start(3000);
    until(
        || (kubeconfigs(&cache).len() == 1).then_some(()),
        || "no kubeconfig".to_owned(),
    );
    world.kill();
    assert_eq!(kubeconfigs(&cache).len(), 1);
    let output = capstan(&["status"])
        .env("CAPSTAN_CACHE", &cache)
        .env("HOME", &cache)
        .env_remove("KUBECONFIG")
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("no cluster is configured"), "{errors}");
}
