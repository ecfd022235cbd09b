//! The retained frames of a handle, read at once (FO-60), also by a command that sends a frame afterwards.
//! Must not know: the purpose.

use std::time::Duration;

use plenary_client::{
    Signal, StreamOptions,
    frames::{FrameStream, ReceivedFrame, Seat, Subscription},
};
use tokio::time::{Instant, sleep, timeout};

use super::seat::Speaker;
use crate::cli::failure::Failure;

/// Time limit for reading them all.
const ALL_MAX: Duration = Duration::from_secs(10);
/// Silence that ends the reading if no keepalive does.
const QUIET: Duration = Duration::from_millis(1_000);
/// The tag of the session that reads.
const LOOK: &str = "look";
/// How long to wait until the server has noticed the end of a closed stream, and how often to look.
const LEAVE_MAX: Duration = Duration::from_secs(2);
const LEAVE_EVERY: Duration = Duration::from_millis(20);

/// The retained frames, oldest first.
pub(super) async fn recent(speaker: &Speaker, filter: Option<&str>) -> Result<Vec<ReceivedFrame>, Failure> {
    let filter = filter.map(str::to_owned);
    let seat = speaker.aside(LOOK);
    let subscription = Subscription { filter, seat, retained: true, ..speaker.subscription() };
    let mut stream = speaker.client.frames(subscription, StreamOptions::default());
    read(&mut stream).await
}

/// The same for a command that sends a frame afterwards: the server no longer counts the closed stream as a listener.
pub(super) async fn recent_before_sending(speaker: &Speaker) -> Result<Vec<ReceivedFrame>, Failure> {
    let frames = recent(speaker, None).await?;
    let look = speaker.aside(LOOK);
    let deadline = Instant::now() + LEAVE_MAX;
    while is_listed(speaker, &look).await && Instant::now() < deadline {
        sleep(LEAVE_EVERY).await;
    }
    Ok(frames)
}

/// Whether the server counts this session of the agent as a listener.
async fn is_listed(speaker: &Speaker, seat: &Seat) -> bool {
    let agent = speaker.agent.to_string();
    speaker.client.roster(&speaker.handle).await.is_ok_and(|roster| {
        roster.roster.iter().any(|member| {
            member.agent.as_deref() == Some(&*agent) && Some(&member.session_id) == seat.session_id.as_ref()
        })
    })
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
                Signal::Event(received) => frames.push(received),
                // A keepalive after the retained frames: there are no more.
                Signal::Keepalive => break,
                Signal::Unreadable(_) => {}
                Signal::Lost { .. } => is_open = false,
            },
        }
    }
    Ok(frames)
}
