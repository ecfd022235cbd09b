//! The caller, the agent and the protocol version of a request.
//! Must not know: the operation.

use http::{HeaderMap, HeaderValue, StatusCode, Uri, request::Parts};
use plenary_accounts::{Credentials, Principal, TokenOwner, Visibility, identify};
use plenary_edge::operations::Caller;
use plenary_kernel::AgentHandle;
use serde_json::Value;

use crate::{
    A2a, failure::Failure, repeats::MessageKeys, rooms::RoomClient, run_tasks::HostedAgent,
    session_tasks::SessionAgent,
};

/// The supported version.
pub(crate) const VERSION: &str = "1.0";
const LAST_EVENT_ID: &str = "last-event-id";
const VERSION_PARAMETER: &str = "a2a-version";

/// An agent as the caller sees it.
pub(crate) struct VisibleAgent {
    pub(crate) handle: AgentHandle,
    /// The descriptor of an agent that this server runs; null if it only participates in sessions.
    pub(crate) descriptor: Value,
    /// Its profile; null if it has no account.
    pub(crate) profile: Value,
}

/// The access of one caller to one agent.
pub(crate) struct AgentAccess {
    pub(crate) a2a: A2a,
    pub(crate) principal: Principal,
    pub(crate) rooms: RoomClient,
    pub(crate) seen: VisibleAgent,
    pub(crate) backend: Backend,
    /// The `Last-Event-ID` of the client.
    last_event: Option<HeaderValue>,
}

impl AgentAccess {
    /// The number of the last event that the client received of the stream that it resumes.
    pub(crate) fn resumed_after(&self) -> Result<Option<u64>, Failure> {
        let read = |id: &HeaderValue| id.to_str().ok()?.parse().ok();
        let number = self.last_event.as_ref().map(|id| read(id).ok_or(()));
        number.transpose().map_err(|()| Failure::params("`Last-Event-ID` is no id of such a stream."))
    }
}

/// The room that handles requests to the agent.
pub(crate) enum Backend {
    Runs(HostedAgent),
    Sessions(SessionAgent),
}

/// Section 3.6: a client without a version header uses 0.3.
pub(crate) fn version(headers: &HeaderMap, uri: &Uri) -> Result<(), Failure> {
    let header = headers.get(VERSION_PARAMETER).and_then(|value| value.to_str().ok());
    let parameter = || {
        let mut pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| name.eq_ignore_ascii_case(VERSION_PARAMETER)).map(|(_, value)| value)
    };
    let requested =
        header.or_else(parameter).map(str::trim).filter(|version| !version.is_empty()).unwrap_or("0.3");
    // The patch version does not change the protocol.
    let is_supported =
        requested == VERSION || requested.strip_prefix(VERSION).is_some_and(|rest| rest.starts_with('.'));
    if is_supported {
        Ok(())
    } else {
        Err(Failure::version(format!(
            "This agent speaks {VERSION}, not {requested:?}; say so in `A2A-Version`."
        )))
    }
}

/// Parses `@owner.name`, with or without the at sign.
pub(crate) fn handle(text: &str) -> Result<AgentHandle, Failure> {
    let name = text.strip_prefix('@').unwrap_or(text);
    format!("@{name}").parse().map_err(|_| Failure::agent_not_found())
}

impl A2a {
    /// The rooms on behalf of the sender of a request.
    pub(crate) fn rooms(&self, parts: &Parts) -> Result<RoomClient, Failure> {
        let operations = self.0.operations.read().clone().ok_or_else(Failure::stopping)?;
        Ok(RoomClient { operations, caller: Caller::of(parts) })
    }

    pub(crate) async fn principal(&self, parts: &Parts) -> Result<Principal, Failure> {
        Ok(identify(parts, &self.0.accounts, Credentials::Header).await?)
    }

    /// The agent of a path, if the caller may send requests to it.
    pub(crate) async fn access(&self, parts: &Parts, agent: &str) -> Result<AgentAccess, Failure> {
        let principal = self.principal(parts).await?;
        let rooms = self.rooms(parts)?;
        let seen = seen(&rooms, handle(agent)?).await?;
        let name = seen.handle.as_str().trim_start_matches('@').to_owned();
        let keys = MessageKeys::from_headers(&parts.headers)?;
        let backend = if seen.descriptor.is_null() {
            let me = match &principal.who {
                TokenOwner::Agent(me) => Some(me.clone()),
                TokenOwner::Owner(_) | TokenOwner::Operator => None,
            };
            let (wakeups, stop, handle) = (self.0.wakeups.clone(), self.0.stop.clone(), seen.handle.clone());
            Backend::Sessions(SessionAgent { wakeups, stop, rooms: rooms.clone(), keys, me, handle })
        } else {
            Backend::Runs(HostedAgent { rooms: rooms.clone(), keys, name })
        };
        let last_event = parts.headers.get(LAST_EVENT_ID).cloned();
        Ok(AgentAccess { a2a: self.clone(), principal, rooms, seen, backend, last_event })
    }

    /// A public agent; all others, including those that do not exist, get the error that a token is required.
    pub(crate) async fn shown(
        &self,
        parts: &Parts,
        agent: &str,
    ) -> Result<(RoomClient, VisibleAgent), Failure> {
        let handle = handle(agent).map_err(|_| Failure::no_token())?;
        let known = self.0.accounts.fresh_agent(&handle).await.map_err(|_| Failure::stopping())?;
        let profile = known.state.profile();
        if !known.state.is_live() || profile.visibility != Visibility::Public {
            return Err(Failure::no_token());
        }
        let profile =
            serde_json::json!({"display_name": profile.display_name, "description": profile.description});
        Ok((self.rooms(parts)?, VisibleAgent { handle, descriptor: Value::Null, profile }))
    }
}

/// An agent as the rooms show it to the caller.
async fn seen(rooms: &RoomClient, handle: AgentHandle) -> Result<VisibleAgent, Failure> {
    let name = handle.as_str().trim_start_matches('@').to_owned();
    let path = format!("/agents/{}/{}", handle.owner(), handle.name());
    let run = rooms.get(&format!("/agent/{name}/describe")).await;
    let shown = rooms.get(&path).await;
    let value = |answer: Result<crate::rooms::RoomReply, crate::rooms::RoomRefusal>| match answer {
        Ok(yes) => Ok(yes.value),
        Err(no) if no.status == StatusCode::NOT_FOUND => Ok(Value::Null),
        Err(no) => Err(Failure::from(no)),
    };
    let (descriptor, profile) = (value(run)?, value(shown)?["agent"].clone());
    if descriptor.is_null() && profile.is_null() {
        return Err(Failure::agent_not_found());
    }
    Ok(VisibleAgent { handle, descriptor, profile })
}
