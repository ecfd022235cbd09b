"""A foreign agent: the server of the Python SDK of Agent2Agent, over the binding that is named. It asks for a name when it is told
`ask`."""

from __future__ import annotations

import asyncio
import sys

import grpc
import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
    TaskStatus,
    a2a_pb2_grpc,
)
from starlette.applications import Starlette


class Echo(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        task_id, context_id = str(context.task_id), str(context.context_id)
        updater = TaskUpdater(event_queue, task_id, context_id)
        if context.current_task is None:
            task = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
            await event_queue.enqueue_event(task)
        await updater.start_work()
        match text:
            case "ask" if context.current_task is None:
                await updater.requires_input(updater.new_agent_message([Part(text="Your name?")]))
                return
            case "fail":
                await updater.failed(updater.new_agent_message([Part(text="It broke.")]))
                return
            case "slow":
                await asyncio.sleep(600)
        await updater.add_artifact([Part(text=f"You said: {text}")], name="said", last_chunk=True)
        await updater.add_artifact([Part(raw=b"abc", filename="a.bin", media_type="application/x-a")], last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, str(context.task_id), str(context.context_id)).cancel()


async def serve(binding: str, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    card = AgentCard(
        name="Foreign",
        description="Says what it is told.",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Says it.", tags=["echo"])],
    )
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card)
    routes, place = [], f"{url}/a2a"
    if binding == "GRPC":
        # Only its card is at the port of HTTP.
        server = grpc.aio.server()
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
        place = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
    elif binding == "JSONRPC":
        routes = create_jsonrpc_routes(handler, rpc_url="/a2a")
    else:
        routes = create_rest_routes(handler, path_prefix="/a2a")
    card.supported_interfaces.append(AgentInterface(url=place, protocol_binding=binding, protocol_version="1.0"))
    app = Starlette(routes=[*create_agent_card_routes(card), *routes])
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")).serve()


asyncio.run(serve(sys.argv[2], int(sys.argv[1])))
