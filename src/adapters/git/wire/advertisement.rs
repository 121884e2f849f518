//! What a server has, as it says at the beginning: its refs and what it can do.
//!
//! Format: `gitprotocol-pack`, "Reference Discovery", version 0; a server that answers version 1 repeats that.

use std::collections::BTreeMap;

use git2::Oid;

use super::fault::Fault;
use super::packet::{Packet, Packets};
use super::text::line;

/// The most bytes of refs that are read: 64 MiB are about 800,000 refs.
const LIMIT: u64 = 64 << 20;

/// What a server has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Advertisement {
    /// What each ref points to, `HEAD` among them; tags as themselves, not as what they point to.
    pub(super) refs: BTreeMap<String, Oid>,
    capabilities: Vec<String>,
}

impl Advertisement {
    /// Whether the server can do this.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|one| one == capability)
    }

    /// Those of `wanted` that the server can do too, and who we are.
    pub(super) fn common(&self, wanted: &[&str]) -> String {
        let mut common: Vec<&str> = wanted.iter().copied().filter(|one| self.has(one)).collect();
        common.push(concat!("agent=capstan/", env!("CARGO_PKG_VERSION")));
        common.join(" ")
    }
}

/// Reads one. HTTP puts the name of the service first.
pub(super) async fn read(
    packets: &mut Packets,
    service: Option<&str>,
) -> Result<Advertisement, Fault> {
    if let Some(service) = service {
        let head = format!("# service={service}");
        match packets.next().await? {
            Packet::Data(payload) if trimmed(&payload) == head.as_bytes() => {}
            Packet::Data(payload) => return Err(Fault::malformed(&payload)),
            Packet::Flush | Packet::End => return Err(Fault::malformed(b"nothing")),
        }
        if packets.next().await? != Packet::Flush {
            return Err(Fault::malformed(b"no flush after the name of the service"));
        }
    }
    let (mut found, mut size, mut is_first) = (Advertisement::default(), 0, true);
    loop {
        let payload = match packets.next().await? {
            Packet::Flush => return Ok(found),
            Packet::End => return Err(Fault::Cut),
            Packet::Data(payload) => payload,
        };
        size += payload.len() as u64;
        if size > LIMIT {
            return Err(Fault::TooLarge(LIMIT));
        }
        if is_first && trimmed(&payload) == b"version 1" {
            continue;
        }
        found.note(trimmed(&payload), is_first)?;
        is_first = false;
    }
}

fn trimmed(payload: &[u8]) -> &[u8] {
    payload.strip_suffix(b"\n").unwrap_or(payload)
}

impl Advertisement {
    /// Takes in `<id> <name>`, and behind a NUL in the first line what the server can do.
    fn note(&mut self, payload: &[u8], is_first: bool) -> Result<(), Fault> {
        if payload.starts_with(b"version ") {
            return Err(Fault::Malformed(format!(
                "it answers with {} of git's protocol although version 0 was asked for",
                line(payload)
            )));
        }
        if payload.starts_with(b"shallow ") {
            return Err(Fault::Malformed(
                "it is a shallow clone; use the repository it was cloned from".to_owned(),
            ));
        }
        let (entry, capabilities) = match payload.iter().position(|byte| *byte == 0) {
            Some(at) if is_first => (&payload[..at], &payload[at + 1..]),
            _ => (payload, &b""[..]),
        };
        if is_first {
            let capabilities = String::from_utf8_lossy(capabilities);
            self.capabilities = capabilities.split_whitespace().map(str::to_owned).collect();
        }
        let format = self
            .capabilities
            .iter()
            .find_map(|one| one.strip_prefix("object-format="));
        if format.is_some_and(|format| format != "sha1") {
            return Err(Fault::Malformed(
                "its objects have SHA-256 ids, which this version does not support".to_owned(),
            ));
        }
        let malformed = || Fault::malformed(payload);
        let (id, name) = entry.split_at_checked(40).ok_or_else(malformed)?;
        let id = std::str::from_utf8(id).ok();
        let id = id
            .and_then(|id| Oid::from_str(id).ok())
            .ok_or_else(malformed)?;
        let name = name.strip_prefix(b" ").ok_or_else(malformed)?;
        let name = String::from_utf8_lossy(name);
        // `refs/tags/x^{}` repeats what the tag x points to; `capabilities^{}` stands for no refs.
        if !name.ends_with("^{}") {
            self.refs.insert(name.into_owned(), id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::FutureExt as _;

    use super::super::body::Body;
    use super::super::packet::packet;
    use super::*;

    const ID: &str = "69b59063470310ebbd88a9156325322a124e55a3";

    fn parse(text: &str, service: Option<&str>) -> Result<Advertisement, Fault> {
        let mut packets = Packets::new(Body::of(text.as_bytes(), 11));
        read(&mut packets, service).now_or_never().unwrap()
    }

    fn message(lines: &[String]) -> String {
        let text = lines.iter().map(|line| packet(line)).collect::<String>();
        let fault = parse(&format!("{text}0000"), None).unwrap_err();
        fault.at("https://h/r").to_string()
    }

    #[test]
    fn refs_and_capabilities_are_read() {
        let lines = [
            format!("{ID} HEAD\0multi_ack side-band-64k agent=git/2\n"),
            format!("{ID} refs/heads/main\n"),
            format!("{ID} refs/tags/v1\n"),
            format!("{ID} refs/tags/v1^{{}}"),
        ];
        let refs: String = lines.iter().map(|line| packet(line)).collect();
        let plain = parse(&format!("{refs}0000"), None).unwrap();
        let head = packet("# service=git-upload-pack\n");
        let http = format!("{head}0000{}{refs}0000", packet("version 1\n"));
        assert_eq!(parse(&http, Some("git-upload-pack")).unwrap(), plain);
        let names: Vec<&str> = plain.refs.keys().map(String::as_str).collect();
        assert_eq!(names, ["HEAD", "refs/heads/main", "refs/tags/v1"]);
        assert!(plain.has("side-band-64k") && !plain.has("side-band"));
        let common = plain.common(&["thin-pack", "side-band-64k"]);
        assert!(
            common.starts_with("side-band-64k agent=capstan/"),
            "{common}"
        );
    }

    #[test]
    fn an_empty_repository_has_no_refs() {
        let zero = "0".repeat(40);
        let text = packet(&format!("{zero} capabilities^{{}}\0report-status\n"));
        let found = parse(&format!("{text}0000"), None).unwrap();
        assert!(found.refs.is_empty() && found.has("report-status"));
        assert_eq!(parse("0000", None).unwrap(), Advertisement::default());
    }

    #[test]
    fn what_cannot_be_read_is_reported() {
        let zero = "0".repeat(64);
        let sha256 = format!("{zero} capabilities^{{}}\0object-format=sha256\n");
        assert!(message(&[sha256]).contains("SHA-256"));
        assert!(message(&["version 2\n".to_owned()]).contains("version 2"));
        assert!(message(&[format!("shallow {ID}")]).contains("shallow clone"));
        assert!(message(&["hello".to_owned()]).contains("it answered \"hello\""));
        let other = packet("# service=git-receive-pack\n");
        let fault = parse(&other, Some("git-upload-pack")).unwrap_err();
        assert!(matches!(fault, Fault::Malformed(_)));
        let fault = parse(&packet(&format!("{ID} HEAD\0")), None).unwrap_err();
        assert!(matches!(fault, Fault::Cut));
    }
}
