"""Refusals are typed, and what is repeated is carried out once."""

from __future__ import annotations

import inspect
import socket
import threading
from typing import Any, Callable, Iterator

import pytest
import walk
from conftest import Server
from proxy import Proxy

from plenary_client import (
    ArgumentError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NetworkError,
    NotFoundError,
    Plenary,
    RefusedError,
    UnauthorizedError,
    UnreadableError,
)


@pytest.fixture
def ann(server: Server) -> Iterator[Plenary]:
    with Plenary(server.url, server.operator) as operator:
        token = operator.agent.create(handle="@ida.ann", policy="open")["token"]
    with Plenary(server.url, token) as client:
        yield client


def test_each_room_refuses_in_the_same_types(server: Server, ann: Plenary) -> None:
    with pytest.raises(NotFoundError) as absent:
        ann.session.show("sess_00000000000000000000000000")
    assert (absent.value.status, absent.value.code) == (404, "not_found")
    with pytest.raises(NotFoundError) as agent:
        ann.run.describe("nobody")
    assert agent.value.code == "agent_not_found" and agent.value.message
    with pytest.raises(NotFoundError) as channel:
        ann.channel.show("VHGC")
    assert channel.value.code
    with pytest.raises(NotFoundError) as project:
        ann.context.project("nothing")
    assert project.value.code == "project_not_found"
    with pytest.raises(InvalidError) as frame:
        ann.frame.submit({**walk.frame("ida", "x"), "frame_id": "no-uuid"})
    assert (frame.value.code, frame.value.field) == ("field-invalid", "frame_id")
    with pytest.raises(ForbiddenError) as scope:
        ann.frame.submit({**walk.frame("ida", "x"), "recipient_handle": "~nobody"})
    assert scope.value.code == "scope-unauthorised"
    with pytest.raises(UnauthorizedError) as token, Plenary(server.url, "pla_wrong") as nobody:
        nobody.me.get()
    assert token.value.code == "invalid_authorization"
    for error in (absent, agent, channel, project, frame, scope, token):
        assert isinstance(error.value, RefusedError) and error.value.code in str(error.value)


def test_a_key_is_used_once(ann: Plenary) -> None:
    first = ann.session.create(topic="a", idempotency_key="k-1")
    assert ann.session.create(topic="a", idempotency_key="k-1") == first
    with pytest.raises(ConflictError) as reused:
        ann.session.create(topic="b", idempotency_key="k-1")
    assert reused.value.code == "idempotency_key_reused"
    assert reused.value.idempotency_key == "k-1"
    assert len(ann.session.list()["sessions"]) == 1


def test_a_write_whose_answer_was_lost_is_carried_out_once(server: Server, ann: Plenary) -> None:
    proxy = Proxy(server.url)
    with Plenary(proxy.url, ann._transport.headers["authorization"].removeprefix("Bearer ")) as far:
        proxy.swallow()
        session = far.session.create(topic="once")["session_id"]
        proxy.swallow()
        far.session.send(session, content="hello")
    proxy.close()
    assert [one["id"] for one in ann.session.list()["sessions"]] == [session]
    assert len(ann.session.events(session)["events"]) == 1


def test_what_has_no_key_is_not_repeated(server: Server, ann: Plenary) -> None:
    proxy = Proxy(server.url)
    with Plenary(proxy.url, ann._transport.headers["authorization"].removeprefix("Bearer ")) as far:
        proxy.swallow()
        with pytest.raises(NetworkError) as lost:
            far.frame.submit(walk.frame("ida", "once"))
        assert lost.value.idempotency_key is None
    proxy.close()


def test_an_absent_server_is_a_network_error_with_the_key(server: Server, ann: Plenary) -> None:
    server.kill()
    with Plenary(server.url, "pla_any", attempts=2) as client, pytest.raises(NetworkError) as absent:
        client.session.create(idempotency_key="k-2")
    assert absent.value.idempotency_key == "k-2"


def test_null_is_sent_and_what_is_left_out_is_not(ann: Plenary) -> None:
    with pytest.raises(ForbiddenError):
        # Not its own master: only the owner may; but the body was understood.
        ann.me.update(description=None)


@pytest.mark.parametrize("id", ["", ".", ".."])
def test_an_id_that_makes_another_path_is_not_sent(id: str) -> None:
    def refuse(call: Callable[[], Any], name: str) -> None:
        with pytest.raises(ArgumentError):
            call()
            pytest.fail(f"{name} was sent")

    # Nobody listens there: a request would end in a NetworkError.
    with Plenary("http://127.0.0.1:1", "pla_any", attempts=1) as client:
        groups = [client, *(group for name, group in vars(client).items() if not name.startswith("_"))]
        methods = [method for group in groups for _, method in inspect.getmembers(group, inspect.ismethod)]
        methods = [method for method in methods if "path_of(" in inspect.getsource(method)]
        methods = [method for method in methods if not inspect.isgeneratorfunction(method)]
        assert len(methods) > 100
        for method in methods:
            parameters = inspect.signature(method).parameters.values()
            positional = [id for one in parameters if one.kind is one.POSITIONAL_ONLY]
            named: dict[str, Any] = {
                one.name: "x" for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty
            }
            refuse(lambda: method(*positional, **named), method.__qualname__)
        refuse(lambda: client.agent.revoke_token("@ida.ann", id), "the last id")
        refuse(lambda: next(client.streams.session(id)), "session")
        refuse(lambda: next(client.streams.run("echo", id)), "run")
        refuse(lambda: next(client.streams.ask(id, "hello")), "ask")


def test_a_token_may_end_with_a_line_break_and_no_error_shows_one(server: Server, ann: Plenary) -> None:
    token = ann._transport.headers["authorization"].removeprefix("Bearer ")
    with Plenary(server.url + "/", token + "\n") as client:
        assert client.me.get()["handle"] == "@ida.ann"
    wrong: list[Callable[[], Any]] = [
        lambda: Plenary(server.url, token + "\n" + token),
        lambda: Plenary(server.url, token + "é"),
        lambda: Plenary(server.url, token, headers={"x-more": token + "\n"}),
        lambda: Plenary("127.0.0.1:7420", token),
        lambda: Plenary("https://", token),
        lambda: ann.session.create(idempotency_key=token + "\n"),
        lambda: ann.session.create(idempotency_key="ä"),
        lambda: next(ann.streams.ask("echo", "hello", idempotency_key="a\nb")),
    ]
    for call in wrong:
        with pytest.raises(ArgumentError) as error:
            call()
        assert token not in str(error.value)


def test_an_empty_answer_comes_from_something_else() -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        with Plenary(f"http://127.0.0.1:{listener.getsockname()[1]}") as other, pytest.raises(UnreadableError):
            other.me.get()


def test_any_other_request(ann: Plenary) -> None:
    made = ann.channel.create(title="Port")
    page = ann.call("GET", f"/agent-channel/{made['id']}", query={"format": "markdown"})
    assert b"Port" in page
