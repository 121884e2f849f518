//! What a resource gives to others once Azure made it: ConfigMaps, a Secret, and what Azure reports of it.
//!
//! In: a resource that succeeds, and the time. Out: writes, and a partial status. Every number comes from the ARM id, so
//! that it is the same in every run.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};

use super::super::azure::Azure;
use super::super::network;
use super::arm::uuid;
use crate::api::labels::RESOURCE_ID;
use crate::health::Live;
use crate::reconcile::outcome::Write;

/// A certificate authority that has signed nothing.
const AUTHORITY: &str = include_str!("certificate.pem");

/// How long the token of a kubeconfig is valid.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 3600);

/// How long before its end a token is issued again: the operator does it with each of its hourly reconciliations.
const RENEWED: Duration = Duration::from_secs(3600);

/// The longest domain prefix the service gives (facts/aro-rules.md §2.2).
const LONGEST_PREFIX: usize = 15;

/// The ConfigMaps and the Secret that the resource asks for.
pub(super) fn writes(live: Live<'_>, now: Timestamp, state: &Value) -> Vec<Write> {
    let maps = config_maps(live, state).into_iter();
    maps.chain(kubeconfig(live, now))
        .map(Write::Apply)
        .collect()
}

/// What Azure reports once it has what the spec asks for: a status without conditions.
pub(super) fn state(azure: &Azure, live: Live<'_>, id: &str) -> Value {
    let mut state = reported(azure, live, id);
    let name = id.rsplit('/').next().unwrap_or_default();
    state["id"] = json!(id);
    state["name"] = json!(name);
    for field in ["location", "tags"] {
        if let Some(value) = live.at(&["spec", field]) {
            state[field] = value.clone();
        }
    }
    state
}

/// What is particular to the kind.
fn reported(azure: &Azure, live: Live<'_>, id: &str) -> Value {
    match live.kind() {
        _ if network::is_known(live) => network::state(azure, live, id),
        "UserAssignedIdentity" => json!({
            "principalId": identity_value("principalId", id),
            "clientId": identity_value("clientId", id),
            "tenantId": identity_value("tenantId", id),
        }),
        "HcpOpenShiftCluster" => cluster(live),
        "HcpOpenShiftClustersNodePool" => node_pool(live),
        "HcpOpenShiftClustersExternalAuth" => {
            json!({"properties": {"provisioningState": "Succeeded"}})
        }
        _ => json!({}),
    }
}

/// One of an identity's numbers. Every identity of a subscription has the same tenant.
fn identity_value(what: &str, id: &str) -> String {
    let subscription = id.split('/').nth(2).unwrap_or_default();
    let of = if what == "tenantId" { subscription } else { id };
    uuid(&[what, &of.to_ascii_lowercase()])
}

/// ConfigMaps by `operatorSpec.configMaps`; several values may go to one.
pub(super) fn config_maps(live: Live<'_>, state: &Value) -> Vec<Value> {
    let asked = live.at(&["spec", "operatorSpec", "configMaps"]);
    let asked = asked.and_then(Value::as_object).into_iter().flatten();
    let mut maps: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (what, place) in asked {
        let (name, key) = (Live(place).text(&["name"]), Live(place).text(&["key"]));
        let id = live.annotation(RESOURCE_ID);
        let value = match what.as_str() {
            network::ADDRESS => network::address(id, state),
            what => identity_value(what, id),
        };
        maps.entry(name)
            .or_default()
            .insert(key.to_owned(), json!(value));
    }
    let map = |(name, data)| output(live, "ConfigMap", name, Value::Object(data));
    maps.into_iter().map(map).collect()
}

/// The admin kubeconfig by `operatorSpec.secrets.adminCredentials`, with a token that is issued now and expires.
pub(super) fn kubeconfig(live: Live<'_>, now: Timestamp) -> Option<Value> {
    let place = live.at(&["spec", "operatorSpec", "secrets", "adminCredentials"])?;
    let (name, key) = (Live(place).text(&["name"]), Live(place).text(&["key"]));
    let authority = json!(ByteString(AUTHORITY.as_bytes().to_vec()));
    let cluster = json!({"server": api_url(live), "certificate-authority-data": authority});
    let expires = now.checked_add(TOKEN_LIFE).unwrap_or(now);
    let token = token(live.annotation(RESOURCE_ID), expires);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "admin", "context": {"cluster": "cluster", "user": "admin"}}],
        "current-context": "admin",
    });
    let encoded = json!(ByteString(config.to_string().into_bytes()));
    let data = Value::Object(Map::from_iter([(key.to_owned(), encoded)]));
    Some(output(live, "Secret", name, data))
}

/// When the kubeconfig in a Secret is to be issued again, if it can be read.
pub(super) fn renewal(secret: Live<'_>) -> Option<Timestamp> {
    let config = secret.at(&["data"])?.as_object()?.values().next()?;
    let config = BASE64_STANDARD.decode(config.as_str()?).ok()?;
    let config: Value = serde_json::from_slice(&config).ok()?;
    let user = Live(config.pointer("/users/0/user")?);
    let claims = user.text(&["token"]).split('.').nth(1)?;
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let end = Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()?;
    end.checked_sub(RENEWED).ok()
}

/// A JSON Web Token that nobody signed: who it is for, and when it expires.
fn token(id: &str, expires: Timestamp) -> String {
    let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({"alg": "none", "typ": "JWT"}));
    let claims = part(
        json!({"sub": "system:admin", "jti": uuid(&["token", id]), "exp": expires.as_second()}),
    );
    format!("{head}.{claims}.")
}

/// An object that is deleted with the resource.
fn output(live: Live<'_>, kind: &str, name: &str, data: Value) -> Value {
    let owner = json!({
        "apiVersion": live.text(&["apiVersion"]),
        "kind": live.kind(),
        "name": live.name(),
        "uid": live.uid(),
    });
    let mut output = json!({
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": live.namespace(), "ownerReferences": [owner]},
    });
    output["data"] = data;
    output
}

fn cluster(live: Live<'_>) -> Value {
    let location = live.text(&["spec", "location"]);
    let prefix = domain_prefix(live);
    let domain = format!("{prefix}.{location}.aroapp-hcp.example");
    json!({"properties": {
        "provisioningState": "Succeeded",
        "api": {"url": api_url(live)},
        "console": {"url": format!("https://console-openshift-console.apps.{domain}")},
        "dns": {"baseDomain": format!("{location}.aroapp-hcp.example"), "baseDomainPrefix": prefix},
        "version": {"id": live.text(&["spec", "properties", "version", "id"])},
    }})
}

fn api_url(live: Live<'_>) -> String {
    let location = live.text(&["spec", "location"]);
    format!(
        "https://api.{}.{location}.aroapp-hcp.example:443/",
        domain_prefix(live)
    )
}

/// The prefix asked for, else one from the name.
fn domain_prefix(live: Live<'_>) -> String {
    let asked = live.text(&["spec", "properties", "dns", "baseDomainPrefix"]);
    if !asked.is_empty() {
        return asked.to_owned();
    }
    let name = live.text(&["spec", "azureName"]);
    let name = if name.is_empty() { live.name() } else { name };
    let cut: String = name.to_lowercase().chars().take(LONGEST_PREFIX).collect();
    cut.trim_end_matches('-').to_owned()
}

/// A pool that scales itself begins with its smallest size.
fn node_pool(live: Live<'_>) -> Value {
    let properties = |path: &[&str]| live.number(&[&["spec", "properties"], path].concat());
    let replicas = properties(&["autoScaling", "min"]).or_else(|| properties(&["replicas"]));
    json!({"properties": {
        "provisioningState": "Succeeded",
        "replicas": replicas.unwrap_or(0),
        "version": {"id": live.text(&["spec", "properties", "version", "id"])},
    }})
}
