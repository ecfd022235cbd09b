//! The overview: the agents of an owner, and today's activity.
//! Must not know: HTTP, or any room.

use plenary_kernel::{OwnerName, Position, TimestampMs};
use plenary_log::Fault;
use plenary_room::{Glance, Glances, Onlooker};

use crate::{
    Console,
    limits::{COUNTED_AT_ONCE_MAX, DAYS_STORED_MAX, OVERVIEW_AGENTS_MAX},
    wire::{AgentAtAGlance, AgentStanding, Counts, Overview, WaitingCount},
};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The counts of one day, for an owner or for the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Day {
    /// The start of the day, in ms since the epoch.
    since: u64,
    /// The events up to here are counted.
    counted_to: Position,
    messages: u64,
    runs: u64,
    runs_failed: u64,
}

impl Console {
    /// The overview of one owner, or of all.
    pub(crate) async fn overview(&self, owner: Option<&OwnerName>) -> Result<Overview, Fault> {
        let known = self.accounts().agents_of(owner, OVERVIEW_AGENTS_MAX + 1).await?;
        let more = known.len() > OVERVIEW_AGENTS_MAX;
        let known = &known[..known.len().min(OVERVIEW_AGENTS_MAX)];
        let agents = known.iter().map(|agent| (agent.handle.clone(), Glance::default())).collect();
        let mut glances = Glances { agents, ..Glances::default() };
        for glancer in self.glancers() {
            glancer.glance(&mut glances).await?;
        }
        let agents = known.iter().map(|agent| {
            let glance = glances.agents.remove(&agent.handle).unwrap_or_default();
            let display_name = agent.state.profile().display_name.clone();
            at_a_glance(agent.handle.clone(), agent.state.kind(), display_name, &glance)
        });
        let agents = agents.collect();
        let waiting =
            WaitingCount { count: glances.waiting, oldest_at: glances.waiting_since.map(|since| since.0) };
        Ok(Overview { agents, more, counts: self.counts(owner).await?, waiting })
    }

    /// The counts of today (UTC). One call counts a limited number of events; the next call continues.
    async fn counts(&self, owner: Option<&OwnerName>) -> Result<Counts, Fault> {
        let now = self.0.clock.now().0;
        let (since, handed) = (now - now % DAY_MS, self.handed());
        let key = owner.map(ToString::to_string).unwrap_or_default();
        let known = self.0.days.lock().get(&key).copied().filter(|day| day.since == since);
        let mut day = match known {
            Some(day) => day,
            None => Day {
                since,
                counted_to: self.first_since(TimestampMs(since), handed).await?,
                ..Day::default()
            },
        };
        let onlooker = owner.map(|owner| Onlooker::Owner(owner.clone()));
        let (mut size, mut remaining) = (plenary_log::PageSize::default(), COUNTED_AT_ONCE_MAX);
        while day.counted_to < handed && remaining > 0 {
            let (events, until) =
                self.log().read_past_damage(day.counted_to, size.events().min(remaining)).await?;
            size.learn(&events);
            for event in events.iter().filter(|event| event.position <= handed) {
                remaining = remaining.saturating_sub(1);
                day.counted_to = event.position;
                let Some(count) = day.count_of(&event.kind) else { continue };
                let Some(teller) = self.teller(&event.stream) else { continue };
                let Ok(Some(reported)) = teller.tell(event).await else { continue };
                let may_know = match &onlooker {
                    Some(onlooker) => {
                        (reported.audience)(onlooker) && teller.is_shown(event, onlooker).await?
                    }
                    None => true,
                };
                if may_know {
                    count(&mut day, &reported.data);
                }
            }
            if events.is_empty() && until <= day.counted_to {
                break;
            }
            day.counted_to = day.counted_to.max(until.min(handed));
        }
        let mut days = self.0.days.lock();
        if days.len() >= DAYS_STORED_MAX && !days.contains_key(&key) {
            // Any other owner's count makes room.
            if let Some(other) = days.keys().next().cloned() {
                days.remove(&other);
            }
        }
        days.insert(key, day);
        Ok(Counts {
            messages_today: day.messages,
            runs_today: day.runs,
            runs_failed_today: day.runs_failed,
            at_least: day.counted_to < handed,
        })
    }

    /// The position after which all events happened at or after `since`, by binary search. Times rise along the log, except for
    /// differences between clocks.
    async fn first_since(&self, since: TimestampMs, handed: Position) -> Result<Position, Fault> {
        let (mut low, mut high) = (0, handed.0);
        while low < high {
            let middle = low + (high - low) / 2;
            let (events, until) = self.log().read_past_damage(Position(middle), 1).await?;
            match events.first() {
                Some(event) if event.at < since => low = middle + 1,
                None if until.0 > middle => low = middle + 1,
                Some(_) | None => high = middle,
            }
        }
        Ok(Position(low))
    }
}

impl Day {
    /// How an event of this kind is counted; `None` if it is not.
    fn count_of(&self, kind: &str) -> Option<fn(&mut Self, &serde_json::Value)> {
        match kind {
            "MessageSent" => Some(|day, _| day.messages += 1),
            "RunQueued" => Some(|day, _| day.runs += 1),
            "RunCompleted" => {
                Some(|day, data| day.runs_failed += u64::from(data["finish_reason"] == "error"))
            }
            _ => None,
        }
    }
}

/// The state of an agent, and since when.
pub(crate) fn standing(glance: &Glance) -> (AgentStanding, Option<TimestampMs>) {
    match glance {
        Glance { waiting_since: Some(since), is_there: true, .. } => (AgentStanding::Waiting, Some(*since)),
        Glance { runs_waiting: 1.., .. } => (AgentStanding::Waiting, glance.runs_waiting_since),
        Glance { working_since: Some(since), .. } => (AgentStanding::Working, Some(*since)),
        Glance { is_there: true, .. } => (AgentStanding::Idle, glance.last_active_at),
        Glance { .. } => (AgentStanding::Gone, glance.last_active_at),
    }
}

fn at_a_glance(
    handle: plenary_kernel::AgentHandle,
    kind: plenary_accounts::AgentKind,
    display_name: Option<String>,
    glance: &Glance,
) -> AgentAtAGlance {
    let (state, since) = standing(glance);
    let [delivered, seen, acknowledged] = glance.reached;
    AgentAtAGlance {
        handle,
        kind,
        display_name,
        state,
        since: since.map(|since| since.0),
        unread: glance.unread,
        oldest_unread_at: glance.oldest_unread_at.map(|at| at.0),
        delivered_to: delivered.0,
        seen_to: seen.0,
        acknowledged_to: acknowledged.0,
        sessions_active: glance.sessions_active,
        runs_active: glance.runs_active,
        runs_waiting: glance.runs_waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_waits_since_its_first_run_does_and_not_since_the_last_event_of_another() {
        let mut glance = Glance::default();
        glance.run_waits(TimestampMs(70));
        glance.run_waits(TimestampMs(30));
        glance.record_activity(TimestampMs(500));
        assert_eq!(standing(&glance), (AgentStanding::Waiting, Some(TimestampMs(30))));
    }
}
