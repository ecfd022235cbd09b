//! The channels that a caller may see, newest first (CH-28; wire.md D.6).
//! Must not know: HTTP.

use plenary_log::{Fault, Order};

use crate::{
    Channels, LISTED_LOOKED_AT_MAX,
    caller::RequestCaller,
    id::ChannelId,
    lookup::AgentCache,
    room::{EVERYBODY, LISTED, OPEN},
    wire::Channel,
};

/// A page of channels.
pub(crate) struct ChannelList {
    pub(crate) channels: Vec<Channel>,
    /// The cursor of the next page, if there may be more.
    pub(crate) next: Option<String>,
}

impl Channels {
    /// The channels after a cursor that the caller's owner created or appended to and that the caller may use; for the operator all channels.
    /// For a caller without a token, if none is needed, the channels that were created without one.
    pub(crate) async fn list(
        &self,
        requester: &RequestCaller,
        limit: usize,
        include_closed: bool,
        cursor: Option<&str>,
    ) -> Result<ChannelList, Fault> {
        let list = requester.owner().map_or_else(|| EVERYBODY.to_owned(), |owner| owner.to_string());
        let prefix = format!("{list}/");
        let index = if include_closed { LISTED } else { OPEN };
        let (caller, mut seen) = (requester.caller(), AgentCache::default());
        let after = cursor.map(|cursor| format!("{prefix}{cursor}"));
        let (mut channels, mut after, mut looked_at) = (Vec::new(), after, 0);
        while channels.len() < limit && looked_at < LISTED_LOOKED_AT_MAX {
            let page_size = limit - channels.len();
            let rows =
                self.log().read_index(index, &prefix, after.as_deref(), page_size, Order::Descending).await?;
            looked_at += rows.len();
            for row in &rows {
                let corrupt = || Fault::Corrupt(format!("{} in {index}", row.key));
                let id = row.key.rsplit('/').next().unwrap_or_default();
                let id: ChannelId = id.parse().map_err(|_| corrupt())?;
                let state =
                    Fault::skip_corrupt(self.fresh(&id).await, "a list leaves out a damaged channel")?;
                let Some((state, _)) = state else { continue };
                let channel =
                    Channel::of(&requester.base_url, &id, &state, requester.may_write).ok_or_else(corrupt)?;
                let may_use = self.access_of(&state, &caller, &mut seen).await?.is_some();
                // The channel may have been closed since the index was read.
                if may_use && (include_closed || channel.closed_at.is_none()) {
                    channels.push(channel);
                }
            }
            match rows.last() {
                Some(last) if rows.len() == page_size => after = Some(last.key.clone()),
                _ => return Ok(ChannelList { channels, next: None }),
            }
        }
        let next = after.map(|key| key[prefix.len()..].to_owned());
        Ok(ChannelList { channels, next })
    }
}
