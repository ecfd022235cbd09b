//! The connection of one instance: frames out, frames in, pings, and its end.
//! Must not know: runs.

use axum::{
    Error,
    extract::ws::{Message, WebSocket},
};
use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use plenary_accounts::{Accounts, Principal, Watch};
use plenary_kernel::AgentHandle;
use plenary_room::close;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use super::{
    FRAME_BYTES_MAX, FRAMES_WAITING_MAX, KEEPALIVE_TIME, SILENCE_TIME, STALLED_TIME, instance::Instance,
    pool::InstancePool,
};
use crate::protocol::InvalidLines;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The instance disconnected.
    Gone,
    /// The server closes the connection, with this code and reason.
    Close(u16, &'static str),
}

const SHUTDOWN: End = End::Close(1001, "the server is restarting; attach again");
const REVOKED: End = End::Close(1008, "the token is no longer valid");
const DISMISSED: End = End::Close(1000, "the agent is no longer run by this server");
const SILENT: End = End::Close(1008, "no pong arrived in time");
const STALLED: End = End::Close(1013, "frames are not read; attach again");
const BINARY: End = End::Close(1003, "send one JSON object in each text frame");
const TOO_LONG: End = End::Close(1009, "the frame is too long");
const FAULT: End = End::Close(1011, "the token cannot be checked now; attach again");

/// Serves an instance until its connection ends.
pub(super) async fn attached(
    pool: &InstancePool,
    accounts: &Accounts,
    principal: &Principal,
    watch: &Watch<AgentHandle>,
    mut socket: WebSocket,
) {
    let (frames, outgoing) = mpsc::channel(FRAMES_WAITING_MAX);
    let instance = pool.attach(frames);
    tracing::info!(agent = %pool.handle, instance = instance.number, "an instance is attached");
    let end = {
        let (write, read) = (&mut socket).split();
        tokio::select! {
            end = read_frames(read, &instance, pool.handle.name()) => end,
            end = write_frames(write, outgoing) => end,
            end = allowed(accounts, principal, watch) => end,
            () = pool.closed() => DISMISSED,
        }
    };
    pool.detach(&instance, end == REVOKED);
    tracing::info!(agent = %pool.handle, instance = instance.number, ?end, "an instance is gone");
    if let End::Close(code, reason) = end {
        close(socket, code, reason).await;
    }
}

/// Reads frames until the connection ends.
pub(super) async fn read_frames(
    mut read: impl Stream<Item = Result<Message, Error>> + Unpin,
    instance: &Instance,
    agent: &str,
) -> End {
    let mut invalid_lines = InvalidLines::new(agent.into(), format!("instance {}", instance.number));
    loop {
        let Ok(message) = timeout(SILENCE_TIME, read.next()).await else { return SILENT };
        match message {
            Some(Ok(Message::Text(text))) if text.len() > FRAME_BYTES_MAX => return TOO_LONG,
            Some(Ok(Message::Text(text))) => instance.dispatch(text.as_bytes(), &mut invalid_lines).await,
            Some(Ok(Message::Binary(_))) => return BINARY,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Gone,
        }
    }
}

/// Writes frames and pings until a write fails.
pub(super) async fn write_frames(
    mut write: impl Sink<Message, Error = Error> + Unpin,
    mut outgoing: mpsc::Receiver<String>,
) -> End {
    let mut beat = interval_at(Instant::now() + KEEPALIVE_TIME, KEEPALIVE_TIME);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            Some(frame) = outgoing.recv() => Message::Text(frame.into()),
            _ = beat.tick() => Message::Ping(Bytes::new()),
        };
        match timeout(STALLED_TIME, write.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return End::Gone,
            Err(_) => return STALLED,
        }
    }
}

/// Waits until the token is no longer valid or the server stops.
async fn allowed(accounts: &Accounts, principal: &Principal, watch: &Watch<AgentHandle>) -> End {
    // Changes before the watch started produce no wake-up.
    let mut recheck = true;
    loop {
        let marks = watch.mailbox().take();
        if marks.closing.is_some() {
            return SHUTDOWN;
        }
        if recheck || marks.recheck {
            match accounts.is_valid(principal).await {
                Ok(true) => {}
                Ok(false) => return REVOKED,
                Err(fault) => {
                    tracing::warn!(%fault, "the token of an instance could not be checked");
                    return FAULT;
                }
            }
        }
        recheck = false;
        watch.mailbox().wait().await;
    }
}
