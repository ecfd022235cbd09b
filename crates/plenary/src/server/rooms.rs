//! The rooms of a server, built on each other and on its store.
//! Must not know: what goes on beside requests, or how it is served.

use std::sync::Arc;

use anyhow::Context as _;
use plenary_accounts::{Accounts, Hosted, TokenDigest};
use plenary_blobs::Blobs;
use plenary_channels::Channels;
use plenary_context::{Context, Indexes};
use plenary_engine::{Clock, SystemClock};
use plenary_frames::Frames;
use plenary_hosts::Attaching;
use plenary_hub::{Cursors, Presence};
use plenary_inbox::Inbox;
use plenary_log::Log;
use plenary_participation::Participation;
use plenary_runs::Runs;
use plenary_sessions::Sessions;
use plenary_telemetry::Telemetry;

use super::{Settings, agents::Agents};
use crate::secrets;

/// What the rooms share.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) log: Log,
    pub(crate) accounts: Accounts,
    pub(crate) sessions: Sessions,
    pub(crate) channels: Channels,
    pub(crate) frames: Frames,
    pub(crate) context: Context,
    pub(crate) runs: Runs,
    pub(crate) attaching: Attaching,
    pub(crate) participation: Participation,
    pub(crate) inbox: Inbox,
    pub(crate) presence: Arc<Presence>,
    pub(crate) cursors: Arc<Cursors>,
}

/// What they are built on.
pub(super) struct Opening {
    pub(super) log: Log,
    pub(super) operator: TokenDigest,
    pub(super) indexes: Indexes,
}

/// The rooms, and the agents whose accounts are to be there.
pub(super) struct Rooms {
    pub(super) parts: Parts,
    pub(super) hosted: Vec<Hosted>,
}

impl Rooms {
    /// Builds them; nothing is served yet.
    pub(super) async fn build(
        settings: &Settings,
        opening: Opening,
        telemetry: &Telemetry,
    ) -> anyhow::Result<Self> {
        let Opening { log, operator, indexes } = opening;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(log.clone(), clock.clone(), operator);
        accounts.begin().await.context("reading where the log stands")?;
        let presence = Arc::new(Presence::default());
        presence.begin(log.head().await.context("reading where the log stands")?);
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let sessions = Sessions::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            presence.clone(),
            cursors.clone(),
            settings.sessions(),
        );
        accounts.set_consequences(Arc::new(sessions.clone()));
        let frames =
            Frames::new(log.clone(), log.signals().clone(), clock.clone(), accounts.clone(), settings.frames);
        let spans = telemetry.spans();
        let channels = Channels::new(log.clone(), clock.clone(), accounts.clone(), spans, settings.channels);
        let blobs = blobs(settings)?;
        let (l, c, a, kept) = (log.clone(), clock.clone(), accounts.clone(), blobs.clone());
        let context = Context::new(l, c, a, indexes, kept, settings.context);
        let Agents { registry, quotas, hosted, parts: how, limits, part } = settings.agents.clone();
        let runs = Runs::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            cursors.clone(),
            blobs,
            (registry, quotas),
        );
        let attaching = settings.attaching.clone();
        let carrying = attaching.clone();
        runs.welcome(limits, move |handle, introduction| carrying.runner(handle, introduction));
        let (l, s, r) = (log.clone(), sessions.clone(), runs.clone());
        let participation = Participation::new(l, accounts.clone(), s, r, cursors.clone(), (how, part));
        let rooms = plenary_inbox::Rooms {
            accounts: accounts.clone(),
            sessions: sessions.clone(),
            channels: channels.clone(),
            context: context.clone(),
            frames: frames.clone(),
            runs: runs.clone(),
        };
        let inbox = Inbox::new(log.clone(), clock, cursors.clone(), rooms);
        inbox.begin().await.context("reading where the log stands")?;
        let parts = Parts {
            log,
            accounts,
            sessions,
            channels,
            frames,
            context,
            runs,
            attaching,
            participation,
            inbox,
            presence,
            cursors,
        };
        Ok(Self { parts, hosted })
    }
}

/// Where contents are kept, if anywhere.
fn blobs(settings: &Settings) -> anyhow::Result<Option<Blobs>> {
    let opened = settings.blobs.as_ref().map(|place| {
        Blobs::open(place, secrets::variable).with_context(|| format!("opening the place of blobs {place}"))
    });
    opened.transpose()
}
