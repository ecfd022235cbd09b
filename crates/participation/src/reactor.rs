//! The reactor handles the events that concern agents, from its cursor on: sessions concurrently, each in its order.
//! Then it moves the cursor. The next process completes work that a crash interrupted; completed work is not repeated.
//! Must not know: how an event is handled.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{StreamExt as _, stream};
use plenary_accounts::Actor;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::{Fault, PageSize, StoredEvent};
use plenary_runs::Runs;
use plenary_sessions::{Sessions, event::SessionEvent, state::Phase};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{Participation, cursor::Cursor, limits::STREAMS_AT_ONCE};

/// Most events that are handled before the cursor moves.
const ROUND_EVENTS_MAX: usize = 256;
/// How often a process checks whether it is the reacting one.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The least time between two writes of the cursor.
const KEEP_EVERY: Duration = Duration::from_millis(500);
/// Events without concern for an agent after which the cursor is stored anyway, so that the next start need not read
/// them.
const KEEP_EVENTS: u64 = 1_000;
/// The pause after a fault.
const PAUSE: Duration = Duration::from_millis(200);

impl Participation {
    /// Handles every event that concerns an agent until the server stops. Retries after a fault.
    pub async fn react(&self, stop: CancellationToken) {
        let reacting = async {
            loop {
                if !self.0.runs.agents().all().is_empty()
                    && let Err(fault) = self.lead().await
                {
                    tracing::warn!(%fault, "the sessions of agents could not be processed; it is tried again");
                }
                sleep(LOOK_EVERY).await;
            }
        };
        stop.run_until_cancelled(reacting).await;
    }

    /// Handles events as long as this process is the reacting one.
    async fn lead(&self) -> Result<(), Fault> {
        let Some(mut cursor) = Cursor::take(&self.0.log, &self.0.cursors).await? else { return Ok(()) };
        let newcomers = cursor.newcomers(self.0.runs.agents().all().iter().map(|agent| &agent.handle));
        for handle in &newcomers {
            self.enter_all(handle).await?;
        }
        cursor.welcome(newcomers);
        let mut size = PageSize::default();
        let (mut stored, mut is_due) = ((None::<Instant>, cursor.position()), true);
        loop {
            let position = cursor.position();
            let recent_events = self.recent().after(position, ROUND_EVENTS_MAX);
            let (events, until) = match recent_events {
                Some(recent) => recent,
                None => {
                    let (page, until) = self.0.log.read_past_damage(position, size.events()).await?;
                    size.learn(&page);
                    self.look_up_seats(&page).await?;
                    let mut ours = Vec::new();
                    for event in page {
                        if self.concerns(&event).await {
                            ours.push(event);
                        }
                    }
                    (ours, until)
                }
            };
            is_due |= !events.is_empty() || until.0 - stored.1.0 >= KEEP_EVENTS;
            self.handle_all(events).await;
            cursor.reach(until);
            self.recent().forget(until);
            // After a start as soon as everything is handled, so that a further start need not read it.
            if is_due && stored.0.map_or(until == position, |at| at.elapsed() >= KEEP_EVERY) {
                if !cursor.store(&self.0.log).await? {
                    return Ok(());
                }
                (stored, is_due) = ((Some(Instant::now()), until), false);
            }
            if until == position {
                // Limits the cost of a lost wake-up.
                let _either = timeout(LOOK_EVERY, self.0.news.notified()).await;
            }
        }
    }

    /// Handles events: streams concurrently, the events of one stream in order.
    async fn handle_all(&self, events: Vec<StoredEvent>) {
        let mut streams: BTreeMap<_, Vec<StoredEvent>> = BTreeMap::new();
        for event in events {
            streams.entry(event.stream.clone()).or_default().push(event);
        }
        let seeing = stream::iter(streams.into_values()).map(|events| async move {
            for event in &events {
                self.handle_with_retries(event).await;
            }
        });
        seeing.buffer_unordered(STREAMS_AT_ONCE).collect::<()>().await;
    }

    /// Handles one event. Retries after a fault; skips an event that cannot be read.
    async fn handle_with_retries(&self, event: &StoredEvent) {
        loop {
            match self.handle(event).await {
                Ok(()) => return,
                Err(fault @ Fault::Corrupt(_)) => {
                    tracing::error!(%fault, at = %event.position, "an event cannot be processed and is skipped");
                    return;
                }
                Err(fault) => {
                    tracing::warn!(%fault, at = %event.position, "an event is not processed yet; it is tried again");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn handle(&self, event: &StoredEvent) -> Result<(), Fault> {
        match event.stream.category() {
            Sessions::CATEGORY => {
                let Ok(session) = event.stream.id().parse() else { return Ok(()) };
                match &*event.kind {
                    "AgentInvited" => self.invited(&session, event).await,
                    "AgentJoined" => self.released(&session, event).await,
                    "MessageSent" => self.handle_sent_message(&session, event).await,
                    _ => self.over(&session, event).await,
                }
            }
            Runs::CATEGORY => self.take_run_event(event).await,
            Runs::ENLISTED => match event.stream.id().parse() {
                Ok(handle) => self.enter_all(&handle).await,
                Err(_) => Ok(()),
            },
            Runs::SWITCHES => {
                let agent = self.0.runs.agents().get(event.stream.id());
                match agent {
                    Some(agent) => self.enter_all(&agent.handle).await,
                    None => Ok(()),
                }
            }
            _ => {
                let Ok(handle) = event.stream.id().parse::<AgentHandle>() else { return Ok(()) };
                match self.agent(&handle) {
                    Some(agent) => self.0.runs.cancel_agent(agent.name(), &Actor::Agent(handle)).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Handles the end of a session, or a participant's leaving: cancels the work of agents that are no longer in it.
    async fn over(&self, session: &SessionId, event: &StoredEvent) -> Result<(), Fault> {
        let (state, _) = self.0.sessions.stored_state(session).await?;
        match SessionEvent::decode(event)? {
            // Not if the session was reopened meanwhile.
            SessionEvent::SessionEnded(ended) if state.phase == Phase::Ended => {
                for agent in ended.joined.iter().filter_map(|handle| self.agent(handle)) {
                    self.leave(session, &agent).await?;
                }
                Ok(())
            }
            SessionEvent::AgentLeft(left) => match self.agent(&left.agent) {
                Some(agent) if !crate::room::is_in(&state, &left.agent) => self.leave(session, &agent).await,
                Some(_) | None => Ok(()),
            },
            SessionEvent::SessionEnded(_)
            | SessionEvent::SessionCreated(_)
            | SessionEvent::MessageSent(_)
            | SessionEvent::AgentInvited(_)
            | SessionEvent::AgentJoined(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::SessionReopened(_) => Ok(()),
        }
    }
}
