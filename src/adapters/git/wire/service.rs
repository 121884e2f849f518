//! The two things a repository does for others.

/// A service of a git server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adapters::git) enum Service {
    /// It sends objects.
    UploadPack,
    /// It takes objects.
    ReceivePack,
}

impl Service {
    /// The name of the program, which is also part of URLs and content types.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }
}
