//! What the arguments of several commands have in common.

use std::time::Duration;

use clap::ValueEnum;

use crate::api::fleet::{FailurePolicy, Mode};
use crate::api::period::{NotAPeriod, Period};

/// The name of a fleet that is a directory without a Fleet document.
pub(super) const LOCAL: &str = "local";

/// A platform of definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DefinitionPlatform {
    /// ARO HCP
    #[default]
    #[value(name = "ARO")]
    Aro,
    /// HyperShift
    #[value(name = "HyperShift")]
    HyperShift,
    /// All, by the field `spec.platform`
    #[value(name = "Any")]
    Any,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DataFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// Another engine that applies what Capstan prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// Argo CD
    Argocd,
    /// Flux
    Flux,
}

/// When output is colored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always, for example through a pager
    Always,
    /// Never
    Never,
}

/// Whether the ARO controllers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum AroMode {
    /// Step back while CAPZ's controllers act
    #[default]
    Auto,
    /// Act, whatever CAPZ does
    On,
    /// Do not run
    Off,
}

impl From<AroMode> for Mode {
    fn from(mode: AroMode) -> Self {
        match mode {
            AroMode::Auto => Self::Auto,
            AroMode::On => Self::On,
            AroMode::Off => Self::Off,
        }
    }
}

/// What happens to a change that cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OnFailure {
    /// It is rejected
    #[default]
    #[value(name = "Fail", alias = "fail")]
    Fail,
    /// It is accepted, with a warning where that is possible
    #[value(name = "Ignore", alias = "ignore")]
    Ignore,
}

impl From<OnFailure> for FailurePolicy {
    fn from(policy: OnFailure) -> Self {
        match policy {
            OnFailure::Fail => Self::Fail,
            OnFailure::Ignore => Self::Ignore,
        }
    }
}

/// `90s`, `1m`, `2h30m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    text.parse()
        .map(|Period(duration)| duration)
        .map_err(|error: NotAPeriod| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        assert!(duration("5").is_err() && duration("-5s").is_err());
    }
}
