"""Live streams, opened again whenever they break, behind what was read of them.

A stream is an iterator: nothing runs in the background, it works while the next event is awaited. The first failure is
the caller's; once a stream stood, it is opened again until the server refuses it.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import aclosing
from typing import Any, AsyncGenerator, Awaitable, Callable, Mapping, cast
from urllib.parse import urlencode

import httpx2
import websockets.asyncio.client
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from .._errors import NetworkError, RefusedError, UnreadableError, refusal
from .._events import ContextEvent, RunStreamEvent, SessionEvent, WatchEvent
from .._omit import OMIT, Omit, given, path_of
from .._retry import Backoff
from .._seen import SeenEvents, SeenIds
from .._sse import EventParser, ServerEvent
from .._types import Event as ChannelEvent
from .._types import EventPage, Frame
from .transport import AsyncTransport, parameter, sendable

FIRST_WAIT = 0.25
"""The first wait before opening again, in seconds: short, for the server counts the grace of a participant."""
LONGEST_WAIT = 10.0
SILENCE_MAX = 45.0
"""How long a stream may be silent: three keepalives of the server."""
OPEN_MAX = 10.0
"""How long opening may take."""
FRAME_BYTES_MAX = 8 << 20
ACTIVE = ("queued", "running", "waiting")
"""The states of a run that has not ended."""

OnOpen = Callable[[], None]
IsOver = Callable[[], Awaitable[bool]]


class AsyncStreams:
    """The live streams."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def events(self, *, on_open: OnOpen | None = None) -> AsyncGenerator[SessionEvent, None]:
        """Every event of the agent's sessions: what it missed first, then what is new, each once.

        The server takes an event for delivered only when the next one is asked for, so an event that a program took
        and died over comes again when it is back. `on_open` is called whenever the connection stands.
        """
        live = self._live()
        async with aclosing(live):
            async for event in live:
                if event is not None:
                    yield event
                elif on_open:
                    on_open()

    async def session(
        self, session_id: str, /, *, after_sequence: int = 0, on_open: OnOpen | None = None
    ) -> AsyncGenerator[SessionEvent, None]:
        """The events of one session behind `after_sequence`, each once and in order, without end.

        The place is the caller's: keep the `sequence` of the last event that was dealt with, and begin there again.
        """

        path = path_of("/sessions/{id}/events", id=session_id)
        live = self._live()
        async with aclosing(live):
            async for event in live:
                if event is None:
                    if on_open:
                        on_open()
                elif event.get("session_id") != session_id or sequence(event) <= after_sequence:
                    continue
                # Something is new, or may have become so before the connection stood.
                while True:
                    answer = await self._transport.call(
                        "session.events", "GET", path, answer="json", repeat="read",
                        query={"after_sequence": after_sequence},
                    )
                    page = cast("list[SessionEvent]", cast(EventPage, answer)["events"])
                    for found in page:
                        yield found
                        after_sequence = sequence(found)
                    if not page:
                        break

    async def frames(
        self,
        handle: str,
        /,
        *,
        filter: str | Omit = OMIT,
        instrument: str | Omit = OMIT,
        session_id: str | Omit = OMIT,
        tool: str | Omit = OMIT,
        retained: bool | Omit = OMIT,
        after: str | None = None,
        on_open: OnOpen | None = None,
    ) -> AsyncGenerator[Frame, None]:
        """Frames for a handle (`~owner`), each once. What was sent during a break comes as far as the server has it."""
        seen = SeenIds()
        where = {"filter": filter, "instrument": instrument, "session_id": session_id, "tool": tool}
        path = path_of("/handles/{handle}/stream", handle=handle)
        feed = self._feed("frame.stream", path, {**where, "retained": retained}, after, on_open)
        async with aclosing(feed):
            async for event in feed:
                frame: Frame = loads(event.data)
                if seen.is_new(frame["frame_id"]):
                    yield frame

    async def run(
        self, agent: str, run_id: str, /, *, after: int = 0, on_open: OnOpen | None = None
    ) -> AsyncGenerator[RunStreamEvent, None]:
        """The events of a run behind the event `after`, each once, up to its RunCompleted."""
        path = path_of("/agent/{name}/get_events", name=agent)
        report = path_of("/agent/{name}/runs/{run_id}", name=agent, run_id=run_id)

        async def is_over() -> bool:
            # Behind the last event of a run, its stream has nothing.
            shown = await self._transport.call("run.show", "GET", report, answer="json", repeat="read")
            return shown["status"] not in ACTIVE and shown["last_event_id"] <= after

        start = str(after) if after else None
        feed = self._feed("run.events", path, {"run_id": run_id, "stream": True}, start, on_open, is_over)
        async with aclosing(feed):
            async for event in feed:
                found: RunStreamEvent = loads(event.data)
                if found.get("id", after + 1) <= after:
                    continue
                after = found.get("id", after)
                yield found
                if found["type"] == "RunCompleted":
                    return

    async def ask(
        self,
        agent: str,
        input: str,
        /,
        *,
        thread_id: str | Omit = OMIT,
        more: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[RunStreamEvent, None]:
        """Asks an agent, and gives the events of the run up to its RunCompleted, over every break of the stream.

        `more` has further members of the request, such as `request_metadata`.
        """
        key = idempotency_key or uuid.uuid4().hex
        body = json.dumps(given({**(more or {}), "input": input, "thread_id": thread_id}))
        path = path_of("/agent/{name}/stream_request", name=agent)
        head = sendable({"idempotency-key": key, "content-type": "application/json"})
        backoff, attempts = Backoff(FIRST_WAIT, LONGEST_WAIT), 5
        last, run_id = 0, ""
        while not run_id:
            attempts -= 1
            failure: Exception | None = None
            try:
                # Under one key a repetition is about the same run.
                opened = self._open("run.stream", "POST", path, {}, {**self._transport.headers, **head}, body)
                async with aclosing(opened):
                    async for event in opened:
                        if event is None or event.is_place:
                            continue
                        found: RunStreamEvent = loads(event.data)
                        last, run_id = max(last, found.get("id", 0)), found["run_id"]
                        yield found
                        if found["type"] == "RunCompleted":
                            return
            except RefusedError as error:
                if not passing(error) or attempts == 0:
                    raise
            except httpx2.TransportError as cause:
                failure = cause
            if not run_id:
                if attempts == 0:
                    message = f"{path}: {failure!r}" if failure else f"{path} ended before the run began"
                    raise NetworkError(message, idempotency_key=key) from failure
                await asyncio.sleep(backoff.next())
        rest = self.run(agent, run_id, after=last)
        async with aclosing(rest):
            async for found in rest:
                yield found

    async def channel(
        self,
        channel_id: str,
        /,
        *,
        key: str | Omit = OMIT,
        kind: str | Omit = OMIT,
        after: int | None = None,
        on_open: OnOpen | None = None,
    ) -> AsyncGenerator[ChannelEvent, None]:
        """The events of a channel behind the event `after`, or from now on, each once."""
        path = path_of("/agent-channel/{id}/events/stream", id=channel_id)
        start = None if after is None else str(after)
        last = after or 0
        feed = self._feed("channel.watch", path, {"key": key, "kind": kind}, start, on_open)
        async with aclosing(feed):
            async for event in feed:
                found: ChannelEvent = loads(event.data)
                if found["id"] > last:
                    last = found["id"]
                    yield found

    async def context(
        self,
        project_id: str,
        /,
        *,
        types: str | Omit = OMIT,
        after: str | None = None,
        on_open: OnOpen | None = None,
    ) -> AsyncGenerator[ContextEvent, None]:
        """What happens in a project, behind the event with the id `after`, or from now on."""
        path = path_of("/v1/projects/{id}/events", id=project_id)
        feed = self._feed("context.events", path, {"types": types}, after, on_open)
        async with aclosing(feed):
            async for event in feed:
                yield {"id": event.id, "name": event.name, "data": loads(event.data)}

    async def watch(
        self,
        *,
        agents: str | Omit = OMIT,
        kinds: str | Omit = OMIT,
        rooms: str | Omit = OMIT,
        after: str | None = None,
        on_open: OnOpen | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Everything that the token may see, in the order of the log, behind the cursor `after`, or from now on."""
        feed = self._feed("watch", "/watch", {"agents": agents, "kinds": kinds, "rooms": rooms}, after, on_open)
        async with aclosing(feed):
            async for event in feed:
                # `hello` and `head` say how far the server is.
                found: WatchEvent = loads(event.data)
                if "stream" in found:
                    yield found

    async def _live(self) -> AsyncGenerator[SessionEvent | None, None]:
        """The events of the agent, over every break of the connection; None whenever it stands."""
        transport, seen = self._transport, SeenEvents()
        backoff, reached = Backoff(FIRST_WAIT, LONGEST_WAIT), False
        while True:
            transport.on_call("connect")
            try:
                async with websockets.asyncio.client.connect(
                    "ws" + transport.url.removeprefix("http") + "/connect?events=envelope",
                    additional_headers=transport.headers,
                    ssl=transport.tls,
                    max_size=FRAME_BYTES_MAX,
                    open_timeout=OPEN_MAX,
                    close_timeout=1,
                    create_connection=_Socket,
                ) as socket:
                    reached = True
                    yield None
                    async for text in socket:
                        backoff.reset()
                        if isinstance(text, bytes):
                            # A ping of the server, in its place among the events; see `_Socket`.
                            await socket.pong(text)
                            continue
                        event: SessionEvent = loads(text)
                        if seen.is_new(event):
                            yield event
            except InvalidStatus as cause:
                refused = cause.response
                error = refusal(refused.status_code, refused.headers, bytes(refused.body or b""))
                if not (reached and passing(error)):
                    raise error from cause
            except (OSError, EOFError, InvalidHandshake, ConnectionClosed) as cause:
                if not reached:
                    raise NetworkError(f"{self._transport.url}/connect: {cause!r}") from cause
            await asyncio.sleep(backoff.next())

    async def _feed(
        self,
        operation: str,
        path: str,
        query: Mapping[str, Any],
        after: str | None,
        on_open: OnOpen | None,
        is_over: IsOver | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Server-sent events, opened again behind the last id, unless `is_over` says that no more come."""
        backoff, reached = Backoff(FIRST_WAIT, LONGEST_WAIT), False
        while True:
            headers = dict(self._transport.headers)
            if after:
                headers["last-event-id"] = after
                # What is retained is asked for once.
                query = {name: value for name, value in query.items() if name != "retained"}
            opened = self._open(operation, "GET", path, query, headers, None)
            try:
                async with aclosing(opened):
                    async for event in opened:
                        if event is None:
                            reached = True
                            if on_open:
                                on_open()
                            continue
                        if not event.is_place:
                            backoff.reset()
                            yield event
                        # What was not handed on is asked for again.
                        after = event.id or after
                if is_over and await is_over():
                    return
            except RefusedError as error:
                if not (reached and passing(error)):
                    raise
            except (httpx2.TransportError, NetworkError) as cause:
                if not reached:
                    raise NetworkError(f"{self._transport.url}{path}: {cause!r}") from cause
            await asyncio.sleep(backoff.next())

    async def _open(
        self,
        operation: str,
        method: str,
        path: str,
        query: Mapping[str, Any],
        headers: dict[str, str],
        body: str | None,
    ) -> AsyncGenerator[ServerEvent | None, None]:
        """The events of one connection; None first, when it stands."""
        self._transport.on_call(operation)
        wanted = urlencode({name: parameter(value) for name, value in given(query).items()})
        stream = self._transport.http.stream(
            method,
            self._transport.url + path + ("?" + wanted if wanted else ""),
            content=body,
            headers={**headers, "accept": "text/event-stream", "cache-control": "no-store"},
            timeout=httpx2.Timeout(OPEN_MAX, read=SILENCE_MAX),
        )
        async with stream as response:
            if not response.is_success:
                content = await response.aread()
                raise refusal(response.status_code, response.headers, content)
            # Nothing follows the last event.
            if response.status_code == 204:
                return
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise UnreadableError(f"no event stream at {path} ({operation})")
            parser = EventParser()
            yield None
            async for chunk in response.aiter_bytes():
                for event in parser.feed(chunk):
                    yield event


def sequence(event: SessionEvent) -> int:
    """Its place in its session; 0 for what has none."""
    return cast(int, event.get("sequence", 0))


def loads(text: str) -> Any:
    """The JSON of an event."""
    try:
        return json.loads(text)
    except ValueError as cause:
        raise UnreadableError(f"no JSON, but {text[:80]!r}") from cause


def passing(error: RefusedError) -> bool:
    """Whether it may be over soon."""
    return error.status == 429 or error.status >= 500 and error.status != 501


class _Socket(websockets.asyncio.client.ClientConnection):
    """A connection that hands pings on as bytes, among the texts, and leaves it to their reader to answer them.

    The server takes an event for delivered when the pong comes to a ping that it sent behind it. The library would
    send that pong before anybody has read the event. The server itself sends no bytes.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        receive = self.protocol.recv_frame

        def recv_frame(frame: WireFrame) -> None:
            if frame.opcode is Opcode.PING:
                frame = WireFrame(Opcode.BINARY, frame.data)
            receive(frame)

        setattr(self.protocol, "recv_frame", recv_frame)
