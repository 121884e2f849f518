//! A hint that a process passes on to the one that follows the fleet.
//!
//! In: a hint, the fleet, the secrets of its webhooks, the time. Out: a text, and the hint of such a text. Only those who know a
//! secret can write one, as with a delivery, and it is of no use for another fleet or later. It does not know where the text is stored.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

use super::compare::{any, is_signed, sign};
use super::secrets::Secrets;
use crate::model::Hint;

/// The time for which a text is of use, in seconds. It also covers clocks that differ.
const LIFE: u64 = 300;
/// The purpose of the key. The secret itself signs deliveries, and nobody who reads a text may have a delivery with it.
const PURPOSE: &[u8] = b"capstan: relay";

#[derive(Serialize, Deserialize)]
struct Relayed {
    /// The namespace and the name of the fleet.
    fleet: String,
    /// In seconds since 1970.
    at: i64,
    hint: Hint,
}

/// A text that carries the hint to the process that follows `fleet`. It is signed with every secret: the other process may have
/// read the Secret before one replaced another. `now` is in seconds since 1970.
#[must_use]
pub fn seal(hint: Hint, fleet: &str, secrets: &Secrets, now: i64) -> String {
    let relayed = Relayed {
        fleet: fleet.to_owned(),
        at: now,
        hint,
    };
    let text = serde_json::to_string(&relayed).unwrap_or_default();
    let tags = secrets.tokens.iter();
    let tags =
        tags.map(|secret| BASE64_STANDARD.encode(sign(key(secret).as_ref(), text.as_bytes())));
    let tags: Vec<String> = tags.collect();
    format!("{} {text}", tags.join(","))
}

/// The hint of a text; `None` if it is of somebody without a secret, for another fleet, or too old.
#[must_use]
pub fn unseal(text: &str, fleet: &str, secrets: &Secrets, now: i64) -> Option<Hint> {
    let (tags, text) = text.split_once(' ')?;
    let tags = tags.split(',').map(|tag| BASE64_STANDARD.decode(tag));
    let tags: Vec<Vec<u8>> = tags.collect::<Result<_, _>>().ok()?;
    any(&secrets.tokens, |secret| {
        let key = key(secret);
        let mut tags = tags.iter();
        tags.any(|tag| is_signed(key.as_ref(), text.as_bytes(), tag))
    })
    .ok()?;
    let relayed: Relayed = serde_json::from_str(text).ok()?;
    let is_ours = relayed.fleet == fleet && now.abs_diff(relayed.at) <= LIFE;
    is_ours.then_some(relayed.hint)
}

fn key(secret: &[u8]) -> impl AsRef<[u8]> {
    sign(secret, PURPOSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Head, Press, Rerun};

    fn secrets(tokens: &[&str]) -> Secrets {
        let keys = tokens.iter().enumerate();
        let keys = keys.map(|(at, token)| (format!("token-{at}"), token.as_bytes().to_vec()));
        Secrets::read("it", &keys.collect()).expect("sound")
    }

    #[test]
    fn a_hint_arrives_whole_also_while_one_secret_replaces_another() {
        let hint = Hint {
            reruns: [Rerun::all(Head::PullRequest(7))].into(),
            presses: [Press {
                commit: "1".to_owned(),
                context: "capstan/prod/plan".to_owned(),
                app: 1,
                button: "b".to_owned(),
                login: "octocat".to_owned(),
            }]
            .into(),
        };
        let [old, both, new] = [&["old"][..], &["new", "old"], &["new"]].map(secrets);
        for (from, to) in [(&old, &both), (&both, &old), (&both, &new)] {
            let text = seal(hint.clone(), "n/f", from, 1_000);
            assert_eq!(unseal(&text, "n/f", to, 1_300), Some(hint.clone()));
        }
        let text = seal(hint, "n/f", &new, 1_000);
        assert_eq!(unseal(&text, "n/f", &old, 1_000), None);
    }

    #[test]
    fn what_is_forged_or_for_another_fleet_or_old_is_no_hint() {
        let secrets = |token| secrets(&[token]);
        let text = seal(Hint::default(), "n/f", &secrets("a"), 1_000);
        let open = |text: &str, fleet, token, now| unseal(text, fleet, &secrets(token), now);
        assert_eq!(open(&text, "n/f", "a", 1_000), Some(Hint::default()));
        assert_eq!(open(&text, "n/f", "b", 1_000), None);
        assert_eq!(open(&text, "n/g", "a", 1_000), None);
        assert_eq!(open(&text, "n/f", "a", 1_301), None);
        assert_eq!(open(&text, "n/f", "a", 699), None);
        assert_eq!(open(&text.replace("1000", "1001"), "n/f", "a", 1_000), None);
        for junk in ["", " ", "x y", "{}", "AAAA {}"] {
            assert_eq!(open(junk, "n/f", "a", 1_000), None, "{junk}");
        }
    }
}
