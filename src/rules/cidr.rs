//! IPv4 networks as people write them: every rule reads them here, in the same way.
//!
//! In: fields. Out: networks, why a text is not one, and which of two fields to point at. A text that is not a
//! network is reported by one rule (C13 or W12); all others skip it. It does not know what a network is for.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::{Ipv4Net, Ipv6Net};

use super::arm::Field;
use crate::model::work;

/// Why Azure rejects `010.0.0.0`: it could also be octal.
pub(super) const LEADING_ZERO: &str = "has a number with a leading zero, which Azure rejects";

/// The network that `text` names.
///
/// # Errors
/// Why Azure rejects it: the rest of a sentence that starts with the text.
pub(super) fn read(text: &str) -> Result<Ipv4Net, String> {
    match text.parse::<Ipv4Net>() {
        Ok(net) if net.to_string() != text => Err(LEADING_ZERO.to_owned()),
        Ok(net) if net.trunc() == net => Ok(net),
        Ok(net) => Err(format!("has host bits set; the network is {}", net.trunc())),
        Err(_) if text.parse::<Ipv6Net>().is_ok() => Err("is not IPv4".to_owned()),
        Err(_) if format!("{text}/32").parse::<Ipv4Net>().is_ok() => {
            Err("has no prefix length, such as /24".to_owned())
        }
        Err(_) => Err("is not a network such as 10.128.0.0/14".to_owned()),
    }
}

/// What to write instead of `text`, which is not a network.
pub(super) fn instead(text: &str) -> String {
    let text = text.trim();
    let network = text.parse::<Ipv4Net>();
    let address = format!("{text}/32").parse::<Ipv4Net>();
    match (network, address) {
        (Ok(net), _) => format!("write {}", net.trunc()),
        (_, Ok(net)) => format!("add a prefix length, such as {}/16", net.addr()),
        _ => "write an IPv4 network such as 10.128.0.0/14".to_owned(),
    }
}

/// The network that a field names; none if it is absent or not a network.
pub(super) fn of(field: &Field<'_>) -> Option<Ipv4Net> {
    read(field.text()?).ok()
}

/// Whether two networks have addresses in common.
pub(super) fn overlap(one: &Ipv4Net, other: &Ipv4Net) -> bool {
    one.contains(other) || other.contains(one)
}

/// Whether the earlier one of two fields that do not fit is the one to edit: only if a person wrote it, and the
/// later one is a default.
pub(super) fn edit_earlier(earlier: &Field<'_>, later: &Field<'_>) -> bool {
    later.is_default() && !earlier.is_default()
}

/// What to add to a value in a message if nobody wrote it.
pub(super) fn remark(field: &Field<'_>) -> &'static str {
    match field.is_default() {
        true => " (the default)",
        false => "",
    }
}

/// Networks that are looked up by what they have in common with others, each with a number.
#[derive(Default)]
pub(super) struct Networks(BTreeMap<(u32, u8), Vec<usize>>);

impl Networks {
    /// Adds a network.
    pub(super) fn add(&mut self, net: &Ipv4Net, number: usize) {
        self.0.entry(key(net)).or_default().push(number);
    }

    /// Removes what [`add`](Self::add) added.
    pub(super) fn remove(&mut self, net: &Ipv4Net, number: usize) {
        if let Some(numbers) = self.0.get_mut(&key(net)) {
            numbers.retain(|one| *one != number);
        }
    }

    /// Returns true if one of them contains `net`.
    pub(super) fn contain(&self, net: &Ipv4Net) -> bool {
        self.around(net).next().is_some()
    }

    /// The numbers of those that overlap `net`, in order.
    pub(super) fn overlapping(&self, net: &Ipv4Net) -> BTreeSet<usize> {
        let last = (net.broadcast().into(), u8::MAX);
        let inside = self.0.range(key(net)..=last);
        let inside = inside.flat_map(|(_, numbers)| numbers);
        let all = self.around(net).chain(inside).copied();
        all.inspect(|_| work::step()).collect()
    }

    fn around(&self, net: &Ipv4Net) -> impl Iterator<Item = &usize> {
        let net = net.trunc();
        let lengths = 0..=net.prefix_len();
        let wider = lengths.filter_map(move |length| Ipv4Net::new(net.addr(), length).ok());
        let wider = wider.filter_map(|wider| self.0.get(&key(&wider)));
        wider.flatten()
    }
}

/// Networks in this order: each before those that it contains.
fn key(net: &Ipv4Net) -> (u32, u8) {
    (net.network().into(), net.prefix_len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_ipv4_in_its_canonical_form() {
        for text in ["10.0.0.0/8", "10.100.76.0/24", "10.0.0.1/32", "0.0.0.0/0"] {
            assert_eq!(read(text).map(|net| net.to_string()), Ok(text.to_owned()));
        }
        for (text, why) in [
            ("10.0.0.1/16", "host bits set; the network is 10.0.0.0/16"),
            ("10.0.0.0", "no prefix length"),
            ("2001:db8::/32", "not IPv4"),
            ("999.1.1.1/99", "not a network"),
            ("10.0.0.0/33", "not a network"),
            ("010.0.0.0/8", "leading zero"),
            ("10.0.0.00/8", "leading zero"),
            ("10.0.0.0/08", "leading zero"),
            (" 10.0.0.0/16", "not a network"),
            ("hello", "not a network"),
            ("", "not a network"),
        ] {
            let fault = read(text).expect_err(text);
            assert!(fault.contains(why), "{text}: {fault}");
        }
    }

    #[test]
    fn a_network_is_suggested() {
        for (text, expected) in [
            ("10.0.0.1/16", "write 10.0.0.0/16"),
            ("010.0.0.0/8", "write 10.0.0.0/8"),
            (" 10.0.0.0/8", "write 10.0.0.0/8"),
            ("10.0.0.0", "add a prefix length, such as 10.0.0.0/16"),
            (
                "2001:db8::/32",
                "write an IPv4 network such as 10.128.0.0/14",
            ),
        ] {
            assert_eq!(instead(text), expected, "{text}");
        }
    }

    #[test]
    fn networks_are_looked_up_by_what_they_overlap() {
        let nets = [
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.0/24",
            "10.2.0.0/16",
            "0.0.0.0/0",
            "10.1.0.0/16",
        ];
        let nets = nets.map(|text| text.parse::<Ipv4Net>().expect("a network"));
        let mut known = Networks::default();
        for (number, net) in nets.iter().enumerate() {
            known.add(net, number);
        }
        let more = ["10.1.2.128/25", "11.0.0.0/8", "10.0.0.0/7", "10.1.0.0/17"];
        let more = more.map(|text| text.parse::<Ipv4Net>().expect("a network"));
        for net in nets.iter().chain(&more) {
            let all = nets.iter().enumerate();
            let expected = all.filter(|(_, one)| overlap(one, net)).map(|(at, _)| at);
            assert_eq!(known.overlapping(net), expected.collect(), "{net}");
            assert_eq!(known.contain(net), nets.iter().any(|one| one.contains(net)));
        }
        known.remove(&nets[1], 1);
        assert_eq!(known.overlapping(&more[0]), [0, 2, 4, 5].into());
    }
}
