//! What a real NATS server refuses: a password, a subject, an answer, a payload.

use std::time::Instant;

use capstan::adapters::service_provider::nats::{Delivered, Error};
use capstan::model::ErrorClass;
use futures::StreamExt as _;

use super::nats::{
    CAPTURED, FAST, OTHER, STREAM, connected, failing, in_stream, settings, start, user,
};
use super::nats_server::{NatsServer, create_stream, stored};

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported_and_not_shown() {
    let users = "accounts { A { users: [{user: a, password: a-password}] } }";
    let Some(server) = NatsServer::start(users) else {
        return;
    };
    let url = format!("nats://a:s3cret@127.0.0.1:{}", server.port);
    let messenger = start(&settings(&url)).await;
    let error = failing(&messenger, |error| error.class() == ErrorClass::Denied).await;
    let text = error.to_string();
    assert!(matches!(error, Error::Unauthorized { .. }), "{text}");
    assert!(
        text.to_lowercase().contains("authorization violation"),
        "{text}"
    );
    assert!(
        text.contains(&server.url()) && !text.contains("s3cret"),
        "{text}"
    );
    let shown = format!("{:?}", *messenger.connection().borrow());
    assert!(
        shown.contains("authorization") && !shown.contains("s3cret"),
        "{shown}"
    );
    // The password of the address is sent.
    let url = format!("nats://a:a-p%61ssword@127.0.0.1:{}", server.port);
    connected(&start(&settings(&url)).await).await;
}

/// Users with few rights: `limited` may not ask JetStream, `silent` may not publish, `deaf` gets no answers.
const RIGHTS: &str = "jetstream { store_dir: \"DIR/streams\" }
    no_auth_user: all
    accounts { A { jetstream: enabled, users: [
        {user: all, password: all-password},
        {user: limited, password: limited-password,
            permissions: {publish: [\"dcm.>\"], subscribe: [\"_INBOX.>\"]}},
        {user: silent, password: silent-password, permissions: {publish: {deny: [\"dcm.>\"]}}},
        {user: deaf, password: deaf-password, permissions: {subscribe: {deny: [\">\"]}}},
    ] } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_reported_with_its_subject() {
    let Some(server) = NatsServer::start(RIGHTS) else {
        return;
    };
    create_stream(&server.client().await, STREAM, &["dcm.*"]).await;
    let silent = user(&server, "silent").await;
    for subject in [CAPTURED, OTHER, OTHER] {
        let asked = Instant::now();
        let error = silent.publish(subject, "1", b"{}").await.unwrap_err();
        assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
        assert_eq!(error.class(), ErrorClass::Denied, "{error}");
        let words = format!("Permissions Violation for Publish to \"{subject}\"");
        assert!(error.to_string().contains(&words), "{error}");
    }
    let deaf = user(&server, "deaf").await;
    let error = deaf.publish(CAPTURED, "1", b"{}").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Denied, "{error}");
    assert!(
        error.to_string().contains("Subscription to \"_INBOX."),
        "{error}"
    );
    assert!(stored(&server.client().await, STREAM).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_ask_jetstream_is_acknowledged_all_the_same() {
    let Some(server) = NatsServer::start(RIGHTS) else {
        return;
    };
    let client = server.client().await;
    create_stream(&client, STREAM, &["dcm.*"]).await;
    let limited = user(&server, "limited").await;
    let mut heard = client.subscribe("dcm.providers.>").await.unwrap();
    client.flush().await.unwrap();
    for is_duplicate in [false, true] {
        let delivered = limited.publish(CAPTURED, "1", b"{}").await;
        assert_eq!(delivered, Ok(in_stream(is_duplicate)));
    }
    // Nobody acknowledges the first, so that the second is not waited for.
    assert_eq!(
        limited.publish(OTHER, "1", b"{}").await,
        Ok(Delivered::Sent)
    );
    let asked = Instant::now();
    assert_eq!(
        limited.publish(OTHER, "2", b"{}").await,
        Ok(Delivered::Sent)
    );
    assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
    for _ in 0..2 {
        let message = tokio::time::timeout(FAST, heard.next()).await;
        assert_eq!(
            &*message.expect("in time").expect("subscribed").payload,
            b"{}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_over_the_limit_of_the_server_is_refused_and_one_at_the_limit_arrives() {
    let limit = "max_payload: 2048\njetstream { store_dir: \"DIR/streams\" }";
    let Some(server) = NatsServer::start(limit) else {
        return;
    };
    let messenger = start(&settings(&server.url())).await;
    connected(&messenger).await;
    // The headers around the id "1" have 28 bytes.
    let largest = vec![b'x'; 2_048 - 28];
    assert_eq!(
        messenger.publish(OTHER, "1", &largest).await,
        Ok(Delivered::Sent)
    );
    let larger = vec![b'x'; 2_048 - 27];
    let error = messenger.publish(OTHER, "1", &larger).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(
        error
            .to_string()
            .contains("2049 bytes, and NATS takes 2048"),
        "{error}"
    );
    assert_eq!(
        messenger.publish(OTHER, "2", b"").await,
        Ok(Delivered::Sent)
    );
    assert!(
        !server.log().contains("maximum payload"),
        "{}",
        server.log()
    );
}
