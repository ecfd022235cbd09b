"""The Python SDK of Agent2Agent against our server, over its three bindings."""

from __future__ import annotations

import asyncio
import base64
import uuid
from pathlib import Path
from typing import Any

import grpc
import httpx
import jwt
import rfc8785
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.client import Client, ClientCallContext
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
    a2a_pb2,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from jwt.algorithms import ECAlgorithm
from served import Server

SCHEMA = Path(__file__).parents[2] / "crates/a2a-schema/src/a2a.binpb"


class Token(CredentialService):
    """The token for the scheme that a card names."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_credentials(self, security_scheme_name: str, context: ClientCallContext | None) -> str | None:
        return self._token if security_scheme_name == "bearer" else None


def said(text: str, **more: object) -> Message:
    demo = more.pop("demo", None)
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **more)
    if demo:
        message.metadata.update({"demo": demo})
    return message


def texts(task: object) -> list[str]:
    return [part.text for artifact in task.artifacts for part in artifact.parts if part.text]  # type: ignore[attr-defined]


async def client(server: Server, token: str | None, binding: str, streaming: bool, agent: str) -> Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx.AsyncClient(headers=headers, timeout=60)
    card = await A2ACardResolver(http, f"{server.url}/a2a/{agent}").get_agent_card()
    config = ClientConfig(
        httpx_client=http,
        grpc_channel_factory=lambda url: grpc.aio.insecure_channel(url.removeprefix("http://")),
        streaming=streaming,
        supported_protocol_bindings=[binding],
    )
    # Over HTTP the client has the token itself.
    interceptors = [AuthInterceptor(Token(token))] if token and binding == "GRPC" else []
    return ClientFactory(config).create(card, interceptors)


async def walk(server: Server, token: str, binding: str) -> None:
    agent = await client(server, token, binding, False, "plenary.echo")
    (whole,) = [event async for event in agent.send_message(SendMessageRequest(message=said("Hello")))]
    task = whole.task
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
    assert texts(task) == ["Hello"], task
    again = await agent.get_task(GetTaskRequest(id=task.id))
    assert again.status.state == TaskState.TASK_STATE_COMPLETED and texts(again) == ["Hello"], again

    # Where to hear of a task.
    config = TaskPushNotificationConfig(task_id=task.id, id="mine", url="https://example.org/hook", token="t")
    made = await agent.create_task_push_notification_config(config)
    assert (made.task_id, made.id, made.url) == (task.id, "mine", "https://example.org/hook"), made
    got = await agent.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task.id, id="mine"))
    assert got == made, got
    every = await agent.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    assert list(every.configs) == [made], every
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
    await agent.delete_task_push_notification_config(gone)
    # To remove it again succeeds.
    await agent.delete_task_push_notification_config(gone)
    every = await agent.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
    assert not every.configs, every

    # A second task of the same context.
    (second,) = [e async for e in agent.send_message(SendMessageRequest(message=said("More", context_id=task.context_id)))]
    assert second.task.context_id == task.context_id and second.task.id != task.id
    listed = await agent.list_tasks(ListTasksRequest(context_id=task.context_id))
    assert [one.id for one in listed.tasks] == [second.task.id, task.id], listed
    assert listed.total_size == 2 and not listed.next_page_token

    # Streaming: the task first, then what comes, and its end.
    stream = await client(server, token, binding, True, "plenary.echo")
    events = [e async for e in stream.send_message(SendMessageRequest(message=said("a b", demo=["deltas", "artifact"])))]
    assert events[0].HasField("task"), events
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, events
    artifacts = [e.artifact_update.artifact for e in events if e.HasField("artifact_update")]
    assert any(a.name == "echo.txt" and a.parts[0].text == "a b" for a in artifacts), artifacts

    # Input: a message with the same taskId answers.
    asking = SendMessageRequest(message=said("A form", demo=["wait_for_input"]))
    events = [e async for e in stream.send_message(asking)]
    last = events[-1].status_update
    assert last.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, events
    waiting = await agent.get_task(GetTaskRequest(id=last.task_id))
    assert waiting.status.message.parts[0].text, waiting
    answer = SendMessageRequest(message=said("yes", task_id=last.task_id, context_id=last.context_id))
    (answered,) = [e async for e in agent.send_message(answer)]
    assert answered.task.status.state == TaskState.TASK_STATE_COMPLETED, answered
    try:
        [e async for e in agent.send_message(SendMessageRequest(message=said("more", task_id=last.task_id)))]
        raise AssertionError("a task that is over took a message")
    except UnsupportedOperationError:
        pass

    # Canceling, and following what goes on already.
    slow = SendMessageRequest(message=said("slow", demo=["slow"]))
    slow.configuration.return_immediately = True
    (begun,) = [e async for e in agent.send_message(slow)]
    following = stream.subscribe(SubscribeToTaskRequest(id=begun.task.id))
    first = await anext(following)
    assert first.task.id == begun.task.id, first
    canceled = await agent.cancel_task(CancelTaskRequest(id=begun.task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED, canceled
    rest = [event async for event in following]
    assert rest[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED, rest
    for call, error in [
        (agent.cancel_task(CancelTaskRequest(id=begun.task.id)), TaskNotCancelableError),
        (agent.get_task(GetTaskRequest(id="run_00000000000000000000000000")), TaskNotFoundError),
    ]:
        try:
            await call
            raise AssertionError(f"{error} was not raised")
        except error:
            pass
    card = await agent.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert card.capabilities.streaming and card.skills[0].id == "chat", card


async def seated(server: Server, token: str, binding: str) -> None:
    """An agent that only takes part in sessions: its message ends the task."""
    ann = server.agent("@ann.laptop", policy="open", visibility="public") if binding == "JSONRPC" else server.ann
    server.ann = ann
    agent = await client(server, token, binding, True, "ann.laptop")
    stream = agent.send_message(SendMessageRequest(message=said("Are you there?")))
    first = await anext(stream)
    assert first.task.status.state == TaskState.TASK_STATE_SUBMITTED, first
    session = first.task.context_id
    server.ask("POST", f"/sessions/{session}/join", {}, ann)
    server.ask("POST", f"/sessions/{session}/messages", {"content": "I am."}, ann)
    events = [event async for event in stream]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, events
    task = await agent.get_task(GetTaskRequest(id=first.task.id))
    assert texts(task) == ["I am."], task
    listed = await agent.list_tasks(ListTasksRequest(context_id=session))
    assert [one.id for one in listed.tasks] == [task.id], listed


def present(value: Any) -> Any:
    """A card as it is signed: what is empty is not set, and what is not set is not signed (section 8.4.1)."""
    empty: tuple[Any, ...] = ("", [], {}, None)
    if isinstance(value, dict):
        return {name: kept for name, one in value.items() if (kept := present(one)) not in empty}
    if isinstance(value, list):
        return [kept for one in value if (kept := present(one)) not in empty]
    return value


def verified(card: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    """The protected header of a card's signature, once PyJWT has verified it over the card's canonical form (RFC 8785)."""
    (signature,) = card["signatures"]
    unsigned = present({name: value for name, value in card.items() if name != "signatures"})
    payload = base64.urlsafe_b64encode(rfc8785.dumps(unsigned)).rstrip(b"=").decode()
    compact = f"{signature['protected']}.{payload}.{signature['signature']}"
    header = jwt.get_unverified_header(compact)
    (key,) = [key for key in keys["keys"] if key["kid"] == header["kid"]]
    assert jwt.PyJWS().decode(compact, jwt.PyJWK(key), algorithms=["ES256"]) == rfc8785.dumps(unsigned)
    return header


async def signed(server: Server, token: str) -> None:
    """Section 8.4: the card and the extended card are signed by the key that they name, and a card that was changed is not."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}", "A2A-Version": "1.0"}) as http:
        base = f"{server.url}/a2a/plenary.echo"
        card = (await http.get(f"{base}/.well-known/agent-card.json")).json()
        extended = (await http.get(f"{base}/extendedAgentCard")).json()
        header = jwt.get_unverified_header(f"{card['signatures'][0]['protected']}..")
        assert header["jku"] == f"{server.url}/.well-known/jwks.json" and header["alg"] == "ES256", header
        keys = (await httpx.AsyncClient().get(header["jku"])).json()
        for whole in card, extended:
            assert verified(whole, keys)["kid"] == header["kid"]
        public = ec.generate_private_key(ec.SECP256R1()).public_key()
        others = {"keys": [ECAlgorithm.to_jwk(public, as_dict=True) | {"kid": header["kid"]}]}
        tampered = [
            ({**card, "name": "@mallory.echo"}, keys),
            ({**card, "supportedInterfaces": [{**card["supportedInterfaces"][0], "url": "https://mallory.example"}]}, keys),
            (card, others),
        ]
        for changed, known in tampered:
            try:
                verified(changed, known)
            except jwt.InvalidSignatureError:
                continue
            raise AssertionError(f"a card that was not signed passed: {changed}")


def schema() -> None:
    """The schema that the server reads messages by is that of the SDK, but for comments and options."""
    theirs, ours = FileDescriptorProto(), FileDescriptorProto()
    a2a_pb2.DESCRIPTOR.CopyToProto(theirs)
    ours.ParseFromString(SCHEMA.read_bytes())
    assert ours.package == theirs.package == "lf.a2a.v1"
    for file in theirs, ours:
        for message in file.message_type:
            for field in message.field:
                field.ClearField("options")
                field.ClearField("json_name")
        for service in file.service:
            for method in service.method:
                method.ClearField("options")
    for members in "message_type", "enum_type", "service":
        assert list(getattr(theirs, members)) == list(getattr(ours, members)), members


async def main() -> None:
    schema()
    with Server() as server:
        token = server.agent("@nick.laptop", policy="open")
        await signed(server, token)
        for binding in ["JSONRPC", "HTTP+JSON", "GRPC"]:
            await walk(server, token, binding)
            await seated(server, token, binding)
        # A public card needs no token; of any other it is needed.
        server.agent("@bob.hidden")
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, f"{server.url}/a2a/ann.laptop").get_agent_card()
            assert card.name == "@ann.laptop", card
            answers = [
                (await http.get(f"{server.url}/a2a/{name}/.well-known/agent-card.json"))
                for name in ["bob.hidden", "nobody.there", "plenary.echo"]
            ]
            assert {answer.status_code for answer in answers} == {401}
            assert len({answer.content for answer in answers}) == 1
    print("a2a-sdk: passed")


asyncio.run(main())
