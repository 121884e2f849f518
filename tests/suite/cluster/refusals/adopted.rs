//! A fleet under another name: `adopt` moves what it has, nothing is made anew, and whoever is refused is told of it.

use capstan::model::CheckState;
use serde_json::Value as Json;

use super::fixture::{FREE, Fixture, prove};

/// The uid of the ConfigMap of all fleets here.
fn uid(fixture: &Fixture) -> Json {
    let live = fixture.must("GET", &fixture.path("configmaps/free"), &Json::Null);
    live["metadata"]["uid"].clone()
}

fn apply(fixture: &Fixture, name: &str, code: i32) -> String {
    apply_text(fixture, name, FREE, code)
}

fn apply_text(fixture: &Fixture, name: &str, text: &str, code: i32) -> String {
    let fleet = fixture.dir.path().join("fleet");
    std::fs::create_dir_all(&fleet).expect("created");
    let text = text.replace("NS", &fixture.namespace);
    std::fs::write(fleet.join("a.yaml"), text).expect("written");
    let fleet = fleet.display().to_string();
    let (found, text) = fixture.asked(&["apply", &fleet, "--name", name]);
    assert_eq!(found, Some(code), "{text}");
    text
}

fn says(fixture: &Fixture, arguments: &[&str], code: i32, parts: &[&str]) {
    let (found, text) = fixture.asked(arguments);
    assert_eq!(found, Some(code), "{arguments:?}: {text}");
    for part in parts {
        assert!(
            text.contains(part),
            "{arguments:?}: {part:?} is not in {text}"
        );
    }
}

#[test]
fn a_fleet_is_renamed_by_hand_and_then_handed_to_a_daemon() {
    prove("adopted", |fixture| {
        apply(fixture, "old", 0);
        let (before, namespace) = (uid(fixture), &fixture.namespace);
        let line = format!("capstan adopt --from {namespace}/old --to FLEET");
        let text = apply(fixture, "new", 1);
        assert!(text.contains(&line), "{text}");

        let rename = ["adopt", "--from", "old", "--to", "new"];
        let object = format!("ConfigMap/{namespace}/free");
        let planned = [
            format!("would move {object}\n"),
            "names no Lease".to_owned(),
        ];
        let planned = planned.each_ref().map(String::as_str);
        says(
            fixture,
            &[&rename[..], &["--dry-run"]].concat(),
            0,
            &planned,
        );
        apply(fixture, "old", 0);
        says(
            fixture,
            &rename,
            0,
            &[&format!("moved {object}\n"), "is gone"],
        );
        says(fixture, &rename, 0, &["nothing is left to move"]);
        says(fixture, &["status", "--name", "old"], 2, &[]);
        apply(fixture, "new", 0);
        says(fixture, &["status", "--name", "new"], 0, &["1 of 1 ready"]);
        assert_eq!(uid(fixture), before);

        let daemon = fixture.daemon(&fixture.kubeconfig, FREE);
        let line = format!("capstan adopt --from {namespace}/new --to FLEET");
        daemon.until(CheckState::Failure, &[&line]);
        let hand_over = ["adopt", "--from", "new", "--to", "config"];
        says(fixture, &hand_over, 0, &["moved 1 object"]);
        says(fixture, &["sync", "--name", "config"], 0, &[]);
        daemon.succeeds();
        let back = ["adopt", "--from", "config", "--to", "new"];
        says(fixture, &back, 2, &["is served by", "stop that daemon"]);

        // What a revision lacks would be removed.
        let other = FREE.replace("name: free", "name: other");
        apply_text(fixture, "other", &other, 0);
        let merge = ["adopt", "--from", "other", "--to", "config"];
        let lacks = [&*format!("lacks ConfigMap/{namespace}/other"), "suspend"];
        says(fixture, &merge, 2, &lacks);
        says(fixture, &["suspend", "--name", "config"], 0, &[]);
        says(fixture, &merge, 0, &["moved 1 object"]);
        assert!(fixture.has(&fixture.path("configmaps/other")));
        assert_eq!(uid(fixture), before);
    });
}

#[test]
fn names_of_fleets_are_checked() {
    prove("adopted-names", |fixture| {
        for (from, to, part) in [
            ("a", "a", "are the same fleet"),
            ("A", "b", "--from: A: not a fleet"),
            ("a", "b/c/d", "--to: b/c/d: not a fleet"),
            ("a", "b", "there is neither a fleet"),
        ] {
            says(fixture, &["adopt", "--from", from, "--to", to], 2, &[part]);
        }
    });
}
