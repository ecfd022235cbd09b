//! The retained frames of a handle, read at once (FO-60).
//! Must not know: the purpose.

use std::time::Duration;

use plenary_client::frames::{FrameStream, ReceivedFrame, Signal, StreamOptions, Subscription};
use tokio::time::{Instant, timeout};

use super::seat::Speaker;
use crate::cli::failure::Failure;

/// Time limit for reading them all.
const ALL_MAX: Duration = Duration::from_secs(10);
/// Silence that ends the reading if no keepalive does.
const QUIET: Duration = Duration::from_millis(1_000);

/// The retained frames, oldest first.
pub(super) async fn recent(speaker: &Speaker, filter: Option<&str>) -> Result<Vec<ReceivedFrame>, Failure> {
    let filter = filter.map(str::to_owned);
    let seat = speaker.aside("look");
    let subscription = Subscription { filter, seat, retained: true, ..speaker.subscription() };
    let mut stream = speaker.client.frames(subscription, StreamOptions::default());
    read(&mut stream).await
}

async fn read(stream: &mut FrameStream) -> Result<Vec<ReceivedFrame>, Failure> {
    let mut frames = Vec::new();
    let mut is_open = false;
    let deadline = Instant::now() + ALL_MAX;
    while Instant::now() < deadline {
        let time_limit = if is_open { QUIET } else { ALL_MAX };
        match timeout(time_limit, stream.next()).await {
            Err(_) => break,
            Ok(signal) => match signal? {
                Signal::Opened => is_open = true,
                Signal::Frame(received) => frames.push(*received),
                // A keepalive after the retained frames: there are no more.
                Signal::Keepalive => break,
                Signal::Unreadable(_) => {}
                Signal::Lost { .. } => is_open = false,
            },
        }
    }
    Ok(frames)
}
