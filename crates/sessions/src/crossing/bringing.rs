//! The files of messages that cross. The network of the sender declares those that it has; the host of the session gets
//! their contents, and stores them like uploads of the guest, under ids of its own: an id of another network is a claim.
//! Must not know: how a content travels.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use plenary_accounts::TokenOwner;
use plenary_engine::ExecuteError;
use plenary_kernel::{AgentHandle, FileId, OwnerName, Refusal, SessionId};
use plenary_log::Fault;
use tokio::time::timeout;

use super::{
    FILES_BROUGHT_WITHIN,
    commands::PeerCommand,
    wire::{CrossingAction, CrossingFile},
};
use crate::{
    Sessions,
    decide::Rejection,
    files::{Declared, command::FileDeclaration, name_of, not_sent, of_place},
    refusals::SessionRefusal,
    request::renamed,
    state::{Phase, SessionState, Standing},
};

/// The content of a file, while it arrives or leaves.
pub type CrossingContent = BoxStream<'static, Result<Bytes, Refusal>>;

/// Whether a message of the agent could be accepted now.
fn may_speak(state: &SessionState, agent: &AgentHandle) -> bool {
    state.participant(agent).is_some_and(|part| match state.phase {
        Phase::Active => part.standing == Standing::Joined,
        Phase::Ended => part.may_reopen && !part.forced,
    })
}

impl Sessions {
    /// The files of a message that this network has and the sender may read, as the host of the session gets them.
    pub(super) async fn declared(
        &self,
        peer: &OwnerName,
        agent: &AgentHandle,
        files: &[FileId],
    ) -> Result<Vec<CrossingFile>, Fault> {
        let mut declared = Vec::new();
        let Some(carrier) = self.0.crossings.carrier() else { return Ok(declared) };
        for id in files {
            let Some(row) = self.file_for(&TokenOwner::Agent(agent.clone()), id).await? else { continue };
            let Some(ticket) = carrier.ticket(peer, agent, id).await? else { continue };
            declared.push(CrossingFile {
                file_id: id.clone(),
                name: row.name,
                media_type: row.media_type,
                bytes: row.bytes,
                sha256: row.sha256,
                ticket,
            });
        }
        Ok(declared)
    }

    /// The size and content of a file that an agent may read, for a peer with a ticket of this agent; `None` if there is
    /// none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn content_for(
        &self,
        agent: &AgentHandle,
        file: &FileId,
    ) -> Result<Option<(u64, CrossingContent)>, SessionRefusal> {
        let Some(row) = self.file_for(&TokenOwner::Agent(agent.clone()), file).await? else {
            return Ok(None);
        };
        let Ok(sha256) = row.sha256.parse() else { return Ok(None) };
        let found = self.contents()?.read(&name_of(file), &sha256, None).await;
        let found = found.map_err(|fault| of_place(&fault))?;
        Ok(found.map(|content| (content.bytes, content.stream.map_err(|fault| of_place(&fault)).boxed())))
    }

    /// Stores the files that a guest's network declares for a message, which then names them by their ids here. Returns
    /// these ids. Nothing is stored if the message would be refused anyway, or was accepted before.
    pub(super) async fn bring(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        command: &mut PeerCommand,
    ) -> Result<Vec<FileId>, ExecuteError<Rejection>> {
        let speaks = matches!(command.action, CrossingAction::Send | CrossingAction::Reopen);
        let Some(draft) = command.draft.as_ref().filter(|_| speaks && !command.files.is_empty()) else {
            return Ok(Vec::new());
        };
        let (state, _) = self.0.streams.state(id.as_str()).await?;
        let is_known = match &command.key {
            Some(key) => self.log().read_key(&key.scope, &key.key).await?.is_some(),
            None => false,
        };
        if is_known || !may_speak(&state, &command.caller.handle) {
            return Ok(Vec::new());
        }
        let mut names = BTreeMap::new();
        let files = command.files.iter().filter(|file| draft.files.contains(&file.file_id));
        let bringing = self.bring_all(peer, &command.caller.handle, files, &mut names);
        let brought = match timeout(FILES_BROUGHT_WITHIN, bringing).await {
            Ok(brought) => brought.map_err(Refusal::from),
            Err(_) => Err(not_sent()),
        };
        let draft = renamed(draft, &names);
        let here: Vec<FileId> = names.into_values().collect();
        match brought {
            Ok(()) => {
                command.draft = draft;
                Ok(here)
            }
            Err(refusal) => {
                self.give_back(&here).await;
                Err(ExecuteError::Rejected(Rejection::Body(refusal)))
            }
        }
    }

    /// Stores files one by one, and notes the id of each.
    async fn bring_all(
        &self,
        peer: &OwnerName,
        guest: &AgentHandle,
        files: impl Iterator<Item = &CrossingFile>,
        names: &mut BTreeMap<FileId, FileId>,
    ) -> Result<(), SessionRefusal> {
        let Some(carrier) = self.0.crossings.carrier() else { return Err(not_sent().into()) };
        for file in files {
            if names.contains_key(&file.file_id) {
                continue;
            }
            self.contents()?;
            let _share = self.upload_share(guest)?;
            let said = FileDeclaration::of_peer(&file.name, &file.media_type)?;
            let sha256 = file.sha256.parse().map_err(|_| not_sent())?;
            let declared = Declared { bytes: file.bytes, sha256 };
            let content = carrier.content(peer, &file.ticket).await?.ok_or_else(not_sent)?;
            let here = self.take_file(guest, (said, declared), content).await?;
            names.insert(file.file_id.clone(), here);
        }
        Ok(())
    }

    /// Removes files that no message came to name.
    pub(super) async fn give_back(&self, files: &[FileId]) {
        for file in files {
            self.give_up(file).await;
        }
    }
}
