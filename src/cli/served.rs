//! The API of a simulated cluster, for other programs of the same user.
//!
//! In: the cluster's router, and that of its hosted clusters. Out: a server on loopback for both, and a kubeconfig of the first, in a file
//! that only the user can read. Other users of the machine can connect, too: without the token in that file, or that of a hosted
//! cluster's kubeconfig, they are refused. The file is locked while the server runs, so that `status` and other commands find it, and tell it from one that a killed
//! process left.
//! It does not know: what the cluster holds.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::hosted_clusters::HostedClusters;
use crate::model::hex;
use anyhow::Context as _;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::{StatusCode, header};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;

/// How long a client may take to open a connection.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The ending of the files.
const ENDING: &str = "kubeconfig";
/// What a file says of its fleet. The file's name does not tell: it may be changed or numbered.
const FLEET: &str = "capstan.dev/fleet";
/// How many daemons can follow fleets of one name.
const MOST: usize = 100;

/// A running server; it ends when this is dropped.
pub(super) struct Served {
    /// How to reach it.
    pub(super) kubeconfig: PathBuf,
    /// Locked while it runs.
    file: File,
    _task: AbortOnDropHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Somebody may have removed ours, and another daemon have its own there.
        if is_at(&self.file, &self.kubeconfig) {
            let _ = std::fs::remove_file(&self.kubeconfig);
        }
    }
}

impl Served {
    /// Serves `router` to whoever has the kubeconfig that is written below `cache`, named after `fleet`, and the hosted clusters to whoever has
    /// theirs.
    pub(super) async fn start(
        router: Router,
        hosted: HostedClusters,
        cache: &Path,
        fleet: &str,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mut token = [0; 32];
        let provider = rustls::crypto::ring::default_provider();
        let filled = provider.secure_random.fill(&mut token);
        filled.map_err(|_| anyhow::anyhow!("the system has no random numbers"))?;
        let token = hex(&token);
        let identity = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let authority = identity.cert.pem();
        let (mut file, kubeconfig) = file(&directory(cache)?, fleet)?;
        file.set_len(0)?;
        file.write_all(content(fleet, address, &authority, &token).as_bytes())?;
        let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
        let tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![identity.cert.der().clone()], PrivateKeyDer::Pkcs8(key))?;
        let listener = Tls {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(tls)),
            opening: JoinSet::new(),
        };
        hosted.open(format!("https://{address}"), authority, token.as_bytes());
        let router = hosted.router().fallback_service(guarded(router, &token));
        let server = axum::serve(listener, router);
        let task = tokio::spawn(async move { drop(server.await) });
        Ok(Self {
            kubeconfig,
            file,
            _task: AbortOnDropHandle::new(task),
        })
    }
}

/// The same for requests with the token only.
fn guarded(router: Router, token: &str) -> Router {
    // Digests take equally long to compare wherever they differ from what an attacker can choose.
    let expected: [u8; 32] = Sha256::digest(format!("Bearer {token}")).into();
    router.layer(from_fn(move |request: Request, next: Next| async move {
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.map(|given| <[u8; 32]>::from(Sha256::digest(given.as_bytes())));
        match given == Some(expected) {
            true => next.run(request).await,
            false => {
                let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "Unauthorized", "reason": "Unauthorized", "code": 401});
                let json = [(header::CONTENT_TYPE, "application/json")];
                (StatusCode::UNAUTHORIZED, json, status.to_string()).into_response()
            }
        }
    }))
}

/// Connections with TLS: kubectl sends a token over no others.
struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    /// A client that is slow holds up no others.
    opening: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                biased;
                Some(opened) = self.opening.join_next() => {
                    if let Ok(Some(connection)) = opened {
                        return connection;
                    }
                }
                (stream, address) = axum::serve::Listener::accept(&mut self.listener) => {
                    let acceptor = self.acceptor.clone();
                    self.opening.spawn(async move {
                        let opening = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream));
                        Some((opening.await.ok()?.ok()?, address))
                    });
                }
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

fn content(fleet: &str, address: SocketAddr, authority: &str, token: &str) -> String {
    let authority = BASE64_STANDARD.encode(authority);
    let name = "capstan-embedded";
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": {
            "server": format!("https://{address}"), "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "extensions": [{"name": FLEET, "extension": {"name": fleet}}],
    });
    format!("{config:#}\n")
}

/// Where the files are: in a directory that others can neither read nor write.
fn directory(cache: &Path) -> anyhow::Result<PathBuf> {
    let directory = cache.join("embedded");
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory);
    made.with_context(|| format!("cannot create {}", directory.display()))?;
    anyhow::ensure!(
        is_private(&directory),
        "{} is open to other users: `chmod 700` it",
        directory.display()
    );
    Ok(directory)
}

fn is_private(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 == 0)
}

/// A file that only the user can read, and that no other process has locked.
fn file(directory: &Path, fleet: &str) -> anyhow::Result<(File, PathBuf)> {
    let fleet = fleet.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
    for at in 1..=MOST {
        let name = match at {
            1 => format!("{fleet}.{ENDING}"),
            at => format!("{fleet}-{at}.{ENDING}"),
        };
        let path = directory.join(name);
        if let Some(file) = locked(&path)? {
            return Ok((file, path));
        }
    }
    anyhow::bail!("{MOST} daemons follow a fleet {fleet} on this machine");
}

/// The file at this path, locked; none if another process has it.
fn locked(path: &Path) -> anyhow::Result<Option<File>> {
    loop {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if file.try_lock().is_err() || !is_private(path) {
            return Ok(None);
        }
        // A daemon that ended may have removed it between the two: then nobody would find what is written here.
        if is_at(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Whether a file is the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (ours, there) = (file.metadata().ok(), std::fs::metadata(path).ok());
    ours.is_some() && ours.map(place) == there.map(place)
}

/// The kubeconfig of the simulated cluster that runs, if one does. If a fleet is given, only its clusters count.
///
/// # Errors
/// When several may be meant.
pub(super) fn running(cache: &Path, fleet: Option<&str>) -> anyhow::Result<Option<PathBuf>> {
    let mut paths = all(cache);
    if let Some(fleet) = fleet {
        paths.retain(|path| fleet_of(path).as_deref() == Some(fleet));
    }
    match paths.as_slice() {
        [] => Ok(None),
        [path] => Ok(Some(path.clone())),
        several => {
            let several: Vec<String> = several
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            anyhow::bail!(
                "several simulated clusters run; choose one with --kubeconfig: {}",
                several.join(", ")
            )
        }
    }
}

/// The fleets whose simulated clusters run.
pub(super) fn fleets(cache: &Path) -> Vec<String> {
    let mut fleets: Vec<String> = all(cache)
        .iter()
        .filter_map(|path| fleet_of(path))
        .collect();
    fleets.sort();
    fleets.dedup();
    fleets
}

/// The kubeconfigs of the simulated clusters that run.
fn all(cache: &Path) -> Vec<PathBuf> {
    let directory = cache.join("embedded");
    let entries = std::fs::read_dir(&directory).ok();
    let entries = entries.filter(|_| is_private(&directory));
    let paths = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| is_running(path)).collect();
    paths.sort();
    paths
}

/// The fleet that a file is for.
fn fleet_of(path: &Path) -> Option<String> {
    let config: Json = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let mut extensions = config["extensions"].as_array()?.iter();
    let extension = extensions.find(|extension| extension["name"] == FLEET)?;
    Some(extension["extension"]["name"].as_str()?.to_owned())
}

/// Whether the process that wrote the file still runs: then it holds the lock.
fn is_running(path: &Path) -> bool {
    let ours = path.extension().is_some_and(|ending| ending == ENDING) && is_private(path);
    let file = File::open(path).ok().filter(|_| ours);
    file.is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kube::config::Kubeconfig;

    use super::*;
    use crate::adapters::azure_sim::HostedApis;
    use crate::adapters::kubernetes::{Access, connect};

    async fn served(cache: &Path) -> Served {
        let router = Router::new().route(
            "/version",
            axum::routing::get(|| async { r#"{"major": "1", "minor": "34"}"# }),
        );
        let hub = kube::Client::new(router.clone(), "default");
        let clock = kube_sim::SimClock::new(jiff::Timestamp::UNIX_EPOCH, 1);
        let hosted = HostedClusters::new(hub, clock, HostedApis::default());
        let served = Served::start(router, hosted, cache, "prod").await;
        served.unwrap()
    }

    async fn answers(kubeconfig: &Path) -> Result<(), u16> {
        let access = Access {
            kubeconfig: Some(kubeconfig.to_owned()),
            context: None,
        };
        let client = connect(&access).await.unwrap();
        let request = http::Request::get("/version").body(kube::client::Body::empty());
        let answer = client.send(request.unwrap()).await.unwrap();
        match answer.status().as_u16() {
            200 => Ok(()),
            code => Err(code),
        }
    }

    #[tokio::test]
    async fn only_the_token_opens_it_and_only_the_user_reads_that() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cache = tempfile::tempdir().unwrap();
        let first = served(cache.path()).await;
        assert_eq!(answers(&first.kubeconfig).await, Ok(()));
        assert!(is_private(&first.kubeconfig));
        let text = std::fs::read_to_string(&first.kubeconfig).unwrap();
        let token = Kubeconfig::from_yaml(&text).unwrap();
        let token = serde_json::to_value(&token).unwrap()["users"][0]["user"]["token"].clone();
        let other = text.replace(token.as_str().unwrap(), "wrong");
        let stranger = cache.path().join("stranger");
        std::fs::write(&stranger, other).unwrap();
        assert_eq!(answers(&stranger).await, Err(401));
    }

    #[tokio::test]
    async fn the_one_that_runs_is_found() {
        let cache = tempfile::tempdir().unwrap();
        let running = |fleet| running(cache.path(), fleet);
        assert_eq!(running(None).unwrap(), None);
        let first = served(cache.path()).await;
        let path = first.kubeconfig.clone();
        assert_eq!(running(None).unwrap(), Some(path.clone()));
        let second = served(cache.path()).await;
        assert!(second.kubeconfig.ends_with("prod-2.kubeconfig"));
        let several = running(None).unwrap_err().to_string();
        assert!(
            several.contains("choose one with --kubeconfig: "),
            "{several}"
        );
        assert!(running(Some("prod")).is_err());
        drop(first);
        assert!(!path.exists());
        std::fs::write(&path, "left behind by a killed process").unwrap();
        let left = Some(second.kubeconfig.clone());
        assert_eq!(running(None).unwrap(), left);
        assert_eq!(running(Some("prod")).unwrap(), left);
        assert_eq!(running(Some("prod-2")).unwrap(), None);
        assert_eq!(running(Some("other")).unwrap(), None);
    }

    #[tokio::test]
    async fn a_file_that_was_replaced_is_left_to_its_owner() {
        let cache = tempfile::tempdir().unwrap();
        let first = served(cache.path()).await;
        let path = first.kubeconfig.clone();
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&first.file, &path));
        // The name is free, although the first still holds the lock of a file that is gone.
        let second = served(cache.path()).await;
        assert_eq!(second.kubeconfig, path);
        drop(first);
        assert_eq!(running(cache.path(), None).unwrap(), Some(path.clone()));
        drop(second);
        assert!(!path.exists());
    }

    /// A connection to the server over which nothing was sent.
    async fn connected(served: &Served) -> TcpStream {
        let kubeconfig = Kubeconfig::read_from(&served.kubeconfig).unwrap();
        let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
        let server = cluster.server.as_deref().unwrap();
        let address = server.trim_start_matches("https://");
        TcpStream::connect(address).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_cut_off() {
        let cache = tempfile::tempdir().unwrap();
        let served = served(cache.path()).await;
        let start = tokio::time::Instant::now();
        let silent = connected(&served).await;
        silent.readable().await.unwrap();
        assert_eq!(silent.try_read(&mut [0]).unwrap_or(0), 0);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test]
    async fn a_silent_client_holds_up_nobody() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cache = tempfile::tempdir().unwrap();
        let served = served(cache.path()).await;
        let _silent = connected(&served).await;
        assert_eq!(answers(&served.kubeconfig).await, Ok(()));
    }

    #[test]
    fn a_directory_that_is_open_to_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let cache = tempfile::tempdir().unwrap();
        let open = directory(cache.path()).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = directory(cache.path()).unwrap_err().to_string();
        assert!(error.contains("is open to other users"), "{error}");
        assert_eq!(running(cache.path(), None).unwrap(), None);
    }
}
