//! One request to a resource: which verb it is, and the way from there to the answer.
//!
//! In: the resource, the target and the request. Out: the answer. It holds the lock while something
//! is decided, never while bodies are read or written.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode, header};
use serde_json::{Value, json};

use super::address::Address;
use super::builtin::Trait;
use super::commit::{Write, Written};
use super::delete::{self, Deleted};
use super::gc;
use super::list;
use super::object::{Form, Stored};
use super::options::{self, DeleteOptions, ListOptions, Query, WatchOptions, WriteOptions};
use super::path::Target;
use super::request::{self, BODY_LIMIT};
use super::resources::Resource;
use super::respond::{json_response, response};
use super::scope::Scope;
use super::server::Shared;
use super::status::{self, Refusal};
use super::store::State;
use super::strategy::Part;
use super::watch;
use super::write::{self, Patch};

/// What a request is answered with.
pub(super) type Answer = Result<Response<Body>, Refusal>;

/// One request to a resource.
pub(super) struct Call<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) resource: Arc<Resource>,
    pub(super) target: &'a Target,
    pub(super) part: Part,
    pub(super) query: Query,
    /// The `Accept` header.
    pub(super) accept: Option<String>,
}

impl Call<'_> {
    /// Serves it.
    ///
    /// # Errors
    /// The refusal.
    pub(super) async fn answer(&self, parts: &Parts, body: Body) -> Answer {
        let form = request::form(self.accept.as_deref())?;
        let named = self.target.name.is_some();
        let placed = !self.resource.namespaced || self.target.namespace.is_some();
        match (&parts.method, named, self.part) {
            (&Method::GET, ..) if options::flag(&self.query, "watch") => self.watch(form),
            (&Method::GET, false, _) => self.list(form),
            (&Method::GET, true, _) => self.get(form),
            (&Method::DELETE, true, Part::Main) => self.delete(&read(body).await?, form),
            (&Method::DELETE, false, _)
                if placed && !self.resource.has(Trait::NoDeleteCollection) =>
            {
                self.delete_all(&read(body).await?, form)
            }
            (&Method::POST, false, _) if placed => self.create(parts, &read(body).await?, form),
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
        let object = {
            let state = self.shared.lock();
            list::check_version(&state, &self.query)?;
            state.get(&self.address()).cloned()
        };
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

/// The text of a header.
pub(super) fn header_text(parts: &Parts, name: header::HeaderName) -> Option<&str> {
    parts.headers.get(name)?.to_str().ok()
}

fn media_type(parts: &Parts) -> &str {
    request::media_type(header_text(parts, header::CONTENT_TYPE))
}

fn agent(parts: &Parts) -> &str {
    header_text(parts, header::USER_AGENT).unwrap_or("unknown")
}
