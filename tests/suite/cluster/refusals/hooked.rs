//! Webhooks of fleets that more than one process could apply: each takes them, and one acts.

use std::net::SocketAddr;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove};
use super::fleets::{command, install, map, put, wait};
use crate::daemon::World;
use crate::patience::until;
use crate::running::Running;
use crate::webhooks::{ask, metric};

/// A Secret for webhooks.
pub(super) fn secret(namespace: &str, name: &str, token: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
        "data": {"token": STANDARD.encode(token)}})
}

/// The address of the port of a daemon.
pub(super) fn address(daemon: &Running) -> SocketAddr {
    let found = || {
        let said = daemon.said();
        let (_, rest) = said.split_once("webhooks on http://")?;
        rest.split_whitespace().next()?.parse().ok()
    };
    until(found, || daemon.said())
}

/// Says that there is something new, as a job does; returns the status of the answer.
pub(super) fn deliver(address: SocketAddr, path: &str, token: &str) -> u16 {
    let head = format!("POST /webhook/generic{path}\nAuthorization: Bearer {token}");
    ask(address, &head, "").0
}

/// Starts a process that follows Fleet objects and has a port.
fn serves(fixture: &Fixture) -> Running {
    let mut command = command(fixture);
    command.args(["--serve", "127.0.0.1:0"]);
    Running::spawn(command)
}

/// The next look by themselves is an hour away.
fn rarely(world: &World) -> Json {
    json!({"url": world.source(), "interval": "1h"})
}

#[test]
fn a_webhook_of_a_fleet_object_is_taken_by_any_process_with_the_secret_of_that_fleet() {
    prove("hooked", |fixture| {
        install(fixture);
        let namespace = &fixture.namespace;
        let [one, two] = [(); 2].map(|()| World::on(None));
        let first = one.push("main", None, &map(fixture, "one"));
        two.push("main", None, &map(fixture, "two"));
        let checks = json!({"checks": {"webhookSecretRef": {"name": "none"}}});
        put(fixture, "lost", &rarely(&one), &checks);
        for (fleet, world) in [("prod", &one), ("test", &two)] {
            fixture.put(&secret(namespace, fleet, fleet));
            let checks = json!({"checks": {"webhookSecretRef": {"name": fleet}}});
            put(fixture, fleet, &rarely(world), &checks);
        }
        let leader = serves(fixture);
        wait(fixture, "prod", "Ready", "True Succeeded", "");
        wait(fixture, "test", "Ready", "True Succeeded", "");
        wait(
            fixture,
            "lost",
            "Stalled",
            "True",
            "correct spec.checks.webhookSecretRef",
        );
        let other = serves(fixture);
        other.wait("holds the Lease and applies");

        let of = |fleet: &str| format!("/{namespace}/{fleet}");
        let here = address(&other);
        let is_known = || deliver(here, &of("none"), "prod") == 401;
        fixture.until("the process knows the Fleets", is_known);
        assert_eq!(deliver(here, &of("test"), "prod"), 401);
        assert_eq!(deliver(here, "", "prod"), 404);
        let second = one.push("main", Some(&first), &map(fixture, "more"));
        assert_eq!(deliver(here, &of("prod"), "prod"), 200);
        wait(fixture, "prod", "Applied", "True", &second);
        let third = one.push("main", Some(&second), &map(fixture, "most"));
        assert_eq!(deliver(address(&leader), &of("prod"), "prod"), 200);
        wait(fixture, "prod", "Applied", "True", &third);
        for (fleet, result) in [("prod", "accepted"), ("test", "unauthorized")] {
            let name = format!(
                "capstan_webhook_deliveries_total{{namespace=\"{namespace}\",fleet=\"{fleet}\",forge=\"generic\",result=\"{result}\"}}"
            );
            assert_eq!(metric(here, &name), 1, "{fleet}");
        }
        for daemon in [leader, other] {
            let (code, said) = daemon.stop();
            assert_eq!(code, Some(0), "{said}");
        }
    });
}

#[test]
fn a_webhook_at_a_daemon_that_waits_reaches_the_one_that_applies() {
    prove("relayed", |fixture| {
        let world = World::on(None);
        let first = world.push("main", None, &map(fixture, "one"));
        let dir = fixture.dir.path();
        let (file, hook) = (dir.join("fleet.yaml"), dir.join("hook"));
        std::fs::create_dir_all(&hook).expect("made");
        std::fs::write(hook.join("token"), "s3cret").expect("written");
        let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "prod", "namespace": fixture.namespace},
            "spec": {"source": {"git": rarely(&world)}, "controllers": {"aro": "off"}, "serve": {"address": "127.0.0.1:0"}}});
        std::fs::write(&file, fleet.to_string()).expect("written");
        let start = |name: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
            command.args(["run", "--config"]).arg(&file);
            command.arg("--webhook-secret").arg(&hook);
            command.arg("--kubeconfig").arg(&fixture.kubeconfig);
            command
                .env("CAPSTAN_CACHE", dir.join(name))
                .env("HOSTNAME", name);
            Running::spawn(command)
        };
        let leader = start("leader");
        let has = |name: &str| fixture.has(&fixture.path(&format!("configmaps/{name}")));
        until(|| has("one").then_some(()), || leader.said());
        let other = start("other");
        other.wait("holds the Lease");
        world.push("main", Some(&first), &map(fixture, "two"));
        assert_eq!(deliver(address(&other), "", "wrong"), 401);
        assert_eq!(deliver(address(&other), "", "s3cret"), 200);
        until(|| has("two").then_some(()), || leader.said());
        for daemon in [leader, other] {
            let (code, said) = daemon.stop();
            assert_eq!(code, Some(0), "{said}");
        }
    });
}
