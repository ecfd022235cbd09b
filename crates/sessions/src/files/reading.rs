//! Permissions to read a file: its uploader, its owner, and every agent that may read a message that names it.
//! Must not know: HTTP, or the content of a file.

use std::collections::BTreeSet;

use plenary_accounts::TokenOwner;
use plenary_kernel::{AgentHandle, FileId, OwnerName, SessionId, Stamp, TimestampMs, Version};
use plenary_log::{Fault, Order};

use super::{
    SESSIONS_PER_FILE_MAX,
    room::{FILES, NAMED, NAMED_ELSEWHERE, Row, named_at},
};
use crate::{
    Sessions,
    room::{BY_AGENT, OFFERED},
};

impl Sessions {
    /// The file, if the caller may read it. Absent and denied files cost the same reads.
    pub(crate) async fn file_for(&self, who: &TokenOwner, id: &FileId) -> Result<Option<Row>, Fault> {
        let rows = self.log().read_index(FILES, id.as_str(), None, 1, Order::Ascending).await?;
        let row = rows.first().filter(|row| row.key == id.as_str());
        let row: Option<Row> = row
            .map(|row| serde_json::from_slice(&row.value))
            .transpose()
            .map_err(|error| Fault::Corrupt(format!("{id} in {FILES}: {error}")))?;
        let named = self.named_in(NAMED, id).await?;
        let now = self.0.streams.clock().now().0;
        let row = row.filter(|row| now < row.until || !named.is_empty());
        let may_read = match who {
            TokenOwner::Operator => false,
            TokenOwner::Owner(owner) => row.as_ref().is_some_and(|row| row.by.owner_name() == *owner),
            TokenOwner::Agent(me) if row.as_ref().is_some_and(|row| row.by == *me) => true,
            TokenOwner::Agent(me) => self.seen_of(me, &named).await?.is_some() && row.is_some(),
        };
        Ok(row.filter(|_| may_read))
    }

    /// The network that has a file, if an agent may read a message of one of its sessions that names the file. It must
    /// not be a file of this network, see [`Sessions::file_for`].
    pub(super) async fn file_elsewhere(
        &self,
        who: &TokenOwner,
        id: &FileId,
    ) -> Result<Option<(AgentHandle, OwnerName)>, Fault> {
        let TokenOwner::Agent(me) = who else { return Ok(None) };
        let named = self.named_in(NAMED_ELSEWHERE, id).await?;
        let Some(session) = self.seen_of(me, &named).await? else { return Ok(None) };
        let (state, _) = self.0.streams.fresh(session.as_str()).await?;
        Ok(state.host().map(|host| (me.clone(), host.clone())))
    }

    /// Those of these files that an agent may read.
    pub(crate) async fn readable(
        &self,
        me: &AgentHandle,
        files: &[FileId],
    ) -> Result<BTreeSet<FileId>, Fault> {
        let mut readable = BTreeSet::new();
        for id in files {
            if self.file_for(&TokenOwner::Agent(me.clone()), id).await?.is_some() {
                readable.insert(id.clone());
            }
        }
        Ok(readable)
    }

    /// The sessions whose messages name a file, in order, and where the first such message of each stands.
    async fn named_in(&self, index: &'static str, id: &FileId) -> Result<Vec<(SessionId, Version)>, Fault> {
        let max = SESSIONS_PER_FILE_MAX as usize;
        let rows = self.log().read_index(index, &format!("{id}/"), None, max, Order::Ascending).await?;
        Ok(rows.iter().filter_map(|row| named_at(&row.key)).collect())
    }

    /// The first session of which an agent may read one of these messages.
    async fn seen_of(
        &self,
        me: &AgentHandle,
        named: &[(SessionId, Version)],
    ) -> Result<Option<SessionId>, Fault> {
        // Nobody has this session: a file that no message names is looked for like one that another's does.
        let nowhere = SessionId::mint(&Stamp::new(TimestampMs(0), [0; 10]), 0);
        let ids: Vec<&str> = match named {
            [] => vec![nowhere.as_str()],
            named => named.iter().map(|(id, _)| id.as_str()).collect(),
        };
        // In this order: an offer that is answered between the two reads moves to the second index.
        let mut own = self.own_of(OFFERED, me, &ids).await?;
        own.extend(self.own_of(BY_AGENT, me, &ids).await?);
        for (session, version) in named.iter().filter(|(id, _)| own.contains(id.as_str())) {
            let (state, _) = self.0.streams.fresh(session.as_str()).await?;
            let Some(participant) = state.participant(me) else { continue };
            if participant.may_read(*version) || participant.has_inline(*version) {
                return Ok(Some(session.clone()));
            }
        }
        Ok(None)
    }
}
