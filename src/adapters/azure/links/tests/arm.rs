//! A strict stand-in for Azure Resource Manager behind the port of azure_core. It refuses whatever its rules do not have, by a
//! panic, and each rule names the line of the facts that it comes from.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_core::Bytes;
use azure_core::error::ErrorKind;
use azure_core::http::headers::{HeaderName, Headers};
use azure_core::http::{AsyncRawResponse, HttpClient, Method, Request};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

pub(super) const TOKEN: &str = "a-token-that-nobody-may-see";
pub(super) const HOST: &str = "management.azure.com";

/// The answer to some requests, whatever the rules say.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A status, `Retry-After`, and a body.
    Status(u16, Option<&'static str>, Value),
    /// A body that may be no JSON.
    Body(&'static str),
    /// Spaces without an end.
    Endless,
    /// The connection is refused.
    Closes,
    /// Nothing, ever.
    Silent,
}

/// Azure.
#[derive(Debug, Default)]
pub(super) struct Arm {
    /// The host that is asked; [`HOST`] if empty.
    pub(super) host: &'static str,
    /// By the path of a list in small letters: its pages.
    lists: Mutex<BTreeMap<String, Vec<Vec<Value>>>>,
    /// By its path in small letters: a Private Link Service.
    services: Mutex<BTreeMap<String, Value>>,
    /// Requests that begin so, and what they get.
    replies: Mutex<Vec<(String, Reply)>>,
    /// The status of the answer to an update; 200 if this is 0.
    put_status: u16,
    /// The time that each answer takes.
    delay: Duration,
    requests: Mutex<Vec<String>>,
}

impl Arm {
    /// The one of a cloud.
    pub(super) fn at(host: &'static str) -> Arc<Self> {
        Arc::new(Self {
            host,
            ..Self::default()
        })
    }

    /// One that takes so many seconds for each answer.
    pub(super) fn slow(seconds: u64) -> Arc<Self> {
        Arc::new(Self {
            delay: Duration::from_secs(seconds),
            ..Self::default()
        })
    }

    /// One that answers an update with this status.
    pub(super) fn answering_updates(put_status: u16) -> Arc<Self> {
        Arc::new(Self {
            put_status,
            ..Self::default()
        })
    }

    pub(super) fn list(&self, path: &str, pages: Vec<Vec<Value>>) {
        let mut lists = self.lists.lock().unwrap();
        lists.insert(path.to_lowercase(), pages);
    }

    pub(super) fn service(&self, id: &str, properties: &Value) {
        let service = json!({"id": id, "name": "pls", "properties": properties});
        let mut services = self.services.lock().unwrap();
        services.insert(id.to_lowercase(), service);
    }

    /// Requests that begin with `request` get this reply from now on.
    pub(super) fn reply(&self, request: &str, reply: Reply) {
        let mut replies = self.replies.lock().unwrap();
        replies.insert(0, (request.to_owned(), reply));
    }

    /// Everything is answered by the rules again.
    pub(super) fn recover(&self) {
        self.replies.lock().unwrap().clear();
    }

    /// The requests so far, with the page that they are for.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The state of a connection.
    pub(super) fn state(&self, service: &str, connection: &str) -> Value {
        let services = self.services.lock().unwrap();
        let service = &services[&service.to_lowercase()];
        let all = service.pointer("/properties/privateEndpointConnections");
        let all = all.and_then(Value::as_array).unwrap();
        let found = all.iter().find(|one| one["name"] == connection).unwrap();
        found["properties"]["privateLinkServiceConnectionState"].clone()
    }

    /// Checks what every request has. Returns the page that it is for.
    fn admit(&self, request: &Request) -> usize {
        let url = request.url();
        let host = match self.host {
            "" => HOST,
            host => host,
        };
        // private-topology §3: the cloud comes from the object's environment.
        let origin = (url.scheme(), url.host_str(), url.port());
        assert_eq!(origin, ("https", Some(host), None), "{url}");
        assert_eq!((url.username(), url.password()), ("", None), "{url}");
        let header = |name| request.headers().get_optional_str(&HeaderName::from(name));
        // private-topology §3: requests are those of an identity.
        let token = format!("Bearer {TOKEN}");
        assert_eq!(header("authorization"), Some(token.as_str()));
        assert_eq!(header("accept"), Some("application/json"));
        let mut query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        // private-topology §2: the version of Microsoft.Network is 2023-11-01.
        let version = ("api-version".to_owned(), "2023-11-01".to_owned());
        assert_eq!(query.remove(0), version, "{url}");
        match query.as_slice() {
            [] => 0,
            [(name, page)] if name == "$skiptoken" => page.parse().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn answer(&self, request: &Request, page: usize) -> (u16, Value) {
        let path = request.url().path().to_lowercase();
        let body: Bytes = request.body().into();
        // private-topology §2.2: reject updates a connection.
        if request.method() == Method::Put {
            return self.reject(&path, page, request, &body);
        }
        assert_eq!((request.method(), body.len()), (Method::Get, 0));
        // private-topology §2.2: ILB lookup lists the load balancers of a resource group.
        if path.ends_with("/providers/microsoft.network/loadbalancers") {
            return self.listed(request, &path, page);
        }
        // private-topology §2.2: delete() reads the Private Link Service; 404 anywhere is done.
        let parts: Vec<&str> = path.split('/').collect();
        assert_eq!((parts.len(), page), (9, 0), "{path}");
        assert_eq!(parts[7], "privatelinkservices", "{path}");
        match self.services.lock().unwrap().get(&path) {
            Some(service) => (200, service.clone()),
            None => (
                404,
                error("ResourceNotFound", "The Resource was not found."),
            ),
        }
    }

    fn listed(&self, request: &Request, path: &str, page: usize) -> (u16, Value) {
        let lists = self.lists.lock().unwrap();
        let Some(pages) = lists.get(path) else {
            let text = "Resource group 'rg' could not be found.";
            return (404, error("ResourceGroupNotFound", text));
        };
        let mut list = json!({"value": pages[page]});
        if page + 1 < pages.len() {
            let mut next = request.url().clone();
            let token = (page + 1).to_string();
            next.set_query(Some("api-version=2023-11-01"));
            next.query_pairs_mut().append_pair("$skiptoken", &token);
            list["nextLink"] = json!(next.to_string());
        }
        (200, list)
    }

    fn reject(&self, path: &str, page: usize, request: &Request, body: &Bytes) -> (u16, Value) {
        let (service, name) = path.split_once("/privateendpointconnections/").unwrap();
        assert!(page == 0 && !name.contains('/'), "{path}");
        let kind = HeaderName::from("content-type");
        let kind = request.headers().get_optional_str(&kind);
        assert_eq!(kind, Some("application/json"));
        let mut services = self.services.lock().unwrap();
        let service = services.get_mut(service).unwrap();
        let all = service.pointer_mut("/properties/privateEndpointConnections");
        let mut all = all.and_then(Value::as_array_mut).unwrap().iter_mut();
        let found =
            all.find(|one| one["name"].as_str().map(str::to_lowercase).as_deref() == Some(name));
        let connection = found.unwrap();
        let state = &connection["properties"]["privateLinkServiceConnectionState"]["status"];
        // private-topology §2.2: only those in Approved or Pending are updated.
        assert!(*state == "Approved" || *state == "Pending", "{state}");
        // private-topology §2.2: to Rejected, with this description.
        let state = json!({"status": "Rejected", "description": "Rejected during Private Link Service deletion"});
        let mut wanted = json!({"name": connection["name"], "properties": {"privateLinkServiceConnectionState": state}});
        if let Some(endpoint) = connection["properties"].get("privateEndpoint") {
            wanted["properties"]["privateEndpoint"] = endpoint.clone();
        }
        let body: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(body, wanted);
        let status = match self.put_status {
            0 => 200,
            status => status,
        };
        // private-topology §2 "Common constants": a long-running operation is done later.
        if status != 202 {
            connection["properties"]["privateLinkServiceConnectionState"] = state;
        }
        (status, connection.clone())
    }
}

impl HttpClient for Arm {
    fn execute_request<'s, 'r, 'f>(
        &'s self,
        request: &'r Request,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
    where
        's: 'f,
        'r: 'f,
    {
        let page = self.admit(request);
        let mut asked = format!("{} {}", request.method(), request.url().path());
        if page > 0 {
            asked = format!("{asked} {page}");
        }
        self.requests.lock().unwrap().push(asked.clone());
        let replies = self.replies.lock().unwrap().clone();
        let reply = replies
            .into_iter()
            .find(|(start, _)| asked.starts_with(start));
        let mut headers = Headers::default();
        let (status, body) = match reply.map(|(_, reply)| reply) {
            None => {
                let (status, body) = self.answer(request, page);
                (status, body.to_string())
            }
            Some(Reply::Status(status, after, body)) => {
                if let Some(after) = after {
                    headers.insert("retry-after", after);
                }
                (status, body.to_string())
            }
            Some(Reply::Body(body)) => (200, body.to_owned()),
            Some(Reply::Endless) => {
                let parts = stream::repeat_with(|| Ok(Bytes::from(vec![b' '; 1 << 20]))).boxed();
                let answer = AsyncRawResponse::new(200.into(), headers, parts);
                return std::future::ready(Ok(answer)).boxed();
            }
            Some(Reply::Closes) => {
                let cause = std::io::Error::other("tcp connect error: Connection refused");
                let error = azure_core::Error::new(ErrorKind::Io, cause);
                return std::future::ready(Err(error)).boxed();
            }
            Some(Reply::Silent) => return std::future::pending().boxed(),
        };
        let answer = AsyncRawResponse::from_bytes(status.into(), headers, body.into_bytes());
        let delay = self.delay;
        async move {
            tokio::time::sleep(delay).await;
            Ok(answer)
        }
        .boxed()
    }
}

/// An error as Azure describes it.
pub(super) fn error(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}
