//! What the runtime does with writes and watches that the cluster refuses.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A cluster whose requests of this method to objects named `two` get this answer, with the ConfigMaps `one` and `two`.
pub(super) async fn refusing(method: http::Method, code: http::StatusCode) -> (Client, SimClock) {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let open = Server::new(Arc::new(time)).client("default");
    let both = [config_map("one"), config_map("two")].map(Write::Apply);
    perform(&open, "somebody", both.into()).await.1.unwrap();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let is_refused = request.method() == method && request.uri().path().ends_with("/two");
        let open = open.clone();
        async move {
            if !is_refused {
                return open.send(request).await;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "not today", "reason": "Refused", "code": code.as_u16()});
            let body = kube::client::Body::from(status.to_string().into_bytes());
            Ok(http::Response::builder().status(code).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), time)
}

#[tokio::test(start_paused = true)]
async fn a_refused_deletion_shows_in_the_snapshot_at_once_and_is_tried_rarely() {
    let (client, time) = refusing(http::Method::DELETE, http::StatusCode::FORBIDDEN).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let id = ObjectId::new("", "ConfigMap", "default", "two");
        let is_refused = world.refusal(&id).is_some();
        log.lock()
            .unwrap()
            .push((start.elapsed().as_secs(), is_refused));
        let delete = Write::Delete {
            id,
            version: "v1".to_owned(),
            uid: "uid".to_owned(),
        };
        Outcome {
            writes: vec![delete],
            ..Outcome::default()
        }
    });
    let limit = Duration::from_secs(100);
    run(client, Arc::new(time), vec![controller], limit).await;
    let expected = [(0, false), (0, true), (30, true), (90, true)];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn after_a_passing_failure_only_the_status_of_the_object_itself_is_written() {
    let unavailable = http::StatusCode::SERVICE_UNAVAILABLE;
    let (client, _) = refusing(http::Method::PATCH, unavailable).await;
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let writer = Writer {
        client,
        connectors: Connectors::default(),
        manager: "controller",
        patience: Duration::from_secs(9),
        may_act,
        is_mute: Arc::default(),
    };
    let sent = sent(&writer, "one").await;
    assert_eq!(sent, ["two", "one"]);
}

/// What is sent for the ConfigMap `name` of: an apply of `two`, one of `three`, its own status.
async fn sent(writer: &Writer, name: &str) -> Vec<String> {
    let mut status = config_map(name);
    status["status"] = json!({});
    let writes = vec![
        Write::Apply(config_map("two")),
        Write::Apply(config_map("three")),
        Write::Status(status),
    ];
    let object = Live(&config_map(name)).id();
    let written = writer.perform(&object, writes).await;
    let sent = written.iter().map(|written| match written {
        Written::Answered(write, _) | Written::Failed(write, _) => write.object().unwrap().name,
        _ => String::new(),
    });
    sent.collect()
}

/// The status can say it, and nothing is applied that is not recorded.
#[tokio::test(start_paused = true)]
async fn after_a_refused_write_to_the_object_itself_only_its_status_is_written() {
    for (code, expected) in [
        (http::StatusCode::FORBIDDEN, &["two", "two"][..]),
        (http::StatusCode::INTERNAL_SERVER_ERROR, &["two", "two"]),
        (http::StatusCode::CONFLICT, &["two"]),
    ] {
        let (client, _) = refusing(http::Method::PATCH, code).await;
        let (_sender, may_act) = tokio::sync::watch::channel(true);
        let writer = Writer {
            client,
            connectors: Connectors::default(),
            manager: "controller",
            patience: Duration::from_secs(9),
            may_act,
            is_mute: Arc::default(),
        };
        assert_eq!(sent(&writer, "two").await, expected, "{code}");
    }
}

/// A missing right, a policy, or a webhook of CAPZ's whose service is gone.
#[tokio::test(start_paused = true)]
async fn a_refused_write_to_the_object_itself_is_an_event_and_rests() {
    for (code, times) in [
        (http::StatusCode::FORBIDDEN, &[0, 0, 30, 90][..]),
        (
            http::StatusCode::INTERNAL_SERVER_ERROR,
            &[0, 1, 3, 7, 15, 31, 63],
        ),
    ] {
        let (client, time) = refusing(http::Method::PATCH, code).await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (client, log) = (client.clone(), Arc::clone(&log));
            async move {
                if request.uri().path().ends_with("/events") {
                    let (parts, body) = request.into_parts();
                    let bytes = body.collect_bytes().await.unwrap();
                    let event: Value = serde_json::from_slice(&bytes).unwrap();
                    log.lock().unwrap().push(event["reason"].clone());
                    let body = kube::client::Body::from(bytes);
                    return client.send(http::Request::from_parts(parts, body)).await;
                }
                client.send(request).await
            }
        });
        let client = Client::new(service, "default");
        let (seen, start) = (Arc::new(Mutex::new(Vec::new())), Instant::now());
        let decisions = Arc::clone(&seen);
        let controller = Controller {
            handles: |id| id.kind == "ConfigMap" && id.name == "two",
            ..controller(move |_, live, _| {
                decisions.lock().unwrap().push(start.elapsed().as_secs());
                let mut patch = patch_of(live);
                patch["data"] = json!({"a": "b"});
                Outcome {
                    writes: vec![Write::Apply(patch), Write::Apply(config_map("three"))],
                    ..Outcome::default()
                }
            })
        };
        let limit = Duration::from_secs(100);
        run(client.clone(), Arc::new(time), vec![controller], limit).await;
        assert_eq!(*seen.lock().unwrap(), times, "{code}");
        assert_eq!(*told.lock().unwrap(), ["WriteRefused"], "{code}");
        let api: Api<DynamicObject> =
            Api::namespaced_with(client, "default", &resource("", "v1", "ConfigMap"));
        assert!(api.get_opt("three").await.unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_are_refused_are_noticed_until_one_is_written() {
    let object = config_map("one");
    for (message, is_mute) in [
        ("events.events.k8s.io is forbidden", true),
        ("the namespace is being terminated", false),
        ("", false),
    ] {
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| async move {
            let (code, answer) = match message {
                "" => (
                    http::StatusCode::CREATED,
                    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}}),
                ),
                message => (
                    http::StatusCode::FORBIDDEN,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                        "message": message, "reason": "Forbidden", "code": 403}),
                ),
            };
            let body = kube::client::Body::from(answer.to_string().into_bytes());
            let answer = http::Response::builder().status(code).body(body).unwrap();
            Ok::<_, kube::Error>(answer)
        });
        let (_sender, may_act) = tokio::sync::watch::channel(true);
        let writer = Writer {
            client: Client::new(service, "default"),
            connectors: Connectors::default(),
            manager: "controller",
            patience: Duration::from_secs(9),
            may_act,
            is_mute: Arc::new(AtomicBool::new(message.is_empty())),
        };
        let mut outcome = Outcome::default();
        outcome.event(Live(&object), true, "Foreign", "it is not ours");
        writer.report(Timestamp::UNIX_EPOCH, outcome.events).await;
        assert_eq!(writer.is_mute.load(Ordering::Relaxed), is_mute, "{message}");
    }
}

/// A definition whose status has `ready` and `failureMessage` only.
fn poor_definition() -> Value {
    let status = json!({"type": "object", "properties": {
        "ready": {"type": "boolean"}, "failureMessage": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.capstan.test"},
        "spec": {"group": "capstan.test", "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}})
}

/// CAPZ's definitions lack fields of ours.
#[tokio::test(start_paused = true)]
async fn a_status_of_which_fields_are_pruned_is_not_sent_with_every_decision() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let open = Server::new(Arc::new(time)).client("default");
    let thing = json!({"apiVersion": "capstan.test/v1", "kind": "Thing",
        "metadata": {"name": "one", "namespace": "default"}});
    let writes = vec![Write::Apply(poor_definition()), Write::Apply(thing)];
    perform(&open, "somebody", writes).await.1.unwrap();
    let sent = Arc::new(Mutex::new(0));
    let count = Arc::clone(&sent);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        *count.lock().unwrap() += usize::from(request.uri().path().ends_with("/status"));
        let open = open.clone();
        async move { open.send(request).await }
    });
    let decisions = Arc::new(Mutex::new(0));
    let decided = Arc::clone(&decisions);
    let controller = Controller {
        watches: vec![GroupKind::new("capstan.test", "Thing")],
        handles: |id| id.kind == "Thing",
        ..controller(move |_, live, now| {
            *decided.lock().unwrap() += 1;
            let mut outcome = Outcome::default();
            let status = json!({"ready": false, "unknown": 1});
            outcome.maybe(crate::reconcile::outcome::status(live, status));
            outcome.wake_at(now + Duration::from_secs(1));
            outcome
        })
    };
    let limit = Duration::from_secs(10);
    let client = Client::new(service, "default");
    run(client, Arc::new(time), vec![controller], limit).await;
    assert!(*decisions.lock().unwrap() > 5);
    assert_eq!(*sent.lock().unwrap(), 2, "an apply that fails, and a merge");
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_merged_status_leaves_out_is_removed() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let thing = json!({"apiVersion": "capstan.test/v1", "kind": "Thing",
        "metadata": {"name": "one", "namespace": "default", "labels": {"a": "b"}}});
    let with = |status: Value| {
        let mut thing = thing.clone();
        thing["status"] = status;
        Write::Status(thing)
    };
    let writes = vec![
        Write::Apply(poor_definition()),
        Write::Apply(thing.clone()),
        with(json!({"ready": false, "failureMessage": "broken", "unknown": 1})),
        with(json!({"ready": true, "unknown": 1})),
    ];
    let (answers, end) = perform(&client, "controller", writes).await;
    end.unwrap();
    assert_eq!(answers[2]["status"]["failureMessage"], "broken");
    assert_eq!(answers[3]["status"], json!({"ready": true}));
    // The definition gets better, and the status is applied again.
    let mut definition = poor_definition();
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    *definition.pointer_mut(properties).unwrap() = json!({"ready": {"type": "boolean"},
        "failureMessage": {"type": "string"}, "unknown": {"type": "integer"},
        "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}});
    let poor = with(
        json!({"ready": false, "failureMessage": "broken", "undeclared": 1, "nested": {"a": "1", "b": "2"}}),
    );
    let good = with(json!({"ready": true, "unknown": 1, "nested": {"a": "1"}}));
    let writes = vec![Write::Apply(definition), poor, good];
    let (answers, end) = perform(&client, "controller", writes).await;
    end.unwrap();
    let expected = json!({"ready": true, "unknown": 1, "nested": {"a": "1"}});
    assert_eq!(answers[2]["status"], expected);
}

/// A cluster where ConfigMaps may not be listed until this is false.
fn forbidding(open: &Client, kind: &'static str) -> (Client, Arc<Mutex<bool>>) {
    let (open, is_denied) = (open.clone(), Arc::new(Mutex::new(true)));
    let denied = Arc::clone(&is_denied);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let is_refused = request.uri().path().ends_with(kind) && *denied.lock().unwrap();
        let open = open.clone();
        async move {
            if !is_refused || request.method() != http::Method::GET {
                return open.send(request).await;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
                "message": format!("{kind} is forbidden: User \"me\" cannot list resource \"{kind}\" in API group \"\" at the cluster scope"), "code": 403});
            let body = kube::client::Body::from(status.to_string().into_bytes());
            Ok(http::Response::builder().status(403).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), is_denied)
}

/// An AROCluster `one` on a server with its definition.
async fn aro_cluster() -> (Client, SimClock) {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let mut objects = crate::api::crds::crds();
    objects.push(
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROCluster",
        "metadata": {"name": "one", "namespace": "default"}}),
    );
    let writes = objects.into_iter().map(Write::Apply).collect();
    perform(&client, "somebody", writes).await.1.unwrap();
    (client, time)
}

async fn ready_of_aro_cluster(client: &Client) -> String {
    let kind = resource("infrastructure.cluster.x-k8s.io", "v1beta2", "AROCluster");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
    let one = api.get("one").await.unwrap();
    let one = serde_json::to_value(one).unwrap();
    let ready = Live(&one).condition("Ready");
    ready.map_or_else(String::new, |ready| {
        format!("{}: {}", ready.reason(), ready.message())
    })
}

/// A kind that is needed, or watched from the start, and may not be listed, is named by the object that waits for it.
#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_listed_is_named_in_the_status_until_it_may() {
    for is_watched in [false, true] {
        let (open, time) = aro_cluster().await;
        let (client, is_denied) = forbidding(&open, "secrets");
        let secrets = GroupKind::new("", "Secret");
        let mut watches = vec![GroupKind::new(
            "infrastructure.cluster.x-k8s.io",
            "AROCluster",
        )];
        watches.extend(is_watched.then(|| secrets.clone()));
        let controller = Controller {
            manager: "controller",
            watches,
            handles: |id| id.kind == "AROCluster",
            reconcile: Box::new(|_, live, now| {
                let mut conditions = crate::reconcile::conditions::Conditions::of(live, now);
                let ready = crate::reconcile::conditions::NewCondition::yes("Done", "");
                conditions.set("Ready", ready);
                let mut outcome = Outcome::default();
                outcome.need(ObjectId::new("", "Secret", "default", "s"));
                conditions.write(live, json!({"ready": true}), &mut outcome);
                outcome
            }),
        };
        let running = crate::adapters::kubernetes::controller::spawn(
            client,
            Arc::new(time),
            vec![controller],
            Connectors::default(),
        );
        tokio::time::sleep(Duration::from_secs(5)).await;
        let waits = ready_of_aro_cluster(&open).await;
        let expected = "KindNotReadable: Nothing is done for this object, since it needs the kind Secret of the group \"\", which may not be watched: grant get, list and watch on secrets";
        assert!(waits.starts_with(expected), "{waits}");
        *is_denied.lock().unwrap() = false;
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert_eq!(ready_of_aro_cluster(&open).await, "Done: ");
        drop(running);
    }
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_shows_in_the_snapshot_from_the_second_time_on() {
    let unavailable = http::StatusCode::SERVICE_UNAVAILABLE;
    let (client, time) = refusing(http::Method::PATCH, unavailable).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let id = ObjectId::new("", "ConfigMap", "default", "two");
        let shows = world.refusal(&id).is_some();
        log.lock().unwrap().push((start.elapsed().as_secs(), shows));
        let mut two = config_map("two");
        two["data"] = json!({"a": "b"});
        Outcome {
            writes: vec![Write::Apply(two)],
            ..Outcome::default()
        }
    });
    run(
        client,
        Arc::new(time),
        vec![controller],
        Duration::from_secs(10),
    )
    .await;
    assert_eq!(
        *seen.lock().unwrap(),
        [(0, false), (1, false), (3, true), (7, true)]
    );
}
