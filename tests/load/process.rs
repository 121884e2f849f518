//! What a program costs that is run.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What something took.
pub(super) struct Cost {
    pub(super) wall: Duration,
    /// CPU time, and peak memory in bytes; of programs only.
    pub(super) own: Option<(Duration, u64)>,
}

/// Runs `command` to its end, then `after`.
pub(super) fn timed(mut command: Command, after: impl Fn()) -> Cost {
    let start = Instant::now();
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = quiet.spawn().expect("it runs");
    let talk = child.stderr.take().expect("a pipe");
    let talk = std::thread::spawn(move || std::io::read_to_string(talk).unwrap_or_default());
    let mut own = (Duration::ZERO, 0);
    let status = loop {
        own = costs(&child).unwrap_or(own);
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let talk = talk.join().unwrap_or_default();
    assert!(status.success(), "{command:?}: {talk}");
    after();
    Cost {
        wall: start.elapsed(),
        own: Some(own),
    }
}

/// CPU time in hundredths of a second, and the peak of what is resident, as reported by Linux.
pub(super) fn costs(child: &Child) -> Option<(Duration, u64)> {
    let proc = format!("/proc/{}", child.id());
    let stat = std::fs::read_to_string(format!("{proc}/stat")).ok()?;
    // After the name, which may hold anything: state is the first, utime the twelfth field.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: u64 = fields
        .get(11..13)?
        .iter()
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    let (_, peak) = memory(child)?;
    Some((Duration::from_millis(ticks * 10), peak))
}

/// What is resident now, in bytes, and the peak of it.
pub(super) fn memory(child: &Child) -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}
