//! The frames of git's protocol: four hexadecimal digits of length, then the payload.
//!
//! In: the bytes of an answer as they arrive. Out: its packets, and the channels of a side band. It does
//! not know what a packet says. Format: `gitprotocol-common` and `gitprotocol-pack` of git.

use super::body::Body;
use super::fault::Fault;
use super::text::line;

/// The longest packet, with its length.
const LONGEST: usize = 65_520;

/// A packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    /// `0000`
    Flush,
    /// A payload.
    Data(Vec<u8>),
    /// The answer has ended.
    End,
}

/// A part of a side band.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Band {
    Data(Vec<u8>),
    /// What the server wants people to know.
    Progress(String),
    End,
}

/// Frames `payload`.
pub(super) fn packet(payload: &str) -> String {
    format!("{:04x}{payload}", payload.len() + 4)
}

/// The packets of an answer.
pub(super) struct Packets {
    body: Body,
    buffer: Vec<u8>,
    /// What of the buffer was read.
    at: usize,
}

impl Packets {
    pub(super) const fn new(body: Body) -> Self {
        Self {
            body,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// The next packet. An `ERR` of the server is an error.
    pub(super) async fn next(&mut self) -> Result<Packet, Fault> {
        if !self.fill(4).await? {
            return match self.buffer.len() == self.at {
                true => Ok(Packet::End),
                false => Err(Fault::Cut),
            };
        }
        let digits = &self.buffer[self.at..self.at + 4];
        let length = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| usize::from_str_radix(digits, 16).ok())
            .filter(|length| *length <= LONGEST)
            .ok_or_else(|| Fault::malformed(&self.buffer[self.at..]))?;
        match length {
            0 => {
                self.at += 4;
                Ok(Packet::Flush)
            }
            1..4 => Err(Fault::malformed(&self.buffer[self.at..])),
            _ => {
                if !self.fill(length).await? {
                    return Err(Fault::Cut);
                }
                let payload = self.buffer[self.at + 4..self.at + length].to_vec();
                self.at += length;
                match payload.strip_prefix(b"ERR ") {
                    Some(message) => Err(Fault::Server(line(message))),
                    None => Ok(Packet::Data(payload)),
                }
            }
        }
    }

    /// The next part of a side band.
    pub(super) async fn band(&mut self) -> Result<Band, Fault> {
        let Packet::Data(mut payload) = self.next().await? else {
            return Ok(Band::End);
        };
        match payload.first() {
            Some(1) => Ok(Band::Data(payload.split_off(1))),
            Some(2) => Ok(Band::Progress(line(&payload[1..]))),
            Some(3) => Err(Fault::Server(line(&payload[1..]))),
            _ => Err(Fault::malformed(&payload)),
        }
    }

    /// Whether `count` bytes could be made available.
    async fn fill(&mut self, count: usize) -> Result<bool, Fault> {
        while self.buffer.len() - self.at < count {
            self.buffer.drain(..self.at);
            self.at = 0;
            match self.body.chunk().await? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::FutureExt as _;

    use super::*;

    fn packets(bytes: &[u8], size: usize) -> Packets {
        Packets::new(Body::of(bytes, size))
    }

    fn next(packets: &mut Packets) -> Result<Packet, Fault> {
        packets.next().now_or_never().unwrap()
    }

    #[test]
    fn packets_are_read_however_they_are_cut() {
        let text = format!("{}0000{}", packet("hello\n"), packet(""));
        for size in 1..=text.len() {
            let mut packets = packets(text.as_bytes(), size);
            assert_eq!(next(&mut packets).unwrap(), Packet::Data(b"hello\n".into()));
            assert_eq!(next(&mut packets).unwrap(), Packet::Flush);
            assert_eq!(next(&mut packets).unwrap(), Packet::Data(Vec::new()));
            assert_eq!(next(&mut packets).unwrap(), Packet::End);
        }
    }

    #[test]
    fn what_ends_early_is_cut_and_what_is_no_packet_is_malformed() {
        for text in ["00", "000ahell"] {
            let fault = next(&mut packets(text.as_bytes(), 3)).unwrap_err();
            assert!(matches!(fault, Fault::Cut), "{fault:?}");
        }
        for text in ["<htm", "0001", "0003", "fffff", "+00a"] {
            let fault = next(&mut packets(text.as_bytes(), 9)).unwrap_err();
            assert!(matches!(fault, Fault::Malformed(_)), "{text}: {fault:?}");
        }
        let fault = next(&mut packets(packet("ERR no\x1b[31m such\n").as_bytes(), 9));
        assert!(matches!(fault, Err(Fault::Server(text)) if text == "no such"));
    }

    #[test]
    fn the_channels_of_a_side_band_are_told_apart() {
        let text = [
            packet("\u{1}data"),
            packet("\u{2}50%\r"),
            packet("\u{3}no\n"),
        ]
        .concat();
        let mut packets = packets(text.as_bytes(), 5);
        let mut band = || packets.band().now_or_never().unwrap();
        assert_eq!(band().unwrap(), Band::Data(b"data".into()));
        assert_eq!(band().unwrap(), Band::Progress("50%".into()));
        assert!(matches!(band(), Err(Fault::Server(text)) if text == "no"));
        assert_eq!(band().unwrap(), Band::End);
    }
}
