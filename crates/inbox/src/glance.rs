//! The unread items of an agent, and the activity of its coding agents.
//! Must not know: the caller.

use plenary_accounts::Attention;
use plenary_kernel::TimestampMs;
use plenary_log::Fault;
use plenary_room::{AttentionGlance, CodingGlance, Glancer, Glances, async_trait};

use crate::{Inbox, inbox_read::InboxQuery, kind::Kind};

/// A coding agent without hooks counts as working for this long after an event, in milliseconds.
const WORKING_MS: u64 = 60_000;

/// The current attention, if it holds items back.
fn current_period(attention: Option<Attention>, now: TimestampMs) -> Option<AttentionGlance> {
    let period = attention.filter(|period| period.is_running(now))?;
    Some(AttentionGlance { level: period.level.as_str(), until: period.until })
}

#[async_trait]
impl Glancer for Inbox {
    async fn glance(&self, at: &mut Glances) -> Result<(), Fault> {
        let now = self.0.clock.now();
        for (handle, glance) in &mut at.agents {
            if !glance.is_brief {
                let query = InboxQuery::of_all(1);
                let page = self.page(handle, &query).await?;
                glance.unread = page.unread;
                glance.oldest_unread_at = page.items.first().map(|item| item.composed_at);
            }
            let attention = self.0.rooms.accounts.agent(handle).await?.state.attention();
            glance.attention = current_period(attention, now);
            let marks = self.settled_marks(handle).await?;
            let reached = [&marks.delivered, &marks.seen, &marks.acknowledged];
            glance.reached = reached.map(|positions| positions.of(Kind::SessionMessage).0);
            for coding in marks.handovers.sessions() {
                glance.record_activity(coding.last_sign);
                glance.is_there |= coding.is_live(now);
                if !coding.is_live(now) {
                    continue;
                }
                let works = coding.is_working(now);
                // The events of an agent with hooks report the beginning and end of a turn.
                let is_recent = !coding.hooks && now.0.abs_diff(coding.worked.0) < WORKING_MS;
                if works || is_recent {
                    glance.working_since = Some(glance.working_since.unwrap_or(coding.worked));
                }
                glance.coding.push(CodingGlance {
                    session: coding.session.clone(),
                    client: coding.client.clone(),
                    works,
                    hooks: coding.hooks,
                    since: coding.worked,
                    attention: current_period(coding.attention, now),
                });
            }
        }
        Ok(())
    }
}
