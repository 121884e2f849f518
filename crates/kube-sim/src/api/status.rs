//! What the server answers when it refuses: `Status` objects.
//!
//! In: what went wrong. Out: a [`Refusal`] with the code, reason, wording and details that a real
//! API server gives (k8s.io/apimachinery `api/errors`). It does not know where the rule that
//! refused is.

use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::address::Address;
use super::resources::Resource;
use kube_schema::wording::value as shown;

/// One field that is wrong, or one conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) reason: &'static str,
    pub(super) field: String,
    /// The text without the field.
    pub(super) message: String,
}

impl Cause {
    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self {
            reason,
            field: field.into(),
            message,
        }
    }

    /// The value at `field` breaks a rule.
    pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {}: {detail}", shown(value)),
        )
    }

    /// The value at `field` is needed.
    pub(super) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = match detail {
            "" => "Required value".into(),
            detail => format!("Required value: {detail}"),
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// The value at `field` may not be set here.
    pub(super) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// The value at `field` is none of those known.
    pub(super) fn unsupported(field: impl Into<String>, value: &Value, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|value| format!("{value:?}")).collect();
        let message = format!(
            "Unsupported value: {}: supported values: {}",
            shown(value),
            known.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// The value at `field` may be there only once.
    pub(super) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        let message = format!("Duplicate value: {value}");
        Self::new("FieldValueDuplicate", field, message)
    }

    /// The value at `field` is longer than `limit` bytes.
    pub(super) fn too_long(field: impl Into<String>, limit: usize) -> Self {
        Self::new(
            "FieldValueTooLong",
            field,
            format!("Too long: may not be more than {limit} bytes"),
        )
    }

    /// Any other cause, already worded.
    pub(super) fn worded(reason: &'static str, field: String, message: String) -> Self {
        Self::new(reason, field, message)
    }

    /// A cause whose reason is known by the words of its message, most often the first.
    pub(super) fn with_message(field: String, message: String) -> Self {
        const OPENINGS: &[(&str, &str)] = &[
            ("Unsupported value", "FieldValueNotSupported"),
            ("Duplicate value", "FieldValueDuplicate"),
            ("Too long", "FieldValueTooLong"),
            ("Too many", "FieldValueTooMany"),
            ("Forbidden", "FieldValueForbidden"),
            ("Required value", "FieldValueRequired"),
        ];
        let known = OPENINGS
            .iter()
            .find(|(words, _)| message.starts_with(words));
        let reason = match known {
            Some((_, reason)) => reason,
            None if message.contains(" in body must be of type ") => "FieldValueTypeInvalid",
            None => "FieldValueInvalid",
        };
        Self::new(reason, field, message)
    }

    fn value(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Why a request is refused.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) message: String,
    details: Map<String, Value>,
    /// Where an expired list may go on, inconsistently.
    continue_token: Option<String>,
    /// The warnings that come with it.
    pub(super) warnings: Vec<String>,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Map::new(),
            continue_token: None,
            warnings: Vec::new(),
        }
    }

    /// The same with warnings before those it has.
    pub(super) fn warned(mut self, warnings: Vec<String>) -> Self {
        self.warnings.splice(..0, warnings);
        self
    }

    fn detail(mut self, key: &str, value: Value) -> Self {
        if value != json!("") && value != json!([]) {
            self.details.insert(key.into(), value);
        }
        self
    }

    fn of(self, resource: &Resource, name: &str) -> Self {
        self.detail("name", json!(name))
            .detail("group", json!(resource.group))
            .detail("kind", json!(resource.plural))
    }

    fn causes(self, causes: &[Cause]) -> Self {
        let causes = causes.iter().map(Cause::value).collect();
        self.detail("causes", Value::Array(causes))
    }

    /// No such object.
    pub(super) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(404, "NotFound", message).of(resource, name)
    }

    /// An object of this name is there.
    pub(super) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).of(resource, name)
    }

    /// As [`Self::already_exists`], of a name that the server could have chosen.
    pub(super) fn name_is_taken(resource: &Resource, name: &str) -> Self {
        let mut refusal =
            Self::already_exists(resource, name).detail("retryAfterSeconds", json!(1));
        let rest = ", the server was not able to generate a unique name for the object";
        refusal.message.push_str(rest);
        refusal
    }

    /// The same with these words before its message.
    pub(super) fn opening(mut self, words: &str) -> Self {
        self.message.insert_str(0, words);
        self
    }

    /// The object is not in the state the caller counted on.
    pub(super) fn conflict(resource: &Resource, name: &str, why: impl Display) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            resource.qualified()
        );
        Self::new(409, "Conflict", message).of(resource, name)
    }

    /// As [`Self::conflict`], in the words of those who call a resource by its kind.
    pub(super) fn conflict_of_kind(resource: &Resource, name: &str, why: impl Display) -> Self {
        let kind = kind_in_group(&resource.group, &resource.kind);
        let message = format!("Operation cannot be fulfilled on {kind} {name:?}: {why}");
        Self::new(409, "Conflict", message)
            .of(resource, name)
            .detail("kind", json!(resource.kind))
    }

    /// Someone wrote the object since the caller read it.
    pub(super) fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// Fields of an apply belong to other managers.
    pub(super) fn apply_conflict(message: String, causes: &[Cause]) -> Self {
        Self::new(409, "Conflict", message).causes(causes)
    }

    /// Admission denies the request.
    pub(super) fn forbidden(resource: &Resource, name: &str, why: impl Display) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.qualified());
        Self::new(403, "Forbidden", message).of(resource, name)
    }

    /// As [`Self::forbidden`], with a cause of its own.
    pub(super) fn with_cause(self, cause: &Cause) -> Self {
        self.causes(std::slice::from_ref(cause))
    }

    /// Fields of the object are wrong.
    pub(super) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_kind(resource.stored_group(), &resource.kind, name, causes)
    }

    /// Refuses the options of a request if there is something wrong with them.
    ///
    /// # Errors
    /// 422 when there is.
    pub(super) fn of_options(kind: &str, causes: &[Cause]) -> Result<(), Self> {
        match causes {
            [] => Ok(()),
            causes => Err(Self::invalid_kind("meta.k8s.io", kind, "", causes)),
        }
    }

    /// As [`Self::invalid`], for an object that names its own kind.
    pub(super) fn invalid_kind(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = match group {
            "" => kind.to_owned(),
            group => format!("{kind}.{group}"),
        };
        let mut texts: Vec<String> = Vec::new();
        for text in causes.iter().map(ToString::to_string) {
            // The list of causes has it twice, the message once.
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let message = match texts.as_slice() {
            [one] => format!("{qualified} {name:?} is invalid: {one}"),
            many => format!("{qualified} {name:?} is invalid: [{}]", many.join(", ")),
        };
        Self::new(422, "Invalid", message)
            .detail("name", json!(name))
            .detail("group", json!(group))
            .detail("kind", json!(kind))
            .causes(causes)
    }

    /// The request makes no sense.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The patch cannot be carried out on the object. The real server does not say why.
    pub(super) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message)
    }

    /// What the patch made of the object is none of its kind.
    pub(super) fn patch_failed(patched: &Value, why: &str) -> Self {
        let cause = Cause::invalid("patch", &json!(patched.to_string()), why);
        Self::invalid_kind("", "", "", &[cause])
    }

    /// Nothing of the kind is served, in a group that is.
    pub(super) fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message)
    }

    /// The custom resource is there, but not this verb.
    pub(super) fn unsupported(resource: &Resource, verb: &str) -> Self {
        let qualified = resource.qualified();
        let message = format!("{verb} is not supported on resources of kind {qualified:?}");
        Self::new(405, "MethodNotAllowed", message).of(resource, "")
    }

    /// The object is not the one that the caller means.
    pub(super) fn precondition(
        resource: &Resource,
        address: &Address,
        what: &str,
        (wanted, found): (&str, &str),
        dry_run: bool,
    ) -> Self {
        // A rehearsal looks before the place in the storage is known in full.
        let root = if dry_run { "" } else { "/registry" };
        let key = format!("{root}/{}", resource.storage_key(address));
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
        );
        Self::conflict(resource, address.name(), why)
    }

    /// The resource is there, but not this verb.
    pub(super) fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// The body is of none of the `accepted` media types.
    pub(super) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// No route of a built-in resource takes bodies of this media type.
    pub(super) fn unrouted_media_type() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }

    /// The caller takes nothing we can give.
    pub(super) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::new(406, "NotAcceptable", message)
    }

    /// The caller wants a form of one object for a list, or the other way round.
    pub(super) fn wrong_form(wanted: &str, what: &str) -> Self {
        let message = format!("you requested {wanted}, but the requested object is {what}");
        Self::new(406, "NotAcceptable", message)
    }

    /// The wanted past is forgotten.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// As [`Self::expired`], with a token to go on with the present.
    pub(super) fn or_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    /// The body is longer than it may be, or asks for too much.
    pub(super) fn too_large(why: impl Display) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// The object is longer than the storage takes.
    pub(super) fn object_too_large() -> Self {
        Self::new(500, "", "etcdserver: request is too large")
    }

    /// The wanted resource version lies in the future.
    pub(super) fn version_too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        Self::new(504, "Timeout", message)
            .detail(
                "causes",
                json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]),
            )
            .detail("retryAfterSeconds", json!(1))
    }

    /// Something that a real server gives as a bare error.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The `Status` object.
    pub(super) fn value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !self.details.is_empty() {
            status["details"] = Value::Object(self.details.clone());
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = json!(token);
        }
        status
    }
}

fn kind_in_group(group: &str, kind: &str) -> String {
    match group {
        "" => kind.to_owned(),
        group => format!("{kind}.{group}"),
    }
}

/// The answer to a deletion that is over.
pub(super) fn deleted(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = json!({"name": name, "kind": resource.plural, "uid": uid});
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Success", "details": details,
    })
}
