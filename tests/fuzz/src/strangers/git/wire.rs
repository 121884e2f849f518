//! Git's protocol, from bytes that are there already.

#[path = "../../../../../src/adapters/git/wire/advertisement.rs"]
mod advertisement;
mod body;
#[path = "../../../../../src/adapters/git/wire/fault.rs"]
mod fault;
#[path = "../../../../../src/adapters/git/wire/fetch.rs"]
mod fetch;
#[path = "../../../../../src/adapters/git/wire/packet.rs"]
mod packet;
#[path = "../../../../../src/adapters/git/wire/push.rs"]
mod push;
#[path = "../../../../../src/adapters/git/wire/text.rs"]
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use futures::FutureExt as _;

use super::is_for_people;
use body::Body;
use fault::Fault;
use packet::Packets;

/// Reads the answer of a server as each answer that it may be. It arrives in pieces of `size` bytes.
pub fn talk(bytes: &[u8], size: usize) {
    let packets = || Packets::new(Body::of(bytes, size.max(1)));
    for service in [None, Some("git-upload-pack")] {
        let read = advertisement::read(&mut packets(), service).now_or_never();
        match read.expect("it is all there") {
            Ok(found) => {
                let wants: BTreeSet<_> = found.refs.values().copied().collect();
                let request = fetch::request(&found, &wants, &[]);
                said(request.map(drop));
            }
            Err(fault) => said(Err(fault)),
        }
    }
    let saved = fetch::save(&mut packets(), Path::new("/dev/null"), 1 << 20).now_or_never();
    said(saved.expect("it is all there"));
    let reported = push::receive(&mut packets()).now_or_never();
    let reported = reported.expect("it is all there");
    if let Ok(push::Report::Refused(why)) = &reported {
        assert!(!why.chars().any(char::is_control), "{why:?}");
    }
    said(reported.map(drop));
    let line = text::line(bytes);
    assert!(!line.chars().any(char::is_control), "{line:?}");
}

fn said(result: Result<(), Fault>) {
    if let Err(fault) = result {
        is_for_people(&fault.at("https://git.example.com/a").to_string());
    }
}
