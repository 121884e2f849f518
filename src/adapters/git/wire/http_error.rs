//! What an HTTP answer means for a repository, and what its reader can do about it.
//!
//! In: a status, or the error of a request. Out: an error with a class and the next step, by the forge at
//! the address. Sources: each forge's documentation of token permissions.

use reqwest::StatusCode;

use super::fault::Fault;
use super::service::Service;
use crate::adapters::git::Error;

/// What is wrong with a request that got no answer, or only a part of one.
pub(super) fn fault(error: &reqwest::Error) -> Fault {
    if error.is_timeout() && !error.is_connect() {
        return Fault::Idle;
    }
    let cause = deepest(error);
    if cause.contains("CertificateRequired") {
        return Fault::NoCertificate;
    }
    if cause.contains("certificate") {
        return Fault::Certificate(cause);
    }
    match error.is_body() || error.is_decode() {
        true => Fault::Cut,
        false => Fault::Connection(cause),
    }
}

/// The first cause: the others name the URL, which is shown anyway.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The permission a token needs.
fn permission(host: &str, service: Service) -> &'static str {
    let is_read = service == Service::UploadPack;
    let below = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    match () {
        () if below("github.com") && is_read => "`contents: read` on this repository",
        () if below("github.com") => "`contents: write` on this repository",
        () if (below("azure.com") || below("visualstudio.com")) && is_read => "`Code (Read)`",
        () if below("azure.com") || below("visualstudio.com") => {
            "`Code (Read & write)`, and its owner the right \"Manage notes\""
        }
        () if below("gitlab.com") && is_read => "`read_repository`",
        () if below("gitlab.com") => "`write_repository`, and its owner the role Developer",
        () if below("bitbucket.org") && is_read => "`repository:read`",
        () if below("bitbucket.org") => "`repository:write`",
        () if is_read => "to read this repository",
        () => "to write this repository",
    }
}

/// The error of an answer that is not a success.
pub(super) fn of_status(
    status: StatusCode,
    url: &str,
    host: &str,
    service: Service,
    has_credential: bool,
) -> Error {
    let url = url.to_owned();
    let needs = permission(host, service);
    match status {
        StatusCode::UNAUTHORIZED if has_credential => Error::Unauthenticated {
            url,
            help: "the server does not accept the credential; it may be expired or revoked: replace it"
                .to_owned(),
        },
        StatusCode::UNAUTHORIZED => Error::Unauthenticated {
            url,
            help: format!("the server asks for a credential; provide one with the permission {needs}"),
        },
        StatusCode::FORBIDDEN => Error::Forbidden {
            url,
            help: format!("the server answered 403; the credential needs the permission {needs}"),
        },
        StatusCode::NOT_FOUND | StatusCode::GONE => Error::Absent {
            url,
            cause: match has_credential {
                true => format!("the server answered {}; the repository was deleted or renamed, or the credential lacks the permission {needs}", status.as_u16()),
                false => format!("the server answered {}; the repository was deleted or renamed, or it is private and needs a credential", status.as_u16()),
            },
        },
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => Error::Unauthenticated {
            url,
            help: "the proxy asks for a credential; write it into the variable HTTPS_PROXY".to_owned(),
        },
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT => {
            Error::Unreachable {
                url,
                cause: format!("the server answered {status}"),
            }
        }
        status => Error::NotGit {
            url,
            cause: format!("it answered {status}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ErrorClass;

    /// Status, host, whether it is a push, whether a credential was sent, and what is expected.
    type Case = (u16, &'static str, bool, bool, ErrorClass, &'static str);

    #[rustfmt::skip]
    const CASES: &[Case] = &[
        (401, "github.com", false, false, ErrorClass::Denied, "`contents: read`"),
        (401, "h", false, true, ErrorClass::Denied, "expired or revoked"),
        (403, "api.github.com", true, true, ErrorClass::Denied, "`contents: write`"),
        (403, "dev.azure.com", true, true, ErrorClass::Denied, "Manage notes"),
        (403, "org.visualstudio.com", false, true, ErrorClass::Denied, "`Code (Read)`"),
        (403, "gitlab.com", false, true, ErrorClass::Denied, "`read_repository`"),
        (403, "notgithub.com", false, true, ErrorClass::Denied, "to read this repository"),
        (404, "h", false, true, ErrorClass::Gone, "lacks the permission"),
        (404, "h", false, false, ErrorClass::Gone, "it is private"),
        (410, "h", false, false, ErrorClass::Gone, "410"),
        (407, "h", false, true, ErrorClass::Denied, "HTTPS_PROXY"),
        (429, "h", false, true, ErrorClass::Transient, "429 Too Many Requests"),
        (502, "h", true, true, ErrorClass::Transient, "502 Bad Gateway"),
        (204, "h", false, true, ErrorClass::Invalid, "204 No Content"),
    ];

    #[test]
    fn every_status_has_a_class_and_says_what_is_missing() {
        for (status, host, is_push, credential, class, words) in CASES {
            let code = StatusCode::from_u16(*status).expect("a status");
            let service = match is_push {
                true => Service::ReceivePack,
                false => Service::UploadPack,
            };
            let error = of_status(code, "https://h/r", host, service, *credential);
            assert_eq!(error.class(), *class, "{error}");
            let message = error.to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
