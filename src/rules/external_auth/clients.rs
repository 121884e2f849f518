//! E06 to E09: the clients that users log in to.

use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording;

const CLIENTS: &str = "spec.properties.clients";
const TYPES: &[&str] = &["Confidential", "Public"];
const MOST: usize = 20;

/// E06: at most 20 clients, each with all required fields.
pub(super) fn clients_are_whole(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let clients = auth.field(CLIENTS);
    let count = clients.items().count();
    let message = message!("{count} clients, more than {MOST}", count);
    let many = (count > MOST).then(|| clients.finding("E06", message));
    let each = clients.items().flat_map(|client| missing(&client));
    many.into_iter().chain(each).collect()
}

fn missing(client: &Field<'_>) -> Vec<Finding> {
    let component = client.key("component");
    let kind = client.key("type");
    let needed = [
        (component.key("name"), 256),
        (component.key("authClientNamespace"), 63),
        (client.key("clientId"), usize::MAX),
    ];
    let needed = needed
        .iter()
        .filter_map(|(field, most)| wording::missing_or_long(field, "E06", *most));
    let kind = match kind.is_given() {
        true => wording::not_one_of(&kind, "E06", TYPES),
        false => Some(kind.finding("E06", "type is required: Confidential or Public")),
    };
    let scopes = client.key("extraScopes");
    let empty = scopes.items().filter(|scope| scope.text() == Some(""));
    let empty = empty.map(|scope| scope.finding("E06", "a scope is empty"));
    needed.chain(kind).chain(empty).collect()
}

/// E07: no two clients belong to the same component.
pub(super) fn clients_are_apart(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for client in auth.field(CLIENTS).items() {
        let Some(of) = component(&client) else {
            continue;
        };
        if seen.contains(&of) {
            let message = message!(
                "another client already belongs to the component {namespace}/{name}",
                namespace = of.1,
                name = of.0
            );
            let field = client.key("component").key("name");
            findings.push(field.finding("E07", message));
        }
        seen.push(of);
    }
    findings
}

/// E08: each client is one of the issuer's audiences.
pub(super) fn clients_are_in_the_audience(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let audiences = auth.field("spec.properties.issuer.audiences");
    let audiences: Vec<&str> = audiences.items().filter_map(|item| item.text()).collect();
    let unknown = |client: Field<'_>| {
        let field = client.key("clientId");
        let id = field
            .text()
            .filter(|id| !id.is_empty() && !audiences.contains(id))?;
        let finding = field.finding(
            "E08",
            message!("clientId {id:?} is not one of the issuer's audiences", id),
        );
        Some(finding.help("add it to issuer.audiences, without surrounding spaces"))
    };
    auth.field(CLIENTS).items().filter_map(unknown).collect()
}

/// E09: the console's client is confidential, and no other is.
pub(super) fn only_the_console_is_confidential(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let wrong = |client: Field<'_>| {
        let console = component(&client)? == ("console", "openshift-console");
        let field = client.key("type");
        let message = match (field.text()?, console) {
            ("Public", true) => "the console's client must be Confidential",
            ("Confidential", false) => "only the console's client may be Confidential",
            _ => return None,
        };
        Some(field.finding("E09", message))
    };
    auth.field(CLIENTS).items().filter_map(wrong).collect()
}

/// Name and namespace of a client's component.
fn component<'a>(client: &Field<'a>) -> Option<(&'a str, &'a str)> {
    let component = client.key("component");
    Some((
        component.key("name").text()?,
        component.key("authClientNamespace").text()?,
    ))
}
