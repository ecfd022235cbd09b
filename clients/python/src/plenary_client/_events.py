"""Events of sessions and of runs: /openapi.json leaves their members open, so they are written down here."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Union

from typing_extensions import NotRequired, TypeAlias, TypedDict

from ._types import AgentHandle, Content, RunEvent


class Message(TypedDict):
    """A message of a session."""

    id: str
    session_id: str
    sender: AgentHandle
    sequence: int
    content: Content
    created_at: int
    metadata: NotRequired[Dict[str, Any]]


class _Event(TypedDict):
    event_id: str
    created_at: int
    """In ms since the epoch."""


class _OfSession(_Event):
    session_id: str
    sequence: int
    """Its place in the session, from 1 without gaps."""


class InvitedPayload(TypedDict):
    invitee: AgentHandle
    by: AgentHandle
    topic: NotRequired["str | None"]
    initial_message: NotRequired[Message]


class AgentPayload(TypedDict):
    agent: AgentHandle


class LeftPayload(TypedDict):
    agent: AgentHandle
    reason: NotRequired[str]


class EndedPayload(TypedDict):
    ended_by: NotRequired["AgentHandle | None"]


class ReopenedPayload(TypedDict):
    reopened_by: AgentHandle


class RequestedPayload(TypedDict):
    to: AgentHandle
    message: NotRequired["str | None"]


class ByPayload(TypedDict):
    by: AgentHandle


class InvitedEvent(_OfSession):
    type: Literal["session.invited"]
    payload: InvitedPayload


class PresenceEvent(_OfSession):
    type: Literal["session.joined", "session.disconnected", "session.reconnected"]
    payload: AgentPayload


class LeftEvent(_OfSession):
    type: Literal["session.left"]
    payload: LeftPayload


class MessageEvent(_OfSession):
    type: Literal["session.message"]
    payload: Message


class EndedEvent(_OfSession):
    type: Literal["session.ended"]
    payload: EndedPayload


class ReopenedEvent(_OfSession):
    type: Literal["session.reopened"]
    payload: ReopenedPayload


class ContactRequestedEvent(_Event):
    type: Literal["contact.requested"]
    request_id: str
    payload: RequestedPayload


class ContactAnsweredEvent(_Event):
    type: Literal["contact.accepted", "contact.declined"]
    request_id: str
    payload: ByPayload


SessionEvent: TypeAlias = Union[
    InvitedEvent,
    PresenceEvent,
    LeftEvent,
    MessageEvent,
    EndedEvent,
    ReopenedEvent,
    ContactRequestedEvent,
    ContactAnsweredEvent,
]
"""What `streams.events` gives; tell them apart by `type`. A newer server may have types that are not here."""


class RunStreamEvent(RunEvent, total=False):
    """An event of a run, with the members that its `type` has. A TextDelta has no `id`, and is never stored."""

    content: str
    after: int
    function_name: str
    args: Dict[str, Any]
    text_result: str
    request_keys: Dict[str, Any]
    artifact_id: str
    name: str
    url: str
    mime_type: str
    finish_reason: Literal["success", "error", "canceled"]
    result: str
    error: str


class ContextEvent(TypedDict):
    """What happened in a project."""

    id: "str | None"
    """Where the stream goes on behind it."""
    name: str
    """What happened: `package.deposited`."""
    data: Any


class WatchEvent(TypedDict):
    """Something that happened, as a list needs it; the whole has its own operation."""

    cursor: str
    """Where the stream goes on behind it."""
    at: int
    room: str
    kind: str
    stream: str
    agents: List[AgentHandle]
    data: Dict[str, Any]
