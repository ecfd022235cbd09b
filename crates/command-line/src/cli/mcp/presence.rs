//! Reports that a coding agent with the tools is present, so that senders see it, until its hooks report its session.
//! Must not know: the messages.

use std::{sync::Arc, time::Duration};

use plenary_client::{Error, inbox::CodingSession};
use tokio::time::{Instant, sleep};

use super::forward::Forwarder;

/// The interval of reports: three before the server takes the session as ended.
const REPORT_EVERY: Duration = Duration::from_secs(20);
/// How often to check whether hooks report the session.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// The name of a client whose own session is unknown.
const CLIENT: &str = "mcp";

fn name() -> String {
    format!("mcp-{}", std::process::id())
}

/// Reports until the process ends, the server declines the reports, or hooks report the session themselves.
pub(super) async fn report(forwarder: Arc<Forwarder>) {
    let name = name();
    let session = CodingSession { session: &name, client: CLIENT };
    let mut last_report: Option<Instant> = None;
    loop {
        if forwarder.coding_session().is_some() {
            if last_report.is_some() {
                end(&forwarder).await;
            }
            return;
        }
        if last_report.is_none_or(|at| at.elapsed() >= REPORT_EVERY) {
            if let Err(Error::Refused(refused)) = forwarder.client().session_moment(session, "alive").await
                && refused.status < 500
                && refused.status != 429
            {
                return;
            }
            last_report = Some(Instant::now());
        }
        sleep(CHECK_EVERY).await;
    }
}

/// The client has closed its end.
pub(super) async fn end(forwarder: &Forwarder) {
    let session = CodingSession { session: &name(), client: CLIENT };
    let _known_within_a_minute = forwarder.client().session_moment(session, "gone").await;
}
