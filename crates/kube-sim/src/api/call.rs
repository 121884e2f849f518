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

use super::accept;
use super::address::Address;
use super::builtin::Trait;
use super::commit::{Write, Written};
use super::delete::{self, Deleted};
use super::document::Document;
use super::gc;
use super::kinds;
use super::list::{self, Page};
use super::object::{Form, Stored};
use super::options::{DeleteOptions, WriteOptions};
use super::part::Part;
use super::path::Target;
use super::query::Query;
use super::reads::{ListOptions, WatchOptions};
use super::request::{self, APPLY, BODY_LIMIT, JSON_PATCH, MERGE, STRATEGIC};
use super::resources::Resource;
use super::respond::{json_response, response, warn};
use super::scope::Scope;
use super::shared::Shared;
use super::status::{self, Refusal};
use super::store::State;
use super::table;
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
        let form = accept::form(self.accept.as_deref())?;
        let media = media_type(parts);
        match (&parts.method, self.target.name.is_some(), self.part) {
            (&Method::PUT, true, Part::Finalize) => self.update(parts, &read(body).await?, form),
            (method, _, Part::Finalize) => Err(self.no_such_verb(method)),
            (&Method::GET, false, _) if self.query.flag("watch") => self.watch(form),
            (&Method::GET, false, _) => self.list(form),
            (&Method::GET, true, _) => self.get(form),
            (&Method::DELETE, true, Part::Main) => self.delete(media, &read(body).await?, form),
            (&Method::DELETE, false, _) if self.deletes_together() => {
                self.delete_all(media, &read(body).await?, form)
            }
            (&Method::POST, named, _) if self.is_placed() && !(named && self.names_matter()) => {
                self.create(parts, &read(body).await?, form)
            }
            (&Method::PUT, true, _) => self.update(parts, &read(body).await?, form),
            (&Method::PATCH, true, _) => self.patch(parts, body, form).await,
            (method, ..) => Err(self.no_such_verb(method)),
        }
    }

    /// Whether the path names the namespace of namespaced objects.
    fn is_placed(&self) -> bool {
        !self.resource.namespaced || self.target.namespace.is_some()
    }

    /// Whether nothing can be made at the path of an object. Of custom objects it can: the name in the path
    /// is not looked at.
    fn names_matter(&self) -> bool {
        self.resource.is_builtin() || self.part != Part::Main
    }

    fn deletes_together(&self) -> bool {
        self.is_placed() && !self.resource.has(Trait::NoDeleteCollection)
    }

    /// That the resource has no such verb: built-in ones have no route for it, those of definitions
    /// look at the verb.
    fn no_such_verb(&self, method: &Method) -> Refusal {
        let verb = match *method {
            _ if self.resource.is_builtin() => return Refusal::method_not_allowed(),
            Method::PUT | Method::PATCH => return Refusal::bad_request("name must be provided"),
            Method::POST => "create",
            Method::DELETE => "delete",
            _ => "",
        };
        Refusal::unsupported(&self.resource, verb)
    }

    fn namespace(&self) -> &str {
        self.target.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    fn address(&self) -> Address {
        self.resource.address(self.namespace(), self.name())
    }

    fn scope(&self) -> Result<Scope, Refusal> {
        Scope::read(
            &self.resource,
            self.target.namespace.as_deref(),
            &self.query,
        )
    }

    fn get(&self, form: Form) -> Answer {
        self.check_form(form, Form::MetadataList)?;
        let object = {
            let state = self.shared.lock();
            list::check_version(&state, &self.query)?;
            state.get(&self.address()).cloned()
        };
        let object = object.ok_or_else(|| Refusal::not_found(&self.resource, self.name()))?;
        if form == Form::Table {
            let metadata = json!({"resourceVersion": object.version.to_string()});
            return Ok(self.table(&[object], &metadata));
        }
        Ok(self.object(StatusCode::OK, &object, form))
    }

    /// Objects as rows.
    fn table(&self, items: &[Stored], metadata: &Value) -> Response<Body> {
        let include = self.query.text("includeObject");
        let now = self.shared.clock.now();
        let table = table::table(&self.resource, items, metadata, include, now);
        json_response(StatusCode::OK, &table)
    }

    fn list(&self, form: Form) -> Answer {
        let options = ListOptions::read(&self.query)?;
        let scope = self.scope()?;
        self.check_form(form, Form::Metadata)?;
        let page = list::list(&self.shared.lock(), &self.resource, &scope, &options)?;
        Ok(self.page(&page, form))
    }

    fn watch(&self, form: Form) -> Answer {
        let options = WatchOptions::read(&self.query)?;
        let scope = self.scope()?;
        let state = self.shared.lock();
        let stream = watch::open(self.shared, &state, &self.resource, scope, options, form)?;
        Ok(response(StatusCode::OK, Body::from_stream(stream)))
    }

    /// Refuses the form that is not for what is answered with.
    fn check_form(&self, form: Form, wrong: Form) -> Result<(), Refusal> {
        let (wanted, what) = match (form == wrong, form) {
            (true, Form::Metadata) => ("PartialObjectMetadata", "a list"),
            (true, Form::MetadataList) => ("PartialObjectMetadataList", "not a list"),
            _ => return Ok(()),
        };
        let list = if form == Form::Metadata { "List" } else { "" };
        let go_type = match self.resource.is_builtin() {
            true => format!("{}{list}", kinds::go_type(&self.resource)),
            false => format!("unstructured.Unstructured{list}"),
        };
        Err(Refusal::wrong_form(wanted, &format!("{what} (*{go_type})")))
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
        let object = kinds::sent(&self.resource, media_type(parts), body)?;
        self.do_write(form, |state, now| {
            let name = "";
            let write = Write {
                name,
                ..self.write(&options, now)
            };
            write::create(state, write, object)
        })
    }

    fn update(&self, parts: &Parts, body: &[u8], form: Form) -> Answer {
        let options = WriteOptions::read(&self.query, agent(parts), "UpdateOptions")?;
        let object = kinds::sent(&self.resource, media_type(parts), body)?;
        self.do_write(form, |state, now| {
            write::update(state, self.write(&options, now), object)
        })
    }

    async fn patch(&self, parts: &Parts, body: Body, form: Form) -> Answer {
        let media = media_type(parts);
        let is_builtin = self.resource.is_builtin();
        let kind: fn(Document) -> Patch = match media {
            APPLY => Patch::Apply,
            MERGE => Patch::Merge,
            JSON_PATCH => Patch::Json,
            STRATEGIC if is_builtin => Patch::Strategic,
            _ if is_builtin => return Err(Refusal::unrouted_media_type()),
            _ => {
                let known = [JSON_PATCH, MERGE, APPLY];
                return Err(Refusal::unsupported_media_type(&known));
            }
        };
        let body = read(body).await?;
        let options = WriteOptions::read_patch(&self.query, agent(parts), media == APPLY)?;
        let patch = request::patch(media, &body).map(kind);
        self.do_write(form, |state, now| {
            let write = self.write(&options, now);
            let creates = media == APPLY && write::apply_creates(write);
            if !creates && state.get(&write.address()).is_none() {
                return Err(write.not_found());
            }
            write::patch(state, write, patch?)
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
        warn(&mut response, &written.warnings);
        Ok(response)
    }

    fn delete(&self, media: &str, body: &[u8], form: Form) -> Answer {
        let options = DeleteOptions::read(&self.query, media, body)?;
        let now = self.shared.now();
        let Deleted { object, gone } = {
            let mut state = self.shared.lock();
            let address = self.address();
            let deleted = delete::delete(&mut state, &self.resource, &address, &options, &now);
            gc::settle(&mut state, &now);
            deleted?
        };
        if gone && !self.resource.has(Trait::GivesDeleted) {
            let status = status::deleted(&self.resource, self.name(), object.uid());
            return Ok(json_response(StatusCode::OK, &status));
        }
        let status = match options.accepted_only && !gone {
            true => StatusCode::ACCEPTED,
            false => StatusCode::OK,
        };
        Ok(self.object(status, &object, form))
    }

    fn delete_all(&self, media: &str, body: &[u8], form: Form) -> Answer {
        let listed = ListOptions::read(&self.query)?;
        let scope = self.scope()?;
        let options = DeleteOptions::read(&self.query, media, body)?;
        self.check_form(form, Form::Metadata)?;
        let now = self.shared.now();
        let page = {
            let mut state = self.shared.lock();
            let page = list::list(&state, &self.resource, &scope, &listed)?;
            let keys = page.items.iter().map(|(key, _)| key);
            let deleted = delete::delete_all(&mut state, &self.resource, keys, &options, &now);
            gc::settle(&mut state, &now);
            deleted.map(|()| page)?
        };
        Ok(self.page(&page, form))
    }

    fn object(&self, status: StatusCode, object: &Stored, form: Form) -> Response<Body> {
        let mut text = Vec::with_capacity(object.size() + 128);
        object.render(&self.resource, form, &mut text);
        response(status, text.into())
    }

    fn page(&self, page: &Page, form: Form) -> Response<Body> {
        let mut metadata = json!({"resourceVersion": page.version.to_string()});
        // Lists of custom objects also say that there is no next page.
        let always = !form.is_metadata() && !self.resource.is_builtin();
        if always || page.next.is_some() {
            metadata["continue"] = json!(page.next.as_deref().unwrap_or_default());
        }
        if let Some(remaining) = page.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        if form == Form::Table {
            let items: Vec<Stored> = page.items.iter().map(|(_, item)| item.clone()).collect();
            return self.table(&items, &metadata);
        }
        let (api_version, kind) = match form.is_metadata() {
            false => (
                self.resource.api_version(),
                self.resource.list_kind.as_str(),
            ),
            true => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList"),
        };
        let sizes = page.items.iter().map(|(_, object)| object.size() + 128);
        let mut text = Vec::with_capacity(sizes.sum::<usize>() + 256);
        let opening = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":",
            json!(kind),
            json!(api_version)
        );
        text.extend_from_slice(opening.as_bytes());
        if page.items.is_empty() && form.is_metadata() {
            // So it is on a real server.
            text.extend_from_slice(b"null}");
            return response(StatusCode::OK, text.into());
        }
        for (at, (_, object)) in page.items.iter().enumerate() {
            text.push(if at == 0 { b'[' } else { b',' });
            object.render_item(&self.resource, form, &mut text);
        }
        let closing: &[u8] = if page.items.is_empty() { b"[]}" } else { b"]}" };
        text.extend_from_slice(closing);
        response(StatusCode::OK, text.into())
    }
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let read = to_bytes(body, BODY_LIMIT).await;
    read.map_err(|_| Refusal::too_large(format!("limit is {BODY_LIMIT}")))
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
