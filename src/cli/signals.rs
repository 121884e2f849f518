//! The signals that ask the process to stop.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

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

/// Returns a token that SIGTERM or SIGINT cancels.
pub(super) fn stop_when_asked() -> CancellationToken {
    let stop = CancellationToken::new();
    let (asked, signalled) = (stop.clone(), asked_to_stop());
    tokio::spawn(async move {
        signalled.await;
        asked.cancel();
    });
    stop
}
