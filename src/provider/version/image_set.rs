//! The release that a ClusterImageSet offers.
//!
//! In: a ClusterImageSet. Out: its image with the version that the image has, or nothing if that cannot be told. It does not
//! know other sets.

use std::cmp::Reverse;

use semver::Version;
use serde_json::Value;

/// The longest image that a HostedCluster takes, and the longest name of an object.
const LONGEST: usize = 253;
/// The first major version of OpenShift that HyperShift installs.
const FIRST_MAJOR: u64 = 4;

/// The machines that an image is for, the most welcome first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Architecture {
    /// All of them.
    Multi,
    /// Neither the tag nor the name says it.
    Unstated,
    /// Most machines.
    X86,
    /// Some machines.
    Other,
}

/// The ends of tags and of names that are no part of a version. A name cannot have an underscore.
const ENDS: [(&str, Architecture); 9] = [
    ("-appsub", Architecture::Unstated),
    ("-multi", Architecture::Multi),
    ("-x86_64", Architecture::X86),
    ("-x86-64", Architecture::X86),
    ("-amd64", Architecture::X86),
    ("-aarch64", Architecture::Other),
    ("-arm64", Architecture::Other),
    ("-ppc64le", Architecture::Other),
    ("-s390x", Architecture::Other),
];

/// The release that a set offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageSet {
    pub(super) version: Version,
    pub(super) image: String,
    architecture: Architecture,
}

impl ImageSet {
    /// Reads a ClusterImageSet. The tag of its image has the version; if the image has a digest and no tag, the name of the
    /// set has it. An image with neither may be another one tomorrow, and is no release.
    pub(super) fn read(set: &Value) -> Option<Self> {
        let image = set.pointer("/spec/releaseImage")?.as_str()?;
        if !is_usable(image) {
            return None;
        }
        let (version, architecture) = match tag(image) {
            Some(tag) => described(tag.strip_prefix('v').unwrap_or(tag))?,
            None if image.contains('@') => named(set.pointer("/metadata/name")?.as_str()?)?,
            None => return None,
        };
        Some(Self {
            version,
            image: image.to_owned(),
            architecture,
        })
    }

    /// Returns the place among all sets: general availability first, then the newest, then the most architectures. The
    /// image decides about the rest, so that the order in which the hub lists sets never does.
    pub(super) fn rank(&self) -> impl Ord + '_ {
        let is_early = !self.version.pre.is_empty();
        let newest = Reverse(&self.version);
        (is_early, newest, self.architecture, self.image.as_str())
    }
}

/// A HostedCluster takes other images for no image at all.
fn is_usable(image: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_readable = |c: char| c.is_ascii_graphic();
    image.len() <= LONGEST && image.starts_with(is_word) && image.chars().all(is_readable)
}

/// The port of a registry comes before the last slash, and a digest after an `@`.
fn tag(image: &str) -> Option<&str> {
    let name = image.split('@').next()?;
    let last = name.rsplit('/').next()?;
    Some(last.split_once(':')?.1)
}

/// Returns the version at the first place of a name where one begins.
fn named(name: &str) -> Option<(Version, Architecture)> {
    if name.len() > LONGEST {
        return None;
    }
    let mut before = None;
    name.char_indices().find_map(|(at, c)| {
        let is_inside = before.replace(c).is_some_and(is_numeric);
        let begins = c.is_ascii_digit() && !is_inside;
        begins.then(|| described(name.get(at..)?))?
    })
}

const fn is_numeric(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// Reads `4.17.3-rc.1-multi`. What stands between the numbers and the architecture makes an early version of it.
fn described(text: &str) -> Option<(Version, Architecture)> {
    let mut version = text;
    let mut architecture = Architecture::Unstated;
    while let Some((rest, ended)) = without_end(version) {
        version = rest;
        // The last one counts: `-multi-x86_64` is the part of a release for one architecture.
        if architecture == Architecture::Unstated {
            architecture = ended;
        }
    }
    let version = Version::parse(version).ok()?;
    (version.major >= FIRST_MAJOR).then_some((version, architecture))
}

fn without_end(text: &str) -> Option<(&str, Architecture)> {
    let mut ends = ENDS.iter();
    ends.find_map(|(end, architecture)| Some((text.strip_suffix(end)?, *architecture)))
}
