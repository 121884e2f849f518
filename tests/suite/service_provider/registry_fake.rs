//! A strict fake of the registry of DCM on loopback: a request that the real one would refuse is answered with
//! 400 and fails the test. It answers what the test says, or 201 and the provider.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};

/// The path of the registry's only request.
pub(crate) const PATH: &str = "/api/v1alpha1/providers";
/// The largest request that it reads.
const LARGEST: u64 = 1 << 20;

/// The reaction to a request that is right.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A status, a header and a body of JSON.
    Json(u16, Option<(&'static str, String)>, Value),
    /// These bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing for as long as the fake lives.
    Slow(Vec<u8>),
    /// A success whose body does not end.
    Endless,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The only header of a name, or nothing.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut of_name = self.headers.iter().filter(|(key, _)| key == name);
        let first = of_name.next().map(|(_, value)| &**value);
        first.filter(|_| of_name.next().is_none())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Default)]
struct World {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    /// The mistakes in requests.
    faults: Mutex<Vec<String>>,
    has_ended: AtomicBool,
}

/// The registry, until it is dropped. Faults that nobody took fail the test.
pub(crate) struct RegistryFake {
    address: SocketAddr,
    world: Arc<World>,
}

impl RegistryFake {
    /// One that gives these answers first.
    pub(crate) fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let world = Arc::new(World {
            answers: Mutex::new(answers.into_iter().collect()),
            ..World::default()
        });
        let served = world.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if served.has_ended.load(Ordering::Relaxed) {
                    return;
                }
                let (stream, world) = (stream.expect("accepted"), served.clone());
                std::thread::spawn(move || drop(serve(stream, &world)));
            }
        });
        Self { address, world }
    }

    /// `http://127.0.0.1:PORT/api/v1alpha1/providers`
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.world.requests.lock().unwrap().clone()
    }

    /// The mistakes in requests since this was last asked.
    pub(crate) fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.world.faults.lock().unwrap())
    }
}

impl Drop for RegistryFake {
    fn drop(&mut self) {
        self.world.has_ended.store(true, Ordering::Relaxed);
        let _woken = TcpStream::connect(self.address);
        if !std::thread::panicking() {
            assert_eq!(self.take_faults(), Vec::<String>::new());
        }
    }
}

fn serve(mut stream: TcpStream, world: &World) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = read(&stream)?;
    let faults = faults(&request);
    let answer = world.answers.lock().unwrap().pop_front();
    let answer = if faults.is_empty() {
        answer.unwrap_or_else(|| registered(&request))
    } else {
        Answer::Json(400, None, json!({ "title": faults.join("; ") }))
    };
    world.faults.lock().unwrap().extend(faults);
    world.requests.lock().unwrap().push(request);
    match answer {
        Answer::Json(status, header, body) => stream.write_all(&response(status, header, &body))?,
        Answer::Bytes(bytes) => stream.write_all(&bytes)?,
        Answer::Slow(bytes) => {
            stream.write_all(&bytes)?;
            while !world.has_ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Answer::Endless => endless(&mut stream, world)?,
    }
    stream.shutdown(Shutdown::Both)
}

fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream.take(LARGEST));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let mut request = Request {
        line: line.trim_end().to_owned(),
        headers,
        body: Vec::new(),
    };
    let length = request.header("content-length").unwrap_or_default();
    request.body = vec![0; length.parse().unwrap_or_default()];
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

/// The answer to a provider that is new.
fn registered(request: &Request) -> Answer {
    let mut provider = request.json();
    provider["id"] = json!("b5d5b0f4-3a3b-4e0b-8a3a-6f3e6c2f1a10");
    provider["status"] = json!("registered");
    Answer::Json(201, None, provider)
}

fn response(status: u16, header: Option<(&str, String)>, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let header = header.map(|(name, value)| format!("{name}: {value}\r\n"));
    let (header, length) = (header.unwrap_or_default(), body.len());
    format!(
        "HTTP/1.1 {status} S\r\ncontent-type: application/json\r\n{header}content-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn endless(stream: &mut TcpStream, world: &World) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let chunk = format!("1001\r\n{}\r\n", "a".repeat(0x1001));
    while !world.has_ended.load(Ordering::Relaxed) {
        stream.write_all(chunk.as_bytes())?;
    }
    Ok(())
}

/// The parts of a request that the registry would refuse or ignore.
fn faults(request: &Request) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expect = |is_right: bool, fault: &str| {
        if !is_right {
            faults.push(fault.to_owned());
        }
    };
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    expect(request.line.starts_with("POST "), "the method is not POST");
    expect(request.line.ends_with(" HTTP/1.1"), "it is not HTTP/1.1");
    expect(path == PATH, "the path is another");
    let kind = request.header("content-type");
    expect(
        kind == Some("application/json"),
        "the content is not application/json",
    );
    match request.json() {
        Value::Object(provider) => faults.extend(provider_faults(&provider)),
        _ => faults.push("the body is no JSON object".to_owned()),
    }
    faults
}

/// The rule for the value of a key.
type Rule = fn(&Value) -> bool;

/// The keys of a provider that its schema refuses.
fn provider_faults(provider: &Map<String, Value>) -> Vec<String> {
    const KEYS: [(&str, bool, Rule); 7] = [
        ("name", true, is_text),
        ("service_type", true, |value| value == "cluster"),
        ("schema_version", true, |value| value == "v1alpha1"),
        ("endpoint", true, is_endpoint),
        ("operations", true, is_operations),
        ("display_name", false, is_text),
        ("metadata", false, Value::is_object),
    ];
    let mut faults = Vec::new();
    for key in provider.keys() {
        if !KEYS.iter().any(|(name, _, _)| name == key) {
            faults.push(format!("the key {key} is unknown"));
        }
    }
    for (key, is_required, is_right) in KEYS {
        match provider.get(key) {
            None if is_required => faults.push(format!("the key {key} is missing")),
            Some(value) if !is_right(value) => faults.push(format!("the key {key} is wrong")),
            _ => {}
        }
    }
    faults
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_endpoint(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let is_http = text.starts_with("http://") || text.starts_with("https://");
    is_http && text.ends_with("/api/v1alpha1/clusters")
}

fn is_operations(value: &Value) -> bool {
    let known = ["CREATE", "DELETE", "READ"];
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_known = |one: &Value| one.as_str().is_some_and(|one| known.contains(&one));
    !all.is_empty() && all.iter().all(is_known)
}
