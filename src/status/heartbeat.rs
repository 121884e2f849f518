//! The sign of life of the daemon of a fleet: the renewals of its Lease.
//!
//! In: the Lease that the parent of the fleet names, as the cluster has it, and the time there. Out: whether a daemon serves the fleet,
//! or since when none does. It does not know who reads the Lease.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

/// The daemon of a fleet, or its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The parent names no Lease: no daemon has served the fleet, or only one of an older version.
    Unnamed,
    /// This process serves it.
    Alive(String),
    /// None does.
    Silent {
        /// The process that was the last; empty if it left in order.
        last: String,
        /// The time of its last sign of life; `None` if the Lease is gone.
        since: Option<Timestamp>,
    },
    /// A daemon is there and does not follow the Fleet object, and why.
    Idle(String),
    /// The Lease cannot be read, and why.
    Unseen(String),
}

/// Silence for so long is no change of pods, which takes seconds.
const GRACE: Duration = Duration::from_secs(60);
/// The time that a Lease lasts that does not say so.
const LAST: Duration = Duration::from_secs(15);

impl Heartbeat {
    /// Reads the Lease, at this time in the cluster. `None` is a Lease that does not exist.
    #[must_use]
    pub fn read(lease: Option<&Json>, now: Timestamp) -> Self {
        let Some(lease) = lease else {
            return Self::Silent {
                last: String::new(),
                since: None,
            };
        };
        let spec = &lease["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        let since = renewed(lease);
        let lasts = spec["leaseDurationSeconds"].as_u64();
        let lasts = lasts.map_or(LAST, Duration::from_secs);
        // A clock that is ahead makes it younger than nothing.
        let age = since.map(|since| Duration::try_from(now.duration_since(since)));
        let is_fresh = age.is_some_and(|age| age.unwrap_or_default() <= lasts);
        match is_fresh && !holder.is_empty() {
            true => Self::Alive(holder.to_owned()),
            false => Self::Silent {
                last: holder.to_owned(),
                since,
            },
        }
    }

    /// That of a fleet whose parent names no Lease, and perhaps since when that is so.
    #[must_use]
    pub fn unnamed(since: &str) -> Self {
        match since.parse() {
            Ok(since) => Self::Silent {
                last: String::new(),
                since: Some(since),
            },
            Err(_) => Self::Unnamed,
        }
    }

    /// The same for a Lease that the Fleet objects of a process share, and the object of the fleet; `None` if that does not exist.
    #[must_use]
    pub fn of_object(self, fleet: Option<&Json>) -> Self {
        if !matches!(self, Self::Alive(_)) {
            return self;
        }
        let Some(fleet) = fleet else {
            return Self::Idle("it was deleted".to_owned());
        };
        let conditions = fleet["status"]["conditions"].as_array();
        let find = |kind: &str| {
            let mut conditions = conditions.into_iter().flatten();
            conditions.find(|condition| condition["type"] == kind)
        };
        // A Fleet that is followed says whether its revision is applied.
        match (find("Stalled"), find("Applied")) {
            (Some(stalled), None) => {
                let why = stalled["message"].as_str().unwrap_or_default();
                Self::Idle(why.to_owned())
            }
            _ => self,
        }
    }

    /// Returns true if no daemon serves the fleet although one did, for longer than a change of pods takes.
    #[must_use]
    pub fn is_lost(&self, now: Timestamp) -> bool {
        let since = match self {
            Self::Idle(_) => return true,
            Self::Silent { since, .. } => since,
            _ => return false,
        };
        let age = since.map(|since| Duration::try_from(now.duration_since(since)));
        age.is_none_or(|age| age.unwrap_or_default() > GRACE)
    }

    /// The line for people; `None` if there is nothing to say.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        Some(match self {
            Self::Unnamed => return None,
            Self::Alive(holder) => format!("{holder} serves the fleet"),
            Self::Silent { last, since } => {
                let since = since.map_or_else(String::new, |since| {
                    format!(" since {}", whole_seconds(since))
                });
                let last = match last.as_str() {
                    "" => String::new(),
                    last => format!(" ({last} was the last)"),
                };
                format!(
                    "no daemon serves the fleet{since}{last}: commits are neither checked nor applied until one runs"
                )
            }
            Self::Idle(why) => {
                format!("no daemon serves the fleet, because of its Fleet object: {why}")
            }
            Self::Unseen(why) => {
                format!("it is not known whether a daemon serves the fleet: {why}")
            }
        })
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        match self {
            Self::Unnamed => Json::Null,
            Self::Alive(holder) => json!({"state": "Alive", "holder": holder}),
            Self::Silent { last, since } => {
                json!({"state": "Silent", "last": last, "since": since.map(whole_seconds)})
            }
            Self::Idle(why) => json!({"state": "Idle", "why": why}),
            Self::Unseen(why) => json!({"state": "Unknown", "why": why}),
        }
    }
}

fn whole_seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    whole.to_string()
}

/// The time of the last renewal: by the API server's clock where it notes that, else by the holder's.
fn renewed(lease: &Json) -> Option<Timestamp> {
    let read = |text: Option<&str>| text.and_then(|text| text.parse::<Timestamp>().ok());
    let written = lease["metadata"]["managedFields"].as_array();
    let written = written.into_iter().flatten();
    let written = written.filter_map(|entry| read(entry["time"].as_str()));
    written
        .max()
        .or_else(|| read(lease["spec"]["renewTime"].as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("a time")
    }

    fn lease(holder: &str, renewed: i64, noted: Option<i64>) -> Json {
        let noted = noted.map(|noted| json!([{"time": at(noted).to_string()}]));
        json!({"metadata": {"managedFields": noted}, "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": at(renewed).to_string()}})
    }

    #[test]
    fn a_lease_that_was_renewed_is_a_sign_of_life() {
        let alive = |lease: &Json, now: i64| {
            matches!(Heartbeat::read(Some(lease), at(now)), Heartbeat::Alive(_))
        };
        assert!(alive(&lease("a", 0, None), 15));
        assert!(!alive(&lease("a", 0, None), 16));
        assert!(!alive(&lease("", 0, None), 1), "it was released");
        // The holder's clock is an hour behind, or ahead.
        assert!(alive(&lease("a", -3600, Some(0)), 15));
        assert!(!alive(&lease("a", 3600, Some(0)), 16));
        assert!(alive(&lease("a", 3600, None), 16));
    }

    #[test]
    fn a_fleet_object_that_is_gone_or_not_followed_is_not_served() {
        let alive = || Heartbeat::Alive("pod".to_owned());
        assert!(alive().of_object(None).is_lost(at(0)));
        let fleet = |kinds: &[&str]| {
            let conditions = kinds.iter();
            let conditions: Vec<Json> = conditions
                .map(|kind| json!({"type": kind, "status": "True", "message": "correct it"}))
                .collect();
            json!({"status": {"conditions": conditions}})
        };
        let idle = alive().of_object(Some(&fleet(&["Ready", "Stalled"])));
        assert_eq!(idle, Heartbeat::Idle("correct it".to_owned()));
        for kinds in [&["Ready", "Applied", "Stalled"][..], &["Ready"], &[]] {
            assert_eq!(alive().of_object(Some(&fleet(kinds))), alive());
        }
        let silent = Heartbeat::Unnamed.of_object(None);
        assert_eq!(silent, Heartbeat::Unnamed);
    }

    #[test]
    fn silence_is_a_loss_once_it_is_longer_than_a_change_of_pods() {
        let lost =
            |lease: Option<&Json>, now: i64| Heartbeat::read(lease, at(now)).is_lost(at(now));
        assert!(!lost(Some(&lease("", 0, None)), 60));
        assert!(lost(Some(&lease("", 0, None)), 61));
        assert!(lost(None, 0));
        assert!(!Heartbeat::Unnamed.is_lost(at(0)));
        let text = Heartbeat::read(Some(&lease("pod", 0, None)), at(99)).text();
        let text = text.expect("something to say");
        assert!(
            text.contains("since 1970-01-12T13:46:40Z (pod was the last)"),
            "{text}"
        );
    }
}
