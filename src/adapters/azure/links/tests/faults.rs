//! Errors, and what is said about them.

use std::time::Duration;

use super::super::super::log::Log;
use super::arm::{Reply, error};
use super::*;

/// The error of a listing that is answered so.
async fn refused(status: u16, after: Option<&'static str>, body: Value) -> AzureError {
    let (links, arm) = world();
    arm.reply("GET", Reply::Status(status, after, body));
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(arm.requests().len(), 1, "nothing is tried twice");
    error
}

#[tokio::test]
async fn each_error_has_its_fault_its_pause_and_its_words() {
    let what = format!(
        "cannot list the load balancers of the resource group 'rg' in the subscription '{SUBSCRIPTION}'"
    );
    let denied = format!(
        "The client '22-33' with object id '22-33' does not have authorization to perform action 'Microsoft.Network/loadBalancers/read' over scope '/subscriptions/{SUBSCRIPTION}' or the scope is invalid"
    );
    let cases = [
        (
            429,
            error("SubscriptionRequestsThrottled", "Number of requests: 77."),
            (AzureFault::Throttled, ErrorClass::Transient, 300),
            format!(
                "Azure API rate limit exceeded, retrying: {what}: SubscriptionRequestsThrottled"
            ),
        ),
        (
            403,
            error(
                "AuthorizationFailed",
                &format!("{denied}. If access was granted at 77, wait."),
            ),
            (AzureFault::Denied, ErrorClass::Denied, 600),
            format!(
                "Azure API permission denied, check service principal permissions: AzureClusterIdentity team/me {what}: AuthorizationFailed: {denied}; it takes the permission Microsoft.Network/loadBalancers/read"
            ),
        ),
        (
            409,
            error(
                "AnotherOperationInProgress",
                "Another operation is in progress.",
            ),
            (AzureFault::Conflict, ErrorClass::Conflict, 30),
            format!(
                "Azure resource conflict, retrying: {what}: AnotherOperationInProgress: Another operation is in progress"
            ),
        ),
        (
            400,
            json!({"code": "BadRequest", "message": "The version is not known\r\nid 77"}),
            (AzureFault::Other, ErrorClass::Transient, 120),
            format!("Azure API error (HTTP 400): BadRequest: {what}: The version is not known"),
        ),
        (
            404,
            error(
                "ResourceGroupNotFound",
                "Resource group 'rg' could not be found.",
            ),
            (AzureFault::Other, ErrorClass::Transient, 120),
            format!(
                "Azure API error (HTTP 404): ResourceGroupNotFound: {what}: Resource group 'rg' could not be found"
            ),
        ),
        (
            503,
            error("ServiceUnavailable", "tracking id 77"),
            (AzureFault::Other, ErrorClass::Transient, 120),
            format!("Azure API error (HTTP 503): ServiceUnavailable: {what}"),
        ),
        (
            502,
            json!("<html>"),
            (AzureFault::Other, ErrorClass::Transient, 120),
            format!("Azure API error (HTTP 502): {what}"),
        ),
        (
            302,
            json!({}),
            (AzureFault::Other, ErrorClass::Transient, 120),
            format!("Azure API error (HTTP 302): {what}"),
        ),
    ];
    for (status, body, (fault, class, seconds), text) in cases {
        let error = refused(status, None, body).await;
        assert_eq!(error.to_string(), text);
        assert_eq!(
            (error.fault, error.error.class()),
            (fault, class),
            "{status}"
        );
        assert_eq!(error.pause().as_secs(), seconds, "{status}");
    }
}

#[tokio::test]
async fn azure_says_how_long_it_wants_to_be_left_alone() {
    for (after, seconds) in [
        (Some("120"), 120),
        (Some("Thu, 01 Jan 1970 00:18:40 GMT"), 120),
        (Some("0"), 300),
        (Some("-1"), 300),
        (Some("Thu, 01 Jan 1970 00:00:40 GMT"), 300),
        (Some("tomorrow"), 300),
        (None, 300),
        (Some("7200"), 3600),
    ] {
        let error = refused(429, after, json!({})).await;
        let wait = error.pause().as_secs_f64();
        assert!((wait - f64::from(seconds)).abs() < 2.0, "{after:?}: {wait}");
        assert_eq!(error.retry_after.is_some(), seconds != 300, "{after:?}");
    }
    // Other errors have pauses of their own.
    let error = refused(403, Some("5"), json!({})).await;
    assert_eq!(error.pause().as_secs(), 600);
}

#[tokio::test]
async fn an_error_on_a_later_page_is_classified_as_well() {
    let (links, arm) = world();
    let one = balancer("lb", &[("a", "10.0.0.4", "vnet-a")]);
    arm.list(LIST, vec![vec![one], vec![]]);
    let busy = Reply::Status(429, Some("120"), json!({}));
    arm.reply(&format!("GET {LIST} 1"), busy);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Throttled);
    assert_eq!(error.pause().as_secs(), 120);
}

#[tokio::test]
async fn an_azure_that_cannot_be_reached_is_unexpected() {
    let (links, arm) = world();
    arm.reply("GET", Reply::Closes);
    for error in [
        links.frontend(&request("10.0.0.4")).await.unwrap_err(),
        links.reject(&rejection()).await.unwrap_err(),
    ] {
        assert_eq!(
            (error.fault, error.pause().as_secs()),
            (AzureFault::Other, 120)
        );
        assert!(
            error.to_string().starts_with("Unexpected error: cannot "),
            "{error}"
        );
        assert!(error.to_string().ends_with("Connection refused"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_azure_that_never_answers_is_given_up_after_a_minute() {
    let (links, arm) = world();
    arm.reply("GET", Reply::Silent);
    let start = tokio::time::Instant::now();
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert!(
        error.to_string().contains("did not answer within 60 s"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_azure_that_takes_its_time_for_every_page_is_given_up_after_90_seconds() {
    let arm = Arm::slow(50);
    arm.list(LIST, vec![vec![]; 3]);
    let start = tokio::time::Instant::now();
    let error = links(&arm)
        .frontend(&request("10.0.0.4"))
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), PATIENCE);
    assert_eq!(error.fault, AzureFault::Other);
    assert!(error.to_string().contains("within 90 seconds"), "{error}");
}

#[tokio::test]
async fn an_identity_without_a_token_is_reported_as_entra_id_does() {
    let arm = Arc::new(Arm::default());
    let source = Source {
        host: HOST,
        refusal: Some("AADSTS7000215: Invalid client secret provided. Trace ID: 1"),
    };
    let links = links_of(&arm, source);
    for error in [
        links.frontend(&request("10.0.0.4")).await.unwrap_err(),
        links.reject(&rejection()).await.unwrap_err(),
    ] {
        assert_eq!(
            (error.fault, error.error.class()),
            (AzureFault::Denied, ErrorClass::Denied)
        );
        assert!(error.to_string().contains("AADSTS7000215"), "{error}");
    }
    assert!(arm.requests().is_empty());
}

#[tokio::test]
async fn a_cloud_that_does_not_exist_is_refused() {
    let (links, arm) = world();
    let mut request = rejection();
    request.caller.environment = "AzureGermanCloud".to_owned();
    let error = links.reject(&request).await.unwrap_err();
    assert_eq!(
        (error.fault, error.error.class()),
        (AzureFault::Other, ErrorClass::Invalid)
    );
    assert!(error.to_string().contains("AzureGermanCloud"), "{error}");
    assert!(arm.requests().is_empty());
}

#[tokio::test]
async fn a_token_is_neither_logged_nor_repeated() {
    let log = Log::begin();
    for status in [400, 401, 403, 409, 429, 500] {
        let text = format!("{} Authorization: Bearer {TOKEN}", "x".repeat(280));
        let error = refused(status, None, error(TOKEN, &text)).await;
        assert!(!error.to_string().contains("a-token"), "{error}");
    }
    tracing::trace!("the end");
    let text = log.end();
    assert!(text.contains("the end"), "{text}");
    assert!(!text.contains(TOKEN), "{text}");
}
