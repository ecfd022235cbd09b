"""Two agents with nothing but tools, by the Python SDK: arguments are the base URL, a revision, and the two tokens.

They find each other, converse, lock and hand over a file, and remember a decision; each step is checked here, and what it
came to is printed as one JSON object.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

FILE = "src/parser.rs"


class Agent:
    def __init__(self, client):
        self.client = client

    async def called(self, tool, **arguments):
        return await self.client.call_tool(tool, arguments)

    async def does(self, tool, **arguments):
        result = await self.called(tool, **arguments)
        assert not result.is_error, f"{tool}: {result.content[0].text}"
        return result.structured_content

    async def is_refused(self, tool, **arguments):
        result = await self.called(tool, **arguments)
        assert result.is_error, f"{tool} was carried out: {result.content[0].text}"
        return json.loads(result.content[0].text)["error"]["code"]


def texts(read):
    return [event["text"] for event in read["events"] if "text" in event]


async def play(one, other):
    me, they = await one.does("whoami"), await other.does("whoami")
    reached = [agent["handle"] for agent in me["agents"]]
    assert they["me"] in reached, f"{they['me']} is not among {reached}"

    sent = await one.does("send", to=[they["me"]], text="Who takes the parser?", topic="Parser")
    waiting = await other.does("inbox", wait_s=20)
    session = waiting["items"][0]["ref"]["session_id"]
    assert session == sent["session_id"], waiting
    assert waiting["items"][0]["from"] == me["me"], waiting
    assert texts(await other.does("read", session_id=session)) == ["Who takes the parser?"]
    await other.does("send", session_id=session, text="I do, when you are done.")
    answered = await one.does("inbox", wait_s=20)
    assert "I do, when you are done." in json.dumps(answered), answered
    acknowledged = await one.does("inbox", ack=answered["cursor"])
    assert not acknowledged["items"], acknowledged

    await one.does("lock", resource=FILE, intent="tokens first")
    refused = await other.is_refused("lock", resource=FILE)
    await one.does("hand_over", to=they["me"], note="Tokens are done.", resource=FILE)
    read = await other.does("read", session_id=session)
    assert "Tokens are done." in json.dumps(read), read
    claim = await other.does("lock", resource=FILE)

    kept = await other.does("deposit", title="Parser", decisions_made=["Recursive descent, no generator"])
    found = await one.does("recall", query="which parser generator", project_id=kept["project_id"])
    assert found["packages"][0]["package_id"] == kept["package_id"], found
    return {"refused": refused, "claimed": claim["resource"], "recalled": found["packages"][0]["title"]}


async def main(base, revision, *tokens):
    mode = revision if revision == "2026-07-28" else "legacy"
    first, second = (httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) for token in tokens)
    async with first, second:
        transports = [streamable_http_client(f"{base}/mcp", http_client=http) for http in (first, second)]
        async with Client(transports[0], mode=mode) as one, Client(transports[1], mode=mode) as other:
            print(json.dumps(await play(Agent(one), Agent(other))))


asyncio.run(main(*sys.argv[1:]))
