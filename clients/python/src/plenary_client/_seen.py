"""What was handed on already: a stream may repeat an event after a break, and never skips one."""

from __future__ import annotations

from collections import OrderedDict

from ._events import SessionEvent

SESSIONS_MAX = 10_000
"""Sessions remembered; past it the one first seen is forgotten, which can only let a repeat through."""
STRETCHES_MAX = 64
"""Separate stretches remembered in one session."""
IDS_MAX = 4_096
"""Ids remembered."""


class SeenIds:
    """The newest ids."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def is_new(self, identity: str) -> bool:
        if identity in self._ids:
            return False
        self._ids[identity] = None
        if len(self._ids) > IDS_MAX:
            self._ids.popitem(last=False)
        return True


class SeenEvents:
    """Events of sessions by `(session_id, sequence)`, the others by id.

    An invitee sees 2, and at its join 1 to 9: what is below the highest is not always old. So each session has
    stretches `[first, last]`, rising and never touching.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, list[list[int]]] = OrderedDict()
        self._ids = SeenIds()

    def is_new(self, event: SessionEvent) -> bool:
        session, sequence = event.get("session_id"), event.get("sequence")
        if not isinstance(session, str) or not isinstance(sequence, int):
            return self._ids.is_new(event["event_id"])
        stretches = self._sessions.setdefault(session, [])
        if len(self._sessions) > SESSIONS_MAX:
            self._sessions.popitem(last=False)
        at = 0
        for at, (first, last) in enumerate(stretches):
            if first <= sequence <= last:
                return False
            if sequence < first:
                break
        else:
            at = len(stretches)
        stretches.insert(at, [sequence, sequence])
        if at + 1 < len(stretches) and stretches[at + 1][0] == sequence + 1:
            stretches[at][1] = stretches.pop(at + 1)[1]
        if at > 0 and stretches[at - 1][1] == sequence - 1:
            stretches[at - 1][1] = stretches.pop(at)[1]
        if len(stretches) > STRETCHES_MAX:
            stretches.pop(0)
        return True
