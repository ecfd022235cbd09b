//! Builds the rooms of a server on each other and on its store.
//! Must not know: background work, or the listener.

use std::sync::Arc;

use anyhow::Context as _;
use plenary_a2a::A2a;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_blobs::Blobs;
use plenary_channels::Channels;
use plenary_console::{Console, RoomReaders};
use plenary_context::{Context, Indexes};
use plenary_frames::Frames;
use plenary_hosts::connected::AttachState;
use plenary_hub::{Cursors, Presence};
use plenary_inbox::Inbox;
use plenary_issuers::{Issuer, Issuers};
use plenary_kernel::Clock;
use plenary_links::Links;
use plenary_log::Log;
use plenary_notify::Notify;
use plenary_oauth::OAuth;
use plenary_outward::{
    client_config,
    guard::{Guard, GuardedPool},
};
use plenary_participation::Participation;
use plenary_requests::Requests;
use plenary_retrieval::Index;
use plenary_room::{RoomDescription, ServedRoom, Tally};
use plenary_runs::Runs;
use plenary_search::Search;
use plenary_sessions::Sessions;
use plenary_sources::Sources;
use plenary_telemetry::Telemetry;

use super::{Settings, agents::Agents, clock};
use crate::secrets;

/// A room in the list: its description, its count of what owners store, and its instance among the rooms that were built.
pub(super) struct Entry {
    pub(super) about: fn() -> RoomDescription,
    tally: fn() -> Option<Tally>,
    served: fn(&BuiltRooms) -> Arc<dyn ServedRoom>,
}

/// Every room but the search and the inbox, in the order in which they are described, get events, resume and end.
/// Accounts come first: a room that reads an account again after an event must see the change.
const ROOMS: &[Entry] = &[
    Entry {
        about: Accounts::about,
        tally: Accounts::tally,
        served: |built| Arc::new(built.accounts.clone()),
    },
    Entry {
        about: Sessions::about,
        tally: Sessions::tally,
        served: |built| Arc::new(built.sessions.clone()),
    },
    Entry { about: Frames::about, tally: Frames::tally, served: |built| Arc::new(built.frames.clone()) },
    Entry {
        about: Channels::about,
        tally: Channels::tally,
        served: |built| Arc::new(built.channels.clone()),
    },
    Entry { about: Context::about, tally: Context::tally, served: |built| Arc::new(built.context.clone()) },
    Entry { about: Runs::about, tally: Runs::tally, served: |built| Arc::new(built.runs.clone()) },
    Entry {
        about: Requests::about,
        tally: Requests::tally,
        served: |built| Arc::new(built.requests.clone()),
    },
    Entry {
        about: AttachState::about,
        tally: AttachState::tally,
        served: |built| Arc::new(built.attach.clone()),
    },
    Entry { about: Notify::about, tally: Notify::tally, served: |built| Arc::new(built.notify.clone()) },
    Entry { about: Sources::about, tally: Sources::tally, served: |built| Arc::new(built.sources.clone()) },
    Entry { about: Console::about, tally: Console::tally, served: |built| Arc::new(built.console.clone()) },
    Entry { about: A2a::about, tally: A2a::tally, served: |built| Arc::new(built.a2a.clone()) },
    Entry { about: Links::about, tally: Links::tally, served: |built| Arc::new(built.links.clone()) },
    Entry { about: OAuth::about, tally: OAuth::tally, served: |built| Arc::new(built.oauth.clone()) },
    Entry {
        about: Participation::about,
        tally: Participation::tally,
        served: |built| Arc::new(built.participation.clone()),
    },
];

/// The descriptions of all rooms, before any is built.
pub(super) fn about() -> Vec<RoomDescription> {
    // The search and the inbox are views over the others. The inbox is last: every room has the events that it reports as
    // dispatched.
    ROOMS.iter().map(|entry| (entry.about)()).chain([Search::about(), Inbox::about()]).collect()
}

/// The count of what owners store in each room that has streams that count.
pub(super) fn tallies() -> Vec<Tally> {
    ROOMS.iter().filter_map(|entry| (entry.tally)()).chain(Search::tally()).chain(Inbox::tally()).collect()
}

/// The rooms after they are built.
struct BuiltRooms {
    accounts: Accounts,
    sessions: Sessions,
    frames: Frames,
    channels: Channels,
    context: Context,
    runs: Runs,
    requests: Requests,
    notify: Notify,
    attach: AttachState,
    sources: Sources,
    participation: Participation,
    console: Console,
    a2a: A2a,
    links: Links,
    oauth: OAuth,
}

/// The dependencies of the rooms.
pub(super) struct RoomInputs {
    pub(super) log: Log,
    pub(super) operator: TokenDigest,
    pub(super) indexes: Indexes,
    /// The index of everything except packages, if there is one.
    pub(super) everything: Option<Arc<dyn Index>>,
}

/// The rooms of a server, and what they share.
pub(super) struct Rooms {
    pub(super) log: Log,
    pub(super) accounts: Accounts,
    pub(super) runs: Runs,
    pub(super) console: Console,
    pub(super) a2a: A2a,
    pub(super) links: Links,
    pub(super) presence: Arc<Presence>,
    pub(super) cursors: Arc<Cursors>,
    /// Every room, the inbox last.
    pub(super) served: Vec<Arc<dyn ServedRoom>>,
}

impl Rooms {
    /// Builds the rooms; serves nothing yet.
    pub(super) async fn build(
        settings: &Settings,
        opening: RoomInputs,
        telemetry: &Telemetry,
    ) -> anyhow::Result<Self> {
        let RoomInputs { log, operator, indexes, everything } = opening;
        let semantic = indexes.semantic.clone();
        let clock = clock::ahead(settings.clock_ahead_s);
        let (accounts, issuers) = accounts(settings, (&log, &clock), operator).await?;
        let presence = Arc::new(Presence::default());
        accounts.set_presence(presence.clone());
        presence.begin(log.head().await.context("reading where the log stands")?);
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let blobs = blobs(settings)?;
        let (l, c, a) = (log.clone(), clock.clone(), accounts.clone());
        let sessions = Sessions::new(l, c, a, presence.clone(), cursors.clone(), settings.sessions())
            .with_files(blobs.clone());
        accounts.set_consequences(Arc::new(sessions.clone()));
        let frames =
            Frames::new(log.clone(), log.signals().clone(), clock.clone(), accounts.clone(), settings.frames);
        let spans = telemetry.spans();
        let channels = Channels::new(log.clone(), clock.clone(), accounts.clone(), spans, settings.channels);
        let (l, c, a, contents) = (log.clone(), clock.clone(), accounts.clone(), blobs.clone());
        let context = Context::new(l, c, a, indexes, contents, settings.context);
        let Agents { registry, quotas, parts, limits, part, hosted: _ } = settings.agents.clone();
        let (requests, notify) = people(settings, (&log, &clock, &accounts))?;
        let (l, c, a) = (log.clone(), clock.clone(), accounts.clone());
        let runs = Runs::new(l, c, a, cursors.clone(), blobs, (registry, quotas), telemetry.spans());
        let (carrying, attaching) = (settings.attaching.clone(), settings.attaching.clone());
        runs.set_enlisted_runners(limits, move |handle, introduction| carrying.runner(handle, introduction));
        let attach = AttachState { attaching, accounts: accounts.clone(), runs: runs.clone() };
        let (l, a, s, r) = (log.clone(), accounts.clone(), sessions.clone(), runs.clone());
        let participation = Participation::new(l, a, s.clone(), r.clone(), cursors.clone(), (parts, part));
        let sources = Sources::new(log.clone(), accounts.clone(), requests.clone(), (s, context.clone(), r));
        let built = BuiltRooms {
            console: Console::new(log.clone(), clock.clone(), accounts.clone(), issuers.clone()),
            a2a: A2a::new(log.clone(), clock.clone(), accounts.clone(), notify.clone(), settings.a2a.clone()),
            links: links(settings, (&log, &clock), (&accounts, &frames, &sessions))?,
            oauth: oauth(settings, &log, &accounts, issuers),
            accounts,
            sessions,
            frames,
            channels,
            context,
            runs,
            requests,
            notify,
            attach,
            sources,
            participation,
        };
        let mut served: Vec<Arc<dyn ServedRoom>> = ROOMS.iter().map(|entry| (entry.served)(&built)).collect();
        let BuiltRooms { accounts, sessions, frames, runs, console, a2a, links, .. } = built;
        let found_in: Vec<_> = served.iter().filter_map(|room| room.findable()).collect();
        let search = Search::new(log.clone(), accounts.clone(), everything, semantic, found_in.clone());
        sessions.set_words(Arc::new(search.words()));
        served.push(Arc::new(search));
        let sources = served.iter().filter_map(|room| room.news()).collect();
        let below = plenary_inbox::Rooms { accounts: accounts.clone(), sessions, frames, sources };
        let inbox = Inbox::new(log.clone(), clock, cursors.clone(), below);
        inbox.begin().await.context("reading where the log stands")?;
        inbox.provide_states();
        served.push(Arc::new(inbox));
        let tellers = served.iter().filter_map(|room| room.teller()).collect();
        let glancers = served.iter().filter_map(|room| room.glancer()).collect();
        let ephemeral = served.iter().filter_map(|room| room.ephemeral()).collect();
        let around = RoomReaders { tellers, ephemeral, glancers, findables: found_in };
        console.begin(around).await.context("reading where the log stands")?;
        Ok(Self { log, accounts, runs, console, a2a, links, presence, cursors, served })
    }
}

/// Builds the accounts and the issuers that authenticate people and programs.
async fn accounts(
    settings: &Settings,
    (log, clock): (&Log, &Arc<dyn Clock>),
    operator: TokenDigest,
) -> anyhow::Result<(Accounts, Issuers)> {
    let accounts = Accounts::new(log.clone(), clock.clone(), operator);
    accounts.set_searches_per_owner_max(settings.quota.searches_per_owner_max());
    accounts.begin().await.context("reading where the log stands")?;
    let issuers = issuers(settings)?;
    accounts.set_issuer_proofs(issuers.proofs());
    Ok((accounts, issuers))
}

/// Builds the requests to people and their notifications.
fn people(
    settings: &Settings,
    (log, clock, accounts): (&Log, &Arc<dyn Clock>, &Accounts),
) -> anyhow::Result<(Requests, Notify)> {
    let requests = Requests::new(log.clone(), clock.clone(), accounts.clone());
    let (l, c, a) = (log.clone(), clock.clone(), accounts.clone());
    let notify = Notify::new(l, c, a, requests.clone(), settings.notify.clone());
    Ok((requests, notify.context("[notify] in the configuration file")?))
}

/// Builds the links to other networks, and the paths of frames and sessions over them.
fn links(
    settings: &Settings,
    (log, clock): (&Log, &Arc<dyn Clock>),
    (accounts, frames, sessions): (&Accounts, &Frames, &Sessions),
) -> anyhow::Result<Links> {
    let rooms = (accounts.clone(), frames.clone(), sessions.clone());
    let links = Links::new(log.clone(), clock.clone(), rooms, &settings.links);
    let links = links.context("[links] in the configuration file")?;
    // Without a public URL, no other network can address this server.
    if settings.public_url.is_some() {
        frames.set_accords(Arc::new(links.clone()));
        sessions.set_carrier(Arc::new(links.clone()));
        accounts.set_peers(Arc::new(links.clone()));
    }
    Ok(links)
}

/// Builds the authorization server. Without certificate authorities it works, but fetches no client documents.
fn oauth(settings: &Settings, log: &Log, accounts: &Accounts, issuers: Issuers) -> OAuth {
    let private = settings.private_clients;
    let pool = match client_config(true, None, "with SSL_CERT_FILE") {
        Ok(tls) => Some(GuardedPool::new(Guard::new(private), tls)),
        Err(fault) => {
            tracing::warn!(%fault, "documents of OAuth clients are not fetched");
            None
        }
    };
    let oauth = OAuth::new(log.clone(), accounts.clone(), (pool, private), issuers);
    accounts.set_foreign_tokens(Arc::new(oauth.clone()));
    oauth
}

/// The external issuers, each with its own connections.
fn issuers(settings: &Settings) -> anyhow::Result<Issuers> {
    let built = settings.issuers.all.iter().map(|(issuer, ca_file)| {
        let is_secure = issuer.url.starts_with("https:") || ca_file.is_some();
        let tls = client_config(is_secure, ca_file.as_deref(), "with `ca_file` or SSL_CERT_FILE");
        let tls = tls.with_context(|| format!("[issuers.{}] in the configuration file", issuer.name))?;
        Ok(Issuer::new(issuer.clone(), GuardedPool::new(Guard::new(issuer.private_addresses), tls)))
    });
    let built: Vec<_> = built.collect::<anyhow::Result<_>>()?;
    Ok(Issuers::new(built, settings.issuers.authorization.as_deref()))
}

/// The storage of blobs, if there is any.
fn blobs(settings: &Settings) -> anyhow::Result<Option<Blobs>> {
    let opened = settings.blobs.as_ref().map(|location| {
        Blobs::open(location, secrets::variable)
            .with_context(|| format!("opening the place of blobs {location}"))
    });
    opened.transpose()
}
