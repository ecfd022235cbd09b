//! Which channels somebody is shown, newest first (CH-28; wire.md D.6).
//! Must not know: HTTP.

use plenary_accounts::{Authority, Who};
use plenary_log::{Fault, Order};

use crate::{
    Channels,
    caller::Asking,
    id::ChannelId,
    room::{EVERYBODY, LISTED, OPEN},
    state::owner_of,
    wire::Channel,
};

impl Channels {
    /// The channels that the caller's owner created or appended to; all of them for the operator, and where no token
    /// is needed for whoever has none.
    pub(crate) async fn list(
        &self,
        asking: &Asking,
        limit: usize,
        include_closed: bool,
    ) -> Result<Vec<Channel>, Fault> {
        let who = match &asking.principal {
            None => EVERYBODY.to_owned(),
            Some(principal) if principal.who == Who::Operator => EVERYBODY.to_owned(),
            Some(principal) => {
                let via = Authority::from(principal.clone()).by;
                owner_of(Some(&via)).map(|owner| owner.to_string()).unwrap_or_default()
            }
        };
        let index = if include_closed { LISTED } else { OPEN };
        let rows = self.log().read_index(index, &format!("{who}/"), None, limit, Order::Descending).await?;
        let mut channels = Vec::with_capacity(rows.len());
        for row in rows {
            let corrupt = || Fault::Corrupt(format!("{} in {index}", row.key));
            let id = row.key.rsplit('/').next().unwrap_or_default();
            let id: ChannelId = id.parse().map_err(|_| corrupt())?;
            let (state, _) = self.fresh(&id).await?;
            let channel = Channel::of(&asking.base_url, &id, &state).ok_or_else(corrupt)?;
            // It may have been closed meanwhile.
            if include_closed || channel.closed_at.is_none() {
                channels.push(channel);
            }
        }
        Ok(channels)
    }
}
