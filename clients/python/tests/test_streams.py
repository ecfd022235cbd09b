"""Streams go on over every break, without a gap and without a repetition."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any, AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, TypeVar

import pytest
import walk
from conftest import Server
from proxy import Proxy
from websockets.frames import Opcode

from plenary_client import AsyncPlenary, NetworkError, Plenary, UnauthorizedError, types
from plenary_client._async import streams

T = TypeVar("T")


def agent(server: Server, handle: str) -> str:
    with Plenary(server.url, server.operator) as operator:
        return operator.agent.create(handle=handle, policy="open")["token"]


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    running = Proxy(server.url)
    yield running
    running.close()


def within(work: Coroutine[Any, Any, T]) -> T:
    """Runs it; a test that waits in vain fails."""
    return asyncio.run(asyncio.wait_for(work, 60))


async def take(stream: AsyncGenerator[T, None], count: int) -> list[T]:
    return [await anext(stream) for _ in range(count)]


async def first(stream: AsyncGenerator[T, None], wanted: Callable[[T], bool]) -> T:
    while True:
        one = await anext(stream)
        if wanted(one):
            return one


async def opened(stream: AsyncGenerator[T, None], stands: asyncio.Event) -> "asyncio.Task[T]":
    """The stream's next event, asked for; back when the stream stands."""
    task = asyncio.ensure_future(stream.__anext__())
    waiting = asyncio.ensure_future(stands.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    return task


def says(event: types.SessionEvent) -> str | None:
    return str(event["payload"]["content"]) if event["type"] == "session.message" else None


def test_every_message_comes_once_over_a_kill(server: Server) -> None:
    async def work() -> None:
        ann_token, bob_token = agent(server, "@ida.ann"), agent(server, "@jon.bob")
        async with AsyncPlenary(server.url, ann_token, attempts=60) as ann, AsyncPlenary(server.url, bob_token) as bob:
            session = (await ann.session.create(invite=["@jon.bob"]))["session_id"]
            await bob.session.join(session)
            async with aclosing(bob.streams.events()) as events, aclosing(bob.streams.session(session)) as one:
                heard: list[str] = []
                ordered: list[int] = []
                for round in range(3):
                    sending = asyncio.gather(*(ann.session.send(session, content=f"{round}.{n}") for n in range(20)))
                    if round:
                        # Some are on disk without an answer, some wait for the server to be back.
                        server.kill()
                        server.start()
                    await sending
                    while len(heard) < 20 * (round + 1):
                        heard += [text for text in [says(await anext(events))] if text]
                    while sum(1 for _ in ordered) < 20 * (round + 1):
                        event = await first(one, lambda event: says(event) is not None)
                        ordered.append(streams.sequence(event))
                assert sorted(heard) == sorted(f"{round}.{n}" for round in range(3) for n in range(20))
                assert ordered == sorted(set(ordered))
                stored = await bob.session.events(session)
                assert len([event for event in stored["events"] if event["type"] == "session.message"]) == 60

    within(work())


def test_the_synchronous_streams_go_on_too(server: Server) -> None:
    ann_token, bob_token = agent(server, "@ida.ann"), agent(server, "@jon.bob")
    with Plenary(server.url, ann_token, attempts=60) as ann, Plenary(server.url, bob_token) as bob:
        session = ann.session.create(invite=["@jon.bob"], initial_message={"content": "0"})["session_id"]
        bob.session.join(session)
        heard = []
        for event in bob.streams.events():
            text = says(event)
            if text is None:
                continue
            heard.append(text)
            if text == "2":
                break
            server.kill()
            server.start()
            ann.session.send(session, content=str(int(text) + 1))
        assert heard == ["0", "1", "2"]
        kinds = [event["type"] for event in ann.streams.ask("echo", "hello")]
        assert kinds[0] == "RunStarted" and kinds[-1] == "RunCompleted"


def test_what_was_taken_and_not_dealt_with_comes_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        ann_token, bob_token = agent(server, "@ida.ann"), agent(server, "@jon.bob")
        pinged = asyncio.Event()
        make = streams._Socket.__init__

        def watched(self: Any, *arguments: Any, **named: Any) -> None:
            make(self, *arguments, **named)
            receive = self.protocol.recv_frame

            def recv_frame(frame: Any) -> None:
                if frame.opcode is Opcode.PING:
                    pinged.set()
                receive(frame)

            self.protocol.recv_frame = recv_frame

        monkeypatch.setattr(streams._Socket, "__init__", watched)
        async with AsyncPlenary(server.url, ann_token) as ann, AsyncPlenary(server.url, bob_token) as bob:
            session = (await ann.session.create(invite=["@jon.bob"]))["session_id"]
            await bob.session.join(session)
            sequence = (await ann.session.send(session, content="hello"))["sequence"]

            async def state() -> str:
                return (await ann.message.status(session, sequence))["recipients"][0]["state"]

            for _ in range(2):
                pinged.clear()
                async with aclosing(bob.streams.events()) as events:
                    await first(events, lambda event: says(event) == "hello")
                    # The server asks whether it arrived; the program, which has the event, dies.
                    await pinged.wait()
                    assert await state() == "accepted"
            async with aclosing(bob.streams.events()) as events:
                await first(events, lambda event: says(event) == "hello")
                rest = asyncio.ensure_future(first(events, lambda _: False))
                while await state() == "accepted":
                    assert not rest.done()
                assert await state() == "delivered"
                rest.cancel()
                await asyncio.wait({rest})

    within(work())


def test_a_frame_that_was_sent_during_a_break_comes(server: Server, proxy: Proxy) -> None:
    async def work() -> None:
        token = agent(server, "@ida.ann")
        stands = asyncio.Event()
        async with AsyncPlenary(proxy.url, token) as far, AsyncPlenary(server.url, token) as near:
            async with aclosing(far.streams.frames("~ida", on_open=stands.set)) as frames:
                asked = await opened(frames, stands)
                for n in range(3):
                    await near.frame.submit(walk.frame("ida", str(n)))
                    frame = await asked
                    assert frame["kind"] == "agent_advisory" and frame["payload"]["advisory_text"] == str(n)
                    proxy.cut()
                    asked = asyncio.ensure_future(frames.__anext__())
                # A restart forgets frames; the stream goes on with what is new.
                await near.frame.submit(walk.frame("ida", "last"))
                assert (await asked)["frame_id"]
                proxy.cut()
                stands.clear()
                server.kill()
                server.start()
                asked = await opened(frames, stands)
                await near.frame.submit(walk.frame("ida", "after"))
                frame = await asked
                assert frame["kind"] == "agent_advisory" and frame["payload"]["advisory_text"] == "after"

    within(work())


def test_a_run_is_followed_over_breaks(server: Server, proxy: Proxy) -> None:
    async def work() -> None:
        token = agent(server, "@ida.ann")
        demo = {"request_metadata": {"demo": ["tool_call", {"wait_for_input": {"name": "Your name"}}]}}
        async with AsyncPlenary(proxy.url, token) as far, AsyncPlenary(server.url, token) as near:
            ids = []
            async for event in far.streams.ask("echo", "hello", more=demo):
                ids.append(event["id"])
                if event["type"] == "WaitForInput":
                    proxy.cut()
                    await near.run.run("echo", run_id=event["run_id"], request_keys={"name": "Ida"})
            assert ids == list(range(1, len(ids) + 1))
            again = [found["id"] async for found in near.streams.run("echo", event["run_id"], after=2)]
            assert again == ids[2:]
            # A program that stored its place and begins again behind the end.
            assert [found async for found in near.streams.run("echo", event["run_id"], after=ids[-1])] == []

    within(work())


def test_a_run_that_a_kill_ended_says_so(server: Server) -> None:
    async def work() -> None:
        async with AsyncPlenary(server.url, agent(server, "@ida.ann")) as ann:
            last: types.RunStreamEvent | None = None
            async for event in ann.streams.ask("echo", "hello", more={"request_metadata": {"demo": ["slow"]}}):
                if last is None:
                    server.kill()
                    server.start()
                last = event
            assert last is not None and last["type"] == "RunCompleted" and last["finish_reason"] == "error"

    within(work())


def test_events_of_channels_and_projects_come_once_over_breaks(server: Server, proxy: Proxy) -> None:
    async def work() -> None:
        token = agent(server, "@ida.ann")
        async with AsyncPlenary(proxy.url, token) as far, AsyncPlenary(server.url, token) as near:
            channel = (await near.channel.create(title="Port"))["id"]
            await near.context.create_project(project_id="port", name="Port")
            events = far.streams.channel(channel, after=0)
            project = far.streams.context("port", after="0", types="fact.asserted")
            async with aclosing(events), aclosing(project):
                for n in range(3):
                    await near.channel.append(channel, kind="comms", payload={"n": n})
                    await near.context.assert_fact("port", subject="n", predicate="is", value=str(n))
                    assert (await anext(events))["payload"] == {"n": n}
                    assert (await anext(project))["name"] == "fact.asserted"
                    proxy.cut()

    within(work())


def test_a_break_before_the_first_event_loses_nothing() -> None:
    async def work() -> None:
        heads: list[str] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
            # First only the place at which "from now on" is, then what came behind it.
            found = b"retry: 1000\nid: 7\n\n" if len(heads) == 1 else b'id: 8\ndata: {"id": 8}\n\n'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + found)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
            async with AsyncPlenary(url) as client, aclosing(client.streams.channel("PORT")) as events:
                assert (await anext(events))["id"] == 8
        assert "last-event-id" not in heads[0] and "last-event-id: 7\r\n" in heads[1]

    within(work())


def test_the_first_failure_is_the_callers(server: Server) -> None:
    async def work() -> None:
        async with AsyncPlenary(server.url, "pla_nobody") as nobody:
            opening: list[Callable[[], Awaitable[Any]]] = [
                lambda: anext(nobody.streams.events()),
                lambda: anext(nobody.streams.frames("~ida")),
                lambda: anext(nobody.streams.ask("echo", "hello")),
            ]
            for open in opening:
                with pytest.raises(UnauthorizedError):
                    await open()
        token = agent(server, "@ida.ann")
        server.kill()
        async with AsyncPlenary(server.url, token) as ann:
            for absent in (ann.streams.events(), ann.streams.frames("~ida")):
                with pytest.raises(NetworkError):
                    await anext(absent)

    within(work())


def test_a_new_token_ends_the_stream_of_the_old_one(server: Server) -> None:
    async def work() -> None:
        token = agent(server, "@ida.ann")
        stands = asyncio.Event()
        async with AsyncPlenary(server.url, token) as ann, AsyncPlenary(server.url, server.operator) as operator:
            async with aclosing(ann.streams.events(on_open=stands.set)) as events:
                asked = await opened(events, stands)
                await operator.agent.rotate_token("@ida.ann")
                with pytest.raises(UnauthorizedError):
                    await asked

    within(work())


