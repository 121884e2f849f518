//! `capstan suspend`, `resume` and `sync`: the commands reach the daemon through its cluster.

use std::process::Command;

use capstan::model::CheckState;
use serde_json::json;

use super::fixture::{FREE, Fixture, once, prove};

/// What a command prints, on both streams.
fn printed(fixture: &Fixture, command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args([command, "--name", "config", "--kubeconfig"])
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_NAMESPACE", &fixture.namespace)
        .output()
        .expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn a_fleet_is_suspended_and_resumed_by_the_commands() {
    prove("suspended", |fixture| {
        let asked = |command: &str| printed(fixture, command);
        let mut daemon = fixture.daemon(&fixture.kubeconfig, FREE);
        daemon.succeeds();
        once(
            &asked("suspend"),
            "fleet config: suspended. Nothing is applied",
        );
        once(&asked("suspend"), "it has been suspended since 20");
        daemon.push(&format!("{FREE}{}", FREE.replace("free", "more")));
        daemon.until(
            CheckState::Pending,
            &["`capstan resume --name config` continues"],
        );
        once(
            &asked("sync"),
            "nothing is applied, since the fleet is suspended",
        );
        let status = printed(fixture, "status");
        assert!(status.contains("  suspended since 20"), "{status}");
        let waits = " waits: the fleet is suspended; `capstan resume --name config` continues\n";
        fixture.until("the newest commit is shown", || {
            printed(fixture, "status").contains(waits)
        });
        // Nothing is repaired either.
        let free = fixture.path("configmaps/free");
        fixture.must("PATCH", &free, &json!({"data": {"k": "theirs"}}));
        assert!(!fixture.has(&fixture.path("configmaps/more")));
        once(
            &asked("resume"),
            "fleet config: resumed; it was suspended since 20",
        );
        daemon.succeeds();
        assert!(fixture.has(&fixture.path("configmaps/more")));
        let put_right = || fixture.must("GET", &free, &json!({}))["data"]["k"] == "v";
        fixture.until("it is put right", put_right);
        once(&asked("resume"), "fleet config: it is not suspended");
        once(&asked("sync"), "looks for commits now, and retries");
    });
}
