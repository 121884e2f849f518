//! Strangers at the port of the API: whatever they send, health, the API and the sync go on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};

use super::api::kube_virt;
use super::world::World;

/// More than the server takes at a time.
const MANY: usize = 1_000;

/// A connection that waits a moment for an answer.
fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    let moment = Some(Duration::from_secs(10));
    stream.set_read_timeout(moment).expect("set");
    stream.set_write_timeout(moment).expect("set");
    stream
}

/// Sends a text, and returns the first line of the answer; nothing if there is none.
fn answer(address: &str, request: &[u8]) -> String {
    let mut stream = connect(address);
    // The server may hang up in the middle.
    let _ = stream.write_all(request);
    let mut read = [0; 256];
    let count = stream.read(&mut read).unwrap_or_default();
    let text = String::from_utf8_lossy(&read[..count]).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_thousand_connections_slow_headers_large_bodies_and_random_tokens_stop_nobody() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("raised");
    let world = World::start("writeMode: commit");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", world.id())).expect("read");
    let open = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let mut open = open.expect("a line").split_whitespace().skip(3);
    assert_eq!(open.next(), open.next(), "the soft limit is the hard one");
    let address = world.address();

    let idle: Vec<TcpStream> = (0..MANY).map(|_| connect(&address)).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A header that comes byte by byte, on fifty connections.
        scope.spawn(|| {
            let mut slow: Vec<TcpStream> = (0..50).map(|_| connect(&address)).collect();
            for byte in b"GET /api/v1alpha1/clusters HTTP/1.1\r\nHost: a\r\nX-A: "
                .iter()
                .cycle()
            {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                for stream in &mut slow {
                    let _ = stream.write_all(&[*byte]);
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        scope.spawn(|| {
            for number in 0..500 {
                let request = format!(
                    "GET /api/v1alpha1/clusters HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {number}\r\nConnection: close\r\n\r\n"
                );
                let answer = answer(&address, request.as_bytes());
                let is_refused = ["401", "429"].iter().any(|status| answer.contains(status));
                assert!(is_refused, "{answer:?}");
            }
        });
        scope.spawn(|| {
            let large = format!(
                "POST /api/v1alpha1/clusters HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n{}",
                "x".repeat(1 << 20)
            );
            for _ in 0..10 {
                let answer = answer(&address, large.as_bytes());
                assert!(answer.is_empty() || answer.contains("413"), "{answer:?}");
            }
            for garbage in [&b"\x16\x03\x01\x00\xa5\x01"[..], b"GET / HTTP/9\r\n\r\n", &[0; 70_000]] {
                let answer = answer(&address, garbage);
                assert!(answer.is_empty() || answer.contains("400"), "{answer:?}");
            }
        });
        let made = world.post("/clusters?id=kv-1", &kube_virt("kv-1"));
        assert_eq!(made.status, 201, "{made:?}");
        world.until_status("kv-1", "PROVISIONING");
        for _ in 0..20 {
            let begun = Instant::now();
            let health = world.get("/health");
            assert_eq!(
                (health.status, &health.body["status"]),
                (200, &"healthy".into())
            );
            // It is there for machines that give up after a second or more.
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{:?}",
                begun.elapsed()
            );
        }
        is_over.store(true, Ordering::Relaxed);
    });
    drop(idle);
    assert_eq!(world.get("/clusters/kv-1").status, 200);
    let said = world.said();
    assert!(
        !said.contains("Too many open files") && !said.contains("panicked"),
        "{said}"
    );
}
