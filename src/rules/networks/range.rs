//! W09 and W12: the ranges of one virtual network or subnet, read one by one.

use ipnet::{Ipv4Net, Ipv6Net};

use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource};
use crate::rules::cidr;

/// The longest prefix of a subnet: Azure keeps five addresses of each.
const LONGEST: u8 = 29;
/// The shortest one.
const SHORTEST: u8 = 2;

const HOW: &str = "write an IPv4 network: four numbers up to 255 with dots between them, `/`, and the length of the prefix";

/// A range that Azure accepts on its own.
#[derive(Clone)]
pub(super) struct Range<'a> {
    pub(super) field: Field<'a>,
    pub(super) net: Ipv4Net,
}

/// The ranges of a virtual network or of a subnet.
pub(super) struct Ranges<'a> {
    pub(super) of: &'a Resource<'a>,
    /// Those that nothing was reported about.
    pub(super) sound: Vec<Range<'a>>,
    /// Whether nothing was reported about any.
    pub(super) complete: bool,
}

/// Reads the ranges of a virtual network or a subnet.
pub(super) fn read<'a>(resource: &'a Resource<'a>, findings: &mut Vec<Finding>) -> Ranges<'a> {
    let fields = fields(resource);
    // Azure accepts IPv6 beside IPv4, and nowhere else.
    let mixed = fields.len() > 1 && fields.iter().any(|field| cidr::of(field).is_some());
    let (mut sound, before) = (Vec::new(), findings.len());
    for field in fields
        .into_iter()
        .filter(|field| !(mixed && is_ipv6(field)))
    {
        match range(&field) {
            Ok(net) => sound.push(Range { field, net }),
            Err(finding) => findings.push(*finding),
        }
    }
    Ranges {
        of: resource,
        sound,
        complete: findings.len() == before,
    }
}

/// The fields with ranges: of a network, or of a subnet.
fn fields<'a>(resource: &'a Resource<'a>) -> Vec<Field<'a>> {
    let spec = resource.field("spec");
    let lists = [
        spec.key("addressSpace").key("addressPrefixes"),
        spec.key("addressPrefixes"),
    ];
    let one = Some(spec.key("addressPrefix")).filter(Field::is_given);
    let lists = lists.iter().flat_map(Field::items);
    one.into_iter().chain(lists).collect()
}

fn is_ipv6(field: &Field<'_>) -> bool {
    field
        .text()
        .is_some_and(|text| text.parse::<Ipv6Net>().is_ok())
}

fn range(field: &Field<'_>) -> Result<Ipv4Net, Box<Finding>> {
    let Some(text) = field.text() else {
        let message = "the range must be a text such as 10.100.0.0/15";
        return Err(Box::new(field.finding("W12", message)));
    };
    let net = cidr::read(text).map_err(|why| {
        let finding = field.finding("W12", message!("{text:?} {why}", text));
        let net = text.parse::<Ipv4Net>();
        let help = net.map_or_else(|_| HOW.to_owned(), |net| format!("write {}", net.trunc()));
        Box::new(finding.help(help))
    })?;
    let why = match net.prefix_len() {
        ..SHORTEST => "large: the largest that Azure accepts is a /2",
        SHORTEST..=LONGEST => return Ok(net),
        _ => "small: the smallest that Azure accepts is a /29",
    };
    let finding = field.finding("W09", message!("the range {net} is too {why}", net));
    let help = "Azure itself uses five addresses of each subnet, and every node uses one";
    Err(Box::new(finding.help(help)))
}
