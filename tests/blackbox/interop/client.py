"""The Python SDK of the Model Context Protocol against a server: arguments are the base URL, a token, and a revision.

It speaks as anybody's client would, in the mode that it is told, and prints what it saw as one JSON object.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CREATED = "plenary://sessions"


async def changed(client, base, http, revision, told):
    """The resource of which a notice comes when a session is created after the subscription."""

    async def create():
        answer = await http.post(f"{base}/sessions", json={"topic": "told by a notice"})
        answer.raise_for_status()

    if revision == "2026-07-28":
        async with client.listen(resource_subscriptions=[CREATED]) as events:
            await create()
            async for event in events:
                return str(event.uri)
    await client.subscribe_resource(CREATED)
    await create()
    return await told


async def main(base, token, revision):
    headers = {"Authorization": f"Bearer {token}"}
    told = asyncio.get_running_loop().create_future()

    async def on_message(message):
        uri = getattr(getattr(message, "params", None), "uri", None)
        if uri is not None and not told.done():
            told.set_result(str(uri))

    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(f"{base}/mcp?toolsets=all", http_client=http)
        mode = revision if revision == "2026-07-28" else "legacy"
        client = Client(transport, mode=mode, message_handler=on_message)
        async with client:
            tools = await client.list_tools()
            again = await client.list_tools(cache_mode="refresh")
            me = await client.read_resource("plenary://me")
            called = await client.call_tool("test_simple_text", {})
            refused = await client.call_tool("test_error_handling", {})
            orient = await client.get_prompt("orient")
            seen = {
                "revision": client.protocol_version,
                "tools": [tool.name for tool in tools.tools],
                "stable": tools.tools == again.tools,
                "me": json.loads(me.contents[0].text)["handle"],
                "called": called.content[0].text,
                "refused": refused.is_error,
                "orient": orient.messages[0].content.text,
                "changed": await asyncio.wait_for(changed(client, base, http, revision, told), 20),
            }
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
