//! The server: requests in, responses out.
//!
//! In: HTTP requests, from a `kube::Client` in this process or from a port. Out: responses. What a
//! request means is worked out here; what it does is done elsewhere, in plain functions under one
//! lock.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use super::accept::{self, AGGREGATED, Detail};
use super::address::Address;
use super::aggregate;
use super::builtin::{BUILTINS, Trait};
use super::call::{Answer, Call, header_text};
use super::commit::Write;
use super::delete;
use super::discovery;
use super::object::Stored;
use super::options::{FieldValidation, WriteOptions};
use super::part::Part;
use super::path::{self, Route, Target};
use super::query::Query;
use super::resources::Registry;
use super::respond::{json_response, page, refused, warn};
use super::shared::Shared;
use super::status::Refusal;
use super::store::State;
use super::write;
use crate::Clock;

/// A Kubernetes API server in this process. Clones are handles to the same one.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

impl Server {
    /// A server with the namespaces `default` and `kube-system`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::new(State::new());
        let server = Self(Arc::new(Shared { state, clock }));
        let now = server.0.now();
        let options = WriteOptions {
            dry_run: false,
            manager: "kube-apiserver".into(),
            validation: FieldValidation::Ignore,
            force: false,
        };
        let mut state = server.0.lock();
        let namespaces = state.registry.find("", "v1", "namespaces");
        let namespaces = namespaces.expect("namespaces are in the table");
        for name in delete::IMMORTAL {
            let write = Write {
                resource: &namespaces,
                namespace: "",
                name: "",
                part: Part::Main,
                options: &options,
                now: &now,
            };
            let made = write::create(
                &mut state,
                write,
                json!({"metadata": {"name": name}}).into(),
            );
            made.expect("a new server has no namespaces");
        }
        drop(state);
        server
    }

    /// Another server with the same objects, and without their history.
    #[must_use]
    pub fn copy(&self, clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::new(self.0.lock().copy());
        Self(Arc::new(Shared { state, clock }))
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

    /// An answer, with the time at which it was given: clients judge ages by it.
    async fn serve(self, request: Request<Body>) -> Response<Body> {
        let mut response = self.respond(request).await;
        let date = self.0.clock.now().strftime("%a, %d %b %Y %H:%M:%S GMT");
        if let Ok(date) = header::HeaderValue::from_str(&date.to_string()) {
            response.headers_mut().insert(header::DATE, date);
        }
        response
    }

    async fn respond(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answer = match path::route(parts.uri.path()) {
            Route::Target(target) => self.serve_target(&parts, &target, body).await,
            route if parts.method == Method::GET => self.document(&route, &parts),
            Route::Unknown => None,
            _ => Some(Err(Refusal::method_not_allowed())),
        };
        match answer {
            Some(Ok(response)) => response,
            Some(Err(refusal)) => refused(&refusal),
            None if is_built_in(parts.uri.path()) => refused(&Refusal::no_such_resource()),
            None => page(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }

    /// A document; none when there is no such thing.
    fn document(&self, route: &Route, parts: &Parts) -> Option<Answer> {
        let state = self.0.lock();
        let registry = &state.registry;
        match route {
            Route::Health => Some(Ok(page(StatusCode::OK, "ok"))),
            Route::Specifications => Some(plain(&discovery::specifications(registry))),
            Route::Specification { group, version } => {
                let document = discovery::specification(registry, group, version)?;
                Some(plain(&document))
            }
            route => {
                let can_show_all = matches!(route, Route::CoreVersions | Route::Groups);
                match accept::detail(header_text(parts, header::ACCEPT), can_show_all) {
                    Err(refusal) => Some(Err(refusal)),
                    Ok(Detail::Everything) => {
                        let core = *route == Route::CoreVersions;
                        Some(everything(&aggregate::groups(registry, core)))
                    }
                    Ok(Detail::Names) => names(registry, route).map(|names| plain(&names)),
                }
            }
        }
    }

    /// Serves a collection, an object or a subresource; none when nothing of the kind is served.
    async fn serve_target(&self, parts: &Parts, target: &Target, body: Body) -> Option<Answer> {
        let found = {
            let state = self.0.lock();
            let registry = &state.registry;
            registry.find(&target.group, &target.version, &target.plural)
        };
        let resource = found?;
        let (placed, named) = (target.namespace.is_some(), target.name.is_some());
        let reads = parts.method == Method::GET;
        match resource.namespaced {
            false if placed => return None,
            true if !placed && named => return None,
            // Objects of definitions are written in their namespace or nowhere.
            true if !placed && !reads && !resource.is_builtin() => return None,
            _ => {}
        }
        let part = match target.subresource.as_deref() {
            None => Part::Main,
            Some("status") if resource.has(Trait::Status) => Part::Status,
            Some("finalize") if resource.is("", "namespaces") => Part::Finalize,
            Some(_) if resource.is_builtin() => return None,
            Some(_) => {
                let name = target.name.as_deref().unwrap_or_default();
                return Some(Err(Refusal::not_found(&resource, name)));
            }
        };
        let call = Call {
            shared: &self.0,
            resource,
            target,
            part,
            query: Query::read(parts.uri.query().unwrap_or_default()),
            accept: header_text(parts, header::ACCEPT).map(ToOwned::to_owned),
        };
        let warnings: Vec<String> = call
            .resource
            .warning()
            .map(ToOwned::to_owned)
            .into_iter()
            .collect();
        Some(match call.answer(parts, body).await {
            Ok(mut response) => {
                warn(&mut response, &warnings);
                Ok(response)
            }
            Err(refusal) => Err(refusal.warned(warnings)),
        })
    }
}

/// A plain document of discovery; none when there is no such thing.
fn names(registry: &Registry, route: &Route) -> Option<Value> {
    match route {
        Route::Version => Some(discovery::version()),
        Route::CoreVersions => Some(discovery::core_versions()),
        Route::Groups => Some(discovery::groups(registry)),
        Route::Group(group) => discovery::group(registry, group),
        Route::Resources { group, version } => discovery::resources(registry, group, version),
        _ => None,
    }
}

fn plain(document: &Value) -> Answer {
    Ok(json_response(StatusCode::OK, document))
}

/// As [`plain`], for a document that clients know by its media type.
fn everything(document: &Value) -> Answer {
    let mut response = json_response(StatusCode::OK, document);
    let media = header::HeaderValue::from_static(AGGREGATED);
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    Ok(response)
}

/// Whether a path lies where only built-in resources are, which say in JSON that they are not there.
fn is_built_in(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next()) {
        (Some("api"), _) => true,
        (Some("apis"), Some(group)) => BUILTINS.iter().any(|row| row.group == group),
        _ => false,
    }
}
