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
    command::Caller,
    decide::Rejection,
    files::{ContentDeclaration, command::FileDeclaration, file_not_sent, name_of, store_refusal},
    refusals::SessionRefusal,
    request::rename_files,
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
    pub(super) async fn declare_files(
        &self,
        peer: &OwnerName,
        sender: &Caller,
        files: &[FileId],
    ) -> Result<Vec<CrossingFile>, Fault> {
        let mut declarations = Vec::new();
        let Some(carrier) = self.0.crossings.carrier() else { return Ok(declarations) };
        for (id, row) in self.readable_files(sender, files).await? {
            let Some(ticket) = carrier.ticket(peer, &sender.handle, &id).await? else { continue };
            declarations.push(CrossingFile {
                file_id: id,
                name: row.name,
                media_type: row.media_type,
                bytes: row.bytes,
                sha256: row.sha256,
                ticket,
            });
        }
        Ok(declarations)
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
        let content = self.contents()?.read(&name_of(file), &sha256, None).await;
        let content = content.map_err(|fault| store_refusal(&fault))?;
        Ok(content
            .map(|content| (content.bytes, content.stream.map_err(|fault| store_refusal(&fault)).boxed())))
    }

    /// Stores the files that a guest's network declares for a message, which then names them by their ids here. Returns
    /// these ids. Nothing is stored if the message would be refused anyway, or was accepted before.
    pub(super) async fn store_message_files(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        command: &mut PeerCommand,
    ) -> Result<Vec<FileId>, ExecuteError<Rejection>> {
        let carries_message = matches!(command.action, CrossingAction::Send | CrossingAction::Reopen);
        let Some(draft) = command.draft.as_ref().filter(|_| carries_message && !command.files.is_empty())
        else {
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
        let transfer = self.store_files(peer, &command.caller.handle, files, &mut names);
        let outcome = match timeout(FILES_BROUGHT_WITHIN, transfer).await {
            Ok(outcome) => outcome.map_err(Refusal::from),
            Err(_) => Err(file_not_sent()),
        };
        let draft = rename_files(draft, &names);
        let stored_ids: Vec<FileId> = names.into_values().collect();
        match outcome {
            Ok(()) => {
                command.draft = draft;
                Ok(stored_ids)
            }
            Err(refusal) => {
                self.discard_files(&stored_ids).await;
                Err(ExecuteError::Rejected(Rejection::Body(refusal)))
            }
        }
    }

    /// Stores files one by one, and notes the id of each.
    async fn store_files(
        &self,
        peer: &OwnerName,
        guest: &AgentHandle,
        files: impl Iterator<Item = &CrossingFile>,
        names: &mut BTreeMap<FileId, FileId>,
    ) -> Result<(), SessionRefusal> {
        let Some(carrier) = self.0.crossings.carrier() else { return Err(file_not_sent().into()) };
        for file in files {
            if names.contains_key(&file.file_id) {
                continue;
            }
            self.contents()?;
            let _share = self.upload_share(guest)?;
            let declaration = FileDeclaration::of_peer(&file.name, &file.media_type)?;
            let sha256 = file.sha256.parse().map_err(|_| file_not_sent())?;
            let expected = ContentDeclaration { bytes: file.bytes, sha256 };
            let content = carrier.content(peer, &file.ticket).await?.ok_or_else(file_not_sent)?;
            let id = self.store_peer_file(guest, (declaration, expected), content).await?;
            names.insert(file.file_id.clone(), id);
        }
        Ok(())
    }

    /// Removes files that no message came to name.
    pub(super) async fn discard_files(&self, files: &[FileId]) {
        for file in files {
            self.discard_upload(file).await;
        }
    }
}
