//! The number of an agent's sessions, and whether it is connected.
//! Must not know: the caller.

use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Fault, Order};
use plenary_room::{Glancer, Glances, async_trait};

use crate::{Sessions, room::JOINED};

#[async_trait]
impl Glancer for Sessions {
    async fn glance(&self, glances: &mut Glances) -> Result<(), Fault> {
        for (handle, glance) in &mut glances.agents {
            let session_ids = self.ids(JOINED, handle, None, Order::Ascending, READ_ROWS_MAX).await?;
            glance.sessions_active = u64::try_from(session_ids.len()).unwrap_or(u64::MAX);
            glance.is_there |= self.0.presence.is_online(handle);
        }
        Ok(())
    }
}
