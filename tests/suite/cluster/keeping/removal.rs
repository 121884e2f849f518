//! What becomes of what a revision no longer has.

use capstan::apply::{PruneStatus, State};
use serde_json::json;

use super::fixture::{Fixture, Revision, annotated, map, prove, revision, theirs};

#[test]
fn what_left_is_deleted_and_what_is_to_stay_stays() {
    prove("what_left", &async |fixture: &Fixture| {
        let orphan = annotated("b", "v", "{capstan.dev/deletion-policy: Orphan}");
        let first = format!("{}{orphan}{}", map("a", "v"), map("c", "v"));
        drop(fixture.keep(&first, &revision("1")).await);
        assert_eq!(fixture.parent("one").await.applied, "1");
        let kept = fixture.keep(&map("c", "v"), &revision("2")).await;
        assert_eq!(fixture.config_maps().await, ["b", "c"]);
        let ns = fixture.namespace.as_str();
        assert_eq!(kept.left("ConfigMap", ns, "a"), Some(&PruneStatus::Gone));
        assert_eq!(
            kept.left("ConfigMap", ns, "b"),
            Some(&PruneStatus::Released)
        );
        let live = fixture.config_map("b").await.expect("it stays");
        assert_eq!(live["data"]["k"], "v");
        let id = fixture.set("one").id();
        assert_eq!(
            live["metadata"]["annotations"]["capstan.dev/orphaned-from"],
            id.as_str()
        );
        assert!(
            live["metadata"]["labels"]
                .get("applyset.kubernetes.io/part-of")
                .is_none()
        );
        let parent = fixture.parent("one").await;
        assert_eq!((parent.applied.as_str(), parent.ready.as_str()), ("2", "2"));
    });
}

#[test]
fn what_was_released_is_taken_back_and_is_what_it_was() {
    prove("taken_back", &async |fixture: &Fixture| {
        let orphan = annotated("b", "v", "{capstan.dev/deletion-policy: Orphan}");
        let both = format!("{orphan}{}", map("c", "v"));
        drop(fixture.keep(&both, &revision("1")).await);
        let before = fixture.config_map("b").await.expect("it is there");
        drop(fixture.keep(&map("c", "v"), &revision("2")).await);
        drop(fixture.keep(&both, &revision("3")).await);
        let after = fixture.config_map("b").await.expect("it is there");
        assert_eq!(
            before["metadata"]["uid"], after["metadata"]["uid"],
            "nothing was made anew"
        );
        assert_eq!(before["metadata"]["labels"], after["metadata"]["labels"]);
        assert_eq!(
            before["metadata"]["annotations"],
            after["metadata"]["annotations"]
        );
    });
}

/// What appliers set goes away, as with `adopt`; what another manager changed is reported.
#[test]
fn what_others_changed_meanwhile_is_a_conflict_when_it_is_taken_back() {
    prove("taken_back_changed", &async |fixture: &Fixture| {
        let orphan = annotated("b", "v", "{capstan.dev/deletion-policy: Orphan}");
        let both = format!("{orphan}{}", map("c", "v"));
        drop(fixture.keep(&both, &revision("1")).await);
        drop(fixture.keep(&map("c", "v"), &revision("2")).await);
        let changed = theirs("b", &json!({"k": "theirs", "more": "theirs"}));
        fixture.change_as("some-controller", &changed).await;
        let mut kept = fixture.begin(&both, &revision("3"));
        let progress = kept.until("b", State::Failed).await;
        assert!(
            progress.message.contains("some-controller") && progress.message.contains(".data.k"),
            "{}",
            progress.message
        );
        drop(kept);
        let live = fixture.config_map("b").await.expect("it is there");
        assert_eq!(live["data"]["more"], "theirs");
    });
}

#[test]
fn a_fleet_without_objects_removes_nothing() {
    prove("no_objects", &async |fixture: &Fixture| {
        drop(fixture.keep(&map("a", "v"), &revision("1")).await);
        let kept = fixture.keep("# objects\n", &revision("2")).await;
        assert_eq!(fixture.config_maps().await, ["a"]);
        let status = kept
            .left("ConfigMap", &fixture.namespace, "a")
            .expect("it is reported");
        assert!(
            status.to_string().contains("probably a mistake"),
            "{status}"
        );
    });
}

#[test]
fn the_same_revision_removes_nothing_that_it_kept_before() {
    prove("the_same_revision", &async |fixture: &Fixture| {
        drop(
            fixture
                .keep(&(map("a", "v") + &map("b", "v")), &revision("1"))
                .await,
        );
        // As another binary might read it.
        let kept = fixture.keep(&map("a", "v"), &revision("1")).await;
        assert_eq!(fixture.config_maps().await, ["a", "b"]);
        let status = kept
            .left("ConfigMap", &fixture.namespace, "b")
            .expect("it is reported");
        assert!(
            status.to_string().contains("the revision is unchanged"),
            "{status}"
        );
        drop(kept);
        drop(fixture.keep(&map("a", "v"), &revision("2")).await);
        assert_eq!(fixture.config_maps().await, ["a"]);
    });
}

#[test]
fn what_others_need_goes_after_them() {
    prove("what_others_need", &async |fixture: &Fixture| {
        let user = "{config.kubernetes.io/depends-on: /namespaces/NS/ConfigMap/used}";
        let all = format!(
            "{}{}{}",
            map("used", "v"),
            annotated("user", "v", user),
            map("c", "v")
        );
        drop(fixture.keep(&all, &revision("1")).await);
        let _ = fixture.writes();
        drop(fixture.keep(&map("c", "v"), &revision("2")).await);
        let gone = fixture
            .writes()
            .into_iter()
            .filter(|(method, _)| method == "DELETE");
        let gone: Vec<String> = gone
            .map(|(_, uri)| {
                uri.rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches('?')
                    .to_owned()
            })
            .collect();
        assert_eq!(gone, ["user", "used"]);
    });
}

#[test]
fn what_a_fleet_still_refers_to_stays() {
    prove("refers_to", &async |fixture: &Fixture| {
        let user = "{config.kubernetes.io/depends-on: /namespaces/NS/ConfigMap/used}";
        let user = annotated("user", "v", user);
        drop(
            fixture
                .keep(&(map("used", "v") + &user), &revision("1"))
                .await,
        );
        let other = Revision {
            fleet: "two",
            ..revision("1")
        };
        drop(fixture.keep(&map("other", "v"), &other).await);
        assert_eq!(
            fixture.config_maps().await,
            ["other", "used", "user"],
            "fleets do not prune each other"
        );
    });
}

#[test]
fn what_becomes_encrypted_stays_as_it_was() {
    prove("encrypted", &async |fixture: &Fixture| {
        let first = map("a", "v") + &map("b", "v");
        drop(fixture.keep(&first, &revision("1")).await);
        let cipher = map(
            "a",
            "'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'",
        );
        let kept = fixture
            .keep(&(cipher + &map("b", "v")), &revision("2"))
            .await;
        let left = kept.left("ConfigMap", fixture.namespace.as_str(), "a");
        assert!(matches!(left, Some(PruneStatus::Held(_))), "{left:?}");
        let live = fixture.config_map("a").await.expect("it stays");
        assert_eq!(live["data"]["k"], "v");
    });
}
