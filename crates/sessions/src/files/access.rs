//! Permissions to read a file: its uploader, its owner, and every agent that may read a message that names it.
//! Must not know: HTTP, or the content of a file.

use std::collections::BTreeMap;

use plenary_accounts::{Principal, Scope, TokenOwner};
use plenary_kernel::{AgentHandle, FileId, OwnerName, SessionId, Stamp, TimestampMs, Version};
use plenary_log::{Fault, Order};

use super::{
    SESSIONS_PER_FILE_MAX,
    room::{FILES, NAMED, NAMED_ELSEWHERE, Row, parse_naming},
};
use crate::{
    Sessions,
    command::Caller,
    room::{BY_AGENT, OFFERED},
};

impl Sessions {
    /// The file, if the caller may read it. Absent and denied files cost the same reads.
    pub(crate) async fn file_for(&self, reader: &TokenOwner, id: &FileId) -> Result<Option<Row>, Fault> {
        self.file_within(reader, None, id).await
    }

    /// The file, if the caller may read it with a scope. If the scope is limited to sessions, a message of one of them must name
    /// the file.
    async fn file_within(
        &self,
        reader: &TokenOwner,
        scope: Option<&Scope>,
        id: &FileId,
    ) -> Result<Option<Row>, Fault> {
        let rows = self.log().read_index(FILES, id.as_str(), None, 1, Order::Ascending).await?;
        let row = rows.first().filter(|row| row.key == id.as_str());
        let row: Option<Row> = row
            .map(|row| serde_json::from_slice(&row.value))
            .transpose()
            .map_err(|error| Fault::Corrupt(format!("{id} in {FILES}: {error}")))?;
        let mut namings = self.namings_in(NAMED, id).await?;
        let now = self.0.streams.clock().now().0;
        let row = row.filter(|row| now < row.until || !namings.is_empty());
        let limits = scope.and_then(|scope| scope.limits_in("sessions"));
        if let Some(limits) = &limits {
            namings.retain(|(session, _)| limits.contains(&session.as_str()));
        }
        let may_read = match reader {
            TokenOwner::Operator => false,
            TokenOwner::Owner(owner) => row.as_ref().is_some_and(|row| row.by.owner_name() == *owner),
            TokenOwner::Agent(agent)
                if limits.is_none() && row.as_ref().is_some_and(|row| row.by == *agent) =>
            {
                true
            }
            TokenOwner::Agent(agent) => {
                self.first_readable_session(agent, &namings).await?.is_some() && row.is_some()
            }
        };
        Ok(row.filter(|_| may_read))
    }

    /// The network that has a file, if an agent may read a message of one of its sessions that names the file. It must
    /// not be a file of this network, see [`Sessions::file_for`].
    pub(super) async fn peer_file_source(
        &self,
        reader: &TokenOwner,
        id: &FileId,
    ) -> Result<Option<(AgentHandle, OwnerName)>, Fault> {
        let TokenOwner::Agent(agent) = reader else { return Ok(None) };
        let namings = self.namings_in(NAMED_ELSEWHERE, id).await?;
        let Some(session) = self.first_readable_session(agent, &namings).await? else { return Ok(None) };
        let (state, _) = self.0.streams.fresh(session.as_str()).await?;
        Ok(state.host().map(|host| (agent.clone(), host.clone())))
    }

    /// Those of these files that an agent may read with its token.
    pub(crate) async fn readable_files(
        &self,
        caller: &Caller,
        files: &[FileId],
    ) -> Result<BTreeMap<FileId, Row>, Fault> {
        let mut readable_files = BTreeMap::new();
        if files.is_empty() {
            return Ok(readable_files);
        }
        let principal = Principal { who: TokenOwner::Agent(caller.handle.clone()), token: caller.token };
        let scope = self.0.accounts.scope_of(&principal).await?;
        for id in files {
            if let Some(row) = self.file_within(&principal.who, scope.as_ref(), id).await? {
                readable_files.insert(id.clone(), row);
            }
        }
        Ok(readable_files)
    }

    /// The sessions whose messages name a file, in order, each with the version of its first such message.
    async fn namings_in(&self, index: &'static str, id: &FileId) -> Result<Vec<(SessionId, Version)>, Fault> {
        let max = SESSIONS_PER_FILE_MAX as usize;
        let rows = self.log().read_index(index, &format!("{id}/"), None, max, Order::Ascending).await?;
        Ok(rows.iter().filter_map(|row| parse_naming(&row.key)).collect())
    }

    /// The first session of which an agent may read one of these messages.
    async fn first_readable_session(
        &self,
        agent: &AgentHandle,
        namings: &[(SessionId, Version)],
    ) -> Result<Option<SessionId>, Fault> {
        // No agent has this session: looking up a file that no message names costs the same as any other.
        let unused_id = SessionId::mint(&Stamp::new(TimestampMs(0), [0; 10]), 0);
        let ids: Vec<&str> = match namings {
            [] => vec![unused_id.as_str()],
            namings => namings.iter().map(|(id, _)| id.as_str()).collect(),
        };
        // In this order: an offer that is answered between the two reads moves to the second index.
        let mut own_ids = self.own_of(OFFERED, agent, &ids).await?;
        own_ids.extend(self.own_of(BY_AGENT, agent, &ids).await?);
        for (session, version) in namings.iter().filter(|(id, _)| own_ids.contains(id.as_str())) {
            let (state, _) = self.0.streams.fresh(session.as_str()).await?;
            let Some(participant) = state.participant(agent) else { continue };
            if participant.may_read(*version) || participant.has_inline(*version) {
                return Ok(Some(session.clone()));
            }
        }
        Ok(None)
    }
}
