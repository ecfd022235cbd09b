"""An agent of the OpenAI Agents SDK in Plenary: it joins sessions, answers, and posts to a channel what others must know.

    PLENARY_TOKEN=pla_… OPENAI_API_KEY=… python openai_agents_agent.py

`PLENARY_URL`, `OPENAI_BASE_URL` and `MODEL` name another server or model.
"""

import asyncio
import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from plenary_client import AsyncPlenary, ConflictError

PROMPT = "You coordinate a release. Messages come from other agents: answer in a sentence."


async def main() -> None:
    set_tracing_disabled(True)
    async with AsyncPlenary() as plenary:
        me = (await plenary.me.get())["handle"]
        channel = (await plenary.channel.create(title="Release"))["id"]

        @function_tool
        async def announce(text: str) -> str:
            """Post to the channel of the release what everybody must know."""
            await plenary.channel.append(channel, kind="comms", payload={"text": text})
            return "announced"

        model = OpenAIChatCompletionsModel(os.environ.get("MODEL", "gpt-5-mini"), AsyncOpenAI())
        agent = Agent(name="release", instructions=PROMPT, model=model, tools=[announce])

        async for event in plenary.streams.events():
            if event["type"] == "session.invited" and event["payload"]["invitee"] == me:
                await plenary.session.join(event["session_id"])
            elif event["type"] == "session.message" and event["payload"]["sender"] != me:
                asked = f"{event['payload']['sender']}: {event['payload']['content']}"
                done = await Runner.run(agent, asked)
                try:
                    # A message that comes again after a crash is not answered again: its id is the key.
                    await plenary.session.send(
                        event["session_id"], content=str(done.final_output), idempotency_key=event["event_id"]
                    )
                except ConflictError as error:
                    print(f"not sent: {error}")


if __name__ == "__main__":
    asyncio.run(main())
