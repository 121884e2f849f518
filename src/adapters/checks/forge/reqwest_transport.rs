//! Requests over HTTPS.
//!
//! In: a client that the wiring built, with its proxy and certificate authorities. Out: answers of bounded
//! size. The client must follow no redirect: [`HttpTransport::builder`] makes one that does not.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use reqwest::{Client, ClientBuilder};

use super::wire::{Transport, TransportError};

/// How long an answer may take. Azure DevOps holds answers back for up to 30 seconds (forges.md §2d).
const TOTAL: Duration = Duration::from_secs(60);
/// The largest answer, in bytes. Gitea returns all comments of a pull request in one (forges.md §3).
const LARGEST: usize = 8 << 20;

/// Sends requests over HTTPS.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    client: Client,
    largest: usize,
}

impl HttpTransport {
    /// What a client begins with; add proxies and certificates to it.
    pub fn builder() -> ClientBuilder {
        Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .timeout(TOTAL)
    }

    /// With a client that was made by [`Self::builder`].
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self {
            client,
            largest: LARGEST,
        }
    }

    async fn exchange(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, TransportError> {
        let request = reqwest::Request::try_from(request);
        let request = request.map_err(|error| TransportError::Unsent(deepest(&error)))?;
        let sent = self.client.execute(request).await;
        let mut response = sent.map_err(|error| fault(&error))?;
        let mut answer = Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            headers.clone_from(response.headers());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
            if body.len() + chunk.len() > self.largest {
                return Err(TransportError::TooLarge(self.largest));
            }
            body.extend_from_slice(&chunk);
        }
        let answer = answer.body(body);
        answer.map_err(|error| TransportError::Unclear(error.to_string()))
    }
}

impl Transport for HttpTransport {
    fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'_, Result<Response<Vec<u8>>, TransportError>> {
        self.exchange(request).boxed()
    }
}

/// A request that was not connected was not sent.
fn fault(error: &reqwest::Error) -> TransportError {
    let cause = match error.is_timeout() {
        true => "it did not answer in time".to_owned(),
        false => deepest(error),
    };
    match error.is_connect() || error.is_builder() {
        true => TransportError::Unsent(cause),
        false => TransportError::Unclear(cause),
    }
}

/// The first cause: the others name the URL.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Sends a request to a server that answers with these bytes, or not at all.
    async fn exchange(answer: Option<String>) -> Result<Response<Vec<u8>>, TransportError> {
        // There is one provider of TLS in a process, and `main` installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/x", listener.local_addr().unwrap());
        let mut builder = HttpTransport::builder();
        if answer.is_none() {
            builder = builder.timeout(Duration::from_millis(300));
        }
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            match answer {
                Some(answer) => drop(stream.write_all(answer.as_bytes()).await),
                None => std::future::pending().await,
            }
        });
        let transport = HttpTransport {
            largest: 100,
            ..HttpTransport::new(builder.build().unwrap())
        };
        let request = Request::post(uri).body(b"{}".to_vec()).unwrap();
        let done = transport.send(request).await;
        served.abort();
        done
    }

    #[tokio::test]
    async fn an_answer_comes_as_it_is_and_no_redirect_is_followed() {
        let answer = "HTTP/1.1 307 T\r\nlocation: /y\r\ncontent-length: 2\r\n\r\nab";
        let answer = exchange(Some(answer.to_owned())).await.unwrap();
        assert_eq!(answer.status(), 307);
        assert_eq!(answer.headers()["location"], "/y");
        assert_eq!(answer.body(), b"ab");
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_given_up_after_its_time() {
        let cause = "it did not answer in time".to_owned();
        let error = exchange(None).await.unwrap_err();
        assert_eq!(error, TransportError::Unclear(cause));
    }

    #[tokio::test]
    async fn a_large_answer_is_not_read_and_one_that_breaks_off_is_unclear() {
        let body = "a".repeat(101);
        let large = format!("HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n{body}");
        let error = exchange(Some(large)).await.unwrap_err();
        assert_eq!(error, TransportError::TooLarge(100));
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab".to_owned();
        let error = exchange(Some(cut)).await.unwrap_err();
        assert!(matches!(error, TransportError::Unclear(_)), "{error:?}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_got_nothing() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/x", listener.local_addr().unwrap());
        drop(listener);
        let client = HttpTransport::builder().build().unwrap();
        let request = Request::post(uri).body(Vec::new()).unwrap();
        let error = HttpTransport::new(client).send(request).await;
        assert!(matches!(error, Err(TransportError::Unsent(_))), "{error:?}");
    }
}
