//! The presence list: each agent that the caller can contact, its activity, and the sessions of the caller's own
//! coding agents.
//! Must not know: HTTP, or any room.

use std::cmp::Reverse;

use plenary_accounts::{KnownAgent, reached_by};
use plenary_log::Fault;
use plenary_room::{CodingGlance, Glance, Glances};

use crate::{
    Console,
    overview::standing,
    wire::{AgentStanding, CodingAtAGlance, WhoIsThere},
};

impl Console {
    /// The entries of a page, as `me` may see them.
    pub(crate) async fn who(&self, me: &KnownAgent, page: &[KnownAgent]) -> Result<Vec<WhoIsThere>, Fault> {
        let is_own = |known: &KnownAgent| known.handle.owner() == me.handle.owner();
        let glance = |known: &KnownAgent| Glance { is_brief: !is_own(known), ..Glance::default() };
        let agents = page.iter().map(|known| (known.handle.clone(), glance(known))).collect();
        let mut glances = Glances { agents, ..Glances::default() };
        for glancer in self.glancers() {
            glancer.glance(&mut glances).await?;
        }
        let seen = page.iter().map(|known| {
            let glance = glances.agents.remove(&known.handle).unwrap_or_default();
            let (state, since) = standing(&glance);
            let is_brief = glance.is_brief;
            let sessions = if is_brief { Vec::new() } else { sessions(&glance) };
            WhoIsThere {
                handle: known.handle.clone(),
                kind: known.state.kind(),
                trust: (known.handle != me.handle).then(|| reached_by(me, known)),
                state,
                since: since.map(|since| since.0),
                unread: (!is_brief).then_some(glance.unread),
                oldest_unread_at: glance.oldest_unread_at.map(|at| at.0),
                sessions,
                attention: glance.attention.map(|attention| attention.level),
                attention_until: glance.attention.and_then(|attention| attention.until).map(|until| until.0),
            }
        });
        Ok(seen.collect())
    }
}

/// The live sessions of coding agents, the most recently used first.
fn sessions(glance: &Glance) -> Vec<CodingAtAGlance> {
    let working = glance.coding.iter().filter(|coding| coding.works).count();
    // A request does not name its coding session, so if several sessions work, none is shown as waiting.
    let is_asking = glance.waiting_since.is_some() && working == 1;
    let state = |coding: &CodingGlance| match coding.works {
        true if is_asking => AgentStanding::Waiting,
        true => AgentStanding::Working,
        false => AgentStanding::Idle,
    };
    let mut coding: Vec<&CodingGlance> = glance.coding.iter().collect();
    coding.sort_by_key(|coding| Reverse(coding.since));
    let seen = coding.into_iter().map(|coding| CodingAtAGlance {
        session: coding.session.clone(),
        client: coding.client.clone(),
        state: state(coding),
        hooks: coding.hooks,
        since: coding.since.0,
        attention: coding.attention.map(|attention| attention.level),
        attention_until: coding.attention.and_then(|attention| attention.until).map(|until| until.0),
    });
    seen.collect()
}
