//! When planning the head of a fork has cost too much.
//!
//! In: what a process has used so far. Out: the limit that it met, if it met one. It does not know how a process is
//! watched or ended.

use std::time::Duration;

use crate::reporting::report::NotPlanned;
use crate::settings::ForkLimits;

/// The limit that a process met which has run for `elapsed` and holds `resident` bytes. Where the system does not say how
/// many it holds, time alone counts.
pub(super) fn exceeded(
    limits: &ForkLimits,
    elapsed: Duration,
    resident: Option<u64>,
) -> Option<NotPlanned> {
    if resident.is_some_and(|bytes| bytes > limits.memory) {
        return Some(NotPlanned::Memory(limits.memory));
    }
    (elapsed >= limits.time).then_some(NotPlanned::Time(limits.time))
}

/// The bytes of memory that a process holds, by its `/proc/<pid>/status`: those of files that it maps can be had back
/// and do not count where Linux tells them apart.
pub(super) fn resident(status: &str) -> Option<u64> {
    let field = |name: &str| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    field("RssAnon").or_else(|| field("VmRSS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ForkLimits = ForkLimits {
        time: Duration::from_secs(60),
        memory: 512 << 20,
    };

    #[test]
    fn a_process_may_use_its_limits_and_no_more() {
        let after = |seconds, mebibytes: Option<u64>| {
            let resident = mebibytes.map(|count| count << 20);
            exceeded(&LIMITS, Duration::from_secs(seconds), resident)
        };
        assert_eq!(after(59, Some(512)), None);
        assert_eq!(after(1, Some(513)), Some(NotPlanned::Memory(512 << 20)));
        assert_eq!(after(60, Some(1)), Some(NotPlanned::Time(LIMITS.time)));
        assert_eq!(after(59, None), None, "the system does not say");
        assert_eq!(after(60, None), Some(NotPlanned::Time(LIMITS.time)));
    }

    #[test]
    fn memory_is_read_as_linux_writes_it() {
        let status =
            "Name:\tcapstan\nVmRSS:\t   12044 kB\nRssAnon:\t    8080 kB\nRssFile:\t    3964 kB\n";
        assert_eq!(resident(status), Some(8080 * 1024));
        let old = "Name:\tcapstan\nVmRSS:\t   12044 kB\n";
        assert_eq!(resident(old), Some(12_044 * 1024));
        for none in [
            "",
            "VmRSS: many kB",
            "VmRSS: 99999999999999999999 kB",
            "Name:\tx",
        ] {
            assert_eq!(resident(none), None, "{none}");
        }
    }
}
