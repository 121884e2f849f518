//! Who of several processes runs the controllers: the rule of client-go's leader election, on a Lease.
//!
//! In: the Lease as it was read, what became of writing it, and the time here. Out: the Lease to write, and
//! whether this process leads. Clocks of different machines are never compared: a Lease has expired when it was
//! not seen to change for as long as it lasts, by the clock here. It does not know who reads and writes.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// How long others leave a Lease alone that does not change.
pub(crate) const LAST: Duration = Duration::from_secs(15);
/// How long its holder goes on without having renewed it. What it began by then is over before the Lease is.
pub(crate) const RENEW: Duration = Duration::from_secs(10);
/// How often the holder renews it, and others look at it.
pub(crate) const RETRY: Duration = Duration::from_secs(2);

/// What to do about the Lease.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn {
    /// Make it.
    Create(Value),
    /// Write it over the one that was read.
    Replace(Value),
    /// It belongs to this holder.
    Wait(String),
}

/// The part of one process in the election.
#[derive(Debug)]
pub(crate) struct Election {
    /// The name of this process; no other has it.
    identity: String,
    /// The Lease's spec as it was last read, and since when it was so.
    seen: Option<(Value, Timestamp)>,
    /// When the last renewal that succeeded was begun.
    renewed: Option<Timestamp>,
}

impl Election {
    /// Of a process that has not looked yet.
    pub(crate) const fn new(identity: String) -> Self {
        Self {
            identity,
            seen: None,
            renewed: None,
        }
    }

    /// What to do now that the Lease was read; `None` if there is none.
    pub(crate) fn read(&mut self, lease: Option<&Value>, now: Timestamp) -> Turn {
        let Some(lease) = lease else {
            self.seen = None;
            return Turn::Create(self.spec(None, now));
        };
        let spec = &lease["spec"];
        let same = self.seen.as_ref().is_some_and(|(seen, _)| seen == spec);
        if !same {
            self.seen = Some((spec.clone(), now));
        }
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        let others = !holder.is_empty() && holder != self.identity;
        if others && now < later(since, lasts(spec)) {
            return Turn::Wait(holder.to_owned());
        }
        let mut lease = lease.clone();
        lease["spec"] = self.spec(Some(spec), now);
        Turn::Replace(lease)
    }

    /// The Lease is this one's since `begun`, when the request was sent that wrote it.
    pub(crate) const fn won(&mut self, begun: Timestamp) {
        self.renewed = Some(begun);
    }

    /// The Lease was given up, or somebody else has it.
    pub(crate) const fn lost(&mut self) {
        self.renewed = None;
    }

    /// Whether this process is the holder by the Lease itself.
    pub(crate) fn holds(&self, lease: &Value) -> bool {
        lease["spec"]["holderIdentity"] == *self.identity
    }

    /// Until when this process leads, unless it renews the Lease; `None` if it does not.
    pub(crate) fn leads_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.renewed.map(|renewed| later(renewed, RENEW));
        until.filter(|until| now < *until)
    }

    /// The same Lease, which nobody holds any more.
    pub(crate) fn released(lease: &Value, now: Timestamp) -> Value {
        let mut lease = lease.clone();
        let spec = &mut lease["spec"];
        spec["holderIdentity"] = json!("");
        spec["leaseDurationSeconds"] = json!(1);
        spec["renewTime"] = json!(micros(now));
        lease
    }

    fn spec(&self, old: Option<&Value>, now: Timestamp) -> Value {
        let old = old.cloned().unwrap_or_default();
        let ours = old["holderIdentity"] == *self.identity;
        let count = old["leaseTransitions"].as_i64();
        let acquired = old["acquireTime"].as_str().filter(|_| ours);
        json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": LAST.as_secs(),
            "acquireTime": acquired.map_or_else(|| micros(now), str::to_owned),
            "renewTime": micros(now),
            // The first holder is no change of holders.
            "leaseTransitions": count.map_or(0, |count| count + i64::from(!ours)),
        })
    }
}

/// How long a Lease lasts. Its holder may have other settings than this process.
fn lasts(spec: &Value) -> Duration {
    let seconds = spec["leaseDurationSeconds"].as_u64();
    seconds.map_or(LAST, Duration::from_secs)
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// As the API writes times with microseconds.
fn micros(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "cases are written in place")]
    #![allow(clippy::panic)]

    use super::*;

    fn at(second: i64) -> Timestamp {
        // Far from zero, as times are.
        Timestamp::from_second(1_000_000 + second).expect("a small number")
    }

    fn lease(spec: Value) -> Value {
        json!({"metadata": {"name": "l", "resourceVersion": "7"}, "spec": spec})
    }

    /// Held by `holder`, renewed at some time of its own clock.
    fn held(holder: &str, renewed: &str) -> Value {
        lease(
            json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed,
            "acquireTime": "a", "leaseTransitions": 3}),
        )
    }

    fn election() -> Election {
        Election::new("me".to_owned())
    }

    fn written(turn: Turn) -> Value {
        match turn {
            Turn::Create(spec) => spec,
            Turn::Replace(lease) => lease["spec"].clone(),
            Turn::Wait(holder) => json!(holder),
        }
    }

    #[test]
    fn a_lease_that_is_not_there_is_made() {
        let spec = written(election().read(None, at(0)));
        let time = "1970-01-12T13:46:40.000000Z";
        assert_eq!(
            spec,
            json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": time,
                "renewTime": time, "leaseTransitions": 0})
        );
    }

    #[test]
    fn a_lease_of_others_expires_15_seconds_after_it_was_last_seen_to_change() {
        let mut election = election();
        let mut read =
            |renewed: &str, second| election.read(Some(&held("other", renewed)), at(second));
        let waits = |turn| matches!(turn, Turn::Wait(holder) if holder == "other");
        // Its times say that it expired long ago; the clock here alone counts.
        assert!(waits(read("1999-01-01T00:00:00Z", 0)));
        assert!(waits(read("1999-01-01T00:00:00Z", 14)));
        assert!(waits(read("1999-01-01T00:00:02Z", 14)));
        assert!(waits(read("1999-01-01T00:00:02Z", 28)));
        let spec = written(read("1999-01-01T00:00:02Z", 29));
        assert_eq!(spec["holderIdentity"], "me");
        assert_eq!(spec["leaseTransitions"], 4);
        assert_ne!(spec["acquireTime"], "a");
    }

    #[test]
    fn a_lease_lasts_as_long_as_its_holder_says() {
        let mut election = election();
        let long = lease(json!({"holderIdentity": "other", "leaseDurationSeconds": 60}));
        election.read(Some(&long), at(0));
        assert!(matches!(election.read(Some(&long), at(59)), Turn::Wait(_)));
        assert!(matches!(
            election.read(Some(&long), at(60)),
            Turn::Replace(_)
        ));
    }

    #[test]
    fn what_nobody_holds_is_taken_at_once_and_in_place() {
        let mut election = election();
        let free = Election::released(&held("other", "r"), at(0));
        let Turn::Replace(taken) = election.read(Some(&free), at(1)) else {
            panic!("it is free");
        };
        assert_eq!(taken["metadata"]["resourceVersion"], "7");
        assert_eq!(taken["spec"]["holderIdentity"], "me");
        assert_eq!(taken["spec"]["leaseTransitions"], 4);
    }

    #[test]
    fn its_own_is_renewed_and_stays_the_same_term() {
        let spec = written(election().read(Some(&held("me", "r")), at(5)));
        assert_eq!(spec["acquireTime"], "a");
        assert_eq!(spec["leaseTransitions"], 3);
        assert_eq!(spec["renewTime"], micros(at(5)));
    }

    #[test]
    fn a_holder_leads_for_10_seconds_after_it_began_to_renew() {
        let mut election = election();
        assert_eq!(election.leads_until(at(0)), None);
        election.won(at(0));
        assert_eq!(election.leads_until(at(9)), Some(at(10)));
        assert_eq!(election.leads_until(at(10)), None);
        election.won(at(10));
        assert_eq!(election.leads_until(at(19)), Some(at(20)));
        election.lost();
        assert_eq!(election.leads_until(at(19)), None);
    }

    /// Whatever the clocks say and whenever answers come, two never lead at once.
    #[test]
    fn two_never_lead_at_once() {
        for (stop, skew) in [(3, 0), (8, -4000), (12, 4000)] {
            let mut processes = [Election::new("a".to_owned()), Election::new("b".to_owned())];
            let mut stored: Option<Value> = None;
            let mut led = Vec::new();
            for second in 0..60 {
                for (place, process) in processes.iter_mut().enumerate() {
                    // The first stops renewing for a while, as a process without a network does.
                    let away = place == 0 && (stop..stop + 30).contains(&second);
                    let now = at(second + if place == 0 { 0 } else { skew });
                    if !away && second % 2 == i64::try_from(place).unwrap_or(0) {
                        match process.read(stored.as_ref(), now) {
                            Turn::Create(spec) => {
                                stored = Some(lease(spec));
                                process.won(now);
                            }
                            Turn::Replace(lease) => {
                                stored = Some(lease);
                                process.won(now);
                            }
                            Turn::Wait(_) => process.lost(),
                        }
                    }
                }
                let leads = [0, 1].map(|place: usize| {
                    let now = at(second + if place == 0 { 0 } else { skew });
                    processes[place].leads_until(now).is_some()
                });
                assert_ne!(leads, [true, true], "second {second}");
                led.push(leads);
            }
            assert!(
                led.contains(&[true, false]) && led.contains(&[false, true]),
                "{stop}"
            );
        }
    }
}
