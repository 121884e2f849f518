//! Credentials against an Entra ID of our own on loopback.

#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

mod secrets;
mod sharing;
mod types;
mod wrong;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::adapters::azure::authority::{self, Authority, Known};
use crate::model::{ErrorClass, Namespaces};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// Objects, as an API server holds them.
#[derive(Default)]
struct Objects(Mutex<BTreeMap<ObjectId, Value>>);

impl ObjectReader for Objects {
    fn read(&self, id: &ObjectId) -> BoxFuture<'static, Result<Option<Value>, AdapterError>> {
        let found = self.0.lock().unwrap().get(id).cloned();
        std::future::ready(Ok(found)).boxed()
    }
}

struct RealTime;

impl Clock for RealTime {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn real(&self, pause: std::time::Duration) -> std::time::Duration {
        pause
    }
}

/// A management cluster, and an Entra ID.
struct Stage {
    authority: Authority,
    objects: Arc<Objects>,
    files: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        Self {
            authority: Authority::start().await,
            objects: Arc::default(),
            files: tempfile::tempdir().unwrap(),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            options: self.authority.options(),
            authority: Some(self.authority.url()),
            files: Files {
                directory: Some(self.files.path().to_owned()),
                token: Some(self.files.path().join("token")),
            },
            ..Settings::default()
        }
    }

    fn credentials(&self) -> AzureCredentials {
        self.with(self.settings())
    }

    fn with(&self, settings: Settings) -> AzureCredentials {
        let objects: Arc<dyn ObjectReader> = Arc::clone(&self.objects) as _;
        AzureCredentials::new(objects, Arc::new(RealTime), settings)
    }

    /// Writes a file of the identities in `team-a`, and names it.
    fn own_file(&self, name: &str, content: &str) -> String {
        std::fs::create_dir_all(self.files.path().join("team-a")).unwrap();
        self.file(&format!("team-a/{name}"), content)
    }

    /// Writes a file, and names it.
    fn file(&self, name: &str, content: &str) -> String {
        let path = self.files.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn put(&self, id: &ObjectId, mut object: Value) {
        object["metadata"]["name"] = json!(id.name);
        object["metadata"]["namespace"] = json!(id.namespace);
        self.objects.0.lock().unwrap().insert(id.clone(), object);
    }

    /// An identity `name` in `team-a`, of client `name` in tenant `tenant`, that all namespaces may use.
    fn identity(&self, name: &str, spec: Value) -> ObjectId {
        let id = identity_id("team-a", name);
        let mut whole = json!({"clientID": name, "tenantID": "tenant", "allowedNamespaces": {}});
        for (field, value) in spec.as_object().unwrap() {
            whole[field] = value.clone();
        }
        let object = json!({"apiVersion": format!("{INFRASTRUCTURE}/v1beta1"), "kind": "AzureClusterIdentity", "spec": whole});
        self.put(&id, object);
        id
    }

    fn secret(&self, namespace: &str, name: &str, keys: &[(&str, &str)]) {
        let data = keys.iter();
        let data: BTreeMap<&str, String> = data
            .map(|(key, value)| (*key, BASE64_STANDARD.encode(value)))
            .collect();
        let id = ObjectId::new("", "Secret", namespace, name);
        self.put(&id, json!({"data": data}));
    }

    /// A service principal that Entra ID knows by the password in its Secret.
    fn principal(&self, name: &str, password: &str) -> ObjectId {
        let known = Known::Password(password.to_owned());
        self.authority.know("tenant", name, known);
        self.secret("team-a", name, &[("clientSecret", password)]);
        let spec = json!({"type": "ServicePrincipal", "clientSecret": {"name": name}});
        self.identity(name, spec)
    }
}

fn identity_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name)
}

fn request(of: &ObjectId) -> CredentialRequest {
    CredentialRequest {
        of: CredentialOf::Identity(of.clone()),
        environment: String::new(),
        version: String::new(),
    }
}

fn secret_request(of: &ObjectId, namespace: &str) -> AsoSecretRequest {
    AsoSecretRequest {
        credential: request(of),
        namespace: namespace.to_owned(),
        subscription: "subscription".to_owned(),
    }
}

/// The content of a Secret for Azure Service Operator, or the error.
async fn aso(
    credentials: &AzureCredentials,
    request: &AsoSecretRequest,
) -> Result<BTreeMap<String, String>, AdapterError> {
    let content = credentials.aso_secret(request).await?;
    let content = content.0.into_iter();
    Ok(content
        .map(|(key, value)| (key, String::from_utf8(value).unwrap()))
        .collect())
}
