//! The signals that ask the process to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Listens for SIGTERM and SIGINT from now on. Returns the number of the first one; never, if the system does not report them.
pub(super) fn asked_to_stop() -> impl Future<Output = u8> {
    let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
    let listeners = (signal(terminate), signal(interrupt));
    async move {
        let (Ok(mut term), Ok(mut int)) = listeners else {
            return std::future::pending().await;
        };
        let which = tokio::select! {
            biased;
            _ = term.recv() => terminate,
            _ = int.recv() => interrupt,
        };
        u8::try_from(which.as_raw_value()).unwrap_or_default()
    }
}
