// Streams go on over every break, without a gap and without a repetition.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NetworkError, Plenary, type RunStreamEvent, type SessionEvent, UnauthorizedError } from "../src/index.js";
import { Proxy, Server } from "./server.js";
import { frame } from "./walk.js";

async function next<T>(stream: AsyncGenerator<T, void>): Promise<T> {
  const { value, done } = await stream.next();
  assert.ok(!done, "the stream has ended");
  return value as T;
}

function says(event: SessionEvent): string | undefined {
  return event.type === "session.message" ? String(event.payload.content) : undefined;
}

function waiter(): { stands: Promise<void>; onOpen: () => void } {
  let onOpen = (): void => {};
  const stands = new Promise<void>((done) => (onOpen = done));
  return { stands, onOpen };
}

test("every message comes once over a kill", async (t) => {
  const server = await Server.start(t);
  const ann = new Plenary({ url: server.url, token: await server.agent("@ida.ann"), attempts: 60 });
  const bob = new Plenary({ url: server.url, token: await server.agent("@jon.bob") });
  const { session_id: session } = await ann.session.create({ invite: ["@jon.bob"] });
  await bob.session.join(session);
  const ending = new AbortController();
  const events = bob.streams.events({ signal: ending.signal });
  const one = bob.streams.session(session, { signal: ending.signal });
  const [heard, ordered]: [string[], number[]] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    const texts = Array.from({ length: 20 }, (_, n) => `${round}.${n}`);
    const sending = Promise.all(texts.map((content) => ann.session.send(session, { content })));
    if (round) {
      // Some are on disk without an answer, some wait for the server to be back.
      await server.kill();
      await server.start();
    }
    await sending;
    while (heard.length < 20 * (round + 1)) {
      const text = says(await next(events));
      if (text) heard.push(text);
    }
    while (ordered.length < 20 * (round + 1)) {
      const event = await next(one);
      if (says(event) && "sequence" in event) ordered.push(event.sequence);
    }
  }
  ending.abort();
  assert.equal(new Set(heard).size, 60);
  assert.deepEqual(ordered, [...new Set(ordered)].sort((a, b) => a - b));
  const stored = (await bob.session.events(session)).events.filter((event) => event["type"] === "session.message");
  assert.equal(stored.length, 60);
  assert.equal((await events.next()).done, true);
});

test("a frame that was sent during a break comes", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.before(server, t);
  const token = await server.agent("@ida.ann");
  const [far, near] = [new Plenary({ url: proxy.url, token }), new Plenary({ url: server.url, token })];
  const ending = new AbortController();
  let { stands, onOpen } = waiter();
  const frames = far.streams.frames("~ida", { signal: ending.signal, onOpen: () => onOpen() });
  let asked = next(frames);
  await stands;
  for (let n = 0; n < 3; n += 1) {
    const sent = frame("ida", String(n));
    await near.frame.submit(sent);
    assert.equal((await asked).frame_id, sent.frame_id);
    proxy.cut();
    asked = next(frames);
  }
  await near.frame.submit(frame("ida", "last"));
  await asked;
  // A restart forgets frames; the stream goes on with what is new.
  ({ stands, onOpen } = waiter());
  await server.kill();
  await server.start();
  asked = next(frames);
  await stands;
  const sent = frame("ida", "after");
  await near.frame.submit(sent);
  assert.equal((await asked).frame_id, sent.frame_id);
  ending.abort();
});

test("a run is followed over breaks, and one that a kill ended says so", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.before(server, t);
  const token = await server.agent("@ida.ann");
  const [far, near] = [new Plenary({ url: proxy.url, token }), new Plenary({ url: server.url, token })];
  const more = { request_metadata: { demo: ["tool_call", { wait_for_input: { name: "Your name" } }] } };
  const events: RunStreamEvent[] = [];
  for await (const event of far.streams.ask("echo", "hello", { more })) {
    events.push(event);
    if (event.type === "WaitForInput") {
      proxy.cut();
      await near.run.run("echo", { run_id: event.run_id, request_keys: { name: "Ida" } });
    }
  }
  assert.deepEqual(events.map((event) => event.id), events.map((_, n) => n + 1));
  const again: number[] = [];
  for await (const event of near.streams.run("echo", events[0]!.run_id, { after: 2 })) again.push(event.id);
  assert.deepEqual(again, events.map((event) => event.id).slice(2));
  // A program that stored its place and begins again behind the end.
  for await (const event of near.streams.run("echo", events[0]!.run_id, { after: events.length })) assert.fail(event.type);
  let last: RunStreamEvent | undefined;
  for await (const event of near.streams.ask("echo", "hello", { more: { request_metadata: { demo: ["slow"] } } })) {
    if (!last) {
      await server.kill();
      await server.start();
    }
    last = event;
  }
  assert.deepEqual([last?.type, last?.finish_reason], ["RunCompleted", "error"]);
});

test("a signal ends a stream without an error", async (t) => {
  const server = await Server.start(t);
  const token = await server.agent("@ida.ann");
  let reached = (): void => {};
  // The call that the stream waits for ends with the signal, and with nothing else.
  const silent = (part: string) => async (url: string | URL | Request, request?: RequestInit) => {
    if (!String(url).includes(part)) return fetch(url, request);
    reached();
    return new Promise<Response>((_, fail) => {
      request!.signal!.addEventListener("abort", () => fail(request!.signal!.reason));
    });
  };
  const { session_id: session } = await new Plenary({ url: server.url, token }).session.create({ topic: "x" });
  for (const [part, open] of [
    ["/stream_request", (ann: Plenary, signal: AbortSignal) => ann.streams.ask("echo", "hello", { signal })],
    ["/events?", (ann: Plenary, signal: AbortSignal) => ann.streams.session(session, { signal })],
  ] as const) {
    const ending = new AbortController();
    const stands = new Promise<void>((done) => (reached = done));
    const stream = open(new Plenary({ url: server.url, token, fetch: silent(part) }), ending.signal);
    const asked = stream.next();
    await stands;
    ending.abort();
    assert.equal((await asked).done, true, part);
  }
});

test("events of channels and projects come once over breaks", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.before(server, t);
  const token = await server.agent("@ida.ann");
  const [far, near] = [new Plenary({ url: proxy.url, token }), new Plenary({ url: server.url, token })];
  const { id } = await near.channel.create({ title: "Port" });
  await near.context.createProject({ project_id: "port", name: "Port" });
  const events = far.streams.channel(id, { after: 0 });
  const project = far.streams.context("port", { after: "0", types: "fact.asserted" });
  for (let n = 0; n < 3; n += 1) {
    await near.channel.append(id, { kind: "comms", payload: { n } });
    await near.context.assertFact("port", { subject: "n", predicate: "is", value: String(n) });
    assert.deepEqual((await next(events)).payload, { n });
    assert.equal((await next(project)).name, "fact.asserted");
    proxy.cut();
  }
  await events.return();
  await project.return();
});

test("a break before the first event loses nothing", async () => {
  const after: (string | null)[] = [];
  const served = async (_: string | URL | Request, request?: RequestInit): Promise<Response> => {
    after.push(new Headers(request?.headers).get("last-event-id"));
    // First only the place at which "from now on" is, then what came behind it.
    const found = after.length === 1 ? "retry: 1000\nid: 7\n\n" : 'id: 8\ndata: {"id": 8}\n\n';
    return new Response(found, { headers: { "content-type": "text/event-stream" } });
  };
  const events = new Plenary({ url: "http://127.0.0.1:1", fetch: served }).streams.channel("PORT");
  assert.equal((await next(events)).id, 8);
  await events.return();
  assert.deepEqual(after, [null, "7"]);
});

test("the first failure is the caller's, and a new token ends the stream of the old one", async (t) => {
  const server = await Server.start(t);
  const nobody = new Plenary({ url: server.url, token: "pla_nobody" });
  await assert.rejects(next(nobody.streams.events()), UnauthorizedError);
  await assert.rejects(next(nobody.streams.frames("~ida")), UnauthorizedError);
  await assert.rejects(next(nobody.streams.ask("echo", "hello")), UnauthorizedError);
  const ann = new Plenary({ url: server.url, token: await server.agent("@ida.ann") });
  const { stands, onOpen } = waiter();
  const asked = next(ann.streams.events({ onOpen }));
  await stands;
  await server.operator.agent.rotateToken("@ida.ann");
  await assert.rejects(asked, UnauthorizedError);
  await server.kill();
  await assert.rejects(next(ann.streams.events()), NetworkError);
  await assert.rejects(next(ann.streams.frames("~ida")), NetworkError);
});
