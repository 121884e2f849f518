//! Connections of others to a Private Link Service.
//!
//! In: a service that is to be deleted. Out: the number of its open connections, after a request to reject each. A rejection
//! takes its time, and nobody waits for it here: whoever asks again sees what is left. It does not know why the service goes.

use azure_core::http::StatusCode;
use serde_json::{Map, Value, json};

use super::arm_id::{ArmId, is_resource_name};
use super::session::Session;
use crate::model::AzureError;

/// The kind of the service.
pub(super) const KIND: &str = "privateLinkServices";

/// The description of a rejected connection.
const DESCRIPTION: &str = "Rejected during Private Link Service deletion";

/// The largest number of connections that are rejected at a time.
const AT_ONCE: usize = 50;

/// The longest name of a connection: that of an endpoint, and an ID.
const LONGEST_NAME: usize = 200;

/// A connection that is approved or pending.
struct Connection<'a> {
    name: &'a str,
    /// Its private endpoint, as Azure describes it.
    endpoint: Option<&'a Value>,
}

/// Rejects every open connection of a service. Returns how many there were; none if there is no such service.
pub(super) async fn reject(session: &Session, service: &ArmId) -> Result<usize, AzureError> {
    let task = session.task(
        format!("read the Private Link Service '{service}'"),
        "Microsoft.Network/privateLinkServices/read",
    );
    let answer = session.get(session.url(&service.path()), &task).await?;
    if answer.status() == StatusCode::NotFound {
        return Ok(0);
    }
    let body = session.json(&answer, &task)?;
    if !body.is_object() {
        return Err(task.unexpected("its answer is not a Private Link Service"));
    }
    let open = open_connections(&body);
    let (mut gone, mut failure) = (0, None);
    for connection in open.iter().take(AT_ONCE) {
        match reject_one(session, service, connection).await? {
            Rejection::Accepted => {}
            Rejection::Gone => gone += 1,
            Rejection::Refused(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(open.len() - gone), Err)
}

/// The answer to a rejection.
enum Rejection {
    Accepted,
    Gone,
    /// The reason is this connection's own: others may be rejected.
    Refused(AzureError),
}

async fn reject_one(
    session: &Session,
    service: &ArmId,
    connection: &Connection<'_>,
) -> Result<Rejection, AzureError> {
    let name = connection.name;
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    let task = session.task(
        format!("reject the connection '{shown}' of the Private Link Service '{service}'"),
        "Microsoft.Network/privateLinkServices/privateEndpointConnections/write",
    );
    if !is_resource_name(name, LONGEST_NAME) {
        let error = task.unexpected("its name is not that of a connection");
        return Ok(Rejection::Refused(error));
    }
    let mut path = service.path();
    path.extend(["privateEndpointConnections", name]);
    let url = session.url(&path);
    let answer = session.put(url, &rejected(connection), &task).await?;
    match u16::from(answer.status()) {
        200..=202 => Ok(Rejection::Accepted),
        404 => Ok(Rejection::Gone),
        409 => Ok(Rejection::Refused(session.refused(&answer, &task))),
        _ => Err(session.refused(&answer, &task)),
    }
}

/// The connections that are approved or pending and have a name.
fn open_connections(service: &Value) -> Vec<Connection<'_>> {
    let all = service.pointer("/properties/privateEndpointConnections");
    let all = all.and_then(Value::as_array).into_iter().flatten();
    let open = |connection| {
        let text = |path: &str| Value::pointer(connection, path).and_then(Value::as_str);
        let status = text("/properties/privateLinkServiceConnectionState/status")?;
        let is_open = ["Approved", "Pending"]
            .iter()
            .any(|open| status.eq_ignore_ascii_case(open));
        let name = text("/name").filter(|name| !name.is_empty())?;
        is_open.then_some(Connection {
            name,
            endpoint: connection.pointer("/properties/privateEndpoint"),
        })
    };
    all.filter_map(open).collect()
}

/// The connection as it is to be.
fn rejected(connection: &Connection<'_>) -> Value {
    let mut properties = Map::new();
    if let Some(endpoint) = connection.endpoint {
        properties.insert("privateEndpoint".to_owned(), endpoint.clone());
    }
    let state = json!({"status": "Rejected", "description": DESCRIPTION});
    properties.insert("privateLinkServiceConnectionState".to_owned(), state);
    json!({"name": connection.name, "properties": properties})
}
