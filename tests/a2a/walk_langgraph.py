"""LangGraph's own client against our server: its calls are refused clearly and change nothing, and what stands for them here
answers, as docs/compatibility.md says."""

from __future__ import annotations

from typing import Any, Callable

import httpx
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import APIStatusError
from served import Server


def main() -> None:
    with Server() as server:
        token = server.agent("@nick.laptop")
        client = get_sync_client(url=server.url, api_key=None, headers={"Authorization": f"Bearer {token}"})
        asked: dict[str, Any] = {"input": {"input": "x"}}
        calls: dict[str, Callable[[], Any]] = {
            "assistants.search": lambda: client.assistants.search(),
            "assistants.get": lambda: client.assistants.get("echo"),
            "threads.create": lambda: client.threads.create(),
            "threads.search": lambda: client.threads.search(),
            "threads.get_state": lambda: client.threads.get_state("thread"),
            "runs.create": lambda: client.runs.create(None, "echo", **asked),
            "runs.wait": lambda: client.runs.wait(None, "echo", **asked),
            "runs.stream": lambda: list(client.runs.stream(None, "echo", **asked)),
            "runs.wait on a thread": lambda: client.runs.wait("thread", "echo", **asked),
            "store.put_item": lambda: client.store.put_item(["a"], "k", {"v": 1}),
        }
        for name, call in calls.items():
            try:
                answer = call()
            except (APIStatusError, httpx.HTTPStatusError) as error:
                assert error.response.status_code == 404, (name, error)
                body = error.response.json()
                assert body["error"]["code"] == "not_found", (name, body)
                assert body["error"]["message"], (name, body)
            else:
                raise AssertionError(f"{name} answered {answer}")
        # What stands for `runs.wait`.
        run = server.ask("POST", "/agent/echo/run?wait=result", {"input": "x"}, token)
        assert run["type"] == "RunCompleted" and run["result"] == "x", run
    print("langgraph: passed")


main()
