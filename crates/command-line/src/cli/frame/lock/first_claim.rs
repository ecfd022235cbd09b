//! Determines which claim was first: announces the claim, and reads the earlier ones from the stream. All listeners
//! see the claims of a handle in one order, so that two concurrent claimants agree on the first; nothing else
//! decides.
//! Must not know: the work under the claim.

use std::time::Duration;

use plenary_client::{
    Reply, Signal, StreamOptions,
    frames::{Change, FrameReceipt, FrameStream, Lease, Leases, ReceivedFrame, Subscription, now},
};
use tokio::time::{Instant, timeout_at};

use super::Claim;
use crate::cli::{
    failure::Failure,
    frame::{query::opened, render},
};

/// How long the claim may take to come back on the stream. It never does if the scope excludes this session.
const ECHO_MAX: Duration = Duration::from_secs(3);

/// An announced claim, and the claims of others.
pub(super) struct AnnouncedClaim {
    pub(super) reply: Reply<FrameReceipt>,
    stream: FrameStream,
    leases: Leases,
    /// Whether the claim arrived on the stream that this command opened.
    is_echoed: bool,
}

/// Announces the claim, warns of earlier claims, and waits for them if requested.
pub(super) async fn claim(claim: &Claim<'_>, wait: Option<Duration>) -> Result<AnnouncedClaim, Failure> {
    let seat = claim.speaker.aside("lock");
    let subscription = Subscription { seat, retained: true, ..claim.speaker.subscription() };
    let mut stream = claim.speaker.client.frames(subscription, StreamOptions::default());
    opened(claim.context, &mut stream).await?;
    let reply = claim.announce().await?;
    let mut announced = AnnouncedClaim { reply, stream, leases: Leases::default(), is_echoed: false };
    if let Err(failure) = announced.wait_for_echo(claim).await {
        claim.release().await;
        return Err(failure);
    }
    let ahead = announced.ahead(claim);
    if ahead.is_empty() {
        return Ok(announced);
    }
    for lease in &ahead {
        claim.note(&format!("claimed before: {}", render::lease(&claim.context.out, lease, now())));
    }
    match wait {
        None => claim.note("continuing, because a claim is advisory; to wait for it, use --wait TIME"),
        Some(time) => {
            claim.note("waiting until it is released or expires");
            announced.wait(claim, Instant::now() + time).await?;
            claim.note("it is free");
        }
    }
    Ok(announced)
}

impl AnnouncedClaim {
    /// Reads the stream up to this very claim.
    async fn wait_for_echo(&mut self, claim: &Claim<'_>) -> Result<(), Failure> {
        let until = Instant::now() + ECHO_MAX;
        while !self.is_echoed
            && let Ok(signal) = timeout_at(until, self.stream.next()).await
        {
            self.is_echoed = self.take(signal?).is_some_and(|change| is_of(&change, claim));
        }
        Ok(())
    }

    /// The number of sessions that the claim reached, not counting this command's own stream.
    pub(super) fn others(&self) -> u64 {
        self.reply.delivered_count.saturating_sub(u64::from(self.is_echoed))
    }

    fn take(&mut self, signal: Signal<ReceivedFrame>) -> Option<Change> {
        match signal {
            Signal::Event(received) => self.leases.take(&received),
            Signal::Opened | Signal::Keepalive | Signal::Unreadable(_) | Signal::Lost { .. } => None,
        }
    }

    fn ahead(&self, claim: &Claim<'_>) -> Vec<Lease> {
        let ahead = self.leases.ahead_of(&claim.speaker.handle, &claim.lease_id, &claim.resource, now());
        ahead.into_iter().cloned().collect()
    }

    /// Waits until no earlier claim remains; extends this claim meanwhile, so that it keeps its position.
    async fn wait(&mut self, claim: &Claim<'_>, until: Instant) -> Result<(), Failure> {
        let result = tokio::select! {
            result = self.free(claim, until) => result,
            () = claim.keep_extended() => Ok(()),
        };
        if result.is_err() {
            claim.release().await;
        }
        result
    }

    async fn free(&mut self, claim: &Claim<'_>, until: Instant) -> Result<(), Failure> {
        loop {
            let ahead = self.ahead(claim);
            let Some(next_end) = ahead.iter().map(|lease| lease.expires_at).min() else { return Ok(()) };
            if Instant::now() >= until {
                return Err(Failure::local_with(
                    format!("{} is still claimed by {}", claim.resource, render::holder(&ahead[0])),
                    "ask them with `plenary frame query`, wait longer with --wait, or continue without --wait",
                ));
            }
            let end = Instant::now() + Duration::from_millis(next_end.0.saturating_sub(now().0) + 1);
            if let Ok(signal) = timeout_at(end.min(until), self.stream.next()).await {
                self.take(signal?);
            }
        }
    }
}

fn is_of(change: &Change, claim: &Claim<'_>) -> bool {
    let (Change::Claimed(lease) | Change::Extended(lease) | Change::Released(lease)) = change;
    lease.lease_id == claim.lease_id && lease.holder == claim.speaker.handle
}
