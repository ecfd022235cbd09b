//! The rooms of a server, built on each other and on its store.
//! Must not know: what goes on beside requests, or how it is served.

use std::sync::Arc;

use anyhow::Context as _;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_blobs::Blobs;
use plenary_channels::Channels;
use plenary_context::{Context, Indexes};
use plenary_engine::SystemClock;
use plenary_frames::Frames;
use plenary_hosts::connected::Door;
use plenary_hub::{Cursors, Presence};
use plenary_inbox::Inbox;
use plenary_kernel::Clock;
use plenary_log::Log;
use plenary_participation::Participation;
use plenary_room::{About, ServedRoom};
use plenary_runs::Runs;
use plenary_sessions::Sessions;
use plenary_telemetry::Telemetry;

use super::{Settings, agents::Agents};
use crate::secrets;

/// One room of the list: what is said of it before it is built, and where it stands among those that were.
pub(super) struct Entry {
    /// What is said of it.
    pub(super) about: fn() -> About,
    served: fn(&Built) -> Arc<dyn ServedRoom>,
}

/// Every room but the inbox, in the order in which they are described, told of events, resumed and ended. Accounts come
/// first: whoever looks at an account again must see what has changed.
const ROOMS: &[Entry] = &[
    Entry { about: Accounts::about, served: |built| Arc::new(built.accounts.clone()) },
    Entry { about: Sessions::about, served: |built| Arc::new(built.sessions.clone()) },
    Entry { about: Frames::about, served: |built| Arc::new(built.frames.clone()) },
    Entry { about: Channels::about, served: |built| Arc::new(built.channels.clone()) },
    Entry { about: Context::about, served: |built| Arc::new(built.context.clone()) },
    Entry { about: Runs::about, served: |built| Arc::new(built.runs.clone()) },
    Entry { about: Door::about, served: |built| Arc::new(built.door.clone()) },
    Entry { about: Participation::about, served: |built| Arc::new(built.participation.clone()) },
];

/// What is said of every room before any is built.
pub(super) fn about() -> Vec<About> {
    // The inbox is a view over the others and comes last: what it says was handed out, every room has.
    ROOMS.iter().map(|entry| (entry.about)()).chain([Inbox::about()]).collect()
}

/// The rooms as they were built.
struct Built {
    accounts: Accounts,
    sessions: Sessions,
    frames: Frames,
    channels: Channels,
    context: Context,
    runs: Runs,
    door: Door,
    participation: Participation,
}

/// What they are built on.
pub(super) struct Opening {
    pub(super) log: Log,
    pub(super) operator: TokenDigest,
    pub(super) indexes: Indexes,
}

/// The rooms of a server, and what they share.
pub(super) struct Rooms {
    pub(super) log: Log,
    pub(super) accounts: Accounts,
    pub(super) runs: Runs,
    pub(super) presence: Arc<Presence>,
    pub(super) cursors: Arc<Cursors>,
    /// Every room, the inbox last.
    pub(super) served: Vec<Arc<dyn ServedRoom>>,
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
        accounts.set_presence(presence.clone());
        presence.begin(log.head().await.context("reading where the log stands")?);
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let blobs = blobs(settings)?;
        let sessions = Sessions::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            presence.clone(),
            cursors.clone(),
            settings.sessions(),
        )
        .with_files(blobs.clone());
        accounts.set_consequences(Arc::new(sessions.clone()));
        let frames =
            Frames::new(log.clone(), log.signals().clone(), clock.clone(), accounts.clone(), settings.frames);
        let spans = telemetry.spans();
        let channels = Channels::new(log.clone(), clock.clone(), accounts.clone(), spans, settings.channels);
        let (l, c, a, kept) = (log.clone(), clock.clone(), accounts.clone(), blobs.clone());
        let context = Context::new(l, c, a, indexes, kept, settings.context);
        let Agents { registry, quotas, parts: how, limits, part, hosted: _ } = settings.agents.clone();
        let runs = Runs::new(
            log.clone(),
            clock.clone(),
            accounts.clone(),
            cursors.clone(),
            blobs,
            (registry, quotas),
        );
        let carrying = settings.attaching.clone();
        runs.welcome(limits, move |handle, introduction| carrying.runner(handle, introduction));
        let door =
            Door { attaching: settings.attaching.clone(), accounts: accounts.clone(), runs: runs.clone() };
        let (l, s, r) = (log.clone(), sessions.clone(), runs.clone());
        let participation = Participation::new(l, accounts.clone(), s, r, cursors.clone(), (how, part));
        let built = Built { accounts, sessions, frames, channels, context, runs, door, participation };
        let mut served: Vec<Arc<dyn ServedRoom>> = ROOMS.iter().map(|entry| (entry.served)(&built)).collect();
        let Built { accounts, sessions, frames, runs, .. } = built;
        let sources = served.iter().filter_map(|room| room.news()).collect();
        let below = plenary_inbox::Rooms { accounts: accounts.clone(), sessions, frames, sources };
        let inbox = Inbox::new(log.clone(), clock, cursors.clone(), below);
        inbox.begin().await.context("reading where the log stands")?;
        served.push(Arc::new(inbox));
        Ok(Self { log, accounts, runs, presence, cursors, served })
    }
}

/// Where contents are kept, if anywhere.
fn blobs(settings: &Settings) -> anyhow::Result<Option<Blobs>> {
    let opened = settings.blobs.as_ref().map(|place| {
        Blobs::open(place, secrets::variable).with_context(|| format!("opening the place of blobs {place}"))
    });
    opened.transpose()
}
