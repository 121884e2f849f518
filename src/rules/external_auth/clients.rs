//! E06 to E09: the clients that users log in to.

use std::collections::HashSet;

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
    let help = "keep at most 20 clients";
    let many = (count > MOST).then(|| clients.finding("E06", message).help(help));
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
    let absent = wording::missing_or_long(&kind, "E06", usize::MAX);
    let absent = absent.map(|finding| finding.help("write `Confidential` or `Public`"));
    let kind = absent.or_else(|| wording::one_of(&kind, "E06", TYPES));
    let scopes = client.key("extraScopes");
    let empty = scopes.items().filter(|scope| scope.text() == Some(""));
    let empty = empty.map(|scope| {
        let finding = scope.finding("E06", "a scope is empty");
        finding.help("write a scope such as email, or remove the item")
    });
    needed.chain(kind).chain(empty).collect()
}

/// E07: no two clients belong to the same component.
pub(super) fn clients_are_apart(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let mut findings = Vec::new();
    for client in auth.field(CLIENTS).items() {
        let Some(of) = component(&client) else {
            continue;
        };
        if !seen.insert(of) {
            let message = message!(
                "another client already belongs to the component {namespace}/{name}",
                namespace = of.1,
                name = of.0
            );
            let field = client.key("component").key("name");
            let help = "remove one of the clients, or give it another component";
            findings.push(field.finding("E07", message).help(help));
        }
    }
    findings
}

/// E08: each client is one of the issuer's audiences.
pub(super) fn clients_are_in_the_audience(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let audiences = auth.field("spec.properties.issuer.audiences");
    let texts: Option<HashSet<&str>> = audiences.items().map(|item| item.text()).collect();
    let is_list = audiences.node.is_none_or(|node| node.as_list().is_some());
    // E04 and S02 report values of the wrong type.
    let Some(audiences) = texts.filter(|_| is_list) else {
        return Vec::new();
    };
    let unknown = |client: Field<'_>| {
        let field = client.key("clientId");
        let id = field
            .text()
            .filter(|id| !id.is_empty() && !audiences.contains(id))?;
        let name = field.name();
        let message = message!(
            "{name} {id:?} is not one of the issuer's audiences",
            name,
            id
        );
        let help = "add it to issuer.audiences, without surrounding spaces";
        Some(field.finding("E08", message).help(help))
    };
    auth.field(CLIENTS).items().filter_map(unknown).collect()
}

/// E09: the console's client is confidential, and no other is.
pub(super) fn only_the_console_is_confidential(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let wrong = |client: Field<'_>| {
        let console = component(&client)? == ("console", "openshift-console");
        let field = client.key("type");
        let (message, help) = match (field.text()?, console) {
            ("Public", true) => (
                "the console's client must be Confidential",
                "write `type: Confidential`",
            ),
            ("Confidential", false) => (
                "only the console's client may be Confidential",
                "write `type: Public`",
            ),
            _ => return None,
        };
        Some(field.finding("E09", message).help(help))
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
