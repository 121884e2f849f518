//! Requests over HTTPS through the proxy of the environment, with certificate authorities of credentials.
//!
//! The authorities are read again for each request, so that they can be replaced while the daemon runs.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use parking_lot::Mutex;

use super::keys::KeyPlace;
use crate::adapters::checks::forge::{HttpTransport, Transport, TransportError};
use crate::model::AdapterError;
use crate::settings::HttpsProxy;

/// HTTPS with the authorities of the first place that has some, and a proxy.
pub(super) struct Secured {
    places: Vec<KeyPlace>,
    proxy: Option<HttpsProxy>,
    /// The last one, and its authorities.
    built: Mutex<Option<(Option<Vec<u8>>, HttpTransport)>>,
}

impl Secured {
    pub(super) fn new(places: Vec<KeyPlace>, proxy: Option<HttpsProxy>) -> Self {
        Self {
            places,
            proxy,
            built: Mutex::default(),
        }
    }

    /// Certificate authorities, besides those of the system.
    async fn authorities(&self) -> Result<Option<Vec<u8>>, AdapterError> {
        for place in &self.places {
            if let Some(authorities) = place.keys().await?.remove("ca.crt") {
                return Ok(Some(authorities));
            }
        }
        Ok(None)
    }

    async fn transport(&self) -> Result<HttpTransport, TransportError> {
        let authorities = self.authorities().await;
        let authorities = authorities.map_err(|error| TransportError::Unsent(error.to_string()))?;
        if let Some((of, transport)) = &*self.built.lock()
            && *of == authorities
        {
            return Ok(transport.clone());
        }
        let transport = self.build(authorities.as_deref());
        let transport = transport.map_err(TransportError::Unsent)?;
        *self.built.lock() = Some((authorities, transport.clone()));
        Ok(transport)
    }

    fn build(&self, authorities: Option<&[u8]>) -> Result<HttpTransport, String> {
        let mut builder = HttpTransport::builder();
        if let Some(pem) = authorities {
            let wrong = |_| "key ca.crt: it is not a list of PEM certificates".to_owned();
            let bundle = reqwest::Certificate::from_pem_bundle(pem).map_err(wrong)?;
            builder = builder.tls_certs_merge(bundle);
        }
        if let Some(proxy) = &self.proxy {
            let except = reqwest::NoProxy::from_string(&proxy.except);
            let proxy = reqwest::Proxy::https(&proxy.url);
            let proxy = proxy.map_err(|_| "HTTPS_PROXY is not a URL of a proxy".to_owned())?;
            builder = builder.proxy(proxy.no_proxy(except));
        }
        let client = builder.build();
        let client = client.map_err(|cause| format!("no HTTPS client can be made: {cause}"))?;
        Ok(HttpTransport::new(client))
    }
}

impl Transport for Secured {
    fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'_, Result<Response<Vec<u8>>, TransportError>> {
        async move { self.transport().await?.send(request).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn authorities_are_those_of_the_first_place_that_has_some() {
        let (own, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let places = [&own, &source].map(|dir| KeyPlace::Directory(dir.path().to_owned()));
        let secured = Secured::new(places.to_vec(), None);
        let found = || secured.authorities().now_or_never().unwrap().unwrap();
        assert_eq!(found(), None);
        std::fs::write(source.path().join("ca.crt"), "of the source").unwrap();
        assert_eq!(found().as_deref(), Some(&b"of the source"[..]));
        std::fs::write(own.path().join("ca.crt"), "its own").unwrap();
        assert_eq!(found().as_deref(), Some(&b"its own"[..]));
    }
}
