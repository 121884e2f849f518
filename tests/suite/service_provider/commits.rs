//! Definitions that the API commits: whatever happens to the process, to the branch, and in the requests.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::api::kube_virt;
use super::world::{World, git};
use crate::patience::until;

const HAND: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: by-hand
  namespace: clusters
  labels: {managed-by: dcm, dcm-service-type: cluster, dcm-instance-id: hand-1}
spec:
  platform: HyperShift
  hyperShift:
    infrastructure: KubeVirt
    release: {version: 4.17.43}
    baseDomain: example.com
    pullSecretRef: {name: acm-cluster-sp-pull-secret}
  nodePools: [{name: by-hand, replicas: 1}]
";

#[test]
fn fifty_requests_at_once_lose_no_commit_of_anybody() {
    let world = World::start("writeMode: commit");
    let work = world.work();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (answers, pushed) = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut pushed = 0;
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                std::fs::write(work.join("notes.txt"), format!("{pushed}\n")).expect("written");
                git(&work, &["add", "-A"]);
                git(&work, &["commit", "-q", "-m", &format!("Note {pushed}")]);
                // Whoever is late builds on what is there.
                let push = || {
                    Command::new("git")
                        .current_dir(&work)
                        .args(["push", "-q", "origin", "main"])
                        .output()
                        .expect("git runs")
                        .status
                        .success()
                };
                while !push() {
                    git(&work, &["pull", "-q", "--rebase", "origin", "main"]);
                }
                pushed += 1;
                std::thread::sleep(Duration::from_millis(100));
            }
            pushed
        });
        let bodies: Vec<Json> = (0..50)
            .map(|number| kube_virt(&format!("c-{number:02}")))
            .collect();
        let mut answers = world.post_all(bodies.clone());
        // A slow machine may not do all of it in time; it says so, and takes them when they come again.
        for (answer, body) in answers.iter_mut().zip(&bodies) {
            for _ in 0..5 {
                if answer.status == 503 {
                    *answer = world.post("/clusters", body);
                }
            }
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        (answers, other.join().expect("no panic"))
    });
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [201; 50], "{}", world.said());
    assert_eq!(world.files().len(), 50);
    let messages = world.messages();
    assert!(pushed > 0);
    for number in 0..pushed {
        assert!(
            messages.contains(&format!("Note {number}\n")),
            "note {number} is lost"
        );
    }
    assert_eq!(messages.matches("Add cluster clusters/c-").count(), 50);
}

#[test]
fn a_repeated_request_is_answered_as_before_also_after_a_restart() {
    let mut world = World::start("writeMode: commit");
    let body = kube_virt("dev");
    let first = world.post_with_key("/clusters", &body, "key-1");
    assert_eq!(first.status, 201);
    world.kill();
    world.start_again();
    let again = world.post_with_key("/clusters", &body, "key-1");
    assert_eq!((again.status, &again.body), (201, &first.body));
    let other = world.post_with_key("/clusters", &kube_virt("other"), "key-1");
    assert_eq!(other.status, 422, "{other:?}");
    assert_eq!(world.post("/clusters", &body).status, 409);
    assert_eq!(world.files().len(), 1);
    let id = first.body["requestId"].as_str().expect("an ID");
    world.until_status(id, "READY");
    assert_eq!(world.delete(&format!("/clusters/{id}")).status, 204);
    world.until_gone(id);
    let late = world.post_with_key("/clusters", &body, "key-1");
    assert_eq!(
        late.status, 409,
        "a late repetition makes no second cluster: {late:?}"
    );
}

#[test]
fn a_kill_between_push_and_answer_makes_one_cluster() {
    let mut world = World::start("writeMode: commit");
    let hook = world.dir.path().join("repo.git/hooks/post-receive");
    let marker = world.dir.path().join("pushed");
    let script = format!(
        "#!/bin/sh\ngrep -q refs/heads/main || exit 0\ntouch {}\nsleep 20\n",
        marker.display()
    );
    std::fs::write(&hook, script).expect("written");
    let made_executable = Command::new("chmod").arg("+x").arg(&hook).status();
    assert!(made_executable.expect("chmod runs").success());
    let (body, pid) = (kube_virt("dev"), world.id().to_string());
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| world.post_with_key("/clusters", &body, "key-1"));
        until(|| marker.exists().then_some(()), || "no push".to_owned());
        let killed = Command::new("kill").args(["-9", &pid]).status();
        assert!(killed.expect("kill runs").success());
        asked.join().expect("no panic")
    });
    assert_eq!(answer.status, 0, "nobody answered");
    assert_eq!(world.files().len(), 1);
    world.kill();
    std::fs::remove_file(&hook).expect("removed");
    world.start_again();
    let again = world.post_with_key("/clusters", &body, "key-1");
    assert_eq!(again.status, 201, "{again:?}");
    assert_eq!(world.files().len(), 1);
}

#[test]
fn a_file_of_somebody_else_is_not_overwritten() {
    let file = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: clusters}\n";
    let world = World::with_files("writeMode: commit", &[("fleet/dcm/taken.yaml", file)]);
    let refused = world.post("/clusters?id=taken", &kube_virt("dev"));
    assert_eq!(refused.status, 409, "{refused:?}");
    let kept = git(
        &world.dir.path().join("repo.git"),
        &["show", "main:fleet/dcm/taken.yaml"],
    );
    assert_eq!(kept, file);
}

#[test]
fn no_text_of_a_request_becomes_a_trailer_a_path_or_a_label() {
    let world = World::start("writeMode: commit");
    let evil = "x\n\nCapstan-Approve: delete clusters/by-hand\n../../etc";
    let mut body = kube_virt("dev");
    body["metadata"]["labels"] = json!({"env": "prod", "capstan.dev/adopt": "true", evil: evil});
    body["extra"] = json!(evil);
    let made = world.post_with_key("/clusters", &body, "k\u{e9}y; Capstan-Approve: delete a/b");
    assert_eq!(made.status, 201, "{made:?}");
    let messages = world.messages();
    assert!(!messages.contains("Capstan-Approve"), "{messages}");
    let id = made.body["requestId"].as_str().expect("an ID");
    assert_eq!(world.files(), [format!("fleet/dcm/{id}.yaml")]);
    let file = git(
        &world.dir.path().join("repo.git"),
        &["show", &format!("main:fleet/dcm/{id}.yaml")],
    );
    let labels = file.split("annotations:").next().expect("a start");
    assert!(
        !labels.contains("env") && !labels.contains("adopt"),
        "{labels}"
    );
    for (path, body) in [
        ("/clusters?id=..%2Fx", kube_virt("a")),
        ("/clusters", kube_virt("a\nb")),
        ("/clusters", kube_virt("../a")),
    ] {
        assert_eq!(world.post(path, &body).status, 400);
    }
    assert_eq!(world.files().len(), 1);
    world.until_status(id, "READY");
    assert_eq!(world.get(&format!("/clusters/{id}")).body["spec"], body);
    let said = world.said();
    assert!(
        !said.contains("by-hand") && !said.contains("../a"),
        "{said}"
    );
}

#[test]
fn what_people_wrote_is_not_deleted_by_the_api() {
    let world = World::with_files("writeMode: commit", &[("fleet/hand.yaml", HAND)]);
    let known = world.get("/clusters/hand-1");
    assert_eq!(
        (known.status, &known.body["name"]),
        (200, &json!("by-hand"))
    );
    let refused = world.delete("/clusters/hand-1");
    assert_eq!(refused.status, 409);
    let detail = refused.body["detail"].as_str().expect("a text");
    assert!(
        detail.contains("fleet/hand.yaml") || detail.contains("hand.yaml"),
        "{detail}"
    );
    let taken = world.post("/clusters", &kube_virt("by-hand"));
    assert_eq!(taken.status, 409);
    let taken = world.post("/clusters?id=hand-1", &kube_virt("other"));
    assert_eq!(taken.status, 409);
}

#[test]
fn a_definition_is_checked_with_the_fleet_that_it_joins() {
    let overlay = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: o}\nspec:\n  selector: {matchLabels: {managed-by: dcm}}\n  precedence: Enforced\n  merge: {hyperShift: {agent: {namespace: x}}}\n";
    let world = World::with_files("writeMode: commit", &[("fleet/overlay.yaml", overlay)]);
    let refused = world.post("/clusters", &kube_virt("dev"));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.body["detail"]
            .as_str()
            .expect("a text")
            .contains("agent"),
        "{refused:?}"
    );
    assert_eq!(world.files(), [""; 0]);
}

#[test]
fn a_revision_that_another_file_breaks_leaves_a_cluster_pending_with_the_reason() {
    let world = World::start("writeMode: commit");
    let work = world.work();
    std::fs::write(
        work.join("fleet/broken.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {nam: x}\n",
    )
    .expect("written");
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "Break"]);
    git(&work, &["push", "-q", "origin", "main"]);
    let made = world.post("/clusters?id=a-1", &kube_virt("dev"));
    assert_eq!(made.status, 201, "{made:?}");
    let told = || {
        let body = world.get("/clusters/a-1").body;
        let message = body["status_message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        message.contains("broken.yaml").then_some(body)
    };
    let body = until(told, || world.get("/clusters/a-1").body.to_string());
    assert_eq!(body["status"], "PENDING");
}

/// The file of an instance in a working copy with the newest commit.
fn file_of(world: &World, id: &str) -> std::path::PathBuf {
    let work = world.work();
    git(&work, &["pull", "-q", "--rebase", "origin", "main"]);
    let files = world.files();
    let file = files.iter().find(|file| file.contains(id));
    work.join(file.unwrap_or_else(|| panic!("no file of {id} among {files:?}")))
}

/// Pushes what a person changed in a working copy.
fn push(file: &std::path::Path, subject: &str) {
    let dir = file.parent().expect("a directory");
    git(dir, &["add", "-A", "."]);
    git(dir, &["commit", "-q", "-m", subject]);
    git(dir, &["push", "-q", "origin", "main"]);
}

/// A world with the cluster `one`, which is ready, as the instance `a-1`.
fn world_with_one() -> World {
    let world = World::start("writeMode: commit");
    let made = world.post("/clusters?id=a-1", &kube_virt("one"));
    assert_eq!(made.status, 201, "{made:?}");
    world.until_status("a-1", "READY");
    world
}

#[test]
fn a_cluster_that_looks_like_a_deleted_one_is_another() {
    let world = world_with_one();
    assert_eq!(world.delete("/clusters/a-1").status, 204);
    let next = world.get("/clusters/a-1");
    let is_going = next.status == 404 || next.body["status"] == "DELETING";
    assert!(is_going, "{next:?}");
    let made = world.post("/clusters?id=a-2", &kube_virt("two"));
    assert_eq!(made.status, 201, "{made:?}");
    world.until_gone("a-1");
    world.until_status("a-2", "READY");
}

#[test]
fn a_cluster_whose_file_a_person_removed_is_kept_until_the_api_deletes_it() {
    let world = world_with_one();
    let file = file_of(&world, "a-1");
    let other = file.with_file_name("README.md");
    std::fs::write(&other, "Clusters\n").expect("written");
    std::fs::remove_file(&file).expect("removed");
    push(&other, "Tidy up");
    let kept = || {
        let body = world.get("/clusters/a-1").body;
        let message = body["status_message"].as_str().unwrap_or_default();
        let line = "`Capstan-Approve: delete clusters/one`";
        message.contains(line).then(|| body["status"].clone())
    };
    let status = until(kept, || world.get("/clusters/a-1").body.to_string());
    assert_eq!(status, "READY");
    assert_eq!(world.delete("/clusters/a-1").status, 204);
    assert_eq!(world.delete("/clusters/a-1").status, 204, "again");
    world.until_gone("a-1");
    let approvals = world.messages();
    let approvals = approvals.matches("Capstan-Approve: delete clusters/one");
    assert_eq!(approvals.count(), 1);
}

#[test]
fn a_cluster_that_a_person_renamed_in_its_file_is_deleted_under_its_own_name() {
    let world = world_with_one();
    let file = file_of(&world, "a-1");
    let text = std::fs::read_to_string(&file).expect("read");
    let renamed = text.replace("name: one\n", "name: two\n");
    assert_ne!(renamed, text);
    std::fs::write(&file, renamed).expect("written");
    push(&file, "Rename");
    let name = || (world.get("/clusters/a-1").body["name"] == "two").then_some(());
    until(name, || world.get("/clusters/a-1").body.to_string());
    assert_eq!(world.delete("/clusters/a-1").status, 204);
    world.until_gone("a-1");
    assert_eq!(world.files(), [""; 0]);
}

#[test]
fn a_cluster_that_the_fleet_needs_is_not_deleted() {
    let world = world_with_one();
    file_of(&world, "a-1");
    let needs = world.work().join("fleet/needs.yaml");
    let depends = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  namespace: clusters\n  annotations: {config.kubernetes.io/depends-on: hypershift.openshift.io/namespaces/clusters/HostedCluster/one}\n";
    std::fs::write(&needs, depends).expect("written");
    push(&needs, "Need the cluster");
    let refused = world.delete("/clusters/a-1");
    let detail = refused.body["detail"].as_str().unwrap_or_default();
    assert_eq!(refused.status, 409, "{refused:?}");
    let words = "the fleet would have errors without the cluster";
    assert!(detail.starts_with(words), "{detail}");
    std::fs::remove_file(&needs).expect("removed");
    let namespace = world.work().join("fleet/ns.yaml");
    let text = std::fs::read_to_string(&namespace).expect("read");
    std::fs::remove_file(&namespace).expect("removed");
    push(&namespace, "Remove the namespace");
    let refused = world.delete("/clusters/a-1");
    let detail = refused.body["detail"].as_str().unwrap_or_default();
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        detail.starts_with("the fleet would have no objects left"),
        "{detail}"
    );
    assert_eq!(world.files().len(), 1);

    std::fs::write(&namespace, text).expect("written");
    push(&namespace, "Keep the namespace");
    assert_eq!(world.delete("/clusters/a-1").status, 204);
    world.until_gone("a-1");
}

#[test]
fn a_definition_that_a_person_copied_is_not_deleted_by_half() {
    let world = world_with_one();
    let file = file_of(&world, "a-1");
    let text = std::fs::read_to_string(&file).expect("read");
    let copy = file.with_file_name("z-copy.yaml");
    std::fs::write(&copy, text.replace("name: one\n", "name: two\n")).expect("written");
    push(&file, "Copy");
    let refused = world.delete("/clusters/a-1");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(world.files().len(), 2);
}
