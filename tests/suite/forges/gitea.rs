//! Gitea by its API, as its administrator and as users: accounts, tokens, repositories, pull requests, and what is shown
//! on a commit.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine as _;
use http::Method;
use serde_json::{Value, json};

use super::program::Server;
use crate::patience::until;

/// The password of every user.
const PASSWORD: &str = "Passw0rd-of-tests";

/// The server and a client for it.
pub(super) struct Gitea {
    pub(super) server: &'static Server,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    /// A token of the administrator.
    root: String,
}

/// Somebody with an account, and a token with every right.
#[derive(Clone)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) token: String,
}

/// A commit status, as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) context: String,
    pub(super) state: String,
    pub(super) description: String,
}

impl Gitea {
    /// The server of this process; none when it is not built.
    pub(super) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Gitea>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        let server = Server::shared()?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = reqwest::Certificate::from_pem(server.authority.as_bytes());
        let http = reqwest::Client::builder()
            .tls_certs_merge([authority.expect("a certificate")])
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(Duration::from_secs(60))
            .build()
            .expect("a client");
        let who = ["--username", "administrator"];
        let create = [
            "user",
            "create",
            "--password",
            PASSWORD,
            "--email",
            "root@example.com",
        ];
        let rights = ["--admin", "--must-change-password=false"];
        server.admin(&[&create[..], &who, &rights].concat());
        let token = [
            "user",
            "generate-access-token",
            "--scopes",
            "all",
            "--token-name",
            "all",
        ];
        let root = server.admin(&[&token[..], &who, &["--raw"]].concat());
        Some(Self {
            server,
            http,
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
            root,
        })
    }

    /// The status and the body of an answer; `authorization` is the header.
    fn request(
        &self,
        authorization: String,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let url = format!("{}/api/v1{path}", self.server.url());
        let mut request = self.http.request(method.clone(), url);
        request = request.header("authorization", authorization);
        if let Some(body) = body {
            request = request.header("content-type", "application/json");
            request = request.body(body.to_string());
        }
        let answer = async {
            let answer = request.send().await?;
            let status = answer.status().as_u16();
            Ok::<_, reqwest::Error>((status, answer.text().await?))
        };
        // A runtime of its own thread: tests may be in one themselves.
        let answer = std::thread::scope(|scope| {
            let asked = scope.spawn(|| self.runtime.block_on(answer));
            asked.join().expect("no panic")
        });
        let (status, text) = answer.expect("Gitea answers");
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Asks as the owner of `token`; the answer must be a success.
    #[track_caller]
    pub(super) fn call(&self, token: &str, method: &Method, path: &str, body: Value) -> Value {
        let body = Some(body).filter(|body| !body.is_null());
        let (status, answer) = self.request(format!("token {token}"), method, path, body.as_ref());
        assert!(
            (200..300).contains(&status),
            "{method} {path}: {status} {answer}"
        );
        answer
    }

    /// Asks as the owner of `token`; returns the status and the body of the answer.
    pub(super) fn try_call(
        &self,
        token: &str,
        method: &Method,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        self.request(format!("token {token}"), method, path, Some(body))
    }

    /// What `path` shows.
    #[track_caller]
    pub(super) fn get(&self, token: &str, path: &str) -> Value {
        self.call(token, &Method::GET, path, Value::Null)
    }

    /// A new user, whose name begins with `prefix`.
    pub(super) fn user(&self, prefix: &str) -> User {
        let name = format!("{prefix}{}", next());
        let user = json!({"username": name, "email": format!("{name}@example.com"), "password": PASSWORD,
                          "must_change_password": false});
        self.call(&self.root, &Method::POST, "/admin/users", user);
        let token = self.token(&name, &["all"]);
        User { name, token }
    }

    /// A token of this user with these scopes.
    pub(super) fn token(&self, user: &str, scopes: &[&str]) -> String {
        let name = format!("{}-{}", scopes.join("-").replace(':', "-"), next());
        let body = json!({"name": name, "scopes": scopes});
        let path = format!("/users/{user}/tokens");
        let (status, answer) = self.request(basic(user), &Method::POST, &path, Some(&body));
        assert_eq!(status, 201, "{answer}");
        answer["sha1"].as_str().expect("a token").to_owned()
    }

    /// Ends every token of this user but the one with every right.
    pub(super) fn revoke(&self, user: &str) {
        let path = format!("/users/{user}/tokens");
        let (_, tokens) = self.request(basic(user), &Method::GET, &path, None);
        for token in tokens.as_array().expect("a list") {
            let name = token["name"].as_str().expect("a name");
            if !name.starts_with("all-") {
                let path = format!("{path}/{}", token["id"]);
                let (status, _) = self.request(basic(user), &Method::DELETE, &path, None);
                assert_eq!(status, 204);
            }
        }
    }

    /// The statuses of a commit, oldest first.
    pub(super) fn statuses(&self, repository: &str, commit: &str) -> Vec<Status> {
        let path = format!("/repos/{repository}/commits/{commit}/statuses?limit=50");
        let rows = self.get(&self.root, &path);
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let status = |row: &Value| Status {
            id: row["id"].as_u64().expect("an id"),
            context: text(row, "context"),
            state: text(row, "status"),
            description: text(row, "description"),
        };
        let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
        let mut rows: Vec<Status> = rows.iter().map(status).collect();
        // Not by time: Gitea counts seconds (LIVE, forges.md §3).
        rows.sort_by_key(|row| row.id);
        rows
    }
}

/// The header of a user with the password.
fn basic(user: &str) -> String {
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{PASSWORD}"));
    format!("Basic {pair}")
}

/// A number that no other call returns.
fn next() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

impl User {
    /// A new empty repository; returns `owner/name`.
    pub(super) fn repository(&self, gitea: &Gitea, name: &str) -> String {
        let body = json!({"name": name, "default_branch": "main"});
        gitea.call(&self.token, &Method::POST, "/user/repos", body);
        format!("{}/{name}", self.name)
    }

    /// A fork of `repository`; returns its `owner/name`.
    pub(super) fn fork(&self, gitea: &Gitea, repository: &str) -> String {
        let path = format!("/repos/{repository}/forks");
        let fork = gitea.call(&self.token, &Method::POST, &path, json!({}));
        fork["full_name"].as_str().expect("a name").to_owned()
    }

    /// Opens a pull request of `head`, `branch` or `owner:branch`, onto `main`; returns its number. Gitea takes
    /// note of a pushed branch a little after the push; until then it answers 404.
    pub(super) fn pull_request(&self, gitea: &Gitea, repository: &str, head: &str) -> u64 {
        let path = format!("/repos/{repository}/pulls");
        let body = json!({"head": head, "base": "main", "title": format!("take {head}")});
        let open = || {
            let token = format!("token {}", self.token);
            gitea.request(token, &Method::POST, &path, Some(&body))
        };
        let opened = || Some(open()).filter(|(status, _)| *status != 404);
        let (status, opened) = until(opened, || format!("{head} is not known"));
        assert_eq!(status, 201, "{opened}");
        opened["number"].as_u64().expect("a number")
    }
}

/// A working copy that pushes to a repository as its owner.
pub(super) struct Working {
    dir: tempfile::TempDir,
    url: String,
    token: String,
}

impl Working {
    /// An empty one.
    pub(super) fn new(gitea: &Gitea, user: &User, repository: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let url = format!("{}/{repository}.git", gitea.server.url());
        std::fs::write(dir.path().join("ca.pem"), &gitea.server.authority).expect("written");
        let working = Self {
            dir,
            url,
            token: user.token.clone(),
        };
        working.git(&["init", "-q", "-b", "main", "tree"]);
        working
    }

    /// The working tree.
    pub(super) fn tree(&self) -> std::path::PathBuf {
        self.dir.path().join("tree")
    }

    /// What git prints.
    #[track_caller]
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let tree = self.tree();
        let at: &Path = if tree.exists() {
            &tree
        } else {
            self.dir.path()
        };
        let output = std::process::Command::new("git")
            .current_dir(at)
            .args([
                "-c",
                "user.name=Tests",
                "-c",
                "user.email=tests@example.com",
            ])
            .args(["-c", "commit.gpgsign=false", "-c", "credential.helper="])
            .arg("-c")
            .arg(format!(
                "http.extraHeader=Authorization: token {}",
                self.token
            ))
            .args(arguments)
            .env("GIT_SSL_CAINFO", self.dir.path().join("ca.pem"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("no_proxy", "localhost")
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A commit with `files` changed, on `branch`, which begins where the tree is if it is new. It is not pushed.
    pub(super) fn commit(&self, branch: &str, files: &[(&str, &str)]) -> String {
        self.git(&["checkout", "-q", "-B", branch]);
        for (name, text) in files {
            let path = self.tree().join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "change it"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Pushes a refspec.
    pub(super) fn push(&self, refspec: &str) {
        self.git(&["push", "-q", "--force", &self.url, refspec]);
    }
}
