//! Commands between networks. A command of this network's agent on a peer's session is forwarded; a command of a peer's
//! agent on a session here is executed like any other.
//! Must not know: how requests reach the peer.

use plenary_accounts::TokenDigest;
use plenary_engine::{ExecuteError, Executed, KeyUse, quota_refusal};
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal, SessionId};
use plenary_log::Fault;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    FORWARDED_BYTES_MAX, Offer,
    copy::message_of,
    divergence::DIVERGED,
    names::Naming,
    wire::{CrossingAction, CrossingCommand, CrossingFile, CrossingOutcome},
};
use crate::{
    Sessions,
    command::{
        Acknowledgement as Okay, Caller, CreateSession, Draft, EndSession, EvictAgent, InviteAgents,
        JoinSession, LeaveSession, ReopenBody, ReopenSession, SendMessage, SettleInvitation,
    },
    decide::Rejection,
    event::{Origin, json_object, sequence, version},
    files::{named_too_often, unknown_file},
    request::digest,
    room::{CommandContext, OfAgent},
    state::SessionState,
};

/// A command that can be forwarded to a peer.
pub(crate) trait ForwardedCommand {
    /// Fills in the action's members. `None` for the creation of a session, which is never forwarded.
    fn fill(&self, command: &mut CrossingCommand) -> Option<()>;
}

fn message(draft: &Draft) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(json_object(&draft.members)).ok()?).ok()
}

fn with_draft(command: &mut CrossingCommand, draft: &Draft) -> Option<()> {
    command.message = Some(message(draft)?);
    command.hops = draft.origin.map(|origin| origin.hops);
    command.notice = draft.origin.is_some_and(|origin| origin.notice);
    Some(())
}

impl ForwardedCommand for CreateSession {
    fn fill(&self, _: &mut CrossingCommand) -> Option<()> {
        None
    }
}

impl ForwardedCommand for SendMessage {
    fn fill(&self, command: &mut CrossingCommand) -> Option<()> {
        command.action = CrossingAction::Send;
        with_draft(command, self.draft.as_ref().ok()?)
    }
}

impl ForwardedCommand for InviteAgents {
    fn fill(&self, command: &mut CrossingCommand) -> Option<()> {
        command.action = CrossingAction::Invite;
        command.invite = Some(self.invite.clone().ok()?);
        Some(())
    }
}

impl ForwardedCommand for ReopenSession {
    fn fill(&self, command: &mut CrossingCommand) -> Option<()> {
        let body = self.body.as_ref().ok()?;
        command.action = CrossingAction::Reopen;
        command.invite = body.invite.clone();
        body.initial_message.as_ref().map_or(Some(()), |draft| with_draft(command, draft))
    }
}

macro_rules! plain {
    ($command:ty, $action:ident) => {
        impl ForwardedCommand for $command {
            fn fill(&self, command: &mut CrossingCommand) -> Option<()> {
                command.action = CrossingAction::$action;
                Some(())
            }
        }
    };
}

plain!(JoinSession, Join);
plain!(LeaveSession, Leave);
plain!(EndSession, End);

/// A command without content. The name of the peer at the other side is filled in when it is sent.
fn command(peer: &OwnerName, id: &SessionId, agent: &AgentHandle, action: CrossingAction) -> CrossingCommand {
    CrossingCommand {
        you: peer.clone(),
        session_id: id.clone(),
        agent: agent.clone(),
        action,
        message: None,
        key: None,
        hops: None,
        notice: false,
        invite: None,
        blocker: None,
        sequence: None,
        files: Vec::new(),
        copied: None,
    }
}

/// The codes of rejections between networks.
const CODES: &[(&str, Rejection)] = &[
    ("not_found", Rejection::NotFound),
    ("not_joined", Rejection::NotJoined),
    ("invitation_held", Rejection::InvitationHeld),
    ("session_ended", Rejection::SessionEnded),
    ("session_active", Rejection::SessionActive),
    ("not_reopenable", Rejection::NotReopenable),
    ("session_full", Rejection::SessionFull),
    ("too_many_invitations", Rejection::TooManyInvitations),
    (DIVERGED, Rejection::CopyOver),
];
const KEY_REUSED: &str = "idempotency_key_reused";

/// A host's refusal of a message, or of what it names, by its code.
fn peer_refusal(code: &str) -> Option<Refusal> {
    Some(match code {
        "unknown_file" => unknown_file(),
        "file_named_too_often" => named_too_often(),
        "body_too_large" => Refusal::new(
            Class::TooLarge,
            "body_too_large",
            "The network of the session takes no file this large.",
        ),
        "quota_exceeded" => Refusal::new(
            Class::Forbidden,
            "quota_exceeded",
            "The network of the session stores no more for this one; its operator can allow more.",
        ),
        "too_many_uploads" => Refusal::new(
            Class::TooMany,
            "too_many_uploads",
            "The network of the session gets other files of this one; retry when it has them.",
        ),
        "not_implemented" => Refusal::new(
            Class::NotImplemented,
            "not_implemented",
            "The network of the session does not store files.",
        ),
        _ => return None,
    })
}

fn refusal_outcome(code: &'static str) -> CrossingOutcome {
    let reply = serde_json::Value::Null;
    CrossingOutcome { refused: Some(code.to_owned()), reply, replayed: false, sequence: 0 }
}

/// A peer's outcome, as if this network had decided.
fn local_result<T: DeserializeOwned>(
    outcome: CrossingOutcome,
) -> Result<Executed<T>, ExecuteError<Rejection>> {
    if let Some(code) = outcome.refused {
        if code == KEY_REUSED {
            return Err(ExecuteError::KeyReused);
        }
        let rejection =
            CODES.iter().find(|(listed, _)| *listed == code).map(|(_, rejection)| rejection.clone());
        let rejection = rejection.or_else(|| peer_refusal(&code).map(Rejection::Body));
        return Err(ExecuteError::Rejected(rejection.unwrap_or(Rejection::HostUnreachable)));
    }
    match serde_json::from_value(outcome.reply) {
        Ok(reply) => Ok(Executed { reply, replayed: outcome.replayed, position: None }),
        Err(_) => Err(ExecuteError::Rejected(Rejection::HostUnreachable)),
    }
}

impl CrossingOutcome {
    /// Translates the outcome into the names of this network.
    pub fn rename(&mut self, naming: &Naming) {
        if let Some(invited) = self.reply.get_mut("invited").and_then(serde_json::Value::as_array_mut) {
            let to_local = |name: &serde_json::Value| naming.local_name(&name.as_str()?.parse().ok()?);
            *invited = invited.iter().filter_map(to_local).map(|handle| handle.as_str().into()).collect();
        }
    }
}

impl Sessions {
    /// Forwards a command of an agent of this network to the host of the session.
    pub(crate) async fn forward<C: OfAgent + ForwardedCommand>(
        &self,
        (id, peer): (&SessionId, &OwnerName),
        request: &C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>>
    where
        C::Reply: DeserializeOwned,
    {
        let agent = &request.caller().handle;
        let mut command = command(peer, id, agent, CrossingAction::Join);
        request.fill(&mut command).ok_or(ExecuteError::Rejected(Rejection::HostUnreachable))?;
        if command.message.as_ref().is_some_and(|message| message.get().len() > FORWARDED_BYTES_MAX) {
            let text = format!("A message to another network has at most {FORWARDED_BYTES_MAX} bytes.");
            let refusal = Refusal::new(Class::TooLarge, "body_too_large", text);
            return Err(ExecuteError::Rejected(Rejection::Body(refusal)));
        }
        command.key = key.map(|key| key.key.clone());
        command.files = self.declare_files(peer, request.caller(), request.files()).await?;
        let outcome = if command.files.is_empty() {
            self.send_to_host(peer, id, command).await?
        } else {
            // A caller that does not wait for the transfer does not interrupt it: it repeats the message under its key.
            // It counts towards the owner's uploads, so that abandoned transfers have a limit.
            let share = self.upload_share(agent).map_err(|error| Rejection::Body(error.into()));
            let share = share.map_err(ExecuteError::Rejected)?;
            let (sessions, peer, id) = (self.clone(), peer.clone(), id.clone());
            let transfer = async move {
                let _share = share;
                sessions.send_to_host(&peer, &id, command).await
            };
            let outcome = tokio::spawn(transfer).await;
            outcome.map_err(|_| Fault::Unavailable("a transfer of files ended".into()))??
        };
        match outcome {
            Some(outcome) => local_result(outcome),
            None => Err(ExecuteError::Rejected(Rejection::HostUnreachable)),
        }
    }

    async fn send_to_host(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        mut command: CrossingCommand,
    ) -> Result<Option<CrossingOutcome>, Fault> {
        command.copied = self.copy_end(id).await?;
        let Some(carrier) = self.0.crossings.carrier() else { return Ok(None) };
        if !carrier.takes_part(peer, &command.agent.owner_name()).await?
            && command.action != CrossingAction::Evict
        {
            return Ok(None);
        }
        self.note_forwarded(id, &command).await?;
        carrier.forward(peer, id, command).await
    }

    /// Asks the networks of invitees whether they take the invitations, and records the answers. Returns whether all of
    /// them answered.
    pub(crate) async fn ask_peers<C: OfAgent>(
        &self,
        context: &mut CommandContext<C>,
        invitees: Vec<AgentHandle>,
    ) -> Result<bool, Fault> {
        let inviter = context.command.caller().handle.clone();
        let mut by_peer = std::collections::BTreeMap::<OwnerName, Vec<AgentHandle>>::new();
        for invitee in invitees {
            if let Some((_, peer)) = invitee.of_peer() {
                by_peer.entry(peer).or_default().push(invitee.clone());
            }
            context.consents.insert(invitee, None);
        }
        let Some(carrier) = self.0.crossings.carrier() else { return Ok(true) };
        let mut all_answered = true;
        for (peer, invitees) in by_peer {
            let is_caller_peer = inviter.of_peer().is_some_and(|(_, at)| at == peer)
                && context.caller_peer.as_ref() == Some(&peer);
            let takes_part = is_caller_peer
                || context.caller_peer.is_none() && carrier.takes_part(&peer, &inviter.owner_name()).await?;
            if takes_part && self.has_room_for(&peer, &context.id).await? {
                let offer = Offer { session: &context.id, inviter: &inviter, invitees: &invitees };
                let answer = carrier.offer(&peer, offer).await?;
                all_answered &= answer.is_some();
                for (invitee, consent) in answer.unwrap_or_default() {
                    context.consents.insert(invitee, Some(consent));
                }
            }
        }
        Ok(all_answered)
    }

    /// Tells the host that an agent has to leave: an agent of this network blocks it, or it is an agent of this network
    /// that was removed. Returns whether the host has decided; a refusal is a decision. If not, it is to be
    /// repeated.
    pub(crate) async fn evict_at_host(
        &self,
        (peer, id): (&OwnerName, &SessionId),
        agent: &AgentHandle,
        blocker: Option<&AgentHandle>,
    ) -> Result<bool, Fault> {
        let mut command = command(peer, id, agent, CrossingAction::Evict);
        command.blocker = blocker.cloned();
        Ok(self.send_to_host(peer, id, command).await?.is_some())
    }

    /// Forwards a person's decision about an invitation into a peer's session: the agent joins or leaves.
    pub(crate) async fn settle_at_host(
        &self,
        (peer, id): (&OwnerName, &SessionId),
        decision: &SettleInvitation,
    ) -> Result<(), Fault> {
        let action = if decision.accepted { CrossingAction::Accept } else { CrossingAction::Evict };
        let mut command = command(peer, id, &decision.agent, action);
        command.sequence = decision.accepted.then(|| sequence(decision.at));
        match self.send_to_host(peer, id, command).await? {
            Some(_) => Ok(()),
            None => Err(Fault::Unavailable("the network whose session it is did not answer".into())),
        }
    }

    /// Executes a command of a peer's agent on a session of this network.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn crossing_command(
        &self,
        peer: &OwnerName,
        command: CrossingCommand,
    ) -> Result<CrossingOutcome, Fault> {
        let naming = Naming { peer: peer.clone(), us: command.you.clone() };
        let id = command.session_id.clone();
        if let Some(copied) = &command.copied
            && self.has_diverged(peer, &id, copied).await?
        {
            return Ok(refusal_outcome(DIVERGED));
        }
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        let local_command = self.localize(&naming, &state, command);
        let mut outcome = match local_command {
            Some(local_command) => match self.execute_for_peer(peer, &id, local_command).await {
                Ok(outcome) => outcome,
                Err(ExecuteError::KeyReused) => refusal_outcome(KEY_REUSED),
                Err(ExecuteError::OverQuota(exceeded)) => refusal_outcome(quota_refusal(exceeded).code),
                Err(ExecuteError::Fault(fault)) => return Err(fault),
                Err(ExecuteError::Rejected(Rejection::Body(refusal))) => refusal_outcome(refusal.code),
                Err(ExecuteError::Rejected(rejection)) => {
                    let code = CODES.iter().find(|(_, listed)| *listed == rejection);
                    refusal_outcome(code.map_or("invalid", |(code, _)| code))
                }
            },
            None => refusal_outcome("not_found"),
        };
        if outcome.refused.is_none() {
            outcome.sequence = sequence(self.0.streams.fresh(id.as_str()).await?.1);
        }
        Ok(outcome)
    }

    /// Translates the command into the names of this network. Returns `None` if the peer may not speak for one of the names.
    fn localize(
        &self,
        naming: &Naming,
        state: &SessionState,
        command: CrossingCommand,
    ) -> Option<PeerCommand> {
        let is_of_peer = |handle: &AgentHandle| handle.of_peer().is_some_and(|(_, at)| at == naming.peer);
        let blocker = match &command.blocker {
            Some(blocker) if command.action == CrossingAction::Evict => Some(naming.local_name(blocker)?),
            Some(_) | None => None,
        };
        let agent = match &blocker {
            // Whoever is blocked may be of a third network, or be known to the peer by a stand-in.
            Some(_) => {
                let is_named = |own: &&AgentHandle| naming.name_there(own).as_ref() == Some(&command.agent);
                state.participants.keys().find(is_named)?.clone()
            }
            None => naming.local_name(&command.agent)?,
        };
        // Only an eviction has a blocker.
        let may_speak = is_of_peer(blocker.as_ref().unwrap_or(&agent));
        let invite = match &command.invite {
            Some(invite) => Some(naming.local_names(invite)?),
            None => None,
        };
        let is_within_limit = invite.as_ref().is_none_or(|invite| invite.len() <= crate::INVITE_MAX);
        let draft = match &command.message {
            Some(message) => Some(message_of(message.get())?),
            None => None,
        };
        let origin = command.hops.map(|hops| Origin { hops, notice: command.notice });
        let draft = draft.map(|draft| Draft { origin, ..draft });
        // Of the message as it was sent: the ids of its files here are new each time.
        let of_message = |key: String| {
            let scope = format!("send/{}/{agent}", command.session_id);
            let body = json_object(&draft.as_ref()?.members);
            Some(KeyUse { digest: digest(&scope, &body), scope, key })
        };
        let key = command.key.and_then(of_message);
        (may_speak && is_within_limit).then_some(PeerCommand {
            // Foreign agents have no token here: the accord is checked instead.
            caller: Caller { handle: agent, token: TokenDigest::of("") },
            action: command.action,
            invite,
            draft,
            files: command.files,
            key,
            blocker,
            at: command.sequence.map(version),
        })
    }

    /// Whether the agent that a peer speaks for is its guest in the session, not a local agent that already had such a
    /// name.
    async fn is_guest(
        &self,
        blocker: Option<&AgentHandle>,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.state(id.as_str()).await?;
        let participant = state.participant(blocker.unwrap_or(&caller.handle));
        Ok(state.host().is_none() && participant.is_some_and(|part| part.elsewhere))
    }

    async fn execute_for_peer(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        mut command: PeerCommand,
    ) -> Result<CrossingOutcome, ExecuteError<Rejection>> {
        let (caller, blocker) = (&command.caller, command.blocker.as_ref());
        if !self.takes_part(&caller.handle, id).await? || !self.is_guest(blocker, caller, id).await? {
            return Err(ExecuteError::Rejected(Rejection::NotFound));
        }
        let files = self.store_message_files(peer, id, &mut command).await?;
        let outcome = self.execute_localized(peer, id, command).await;
        let may_be_named = match &outcome {
            Ok(outcome) => !outcome.replayed,
            // It may be written.
            Err(ExecuteError::Fault(_)) => true,
            Err(_) => false,
        };
        if !may_be_named {
            self.discard_files(&files).await;
        }
        outcome
    }

    async fn execute_localized(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        command: PeerCommand,
    ) -> Result<CrossingOutcome, ExecuteError<Rejection>> {
        let PeerCommand { caller, action, invite, draft, files: _, key, blocker, at } = command;
        let not_found = || ExecuteError::Rejected(Rejection::NotFound);
        match action {
            CrossingAction::Join => encode_reply(&self.ask_for(peer, id, JoinSession(caller), None).await?),
            CrossingAction::Leave => encode_reply(&self.ask_for(peer, id, LeaveSession(caller), None).await?),
            CrossingAction::End => encode_reply(&self.ask_for(peer, id, EndSession(caller), None).await?),
            CrossingAction::Send => {
                let message = SendMessage { caller, draft: Ok(draft.ok_or_else(not_found)?) };
                encode_reply(&self.ask_for(peer, id, message, key.as_ref()).await?)
            }
            CrossingAction::Invite => {
                let invitation = InviteAgents { caller, invite: Ok(invite.ok_or_else(not_found)?) };
                encode_reply(&self.ask_for(peer, id, invitation, None).await?)
            }
            CrossingAction::Reopen => {
                let body = ReopenBody { invite, initial_message: draft };
                encode_reply(&self.ask_for(peer, id, ReopenSession { caller, body: Ok(body) }, None).await?)
            }
            CrossingAction::Accept => {
                let (state, _) = self.0.streams.state(id.as_str()).await?;
                let held_invitation = state.participant(&caller.handle).and_then(|part| part.held);
                match (held_invitation, at) {
                    (Some(held_invitation), Some(at)) if held_invitation == at => {
                        let decision = SettleInvitation { agent: caller.handle, at, accepted: true };
                        self.note_consent(id, &decision).await?;
                        self.note(id.as_str(), &decision).await?;
                        encode_reply(&ok())
                    }
                    _ => encode_reply(&self.ask_for(peer, id, JoinSession(caller), None).await?),
                }
            }
            CrossingAction::Evict => {
                let eviction = EvictAgent { agent: caller.handle, blocker };
                self.note(id.as_str(), &eviction).await?;
                encode_reply(&ok())
            }
        }
    }
}

/// A peer's command in the names of this network.
pub(super) struct PeerCommand {
    pub(super) caller: Caller,
    pub(super) action: CrossingAction,
    invite: Option<Vec<AgentHandle>>,
    pub(super) draft: Option<Draft>,
    /// The files of the message that the peer has.
    pub(super) files: Vec<CrossingFile>,
    pub(super) key: Option<KeyUse>,
    blocker: Option<AgentHandle>,
    at: Option<plenary_kernel::Version>,
}

fn ok() -> Executed<Okay> {
    Executed { reply: Okay { ok: true }, replayed: false, position: None }
}

fn encode_reply<T: Serialize>(execution: &Executed<T>) -> Result<CrossingOutcome, ExecuteError<Rejection>> {
    let reply = serde_json::to_value(&execution.reply)
        .map_err(|error| ExecuteError::Fault(Fault::Corrupt(error.to_string())))?;
    Ok(CrossingOutcome { refused: None, reply, replayed: execution.replayed, sequence: 0 })
}
