"""The parts of streams: server-sent events out of pieces, and the memory of what was handed on."""

from __future__ import annotations

import random
from typing import Any, cast

from plenary_client._events import SessionEvent
from plenary_client._seen import IDS_MAX, SESSIONS_MAX, STRETCHES_MAX, SeenEvents, SeenIds
from plenary_client._sse import EventParser, ServerEvent

STREAM = ": hello\n\nretry: 1\nid: 6\n\nid: 7\ndata: {\"a\":\ndata:1}\n\nevent: x\r\nid: ü\r\ndata: y\r\n\r\ndata: w\r\n\ndata: z\r\rid: 9\ndata: cut".encode()
EVENTS = [
    ServerEvent("6", "message", ""),
    ServerEvent("7", "message", '{"a":\n1}'),
    ServerEvent("ü", "x", "y"),
    ServerEvent(None, "message", "w"),
    ServerEvent(None, "message", "z"),
]


def test_events_are_the_same_however_the_bytes_come() -> None:
    for size in range(1, len(STREAM) + 1):
        parser = EventParser()
        found = []
        for at in range(0, len(STREAM), size):
            found += parser.feed(STREAM[at : at + size])
        assert found == EVENTS, size


def event(session: str, sequence: int) -> SessionEvent:
    made: Any = {"session_id": session, "sequence": sequence, "event_id": f"{session}{sequence}"}
    return cast(SessionEvent, made)


def test_stretches_behave_as_a_set() -> None:
    seen, known = SeenEvents(), set()
    draw = random.Random(7)
    for _ in range(3_000):
        sequence = draw.randrange(1, 100)
        assert seen.is_new(event("sess_A", sequence)) == (sequence not in known)
        known.add(sequence)
    assert seen._sessions["sess_A"] == [[1, 99]]


def test_memory_is_bounded() -> None:
    seen, ids = SeenEvents(), SeenIds()
    for n in range(SESSIONS_MAX + 10):
        assert seen.is_new(event(f"sess_{n}", 1))
    assert len(seen._sessions) == SESSIONS_MAX
    for n in range(200):
        seen.is_new(event("sess_HOLES", n * 2))
    assert len(seen._sessions["sess_HOLES"]) == STRETCHES_MAX
    for n in range(IDS_MAX + 10):
        assert ids.is_new(str(n))
    assert not ids.is_new(str(IDS_MAX)) and ids.is_new("0")
