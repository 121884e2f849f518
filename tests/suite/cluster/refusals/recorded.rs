//! A revision that cannot be applied, and a newest commit that is refused: `status` and `why` know of both.

use capstan::model::CheckState;
use serde_json::Value as Json;

use super::fixture::{FREE, Fixture, definition, prove};

const KIND: &str = "recorded.dev";

fn widget(size: i32) -> String {
    format!(
        "{FREE}---\n{{apiVersion: {KIND}/v1, kind: Widget, metadata: {{name: w, namespace: NS}}, spec: {{size: {size}}}}}\n"
    )
}

/// The version of the parent.
fn version(fixture: &Fixture) -> Json {
    let path = fixture.path("configmaps/capstan-config");
    fixture.must("GET", &path, &Json::Null)["metadata"]["resourceVersion"].clone()
}

const STATUS: [&str; 3] = ["status", "--name", "config"];
const WAIT: [&str; 4] = ["status", "--name", "config", "--wait"];

#[test]
fn what_cannot_be_applied_is_in_the_status_until_it_can() {
    prove("recorded", |fixture| {
        fixture.put(&definition(KIND, &["v1"]));
        let served = format!("/apis/{KIND}/v1");
        fixture.until("the kind is served", || fixture.has(&served));
        let mut daemon = fixture.daemon(&fixture.kubeconfig, &widget(1));
        daemon.succeeds();
        let (code, text) = fixture.asked(&WAIT);
        assert_eq!(code, Some(0), "{text}");

        daemon.push(&widget(-1));
        let object = format!("Widget/{}/w", fixture.namespace);
        let check = daemon.until(CheckState::Failure, &["not smaller than nothing"]);
        let at = format!("- clusters/one.yaml:4: {object} failed: ");
        assert!(check.summary.contains(&at), "{check:#?}");
        let whole = format!("{}\n{}", check.title, check.summary);
        let help = "correct it where it is written";
        assert_eq!(whole.matches(help).count(), 1, "said once: {check:#?}");
        assert_eq!(check.annotations[0].line, 4);
        let (code, text) = fixture.asked(&WAIT);
        assert_eq!(code, Some(1), "{text}");
        for part in [
            ", failed; last applied ",
            "1 of 2 ready; 1 failed",
            &format!("\n  failed    {object} (clusters/one.yaml)\n"),
            "waiting does not help: ",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        let (code, text) = fixture.asked(&["why", &object]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("not smaller than nothing"), "{text}");

        daemon.push("kind: [");
        daemon.until(CheckState::Failure, &["stays applied"]);
        fixture.until("the refused commit is shown", || {
            let (code, text) = fixture.asked(&STATUS);
            code == Some(1) && text.contains(" is refused: clusters/one.yaml:1:")
        });

        daemon.push(&widget(2));
        daemon.succeeds();
        let is_ready = || fixture.asked(&STATUS).0 == Some(0);
        fixture.until("nothing failed any more", is_ready);
        let (_, text) = fixture.asked(&STATUS);
        assert!(
            !text.contains("failed") && !text.contains("newest"),
            "{text}"
        );
        let before = version(fixture);
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(version(fixture), before, "the same again costs no write");
    });
}

#[test]
fn what_apply_cannot_apply_is_in_the_status() {
    prove("applied", |fixture| {
        fixture.put(&definition("applied.dev", &["v1"]));
        fixture.until("the kind is served", || fixture.has("/apis/applied.dev/v1"));
        let apply_as = |name: &str, size: i32, code: i32| {
            let text = widget(size).replace(KIND, "applied.dev");
            let text = text.replace("NS", &fixture.namespace);
            let fleet = fixture.dir.path().join("fleet");
            std::fs::create_dir_all(&fleet).expect("created");
            std::fs::write(fleet.join("a.yaml"), text).expect("written");
            let fleet = fleet.display().to_string();
            let (found, text) = fixture.asked(&["apply", &fleet, "--name", name]);
            assert_eq!(found, Some(code), "{text}");
            text
        };
        let apply = |size: i32, code: i32| apply_as("by-hand", size, code);
        let status = || fixture.asked(&["status", "--name", "by-hand"]);
        apply(1, 0);
        assert_eq!(status().0, Some(0));
        // Another fleet with the same objects.
        let text = apply_as("other", 1, 1);
        let owner = format!(
            "belongs to the fleet by-hand (ConfigMap/{}/capstan-by-hand)",
            fixture.namespace
        );
        assert!(text.contains(&owner), "{text}");
        let (_, text) = fixture.asked(&["sync", "--name", "by-hand"]);
        assert!(text.contains("it may have no daemon"), "{text}");
        fixture.asked(&["suspend", "--name", "by-hand"]);
        let text = apply(-1, 1);
        assert!(
            text.contains("the fleet has been suspended since 20"),
            "{text}"
        );
        fixture.asked(&["resume", "--name", "by-hand"]);
        let (code, text) = status();
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("not smaller than nothing"), "{text}");
        apply(1, 0);
        assert_eq!(status().0, Some(0));
    });
}

/// A fleet of which nothing was ever applied has a parent all the same.
#[test]
fn a_fleet_whose_first_commit_is_refused_has_a_status() {
    prove("first", |fixture| {
        let daemon = fixture.daemon(&fixture.kubeconfig, "kind: [");
        daemon.until(CheckState::Failure, &["no good revision is known"]);
        fixture.until("the refused commit is shown", || {
            let (code, text) = fixture.asked(&STATUS);
            code == Some(1) && text.contains(" is refused: clusters/one.yaml:1:")
        });
    });
}
