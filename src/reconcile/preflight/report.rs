//! What is found of Azure Service Operator or Cluster API, and what to do about it, in words.

use std::fmt;

use serde_json::{Value, json};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Clusters cannot be made.
    Error,
    /// Some of them may not be.
    Warning,
    /// It is good to know.
    Note,
}

impl Level {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    /// For programs.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

/// An installation, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    pub(crate) namespace: String,
    /// Empty if it is not known.
    pub(crate) version: String,
    /// `CAPZ`, `the Helm release aso2`, or nothing if it is not known.
    pub(crate) installer: String,
    pub(crate) healthy: bool,
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = match self.version.as_str() {
            "" => "of an unknown version",
            version => version,
        };
        write!(f, "{version} in {}", self.namespace)?;
        if !self.installer.is_empty() {
            write!(f, ", installed by {}", self.installer)?;
        }
        f.write_str(match self.healthy {
            true => ", runs",
            false => ", does not run",
        })
    }
}

/// All of it, the worst first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The name of what it is about.
    pub(crate) product: &'static str,
    pub(crate) installations: Vec<Installation>,
    pub(crate) findings: Vec<Finding>,
    /// What has to be set, with the names of the Helm chart and of the operator.
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Report {
    /// Whether clusters can be made, as far as is known.
    pub(crate) fn is_fine(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.level == Level::Note)
    }

    /// One line for each installation.
    pub(crate) fn titles(&self) -> Vec<String> {
        let titles = self.installations.iter();
        let titles = titles.map(|one| format!("{} {one}", self.product));
        match self.installations.as_slice() {
            [] => vec![format!("{}: none found", self.product)],
            _ => titles.collect(),
        }
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let finding = |one: &Finding| json!({"level": one.level.word(), "reason": one.reason, "message": one.message, "help": one.help});
        let installation = |one: &Installation| {
            let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            json!({
                "namespace": one.namespace,
                "version": known(&one.version),
                "installer": known(&one.installer),
                "healthy": one.healthy,
            })
        };
        let settings = self.settings.iter();
        let settings = settings.map(|(name, value)| json!({"name": name, "value": value}));
        json!({
            "fine": self.is_fine(),
            "installations": self.installations.iter().map(installation).collect::<Vec<_>>(),
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "settings": settings.collect::<Vec<_>>(),
        })
    }
}
