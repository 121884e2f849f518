//! The REST API: what is behind each path, and what every answer has.
//!
//! In: requests. Out: answers of a [`Clusters`], with an ID each, within limits of size, time and rate. It does not know where clusters are
//! kept. Bodies of requests are never logged.

mod answer;
mod exchange;
mod port;
mod rate;
#[cfg(test)]
mod tests;
mod tokens;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Extension, Path, Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use http::{Method, StatusCode};

use answer::{Answer, json, no_content, written_json};
pub use port::{Caller, Clusters, Create, Created};
use rate::Rate;
pub use tokens::{Token, TokenFault, Tokens};

use crate::provider::page::PageQuery;
use crate::provider::problem::{Problem, ProblemKind};
use crate::provider::request::is_instance_id;
use exchange::{body, chosen_id, key, parameters};

/// The start of every path.
const ROOT: &str = "/api/v1alpha1";

/// What the API allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest time until an answer.
    pub time: Duration,
    /// The most requests a second with one token, and of all without a valid one.
    pub rate: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Less than a connection has for a request and its answer.
            time: Duration::from_secs(25),
            rate: 100,
        }
    }
}

/// The parts behind the paths.
struct Api {
    clusters: Arc<dyn Clusters>,
    /// `None` if everybody may do everything.
    tokens: Option<Tokens>,
    rate: Rate,
}

/// The API of these clusters. Without `tokens`, everybody may do everything.
pub fn router(clusters: Arc<dyn Clusters>, tokens: Option<Tokens>, limits: Limits) -> Router {
    let rate = Rate::new(limits.rate);
    let api = Arc::new(Api {
        clusters,
        tokens,
        rate,
    });
    let open = [
        "/health".to_owned(),
        format!("{ROOT}/health"),
        format!("{ROOT}/clusters/health"),
    ];
    let open = open.iter().fold(Router::new(), |router, path| {
        router.route(path, get(health))
    });
    let open = open.route(&format!("{ROOT}/openapi.json"), get(openapi));
    let clusters = Router::new()
        .route(&format!("{ROOT}/clusters"), get(list).post(create))
        .route(&format!("{ROOT}/clusters/{{id}}"), get(read).delete(remove))
        .route_layer(from_fn_with_state(Arc::clone(&api), admit));
    open.merge(clusters)
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(limits.time, exchange::guard))
        .layer(from_fn(exchange::name))
        .with_state(api)
}

/// Lets a request through that may be made, and not too often.
async fn admit(
    State(api): State<Arc<Api>>,
    mut request: Request,
    next: axum::middleware::Next,
) -> Result<Response, Answer> {
    let now = tokio::time::Instant::now();
    let token = api
        .tokens
        .as_ref()
        .map(|tokens| tokens.of(request.headers()));
    let name = token.clone().flatten();
    if !api.rate.allows(name.as_deref(), now) {
        let problem = Problem::later("too many requests: try again later", 1);
        return Err(problem.with_status(429, "Too Many Requests").into());
    }
    if token == Some(None) {
        let detail = "a valid bearer token is required in the header Authorization";
        return Err(Problem::new(ProblemKind::Unauthenticated, detail).into());
    }
    request.extensions_mut().insert(Caller(name));
    Ok(next.run(request).await)
}

async fn create(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Answer> {
    let query = parameters(request.uri())?;
    let chosen = chosen_id(&query)?;
    let key = key(request.headers())?;
    let body = body(request).await?;
    let request = crate::provider::request::Request::read(&body)?;
    let create = Create {
        caller,
        chosen,
        key,
        request,
    };
    let Created { cluster, id } = api.clusters.create(create).await?;
    let mut response = json(StatusCode::CREATED, &cluster);
    let place = format!("{ROOT}/clusters/{id}");
    if let Ok(place) = place.parse() {
        response.headers_mut().insert(http::header::LOCATION, place);
    }
    Ok(response)
}

async fn list(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Answer> {
    let query = parameters(request.uri())?;
    let of = |name: &str| query.get(name).map(String::as_str);
    let page = PageQuery::read(of("max_page_size"), of("page_token"))?;
    let found = api.clusters.list(page).await?;
    Ok(json(StatusCode::OK, &found))
}

async fn read(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Response, Answer> {
    let found = api.clusters.get(checked(&id)?).await?;
    Ok(json(StatusCode::OK, &found))
}

async fn remove(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Answer> {
    api.clusters.delete(checked(&id)?, &caller).await?;
    Ok(no_content())
}

/// An ID in a path.
fn checked(id: &str) -> Result<&str, Problem> {
    if is_instance_id(id) {
        return Ok(id);
    }
    let pattern = crate::provider::request::NAME;
    let detail = format!(
        "parameter \"clusterId\" in path: string doesn't match the regular expression \"{pattern}\""
    );
    Err(Problem::invalid(detail))
}

async fn health(State(api): State<Arc<Api>>) -> Response {
    json(StatusCode::OK, &api.clusters.health())
}

async fn openapi() -> Response {
    // Anybody may ask for it as often as they like.
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| crate::provider::openapi::document().to_string().into());
    written_json(StatusCode::OK, DOCUMENT.clone())
}

async fn no_path() -> Answer {
    Problem::new(ProblemKind::NotFound, "there is nothing at this path").into()
}

async fn no_method(method: Method) -> Answer {
    let known = [
        Method::PUT,
        Method::PATCH,
        Method::POST,
        Method::DELETE,
        Method::GET,
    ];
    let name = known.iter().find(|one| **one == method);
    let name = name.map_or("this method", Method::as_str);
    let problem = Problem::invalid(format!("{name} is not allowed at this path"));
    problem.with_status(405, "Method Not Allowed").into()
}
