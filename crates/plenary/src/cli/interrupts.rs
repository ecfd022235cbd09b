//! Ctrl-C and SIGTERM, as often as they come.
//! Must not know: what is interrupted.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;

/// Both signals; from when this is made they do not end the process.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    pub(crate) fn new() -> Result<Self, Failure> {
        let watch =
            |kind| signal(kind).map_err(|e| Failure::local(format!("signals cannot be watched: {e}")));
        Ok(Self { interrupt: watch(SignalKind::interrupt())?, terminate: watch(SignalKind::terminate())? })
    }

    /// Until the next one. May be dropped and called again.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
