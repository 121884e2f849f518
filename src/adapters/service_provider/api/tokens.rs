//! Bearer tokens, known by their digests.
//!
//! In: the lines of a file, `NAME SHA256`. Out: the name of a request's token. The file proves who has a token, and cannot be used as one.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use ring::hmac;
use sha2::{Digest as _, Sha256};

/// The longest token.
const LONGEST: usize = 1_024;
/// The most tokens.
const MOST: usize = 1_000;

/// A token that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its name, for logs and limits.
    name: String,
    digest: [u8; 32],
}

/// The tokens that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens(Vec<Token>);

/// A file of tokens that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// A line is not a name and a digest.
    #[error(
        "line {0} of the tokens is not `NAME SHA256`: write the digest of the token, as `printf %s TOKEN | sha256sum` prints it"
    )]
    Line(usize),
    /// Two tokens have the same name.
    #[error("line {0} of the tokens has the name of an earlier line")]
    Name(usize),
    /// There are none, or too many.
    #[error("there must be 1 to {MOST} tokens, each on a line `NAME SHA256`")]
    Number,
}

impl Tokens {
    /// Reads the lines of a file; empty lines and those that begin with `#` do not count.
    ///
    /// # Errors
    /// If a line cannot be read, or there are no tokens. The content of a line is not repeated: it may be a token.
    pub fn read(text: &str) -> Result<Self, TokenFault> {
        let mut tokens: Vec<Token> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let token = token(line).ok_or(TokenFault::Line(index + 1))?;
            if tokens.iter().any(|before| before.name == token.name) {
                return Err(TokenFault::Name(index + 1));
            }
            tokens.push(token);
        }
        match tokens.len() {
            1..=MOST => Ok(Self(tokens)),
            _ => Err(TokenFault::Number),
        }
    }

    /// The name of the token of a request, if it is accepted. All are compared, so that the time says nothing.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<String> {
        let value = headers.get(AUTHORIZATION)?.as_bytes();
        let (scheme, token) = value.split_at_checked(7)?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ") && token.len() <= LONGEST;
        let digest = Sha256::digest(if is_bearer { token } else { b"" });
        let same = self
            .0
            .iter()
            .filter(|known| is_same(&digest, &known.digest));
        // Not the first that is found, which would end the comparison.
        let last = same.fold(None, |_, token| Some(token));
        last.filter(|_| is_bearer).map(|token| token.name.clone())
    }
}

fn token(line: &str) -> Option<Token> {
    let (name, digest) = line.split_once(char::is_whitespace)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = (1..=63).contains(&name.len()) && name.chars().all(is_plain);
    let digest = digest.trim();
    let digest = digest.strip_prefix("sha256:").unwrap_or(digest);
    Some(Token {
        name: Some(name).filter(|_| is_name)?.to_owned(),
        digest: bytes(digest)?,
    })
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let pairs = hex.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    bytes.try_into().ok()
}

/// Compares digests in a time that does not depend on them.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"capstan: service provider");
    hmac::verify(&key, given, hmac::sign(&key, expected).as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::hex;

    fn line(name: &str, token: &str) -> String {
        format!("{name} {}\n", hex(&Sha256::digest(token)))
    }

    fn of(tokens: &Tokens, header: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().unwrap());
        tokens.of(&headers)
    }

    #[test]
    fn a_token_is_known_by_its_digest() {
        let text = format!(
            "# who\n\n{}{}",
            line("dcm", "s3cret"),
            line("ops", "other").replace("ops ", "ops  sha256:")
        );
        let tokens = Tokens::read(&text).unwrap();
        assert_eq!(of(&tokens, "Bearer s3cret").as_deref(), Some("dcm"));
        assert_eq!(of(&tokens, "bearer other").as_deref(), Some("ops"));
        let digest = hex(&Sha256::digest("s3cret"));
        for wrong in [
            "s3cret",
            "Bearer",
            "Bearer ",
            "Bearer S3cret",
            "Basic s3cret",
            &format!("Bearer {digest}"),
            &format!("Bearer {}", "a".repeat(2_000)),
        ] {
            assert_eq!(of(&tokens, wrong), None, "{wrong}");
        }
        assert_eq!(tokens.of(&HeaderMap::new()), None);
    }

    #[test]
    fn a_file_that_holds_a_token_does_not_show_it() {
        for (text, fault) in [
            ("dcm s3cret".to_owned(), TokenFault::Line(1)),
            (format!("\n{}", line("", "x")), TokenFault::Line(2)),
            (line("a", "x") + &line("a", "y"), TokenFault::Name(2)),
            ("# none\n".to_owned(), TokenFault::Number),
        ] {
            let found = Tokens::read(&text).unwrap_err();
            assert!(!found.to_string().contains("s3cret"));
            assert_eq!(found, fault, "{text}");
        }
    }
}
