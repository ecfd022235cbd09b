//! The active runs of agents, and those that wait for their caller.
//! Must not know: the caller.

use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Fault, Order};
use plenary_room::{Glancer, Glances, async_trait};

use crate::{Runs, registry::handle_of, room::BUSY, state::RunStatus};

/// Most threads that are read; beyond it runs are not counted.
const THREADS_MAX: usize = READ_ROWS_MAX;

#[async_trait]
impl Glancer for Runs {
    async fn glance(&self, at: &mut Glances) -> Result<(), Fault> {
        let rows = self.log().read_index(BUSY, "", None, THREADS_MAX, Order::Ascending).await?;
        for row in rows {
            let (state, _) = self.0.threads.observed(&row.key).await?;
            let (Some(opened), Some(run)) = (&state.opened, state.active()) else { continue };
            let agent = self.agents().get(&opened.agent).map(|agent| agent.gate().agent);
            let Some(agent) = agent.or_else(|| handle_of(&opened.agent)) else { continue };
            let Some(glance) = at.agents.get_mut(&agent) else { continue };
            glance.runs_active += 1;
            glance.record_activity(run.updated);
            if run.status == RunStatus::Waiting {
                // Its question is counted among the requests to people.
                glance.run_waits(run.updated);
            } else {
                glance.working_since = glance.working_since.or(Some(run.created));
            }
        }
        Ok(())
    }
}
