//! Names of fields and variables that hold secrets.

/// How such names end, in lower case and without separators.
const ENDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "secretkey",
    "privatekey",
    "sharedkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "subscriptionkey",
    "connectionstring",
    "connstr",
    "sharedaccesssignature",
    "clientsecret",
    "appsecret",
    "apisecret",
    "sharedsecret",
    "consumersecret",
    "signingsecret",
    "sessionsecret",
    "cookiesecret",
    "oauthsecret",
    "jwtsecret",
    "clientcertificatepassword",
    "dockerconfigjson",
];
/// Words before which the plural is an amount: `maxTokens`.
const AMOUNTS: &[&str] = &["max", "min", "num", "number", "count", "limit", "total"];
/// Whole names that end so and are none: the working directory.
const OTHERS: &[&str] = &["pwd", "oldpwd"];

/// Whether a field or variable of this name holds a secret, rather than a reference to one (`tokenSecretRef`,
/// `passwordSecretName`) or something about it (`tokenExpirationSeconds`, `keyName`). Case, separators, and what
/// comes before the `/` of an annotation do not matter.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    let letters: Vec<u8> = letters.map(|byte| byte.to_ascii_lowercase()).collect();
    let is_other = |other: &&str| other.as_bytes() == letters;
    let ends = |letters: &[u8]| ENDS.iter().any(|end| letters.ends_with(end.as_bytes()));
    match letters.strip_suffix(b"s") {
        _ if OTHERS.iter().any(is_other) => false,
        _ if ends(&letters) => true,
        Some(singular) if ends(singular) => !is_amount(name),
        _ => is_short_password(name),
    }
}

/// `DB_PASS`, `dbPass`
fn is_short_password(name: &str) -> bool {
    let start = name.len().saturating_sub("pass".len());
    let Some((before, end)) = name.split_at_checked(start) else {
        return false;
    };
    let separated = before.ends_with(['_', '-', '.']) && end.eq_ignore_ascii_case("pass");
    separated || !before.is_empty() && end == "Pass"
}

fn is_amount(name: &str) -> bool {
    let lower = name.to_lowercase();
    AMOUNTS.iter().any(|word| lower.starts_with(word))
}
