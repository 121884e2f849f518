//! Texts that stand for a secret and are none: references, placeholders and ciphertext.
//!
//! In: a text. Out: whether it is one of these, as a whole. It does not know what fills it in; Capstan does
//! not, and applies it as it is.

/// How references to secrets begin, in the words of the tools that resolve them: 1Password, Bank-Vaults, vals,
/// Azure DevOps and Docker Compose.
const SCHEMES: &[&str] = &["op://", "vault:", ">>vault:", "ref+"];
/// How texts begin that other tools encrypted: Ansible Vault, age, PGP.
const ENCRYPTED: &[&str] = &[
    "$ANSIBLE_VAULT;",
    "-----BEGIN AGE ENCRYPTED FILE-----",
    "-----BEGIN PGP MESSAGE-----",
];
/// Words that people write where a value will be, in lower case and letters only.
const WORDS: &[&str] = &[
    "changeme",
    "editme",
    "fillme",
    "fillmein",
    "fixme",
    "inserthere",
    "placeholder",
    "redacted",
    "replaceme",
    "setme",
    "tobereplaced",
    "todo",
    "updateme",
];
/// What encloses the name of a variable or an expression: shells and Flux, Kubernetes and Azure DevOps, templates,
/// Argo CD's vault plugin and people.
const BRACKETS: &[(&str, &str)] = &[("${", "}"), ("$(", ")"), ("{{", "}}"), ("<", ">")];

/// Whether a text refers to a secret, asks for one, or is encrypted.
pub(super) fn stands_for_a_secret(text: &str) -> bool {
    let text = text.trim();
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    let is_reference = || begins(SCHEMES) && !text.contains(char::is_whitespace);
    is_reference() || begins(ENCRYPTED) || is_ciphertext(text) || is_enclosed(text) || is_word(text)
}

/// `ENC[PKCS7,...]` and the like, as hiera-eyaml writes it. SOPS has a longer form, which has a rule of its own.
fn is_ciphertext(text: &str) -> bool {
    let inner = text
        .strip_prefix("ENC[")
        .and_then(|rest| rest.strip_suffix(']'));
    let named = inner.and_then(|inner| inner.split_once(','));
    named.is_some_and(|(scheme, _)| matches!(scheme, "PKCS7" | "GPG" | "KMS"))
}

/// Whether one pair of brackets encloses all of the text, without a value beside the name.
fn is_enclosed(text: &str) -> bool {
    BRACKETS.iter().any(|(open, close)| {
        let inner = text
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| {
            let is_whole = !inner.contains(open) && !inner.contains(close);
            let is_name = is_whole && !inner.trim().is_empty() && !inner.contains('\n');
            is_name && default_of(inner).is_none_or(|text| is_no_value(text.trim()))
        })
    })
}

/// What `${NAME:=default}` and `${NAME:-default}` stand for when nothing fills them in.
fn default_of(inner: &str) -> Option<&str> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest = inner.trim_start_matches(is_inside);
    let marks = [":=", ":-", ":+", "="];
    let of = |mark: &str| rest.strip_prefix(mark);
    marks.into_iter().find_map(of).filter(|_| rest != inner)
}

fn is_no_value(text: &str) -> bool {
    matches!(text, "" | "none") || is_word(text)
}

fn is_word(text: &str) -> bool {
    let is_filler = |letter: char| matches!(letter, '*' | 'x' | 'X' | '.');
    if text.chars().count() >= 3 && text.chars().all(is_filler) {
        return true;
    }
    let letters = text
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-' | ' ' | '.' | '!'));
    let letters: String = letters.collect::<String>().to_lowercase();
    WORDS.contains(&letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_placeholders_and_ciphertext_stand_for_a_secret() {
        for text in [
            "op://prod/registry/password",
            "vault:secret/data/registry#password",
            "ref+vault://secret/registry#/password",
            "${REGISTRY_PASSWORD}",
            "${REGISTRY_PASSWORD:=none}",
            "${REGISTRY_PASSWORD:-}",
            "${REGISTRY_PASSWORD:=change-me}",
            "${registry-password}",
            "$(REGISTRY_PASSWORD)",
            "{{ .password }}",
            "{{ .password | toString }}\n",
            "<path:kv/data/registry#password>",
            "<your password>",
            "UPDATE_ME",
            "change-me",
            "CHANGEME",
            "TODO",
            "xxxxxxxx",
            "***",
            "ENC[PKCS7,MIIBeQYJKoZIhvcNAQcDoII=]",
            "$ANSIBLE_VAULT;1.1;AES256\n6231",
        ] {
            assert!(stands_for_a_secret(text), "{text}");
        }
    }

    #[test]
    fn what_holds_more_than_a_reference_may_be_a_secret() {
        for text in [
            "",
            "hunter2",
            "hunter2${SUFFIX}",
            "${USER}:hunter2@${HOST}",
            "${DB_PASSWORD:=hunter2}",
            "${DB_PASSWORD:-hunter2}",
            "${DB_PASSWORD=hunter2}",
            "{{a}}hunter2{{b}}",
            "vault: hunter2",
            "update_me2",
            "${}",
            "<",
            "ENC[no",
            "ENC[no]",
            "todohunter2",
        ] {
            assert!(!stands_for_a_secret(text), "{text}");
        }
    }
}
