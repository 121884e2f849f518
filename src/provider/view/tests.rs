#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::api::fleet::StatusVocabulary;
use crate::provider::instance::Stored;

fn now() -> Timestamp {
    "2026-01-29T12:00:00Z".parse().unwrap()
}

fn stored() -> Stored {
    let body = json!({
        "serviceType": "cluster", "version": "4.15", "metadata": {"name": "dev", "labels": {"a": "b"}},
        "nodes": {"controlPlane": {"count": 3}, "worker": {"count": 2}},
        "providerHints": {"acm": {"platform": "kubevirt", "baseDomain": "example.com"}},
    });
    Stored {
        id: "i-1".to_owned(),
        name: "dev".to_owned(),
        namespace: "clusters".to_owned(),
        version: Some("4.15".to_owned()),
        request: Some(Request::read(body.to_string().as_bytes()).unwrap()),
        requested_at: Some("2026-01-29T10:30:00Z".to_owned()),
        key: None,
    }
}

fn instance() -> Instance {
    Instance {
        file: Some("dcm/i-1.yaml".into()),
        ..Instance::new(stored())
    }
}

/// A cluster that is ready.
fn hosted() -> Hosted {
    let condition = |name: &str, status: &str, at: &str| json!({"type": name, "status": status, "reason": "x", "lastTransitionTime": at});
    let cluster = json!({
        "metadata": {"name": "dev", "namespace": "clusters", "creationTimestamp": "2026-01-29T10:31:00Z", "labels": {"applyset.kubernetes.io/part-of": "x"}},
        "spec": {"platform": {"type": "KubeVirt"}, "dns": {"baseDomain": "example.com"}},
        "status": {
            "controlPlaneEndpoint": {"host": "api.dev.example.com", "port": 6443},
            "kubeconfig": {"name": "dev-admin-kubeconfig"},
            "version": {"history": [{"state": "Completed", "version": "4.15.2"}]},
            "conditions": [condition("Available", "True", "2026-01-29T10:50:00Z"), condition("Progressing", "False", "2026-01-29T10:40:00Z"), condition("Degraded", "False", "2026-01-29T10:40:00Z")],
        },
    });
    let pool = json!({
        "metadata": {"name": "dev"}, "spec": {"clusterName": "dev", "replicas": 2},
        "status": {"replicas": 2, "conditions": [condition("Ready", "True", "2026-01-29T11:00:00Z")]},
    });
    Hosted {
        cluster: Arc::new(cluster),
        pools: vec![Arc::new(pool)],
    }
}

fn of(instance: &Instance, finding: Option<&str>) -> (State, String) {
    let followed = Followed {
        finding: finding.map(str::to_owned),
        set: Some("x".to_owned()),
        ..Followed::default()
    };
    let found = status(instance, &followed, &ServiceProvider::default(), now());
    (found.status.state, found.status.message)
}

#[test]
fn what_only_git_has_is_pending_and_says_why() {
    let (state, message) = of(&instance(), None);
    assert_eq!(
        (state, &*message),
        (
            State::Pending,
            "the definition is committed, and waits to be applied"
        )
    );
    let (state, message) = of(&instance(), Some("S01 unknown field `x` at a.yaml:3:1"));
    assert_eq!(
        (state, &*message),
        (
            State::Pending,
            "the revision is not applied: S01 unknown field `x` at a.yaml:3:1"
        )
    );
}

#[test]
fn a_name_that_somebody_else_has_on_the_hub_is_told() {
    let taken = Instance {
        is_taken: true,
        ..instance()
    };
    let (state, message) = of(&taken, None);
    assert_eq!(state, State::Pending);
    assert!(
        message.starts_with("the hub has a cluster of this name"),
        "{message}"
    );
}

#[test]
fn a_cluster_without_its_node_pool_is_not_ready() {
    let mut half = hosted();
    half.pools.clear();
    let mut half = Instance {
        hosted: Some(half),
        ..instance()
    };
    let expected = (
        State::Provisioning,
        "the cluster has no node pool".to_owned(),
    );
    assert_eq!(of(&half, None), expected);
    half.stored.request = None;
    assert_eq!(of(&half, None).0, State::Ready, "it is not the provider's");
}

#[test]
fn a_rename_that_waits_is_told() {
    let mut renamed = Instance {
        hosted: Some(hosted()),
        ..instance()
    };
    renamed.stored.name = "new".to_owned();
    let (state, message) = of(&renamed, None);
    assert_eq!(state, State::Ready);
    let told =
        "the definition is called new now; the cluster keeps its name until its rename is approved";
    assert_eq!(message, told);
}

#[test]
fn a_cluster_of_the_fleet_whose_file_is_gone_is_being_deleted() {
    let live = Instance {
        hosted: Some(hosted()),
        ..instance()
    };
    assert_eq!(of(&live, None).0, State::Ready);
    let removed = Instance { file: None, ..live };
    let (state, kept) = of(&removed, None);
    assert_eq!(state, State::Ready, "nobody approved it");
    let line = "`Capstan-Approve: delete clusters/dev`";
    assert!(kept.contains(line), "{kept}");
    let reviewed = Followed {
        set: Some("x".to_owned()),
        needs_person: true,
        ..Followed::default()
    };
    let kept = status(&removed, &reviewed, &ServiceProvider::default(), now()).status;
    let how = "is approved: comment `/capstan approve delete clusters/dev` on the pull request that removed it";
    assert!(kept.message.ends_with(how), "{}", kept.message);
    let approved = Followed {
        set: Some("x".to_owned()),
        approved: BTreeSet::from(["clusters/dev".to_owned()]),
        ..Followed::default()
    };
    let approved = status(&removed, &approved, &ServiceProvider::default(), now());
    assert_eq!(approved.status.state, State::Deleting);
    let (state, message) = of(&removed, Some("S01"));
    assert_eq!(state, State::Ready, "the revision is not applied");
    let why = "the definition was removed, and the revision is not applied: S01";
    assert_eq!(message, why);
    let direct = status(
        &removed,
        &Followed::default(),
        &ServiceProvider::default(),
        now(),
    );
    assert_eq!(direct.status.state, State::Ready, "nobody reads git");
    let mut foreign = removed;
    let cluster = Arc::make_mut(&mut foreign.hosted.as_mut().unwrap().cluster);
    cluster["metadata"]["labels"]["applyset.kubernetes.io/part-of"] = json!("other");
    assert_eq!(of(&foreign, None).0, State::Ready);
}

fn body(instance: &Instance, settings: &ServiceProvider) -> Json {
    let status = status(instance, &Followed::default(), settings, now()).status;
    let shown = Shown {
        instance,
        status: &status,
        kubeconfig: shows_credentials(status.state).then_some("a3ViZQ=="),
    };
    read(&shown, settings)
}

#[test]
fn a_ready_cluster_has_the_fields_of_both_shapes() {
    let live = Instance {
        hosted: Some(hosted()),
        ..instance()
    };
    let expected = json!({
        "requestId": "i-1", "name": "dev", "status": "READY", "provisioningType": "hypershift", "platform": "kubevirt", "version": "4.15",
        "apiEndpoint": "https://api.dev.example.com:6443",
        "consoleUrl": "https://console-openshift-console.apps.dev.example.com",
        "nodes": {"controlPlane": {"ready": 3, "total": 3}, "worker": {"ready": 2, "total": 2}},
        "kubeconfig": "a3ViZQ==",
        "metadata": {"namespace": "clusters", "createdAt": "2026-01-29T10:30:00Z"},
        "id": "i-1", "path": "clusters/i-1", "spec": stored().request.unwrap().sent,
        "api_endpoint": "https://api.dev.example.com:6443",
        "console_uri": "https://console-openshift-console.apps.dev.example.com",
        "create_time": "2026-01-29T10:30:00Z", "update_time": "2026-01-29T11:00:00Z",
    });
    assert_eq!(body(&live, &ServiceProvider::default()), expected);
}

#[test]
fn the_settings_narrow_the_shape() {
    let live = Instance {
        hosted: Some(hosted()),
        ..instance()
    };
    let narrowed = |api_dialect| {
        let settings = ServiceProvider {
            api_dialect,
            status_vocabulary: StatusVocabulary::Sprm,
            ..ServiceProvider::default()
        };
        let body = body(&live, &settings);
        assert_eq!(body["status"], "RUNNING");
        let keys: Vec<String> = body.as_object().unwrap().keys().cloned().collect();
        (
            keys.contains(&"requestId".to_owned()),
            keys.contains(&"path".to_owned()),
        )
    };
    assert_eq!(narrowed(ApiDialect::Proposal), (true, false));
    assert_eq!(narrowed(ApiDialect::Dcm), (false, true));
    let lists = |api_dialect| {
        let settings = ServiceProvider {
            api_dialect,
            ..ServiceProvider::default()
        };
        list(vec![json!({})], None, &settings)
    };
    assert_eq!(
        lists(ApiDialect::Auto),
        json!({"clusters": [{}], "results": [{}]})
    );
    assert_eq!(lists(ApiDialect::Proposal), json!({"results": [{}]}));
    assert_eq!(lists(ApiDialect::Dcm), json!({"clusters": [{}]}));
}

#[test]
fn a_new_cluster_has_no_credentials_in_either_shape() {
    let instance = instance();
    let status = Status {
        state: State::Pending,
        message: String::new(),
    };
    let shown = Shown {
        instance: &instance,
        status: &status,
        kubeconfig: None,
    };
    let settings = ServiceProvider::default();
    let proposal = json!({
        "requestId": "i-1", "name": "dev", "status": "PENDING", "provisioningType": "hypershift", "platform": "kubevirt", "version": "4.15",
        "apiEndpoint": "", "consoleUrl": "",
        "nodes": {"controlPlane": {"ready": 0, "total": 3}, "worker": {"ready": 0, "total": 2}},
        "kubeconfig": "", "metadata": {"namespace": "clusters", "createdAt": "2026-01-29T10:30:00Z"},
    });
    assert_eq!(created(&shown, Dialect::Proposal, &settings), proposal);
    let dcm = json!({
        "id": "i-1", "path": "clusters/i-1", "spec": stored().request.unwrap().sent, "status": "PENDING",
        "create_time": "2026-01-29T10:30:00Z", "update_time": "2026-01-29T10:30:00Z",
    });
    assert_eq!(created(&shown, Dialect::Dcm, &settings), dcm);
}

#[test]
fn addresses_of_ipv6_are_in_brackets_and_a_missing_host_is_none() {
    let mut live = Instance {
        hosted: Some(hosted()),
        ..instance()
    };
    let mut endpoint = |value: Json| {
        let cluster = Arc::make_mut(&mut live.hosted.as_mut().unwrap().cluster);
        cluster["status"]["controlPlaneEndpoint"] = value;
        body(&live, &ServiceProvider::default())["apiEndpoint"].clone()
    };
    assert_eq!(
        endpoint(json!({"host": "fd00::1", "port": 443})),
        "https://[fd00::1]:443"
    );
    assert_eq!(endpoint(json!({"host": "", "port": 443})), "");
    assert_eq!(endpoint(json!(null)), "");
}

#[test]
fn a_cluster_that_somebody_else_labelled_shows_what_runs() {
    let mut live = Instance {
        hosted: Some(hosted()),
        file: None,
        ..instance()
    };
    live.stored.request = None;
    live.stored.version = None;
    live.stored.requested_at = None;
    let body = body(&live, &ServiceProvider::default());
    assert_eq!(
        (&body["version"], &body["create_time"]),
        (&json!("4.15.2"), &json!("2026-01-29T10:31:00Z"))
    );
    let spec = json!({"metadata": {"name": "dev"}, "service_type": "cluster", "version": "4.15.2"});
    assert_eq!(body["spec"], spec);
}

#[test]
fn who_waits_for_a_merge_is_told_where() {
    let settings = ServiceProvider::default();
    let now: Timestamp = "2026-01-29T12:00:00Z".parse().unwrap();
    let url = "https://git.example/o/r/pulls/7".to_owned();
    let told = |instance: &Instance| {
        let found = status(instance, &Followed::default(), &settings, now).status;
        (found.state, found.message)
    };
    let added = |review| Instance {
        file: None,
        review: Some(review),
        ..instance()
    };
    let opened_next = "awaits its pull request, which is opened next";
    for (review, state, message) in [
        (
            Review::Unopened,
            State::Pending,
            format!("the definition {opened_next}"),
        ),
        (
            Review::Open(url.clone()),
            State::Pending,
            format!("awaits merge: {url}"),
        ),
        (
            Review::Closed(url.clone()),
            State::Failed,
            format!("the pull request was closed without a merge: {url}"),
        ),
    ] {
        assert_eq!(told(&added(review)), (state, message));
    }
    let removed = |review| Instance {
        review: Some(review),
        hosted: Some(hosted()),
        ..instance()
    };
    for (review, message) in [
        (Review::Unopened, format!("the deletion {opened_next}")),
        (
            Review::Open(url.clone()),
            format!("the deletion awaits merge: {url}"),
        ),
    ] {
        assert_eq!(told(&removed(review)), (State::Ready, message));
    }
    // It is deleted already.
    let mut going = removed(Review::Open(url));
    let mut cluster = hosted();
    let mut live = (*cluster.cluster).clone();
    live["metadata"]["deletionTimestamp"] = json!("2026-01-29T11:59:00Z");
    cluster.cluster = live.into();
    going.hosted = Some(cluster);
    assert_eq!(told(&going).0, State::Deleting);
}
