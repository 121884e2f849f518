//! Messages over a real NATS server: with and without a stream, across its death, and what it refuses.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use capstan::adapters::service_provider::nats::{
    Connection, Credentials, Delivered, Error, Messenger, Settings,
};
use capstan::model::ErrorClass;
use futures::StreamExt as _;

use super::nats_server::{NatsServer, create_stream, stored};
use crate::patience::PATIENCE;

pub(super) const STREAM: &str = "dcm-status";
/// A subject that the stream of `dcm.*` captures.
pub(super) const CAPTURED: &str = "dcm.cluster";
/// One that it does not.
pub(super) const OTHER: &str = "dcm.providers.acm-cluster-sp.cluster.instances.7.status";
/// Less than any time that an adapter waits for the server.
pub(super) const FAST: Duration = Duration::from_secs(2);

pub(super) fn settings(url: &str) -> Settings {
    Settings {
        servers: vec![url.to_owned()],
        credentials: Credentials::None,
        authorities: None,
        name: "capstan-tests".to_owned(),
    }
}

pub(super) async fn start(settings: &Settings) -> Messenger {
    Messenger::start(settings).await.expect("usable settings")
}

/// Waits until it is connected.
pub(super) async fn connected(messenger: &Messenger) {
    let mut connection = messenger.connection();
    let up = connection.wait_for(|connection| *connection == Connection::Up);
    let up = tokio::time::timeout(PATIENCE, up).await;
    up.expect("it connects in time").expect("it is not dropped");
}

/// A messenger that is connected to a server as a user with a password.
pub(super) async fn user(server: &NatsServer, user: &str) -> Messenger {
    let (user, password) = (user.to_owned(), format!("{user}-password"));
    let messenger = start(&Settings {
        credentials: Credentials::Password { user, password },
        ..settings(&server.url())
    })
    .await;
    connected(&messenger).await;
    messenger
}

/// Publishes until it arrives, as the caller of a messenger does.
async fn deliver(messenger: &Messenger, subject: &str, id: &str, payload: &str) -> Delivered {
    let start = Instant::now();
    loop {
        match messenger.publish(subject, id, payload.as_bytes()).await {
            Ok(delivered) => return delivered,
            Err(error) => {
                assert_eq!(error.class(), ErrorClass::Transient, "{error}");
                assert!(start.elapsed() < PATIENCE, "{error}");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The first error that `is_it`.
pub(super) async fn failing(messenger: &Messenger, is_it: impl Fn(&Error) -> bool) -> Error {
    let start = Instant::now();
    loop {
        let asked = Instant::now();
        let outcome = messenger.publish(CAPTURED, "1", b"{}").await;
        assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
        match outcome {
            Err(error) if is_it(&error) => return error,
            other => assert!(start.elapsed() < PATIENCE, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) fn in_stream(is_duplicate: bool) -> Delivered {
    let stream = STREAM.to_owned();
    Delivered::Stored {
        stream,
        is_duplicate,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_acknowledges_what_it_captures_and_drops_what_it_has() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    let client = server.client().await;
    create_stream(&client, STREAM, &["dcm.*"]).await;
    let messenger = start(&settings(&server.url())).await;
    connected(&messenger).await;
    for (id, is_duplicate) in [("a", false), ("a", true), ("b", false), ("a", true)] {
        let payload = format!("{{\"id\":\"{id}\"}}");
        let delivered = messenger.publish(CAPTURED, id, payload.as_bytes()).await;
        assert_eq!(delivered, Ok(in_stream(is_duplicate)), "{id}");
    }
    let all = stored(&client, STREAM).await;
    let ids: Vec<&str> = all.iter().map(|message| &*message.id).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(
        (&*all[0].subject, &*all[0].payload),
        (CAPTURED, r#"{"id":"a"}"#)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_without_a_stream_reaches_those_who_listen() {
    let accounts = "jetstream { store_dir: \"DIR/streams\" }
        accounts { A { jetstream: enabled, users: [{user: a, password: a-password}] },
            B { users: [{user: b, password: b-password}] } }";
    let servers = [
        "",
        "jetstream { store_dir: \"DIR/streams\" }",
        accounts,
        accounts,
    ];
    for (settings, name) in servers.into_iter().zip(["", "", "a", "b"]) {
        let Some(server) = NatsServer::start(settings) else {
            return;
        };
        let messenger = user(&server, name).await;
        let options = async_nats::ConnectOptions::with_user_and_password(
            name.to_owned(),
            format!("{name}-password"),
        );
        let listener = options.connect(server.url()).await.unwrap();
        let mut heard = listener.subscribe("dcm.providers.>").await.unwrap();
        listener.flush().await.unwrap();
        for id in ["1", "2", "3"] {
            let asked = Instant::now();
            let delivered = messenger.publish(OTHER, id, id.as_bytes()).await;
            assert_eq!(delivered, Ok(Delivered::Sent), "{name}");
            assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
        }
        for id in ["1", "2", "3"] {
            let message = tokio::time::timeout(FAST, heard.next()).await;
            let message = message.expect("in time").expect("subscribed");
            assert_eq!(
                (&*message.subject, &*message.payload),
                (OTHER, id.as_bytes())
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_arrives_in_order_when_the_server_is_killed_in_between() {
    const INSTANCES: usize = 5;
    const EACH: usize = 200;
    let Some(mut server) = NatsServer::with_jetstream() else {
        return;
    };
    create_stream(&server.client().await, STREAM, &["dcm.*"]).await;
    let messenger = Arc::new(start(&settings(&server.url())).await);
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let publish = |instance: usize| {
        let (messenger, acknowledged) = (messenger.clone(), acknowledged.clone());
        tokio::spawn(async move {
            for n in 0..EACH {
                let id = format!("{instance}-{n:03}");
                deliver(&messenger, CAPTURED, &id, &id).await;
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let published: Vec<_> = (0..INSTANCES).map(publish).collect();
    while acknowledged.load(Ordering::Relaxed) < 200 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.kill();
    assert!(acknowledged.load(Ordering::Relaxed) < 800, "too late");
    let error = failing(&messenger, |error| {
        matches!(error, Error::Disconnected { .. })
    })
    .await;
    assert_eq!(error.class(), ErrorClass::Transient);
    server.restart();
    for done in published {
        done.await.unwrap();
    }
    let all = stored(&server.client().await, STREAM).await;
    for instance in 0..INSTANCES {
        let prefix = format!("{instance}-");
        let of_instance = all.iter().filter(|message| message.id.starts_with(&prefix));
        let mut ids: Vec<&str> = of_instance.map(|message| &*message.id).collect();
        assert!(ids.is_sorted(), "{ids:?}");
        ids.dedup();
        let expected: Vec<_> = (0..EACH).map(|n| format!("{instance}-{n:03}")).collect();
        assert_eq!(ids, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_at_the_start_is_found_later() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let asked = Instant::now();
    let messenger = start(&settings(&format!("nats://127.0.0.1:{port}"))).await;
    let first = messenger.publish(CAPTURED, "1", b"{}").await.unwrap_err();
    assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
    assert_eq!(first.class(), ErrorClass::Transient, "{first}");
    let refused = |error: &Error| error.to_string().contains("Connection refused");
    let error = failing(&messenger, refused).await.to_string();
    assert!(
        error.contains(&format!("nats://127.0.0.1:{port}")),
        "{error}"
    );
    let shown = messenger.connection().borrow().clone();
    let is_told = matches!(&shown, Connection::Down { cause } if cause.contains("refused"));
    assert!(is_told, "{shown:?}");

    let Some(_server) = NatsServer::at("", port) else {
        return;
    };
    connected(&messenger).await;
    assert_eq!(
        messenger.publish(CAPTURED, "1", b"{}").await,
        Ok(Delivered::Sent)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_made_later_is_noticed_within_half_a_minute() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    let messenger = start(&settings(&server.url())).await;
    connected(&messenger).await;
    let client = server.client().await;
    assert_eq!(
        messenger.publish(CAPTURED, "1", b"1").await,
        Ok(Delivered::Sent)
    );
    create_stream(&client, STREAM, &["dcm.*"]).await;
    let made = Instant::now();
    let mut sent = 1;
    loop {
        sent += 1;
        let id = sent.to_string();
        match messenger.publish(CAPTURED, &id, b"x").await.unwrap() {
            Delivered::Sent => assert!(made.elapsed() < Duration::from_secs(35)),
            stored => break assert_eq!(stored, in_stream(false)),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // It has also what was sent to it without an acknowledgement, and recognises it.
    assert_eq!(
        messenger.publish(CAPTURED, "2", b"x").await,
        Ok(in_stream(true))
    );
    assert_eq!(stored(&client, STREAM).await.len(), sent - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_removed_is_not_waited_for() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    let client = server.client().await;
    create_stream(&client, STREAM, &["dcm.*"]).await;
    let messenger = start(&settings(&server.url())).await;
    connected(&messenger).await;
    assert_eq!(
        messenger.publish(CAPTURED, "1", b"1").await,
        Ok(in_stream(false))
    );
    let removed = client.request(format!("$JS.API.STREAM.DELETE.{STREAM}"), "".into());
    removed.await.unwrap();
    let asked = Instant::now();
    assert_eq!(
        messenger.publish(CAPTURED, "2", b"2").await,
        Ok(Delivered::Sent)
    );
    assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_given_up_after_five_seconds() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    create_stream(&server.client().await, STREAM, &["dcm.*"]).await;
    let messenger = start(&settings(&server.url())).await;
    connected(&messenger).await;
    assert_eq!(
        messenger.publish(CAPTURED, "1", b"1").await,
        Ok(in_stream(false))
    );
    server.signal("-STOP");
    let asked = Instant::now();
    let error = messenger.publish(CAPTURED, "2", b"2").await.unwrap_err();
    let took = asked.elapsed();
    server.signal("-CONT");
    assert!(matches!(error, Error::Silent { seconds: 5, .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(took < Duration::from_secs(8), "{took:?}");
    // The server had it nevertheless, and recognises it.
    assert_eq!(
        deliver(&messenger, CAPTURED, "2", "2").await,
        in_stream(true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let messenger = start(&settings(&url)).await;
    let timed_out = |error: &Error| error.to_string().contains("timed out");
    let error = failing(&messenger, timed_out).await;
    assert_eq!(error.class(), ErrorClass::Transient, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_its_way_arrives_before_the_end_and_nothing_after_it() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    let client = server.client().await;
    create_stream(&client, STREAM, &["dcm.*"]).await;
    let messenger = Arc::new(start(&settings(&server.url())).await);
    connected(&messenger).await;
    let publish = |n: usize| {
        let messenger = messenger.clone();
        async move { messenger.publish(CAPTURED, &n.to_string(), b"{}").await }
    };
    assert_eq!(publish(100).await, Ok(in_stream(false)));
    server.signal("-STOP");
    let on_their_way: Vec<_> = (0..100).map(|n| tokio::spawn(publish(n))).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let closing = messenger.clone();
    let closed = tokio::spawn(async move { closing.close().await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(publish(101).await, Err(Error::Closed));
    assert!(!closed.is_finished());
    server.signal("-CONT");
    for outcome in on_their_way {
        assert_eq!(outcome.await.unwrap(), Ok(in_stream(false)));
    }
    let asked = Instant::now();
    closed.await.unwrap();
    assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
    assert_eq!(publish(102).await, Err(Error::Closed));
    assert_eq!(stored(&client, STREAM).await.len(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_messenger_without_connection_is_closed_at_once() {
    let messenger = start(&settings("nats://127.0.0.1:1")).await;
    let asked = Instant::now();
    messenger.close().await;
    assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
    let error = messenger.publish(CAPTURED, "1", b"").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Gone);
}
