//! Certificate authorities and the certificates that they sign.
//!
//! In: names and times. Out: PEM. It does not know: when a new one is due.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, Error, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Serialize};

/// How far the clocks of machines may be apart, in seconds.
const SKEW: u64 = 3600;

/// A certificate with its key. It is never logged: it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Authority {
    /// Its subject, which no other authority has.
    pub(super) name: String,
    pub(super) certificate: String,
    key: String,
    pub(super) made: Timestamp,
    pub(super) expires: Timestamp,
}

/// The certificate that the server shows, with its key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leaf {
    pub(super) certificate: String,
    pub(super) key: String,
    /// The name of the authority that signed it.
    pub(super) authority: String,
    /// The hosts that it is for.
    pub(super) hosts: Vec<String>,
    pub(super) made: Timestamp,
    pub(super) expires: Timestamp,
}

impl Authority {
    /// A new one.
    pub(super) fn make(now: Timestamp, lifetime: Duration) -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let name = format!("capstan-admission-ca {now}");
        let expires = now + lifetime;
        let parameters = parameters(&name, now, expires);
        Ok(Self {
            certificate: parameters.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
            name,
            made: now,
            expires,
        })
    }

    /// A certificate for `hosts`, which ends no later than the authority.
    pub(super) fn sign(
        &self,
        hosts: &[String],
        now: Timestamp,
        lifetime: Duration,
    ) -> Result<Leaf, Error> {
        let issuer = parameters(&self.name, self.made, self.expires);
        let issuer = Issuer::new(issuer, KeyPair::from_pem(&self.key)?);
        let key = KeyPair::generate()?;
        let expires = self.expires.min(now + lifetime);
        let mut leaf = CertificateParams::new(hosts.to_vec())?;
        leaf.distinguished_name = named("capstan-admission");
        leaf.not_before = date_time_ymd(1970, 1, 1) + begin(now);
        leaf.not_after = date_time_ymd(1970, 1, 1) + since_epoch(expires);
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(Leaf {
            certificate: leaf.signed_by(&key, &issuer)?.pem(),
            key: key.serialize_pem(),
            authority: self.name.clone(),
            hosts: hosts.to_vec(),
            made: now,
            expires,
        })
    }
}

fn parameters(name: &str, made: Timestamp, expires: Timestamp) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named(name);
    parameters.not_before = date_time_ymd(1970, 1, 1) + begin(made);
    parameters.not_after = date_time_ymd(1970, 1, 1) + since_epoch(expires);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    parameters
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// A little before `made`, for machines whose clocks are behind.
fn begin(made: Timestamp) -> Duration {
    since_epoch(made).saturating_sub(Duration::from_secs(SKEW))
}

fn since_epoch(at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
}
