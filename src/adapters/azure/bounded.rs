//! Bounds what a server may answer to requests of the SDK, which itself takes any amount and waits for any time.
//!
//! In: options for requests. Out: the same, with a transport that gives an answer up which is too large or takes too long.
//! It does not know what is asked.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use azure_core::error::ErrorKind;
use azure_core::http::{AsyncRawResponse, ClientOptions, Context, HttpClient, Request, Transport};
use azure_core::{Bytes, Error};
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::timeout;

/// The largest answer, in bytes. Tokens and keys take a few thousand.
const LARGEST: usize = 1 << 20;
/// How long an answer may take from the request to its last byte.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same options, whose answers are bounded.
pub(super) fn bounded(options: ClientOptions) -> ClientOptions {
    bounded_by(options, LARGEST)
}

/// The same options, whose answers have no more than `largest` bytes.
pub(super) fn bounded_by(options: ClientOptions, largest: usize) -> ClientOptions {
    let inner = options.transport.unwrap_or_default();
    let transport = Transport::new(Arc::new(Bounded { inner, largest }));
    ClientOptions {
        transport: Some(transport),
        ..options
    }
}

/// Sends requests by another transport. That of the SDK follows no redirect.
#[derive(Debug)]
struct Bounded {
    inner: Transport,
    largest: usize,
}

impl Bounded {
    async fn exchange(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let mut request = request.clone();
        let answer = self.inner.send(&Context::new(), &mut request).await?;
        let (status, headers, mut stream) = answer.deconstruct();
        let mut body = Vec::new();
        while let Some(part) = stream.next().await {
            let part: Bytes = part?;
            if body.len() + part.len() > self.largest {
                let why = format!("its answer is larger than {} bytes", self.largest);
                return Err(failed(why));
            }
            body.extend_from_slice(&part);
        }
        Ok(AsyncRawResponse::from_bytes(status, headers, body))
    }
}

impl HttpClient for Bounded {
    fn execute_request<'s, 'r, 'f>(
        &'s self,
        request: &'r Request,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
    where
        's: 'f,
        'r: 'f,
    {
        let silent = || failed(format!("it did not answer within {} s", PATIENCE.as_secs()));
        async move {
            let answer = timeout(PATIENCE, self.exchange(request)).await;
            answer.unwrap_or_else(|_| Err(silent()))
        }
        .boxed()
    }
}

fn failed(why: String) -> Error {
    Error::with_message(ErrorKind::Other, why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use azure_core::http::headers::Headers;
    use azure_core::http::{Method, StatusCode};
    use futures::stream;

    use super::*;

    /// Answers with parts of this many bytes, without an end, one in each of these seconds; and counts what is taken.
    #[derive(Debug)]
    struct Endless {
        size: usize,
        every: u64,
        taken: Arc<AtomicUsize>,
    }

    impl HttpClient for Endless {
        fn execute_request<'s, 'r, 'f>(
            &'s self,
            _: &'r Request,
        ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
        where
            's: 'f,
            'r: 'f,
        {
            let (size, every, taken) = (self.size, self.every, Arc::clone(&self.taken));
            let parts = stream::repeat(()).then(move |()| {
                let taken = Arc::clone(&taken);
                async move {
                    tokio::time::sleep(Duration::from_secs(every)).await;
                    taken.fetch_add(size, Ordering::SeqCst);
                    Ok(Bytes::from(vec![b' '; size]))
                }
            });
            let answer = AsyncRawResponse::new(StatusCode::Ok, Headers::default(), Box::pin(parts));
            std::future::ready(Ok(answer)).boxed()
        }
    }

    async fn error_of(size: usize, every: u64) -> (String, usize) {
        let taken = Arc::new(AtomicUsize::new(0));
        let endless = Endless {
            size,
            every,
            taken: Arc::clone(&taken),
        };
        let options = bounded(ClientOptions {
            transport: Some(Transport::new(Arc::new(endless))),
            ..ClientOptions::default()
        });
        let mut request = Request::new("https://vault.example/".parse().unwrap(), Method::Get);
        let sent = options.transport.unwrap();
        let sent = sent.send(&Context::new(), &mut request).await;
        (
            sent.err().unwrap().to_string(),
            taken.load(Ordering::SeqCst),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_without_an_end_is_given_up_at_its_limit() {
        let (error, taken) = error_of(1 << 16, 0).await;
        assert!(error.contains("larger than 1048576 bytes"), "{error}");
        assert!(taken <= LARGEST + (1 << 16), "{taken}");
        let (error, taken) = error_of(1, 1).await;
        assert!(error.contains("did not answer within 60 s"), "{error}");
        assert!(taken <= 60, "{taken}");
    }
}
