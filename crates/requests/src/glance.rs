//! The waiting requests to the people of some agents, and since when each agent waits for a person.
//! Must not know: the caller.

use std::collections::BTreeSet;

use plenary_kernel::{AskId, TimestampMs};
use plenary_log::{Fault, Order};
use plenary_room::{Glancer, Glances, async_trait};

use crate::{
    Requests,
    room::{EVERYBODY, WAITING, WAITING_OF},
};

/// Up to this number, owners are looked up one by one; for more, all requests are read once.
const OWNERS_MAX: usize = 16;

#[async_trait]
impl Glancer for Requests {
    async fn glance(&self, glances: &mut Glances) -> Result<(), Fault> {
        self.count_waiting(glances).await?;
        for (handle, glance) in glances.agents.iter_mut().filter(|(_, glance)| !glance.is_brief) {
            let prefix = format!("{handle}/");
            let rows = self.log().read_index(WAITING_OF, &prefix, None, 1, Order::Ascending).await?;
            // Ids sort by time: the first is the oldest.
            let oldest = rows.first().and_then(|row| row.key.strip_prefix(&prefix)?.parse::<AskId>().ok());
            glance.waiting_since = oldest.and_then(|id| id.minted_at());
        }
        Ok(())
    }
}

impl Requests {
    async fn count_waiting(&self, glances: &mut Glances) -> Result<(), Fault> {
        let owners: BTreeSet<String> = glances.agents.keys().map(|agent| agent.owner().to_owned()).collect();
        let lists = match owners.len() {
            0..=OWNERS_MAX => owners.iter().map(String::as_str).collect(),
            _ => vec![EVERYBODY],
        };
        let now = self.now();
        for list in lists {
            for (key, row) in self.rows(WAITING, &format!("{list}/"), Order::Ascending).await? {
                let is_snoozed = row.snoozed_until.is_some_and(|until| now < until);
                let created = key.split('/').next().and_then(|created| created.parse().ok());
                let is_requested = owners.contains(row.agent.owner());
                if let Some(created) = created.filter(|_| is_requested && !is_snoozed) {
                    glances.waits(TimestampMs(created));
                }
            }
        }
        Ok(())
    }
}
