//! Texts that hold secrets whatever their name is, by their form.

use super::names_secret;
use crate::model::cut;
use crate::rules::placeholder::stands_for_a_secret;
use crate::rules::secrets::decoded;

/// The texts of settings that are no secret.
const WORDS: &[&str] = &[
    "true", "false", "yes", "no", "on", "off", "null", "none", "enabled", "disabled",
];
/// How the tokens of well-known services begin.
const TOKENS: &[&str] = &[
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "npm_",
    "dckr_pat_",
];

/// Whether the text of a field that names a secret is one, not empty, a switch or a placeholder.
pub(super) fn is_value(text: &str) -> bool {
    let text = text.trim();
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_reference = || stands_for_a_secret(text) || is_variable(text);
    !(text.is_empty() || is_word || is_reference() || text.starts_with("ENC["))
}

/// A variable of a shell: `$NAME`. Lower-case letters are more likely a value that begins with a dollar sign.
fn is_variable(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let name = text.strip_prefix('$').unwrap_or_default();
    name.starts_with(|c: char| is_inside(c) && !c.is_ascii_digit()) && name.chars().all(is_inside)
}

/// Whether a text holds a secret by its form, plain or in base64.
pub(super) fn holds_secret(text: &str) -> bool {
    has_form(text) || decoded(text).is_some_and(|text| has_form(&text))
}

fn has_form(text: &str) -> bool {
    let is_key = text.contains("-----BEGIN ") && text.contains("PRIVATE KEY");
    let is_signed = text.contains("sig=") && (text.contains("se=") || text.contains("sv="));
    is_key || is_signed || is_manifest(text) || has_token(text) || has_login(text) || assigns(text)
}

/// A Secret as YAML or JSON.
fn is_manifest(text: &str) -> bool {
    let has = |word: &str| text.contains(word);
    let is_secret =
        has("kind: Secret\n") || has("\"kind\":\"Secret\"") || has("\"kind\": \"Secret\"");
    is_secret && has("ata")
}

/// Whether a word is a JSON web token, the token of a well-known service, or comes after `Bearer` or `Basic`.
fn has_token(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "._-~+/=".contains(c);
    let mut after_scheme = false;
    text.split(|c| !is_inside(c)).any(|word| {
        let is_jwt = word.starts_with("eyJ") && word.matches('.').count() >= 2;
        let is_known = TOKENS.iter().any(|begin| word.starts_with(begin));
        let is_mixed = word.len() >= 8 && word.contains(|c: char| c.is_ascii_digit() || c == '=');
        let found = is_jwt || is_known && word.len() > 16 || after_scheme && is_mixed;
        after_scheme = matches!(word, "Bearer" | "Basic");
        found
    })
}

/// `scheme://user:password@host`
fn has_login(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let (authority, _) = cut::until(rest, |c| c == '/' || c.is_whitespace());
        let login = authority.rsplit_once('@').map(|(login, _)| login);
        let password = login.and_then(|login| login.split_once(':'));
        password.is_some_and(|(_, password)| is_value(password))
    })
}

/// Whether something in the text sets a name that names a secret, as in `password=x`, `AccountKey=x;` or
/// `"token": "x"`.
fn assigns(text: &str) -> bool {
    text.lines().any(|line| {
        let mut signs = line.match_indices(['=', ':']);
        signs.any(|(at, sign)| {
            let (before, after) = line.split_at_checked(at).unwrap_or_default();
            names_secret(name_before(before)) && after.strip_prefix(sign).is_some_and(is_set)
        })
    })
}

/// The name that a line ends in.
fn name_before(line: &str) -> &str {
    let line = line.trim_end_matches([' ', '"', '\'']);
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    line.rsplit(|c| !is_inside(c)).next().unwrap_or_default()
}

/// Whether a line begins with a value that may be a secret.
fn is_set(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '"', '\'']);
    let end = |c: char| c.is_whitespace() || "\"',;&".contains(c);
    let value = line.split(end).next().unwrap_or_default();
    let is_other = value.starts_with(['$', '{', '[', '<', '|', '>', '=', '/', '#', '*']);
    !is_other && is_value(value)
}
