//! The releases that the hub offers.
//!
//! In: ClusterImageSets in any order, a matrix and the version of a request. Out: one release, always the same, and the
//! versions to advertise. It does not know when the sets were listed.

use std::collections::BTreeSet;

use semver::Version;
use serde_json::Value;

use super::image_set::ImageSet;
use super::matrix::{Matrix, Minor};
use super::requested::{Requested, VersionError};

/// The most sets that are remembered; the oldest releases are left out.
const MOST_SETS: usize = 10_000;
/// The most versions that an error names of a kind, the newest.
const MOST_NAMED: usize = 20;

/// The release that a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The OpenShift version.
    pub version: Version,
    /// The image of the release.
    pub image: String,
    /// The version as requested.
    pub requested: String,
}

/// The releases that the hub offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    matrix: Matrix,
    /// By rank, so that the first that fits is the one to take.
    sets: Vec<ImageSet>,
}

impl Releases {
    /// Reads ClusterImageSets. Those without a readable version or image are left out.
    #[must_use]
    pub fn new(sets: &[Value], matrix: Matrix) -> Self {
        let mut sets: Vec<_> = sets.iter().filter_map(ImageSet::read).collect();
        sets.sort_by(|one, other| one.rank().cmp(&other.rank()));
        sets.dedup();
        sets.truncate(MOST_SETS);
        Self { matrix, sets }
    }

    /// Returns the release for the version of a request. A minor version, of OpenShift or of Kubernetes, means its highest
    /// patch version, and an early one (`-rc.1`) only if there is no other; a full OpenShift version means itself.
    ///
    /// # Errors
    ///
    /// Returns why there is none, and which versions there are.
    pub fn resolve(&self, requested: &str) -> Result<Release, VersionError> {
        let parsed = Requested::parse(requested)?;
        match self.find(&parsed) {
            Some(set) => Ok(Release {
                version: set.version.clone(),
                image: set.image.clone(),
                requested: requested.to_owned(),
            }),
            None => Err(self.refusal(&parsed, requested)),
        }
    }

    fn find(&self, requested: &Requested) -> Option<&ImageSet> {
        let mut sets = self.sets.iter();
        match requested {
            Requested::OpenShift(minor) => sets.find(|set| Minor::of(&set.version) == *minor),
            Requested::Exactly(version) => sets.find(|set| set.version == *version),
            Requested::Kubernetes(minor) => sets.find(|set| self.kubernetes(set) == Some(*minor)),
            Requested::KubernetesPatch(_) | Requested::Neither => None,
        }
    }

    fn refusal(&self, parsed: &Requested, requested: &str) -> VersionError {
        let requested = requested.to_owned();
        match parsed {
            Requested::Exactly(version) => VersionError::NotFound {
                requested,
                available: self.available_beside(version),
            },
            Requested::KubernetesPatch(minor) => VersionError::KubernetesPatch {
                requested,
                minor: *minor,
                available: self.available(),
            },
            Requested::OpenShift(_) => VersionError::NotFound {
                requested,
                available: self.available(),
            },
            Requested::Kubernetes(minor) if self.matrix.contains(*minor) => {
                VersionError::NotFound {
                    requested,
                    available: self.available(),
                }
            }
            Requested::Kubernetes(_) | Requested::Neither => VersionError::Unsupported {
                requested,
                available: self.available(),
            },
        }
    }

    /// Returns the OpenShift minor versions of which the hub has a release, the lowest first.
    #[must_use]
    pub fn supported_openshift(&self) -> Vec<String> {
        texts(self.sets.iter().map(|set| Minor::of(&set.version)))
    }

    /// Returns the Kubernetes minor versions of which the hub has a release, the lowest first. A release that the matrix does
    /// not list has none.
    #[must_use]
    pub fn supported_kubernetes(&self) -> Vec<String> {
        texts(self.sets.iter().filter_map(|set| self.kubernetes(set)))
    }

    fn kubernetes(&self, set: &ImageSet) -> Option<Minor> {
        self.matrix.kubernetes(Minor::of(&set.version))
    }

    fn available(&self) -> String {
        if self.sets.is_empty() {
            return "the hub has no ClusterImageSet with a readable version".to_owned();
        }
        let openshift = newest(&self.supported_openshift());
        let kubernetes = self.supported_kubernetes();
        if kubernetes.is_empty() {
            return format!("available are OpenShift {openshift}");
        }
        let kubernetes = newest(&kubernetes);
        format!("available are OpenShift {openshift}, and Kubernetes {kubernetes}")
    }

    fn available_beside(&self, version: &Version) -> String {
        let minor = Minor::of(version);
        let sets = self.sets.iter();
        let beside = sets.filter(|set| Minor::of(&set.version) == minor);
        let beside: BTreeSet<_> = beside.map(|set| &set.version).collect();
        if beside.is_empty() {
            return self.available();
        }
        let beside: Vec<_> = beside.into_iter().map(Version::to_string).collect();
        format!("available of {minor} are {}", newest(&beside))
    }
}

fn texts(minors: impl Iterator<Item = Minor>) -> Vec<String> {
    let minors: BTreeSet<_> = minors.collect();
    minors.iter().map(Minor::to_string).collect()
}

/// Joins the newest of versions, which are the last.
fn newest(versions: &[String]) -> String {
    let older = versions.len().saturating_sub(MOST_NAMED);
    let named: Vec<_> = versions.iter().skip(older).map(String::as_str).collect();
    let named = named.join(", ");
    if older == 0 {
        return named;
    }
    format!("{named} and {older} older")
}
