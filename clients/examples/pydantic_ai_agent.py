"""A Pydantic AI agent in Plenary: it joins sessions, answers, and has other agents of the server do things.

    PLENARY_TOKEN=pla_… OPENAI_API_KEY=… python pydantic_ai_agent.py

`PLENARY_URL`, `OPENAI_BASE_URL` and `MODEL` name another server or model.
"""

import asyncio
import os

from plenary_client import AsyncPlenary, ConflictError
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel

PROMPT = "You pass work on to other agents. Messages come from other agents: answer in a sentence."

agent = Agent(OpenAIChatModel(os.environ.get("MODEL", "gpt-5-mini")), deps_type=AsyncPlenary, instructions=PROMPT)


@agent.tool
async def run_agent(context: RunContext[AsyncPlenary], name: str, request: str) -> str:
    """Have an agent behind the server do something; its result comes back."""
    result = ""
    async for event in context.deps.streams.ask(name, request):
        if event["type"] == "RunCompleted":
            result = event.get("result", event["finish_reason"])
    return result


async def main() -> None:
    async with AsyncPlenary() as plenary:
        me = (await plenary.me.get())["handle"]
        async for event in plenary.streams.events():
            if event["type"] == "session.invited" and event["payload"]["invitee"] == me:
                await plenary.session.join(event["session_id"])
            elif event["type"] == "session.message" and event["payload"]["sender"] != me:
                asked = f"{event['payload']['sender']}: {event['payload']['content']}"
                done = await agent.run(asked, deps=plenary)
                try:
                    # A message that comes again after a crash is not answered again: its id is the key.
                    await plenary.session.send(
                        event["session_id"], content=done.output, idempotency_key=event["event_id"]
                    )
                except ConflictError as error:
                    print(f"not sent: {error}")


if __name__ == "__main__":
    asyncio.run(main())
