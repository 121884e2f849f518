//! What becomes of what a revision no longer has.

use capstan::apply::PruneStatus;

use super::stage::{Revision, Stage, annotated, map, prove, revision};

#[test]
fn what_left_is_deleted_and_what_is_to_stay_stays() {
    prove("what_left", &async |stage: &Stage| {
        let orphan = annotated("b", "v", "{capstan.dev/deletion-policy: Orphan}");
        let first = format!("{}{orphan}{}", map("a", "v"), map("c", "v"));
        drop(stage.keep(&first, &revision("1")).await);
        assert_eq!(stage.parent("one").await.applied, "1");
        let kept = stage.keep(&map("c", "v"), &revision("2")).await;
        assert_eq!(stage.config_maps().await, ["b", "c"]);
        let ns = stage.namespace.as_str();
        assert_eq!(kept.left("ConfigMap", ns, "a"), Some(&PruneStatus::Gone));
        assert_eq!(
            kept.left("ConfigMap", ns, "b"),
            Some(&PruneStatus::Released)
        );
        let live = stage.config_map("b").await.expect("it stays");
        assert_eq!(live["data"]["k"], "v");
        let id = stage.set("one").id();
        assert_eq!(
            live["metadata"]["annotations"]["capstan.dev/orphaned-from"],
            id.as_str()
        );
        assert!(
            live["metadata"]["labels"]
                .get("applyset.kubernetes.io/part-of")
                .is_none()
        );
        let said = stage.parent("one").await;
        assert_eq!((said.applied.as_str(), said.ready.as_str()), ("2", "2"));
    });
}

#[test]
fn what_was_released_is_taken_back_and_is_what_it_was() {
    prove("taken_back", &async |stage: &Stage| {
        let orphan = annotated("b", "v", "{capstan.dev/deletion-policy: Orphan}");
        let both = format!("{orphan}{}", map("c", "v"));
        drop(stage.keep(&both, &revision("1")).await);
        let before = stage.config_map("b").await.expect("it is there");
        drop(stage.keep(&map("c", "v"), &revision("2")).await);
        drop(stage.keep(&both, &revision("3")).await);
        let after = stage.config_map("b").await.expect("it is there");
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

#[test]
fn a_fleet_without_objects_removes_nothing() {
    prove("no_objects", &async |stage: &Stage| {
        drop(stage.keep(&map("a", "v"), &revision("1")).await);
        let kept = stage.keep("", &revision("2")).await;
        assert_eq!(stage.config_maps().await, ["a"]);
        let told = kept
            .left("ConfigMap", &stage.namespace, "a")
            .expect("it is told");
        assert!(told.to_string().contains("no objects at all"), "{told}");
    });
}

#[test]
fn the_same_revision_removes_nothing_that_it_kept_before() {
    prove("the_same_revision", &async |stage: &Stage| {
        drop(
            stage
                .keep(&(map("a", "v") + &map("b", "v")), &revision("1"))
                .await,
        );
        // As another binary might read it.
        let kept = stage.keep(&map("a", "v"), &revision("1")).await;
        assert_eq!(stage.config_maps().await, ["a", "b"]);
        let told = kept
            .left("ConfigMap", &stage.namespace, "b")
            .expect("it is told");
        assert!(
            told.to_string().contains("the revision did not change"),
            "{told}"
        );
        drop(kept);
        drop(stage.keep(&map("a", "v"), &revision("2")).await);
        assert_eq!(stage.config_maps().await, ["a"]);
    });
}

#[test]
fn what_others_need_goes_after_them() {
    prove("what_others_need", &async |stage: &Stage| {
        let user = "{config.kubernetes.io/depends-on: /namespaces/NS/ConfigMap/used}";
        let all = format!(
            "{}{}{}",
            map("used", "v"),
            annotated("user", "v", user),
            map("c", "v")
        );
        drop(stage.keep(&all, &revision("1")).await);
        let _ = stage.writes();
        drop(stage.keep(&map("c", "v"), &revision("2")).await);
        let gone = stage
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
    prove("refers_to", &async |stage: &Stage| {
        let user = "{config.kubernetes.io/depends-on: /namespaces/NS/ConfigMap/used}";
        let user = annotated("user", "v", user);
        drop(
            stage
                .keep(&(map("used", "v") + &user), &revision("1"))
                .await,
        );
        let other = Revision {
            fleet: "two",
            ..revision("1")
        };
        drop(stage.keep(&map("other", "v"), &other).await);
        assert_eq!(
            stage.config_maps().await,
            ["other", "used", "user"],
            "fleets do not prune each other"
        );
    });
}

#[test]
fn what_becomes_encrypted_stays_as_it_was() {
    prove("encrypted", &async |stage: &Stage| {
        let first = map("a", "v") + &map("b", "v");
        drop(stage.keep(&first, &revision("1")).await);
        let cipher = map(
            "a",
            "'ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ=,type:str]'",
        );
        let kept = stage.keep(&(cipher + &map("b", "v")), &revision("2")).await;
        let left = kept.left("ConfigMap", stage.namespace.as_str(), "a");
        assert!(matches!(left, Some(PruneStatus::Held(_))), "{left:?}");
        let live = stage.config_map("a").await.expect("it stays");
        assert_eq!(live["data"]["k"], "v");
    });
}
