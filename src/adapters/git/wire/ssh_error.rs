//! What the words of `ssh` mean. It says everything in words and ends with 255.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use super::fault::Fault;
use super::text::line;
use crate::adapters::git::Error;

/// The library that lets ssh read its users from another file.
pub(super) const WRAPPER: &str = "libnss_wrapper.so";

/// What is known of the server that ssh talks to.
pub(super) struct Hosts {
    /// The address as it is shown.
    pub(super) shown: String,
    pub(super) host: String,
    /// The port of the address.
    pub(super) port: Option<u16>,
    /// The known hosts that ssh was given.
    pub(super) known: Option<Vec<u8>>,
}

impl Hosts {
    /// What went wrong by what ssh said.
    pub(super) fn fault(&self, words: &str) -> Fault {
        let has = |text: &str| words.contains(text);
        let url = self.shown.clone();
        let host_key = |cause: String| {
            Fault::Known(Error::HostKey {
                url: url.clone(),
                cause,
            })
        };
        if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            return host_key(self.changed(words));
        }
        if has("REVOKED HOST KEY") || has("marked as revoked") {
            return host_key("its host key is marked @revoked in known_hosts".to_owned());
        }
        if has("Host key verification failed") || has("host key is known for") {
            let (name, scan) = (self.name(), keyscan(&self.host, self.port));
            return host_key(format!(
                "known_hosts has no key of {name}; `{scan}` prints it"
            ));
        }
        if has("Permission denied (") {
            let help = "the server does not accept the SSH key; add its public key to the repository as a \
                        deploy key, with write access if checks are written as git notes";
            return Fault::Known(Error::Unauthenticated {
                url,
                help: help.to_owned(),
            });
        }
        if has("No user exists for uid") {
            return Fault::Known(Error::Unusable {
                url,
                cause: format!(
                    "ssh does not run as a user ID without a name, and {WRAPPER}, which gives it one, is not installed: install it (Debian's package libnss-wrapper), or use an HTTPS address"
                ),
            });
        }
        if has("error in libcrypto") || has("invalid format") {
            return Fault::Known(Error::Unusable {
                url,
                cause: "key identity: ssh cannot read the private key".to_owned(),
            });
        }
        let local = [
            "ssh: ",
            "Connection ",
            "kex_exchange_identification",
            "client_loop",
        ];
        let own = words
            .lines()
            .rfind(|line| local.iter().any(|start| line.starts_with(start)));
        if let Some(own) = own {
            return Fault::Connection(line(own.as_bytes()));
        }
        match line(words.as_bytes()) {
            words if words.is_empty() => Fault::Cut,
            words => Fault::Server(words),
        }
    }

    /// As it is called in known_hosts: with another port than 22, `[host]:port` (sshd(8), "SSH_KNOWN_HOSTS FILE
    /// FORMAT").
    fn name(&self) -> String {
        match other_port(self.port) {
            Some(port) => format!("[{}]:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Both fingerprints, as far as they can be had.
    fn changed(&self, words: &str) -> String {
        let found = words
            .split_whitespace()
            .find(|word| word.starts_with("SHA256:"));
        let found = found.map_or("unknown", |found| found.trim_end_matches('.'));
        match self.expected(words) {
            Some(expected) => format!(
                "its host key has changed: known_hosts has the key with the fingerprint {expected}, the server has {found}"
            ),
            None => format!(
                "its host key has changed: the server has the key with the fingerprint {found}"
            ),
        }
    }

    /// The fingerprint of the key at the line that ssh names: `Offending ED25519 key in FILE:LINE`.
    fn expected(&self, words: &str) -> Option<String> {
        let offending = words.lines().find(|line| line.starts_with("Offending "))?;
        let number: usize = offending.trim().rsplit_once(':')?.1.parse().ok()?;
        let known = String::from_utf8_lossy(self.known.as_deref()?).into_owned();
        let entry = known.lines().nth(number.checked_sub(1)?)?;
        let mut fields = entry
            .split_whitespace()
            .skip_while(|field| field.starts_with('@'));
        let key = STANDARD.decode(fields.nth(2)?).ok()?;
        let digest = Sha256::digest(key);
        Some(format!("SHA256:{}", STANDARD_NO_PAD.encode(digest)))
    }
}

/// The command that prints the public keys of a server as known_hosts has them.
pub(super) fn keyscan(host: &str, port: Option<u16>) -> String {
    match other_port(port) {
        Some(port) => format!("ssh-keyscan -p {port} {host}"),
        None => format!("ssh-keyscan {host}"),
    }
}

/// The port, if it is not the one of ssh.
fn other_port(port: Option<u16>) -> Option<u16> {
    port.filter(|port| *port != 22)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ErrorClass;

    fn error(words: &str) -> Error {
        error_at(None, words)
    }

    fn error_at(port: Option<u16>, words: &str) -> Error {
        let known = "# a comment\nh ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n";
        let hosts = Hosts {
            shown: "git@h:r".to_owned(),
            host: "h".to_owned(),
            port,
            known: Some(known.into()),
        };
        hosts.fault(words).at("git@h:r")
    }

    #[test]
    fn a_user_without_a_name_is_told_what_to_install() {
        let words = "ERROR: ld.so: object 'libnss_wrapper.so' from LD_PRELOAD cannot be preloaded: ignored.\n\
                     No user exists for uid 1000650000\n";
        let error = error(words);
        assert_eq!(error.class(), ErrorClass::Invalid);
        assert!(error.to_string().contains("libnss-wrapper"), "{error}");
    }

    #[test]
    fn a_changed_host_key_is_refused_with_both_fingerprints() {
        let words = "@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@\nThe fingerprint for \
                     the ED25519 key sent by the remote host is\nSHA256:uNiVztksCsDhcc0u9e8BrrTbYh5Q4XJ8vwjD8Jf3qQw.\n\
                     Offending ED25519 key in /etc/capstan/known_hosts:2\nHost key verification failed.\n";
        let error = error(words);
        assert_eq!(error.class(), ErrorClass::Denied);
        let message = error.to_string();
        // GitHub's key and the fingerprint that GitHub publishes for it.
        let expected =
            "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU, the server has SHA256:uNiV";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn a_server_without_a_known_key_is_named_as_known_hosts_does() {
        for (port, name, scan) in [
            (None, "h", "ssh-keyscan h"),
            (Some(22), "h", "ssh-keyscan h"),
            (Some(7999), "[h]:7999", "ssh-keyscan -p 7999 h"),
        ] {
            let message = error_at(port, "Host key verification failed.").to_string();
            let cause = format!("known_hosts has no key of {name}; `{scan}` prints it;");
            assert!(message.contains(&cause), "{message}");
        }
    }

    #[test]
    fn the_words_of_ssh_have_a_class() {
        for (words, class, part) in [
            (
                "No ED25519 host key is known for h and you have requested strict checking.\nHost key verification failed.",
                ErrorClass::Denied,
                "known_hosts has no key of h",
            ),
            (
                "@ WARNING: REVOKED HOST KEY DETECTED! @",
                ErrorClass::Denied,
                "@revoked",
            ),
            (
                "git@h: Permission denied (publickey).",
                ErrorClass::Denied,
                "deploy key",
            ),
            (
                "Load key \"/x\": error in libcrypto",
                ErrorClass::Invalid,
                "key identity",
            ),
            (
                "ssh: connect to host h port 22: Connection refused",
                ErrorClass::Transient,
                "Connection refused",
            ),
            (
                "Connection closed by 1.2.3.4 port 22",
                ErrorClass::Transient,
                "Connection closed",
            ),
            (
                "ERROR: Repository not found.\nfatal: x",
                ErrorClass::Gone,
                "Repository not found",
            ),
            (
                "fatal: '/x' does not appear to be a git repository",
                ErrorClass::Gone,
                "'/x'",
            ),
            ("", ErrorClass::Transient, "ended"),
        ] {
            let error = error(words);
            assert_eq!(error.class(), class, "{words}: {error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
