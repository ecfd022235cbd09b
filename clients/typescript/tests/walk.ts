// A walk through every operation.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ConflictError, ForbiddenError, InvalidError, NotFoundError, Plenary, type types } from "../src/index.js";
import type { Server } from "./server.js";

function now(): string {
  return new Date().toISOString().replace(/\.\d+/, "");
}

export function frame(owner: string, text: string): types.FrameAgentAdvisory {
  return {
    envelope_version: "1.0",
    frame_id: randomUUID(),
    kind: "agent_advisory",
    sender_handle: `~${owner}`,
    recipient_handle: `~${owner}`,
    created_at: now(),
    payload: { advisory_text: text },
    acted_by: `~${owner}`,
    drafted_with: "~test",
    provenance_compute_location: "local-only",
    provenance_method: ["test"],
    provenance_context_check: "skipped",
    provenance_basis: "test",
  };
}

async function first<T>(stream: AsyncGenerator<T, void>): Promise<T> {
  for await (const one of stream) return one;
  throw new Error("the stream has ended");
}

const handles = (agents: { handle: string }[]): string[] => agents.map((agent) => agent.handle);

export async function walk(server: Server, calls: Set<string>): Promise<void> {
  // The server refuses members that it does not know.
  const client = (token?: string): Plenary =>
    new Plenary({
      url: server.url,
      token,
      headers: { prefer: "handling=strict" },
      onCall: (operation) => calls.add(operation),
    });
  const operator = client(readFileSync(join(server.directory, "data/operator-token"), "utf8").trim());
  const nobody = client();
  assert.equal((await nobody.server.health()).ok, true);
  assert.equal((await nobody.server.healthAlias()).status, "ok");
  assert.equal((await nobody.server.ready()).status, "ready");
  assert.match(await nobody.server.guide(), /# Plenary/);
  assert.match(await nobody.server.metrics(), /plenary/);
  assert.ok(await nobody.server.openapi());
  assert.ok((await nobody.mcp.metadata()).resource);
  assert.ok((await nobody.mcp.metadataOfPath()).resource);
  await peers(operator);
  const owner = client(await owners(operator));
  const [annToken, bobToken] = await agents(operator, owner);
  const [ann, bob] = [client(annToken), client(bobToken)];
  await me(ann);
  await contacts(ann, bob);
  await sessions(ann, bob, owner);
  await inbox(bob, owner);
  await frames(ann);
  await channels(ann);
  await runs(ann, operator);
  await context(ann, owner);
  await requests(ann, owner);
  await notifications(owner);
  await overseeing(owner);
  assert.ok((await ann.search.all({ q: "walk" })).agents);
  assert.ok(await ann.search.agents({ q: "walk" }));
  assert.equal((await ann.search.messages({ q: "hello" })).messages.length, 1);
  await operator.agent.delete("@ida.bob");
}

async function peers(operator: Plenary): Promise<void> {
  const made = await operator.peer.invite({ network: "https://plenary.example", peer: "example", grants: {} });
  assert.equal(made.standing, "invited");
  assert.match(made.code, /^plp_/);
  assert.deepEqual((await operator.peer.list()).peers.map((one) => one.peer), ["example"]);
  await assert.rejects(operator.peer.check("example"), NotFoundError);
  const code = "no code";
  await assert.rejects(
    operator.peer.accept({ network: "https://other.example", peer: "other", code, grants: {} }),
    InvalidError,
  );
  await operator.peer.revoke("example");
}

async function owners(operator: Plenary): Promise<string> {
  const made = await operator.owner.create({ owner: "ida" });
  assert.ok((await operator.owner.list({ limit: 100 })).owners.some((one) => one.owner === "ida"));
  const { token } = await operator.owner.rotateToken("ida");
  assert.notEqual(token, made.token);
  await operator.org.put("acme");
  await operator.org.setMember("acme", "~ida", { roles: ["lead"] });
  assert.equal((await operator.org.get("acme")).members[0]?.handle, "~ida");
  await operator.org.removeMember("acme", "~ida");
  assert.equal((await operator.org.get("acme")).members.length, 0);
  return token;
}

async function agents(operator: Plenary, owner: Plenary): Promise<[string, string]> {
  await owner.agent.create({ handle: "@ida.ann", policy: "open", self_service: true });
  const bob = await owner.agent.create({ handle: "@ida.bob", policy: "open" });
  assert.deepEqual(handles((await owner.agent.list()).agents), ["@ida.ann", "@ida.bob"]);
  assert.equal((await owner.agent.get("@ida.ann")).self_service, true);
  const profile = { display_name: "Ann of the walk", card_body: "# Ann", visibility: "public" } as const;
  assert.equal((await owner.agent.update("@ida.ann", profile)).display_name, "Ann of the walk");
  assert.equal((await owner.agent.update("@ida.ann", { display_name: null })).display_name, "@ida.ann");
  assert.deepEqual((await owner.agent.allow("@ida.ann", { entries: ["@jon.*"] })).entries, ["@jon.*"]);
  assert.deepEqual((await owner.agent.allowlist("@ida.ann")).entries, ["@jon.*"]);
  assert.deepEqual((await owner.agent.disallow("@ida.ann", "@jon.*")).entries, []);
  await operator.agent.create({ handle: "@jon.pest" });
  assert.equal((await owner.agent.block("@ida.ann", { handle: "@jon.pest" })).blocked_handle, "@jon.pest");
  assert.equal((await owner.agent.blocks("@ida.ann")).blocks.length, 1);
  assert.ok((await owner.agent.unblock("@ida.ann", "@jon.pest")).unblocked);
  assert.equal((await owner.usage.get()).owner, "ida");
  const made = await owner.agent.createToken("@ida.ann", { scope: "read", expires_in: 60, name: "walk" });
  assert.deepEqual((await owner.agent.tokens("@ida.ann")).tokens.map((one) => one.id), [made.id]);
  await owner.agent.revokeToken("@ida.ann", made.id);
  return [(await owner.agent.rotateToken("@ida.ann")).token, bob.token];
}

async function me(ann: Plenary): Promise<void> {
  const made = await ann.me.createToken({ scope: "read sessions:write", expires_in: 60 });
  assert.deepEqual((await ann.me.tokens()).tokens.map((one) => one.scope), [made.scope]);
  await ann.me.revokeToken(made.id);
  assert.equal((await ann.me.get()).handle, "@ida.ann");
  assert.equal((await ann.me.update({ description: "walks" })).description, "walks");
  assert.deepEqual((await ann.me.allow({ entries: ["@kim.*"] })).entries, ["@kim.*"]);
  assert.deepEqual((await ann.me.allowlist()).entries, ["@kim.*"]);
  assert.deepEqual((await ann.me.disallow("@kim.*")).entries, []);
  await ann.me.block({ handle: "@jon.pest" });
  assert.equal((await ann.me.blocks()).blocks.length, 1);
  await ann.me.unblock("@jon.pest");
  assert.ok(handles((await ann.agent.reachable()).agents).includes("@ida.bob"));
  assert.equal((await ann.agent.profile("ida", "ann")).agent.canonical_handle, "@ida.ann");
  assert.match(await ann.agent.card("ida", "ann"), /# Ann/);
  assert.ok((await ann.auth.ticket()).expires_in > 0);
}

async function contacts(ann: Plenary, bob: Plenary): Promise<void> {
  const asked = await bob.contact.request({ to: "@ida.ann", message: "hello" });
  assert.deepEqual((await ann.contact.list()).contacts.map((one) => one.request_id), [asked.request_id]);
  assert.ok((await ann.contact.decline(asked.request_id)).ok);
  const again = await bob.contact.request({ to: "@ida.ann" });
  assert.ok((await ann.contact.accept(again.request_id)).ok);
}

async function sessions(ann: Plenary, bob: Plenary, owner: Plenary): Promise<void> {
  const uploaded = await ann.file.upload(new Blob(["Q3 was good."], { type: "text/plain" }), "q3.txt");
  const { session_id: id } = await ann.session.create({
    invite: ["@ida.bob"],
    topic: "The walk",
    initial_message: { content: "hello there" },
  });
  assert.ok((await bob.session.join(id)).ok);
  const sent = await ann.session.send(id, {
    content: [
      { type: "text", text: "Here it is." },
      { type: "file", file_id: uploaded.id },
    ],
  });
  assert.equal(new TextDecoder().decode(await bob.file.get(uploaded.id)), "Q3 was good.");
  assert.equal((await ann.message.status(id, sent.sequence)).recipients[0]?.agent, "@ida.bob");
  assert.equal((await bob.session.show(id)).topic, "The walk");
  assert.deepEqual((await bob.session.list()).sessions.map((one) => one.id), [id]);
  assert.equal((await bob.session.events(id, { afterSequence: 1, limit: 1 })).events[0]?.["sequence"], 2);
  assert.equal((await owner.agent.sessions("@ida.ann")).sessions[0]?.id, id);
  assert.deepEqual((await owner.owner.sessions()).sessions[0]?.seen_by, ["@ida.ann", "@ida.bob"]);
  assert.equal((await owner.agent.session("@ida.ann", id)).id, id);
  assert.ok((await owner.agent.sessionEvents("@ida.ann", id)).events.length);
  const event = await first(ann.streams.session(id));
  assert.ok(event.type === "session.message" && event.payload.content === "hello there");
  await bob.session.leave(id);
  assert.deepEqual((await ann.session.invite(id, { invite: ["@ida.bob"] })).invited, ["@ida.bob"]);
  assert.ok((await ann.session.end(id)).ok);
  assert.ok((await ann.session.reopen(id, { invite: ["@ida.bob"] })).ok);
}

async function inbox(bob: Plenary, owner: Plenary): Promise<void> {
  const page = await bob.inbox.read({ limit: 10 });
  assert.ok(page.items.length);
  assert.ok((await bob.inbox.wait({ timeoutS: 1 })).items.length);
  assert.ok((await owner.agent.inbox("@ida.bob")).items.length);
  assert.ok((await bob.inbox.session({ session: "s-1", client: "test", event: "start" })).live);
  assert.equal((await bob.inbox.sessions()).sessions[0]?.session, "s-1");
  assert.equal((await bob.inbox.attention({ session: "s-1", attention: "open" })).attention, "open");
  assert.ok((await bob.who()).agents.some((agent) => agent.handle === "@ida.bob" && agent.sessions?.[0]?.session === "s-1"));
  const [shared] = (await bob.session.list()).sessions;
  assert.ok(shared && (await bob.inbox.address({ agent: "@ida.bob", coding_session: "s-1", session_id: shared.id })).live);
  const items = page.items.map((item) => item.id);
  await bob.inbox.shown({ session: "s-1", client: "test", event: "prompt", cursor: page.cursor, items });
  assert.ok(await bob.inbox.ack({ cursor: page.cursor, state: "acknowledged" }));
}

async function frames(ann: Plenary): Promise<void> {
  assert.ok((await ann.frame.retention("~ida")).max_events > 0);
  assert.equal((await ann.frame.submit(frame("ida", "walking"), { scope: "~ida/*" })).delivered_count, 0);
  for await (const found of ann.streams.frames("~ida", { retained: true })) {
    assert.ok(found.kind === "agent_advisory" && found.payload.advisory_text === "walking");
    assert.equal((await ann.frame.roster("~ida")).roster[0]?.agent, "@ida.ann");
    break;
  }
}

async function channels(ann: Plenary): Promise<void> {
  const made = await ann.channel.create({ title: "The walk" });
  const { id } = made;
  assert.deepEqual((await ann.channel.list({ includeClosed: true })).map((one) => one.id), [id]);
  assert.ok("id" in (await ann.channel.append(id, { kind: "spec", payload: { mission: "walk" } })));
  assert.ok("valid" in (await ann.channel.append(id, { kind: "spec", payload: {} }, { validate: true })));
  await ann.channel.append(id, { kind: "state", payload: { v: 2 } });
  await ann.channel.append(id, { kind: "status", payload: { agent: "@ida.ann", phase: "working" } });
  assert.equal((await ann.channel.spec(id))["mission"], "walk");
  assert.equal((await ann.channel.state(id))["v"], 2);
  assert.equal((await ann.channel.presence(id)).agents[0]?.agent, "@ida.ann");
  assert.equal((await ann.channel.events(id, { kind: "spec" }))[0]?.kind, "spec");
  assert.equal((await ann.channel.show(id)).channel.title, "The walk");
  assert.equal((await first(ann.streams.channel(id, { after: 0 }))).kind, "spec");
  assert.notEqual((await ann.channel.key(id)).url, made.url);
  assert.ok((await ann.channel.close(id)).closed_at);
}

async function runs(ann: Plenary, operator: Plenary): Promise<void> {
  assert.deepEqual(await ann.run.agents(), [["echo", "/agent/echo"]]);
  assert.deepEqual(await ann.run.discovery(), ["/agent/echo"]);
  assert.equal((await ann.run.descriptors())[0]?.name, "echo");
  assert.equal((await ann.run.describe("echo")).name, "echo");
  const done = await ann.run.run("echo", { input: "hello" }, { wait: "result" });
  assert.equal(done?.type, "RunCompleted");
  const { run_id: runId, thread_id: threadId } = done;
  assert.equal(await ann.run.run("echo", { input: "hello", thread_id: threadId }), null);
  assert.equal((await ann.run.show("echo", runId)).status, "completed");
  assert.equal((await ann.run.events("echo", { runId, since: "0" }))[0]?.type, "RunStarted");
  assert.equal((await ann.run.eventsOf("echo", runId, { since: "0" })).at(-1)?.type, "RunCompleted");
  assert.equal((await ann.run.threads("echo"))[0]?.thread_id, threadId);
  assert.equal((await ann.run.thread(threadId)).thread_id, threadId);
  let artifact = "";
  const kinds: string[] = [];
  const more = { request_metadata: { demo: ["deltas", "artifact"] } };
  for await (const event of ann.streams.ask("echo", "a report", { more })) {
    kinds.push(event.type);
    artifact = event.artifact_id ?? artifact;
  }
  assert.ok(kinds[0] === "RunStarted" && kinds.includes("TextDelta") && kinds.at(-1) === "RunCompleted");
  assert.equal(new TextDecoder().decode(await ann.run.artifact(artifact)), "a report");
  for await (const event of ann.streams.run("echo", runId)) assert.equal(event.run_id, runId);
  assert.equal((await operator.run.configure("echo", { args: { tone: "plain" } })).type, "RunCompleted");
  assert.ok((await operator.run.stopAgent("echo")).stopped);
  await assert.rejects(ann.run.run("echo", { input: "hello" }), ConflictError);
  assert.ok(!(await operator.run.startAgent("echo")).stopped);
  await assert.rejects(operator.run.dismissAgent("echo"), /agent_configured/);
}

async function context(ann: Plenary, owner: Plenary): Promise<void> {
  assert.ok((await ann.context.conformance()).conformance_level);
  await ann.context.createProject({ project_id: "walk", name: "The walk" });
  assert.deepEqual((await ann.context.projects()).projects.map((one) => one.project_id), ["walk"]);
  assert.equal((await ann.context.editProject("walk", { description: "A walk" })).description, "A walk");
  assert.equal((await ann.context.project("walk")).name, "The walk");
  const session = await ann.context.startSession("walk");
  const content: types.ContextPackage = {
    package_id: "pkg/1",
    project_id: "walk",
    relay_version: "0.1",
    title: "Walked",
    status: "complete",
    package_type: "standard",
    review_type: "none",
    created_at: now(),
    created_by: { id: "@ida.ann", type: "agent" },
  };
  const deposited = await ann.context.deposit("walk", content);
  assert.equal((await ann.context.get("pkg/1", { project: "walk" })).content_hash, deposited.content_hash);
  assert.equal((await ann.context.pull("walk", { limit: 5 })).packages.length, 1);
  const review = { ...content, package_id: "pkg-2", status: "awaiting_review", review_type: "human" } as const;
  await ann.context.deposit("walk", review);
  assert.ok((await ann.context.awaitingReview("walk")).packages.length);
  const flagged = await ann.context.flag("pkg-2", { review_type: "human" }, { project: "walk" });
  assert.equal(flagged.status, "awaiting_review");
  const reviewed = await owner.context.review("pkg-2", { status: "complete" }, { project: "walk" });
  assert.equal(reviewed.status, "complete");
  assert.ok((await ann.context.reviews("pkg-2", { project: "walk" })).reviews.length);
  await ann.context.assertFact("walk", { subject: "walk", predicate: "length", value: "7" });
  assert.equal((await ann.context.facts("walk", { subject: "walk" })).facts[0]?.value, "7");
  assert.ok(await ann.context.invalidateFact("walk", { subject: "walk", predicate: "length" }));
  const bytes = new TextEncoder().encode("a deliverable");
  const digest = createHash("sha256").update(bytes).digest("hex");
  assert.equal((await ann.context.putBlob("walk", digest, bytes)).size_bytes, bytes.length);
  assert.deepEqual(await ann.context.getBlob("walk", digest), bytes);
  assert.ok(await ann.context.orient("walk"));
  assert.ok(await ann.context.orchestrate({ focus: "walk" }));
  assert.ok((await first(ann.streams.context("walk", { after: "0" }))).id);
  assert.equal((await ann.context.sessions("walk")).sessions[0]?.session_id, session.session_id);
  assert.equal((await ann.context.session("walk", session.session_id)).session_id, session.session_id);
  assert.ok((await ann.context.endSession("walk", session.session_id)).ended_at);
  assert.equal((await owner.context.share("walk", "@jon.*", { role: "reader" })).role, "reader");
  assert.ok((await owner.context.members("walk")).members.length);
  await owner.context.unshare("walk", "@jon.*");
  const exported = await owner.context.export("walk");
  assert.ok(await owner.context.exportAll());
  assert.ok((await owner.context.import(exported, { dryRun: true })).dry_run);
  assert.equal((await owner.context.archive("walk")).project_id, "walk");
  assert.equal((await owner.context.unarchive("walk")).project_id, "walk");
}

async function requests(ann: Plenary, owner: Plenary): Promise<void> {
  const ask = (title: string): Promise<types.Request> => {
    const action = { name: "Bash", args: { command: "cargo test" } };
    return ann.request.make({ kind: "permission", title, action, directory: "/src" });
  };
  const { request_id: id } = await ask("Run the tests");
  assert.deepEqual((await owner.request.list()).requests.map((one) => one.request_id), [id]);
  assert.equal((await owner.request.interrupts()).interrupts[0]?.id, id);
  assert.ok((await owner.request.snooze(id, { until: Date.now() + 3_600_000 })).snoozed_until);
  assert.ok((await owner.request.link(id)).url);
  await owner.person.create({ handle: "@ida.mara", display_name: "Mara" });
  const { version } = await owner.request.delegate(id, { to: "@ida.mara" });
  const answered = await owner.request.answer(id, { type: "accept", version, undo_seconds: 60 });
  assert.ok((await owner.request.undo(id)).version > answered.version);
  assert.ok((await owner.request.interruptResponse(id, { type: "accept", args: null })).answer);
  assert.equal((await ann.request.get(id, { wait: 1 })).state, "answered");
  await ann.request.withdraw((await ask("Run them again")).request_id);
  const third = await ask("And again");
  const rule: types.NewRequestRule = { agent: "@ida.ann", tool: "Bash", expires_in_days: 1 };
  const { request_id } = third;
  const done = await owner.request.answerMany({ answers: [{ request_id, type: "accept", version: third.version, rule }] });
  assert.equal(done.results[0]?.request_id, request_id);
  for (const known of (await owner.request.rules()).rules) await owner.request.removeRule(known.rule_id);
}

async function notifications(owner: Plenary): Promise<void> {
  const made = await owner.notify.create({ target: { kind: "webhook", url: "https://hook.invalid/x" }, events: ["request.created"] });
  const id = made.subscription.subscription_id;
  assert.deepEqual((await owner.notify.list()).subscriptions.map((one) => one.subscription_id), [id]);
  assert.equal((await owner.notify.change(id, { name: "Hook" })).name, "Hook");
  assert.ok((await owner.notify.read(id)).enabled);
  assert.ok(!(await owner.notify.test(id)).delivered);
  assert.ok((await owner.notify.pushKey()).public_key);
  assert.deepEqual((await owner.notify.dead()).notifications, []);
  await assert.rejects(owner.notify.retry("ntc_01ARZ3NDEKTSV4RRFFQ69G5FAV"), NotFoundError);
  await owner.notify.remove(id);
}

async function overseeing(owner: Plenary): Promise<void> {
  assert.ok(handles((await owner.overview()).agents).includes("@ida.ann"));
  assert.deepEqual((await owner.audit.list()).entries, []);
  assert.ok((await owner.console.link({ role: "viewer" })).url);
  assert.deepEqual((await owner.console.sessions()).sessions, []);
  await assert.rejects(owner.console.signOut("nothing"), NotFoundError);
  assert.deepEqual((await owner.passkey.list()).passkeys, []);
  await assert.rejects(owner.passkey.remove("nothing"), NotFoundError);
  await assert.rejects(owner.passkey.challenge(), ConflictError);
  await assert.rejects(owner.passkey.add({ name: "Phone", client_data: "e30", authenticator_data: "AA" }), ForbiddenError);
  const event = await first(owner.streams.watch({ kinds: "session.message", after: "0" }));
  assert.ok(event.kind === "session.message" && event.agents.includes("@ida.ann"));
}
