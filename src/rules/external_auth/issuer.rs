//! E03 to E05: the issuer of tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::{Finding, message};
use crate::rules::arm::{Resource, World};

const ISSUER: &str = "spec.properties.issuer";

/// E03: the issuer's URL is set and uses https.
pub(super) fn url_is_safe(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let field = auth.field(ISSUER).key("url");
    let host = |text: &str| {
        text.strip_prefix("https://")
            .is_some_and(|rest| !rest.is_empty())
    };
    let name = field.name();
    let message = match field.text() {
        Some(text) if host(text) => return Vec::new(),
        Some(text) if !text.is_empty() => {
            message!(
                "the issuer's {name} {text:?} is not an https:// address",
                name,
                text
            )
        }
        None if field.is_given() => return Vec::new(), // the schema reports it
        _ => message!("the issuer's {name} is required", name),
    };
    let help = "write the address as tokens have it, such as https://login.example.com";
    vec![field.finding("E03", message).help(help)]
}

/// E04: between 1 and 10 audiences, none of them empty.
pub(super) fn audiences_are_given(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let field = auth.field(ISSUER).key("audiences");
    let count = field.items().count();
    let wrong = !(1..=10).contains(&count);
    let message = || message!("the issuer has {count} audiences, not 1 to 10", count);
    let help = "list 1 to 10 audiences, one for each client";
    let number = wrong.then(|| field.finding("E04", message()).help(help));
    let empty = field.items().filter(|audience| audience.text() == Some(""));
    let empty = empty.map(|audience| {
        let finding = audience.finding("E04", "an audience is empty");
        finding.help("write the clientId of a client, or remove the item")
    });
    number.into_iter().chain(empty).collect()
}

/// E05: the issuer's certificate authority is PEM.
pub(super) fn authority_is_pem(_: &World<'_>, auth: &Resource<'_>) -> Vec<Finding> {
    let field = auth.field(ISSUER).key("ca");
    let wrong = field
        .text()
        .is_some_and(|text| !text.is_empty() && !is_pem(text));
    let finding = || {
        let finding = field.finding("E05", "the issuer's ca is not a PEM certificate");
        finding.help("write the whole certificate, starting with `-----BEGIN CERTIFICATE-----`")
    };
    wrong.then(finding).into_iter().collect()
}

/// Whether there is a block with a body in base64.
fn is_pem(text: &str) -> bool {
    const BEGIN: &str = "-----BEGIN ";
    const DASHES: &str = "-----";
    let block = || {
        let (_, rest) = text.split_once(BEGIN)?;
        let (label, rest) = rest.split_once(DASHES)?;
        let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
        let body: String = body.split_whitespace().collect();
        Some(!body.is_empty() && STANDARD.decode(body).is_ok())
    };
    block().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_a_label_around_base64() {
        let sound = "-----BEGIN CERTIFICATE-----\nAAEC\nAwQF\n-----END CERTIFICATE-----\n";
        assert!(is_pem(sound));
        for (from, to) in [
            ("END", "STOP"),
            ("AAEC", "A!"),
            ("AAEC\nAwQF", ""),
            ("-----BEGIN", ""),
        ] {
            assert!(!is_pem(&sound.replace(from, to)), "{from}");
        }
    }
}
