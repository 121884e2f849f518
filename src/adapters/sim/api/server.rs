//! The server: requests in, responses out.
//!
//! In: HTTP requests, from a `kube::Client` in this process or from a port. Out: responses. What a
//! request means is worked out here; what it does is done elsewhere, in plain functions under one
//! lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use super::builtin::Trait;
use super::delete::{self, Deleted};
use super::discovery;
use super::gc;
use super::list;
use super::object::{Form, Stored};
use super::path::{self, Route, Target};
use super::request::{
    self, BODY_LIMIT, DeleteOptions, ListOptions, Query, WatchOptions, WriteOptions,
};
use super::resources::Resource;
use super::scope::Scope;
use super::status::{self, Refusal};
use super::store::{Address, State};
use super::strategy::Part;
use super::watch;
use super::write::{self, Patch, Write, Written};
use crate::model::Clock;

/// A Kubernetes API server in this process. Clones are handles to the same one.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

/// What requests share.
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Shared {
    /// The state, locked. A thread that panicked with the lock held left it whole: every change is
    /// made in one step.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> String {
        let now = self.clock.now();
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

impl Server {
    /// A server with the namespaces `default` and `kube-system`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::new(State::new());
        let server = Self(Arc::new(Shared { state, clock }));
        let now = server.0.now();
        let options = WriteOptions {
            dry_run: false,
            manager: "kube-apiserver".into(),
            validation: request::FieldValidation::Ignore,
            force: false,
        };
        let mut state = server.0.lock();
        let namespaces = state.registry.find("", "v1", "namespaces");
        let namespaces = namespaces.expect("namespaces are in the table");
        for name in ["default", "kube-system"] {
            let write = Write {
                resource: &namespaces,
                namespace: "",
                name: "",
                part: Part::Main,
                options: &options,
                now: &now,
            };
            let made = write::create(&mut state, write, json!({"metadata": {"name": name}}));
            made.expect("a new server has no namespaces");
        }
        drop(state);
        server
    }

    /// The server as a service: for [`kube::Client::new`] or for a port.
    pub fn router(&self) -> Router {
        Router::new().fallback({
            let server = self.clone();
            move |request: Request<Body>| async move { server.serve(request).await }
        })
    }

    /// A client that talks to the server without a socket. Must be called within a tokio runtime.
    #[must_use]
    pub fn client(&self, namespace: &str) -> kube::Client {
        kube::Client::new(self.router(), namespace)
    }

    /// Every object, by resource, namespace and name.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Value> {
        let state = self.0.lock();
        let value = |(address, stored): (Address, &Stored)| {
            let resource = state.registry.of_collection(&address.collection)?;
            Some(stored.value(resource))
        };
        state.all().filter_map(value).collect()
    }

    /// Forgets all history, as a compaction of etcd does: watches and continued lists of older
    /// versions are answered with 410.
    pub fn compact(&self) {
        self.0.lock().forget();
    }

    async fn serve(self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answer = match path::route(parts.uri.path()) {
            Route::Target(target) => self.serve_target(&parts, &target, body).await,
            route if parts.method == Method::GET => self.document(&route),
            Route::Unknown => None,
            _ => Some(Err(Refusal::method_not_allowed())),
        };
        match answer {
            Some(Ok(response)) => response,
            Some(Err(refusal)) => refused(&refusal),
            None => page(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }

    /// A document of discovery; none when there is no such thing.
    fn document(&self, route: &Route) -> Option<Answer> {
        let state = self.0.lock();
        let registry = &state.registry;
        let document = match route {
            Route::Version => discovery::version(),
            Route::Health => return Some(Ok(page(StatusCode::OK, "ok"))),
            Route::CoreVersions => discovery::core_versions(),
            Route::Groups => discovery::groups(registry),
            Route::Group(group) => discovery::group(registry, group)?,
            Route::Resources { group, version } => discovery::resources(registry, group, version)?,
            Route::Target(_) | Route::Unknown => return None,
        };
        Some(Ok(json_response(StatusCode::OK, &document)))
    }

    /// Serves a collection, an object or a subresource; none when nothing of the kind is served.
    async fn serve_target(&self, parts: &Parts, target: &Target, body: Body) -> Option<Answer> {
        let found = {
            let state = self.0.lock();
            let registry = &state.registry;
            registry.find(&target.group, &target.version, &target.plural)
        };
        let resource = found?;
        let part = match target.subresource.as_deref() {
            None => Part::Main,
            Some("status") if resource.has(Trait::Status) => Part::Status,
            Some(_) => return None,
        };
        let somewhere = target.namespace.is_some();
        if somewhere && !resource.namespaced
            || !somewhere && resource.namespaced && target.name.is_some()
        {
            return None;
        }
        let call = Call {
            shared: &self.0,
            resource,
            target,
            part,
            query: path::query(parts.uri.query().unwrap_or_default()),
            accept: header_text(parts, header::ACCEPT).map(ToOwned::to_owned),
        };
        Some(call.answer(parts, body).await)
    }
}

type Answer = Result<Response<Body>, Refusal>;

/// One request to a resource.
struct Call<'a> {
    shared: &'a Arc<Shared>,
    resource: Arc<Resource>,
    target: &'a Target,
    part: Part,
    query: Query,
    accept: Option<String>,
}

impl Call<'_> {
    async fn answer(&self, parts: &Parts, body: Body) -> Answer {
        let form = request::form(self.accept.as_deref())?;
        let named = self.target.name.is_some();
        let collective = named || !self.resource.namespaced || self.target.namespace.is_some();
        match (&parts.method, named, self.part) {
            (&Method::GET, ..) if request::flag(&self.query, "watch") => self.watch(form),
            (&Method::GET, false, _) => self.list(form),
            (&Method::GET, true, _) => self.get(form),
            (&Method::DELETE, true, Part::Main) => self.delete(&read(body).await?, form),
            (&Method::DELETE, false, _)
                if collective && !self.resource.has(Trait::NoDeleteCollection) =>
            {
                self.delete_all(&read(body).await?, form)
            }
            (&Method::POST, false, _) if collective => self.create(parts, &read(body).await?, form),
            (&Method::PUT, true, _) => self.update(parts, &read(body).await?, form),
            (&Method::PATCH, true, _) => self.patch(parts, body, form).await,
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    fn namespace(&self) -> &str {
        self.target.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    fn address(&self) -> Address {
        Address::of(&self.resource, self.namespace(), self.name())
    }

    fn scope(&self) -> Result<Scope, Refusal> {
        let (namespace, name) = (
            self.target.namespace.as_deref(),
            self.target.name.as_deref(),
        );
        Scope::read(&self.resource, namespace, name, &self.query)
    }

    fn get(&self, form: Form) -> Answer {
        let object = self.shared.lock().get(&self.address()).cloned();
        let object = object.ok_or_else(|| Refusal::not_found(&self.resource, self.name()))?;
        Ok(self.object(StatusCode::OK, &object, form))
    }

    fn list(&self, form: Form) -> Answer {
        let scope = self.scope()?;
        let options = ListOptions::read(&self.query)?;
        let page = list::list(&self.shared.lock(), &self.resource, &scope, &options)?;
        let mut metadata = json!({"resourceVersion": page.version.to_string()});
        if let Some(next) = &page.next {
            metadata["continue"] = json!(next);
        }
        if let Some(remaining) = page.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        Ok(self.objects(&metadata, &page.items, form))
    }

    fn watch(&self, form: Form) -> Answer {
        let scope = self.scope()?;
        let options = WatchOptions::read(&self.query)?;
        let state = self.shared.lock();
        let stream = watch::open(self.shared, &state, &self.resource, scope, options, form)?;
        Ok(response(StatusCode::OK, Body::from_stream(stream)))
    }

    fn write<'a>(&'a self, options: &'a WriteOptions, now: &'a str) -> Write<'a> {
        Write {
            resource: &self.resource,
            namespace: self.namespace(),
            name: self.name(),
            part: self.part,
            options,
            now,
        }
    }

    fn create(&self, parts: &Parts, body: &[u8], form: Form) -> Answer {
        let options = WriteOptions::read(&self.query, agent(parts), "CreateOptions")?;
        let object = request::body(media_type(parts), body)?;
        self.do_write(form, |state, now| {
            write::create(state, self.write(&options, now), object)
        })
    }

    fn update(&self, parts: &Parts, body: &[u8], form: Form) -> Answer {
        let options = WriteOptions::read(&self.query, agent(parts), "UpdateOptions")?;
        let object = request::body(media_type(parts), body)?;
        self.do_write(form, |state, now| {
            write::update(state, self.write(&options, now), object)
        })
    }

    async fn patch(&self, parts: &Parts, body: Body, form: Form) -> Answer {
        let kind: fn(Value) -> Patch = match media_type(parts) {
            "application/apply-patch+yaml" => Patch::Apply,
            "application/merge-patch+json" => Patch::Merge,
            "application/json-patch+json" => Patch::Json,
            _ => {
                return Err(Refusal::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]));
            }
        };
        let options = WriteOptions::read(&self.query, agent(parts), "PatchOptions")?;
        let patch = kind(request::document(&read(body).await?)?);
        WriteOptions::check_patch(&self.query, matches!(patch, Patch::Apply(_)))?;
        self.do_write(form, |state, now| {
            write::patch(state, self.write(&options, now), patch)
        })
    }

    /// Writes, and does what the write sets off before anybody else can look.
    fn do_write(
        &self,
        form: Form,
        write: impl FnOnce(&mut State, &str) -> Result<Written, Refusal>,
    ) -> Answer {
        let now = self.shared.now();
        let written = {
            let mut state = self.shared.lock();
            let written = write(&mut state, &now);
            gc::settle(&mut state, &now);
            written?
        };
        let status = match written.created {
            true => StatusCode::CREATED,
            false => StatusCode::OK,
        };
        let mut response = self.object(status, &written.object, form);
        for warning in &written.warnings {
            let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = format!("299 - \"{text}\"").parse() {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        Ok(response)
    }

    fn delete(&self, body: &[u8], form: Form) -> Answer {
        let options = DeleteOptions::read(&self.query, body)?;
        let now = self.shared.now();
        let Deleted { object, gone } = {
            let mut state = self.shared.lock();
            let address = self.address();
            let deleted = delete::delete(&mut state, &self.resource, &address, &options, &now);
            gc::settle(&mut state, &now);
            deleted?
        };
        if gone {
            let status = status::deleted(&self.resource, self.name(), object.uid());
            return Ok(json_response(StatusCode::OK, &status));
        }
        Ok(self.object(StatusCode::OK, &object, form))
    }

    fn delete_all(&self, body: &[u8], form: Form) -> Answer {
        let scope = self.scope()?;
        let options = DeleteOptions::read(&self.query, body)?;
        let now = self.shared.now();
        let (deleted, version) = {
            let mut state = self.shared.lock();
            let deleted = delete::delete_all(&mut state, &self.resource, &scope, &options, &now);
            gc::settle(&mut state, &now);
            (deleted?, state.version)
        };
        let metadata = json!({"resourceVersion": version.to_string()});
        Ok(self.objects(&metadata, &deleted, form))
    }

    fn object(&self, status: StatusCode, object: &Stored, form: Form) -> Response<Body> {
        let mut text = Vec::with_capacity(object.size() + 128);
        object.render(&self.resource, form, &mut text);
        response(status, text.into())
    }

    fn objects(&self, metadata: &Value, items: &[Stored], form: Form) -> Response<Body> {
        let (api_version, kind) = match form {
            Form::Whole => (
                self.resource.api_version(),
                self.resource.list_kind.as_str(),
            ),
            Form::Metadata => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList"),
        };
        let size: usize = items.iter().map(|object| object.size() + 128).sum();
        let mut text = Vec::with_capacity(size + 256);
        let opening = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
            json!(kind),
            json!(api_version)
        );
        text.extend_from_slice(opening.as_bytes());
        for (at, object) in items.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            object.render_item(&self.resource, form, &mut text);
        }
        text.extend_from_slice(b"]}");
        response(StatusCode::OK, text.into())
    }
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let read = to_bytes(body, BODY_LIMIT).await;
    read.map_err(|_| Refusal::body_too_large(BODY_LIMIT))
}

fn header_text(parts: &Parts, name: header::HeaderName) -> Option<&str> {
    parts.headers.get(name)?.to_str().ok()
}

fn media_type(parts: &Parts) -> &str {
    request::media_type(header_text(parts, header::CONTENT_TYPE))
}

fn agent(parts: &Parts) -> &str {
    header_text(parts, header::USER_AGENT).unwrap_or("unknown")
}

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn json_response(status: StatusCode, value: &Value) -> Response<Body> {
    response(status, value.to_string().into())
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let status = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_response(status, &refusal.value())
}

fn page(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = response(status, text.into());
    let plain = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
