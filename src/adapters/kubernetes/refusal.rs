//! What an API server means when it refuses a request, and what to do about it. Pure.
//!
//! In: the status it answered with. Out: an error class, and a message for people. It does not know
//! which object the request was about.

use std::borrow::Cow;
use std::fmt;

use kube::core::Status;

use crate::model::ErrorClass;
use crate::model::words::said;

/// The verbs needed on every kind: controllers create some of the objects, and the fleet only reads those.
const READS: [&str; 3] = ["get", "list", "watch"];
/// The verbs needed in addition on the kinds of the fleet's own objects.
const WRITES: [&str; 3] = ["create", "patch", "delete"];

/// What the message says when the webhook that converts the objects of a kind cannot be called. The kind can
/// neither be read nor written then.
pub(super) const CONVERSION: &str = "conversion webhook for ";

/// A refusal with its cause.
pub(super) struct Refusal<'a> {
    status: &'a Status,
    cause: Cause<'a>,
}

#[derive(Clone, Copy)]
enum Cause<'a> {
    /// The credentials are not valid.
    Credentials,
    /// The user lacks a permission.
    Permission(Right<'a>),
    /// A quota is exhausted.
    Quota,
    /// The namespace is being deleted.
    Ending,
    /// The namespace does not exist.
    NoNamespace(&'a str),
    /// A policy or a webhook of the cluster denied the request.
    Policy,
    /// A webhook of the cluster cannot be called.
    Webhook,
    /// Another manager owns a field.
    Conflict,
    /// Anything else.
    Other,
}

/// A missing permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Right<'a> {
    user: &'a str,
    verb: &'a str,
    resource: &'a str,
    group: &'a str,
    /// Empty for the whole cluster.
    namespace: &'a str,
}

impl<'a> Refusal<'a> {
    pub(super) fn of(status: &'a Status) -> Self {
        let contains = |part: &str| status.message.contains(part);
        let details = status.details.as_ref();
        let cause = match status.code {
            401 => Cause::Credentials,
            403 if contains("because it is being terminated") => Cause::Ending,
            403 if contains("exceeded quota: ") || contains("status unknown for quota: ") => {
                Cause::Quota
            }
            // Two requests changed its usage at the same time.
            409 if details.is_some_and(|about| about.kind == "resourcequotas") => Cause::Quota,
            409 if contains("Apply failed with ") => Cause::Conflict,
            404 if details.is_some_and(|about| about.kind == "namespaces") => {
                Cause::NoNamespace(details.map_or("", |about| about.name.as_str()))
            }
            500 if contains("failed calling webhook") => Cause::Webhook,
            429 | 500 if contains(CONVERSION) => Cause::Webhook,
            _ if contains("ValidatingAdmissionPolicy '") && contains(" denied request") => {
                Cause::Policy
            }
            _ if contains("admission webhook \"") && contains(" denied the request") => {
                Cause::Policy
            }
            403 => Right::read(&status.message).map_or(Cause::Other, Cause::Permission),
            _ => Cause::Other,
        };
        Self { status, cause }
    }

    /// Whether other credentials, or another role, would help.
    pub(super) const fn is_about_rights(&self) -> bool {
        matches!(self.cause, Cause::Credentials | Cause::Permission(_))
    }

    /// Whether nothing of the kind can be read now, whichever object was asked for.
    pub(super) fn is_about_kind(&self) -> bool {
        self.status.message.contains(CONVERSION) || matches!(self.status.code, 429 | 503 | 504)
    }

    pub(super) fn class(&self) -> ErrorClass {
        match (self.cause, self.status.code) {
            (Cause::Quota | Cause::Ending, _) => ErrorClass::Transient,
            (_, 401 | 403) => ErrorClass::Denied,
            (_, 409) => ErrorClass::Conflict,
            (_, 404 | 410) => ErrorClass::Gone,
            (_, 500) if is_schema_error(self.status) => ErrorClass::Invalid,
            (_, 408 | 429 | 500..=599) => ErrorClass::Transient,
            _ => ErrorClass::Invalid,
        }
    }
}

/// The message without values that it repeats: an apply that does not fit a schema is answered with the whole value, as Go
/// prints it, which may be that of a Secret; and so is an invalid value of a Secret.
fn without_values(message: &str) -> Cow<'_, str> {
    const PRINTED: &str = ", got &";
    const OF_A_SECRET: [&str; 2] = ["Invalid value: ", "Unsupported value: "];
    if let Some((before, _)) = message.split_once(PRINTED) {
        return Cow::Owned(format!("{before}, got a value of another type"));
    }
    let mut starts = OF_A_SECRET
        .iter()
        .filter_map(|start| message.split_once(start));
    match starts.next() {
        Some((before, _)) if message.contains("Secret \"") => Cow::Owned(format!(
            "{before}a value is not valid, and is not repeated here"
        )),
        _ => Cow::Borrowed(message),
    }
}

/// The fields of private connections in each shape of HyperShift's API, and the setting for the other one.
const SHAPES: [(&str, &str); 4] = [
    (
        ".spec.platform.azure.topology: field not declared",
        "proposal",
    ),
    (
        ".spec.platform.azure.private: field not declared",
        "proposal",
    ),
    (
        ".spec.platform.azure.endpointAccess: field not declared",
        "landed",
    ),
    (
        ".spec.platform.azure.privateConnectivity: field not declared",
        "landed",
    ),
];

/// The shape that the kinds of the cluster have, if the refusal is about a field of the other one.
fn shape(message: &str) -> Option<&'static str> {
    let mut shapes = SHAPES.iter();
    shapes.find_map(|(refused, other)| message.contains(refused).then_some(*other))
}

/// API servers answer 500 to an apply that does not fit the kind's schema (kubernetes issue 122480),
/// to an apply to an object that no longer fits it, and to an apply to an object with managers at a
/// version that its definition no longer has.
fn is_schema_error(status: &Status) -> bool {
    const OPENINGS: [&str; 3] = [
        "failed to create typed patch object",
        "failed to create typed live object",
        "request to convert CR to an invalid group/version",
    ];
    OPENINGS
        .iter()
        .any(|opening| status.message.starts_with(opening))
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = said(&without_values(&self.status.message));
        match self.cause {
            Cause::Credentials => f.write_str(
                "the API server does not accept the credentials (401 Unauthorized): they are wrong, expired or revoked. Provide valid ones: Capstan rereads a token file within a minute, and a kubeconfig when it restarts",
            ),
            Cause::Permission(right) => right.fmt(f),
            Cause::Quota => write!(
                f,
                "the quota of the namespace is exhausted: {message}. Raise the quota, or remove objects that use it; the request is retried"
            ),
            Cause::Ending => write!(
                f,
                "its namespace is being deleted: {message}. It is applied once the namespace is gone and created again. If that takes long, check what is left in the namespace and which finalizers it has"
            ),
            Cause::NoNamespace(name) => write!(
                f,
                "namespace {name} does not exist: add it to the fleet, or create it"
            ),
            Cause::Policy => write!(
                f,
                "an admission policy of the cluster denied it: {message}. Change the object to comply, or ask for a change of the policy"
            ),
            Cause::Webhook => write!(
                f,
                "cannot call a webhook of the cluster: {message}. Check that the webhook's service is running; the request is retried"
            ),
            Cause::Conflict => write!(
                f,
                "the API server refused it: {message}. To take the field, set the annotation capstan.dev/force-conflicts: \"true\"; to leave it to the other, name it in capstan.dev/ignore"
            ),
            Cause::Other => {
                write!(f, "the API server refused it: {message} (")?;
                match said(&self.status.reason).as_str() {
                    "" => write!(f, "{})", self.status.code)?,
                    reason => write!(f, "{reason})")?,
                }
                match (self.class(), shape(&message)) {
                    (ErrorClass::Invalid, Some(shape)) => write!(
                        f,
                        "; its HyperShift has other fields for this: write `apiShape: {shape}` below `hyperShift.azure` of the definition"
                    ),
                    (ErrorClass::Invalid, None) => f.write_str("; correct it where it is written"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl<'a> Right<'a> {
    /// Parses the missing permission from the message of an API server's authorizer:
    /// `User "U" cannot VERB resource "R" in API group "G" in the namespace "N"`, or `at the cluster
    /// scope`.
    fn read(message: &'a str) -> Option<Self> {
        let (_, rest) = message.split_once("User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once("\" in API group \"")?;
        let (group, rest) = rest.split_once('"')?;
        let namespace = match rest.strip_prefix(" in the namespace \"") {
            Some(rest) => rest.split_once('"')?.0,
            None => "",
        };
        Some(Self {
            user,
            verb,
            resource,
            group,
            namespace,
        })
    }
}

impl fmt::Display for Right<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            user,
            verb,
            resource,
            group,
            namespace,
        } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(
            f,
            "no permission: {user} may not {verb} {resource}{dot}{group} "
        )?;
        match *namespace {
            "" => f.write_str("in the whole cluster"),
            name => write!(f, "in namespace {name}"),
        }?;
        if *user == "system:anonymous" {
            return f.write_str(
                ". No credentials were sent: use a kubeconfig, or a context, that has a user",
            );
        }
        // Usually more than one permission is missing. Capstan creates no namespace but the parent's.
        let (verbs, more) = match *verb {
            verb if READS.contains(&verb) => (
                READS.join(", "),
                format!(
                    "; also {} if the fleet contains such objects",
                    WRITES.join(", ")
                ),
            ),
            verb if WRITES.contains(&verb) && *resource != "namespaces" => {
                ([READS, WRITES].concat().join(", "), String::new())
            }
            verb => (verb.to_owned(), String::new()),
        };
        let role = match *namespace {
            "" => "a ClusterRole",
            _ => "a Role in that namespace, or a ClusterRole,",
        };
        write!(
            f,
            ". Add this rule to {role} that is bound to the user: {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verbs}]}}{more}"
        )
    }
}

#[cfg(test)]
mod tests {
    use kube::core::response::StatusDetails;

    use super::*;

    fn status(code: u16, reason: &str, message: &str) -> Status {
        Status::failure(message, reason).with_code(code)
    }

    fn refused(code: u16, message: &str) -> String {
        Refusal::of(&status(code, "", message)).to_string()
    }

    #[test]
    fn the_class_follows_the_answer() {
        let schema = "failed to create typed patch object (a/b; v1, Kind=X): .spec.y: field not declared in schema";
        let version = "request to convert CR to an invalid group/version: g.dev/v1alpha1";
        let quota = "configmaps \"a\" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2";
        let ending = "configmaps \"a\" is forbidden: unable to create new content in namespace n because it is being terminated";
        let cases = [
            (401, "Unauthorized", ErrorClass::Denied),
            (403, "", ErrorClass::Denied),
            (403, quota, ErrorClass::Transient),
            (403, ending, ErrorClass::Transient),
            (404, "", ErrorClass::Gone),
            (409, "", ErrorClass::Conflict),
            (422, "", ErrorClass::Invalid),
            (429, "", ErrorClass::Transient),
            (500, "etcdserver: leader changed", ErrorClass::Transient),
            (500, schema, ErrorClass::Invalid),
            (500, version, ErrorClass::Invalid),
            (503, "", ErrorClass::Transient),
        ];
        for (code, message, class) in cases {
            let status = status(code, "", message);
            assert_eq!(Refusal::of(&status).class(), class, "{code} {message}");
        }
    }

    #[test]
    fn the_other_shape_of_an_api_is_named() {
        let message = "failed to create typed patch object (a/b; hypershift.openshift.io/v1beta1, Kind=HostedCluster): .spec.platform.azure.topology: field not declared in schema";
        let said = Refusal::of(&status(500, "", message)).to_string();
        assert!(
            said.ends_with("write `apiShape: proposal` below `hyperShift.azure` of the definition"),
            "{said}"
        );
    }

    #[test]
    fn a_refusal_without_a_reason_shows_its_number() {
        let refused = |reason| Refusal::of(&status(500, reason, "no")).to_string();
        assert_eq!(refused(""), "the API server refused it: no (500)");
        assert_eq!(refused("Boom"), "the API server refused it: no (Boom)");
    }

    #[test]
    fn a_missing_permission_is_reported_with_the_rule_that_grants_it() {
        let message = "clusters.cluster.x-k8s.io \"a\" is forbidden: User \"system:serviceaccount:ci:capstan\" cannot patch resource \"clusters\" in API group \"cluster.x-k8s.io\" in the namespace \"prod\": RBAC: clusterrole.rbac.authorization.k8s.io \"x\" not found";
        assert_eq!(
            refused(403, message),
            "no permission: system:serviceaccount:ci:capstan may not patch clusters.cluster.x-k8s.io in namespace prod. Add this rule to a Role in that namespace, or a ClusterRole, that is bound to the user: {apiGroups: [\"cluster.x-k8s.io\"], resources: [clusters], verbs: [get, list, watch, create, patch, delete]}"
        );
        let message = "configmaps is forbidden: User \"jo\" cannot escalate resource \"configmaps\" in API group \"\" at the cluster scope";
        assert_eq!(
            refused(403, message),
            "no permission: jo may not escalate configmaps in the whole cluster. Add this rule to a ClusterRole that is bound to the user: {apiGroups: [\"\"], resources: [configmaps], verbs: [escalate]}"
        );
        let list = message.replace("escalate", "list");
        assert!(refused(403, &list).ends_with(
            "verbs: [get, list, watch]}; also create, patch, delete if the fleet contains such objects"
        ));
        let create = message
            .replace("escalate", "create")
            .replace("configmaps", "namespaces");
        assert!(refused(403, &create).ends_with("resources: [namespaces], verbs: [create]}"));
        let anonymous = message.replace("jo", "system:anonymous");
        assert!(refused(403, &anonymous).contains("No credentials were sent"));
        for other in ["", "User \"", "User \"a\" cannot get path \"/apis\""] {
            assert!(refused(403, other).starts_with("the API server refused it: "));
        }
    }

    #[test]
    fn what_the_cluster_s_own_rules_say_is_passed_on() {
        let policy = "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a team is needed";
        let webhook = "admission webhook \"w.dev\" denied the request: a team is needed";
        for message in [policy, webhook] {
            for code in [403, 422] {
                let text = refused(code, message);
                assert!(text.contains(message) && text.contains("policy"), "{text}");
            }
        }
        let down = "Internal error occurred: failed calling webhook \"w.dev\": connection refused";
        assert!(refused(500, down).contains("that the webhook's service is running"));
    }

    #[test]
    fn details_tell_what_is_missing_or_full() {
        let about = |kind: &str| {
            let details = serde_json::json!({"name": "n", "kind": kind});
            let details: StatusDetails = serde_json::from_value(details).expect("details");
            Some(details)
        };
        let missing = Status {
            details: about("namespaces"),
            ..status(404, "NotFound", "namespaces \"n\" not found")
        };
        let text = Refusal::of(&missing).to_string();
        assert!(text.starts_with("namespace n does not exist: "), "{text}");
        let counted = Status {
            details: about("resourcequotas"),
            ..status(409, "Conflict", "the object has been modified")
        };
        assert_eq!(Refusal::of(&counted).class(), ErrorClass::Transient);
    }

    /// Attack M10: what the API server repeats of a Secret is in a check, which more people may read than Secrets.
    #[test]
    fn values_that_the_api_server_repeats_are_not_repeated() {
        for (message, expected) in [
            (
                "failed to create typed patch object (default/s; /v1, Kind=Secret): .stringData: expected map, got &{hunter2}",
                ".stringData: expected map, got a value of another type",
            ),
            (
                "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): errors:\n  .a: expected string, got &value.valueUnstructured{Value:[]interface {}{\"hunter2\"}}\n  .b: expected string, got &{x}",
                ".a: expected string, got a value of another type",
            ),
            (
                "Secret \"s\" is invalid: type: Unsupported value: \"hunter2\": supported values: \"Opaque\"",
                "type: a value is not valid, and is not repeated here",
            ),
            (
                "ConfigMap \"a\" is invalid: metadata.name: Invalid value: \"A_\": no",
                "metadata.name: Invalid value: \"A_\": no",
            ),
        ] {
            let found = without_values(message);
            assert!(found.ends_with(expected), "{found}");
            assert!(!found.contains("hunter2"), "{found}");
        }
    }
}
