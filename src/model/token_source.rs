//! The port for tokens: what a forge's client and a git remote over HTTPS authenticate with.
//!
//! A personal token is one that never expires; a GitHub App exchanges its key for one that lasts an hour;
//! Entra ID gives out one for Azure DevOps. Whoever uses a token knows none of that.

use std::fmt;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::AdapterError;

/// A secret to authenticate with, of any length and charset.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    secret: String,
    /// When it stops working; `None` when nobody knows.
    pub expires: Option<Timestamp>,
}

impl Token {
    /// A token that works until `expires`.
    pub fn new(secret: impl Into<String>, expires: Option<Timestamp>) -> Self {
        Self {
            secret: secret.into(),
            expires,
        }
    }

    /// The secret itself: for the header of a request, never for a log or an error.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Token");
        shown
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// Gives out tokens. It keeps one until it is nearly expired and then gets another, so that callers ask
/// before every request and keep none.
pub trait TokenSource: Send + Sync {
    /// A token that works now.
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>>;

    /// The other side refused `token` although it had not expired: the next call of
    /// [`TokenSource::token`] gives another, if there can be one. Callers repeat the request once.
    fn refused(&self, token: &Token);
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// A personal token.
    struct Fixed(Token);

    impl TokenSource for Fixed {
        fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
            std::future::ready(Ok(self.0.clone())).boxed()
        }

        fn refused(&self, _: &Token) {}
    }

    #[test]
    fn a_token_is_given_to_who_asks_and_not_to_a_log() {
        let source: &dyn TokenSource = &Fixed(Token::new("s3cret", None));
        let token = source.token().now_or_never().expect("at once");
        let token = token.expect("a token");
        assert_eq!(token.secret(), "s3cret");
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
