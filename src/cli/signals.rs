//! The signals that ask the process to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT and returns its number; forever if the system does not report them.
pub(super) async fn asked_to_stop() -> u8 {
    let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
    let (Ok(mut term), Ok(mut int)) = (signal(terminate), signal(interrupt)) else {
        return std::future::pending().await;
    };
    let which = tokio::select! {
        biased;
        _ = term.recv() => terminate,
        _ = int.recv() => interrupt,
    };
    u8::try_from(which.as_raw_value()).unwrap_or_default()
}
