//! What an API server means when it refuses, and what to do about it. Pure.
//!
//! In: the status it answered with. Out: what to do as a class, and one sentence for people. It does
//! not know: which object the request was about.

use std::fmt;

use kube::core::Status;

use crate::model::ErrorClass;

/// What is needed of every kind: controllers make some of them, and the fleet only looks.
const READS: [&str; 3] = ["get", "list", "watch"];
/// What is needed besides of the kinds that the fleet has itself.
const WRITES: [&str; 3] = ["create", "patch", "delete"];

/// A refusal that was understood.
pub(super) struct Refusal<'a> {
    status: &'a Status,
    cause: Cause<'a>,
}

#[derive(Clone, Copy)]
enum Cause<'a> {
    /// It does not know who asks.
    Credentials,
    /// Who asks lacks a right.
    Permission(Right<'a>),
    /// A quota has no room left.
    Quota,
    /// The namespace is being deleted.
    Ending,
    /// There is no such namespace.
    NoNamespace(&'a str),
    /// A policy or a webhook of the cluster says no.
    Policy,
    /// A webhook of the cluster does not answer.
    Webhook,
    /// Another manager owns a field.
    Conflict,
    /// Something else.
    Other,
}

/// What somebody may not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Right<'a> {
    user: &'a str,
    verb: &'a str,
    resource: &'a str,
    group: &'a str,
    /// Empty at the scope of the cluster.
    namespace: &'a str,
}

impl<'a> Refusal<'a> {
    pub(super) fn of(status: &'a Status) -> Self {
        let says = |part: &str| status.message.contains(part);
        let details = status.details.as_ref();
        let cause = match status.code {
            401 => Cause::Credentials,
            403 if says("because it is being terminated") => Cause::Ending,
            403 if says("exceeded quota: ") || says("status unknown for quota: ") => Cause::Quota,
            // Two requests counted against it at once.
            409 if details.is_some_and(|about| about.kind == "resourcequotas") => Cause::Quota,
            409 if says("Apply failed with ") => Cause::Conflict,
            404 if details.is_some_and(|about| about.kind == "namespaces") => {
                Cause::NoNamespace(details.map_or("", |about| about.name.as_str()))
            }
            500 if says("failed calling webhook") => Cause::Webhook,
            _ if says("ValidatingAdmissionPolicy '") && says(" denied request") => Cause::Policy,
            _ if says("admission webhook \"") && says(" denied the request") => Cause::Policy,
            403 => Right::read(&status.message).map_or(Cause::Other, Cause::Permission),
            _ => Cause::Other,
        };
        Self { status, cause }
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

/// API servers answer 500 to an apply that does not fit the kind's schema (kubernetes issue 122480),
/// to one of an object that no longer fits, and to one of an object with managers of a version that
/// its definition no longer has.
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
        let message = &self.status.message;
        match self.cause {
            Cause::Credentials => f.write_str(
                "the API server does not take the credentials (401 Unauthorized): they have expired, were revoked or are wrong. Give valid ones: a token file is read again within a minute, a kubeconfig when capstan is started again",
            ),
            Cause::Permission(right) => right.fmt(f),
            Cause::Quota => write!(
                f,
                "no room in the quota of the namespace: {message}. Raise the quota, or remove what uses it up; it is tried again"
            ),
            Cause::Ending => write!(
                f,
                "it waits until its namespace is gone and made again: {message}. If that takes long, see what is left in the namespace and which finalizers hold it"
            ),
            Cause::NoNamespace(name) => write!(
                f,
                "there is no namespace {name}: add it to the fleet, or make it"
            ),
            Cause::Policy => write!(
                f,
                "a policy of the cluster refused it: {message}. Change the object so that it holds, or have the policy changed"
            ),
            Cause::Webhook => write!(
                f,
                "a webhook of the cluster does not answer: {message}. See whether what serves it runs; it is tried again"
            ),
            Cause::Conflict => write!(
                f,
                "the API server refused it: {message}. To take the field, set the annotation capstan.dev/force-conflicts: \"true\"; to leave it to the other, name it in capstan.dev/ignore"
            ),
            Cause::Other => {
                write!(f, "the API server refused it: {message} (")?;
                match self.status.reason.as_str() {
                    "" => write!(f, "{})", self.status.code)?,
                    reason => write!(f, "{reason})")?,
                }
                match self.class() {
                    ErrorClass::Invalid => f.write_str("; correct it in the fleet"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl<'a> Right<'a> {
    /// What is missing, as the authorizer of an API server puts it:
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
                ". No credentials were sent: give a kubeconfig, or a context of it, with a user",
            );
        }
        // One right rarely comes alone. Of namespaces the one of the parent is made, and no more.
        let (verbs, more) = match *verb {
            verb if READS.contains(&verb) => (
                READS.join(", "),
                format!(
                    "; {} too, if the fleet itself has such objects",
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
            _ => "a Role of that namespace, or a ClusterRole,",
        };
        write!(
            f,
            ". Add to {role} that is bound to it: {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verbs}]}}{more}"
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

    fn said(code: u16, message: &str) -> String {
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
    fn a_refusal_without_a_reason_shows_its_number() {
        let said = |reason| Refusal::of(&status(500, reason, "no")).to_string();
        assert_eq!(said(""), "the API server refused it: no (500)");
        assert_eq!(said("Boom"), "the API server refused it: no (Boom)");
    }

    #[test]
    fn a_missing_right_is_told_as_the_rule_that_grants_it() {
        let message = "clusters.cluster.x-k8s.io \"a\" is forbidden: User \"system:serviceaccount:ci:capstan\" cannot patch resource \"clusters\" in API group \"cluster.x-k8s.io\" in the namespace \"prod\": RBAC: clusterrole.rbac.authorization.k8s.io \"x\" not found";
        assert_eq!(
            said(403, message),
            "no permission: system:serviceaccount:ci:capstan may not patch clusters.cluster.x-k8s.io in namespace prod. Add to a Role of that namespace, or a ClusterRole, that is bound to it: {apiGroups: [\"cluster.x-k8s.io\"], resources: [clusters], verbs: [get, list, watch, create, patch, delete]}"
        );
        let message = "configmaps is forbidden: User \"jo\" cannot escalate resource \"configmaps\" in API group \"\" at the cluster scope";
        assert_eq!(
            said(403, message),
            "no permission: jo may not escalate configmaps in the whole cluster. Add to a ClusterRole that is bound to it: {apiGroups: [\"\"], resources: [configmaps], verbs: [escalate]}"
        );
        let list = message.replace("escalate", "list");
        assert!(said(403, &list).ends_with(
            "verbs: [get, list, watch]}; create, patch, delete too, if the fleet itself has such objects"
        ));
        let create = message
            .replace("escalate", "create")
            .replace("configmaps", "namespaces");
        assert!(said(403, &create).ends_with("resources: [namespaces], verbs: [create]}"));
        let anonymous = message.replace("jo", "system:anonymous");
        assert!(said(403, &anonymous).contains("No credentials were sent"));
        for other in ["", "User \"", "User \"a\" cannot get path \"/apis\""] {
            assert!(said(403, other).starts_with("the API server refused it: "));
        }
    }

    #[test]
    fn what_the_cluster_s_own_rules_say_is_passed_on() {
        let policy = "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a team is needed";
        let webhook = "admission webhook \"w.dev\" denied the request: a team is needed";
        for message in [policy, webhook] {
            for code in [403, 422] {
                let said = said(code, message);
                assert!(said.contains(message) && said.contains("policy"), "{said}");
            }
        }
        let down = "Internal error occurred: failed calling webhook \"w.dev\": connection refused";
        assert!(said(500, down).contains("whether what serves it runs"));
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
        let said = Refusal::of(&missing).to_string();
        assert!(said.starts_with("there is no namespace n: "), "{said}");
        let counted = Status {
            details: about("resourcequotas"),
            ..status(409, "Conflict", "the object has been modified")
        };
        assert_eq!(Refusal::of(&counted).class(), ErrorClass::Transient);
    }
}
