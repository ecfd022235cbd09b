"""LangGraph's own client against our runs, synchronous and asynchronous: assistants, threads, runs, their streams and states;
and what has no meaning here is refused in its own form, and changes nothing."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any, Callable

import httpx
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient
from langgraph_sdk.errors import APIStatusError
from served import Server


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def demo(*steps: Any) -> dict[str, Any]:
    """An input that the echo agent takes as its steps."""
    return {"demo": list(steps)}


def contents(values: Any) -> list[tuple[str, str]]:
    return [(message["type"], message["content"]) for message in values["messages"]]


def refused(status: int, code: str, call: Callable[[], Any]) -> None:
    try:
        answer = call()
        # A generator asks only when it is read.
        answer = list(answer) if hasattr(answer, "__next__") else answer
    except APIStatusError as error:
        assert error.status_code == status, error
        assert error.code == code, error.body
        assert error.message, error.body
    except httpx.HTTPStatusError as error:
        # What the client waits for without a limit it raises as its library does.
        assert error.response.status_code == status, error
        assert error.response.json()["code"] == code, error.response.text
    else:
        raise AssertionError(f"{code} was not raised: {answer}")


def assistants(client: SyncLangGraphClient) -> None:
    (echo,) = client.assistants.search(graph_id="echo")
    assert client.assistants.get(echo["assistant_id"])["name"] == "echo", echo
    assert client.assistants.search(name="ECH", metadata={"created_by": "system"})[0] == echo
    assert client.assistants.count() >= 1
    page = client.assistants.search(limit=1, response_format="object")
    assert len(page["assistants"]) == 1, page
    assert client.assistants.get_schemas("echo")["input_schema"]["properties"]["messages"]
    refused(404, "assistant_not_found", lambda: client.assistants.get("nobody"))


def threads(client: SyncLangGraphClient) -> None:
    thread = client.threads.create(graph_id="echo")
    assert thread["status"] == "idle" and thread["values"] == {}, thread
    name = thread["thread_id"]
    refused(404, "thread_not_found", lambda: client.threads.get(name))
    first = client.runs.wait(name, "echo", input=said("Hello"))
    assert contents(first) == [("human", "Hello"), ("ai", "Hello")], first
    second = client.runs.wait(name, "echo", input="More", metadata={"a": "b"})
    assert [content for _, content in contents(second)] == ["Hello", "Hello", "More", "More"], second

    thread = client.threads.get(name)
    assert thread["status"] == "idle" and thread["values"] == second, thread
    assert client.threads.search(ids=[name])[0]["thread_id"] == name
    assert client.threads.search(metadata={"graph_id": "echo"}, limit=1)[0]["thread_id"] == name
    assert not client.threads.search(ids=[name], status="busy")
    assert client.threads.count(status="idle") >= 1
    state = client.threads.get_state(name)
    assert state["values"] == second and state["next"] == [], state
    history = client.threads.get_history(name)
    assert [contents(one["values"])[-1][1] for one in history] == ["More", "Hello"], history
    assert client.threads.get_history(name, before=history[0]["checkpoint"])[0] == history[1]
    assert client.threads.get_state(name, checkpoint_id=history[1]["checkpoint"]["checkpoint_id"]) == history[1]
    last, before = client.runs.list(name)
    assert last["metadata"] == {"a": "b"} and last["status"] == before["status"] == "success", last
    assert client.runs.list(name, limit=1, offset=1) == [before]
    assert client.runs.get(name, last["run_id"]) == last
    assert client.threads.create(thread_id=name, if_exists="do_nothing")["thread_id"] == name
    refused(409, "thread_exists", lambda: client.threads.create(thread_id=name))
    refused(404, "run_not_found", lambda: client.runs.get(name, str(uuid.uuid4())))
    missing = str(uuid.uuid4())
    refused(404, "thread_not_found", lambda: client.runs.wait(missing, "echo", input="x", if_not_exists="reject"))


def background(client: SyncLangGraphClient) -> None:
    name = str(uuid.uuid4())
    run = client.runs.create(name, "echo", input=said("Later"))
    assert run["thread_id"] == name and run["assistant_id"] == "echo", run
    assert contents(client.runs.join(name, run["run_id"]))[-1] == ("ai", "Later")
    slow = client.runs.create(name, "echo", input=demo("slow"))
    client.runs.cancel(name, slow["run_id"], wait=True)
    assert client.runs.get(name, slow["run_id"])["status"] == "interrupted"
    refused(409, "run_not_active", lambda: client.runs.cancel(name, slow["run_id"]))
    try:
        client.runs.wait(name, "echo", input=demo({"fail": "no luck"}))
        raise AssertionError("a run that failed was not raised")
    except Exception as error:
        assert "no luck" in str(error), error
    assert client.threads.get(name)["status"] == "error"


def interrupts(client: SyncLangGraphClient) -> None:
    name = str(uuid.uuid4())
    asks = client.runs.wait(name, "echo", input=demo({"wait_for_input": {"name": "Your name"}}))
    (question,) = asks["__interrupt__"]
    assert question["value"] == {"name": "Your name"}, asks
    thread = client.threads.get(name)
    assert thread["status"] == "interrupted" and [question] in thread["interrupts"].values(), thread
    state = client.threads.get_state(name)
    assert state["next"] == ["echo"] and state["tasks"][0]["interrupts"] == [question], state
    answered = client.runs.wait(name, "echo", command={"resume": {question["id"]: {"name": "Nick"}}})
    assert "Nick" in contents(answered)[-1][1] and "__interrupt__" not in answered, answered
    refused(409, "run_not_active", lambda: client.runs.wait(name, "echo", command={"resume": "x"}))


def streams(client: SyncLangGraphClient) -> None:
    name = str(uuid.uuid4())
    client.runs.wait(name, "echo", input="Before")
    made: list[Any] = []
    modes = ["values", "updates", "messages-tuple", "custom"]
    steps = json.dumps(demo("tool_call", "deltas"))
    parts = list(
        client.runs.stream(name, "echo", input=said(steps), stream_mode=modes, on_run_created=made.append)
    )
    events = [part.event for part in parts]
    assert events[:2] == ["metadata", "values"] and events[-1] == "end", events
    run = parts[0].data["run_id"]
    assert made == [{"run_id": run, "thread_id": name}], made
    assert contents(parts[1].data)[-1] == ("human", steps), parts[1]
    values = [part.data for part in parts if part.event == "values"]
    assert len(contents(values[-1])) == 4 and values[-1] == client.threads.get_state(name)["values"], values
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    answer = contents(values[-1])[-1][1]
    assert "".join(chunk["content"] for chunk in chunks) == answer, chunks
    assert {chunk["type"] for chunk in chunks} == {"AIMessageChunk"}, chunks
    (update,) = [part.data for part in parts if part.event == "updates"]
    assert update["echo"]["messages"][0]["content"] == answer, update
    ours = [part.data["type"] for part in parts if part.event == "custom"]
    assert "ToolCall" in ours and ours[-1] == "RunCompleted", ours

    # Followed again, from the start and from an event.
    again = list(client.runs.join_stream(name, run, stream_mode="custom"))
    assert [part.data["type"] for part in again if part.event == "custom"] == ours, again
    place = next(part.id for part in again if part.event == "custom" and part.data["type"] == "ToolCall")
    rest = list(client.runs.join_stream(name, run, stream_mode=["custom"], last_event_id=place))
    assert [part.data["type"] for part in rest if part.event == "custom"] == ours[ours.index("ToolCall") + 1 :], rest

    # A stateless one, as messages; and a question in a stream, and its answer.
    parts = list(client.runs.stream(None, "echo", input="x y", stream_mode="messages"))
    complete = [part.data for part in parts if part.event == "messages/complete"]
    assert complete[-1][0]["content"] == "x y", parts
    asks = list(client.runs.stream(name, "echo", input=demo("wait_for_input"), stream_mode=["values", "updates"]))
    assert [part.data for part in asks if part.event == "updates"][-1]["__interrupt__"], asks
    answers = list(client.runs.stream(name, "echo", command={"resume": "yes"}, stream_mode="values"))
    assert "yes" in contents(answers[-2].data)[-1][1] and answers[-1].event == "end", answers
    failed = list(client.runs.stream(None, "echo", input=demo({"fail": "no luck"})))
    assert [part.data["message"] for part in failed if part.event == "error"] == ["no luck"], failed


def unsupported(client: SyncLangGraphClient, server: Server, token: str) -> None:
    asked: dict[str, Any] = {"input": "x"}
    before = server.ask("GET", "/agent/echo/threads", token=token)
    for call in [
        lambda: client.runs.wait(None, "echo", webhook="https://example.org/hook", **asked),
        lambda: client.runs.wait(None, "echo", interrupt_before=["a"], **asked),
        lambda: client.runs.create(None, "echo", after_seconds=5, **asked),
        lambda: client.runs.create(None, "echo", multitask_strategy="rollback", **asked),
        lambda: client.runs.wait(None, "echo", command={"goto": "somewhere"}),
        lambda: client.runs.stream(None, "echo", stream_mode="debug", **asked),
        lambda: client.threads.create(metadata={"mine": "1"}),
        lambda: client.threads.search(values={"a": 1}),
    ]:
        refused(422, "not_supported", call)
    for call in [
        lambda: client.store.put_item(["a"], "k", {"v": 1}),
        lambda: client.crons.search(),
        lambda: client.threads.update_state("thread", {"a": 1}),
        lambda: client.threads.copy("thread"),
        lambda: client.assistants.get_graph("echo"),
    ]:
        try:
            answer = call()
        except APIStatusError as error:
            assert error.status_code in (404, 405) and error.code and error.message, error.body
        else:
            raise AssertionError(f"{call} was not refused: {answer}")
    for call in [lambda: client.threads.delete("thread"), lambda: client.threads.update("thread", metadata={})]:
        refused(405, "method_not_allowed", call)
    assert server.ask("GET", "/agent/echo/threads", token=token) == before, "a refused call changed something"


def strangers(client: SyncLangGraphClient, server: Server) -> None:
    name = str(uuid.uuid4())
    run = client.runs.create(name, "echo", input="Mine")
    other = get_sync_client(url=f"{server.url}/langgraph", api_key=server.agent("@bob.phone"))
    absent = str(uuid.uuid4())
    for thread in name, absent:
        refused(404, "thread_not_found", lambda: other.threads.get(thread))
        refused(404, "thread_not_found", lambda: other.threads.get_state(thread))
        refused(404, "thread_not_found", lambda: other.runs.get(thread, run["run_id"]))
    refused(404, "thread_not_found", lambda: other.runs.wait(name, "echo", input="x"))
    assert not other.threads.search()
    nobody = get_sync_client(url=f"{server.url}/langgraph", api_key="pla_wrong")
    refused(401, "invalid_authorization", lambda: nobody.assistants.search())


async def asynchronous(client: LangGraphClient) -> None:
    assert (await client.assistants.search(graph_id="echo"))[0]["name"] == "echo"
    thread = await client.threads.create()
    name = thread["thread_id"]
    assert contents(await client.runs.wait(name, "echo", input=said("Hello")))[-1] == ("ai", "Hello")
    parts = [part async for part in client.runs.stream(name, "echo", input=said("a b"), stream_mode=["values"])]
    assert contents(parts[-2].data)[-1] == ("ai", "a b"), parts
    run = await client.runs.create(name, "echo", input=demo("slow"))
    await client.runs.cancel(name, run["run_id"])
    await client.runs.join(name, run["run_id"])
    assert (await client.threads.get(name))["status"] == "idle"
    assert len(await client.runs.list(name)) == 3
    assert contents(await client.runs.wait(None, "echo", input="alone")) == [("human", "alone"), ("ai", "alone")]


def main() -> None:
    with Server() as server:
        token = server.agent("@nick.laptop")
        url = f"{server.url}/langgraph"
        # The token is the key of the API, as the client sends it by itself.
        client = get_sync_client(url=url, api_key=token)
        assistants(client)
        threads(client)
        background(client)
        interrupts(client)
        streams(client)
        unsupported(client, server, token)
        strangers(client, server)
        headers = {"Authorization": f"Bearer {token}"}
        asyncio.run(asynchronous(get_client(url=url, api_key=None, headers=headers)))
    print("langgraph-sdk: passed")


main()
