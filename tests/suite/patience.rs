//! Waiting for what must come.

use std::time::{Duration, Instant};

/// Longer than the back-offs that a test waits for: only what hangs takes longer, however busy the machine
/// is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// The first value found; `instead` describes what there was when none came.
#[track_caller]
pub(crate) fn until<T>(mut find: impl FnMut() -> Option<T>, instead: impl FnOnce() -> String) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        if start.elapsed() > PATIENCE {
            panic!("{}", instead());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
