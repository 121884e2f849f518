//! URLs in rules: `url`, `isURL` and the methods of URLs.
//!
//! Source: `pkg/cel/library/urls.go` of k8s.io/apiserver.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::error::Error;
use kube_schema::uri::{Uri, parse};

/// A URL as a value.
#[derive(Debug, PartialEq, Eq)]
struct Url(Uri);

impl Opaque for Url {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.URL"
    }
}

/// Whether `text` is a URL.
pub(super) fn is_url(text: &str) -> bool {
    parse(text).is_some()
}

/// Parses a URL.
///
/// # Errors
/// When `text` is not a URL.
pub(super) fn url(text: &str) -> Result<Value, Error> {
    let uri = parse(text).and_then(|_| Uri::without_fragment(text)).ok_or_else(|| {
        Error::Failed(format!(
            "URL parse error during conversion from string: parse {text:?}: invalid URI for request"
        ))
    })?;
    Ok(Value::Opaque(Arc::new(Url(uri))))
}

/// The value of `url.name()`; `None` when `target` is not a URL or has no such method.
pub(super) fn method(name: &str, target: &Value) -> Option<Value> {
    let Value::Opaque(opaque) = target else {
        return None;
    };
    let Url(uri) = opaque.downcast_ref::<Url>()?;
    Some(match name {
        "getScheme" => uri.scheme.as_str().into(),
        "getHost" => uri.host.as_str().into(),
        "getHostname" => uri.hostname().into(),
        "getPort" => uri.port().into(),
        "getEscapedPath" => uri.escaped_path().into(),
        "getQuery" => {
            let list = |values: Vec<String>| Value::from(values);
            let query = uri
                .query()
                .into_iter()
                .map(|(key, values)| (key, list(values)));
            Value::from(query.collect::<HashMap<String, Value>>())
        }
        _ => return None,
    })
}
