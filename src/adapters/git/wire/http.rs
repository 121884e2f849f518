//! Git over HTTP: the requests, their redirects and their credential.
//!
//! In: which service, and the body of a request. Out: the answer to it, once its status and type are
//! right. The credential goes to the scheme, host and port of the address and nowhere else: a redirect to
//! another is an error. A request that is refused is repeated once if there is a newer credential.
//! Format: `gitprotocol-http` of git.

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Certificate, Client, Identity, Method, NoProxy, Response, StatusCode, Url};

use super::fault::Fault;
use super::http_error::{fault, of_status};
use super::service::Service;
use crate::adapters::git::Error;
use crate::adapters::git::access::Access;
use crate::adapters::git::address::HttpPlace;
use crate::adapters::git::credential::Credential;
use crate::model::Token;

/// GitHub's oldest servers and Azure DevOps look for `git/`.
const AGENT: &str = concat!("git/2.0 (capstan ", env!("CARGO_PKG_VERSION"), ")");
/// How many redirects are followed.
const HOPS: usize = 5;

/// The client of one repository.
pub(super) struct Http {
    client: Client,
    shown: String,
    /// The user of the address.
    user: Option<String>,
    /// The address, or where it redirects to.
    base: Url,
    credential: Credential,
    access: Access,
}

/// What a request came to.
enum Answer {
    Success(Response),
    /// The token was not accepted.
    Unauthorized(Option<Token>),
}

impl Http {
    pub(super) async fn new(
        shown: &str,
        place: &HttpPlace,
        access: &Access,
    ) -> Result<Self, Fault> {
        let credential = credential(access).await?;
        Ok(Self {
            client: client(shown, place, access, &credential)?,
            shown: shown.to_owned(),
            user: place.user.clone(),
            base: place.url.clone(),
            credential,
            access: access.clone(),
        })
    }

    /// Asks what the service has to offer.
    pub(super) async fn discover(&mut self, service: Service) -> Result<Response, Fault> {
        let response = self.send(service, None).await?;
        self.check(
            &response,
            &format!("application/x-{}-advertisement", service.name()),
        )?;
        Ok(response)
    }

    /// Makes a request of the service.
    pub(super) async fn request(
        &mut self,
        service: Service,
        body: Vec<u8>,
    ) -> Result<Response, Fault> {
        let response = self.send(service, Some(body)).await?;
        self.check(
            &response,
            &format!("application/x-{}-result", service.name()),
        )?;
        Ok(response)
    }

    async fn send(&mut self, service: Service, body: Option<Vec<u8>>) -> Result<Response, Fault> {
        let token = match self.attempt(service, body.clone()).await? {
            Answer::Success(response) => return Ok(response),
            Answer::Unauthorized(token) => token,
        };
        if self.renew(token.as_ref()).await?
            && let Answer::Success(response) = self.attempt(service, body).await?
        {
            return Ok(response);
        }
        Err(self.failed(StatusCode::UNAUTHORIZED, service).into())
    }

    /// Whether there is another credential than the one that was refused.
    async fn renew(&mut self, refused: Option<&Token>) -> Result<bool, Fault> {
        if let (Some(authorization), Some(token)) = (&self.credential.authorization, refused) {
            authorization.source().refused(token);
            if self
                .token()
                .await?
                .is_some_and(|fresh| fresh.secret() != token.secret())
            {
                return Ok(true);
            }
        }
        let fresh = credential(&self.access).await?;
        let is_other = !fresh.is_same(&self.credential);
        self.credential = fresh;
        Ok(is_other)
    }

    /// Sends the request and follows its redirects.
    async fn attempt(&mut self, service: Service, body: Option<Vec<u8>>) -> Result<Answer, Fault> {
        let token = self.token().await?;
        let mut url = self.url(service, body.is_some());
        for _ in 0..=HOPS {
            let response = self
                .one(service, &url, body.clone(), token.as_ref())
                .await?;
            let status = response.status();
            if status == StatusCode::UNAUTHORIZED {
                return Ok(Answer::Unauthorized(token));
            }
            if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
                url = self.redirected(&url, response.headers())?;
                if body.is_none() {
                    self.rebase(&url)?;
                }
                continue;
            }
            return match is_git(status) {
                true => Ok(Answer::Success(response)),
                false => Err(self.failed(status, service).into()),
            };
        }
        Err(Fault::Malformed(format!(
            "it redirects more than {HOPS} times"
        )))
    }

    fn url(&self, service: Service, is_request: bool) -> Url {
        let mut url = self.base.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        if is_request {
            url.set_path(&format!("{path}/{}", service.name()));
        } else {
            url.set_path(&format!("{path}/info/refs"));
            url.set_query(Some(&format!("service={}", service.name())));
        }
        url
    }

    async fn one(
        &self,
        service: Service,
        url: &Url,
        body: Option<Vec<u8>>,
        token: Option<&Token>,
    ) -> Result<Response, Fault> {
        let method = match body.is_some() {
            true => Method::POST,
            false => Method::GET,
        };
        let mut request = self.client.request(method, url.clone());
        request = request.headers(self.headers(token)?);
        if let Some(body) = body {
            let name = service.name();
            request = request
                .header(CONTENT_TYPE, format!("application/x-{name}-request"))
                .header(ACCEPT, format!("application/x-{name}-result"))
                .body(body);
        }
        request.send().await.map_err(|error| fault(&error))
    }

    fn headers(&self, token: Option<&Token>) -> Result<HeaderMap, Fault> {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let (Some(authorization), Some(token)) = (&self.credential.authorization, token) {
            let value = authorization.header(token, self.user.as_deref());
            let value = HeaderValue::from_str(&value);
            let mut value = value.map_err(|_| self.unusable("its token has invalid characters"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }

    async fn token(&self) -> Result<Option<Token>, Fault> {
        let Some(authorization) = &self.credential.authorization else {
            return Ok(None);
        };
        let token = authorization.source().token().await;
        Ok(Some(token.map_err(Error::Credential)?))
    }

    /// Where a redirect leads, if it stays on the scheme, host and port that the credential is for.
    fn redirected(&self, from: &Url, headers: &HeaderMap) -> Result<Url, Fault> {
        let target = headers
            .get(LOCATION)
            .and_then(|target| target.to_str().ok());
        let target = target.and_then(|target| from.join(target).ok());
        let mut target =
            target.ok_or_else(|| Fault::Malformed("it redirects to nowhere".to_owned()))?;
        if target.origin() != from.origin() {
            let path = target.path().to_lowercase();
            let is_sign_in = ["signin", "sign_in", "login", "oauth"];
            let (url, to) = (self.shown.clone(), target.origin().ascii_serialization());
            return Err(Fault::Known(
                match is_sign_in.iter().any(|word| path.contains(word)) {
                    true => Error::SignIn { url },
                    false => Error::Redirected { url, to },
                },
            ));
        }
        if target
            .set_username("")
            .and(target.set_password(None))
            .is_err()
        {
            return Err(Fault::Malformed("it redirects to nowhere".to_owned()));
        }
        Ok(target)
    }

    /// Takes the address that a redirect of the first request leads to as that of the repository. As git
    /// does, only if the end of the URL was kept.
    fn rebase(&mut self, url: &Url) -> Result<(), Fault> {
        let Some(path) = url.path().strip_suffix("/info/refs") else {
            let url = self.shown.clone();
            return Err(Fault::Known(Error::SignIn { url }));
        };
        let mut base = url.clone();
        base.set_query(None);
        base.set_path(path);
        tracing::warn!(from = self.shown, to = %base, "the repository has moved; update its URL");
        self.base = base;
        Ok(())
    }

    fn check(&self, response: &Response, expected: &str) -> Result<(), Fault> {
        let found = response.headers().get(CONTENT_TYPE);
        let found = found
            .and_then(|found| found.to_str().ok())
            .unwrap_or_default();
        let found = found.split(';').next().unwrap_or_default().trim();
        if found == expected {
            return Ok(());
        }
        Err(match found {
            "text/html" | "application/xhtml+xml" => {
                let url = self.shown.clone();
                Fault::Known(Error::SignIn { url })
            }
            "" => Fault::Malformed("its answer has no content type".to_owned()),
            other => Fault::Malformed(format!("it answered with content of type {other:?}")),
        })
    }

    fn failed(&self, status: StatusCode, service: Service) -> Error {
        let host = self.base.host_str().unwrap_or_default();
        let has_credential = self.credential.authorization.is_some();
        of_status(status, &self.shown, host, service, has_credential)
    }

    fn unusable(&self, cause: &str) -> Fault {
        unusable(&self.shown, cause)
    }
}

/// A success, or an answer of a sign-in page, which its content type tells.
fn is_git(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION
    )
}

fn unusable(shown: &str, cause: &str) -> Fault {
    Fault::Known(Error::Unusable {
        url: shown.to_owned(),
        cause: cause.to_owned(),
    })
}

/// The credential as it is now.
pub(super) async fn credential(access: &Access) -> Result<Credential, Fault> {
    match &access.credentials {
        Some(source) => Ok(source.credential().await.map_err(Error::Credential)?),
        None => Ok(Credential::default()),
    }
}

/// A client that follows no redirect and reads no environment.
fn client(
    shown: &str,
    place: &HttpPlace,
    access: &Access,
    credential: &Credential,
) -> Result<Client, Fault> {
    let mut builder = Client::builder()
        .user_agent(AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .connect_timeout(access.patience.connect)
        .read_timeout(access.patience.idle);
    if let Some(proxy) = access
        .proxy
        .as_ref()
        .filter(|_| place.url.scheme() == "https")
    {
        let except = NoProxy::from_string(&proxy.except);
        let proxy = reqwest::Proxy::all(&proxy.url);
        let proxy = proxy.map_err(|_| unusable(shown, "HTTPS_PROXY is not a URL of a proxy"))?;
        builder = builder.proxy(proxy.no_proxy(except));
    }
    if let Some(pem) = &credential.authorities {
        let wrong = || unusable(shown, "key ca.crt: it is not a list of PEM certificates");
        let authorities = Certificate::from_pem_bundle(pem).map_err(|_| wrong())?;
        if authorities.is_empty() {
            return Err(wrong());
        }
        builder = builder.tls_certs_merge(authorities);
    }
    if let Some(pem) = &credential.certificate {
        let wrong = "keys tls.crt and tls.key: they are not a PEM certificate and its private key";
        let identity = Identity::from_pem(pem).map_err(|_| unusable(shown, wrong))?;
        builder = builder.identity(identity);
    }
    builder.build().map_err(|cause| {
        unusable(
            shown,
            &format!("no HTTPS client can be made of it: {cause}"),
        )
    })
}
