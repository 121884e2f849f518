//! Signatures by the Standard Webhooks specification, which GitLab offers beside its token.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::HeaderMap;

use super::compare::{Refusal, any, is_signed};
use super::secrets::Secrets;

/// The header with the signatures.
const SIGNATURE: &str = "webhook-signature";
/// How many seconds the time of a delivery may differ from ours.
const TOLERANCE: u64 = 300;
/// What its secrets begin with.
const SECRET: &[u8] = b"whsec_";

/// Whether there is a signature, and a secret for one: GitLab may send a token beside it.
pub(super) fn applies(headers: &HeaderMap, secrets: &Secrets) -> bool {
    let mut tokens = secrets.tokens.iter();
    headers.contains_key(SIGNATURE) && tokens.any(|token| token.starts_with(SECRET))
}

/// Checks the signature over id, time and body; `now` is in seconds since 1970.
pub(super) fn verify(
    headers: &HeaderMap,
    body: &[u8],
    secrets: &Secrets,
    now: i64,
) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(time)) = (text("webhook-id"), text("webhook-timestamp")) else {
        return Err(Refusal::Wrong);
    };
    let sent: i64 = time.parse().map_err(|_| Refusal::Wrong)?;
    if sent.abs_diff(now) > TOLERANCE {
        return Err(Refusal::Wrong);
    }
    let signed = [id.as_bytes(), b".", time.as_bytes(), b".", body].concat();
    let signatures = text(SIGNATURE).unwrap_or_default();
    let tags = signatures.split_ascii_whitespace().filter_map(|one| {
        let (version, tag) = one.split_once(',')?;
        let tag = BASE64_STANDARD.decode(tag).ok()?;
        (version == "v1").then_some(tag)
    });
    let tags: Vec<Vec<u8>> = tags.collect();
    any(&secrets.tokens, |secret| {
        let secret = secret
            .strip_prefix(SECRET)
            .map(|s| BASE64_STANDARD.decode(s));
        let Some(Ok(secret)) = secret else {
            return false;
        };
        tags.iter()
            .filter(|tag| is_signed(&secret, &signed, tag))
            .count()
            > 0
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const B: &[u8] =
        br#"{"ref":"refs/heads/main","after":"69b59063470310ebbd88a9156325322a124e55a3"}"#;
    const V11: &str = "v1,dMCbeYqJMzcSPJOKxXsm1bUoQSjrtMb8JokeJIAZtOQ=";
    const KEY: &str = "whsec_Y2Fwc3Rhbi10ZXN0LXNpZ25pbmcta2V5LTMyYnl0ZXM=";

    fn checked(
        (id, time, body): (&'static str, i64, &[u8]),
        signature: &str,
        key: &str,
        now: i64,
    ) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", HeaderValue::from_static(id));
        headers.insert("webhook-timestamp", HeaderValue::from(time));
        let signature = HeaderValue::from_str(signature).expect("a value");
        headers.insert(SIGNATURE, signature);
        let secrets = Secrets {
            user: Vec::new(),
            tokens: vec![key.as_bytes().to_vec()],
        };
        verify(&headers, body, &secrets, now)
    }

    /// V11 and V12.
    #[test]
    fn the_signature_is_over_id_time_and_body() {
        let ours = ("msg_capstan_0001", 1_767_225_600, B);
        assert_eq!(checked(ours, V11, KEY, ours.1), Ok(()));
        let other = ("msg_capstan_0002", ours.1, B);
        assert_eq!(checked(other, V11, KEY, ours.1), Err(Refusal::Wrong));
        let later = (ours.0, ours.1 + 1, B);
        assert_eq!(checked(later, V11, KEY, ours.1), Err(Refusal::Wrong));
        let example = (
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#.as_slice(),
        );
        let v12 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        assert_eq!(checked(example, v12, key, example.1), Ok(()));
        assert_eq!(checked(example, v12, KEY, example.1), Err(Refusal::Wrong));
        assert_eq!(
            checked(example, v12, key.trim_start_matches("whsec_"), example.1),
            Err(Refusal::Wrong)
        );
    }

    /// Oracle row 12.
    #[test]
    fn old_and_early_deliveries_are_refused_and_one_of_several_signatures_is_enough() {
        let ours = ("msg_capstan_0001", 1_767_225_600, B);
        for (now, expected) in [
            (ours.1 + 300, Ok(())),
            (ours.1 + 301, Err(Refusal::Wrong)),
            (ours.1 - 300, Ok(())),
            (ours.1 - 301, Err(Refusal::Wrong)),
        ] {
            assert_eq!(checked(ours, V11, KEY, now), expected, "{now}");
        }
        let two = format!("v1,{} {V11}", BASE64_STANDARD.encode([0; 32]));
        assert_eq!(checked(ours, &two, KEY, ours.1), Ok(()));
        let unknown = V11.replace("v1,", "v2,");
        for wrong in [unknown.as_str(), "", "v1,", "v1"] {
            assert_eq!(
                checked(ours, wrong, KEY, ours.1),
                Err(Refusal::Wrong),
                "{wrong}"
            );
        }
    }
}
