//! Git over HTTPS: clones, credentials, redirects, certificates and proxies.

use std::sync::Arc;

use capstan::adapters::git::{Access, Proxy, Ref};
use capstan::model::ErrorClass;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::https::Server;
use super::https_world::{BASIC, FETCH, LIST, PATH, World};
use super::repository::{Copied, Keys, Repository, has};

#[test]
fn a_clone_is_a_few_requests_and_what_is_new_arrives_alone() {
    let Some(world) = World::new() else { return };
    let first = world.repository.push("main", "one");
    let pull = world.repository.push("topic", "pull");
    world
        .repository
        .git(&["update-ref", "refs/pull/7/head", &pull])
        .expect("updated");
    world
        .repository
        .git(&["branch", "-D", "topic"])
        .expect("deleted");
    let tag = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=b",
        "tag",
        "-m",
        "x",
        "v1",
        &first,
    ];
    world.repository.git(&tag).expect("tagged");

    let mirror = world.mirror();
    let refs = mirror.fetch().expect("fetched");
    assert_eq!(refs["refs/heads/main"], first);
    assert_eq!((&refs["HEAD"], &refs["refs/tags/v1"]), (&first, &first));
    assert_eq!(refs["refs/pull/7/head"], pull);
    // What is followed, the tag, and the pull request.
    assert_eq!(world.requests(), [LIST, FETCH, FETCH, FETCH]);
    let tree = mirror.tree(&first, "").expect("readable");
    assert_eq!(&*tree.files["one.yaml"], b"one");

    assert_eq!(mirror.fetch().expect("unchanged"), refs);
    assert_eq!(world.requests(), [LIST]);

    let objects = mirror.objects();
    let second = world.repository.push("main", "two");
    assert_eq!(mirror.fetch().expect("fetched")["refs/heads/main"], second);
    assert_eq!(world.requests(), [LIST, FETCH]);
    assert_eq!(mirror.objects(), objects + 3);

    // A rewritten branch shares its root with what we have.
    world
        .repository
        .git(&["update-ref", "refs/heads/main", &first])
        .expect("reset");
    let third = world.repository.push("main", "three");
    assert_eq!(mirror.fetch().expect("fetched")["refs/heads/main"], third);
    assert_eq!(mirror.objects(), objects + 6);
    assert_eq!(
        mirror.resolve(&Ref::Branch("main".into())).expect("there"),
        third
    );
}

#[test]
fn an_empty_repository_and_one_of_many_refs_are_fine() {
    let Some(world) = World::new() else { return };
    assert!(world.mirror().fetch().expect("empty").is_empty());
    let commit = world.repository.push("main", "one");
    let refs: String = (0..3_000)
        .map(|at| format!("create refs/heads/b/{at} {commit}\n"))
        .collect();
    let file = world.repository.root().join("refs");
    std::fs::write(&file, refs).expect("written");
    let update = format!(
        "git -C {} update-ref --stdin < {}",
        world.repository.path().display(),
        file.display()
    );
    let done = std::process::Command::new("sh")
        .args(["-c", &update])
        .status();
    assert!(done.expect("sh runs").success());
    assert_eq!(world.mirror().fetch().expect("fetched").len(), 3_002);
}

#[test]
fn a_wrong_and_a_missing_credential_are_told_apart() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    let none = Keys::new(&[("ca.crt", &world.server.authority)]);
    let (class, message) = world.error(&Access {
        credentials: Some(none),
        ..Access::default()
    });
    assert_eq!(class, ErrorClass::Denied);
    assert!(
        message.contains("the server asks for a credential"),
        "{message}"
    );
    assert_eq!(world.requests(), [LIST], "nothing else is tried");

    world.keys.set(&[("password", b"wrong")]);
    let (class, message) = world.error(&world.access());
    assert_eq!(class, ErrorClass::Denied);
    assert!(message.contains("expired or revoked"), "{message}");
    assert_eq!(
        world.requests(),
        [LIST],
        "the same password is not sent twice"
    );
}

#[test]
fn a_token_that_expired_is_replaced_once() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    world.server.seen();

    world
        .server
        .behave(|it| it.authorization = Some("Bearer fresh".to_owned()));
    world.keys.set(&[
        ("username", b""),
        ("password", b""),
        ("bearerToken", b"fresh\n"),
    ]);
    let commit = world.repository.push("main", "two");
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], commit);
    let sent: Vec<_> = world
        .server
        .seen()
        .into_iter()
        .map(|seen| seen.authorization)
        .collect();
    let fresh = || Some("Bearer fresh".to_owned());
    assert_eq!(sent, [Some(BASIC.to_owned()), fresh(), fresh()]);

    world
        .server
        .behave(|it| it.authorization = Some("Bearer other".to_owned()));
    let error = mirror.fetch().expect_err("no newer token");
    assert_eq!(
        (error.class(), world.server.seen().len()),
        (ErrorClass::Denied, 1)
    );
}

#[test]
fn a_renamed_repository_is_followed_on_its_server() {
    let Some(world) = World::new() else { return };
    let commit = world.repository.push("main", "one");
    for status in [301, 302, 307, 308] {
        world.server.behave(|it| {
            it.redirect = Some(("/old/name".to_owned(), "/fleet.git".to_owned(), status))
        });
        let mirror = Copied::new(&world.server.url("/old/name"), &world.access());
        assert_eq!(mirror.fetch().expect("fetched")["HEAD"], commit);
        let requests = world.requests();
        assert_eq!(
            requests[0],
            "GET /old/name/info/refs?service=git-upload-pack"
        );
        assert_eq!(requests[1..], [LIST, FETCH]);
    }
    // A request that is redirected is sent again as it was.
    let to = "/none.git/git-upload-pack".to_owned();
    let from = "/fleet.git/git-upload-pack".to_owned();
    world
        .server
        .behave(|it| it.redirect = Some((from, to, 301)));
    let error = world.mirror().fetch().expect_err("it leads nowhere");
    assert_eq!(error.class(), ErrorClass::Gone, "{error}");
    let posts = world
        .requests()
        .into_iter()
        .filter(|request| request.starts_with("POST"));
    assert_eq!(posts.count(), 2);
}

#[test]
fn a_redirect_to_another_server_gets_no_credential() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    let other = Server::start(world.repository.root());
    let target = other.url("");
    world
        .server
        .behave(|it| it.redirect = Some((String::new(), target, 302)));
    let (class, message) = world.error(&world.access());
    assert_eq!(class, ErrorClass::Invalid);
    let origins = [
        world.server.url(PATH),
        format!("redirects to {},", other.url("")),
    ];
    assert!(
        origins.iter().all(|origin| message.contains(origin)),
        "{message}"
    );
    assert_eq!(other.seen(), []);

    let plain = format!("http://localhost:{}", world.server.address.port());
    world
        .server
        .behave(|it| it.redirect = Some((String::new(), plain, 301)));
    assert!(
        world
            .error(&world.access())
            .1
            .contains("redirects to http://localhost")
    );
    let sign_in = "https://login.example.com/signin?x=".to_owned();
    world
        .server
        .behave(|it| it.redirect = Some((String::new(), sign_in, 302)));
    let (class, message) = world.error(&world.access());
    assert_eq!(
        (class, message.contains("sign-in page")),
        (ErrorClass::Denied, true),
        "{message}"
    );
    let around = world.server.url("/x");
    world
        .server
        .behave(|it| it.redirect = Some((String::new(), around, 302)));
    assert!(world.error(&world.access()).1.contains("redirects"));
}

#[test]
fn an_unknown_certificate_is_refused() {
    let Some(world) = World::new() else { return };
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    world.keys.set(&[("ca.crt", other.cert.pem().as_bytes())]);
    let (class, message) = world.error(&world.access());
    assert_eq!(class, ErrorClass::Invalid, "{message}");
    assert!(
        message.starts_with("cannot trust https://localhost:"),
        "{message}"
    );
    world.keys.set(&[("ca.crt", b"no certificate")]);
    assert!(world.error(&world.access()).1.contains("key ca.crt"));
    assert_eq!(world.server.seen(), []);
}

#[test]
fn a_server_may_ask_for_a_client_certificate() {
    if !has("git", "git") {
        return;
    }
    let repository = Repository::new();
    let commit = repository.push("main", "one");
    let client = rcgen::generate_simple_self_signed(["client".to_owned()]).expect("made");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(client.cert.der().clone()).expect("added");
    let server = Server::with(repository.root(), Some(&roots));
    let keys = Keys::new(&[("ca.crt", &server.authority)]);
    let access = Access {
        credentials: Some(Arc::clone(&keys) as _),
        ..Access::default()
    };
    let mirror = Copied::new(&server.url(PATH), &access);
    // The server may hang up before its reason has arrived.
    let class = mirror.fetch().expect_err("no certificate").class();
    assert!(matches!(class, ErrorClass::Denied | ErrorClass::Transient));
    let key = client.signing_key.serialize_pem();
    keys.set(&[
        ("tls.crt", client.cert.pem().as_bytes()),
        ("tls.key", key.as_bytes()),
    ]);
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], commit);
}

/// A proxy that tunnels to anywhere, and the hosts it was asked for.
async fn proxy(listener: tokio::net::TcpListener, asked: Arc<std::sync::Mutex<Vec<String>>>) {
    while let Ok((client, _)) = listener.accept().await {
        let mut client = BufReader::new(client);
        let (mut line, mut rest) = (String::new(), String::new());
        client.read_line(&mut line).await.expect("a request");
        while client.read_line(&mut rest).await.expect("a header") > 2 {}
        let host = line.split(' ').nth(1).expect("a host").to_owned();
        asked
            .lock()
            .expect("no panic")
            .push(format!("{host} {}", rest.contains("Basic dTpw")));
        let port = host
            .rsplit(':')
            .next()
            .expect("a port")
            .parse::<u16>()
            .expect("a number");
        let mut server = tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("there");
        client
            .write_all(b"HTTP/1.1 200 OK\r\n\r\n")
            .await
            .expect("written");
        tokio::spawn(
            async move { drop(tokio::io::copy_bidirectional(&mut client, &mut server).await) },
        );
    }
}

#[test]
fn a_proxy_is_used_except_for_the_hosts_it_is_not_for() {
    let Some(world) = World::new() else { return };
    let commit = world.repository.push("main", "one");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let url = format!("http://u:p@{}", listener.local_addr().expect("bound"));
    let asked = Arc::default();
    runtime.spawn(proxy(listener, Arc::clone(&asked)));
    for (except, expected) in [("example.com", 1), ("localhost", 0)] {
        let proxy = Some(Proxy {
            url: url.clone(),
            except: except.to_owned(),
        });
        let mirror = Copied::new(
            &world.server.url(PATH),
            &Access {
                proxy,
                ..world.access()
            },
        );
        assert_eq!(mirror.fetch().expect("fetched")["HEAD"], commit);
        let asked = std::mem::take(&mut *asked.lock().expect("no panic"));
        assert_eq!(asked.len(), expected, "{asked:?}");
        let through = format!("localhost:{} true", world.server.address.port());
        assert!(asked.iter().all(|host| *host == through), "{asked:?}");
    }
}
