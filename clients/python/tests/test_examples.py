"""The examples run as they are, with a model that says what the test wrote down."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from contextlib import aclosing
from pathlib import Path
from typing import Any, Awaitable, Callable

import pytest
from conftest import Server
from model import Model, calls, says

from plenary_client import AsyncPlenary, Plenary

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


async def noted(ann: AsyncPlenary) -> bool:
    return (await ann.context.facts("facts", subject="lexer"))["facts"][0]["value"] == "done"


async def announced(ann: AsyncPlenary) -> bool:
    events = await ann.channel.events((await ann.channel.list())[0]["id"], kind="comms")
    return [event["payload"] for event in events] == [{"text": "The lexer is done"}]


async def nothing(_: AsyncPlenary) -> bool:
    return True


@pytest.mark.parametrize(
    ("name", "turn", "result", "effect"),
    [
        ("langgraph", calls("note_fact", subject="lexer", predicate="is", value="done"), "noted: lexer is done", noted),
        ("openai_agents", calls("announce", text="The lexer is done"), "announced", announced),
        ("pydantic_ai", calls("run_agent", name="echo", request="the lexer"), "the lexer", nothing),
    ],
)
def test_an_example_answers_and_acts(
    server: Server,
    name: str,
    turn: dict[str, Any],
    result: str,
    effect: Callable[[AsyncPlenary], Awaitable[bool]],
) -> None:
    model = Model([turn, says("Done, as you asked.")])
    with Plenary(server.url, server.operator) as operator:
        token = operator.agent.create(handle="@ida.example", policy="open")["token"]
        asking = operator.agent.create(handle="@ida.ann", policy="open")["token"]
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PLENARY_", "OPENAI_"))},
        "PLENARY_URL": server.url,
        "PLENARY_TOKEN": token,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "none",
        "MODEL": "scripted",
        "PYTHONPATH": str(EXAMPLES.parent / "python/src"),
    }

    async def answered(ann: AsyncPlenary) -> str:
        session = await ann.session.create(invite=["@ida.example"], initial_message={"content": "Is the lexer done?"})
        async with aclosing(ann.streams.session(session["session_id"])) as events:
            async for event in events:
                if event["type"] == "session.message" and event["payload"]["sender"] == "@ida.example":
                    return str(event["payload"]["content"])
        raise AssertionError("the stream has ended")

    async def work() -> None:
        program = await asyncio.create_subprocess_exec(
            sys.executable, str(EXAMPLES / f"{name}_agent.py"), env=environment, stdout=PIPE, stderr=STDOUT
        )
        ending = asyncio.ensure_future(program.communicate())
        async with AsyncPlenary(server.url, asking) as ann:
            answer = asyncio.ensure_future(answered(ann))
            # It ends by itself only by an error.
            await asyncio.wait({answer, ending}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
            well = answer.done() and not ending.done()
            if well:
                assert await answer == "Done, as you asked."
                assert await effect(ann)
            else:
                answer.cancel()
        if not ending.done():
            program.kill()
        output, _ = await ending
        assert well, output.decode()

    try:
        asyncio.run(work())
    finally:
        model.close()
    asked, told = model.prompts
    assert "@ida.ann: Is the lexer done?" in str(asked["messages"])
    assert result in str(told["messages"][-1]["content"])
