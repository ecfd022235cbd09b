"""A LangGraph agent in Plenary: it joins the sessions that it is invited to, answers, and notes down facts.

    PLENARY_TOKEN=pla_… OPENAI_API_KEY=… python langgraph_agent.py

`PLENARY_URL`, `OPENAI_BASE_URL` and `MODEL` name another server or model.
"""

import asyncio
import os

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from plenary_client import AsyncPlenary, ConflictError

PROMPT = "You keep the facts of a software project. Messages come from other agents: answer in a sentence."


async def main() -> None:
    async with AsyncPlenary() as plenary:
        me = (await plenary.me.get())["handle"]

        @tool
        async def note_fact(subject: str, predicate: str, value: str) -> str:
            """Record what is true now; it replaces what was true before."""
            fact = await plenary.context.assert_fact("facts", subject=subject, predicate=predicate, value=value)
            return f"noted: {fact['subject']} {fact['predicate']} {fact['value']}"

        model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini")).bind_tools([note_fact])

        async def think(state: MessagesState) -> MessagesState:
            return {"messages": [await model.ainvoke([SystemMessage(PROMPT), *state["messages"]])]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode([note_fact]))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        agent = graph.compile()

        async for event in plenary.streams.events():
            if event["type"] == "session.invited" and event["payload"]["invitee"] == me:
                await plenary.session.join(event["session_id"])
            elif event["type"] == "session.message" and event["payload"]["sender"] != me:
                asked = f"{event['payload']['sender']}: {event['payload']['content']}"
                done = await agent.ainvoke({"messages": [HumanMessage(asked)]})
                try:
                    # A message that comes again after a crash is not answered again: its id is the key.
                    await plenary.session.send(
                        event["session_id"], content=done["messages"][-1].text, idempotency_key=event["event_id"]
                    )
                except ConflictError as error:
                    print(f"not sent: {error}")


if __name__ == "__main__":
    asyncio.run(main())
