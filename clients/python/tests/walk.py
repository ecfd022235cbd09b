"""A walk through every operation, asynchronous; the test turns it into the synchronous one as well."""

from __future__ import annotations

import hashlib
import time
import uuid
from contextlib import aclosing
from datetime import datetime, timezone

import pytest
from conftest import Server

from plenary_client import AsyncPlenary, ConflictError, ForbiddenError, InvalidError, NotFoundError, types

STRICT = {"prefer": "handling=strict"}
"""The server refuses members that it does not know."""


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def frame(owner: str, text: str) -> types.FrameAgentAdvisory:
    return {
        "envelope_version": "1.0",
        "frame_id": str(uuid.uuid4()),
        "kind": "agent_advisory",
        "sender_handle": f"~{owner}",
        "recipient_handle": f"~{owner}",
        "created_at": now(),
        "payload": {"advisory_text": text},
        "acted_by": f"~{owner}",
        "drafted_with": "~test",
        "provenance_compute_location": "local-only",
        "provenance_method": ["test"],
        "provenance_context_check": "skipped",
        "provenance_basis": "test",
    }


async def walk(server: Server, calls: list[str]) -> None:
    def client(token: str | None) -> AsyncPlenary:
        return AsyncPlenary(server.url, token, headers=STRICT, on_call=calls.append)

    async with client(server.operator) as operator, client(None) as nobody:
        assert (await nobody.server.health())["ok"]
        assert (await nobody.server.health_alias())["status"] == "ok"
        assert (await nobody.server.ready())["status"] == "ready"
        assert "# Plenary" in await nobody.server.guide()
        assert "plenary" in await nobody.server.metrics()
        assert (await nobody.server.openapi())["info"]["title"] == "Plenary"
        assert (await nobody.mcp.metadata())["resource"]
        assert (await nobody.mcp.metadata_of_path())["resource"]
        await peers(operator)
        owner_token = await owners(operator)
        async with client(owner_token) as owner:
            ann_token, bob_token = await agents(operator, owner)
            async with client(ann_token) as ann, client(bob_token) as bob:
                await me(ann)
                await contacts(ann, bob)
                await sessions(ann, bob, owner)
                await inbox(ann, bob, owner)
                await frames(ann)
                await channels(ann)
                await runs(ann, operator)
                await context(ann, owner)
                await requests(ann, owner)
                await notifications(owner)
                await overseeing(owner)
                assert (await ann.search.all(q="walk"))["agents"] is not None
                assert (await ann.search.agents(q="walk")) is not None
                assert (await ann.search.messages(q="hello"))["messages"]
            await operator.agent.delete("@ida.bob")


async def peers(operator: AsyncPlenary) -> None:
    made = await operator.peer.invite(network="https://plenary.example", peer="example", grants={})
    assert made["standing"] == "invited" and made["code"].startswith("plp_")
    assert [one["peer"] for one in (await operator.peer.list())["peers"]] == ["example"]
    with pytest.raises(NotFoundError):
        await operator.peer.check("example")
    with pytest.raises(ConflictError):
        await operator.peer.invite(network="https://plenary.example", peer="other", grants={})
    with pytest.raises(InvalidError):
        await operator.peer.accept(network="https://other.example", peer="other", code="no code", grants={})
    await operator.peer.revoke("example")


async def owners(operator: AsyncPlenary) -> str:
    made = await operator.owner.create(owner="ida")
    assert "ida" in [one["owner"] for one in (await operator.owner.list(limit=100))["owners"]]
    token = (await operator.owner.rotate_token("ida"))["token"]
    assert token != made["token"]
    await operator.org.put("acme")
    await operator.org.set_member("acme", "~ida", roles=["lead"])
    assert (await operator.org.get("acme"))["members"][0]["handle"] == "~ida"
    await operator.org.remove_member("acme", "~ida")
    assert (await operator.org.get("acme"))["members"] == []
    return token


async def agents(operator: AsyncPlenary, owner: AsyncPlenary) -> tuple[str, str]:
    ann = await owner.agent.create(handle="@ida.ann", policy="open", self_service=True)
    bob = await owner.agent.create(handle="@ida.bob", policy="open")
    assert [one["handle"] for one in (await owner.agent.list())["agents"]] == ["@ida.ann", "@ida.bob"]
    assert (await owner.agent.get("@ida.ann"))["self_service"]
    changed = await owner.agent.update("@ida.ann", display_name="Ann of the walk", card_body="# Ann", visibility="public")
    assert changed["display_name"] == "Ann of the walk"
    assert (await owner.agent.update("@ida.ann", display_name=None))["display_name"] == "@ida.ann"
    assert (await owner.agent.allow("@ida.ann", entries=["@jon.*"]))["entries"] == ["@jon.*"]
    assert (await owner.agent.allowlist("@ida.ann"))["entries"] == ["@jon.*"]
    assert (await owner.agent.disallow("@ida.ann", "@jon.*"))["entries"] == []
    await operator.agent.create(handle="@jon.pest")
    assert (await owner.agent.block("@ida.ann", handle="@jon.pest"))["blocked_handle"] == "@jon.pest"
    assert len((await owner.agent.blocks("@ida.ann"))["blocks"]) == 1
    assert (await owner.agent.unblock("@ida.ann", "@jon.pest"))["unblocked"]
    rotated = await owner.agent.rotate_token("@ida.ann")
    assert rotated["token"] != ann["token"]
    made = await owner.agent.create_token("@ida.ann", scope="read", expires_in=60, name="walk")
    assert [one["id"] for one in (await owner.agent.tokens("@ida.ann"))["tokens"]] == [made["id"]]
    await owner.agent.revoke_token("@ida.ann", made["id"])
    assert (await owner.usage.get())["owner"] == "ida"
    return rotated["token"], bob["token"]


async def me(ann: AsyncPlenary) -> None:
    made = await ann.me.create_token(scope="read sessions:write", expires_in=60)
    assert [one["scope"] for one in (await ann.me.tokens())["tokens"]] == [made["scope"]]
    await ann.me.revoke_token(made["id"])
    assert (await ann.me.get())["handle"] == "@ida.ann"
    assert (await ann.me.update(description="walks"))["description"] == "walks"
    assert (await ann.me.allow(entries=["@kim.*"]))["entries"] == ["@kim.*"]
    assert (await ann.me.allowlist())["entries"] == ["@kim.*"]
    assert (await ann.me.disallow("@kim.*"))["entries"] == []
    await ann.me.block(handle="@jon.pest")
    assert len((await ann.me.blocks())["blocks"]) == 1
    await ann.me.unblock("@jon.pest")
    assert "@ida.bob" in [one["handle"] for one in (await ann.agent.reachable())["agents"]]
    assert (await ann.agent.profile("ida", "ann"))["agent"]["canonical_handle"] == "@ida.ann"
    assert "# Ann" in await ann.agent.card("ida", "ann")
    assert (await ann.auth.ticket())["expires_in"] > 0


async def contacts(ann: AsyncPlenary, bob: AsyncPlenary) -> None:
    first = (await bob.contact.request(to="@ida.ann", message="hello"))["request_id"]
    assert [one["request_id"] for one in (await ann.contact.list())["contacts"]] == [first]
    assert (await ann.contact.decline(first))["ok"]
    second = (await bob.contact.request(to="@ida.ann"))["request_id"]
    assert (await ann.contact.accept(second))["ok"]


async def sessions(ann: AsyncPlenary, bob: AsyncPlenary, owner: AsyncPlenary) -> None:
    uploaded = await ann.file.upload(b"Q3 was good.", filename="q3.txt", content_type="text/plain")
    opened = await ann.session.create(
        invite=["@ida.bob"], topic="The walk", initial_message={"content": "hello there"}
    )
    identity = opened["session_id"]
    assert (await bob.session.join(identity))["ok"]
    part: types.PartFile = {"type": "file", "file_id": uploaded["id"]}
    sent = await ann.session.send(identity, content=[{"type": "text", "text": "Here it is."}, part])
    assert await bob.file.get(uploaded["id"]) == b"Q3 was good."
    assert (await ann.message.status(identity, sent["sequence"]))["recipients"][0]["agent"] == "@ida.bob"
    assert (await bob.session.show(identity))["topic"] == "The walk"
    assert [one["id"] for one in (await bob.session.list())["sessions"]] == [identity]
    page = await bob.session.events(identity, after_sequence=1, limit=1)
    assert page["events"][0]["sequence"] == 2
    assert (await owner.agent.sessions("@ida.ann"))["sessions"][0]["id"] == identity
    assert (await owner.owner.sessions())["sessions"][0]["seen_by"] == ["@ida.ann", "@ida.bob"]
    assert (await owner.agent.session("@ida.ann", identity))["id"] == identity
    assert (await owner.agent.session_events("@ida.ann", identity))["events"]
    async with aclosing(ann.streams.session(identity)) as events:
        async for event in events:
            assert event["type"] == "session.message" and event["payload"]["content"] == "hello there"
            break
    await bob.session.leave(identity)
    assert (await ann.session.invite(identity, invite=["@ida.bob"]))["invited"] == ["@ida.bob"]
    assert (await ann.session.end(identity))["ok"]
    assert (await ann.session.reopen(identity, invite=["@ida.bob"]))["ok"]


async def inbox(ann: AsyncPlenary, bob: AsyncPlenary, owner: AsyncPlenary) -> None:
    page = await bob.inbox.read(limit=10)
    assert page["items"]
    assert (await bob.inbox.wait(timeout_s=1))["items"]
    assert (await owner.agent.inbox("@ida.bob"))["items"]
    told = await bob.inbox.session(session="s-1", client="test", event="start")
    assert told["live"]
    assert (await bob.inbox.sessions())["sessions"][0]["session"] == "s-1"
    assert (await bob.inbox.attention(session="s-1", attention="open"))["attention"] == "open"
    seen = (await ann.who(query="bob"))["agents"][0]
    assert seen["handle"] == "@ida.bob" and seen["sessions"][0]["session"] == "s-1"
    shared = (await ann.session.list())["sessions"][0]["id"]
    assert (await ann.inbox.address(agent="@ida.bob", coding_session="s-1", session_id=shared))["live"]
    items = [item["id"] for item in page["items"]]
    assert (await bob.inbox.shown(session="s-1", client="test", event="prompt", cursor=page["cursor"], items=items))
    assert (await bob.inbox.ack(cursor=page["cursor"], state="acknowledged")) is not None


async def frames(ann: AsyncPlenary) -> None:
    assert (await ann.frame.retention("~ida"))["max_events"] > 0
    submitted = await ann.frame.submit(frame("ida", "walking"), scope="~ida/*")
    assert submitted["delivered_count"] == 0
    async with aclosing(ann.streams.frames("~ida", retained=True)) as stream:
        async for found in stream:
            assert found["kind"] == "agent_advisory" and found["payload"]["advisory_text"] == "walking"
            assert (await ann.frame.roster("~ida"))["roster"][0]["agent"] == "@ida.ann"
            break


async def channels(ann: AsyncPlenary) -> None:
    made = await ann.channel.create(title="The walk")
    identity = made["id"]
    assert [one["id"] for one in await ann.channel.list(include_closed=True)] == [identity]
    appended = await ann.channel.append(identity, kind="spec", payload={"mission": "walk"})
    assert "id" in appended
    assert "valid" in await ann.channel.append(identity, kind="spec", payload={}, validate=True)
    await ann.channel.append(identity, kind="state", payload={"v": 2})
    await ann.channel.append(identity, kind="status", payload={"agent": "@ida.ann", "phase": "working"})
    assert (await ann.channel.spec(identity))["mission"] == "walk"
    assert (await ann.channel.state(identity))["v"] == 2
    assert (await ann.channel.presence(identity))["agents"][0]["agent"] == "@ida.ann"
    assert (await ann.channel.events(identity, kind="spec"))[0]["kind"] == "spec"
    assert (await ann.channel.show(identity))["channel"]["title"] == "The walk"
    async with aclosing(ann.streams.channel(identity, after=0)) as stream:
        async for event in stream:
            assert event["kind"] == "spec"
            break
    assert (await ann.channel.key(identity))["url"] != made["url"]
    assert (await ann.channel.close(identity))["closed_at"]


async def runs(ann: AsyncPlenary, operator: AsyncPlenary) -> None:
    assert ("echo", "/agent/echo") in [tuple(one) for one in await ann.run.agents()]
    assert "/agent/echo" in await ann.run.discovery()
    assert (await ann.run.descriptors())[0]["name"] == "echo"
    assert (await ann.run.describe("echo"))["name"] == "echo"
    done = await ann.run.run("echo", input="hello", wait="result")
    assert done is not None and done["type"] == "RunCompleted"
    assert await ann.run.run("echo", input="hello", thread_id=done["thread_id"]) is None
    run_id = done["run_id"]
    assert (await ann.run.show("echo", run_id))["status"] == "completed"
    assert (await ann.run.events("echo", run_id=run_id, since="0"))[0]["type"] == "RunStarted"
    assert (await ann.run.events_of("echo", run_id, since="0"))[-1]["type"] == "RunCompleted"
    assert (await ann.run.threads("echo"))[0]["thread_id"] == done["thread_id"]
    assert (await ann.run.thread(done["thread_id"]))["thread_id"] == done["thread_id"]
    artifact = ""
    asked = ann.streams.ask("echo", "a report", more={"request_metadata": {"demo": ["deltas", "artifact"]}})
    kinds = []
    async for event in asked:
        kinds.append(event["type"])
        artifact = event.get("artifact_id", artifact)
    assert kinds[0] == "RunStarted" and "TextDelta" in kinds and kinds[-1] == "RunCompleted"
    assert await ann.run.artifact(artifact) == b"a report"
    assert (await operator.run.configure("echo", args={"tone": "plain"}))["type"] == "RunCompleted"
    assert (await operator.run.stop_agent("echo"))["stopped"]
    with pytest.raises(ConflictError, match="agent_stopped"):
        await ann.run.run("echo", input="hello")
    assert not (await operator.run.start_agent("echo")).get("stopped")
    with pytest.raises(ConflictError, match="agent_configured"):
        await operator.run.dismiss_agent("echo")


async def context(ann: AsyncPlenary, owner: AsyncPlenary) -> None:
    assert (await ann.context.conformance())["conformance_level"]
    await ann.context.create_project(project_id="walk", name="The walk")
    assert [one["project_id"] for one in (await ann.context.projects())["projects"]] == ["walk"]
    assert (await ann.context.edit_project("walk", description="A walk"))["description"] == "A walk"
    assert (await ann.context.project("walk"))["name"] == "The walk"
    session = await ann.context.start_session("walk")
    package: types.ContextPackage = {
        "package_id": "pkg/1",
        "project_id": "walk",
        "relay_version": "0.1",
        "title": "Walked",
        "status": "complete",
        "package_type": "standard",
        "review_type": "none",
        "created_at": now(),
        "created_by": {"id": "@ida.ann", "type": "agent"},
    }
    deposited = await ann.context.deposit("walk", package)
    assert (await ann.context.get("pkg/1", project="walk"))["content_hash"] == deposited["content_hash"]
    assert (await ann.context.pull("walk", limit=5))["packages"][0].get("title") == "Walked"
    # A package has members of its author's choice, too.
    waits = {**package, "package_id": "pkg-2", "status": "awaiting_review", "review_type": "human", "summary": "Far"}
    assert dict(await ann.context.deposit("walk", waits))["summary"] == "Far"
    assert (await ann.context.awaiting_review("walk"))["packages"]
    assert (await ann.context.flag("pkg-2", review_type="human", project="walk"))["status"] == "awaiting_review"
    assert (await owner.context.review("pkg-2", status="complete", project="walk"))["status"] == "complete"
    assert (await ann.context.reviews("pkg-2", project="walk"))["reviews"]
    fact = await ann.context.assert_fact("walk", subject="walk", predicate="length", value="7")
    assert fact["value"] == "7"
    assert (await ann.context.facts("walk", subject="walk"))["facts"][0]["value"] == "7"
    assert (await ann.context.invalidate_fact("walk", subject="walk", predicate="length")) is not None
    content = b"a deliverable"
    digest = hashlib.sha256(content).hexdigest()
    assert (await ann.context.put_blob("walk", digest, content))["size_bytes"] == len(content)
    assert await ann.context.get_blob("walk", digest) == content
    assert (await ann.context.orient("walk")) is not None
    assert (await ann.context.orchestrate(focus="walk")) is not None
    async with aclosing(ann.streams.context("walk", after="0")) as stream:
        async for event in stream:
            assert event["id"] and event["data"] is not None
            break
    assert (await ann.context.sessions("walk"))["sessions"][0]["session_id"] == session["session_id"]
    assert (await ann.context.session("walk", session["session_id"]))["session_id"] == session["session_id"]
    assert (await ann.context.end_session("walk", session["session_id"]))["ended_at"]
    assert (await owner.context.share("walk", "@jon.*", role="reader"))["role"] == "reader"
    assert (await owner.context.members("walk"))["members"]
    await owner.context.unshare("walk", "@jon.*")
    exported = await owner.context.export("walk")
    assert await owner.context.export_all()
    assert (await owner.context.import_(exported.encode(), dry_run=True))["dry_run"]
    assert (await owner.context.archive("walk"))["project_id"] == "walk"
    assert (await owner.context.unarchive("walk"))["project_id"] == "walk"


async def requests(ann: AsyncPlenary, owner: AsyncPlenary) -> None:
    async def ask(title: str) -> types.Request:
        action: types.RequestedActionSent = {"name": "Bash", "args": {"command": "cargo test"}}
        return await ann.request.make(kind="permission", title=title, action=action, directory="/src")

    asked = await ask("Run the tests")
    identity = asked["request_id"]
    assert [one["request_id"] for one in (await owner.request.list())["requests"]] == [identity]
    assert (await owner.request.interrupts())["interrupts"][0]["id"] == identity
    assert (await owner.request.snooze(identity, until=int(time.time() * 1000) + 3_600_000))["snoozed_until"]
    assert (await owner.request.link(identity))["url"]
    await owner.person.create(handle="@ida.mara", display_name="Mara")
    delegated = await owner.request.delegate(identity, to="@ida.mara")
    answered = await owner.request.answer(
        identity, type="accept", version=delegated["version"], undo_seconds=60
    )
    assert (await owner.request.undo(identity))["version"] > answered["version"]
    assert (await owner.request.interrupt_response(identity, type="accept", args=None))["answer"]
    assert (await ann.request.get(identity, wait=1))["state"] == "answered"
    second = await ask("Run them again")
    await ann.request.withdraw(second["request_id"])
    third = await ask("And again")
    rule: types.NewRequestRule = {"agent": "@ida.ann", "tool": "Bash", "expires_in_days": 1}
    done = await owner.request.answer_many(
        answers=[{"request_id": third["request_id"], "type": "accept", "version": third["version"], "rule": rule}]
    )
    assert done["results"][0]["request_id"] == third["request_id"]
    for known in (await owner.request.rules())["rules"]:
        await owner.request.remove_rule(known["rule_id"])


async def notifications(owner: AsyncPlenary) -> None:
    made = await owner.notify.create(target={"kind": "webhook", "url": "https://hook.invalid/x"}, events=["request.created"])
    known = made["subscription"]["subscription_id"]
    assert [one["subscription_id"] for one in (await owner.notify.list())["subscriptions"]] == [known]
    assert (await owner.notify.change(known, name="Hook"))["name"] == "Hook"
    assert (await owner.notify.read(known))["enabled"]
    assert not (await owner.notify.test(known))["delivered"]
    assert (await owner.notify.push_key())["public_key"]
    assert (await owner.notify.dead())["notifications"] == []
    with pytest.raises(NotFoundError):
        await owner.notify.retry("ntc_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    await owner.notify.remove(known)


async def overseeing(owner: AsyncPlenary) -> None:
    assert "@ida.ann" in [one["handle"] for one in (await owner.overview())["agents"]]
    assert (await owner.audit.list())["entries"] == []
    assert (await owner.console.link(role="viewer"))["url"]
    assert (await owner.console.sessions())["sessions"] == []
    with pytest.raises(NotFoundError):
        await owner.console.sign_out("nothing")
    assert (await owner.passkey.list())["passkeys"] == []
    with pytest.raises(NotFoundError):
        await owner.passkey.remove("nothing")
    with pytest.raises(ConflictError, match="passkeys_unavailable"):
        await owner.passkey.challenge()
    with pytest.raises(ForbiddenError, match="session_required"):
        await owner.passkey.add(name="Phone", client_data="e30", authenticator_data="AA")
    async with aclosing(owner.streams.watch(kinds="session.message", after="0")) as stream:
        async for event in stream:
            assert event["kind"] == "session.message" and "@ida.ann" in event["agents"]
            break
