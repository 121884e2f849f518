//! The connections to a Private Link Service that is to be deleted.

use super::arm::{Reply, error};
use super::*;

fn connections(all: &[(&str, &str)]) -> Value {
    let all: Vec<Value> = all
        .iter()
        .map(|(name, status)| connection(name, status))
        .collect();
    json!({"privateEndpointConnections": all})
}

/// The names of the connections that were updated.
fn updated(arm: &Arm) -> Vec<String> {
    let requests = arm.requests();
    let puts = requests
        .iter()
        .filter_map(|asked| asked.strip_prefix("PUT "));
    puts.map(|path| path.rsplit_once('/').unwrap().1.to_owned())
        .collect()
}

#[tokio::test]
async fn approved_and_pending_connections_are_rejected_and_counted() {
    for status in [200, 201, 202] {
        let arm = Arm::answering_updates(status);
        let states = [
            ("approved.1", "Approved"),
            ("rejected", "Rejected"),
            ("pending_2", "Pending"),
            ("gone", "Disconnected"),
        ];
        arm.service(SERVICE, &connections(&states));
        let links = links(&arm);
        assert_eq!(links.reject(&rejection()).await, Ok(2));
        assert_eq!(updated(&arm), ["approved.1", "pending_2"]);
        // What takes long is still open, and is asked for again.
        let left = match status {
            202 => 2,
            _ => 0,
        };
        assert_eq!(links.reject(&rejection()).await, Ok(left));
        if status != 202 {
            let state = arm.state(SERVICE, "approved.1");
            assert_eq!(state["status"], "Rejected");
        }
    }
}

#[tokio::test]
async fn a_connection_without_a_private_endpoint_is_rejected_without_one() {
    let (links, arm) = world();
    let mut open = connections(&[("a", "Approved")]);
    let properties = &mut open["privateEndpointConnections"][0]["properties"];
    properties
        .as_object_mut()
        .unwrap()
        .remove("privateEndpoint");
    arm.service(SERVICE, &open);
    assert_eq!(links.reject(&rejection()).await, Ok(1));
}

#[tokio::test]
async fn entries_without_a_name_or_a_state_are_skipped() {
    let (links, arm) = world();
    let mut nameless = connection("x", "Approved");
    nameless.as_object_mut().unwrap().remove("name");
    let mut stateless = connection("stateless", "Approved");
    stateless["properties"]["privateLinkServiceConnectionState"] = Value::Null;
    let mut odd = connection("odd", "Approved");
    odd["properties"]["privateLinkServiceConnectionState"]["status"] = json!(7);
    let all = json!([
        null, 7, {}, {"name": "n"}, {"name": "n", "properties": null},
        nameless, connection("", "Approved"), stateless, odd, connection("a", "Approved")
    ]);
    arm.service(SERVICE, &json!({"privateEndpointConnections": all}));
    assert_eq!(links.reject(&rejection()).await, Ok(1));
    assert_eq!(updated(&arm), ["a"]);
}

#[tokio::test]
async fn no_connections_no_properties_or_no_service_are_none() {
    for properties in [
        json!({"privateEndpointConnections": []}),
        json!({"privateEndpointConnections": null}),
        json!({}),
        Value::Null,
    ] {
        let (links, arm) = world();
        arm.service(SERVICE, &properties);
        assert_eq!(links.reject(&rejection()).await, Ok(0));
    }
    let (links, arm) = world();
    assert_eq!(links.reject(&rejection()).await, Ok(0));
    assert_eq!(arm.requests(), [format!("GET {SERVICE}")]);
}

#[tokio::test]
async fn a_service_that_cannot_be_read_is_an_error() {
    let (links, arm) = world();
    arm.reply(
        "GET",
        Reply::Status(500, None, error("InternalServerError", "id 77")),
    );
    let error = links.reject(&rejection()).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Other);
    assert_eq!(
        error.to_string(),
        format!(
            "Azure API error (HTTP 500): InternalServerError: cannot read the Private Link Service '{SERVICE}'"
        )
    );
}

#[tokio::test]
async fn an_update_that_fails_is_an_error() {
    for (status, fault, seconds) in [
        (400, AzureFault::Other, 120),
        (403, AzureFault::Denied, 600),
        (409, AzureFault::Conflict, 30),
        (429, AzureFault::Throttled, 11),
        (500, AzureFault::Other, 120),
        (204, AzureFault::Other, 120),
    ] {
        let (links, arm) = world();
        arm.service(SERVICE, &connections(&[("a", "Approved")]));
        let after = (status == 429).then_some("11");
        arm.reply("PUT", Reply::Status(status, after, error("No", "no")));
        let error = links.reject(&rejection()).await.unwrap_err();
        assert_eq!((error.fault, error.pause().as_secs()), (fault, seconds));
        let what =
            format!("cannot reject the connection 'a' of the Private Link Service '{SERVICE}'");
        assert!(error.to_string().contains(&what), "{error}");
    }
}

#[tokio::test]
async fn a_conflict_of_one_connection_does_not_keep_the_others() {
    let (links, arm) = world();
    arm.service(
        SERVICE,
        &connections(&[("a", "Approved"), ("b", "Pending")]),
    );
    let busy = Reply::Status(409, None, error("AnotherOperationInProgress", "busy"));
    arm.reply(&format!("PUT {SERVICE}/privateEndpointConnections/a"), busy);
    let error = links.reject(&rejection()).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Conflict);
    assert_eq!(updated(&arm), ["a", "b"]);
    assert_eq!(arm.state(SERVICE, "b")["status"], "Rejected");
}

#[tokio::test]
async fn a_throttled_rejection_is_the_last_one() {
    let (links, arm) = world();
    arm.service(
        SERVICE,
        &connections(&[("a", "Approved"), ("b", "Pending")]),
    );
    arm.reply("PUT", Reply::Status(429, None, json!({})));
    links.reject(&rejection()).await.unwrap_err();
    assert_eq!(updated(&arm), ["a"]);
}

#[tokio::test]
async fn a_connection_that_went_meanwhile_is_not_open() {
    let (links, arm) = world();
    arm.service(
        SERVICE,
        &connections(&[("a", "Approved"), ("b", "Pending")]),
    );
    let gone = Reply::Status(404, None, error("NotFound", "gone"));
    arm.reply(&format!("PUT {SERVICE}/privateEndpointConnections/a"), gone);
    assert_eq!(links.reject(&rejection()).await, Ok(1));
}

#[tokio::test]
async fn fifty_connections_are_rejected_at_a_time_and_all_are_counted() {
    let (links, arm) = world();
    let names: Vec<String> = (0..60).map(|n| format!("c{n}")).collect();
    let all: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "Approved"))
        .collect();
    arm.service(SERVICE, &connections(&all));
    assert_eq!(links.reject(&rejection()).await, Ok(60));
    assert_eq!(updated(&arm).len(), 50);
    assert_eq!(links.reject(&rejection()).await, Ok(10));
    assert_eq!(links.reject(&rejection()).await, Ok(0));
}

#[tokio::test]
async fn a_service_is_asked_for_whatever_the_case_of_its_id() {
    let (links, arm) = world();
    arm.service(SERVICE, &connections(&[("a", "Approved")]));
    let mut request = rejection();
    request.service = SERVICE.replace("resourceGroups", "RESOURCEGROUPS");
    assert_eq!(links.reject(&request).await, Ok(1));
}
