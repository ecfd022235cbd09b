//! Reports that a coding agent with the tools is present, whether or not it runs hooks, so that senders see which.
//! Must not know: the messages.

use std::{sync::Arc, time::Duration};

use plenary_client::{Error, inbox::CodingSession};
use tokio::time::sleep;

use super::forward::Forwarder;

/// How often: three times before the server takes it for gone.
const TELL_EVERY: Duration = Duration::from_secs(20);
/// What the client is called whose own session nobody knows.
const CLIENT: &str = "mcp";

fn name() -> String {
    format!("mcp-{}", std::process::id())
}

/// Says so until the process ends, or the server does not want to know.
pub(super) async fn tell(forwarder: Arc<Forwarder>) {
    let name = name();
    loop {
        let session = CodingSession { session: &name, client: CLIENT };
        if let Err(Error::Refused(refused)) = forwarder.client.session_moment(session, "alive").await
            && refused.status < 500
            && refused.status != 429
        {
            return;
        }
        sleep(TELL_EVERY).await;
    }
}

/// The client has closed its end.
pub(super) async fn end(forwarder: &Forwarder) {
    let session = CodingSession { session: &name(), client: CLIENT };
    let _known_within_a_minute = forwarder.client.session_moment(session, "gone").await;
}
