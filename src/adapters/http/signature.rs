//! Who sent a delivery: each forge's own way to prove it, on the bytes of the body.
//!
//! In: headers, body, secrets, the time. Out: whether the sender knows a secret. Every comparison takes
//! as long for a wrong value as for a right one, and every secret is tried.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::compare::{Refusal, any, is_same, is_signed};
use super::form::{self, BodyType};
use super::secrets::Secrets;
use super::sender::Sender;
use super::standard_webhook;
use crate::model::ForgeKind;

/// The header for a secret where a forge sends headers that people choose.
const TOKEN_HEADER: &str = "x-capstan-token";

/// A delivery as it came.
pub(super) struct Delivery<'a> {
    pub(super) sender: Sender,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    pub(super) body_type: Option<BodyType>,
}

/// Checks that the sender knows one of `secrets`; `now` is in seconds since 1970.
pub(super) fn authenticate(
    delivery: &Delivery<'_>,
    secrets: &Secrets,
    now: i64,
) -> Result<(), Refusal> {
    let (headers, body) = (delivery.headers, delivery.body);
    match delivery.sender {
        Sender::Forge(ForgeKind::GitHub) => prefixed(headers, "x-hub-signature-256", body, secrets),
        Sender::Forge(ForgeKind::Bitbucket) => prefixed(headers, "x-hub-signature", body, secrets),
        Sender::Forge(ForgeKind::Gitea) => bare(delivery, &["x-gitea-signature"], secrets),
        Sender::Forgejo => bare(
            delivery,
            &["x-forgejo-signature", "x-gitea-signature"],
            secrets,
        ),
        Sender::Forge(ForgeKind::GitLab) if standard_webhook::applies(headers, secrets) => {
            standard_webhook::verify(headers, body, secrets, now)
        }
        Sender::Forge(ForgeKind::GitLab) => token(text(headers, "x-gitlab-token"), secrets),
        Sender::Forge(ForgeKind::AzureDevOps) if headers.contains_key(TOKEN_HEADER) => {
            token(text(headers, TOKEN_HEADER), secrets)
        }
        Sender::Forge(ForgeKind::AzureDevOps) => basic(headers, secrets),
        Sender::Generic if headers.contains_key("x-hub-signature-256") => {
            prefixed(headers, "x-hub-signature-256", body, secrets)
        }
        Sender::Generic => token(authorization(headers, "bearer"), secrets),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    headers.get(name).map(http::HeaderValue::as_bytes)
}

/// `sha256=` and hexadecimal digits over the body as it came.
fn prefixed(
    headers: &HeaderMap,
    name: &str,
    body: &[u8],
    secrets: &Secrets,
) -> Result<(), Refusal> {
    let given = text(headers, name).ok_or(Refusal::Unsigned)?;
    let digits = given.strip_prefix(b"sha256=").ok_or(Refusal::Wrong)?;
    hexadecimal(digits, body, secrets)
}

/// Hexadecimal digits in the first of the headers `names` that is there, over the JSON text: Gitea signs
/// what a form contains, not the form.
fn bare(delivery: &Delivery<'_>, names: &[&str], secrets: &Secrets) -> Result<(), Refusal> {
    let mut given = names.iter().filter_map(|name| text(delivery.headers, name));
    let digits = given.next().ok_or(Refusal::Unsigned)?;
    if delivery.body_type == Some(BodyType::Form) {
        let payload = form::payload(delivery.body).ok_or(Refusal::Wrong)?;
        return hexadecimal(digits, &payload, secrets);
    }
    hexadecimal(digits, delivery.body, secrets)
}

fn hexadecimal(digits: &[u8], signed: &[u8], secrets: &Secrets) -> Result<(), Refusal> {
    // A webhook without a secret sends the header without a value.
    if digits.is_empty() {
        return Err(Refusal::Unsigned);
    }
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(form::digit(high)? * 16 + form::digit(low)?),
        _ => None,
    });
    let tag: Vec<u8> = pairs.collect::<Option<_>>().ok_or(Refusal::Wrong)?;
    any(&secrets.tokens, |secret| is_signed(secret, signed, &tag))
}

/// The secret itself.
fn token(given: Option<&[u8]>, secrets: &Secrets) -> Result<(), Refusal> {
    let given = given.filter(|given| !given.is_empty());
    let given = given.ok_or(Refusal::Unsigned)?;
    any(&secrets.tokens, |secret| is_same(given, secret))
}

/// The value of an Authorization header of this scheme.
fn authorization<'a>(headers: &'a HeaderMap, scheme: &str) -> Option<&'a [u8]> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (given, value) = value.split_once(' ')?;
    let value = given.eq_ignore_ascii_case(scheme).then(|| value.trim())?;
    Some(value.as_bytes())
}

/// The user and a secret. The user ends with the first colon (RFC 7617).
fn basic(headers: &HeaderMap, secrets: &Secrets) -> Result<(), Refusal> {
    let given = authorization(headers, "basic").ok_or(Refusal::Unsigned)?;
    let given = BASE64_STANDARD.decode(given).map_err(|_| Refusal::Wrong)?;
    let mut parts = given.splitn(2, |byte| *byte == b':');
    let user = parts.next().unwrap_or_default();
    let password = parts.next().ok_or(Refusal::Wrong)?;
    // Both are compared, whatever the first comparison says.
    let is_user = is_same(user, &secrets.user);
    let known = token(Some(password), secrets);
    match is_user {
        true => known,
        false => Err(Refusal::Wrong),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const B: &str =
        r#"{"ref":"refs/heads/main","after":"69b59063470310ebbd88a9156325322a124e55a3"}"#;
    const F: &str = "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22after%22%3A%2269b59063470310ebbd88a9156325322a124e55a3%22%7D";
    const V1: &str = "c2c45fe1c752693b0c3f5ea50756d03fe8f2d9801384b59d72c2859b1291f85a";
    const V3: &str = "26604edd89ef36a7f41afed8e1d39f9b075acb5264aa6534aa60d23072f7c256";

    fn secrets(tokens: &[&str]) -> Secrets {
        Secrets {
            user: b"capstan".to_vec(),
            tokens: tokens
                .iter()
                .map(|token| token.as_bytes().to_vec())
                .collect(),
        }
    }

    fn checked(
        sender: impl Into<Sender>,
        headers: &[(&str, &str)],
        body: &str,
        tokens: &[&str],
    ) -> Result<(), Refusal> {
        let header = |(name, value): &(&str, &str)| {
            let name = HeaderName::try_from(*name).expect("a name");
            (
                name,
                HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
            )
        };
        let headers: HeaderMap = headers.iter().map(header).collect();
        let delivery = Delivery {
            sender: sender.into(),
            headers: &headers,
            body: body.as_bytes(),
            body_type: form::body_type(&headers),
        };
        authenticate(&delivery, &secrets(tokens), 1_767_225_600)
    }

    fn github(signature: &str, body: &str, token: &str) -> Result<(), Refusal> {
        checked(
            ForgeKind::GitHub,
            &[("X-Hub-Signature-256", signature)],
            body,
            &[token],
        )
    }

    /// V1, V2, V4, V6 to V10 of GitHub.
    #[test]
    fn a_signature_of_github_is_over_the_bytes_of_the_body() {
        let three_mib = format!("{{\"x\":\"{}\"}}", "a".repeat(3_145_720));
        assert_eq!(three_mib.len(), 3 * 1024 * 1024);
        for (token, body, tag) in [
            ("capstan-test", B, V1),
            (
                "capstan-test",
                &format!("{B}\n"),
                "3939496b9088f8564a234da567dee2300732d33d46ebe5e2fbc09c062bafaf54",
            ),
            ("capstan-test", F, V3),
            (
                "capstan-test",
                "",
                "bc4a53a11d10015a048e73f6c6b2ecf3d0d67776a7e75e03550a987bf5b738c7",
            ),
            (
                "schlüssel",
                r#"{"ref":"refs/heads/größe"}"#,
                "5347373b58313183a4b8f82018bdb0029b98c6f9045d7cb35119186900e55ef5",
            ),
            (
                "0123456789abcdef",
                r#"{"yo":true}"#,
                "b1f8020f5b4cd42042f807dd939015c4a418bc1ff7f604dd55b0a19b5d953d9b",
            ),
            (
                "0123456789abcdef",
                "payload=%7B%22yo%22%3Atrue%7D",
                "30f622d549ca623f1c553f7e395a80c9487b43b9feaf9af4a1811381ddf5a94d",
            ),
            (
                "topsecret",
                "bonjour monde",
                "8ca57e2afbad9fea8860404575c2d61827995c62aacd4c514eae4c404896390b",
            ),
            (
                "capstan-test",
                &three_mib,
                "68ab583be413ae08be5a05c549e8c57133439f321c360df2893201584ab622a0",
            ),
        ] {
            let signature = format!("sha256={tag}");
            assert_eq!(github(&signature, body, token), Ok(()), "{tag}");
            assert_eq!(
                github(&signature, body, "other"),
                Err(Refusal::Wrong),
                "{tag}"
            );
            let changed = format!("{body} ");
            assert_eq!(
                github(&signature, &changed, token),
                Err(Refusal::Wrong),
                "{tag}"
            );
        }
    }

    /// Oracle row 1.
    #[test]
    fn what_is_not_a_signature_of_github_is_refused() {
        for wrong in [
            "yo",
            "sha256=yo",
            "sha256=012345",
            &format!("sha256={}", V1.chars().skip(1).collect::<String>()),
        ] {
            assert_eq!(
                github(wrong, B, "capstan-test"),
                Err(Refusal::Wrong),
                "{wrong}"
            );
        }
        let unsigned = checked(ForgeKind::GitHub, &[], B, &["capstan-test"]);
        assert_eq!(unsigned, Err(Refusal::Unsigned));
        let upper = format!("sha256={}", V1.to_uppercase());
        assert_eq!(github(&upper, B, "capstan-test"), Ok(()));
    }

    /// Oracle row 2, with the SHA-1 values of V7.
    #[test]
    fn no_other_digest_is_accepted() {
        let body = r#"{"yo":true}"#;
        let (sha1, sha256) = (
            "126f2c800419c60137ce748d7672e77b65cf16d6",
            "b1f8020f5b4cd42042f807dd939015c4a418bc1ff7f604dd55b0a19b5d953d9b",
        );
        let token = "0123456789abcdef";
        let old = format!("sha1={sha1}");
        let only_old = checked(
            ForgeKind::GitHub,
            &[("X-Hub-Signature", &old)],
            body,
            &[token],
        );
        assert_eq!(only_old, Err(Refusal::Unsigned));
        for wrong in [
            old,
            format!("sha1={sha256}"),
            format!("md5={sha256}"),
            format!("x={sha256}"),
        ] {
            assert_eq!(github(&wrong, body, token), Err(Refusal::Wrong), "{wrong}");
        }
    }

    /// Oracle row 3: V5 is what an empty secret signs.
    #[test]
    fn a_webhook_without_a_secret_is_refused() {
        let v5 = "8edd18ef77d7af6ad50734cd6e29a7e539f71bf1d54b8126eacd923434485384";
        assert_eq!(
            github(&format!("sha256={v5}"), B, "capstan-test"),
            Err(Refusal::Wrong)
        );
        assert_eq!(github("sha256=", B, "capstan-test"), Err(Refusal::Unsigned));
        let gitea = checked(
            ForgeKind::Gitea,
            &[("X-Gitea-Signature", "")],
            B,
            &["capstan-test"],
        );
        assert_eq!(gitea, Err(Refusal::Unsigned));
    }

    /// Oracle row 4.
    #[test]
    fn gitea_signs_the_payload_and_github_the_form() {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let tokens = ["capstan-test"];
        let gitea = |tag| {
            checked(
                ForgeKind::Gitea,
                &[form, ("X-Gitea-Signature", tag)],
                F,
                &tokens,
            )
        };
        assert_eq!((gitea(V1), gitea(V3)), (Ok(()), Err(Refusal::Wrong)));
        let json = checked(ForgeKind::Gitea, &[("X-Gitea-Signature", V1)], B, &tokens);
        assert_eq!(json, Ok(()));
        let github = |tag: &str| github(&format!("sha256={tag}"), F, tokens[0]);
        assert_eq!((github(V3), github(V1)), (Ok(()), Err(Refusal::Wrong)));
    }

    #[test]
    fn forgejo_signs_under_its_own_name_and_under_that_of_gitea() {
        let forgejo =
            |headers: &[(&str, &str)]| checked(Sender::Forgejo, headers, B, &["capstan-test"]);
        assert_eq!(forgejo(&[("X-Forgejo-Signature", V1)]), Ok(()));
        assert_eq!(forgejo(&[("X-Gitea-Signature", V1)]), Ok(()));
        let both = [("X-Gitea-Signature", V1), ("X-Forgejo-Signature", V3)];
        assert_eq!(
            forgejo(&both),
            Err(Refusal::Wrong),
            "its own name comes first"
        );
    }

    #[test]
    fn each_of_several_secrets_is_valid() {
        let signature = format!("sha256={V1}");
        let header = [("X-Hub-Signature", signature.as_str())];
        for tokens in [["capstan-test", "next"], ["before", "capstan-test"]] {
            assert_eq!(checked(ForgeKind::Bitbucket, &header, B, &tokens), Ok(()));
        }
        let neither = checked(ForgeKind::Bitbucket, &header, B, &["a", "b"]);
        assert_eq!(neither, Err(Refusal::Wrong));
    }

    /// Oracle row 11, with V13.
    #[test]
    fn azure_devops_authenticates_with_a_user_or_a_header() {
        let basic = |value: &str, token| {
            let value = format!("Basic {value}");
            checked(
                ForgeKind::AzureDevOps,
                &[("Authorization", &value)],
                B,
                &[token],
            )
        };
        let right = "Y2Fwc3RhbjpzM2NyZXQ=";
        assert_eq!(basic(right, "s3cret"), Ok(()));
        assert_eq!(basic(right, "other"), Err(Refusal::Wrong));
        assert_eq!(
            basic("b3RoZXI6czNjcmV0", "s3cret"),
            Err(Refusal::Wrong),
            "the user"
        );
        assert_eq!(basic("Y2Fwc3Rhbjpww6Q6c3M=", "pä:ss"), Ok(()));
        assert_eq!(
            basic("Y2Fwc3Rhbg==", "s3cret"),
            Err(Refusal::Wrong),
            "no colon"
        );
        assert_eq!(basic("%", "s3cret"), Err(Refusal::Wrong));
        let with =
            |headers: &[(&str, &str)]| checked(ForgeKind::AzureDevOps, headers, B, &["s3cret"]);
        assert_eq!(with(&[]), Err(Refusal::Unsigned));
        assert_eq!(with(&[("X-Capstan-Token", "s3cret")]), Ok(()));
        assert_eq!(with(&[("X-Capstan-Token", "s3cre")]), Err(Refusal::Wrong));
        assert_eq!(
            with(&[("Authorization", "Bearer s3cret")]),
            Err(Refusal::Unsigned)
        );
    }

    #[test]
    fn gitlab_sends_the_secret_itself() {
        let with = |headers: &[(&str, &str)]| checked(ForgeKind::GitLab, headers, B, &["s3cret"]);
        assert_eq!(with(&[("X-Gitlab-Token", "s3cret")]), Ok(()));
        assert_eq!(with(&[("X-Gitlab-Token", "S3cret")]), Err(Refusal::Wrong));
        assert_eq!(with(&[("X-Gitlab-Token", "")]), Err(Refusal::Unsigned));
        assert_eq!(with(&[]), Err(Refusal::Unsigned));
    }

    #[test]
    fn any_other_sender_signs_like_github_or_sends_a_bearer_token() {
        let with =
            |headers: &[(&str, &str)]| checked(Sender::Generic, headers, B, &["capstan-test"]);
        let bearer = ("Authorization", "bearer capstan-test");
        assert_eq!(with(&[bearer]), Ok(()));
        assert_eq!(
            with(&[("Authorization", "Bearer other")]),
            Err(Refusal::Wrong)
        );
        assert_eq!(
            with(&[("Authorization", "capstan-test")]),
            Err(Refusal::Unsigned)
        );
        let signature = format!("sha256={V1}");
        assert_eq!(with(&[("X-Hub-Signature-256", &signature)]), Ok(()));
        let both = [bearer, ("X-Hub-Signature-256", "sha256=00")];
        assert_eq!(with(&both), Err(Refusal::Wrong), "a signature decides");
        assert_eq!(with(&[]), Err(Refusal::Unsigned));
    }
}
