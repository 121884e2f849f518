//! The bytes of an answer, from wherever they come.

use super::fault::Fault;
use super::http_error;
use super::ssh_process::Output;

/// The rest of an answer.
pub(super) enum Body {
    Http(reqwest::Response),
    Ssh(Box<Output>),
    /// An answer in a test.
    #[cfg(test)]
    Test(std::collections::VecDeque<Vec<u8>>),
}

impl Body {
    /// The next bytes; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        match self {
            Self::Http(response) => {
                let chunk = response
                    .chunk()
                    .await
                    .map_err(|cause| http_error::fault(&cause));
                Ok(chunk?.map(Vec::from))
            }
            Self::Ssh(output) => output.chunk().await,
            #[cfg(test)]
            Self::Test(chunks) => Ok(chunks.pop_front()),
        }
    }

    /// These bytes, `size` at a time.
    #[cfg(test)]
    pub(super) fn of(bytes: &[u8], size: usize) -> Self {
        Self::Test(bytes.chunks(size).map(<[u8]>::to_vec).collect())
    }
}
