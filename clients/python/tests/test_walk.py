"""Every operation that the server describes is called, by the asynchronous and by the synchronous client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import generate
import pytest
import walk
from conftest import Server


def uncalled(server: Server, calls: list[str]) -> set[str]:
    document = generate.fetch(server.url)
    described = {one["operationId"] for item in document["paths"].values() for one in item.values()}
    assert set(generate.LEFT_OUT) < described and set(generate.BY_HAND) < described
    return described - set(generate.LEFT_OUT) - set(calls)


def test_every_operation_is_called(server: Server) -> None:
    calls: list[str] = []
    asyncio.run(walk.walk(server, calls))
    assert uncalled(server, calls) == set()


def test_every_operation_is_called_synchronously(server: Server) -> None:
    calls: list[str] = []
    source = Path(walk.__file__).read_text()
    names: dict[str, Any] = {"__name__": "synchronous_walk"}
    exec(compile(generate.synchronous(source), "synchronous_walk", "exec"), names)
    names["walk"](server, calls)
    assert uncalled(server, calls) == set()


def test_what_is_generated_is_what_this_server_describes(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate.main([server.url, "--check"]) == 0, capsys.readouterr().out


def test_a_stale_client_is_noticed(server: Server) -> None:
    document = generate.fetch(server.url)
    document["paths"]["/sessions"]["get"]["summary"] = "Something else"
    stale = [path.name for path, text in generate.printed(document) if path.read_text() != text]
    assert stale == ["operations.py", "operations.py", "operations.ts"]
