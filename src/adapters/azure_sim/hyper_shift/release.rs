//! Releases, by their images.

/// Ends of tags behind the version.
const ARCHITECTURES: [&str; 6] = [
    "-multi", "-x86_64", "-amd64", "-aarch64", "-arm64", "-ppc64le",
];
/// The longest version that a NodePool reports.
const LONGEST: usize = 64;
/// So much of a digest is in the version of an image without a tag.
const DIGEST: usize = 12;

/// The version of a release, by the tag of its image. A digest says nothing about it, so that one is made up.
pub(super) fn version(image: &str) -> String {
    if let Some((_, digest)) = image.rsplit_once(':').filter(|_| image.contains('@')) {
        let start: String = digest.chars().take(DIGEST).collect();
        return format!("0.0.0-{start}");
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    let mut version = name.split_once(':').map_or("0.0.0", |(_, tag)| tag);
    while let Some(shorter) = ARCHITECTURES
        .iter()
        .find_map(|end| version.strip_suffix(end))
    {
        version = shorter;
    }
    version.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_tag_without_the_architecture() {
        for (image, expected) in [
            (
                "quay.io/openshift-release-dev/ocp-release:4.17.3-multi",
                "4.17.3",
            ),
            (
                "quay.io/openshift-release-dev/ocp-release:4.17.3-multi-x86_64",
                "4.17.3",
            ),
            ("registry:5000/ocp:4.20.0-ec.3-x86_64", "4.20.0-ec.3"),
            ("registry:5000/ocp", "0.0.0"),
            ("quay.io/ocp@sha256:0123456789abcdef", "0.0.0-0123456789ab"),
            ("r:1", "1"),
        ] {
            assert_eq!(version(image), expected, "{image}");
        }
    }
}
