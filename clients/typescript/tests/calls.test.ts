// Refusals are typed, and what is repeated is carried out once.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import {
  ArgumentError,
  ConflictError,
  ForbiddenError,
  InvalidError,
  NetworkError,
  NotFoundError,
  Plenary,
  RefusedError,
  UnauthorizedError,
  UnreadableError,
} from "../src/index.js";
import { Proxy, Server } from "./server.js";
import { frame } from "./walk.js";

async function refused<T extends RefusedError>(
  kind: abstract new (...of: never[]) => T,
  call: Promise<unknown>,
): Promise<T> {
  const error = await call.then(
    () => assert.fail("it was not refused"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof kind, String(error));
  return error;
}

test("each room refuses in the same types", async (t) => {
  const server = await Server.start(t);
  const ann = new Plenary({ url: server.url, token: await server.agent("@ida.ann") });
  const absent = await refused(NotFoundError, ann.session.show("sess_00000000000000000000000000"));
  assert.deepEqual([absent.status, absent.code], [404, "not_found"]);
  assert.equal((await refused(NotFoundError, ann.run.describe("nobody"))).code, "agent_not_found");
  assert.equal((await refused(NotFoundError, ann.context.project("nothing"))).code, "project_not_found");
  await refused(NotFoundError, ann.channel.show("VHGC"));
  const field = await refused(InvalidError, ann.frame.submit({ ...frame("ida", "x"), frame_id: "no-uuid" }));
  assert.deepEqual([field.code, field.field], ["field-invalid", "frame_id"]);
  const scope = ann.frame.submit({ ...frame("ida", "x"), recipient_handle: "~nobody" });
  assert.equal((await refused(ForbiddenError, scope)).code, "scope-unauthorised");
  const nobody = new Plenary({ url: server.url, token: "pla_wrong" });
  const token = await refused(UnauthorizedError, nobody.me.get());
  assert.equal(token.code, "invalid_authorization");
  assert.match(String(token), /^UnauthorizedError: 401 invalid_authorization: ./);
});

test("a key is used once", async (t) => {
  const server = await Server.start(t);
  const ann = new Plenary({ url: server.url, token: await server.agent("@ida.ann") });
  const first = await ann.session.create({ topic: "a" }, { idempotencyKey: "k-1" });
  assert.deepEqual(await ann.session.create({ topic: "a" }, { idempotencyKey: "k-1" }), first);
  const reused = await refused(ConflictError, ann.session.create({ topic: "b" }, { idempotencyKey: "k-1" }));
  assert.deepEqual([reused.code, reused.idempotencyKey], ["idempotency_key_reused", "k-1"]);
});

test("a write whose answer was lost is carried out once, and one without a key is not repeated", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.before(server, t);
  const token = await server.agent("@ida.ann");
  const [near, far] = [new Plenary({ url: server.url, token }), new Plenary({ url: proxy.url, token })];
  proxy.swallow();
  const { session_id: session } = await far.session.create({ topic: "once" });
  proxy.swallow();
  await far.session.send(session, { content: "hello" });
  assert.deepEqual((await near.session.list()).sessions.map((one) => one.id), [session]);
  assert.equal((await near.session.events(session)).events.length, 1);
  proxy.swallow();
  await assert.rejects(far.frame.submit(frame("ida", "once")), NetworkError);
});

test("an absent server is a network error with the key, and a signal ends a call", async (t) => {
  const server = await Server.start(t);
  await server.kill();
  const client = new Plenary({ url: server.url, token: "pla_any", attempts: 2 });
  await assert.rejects(
    client.session.create({}, { idempotencyKey: "k-2" }),
    (error) => error instanceof NetworkError && error.idempotencyKey === "k-2" && /ECONNREFUSED/.test(error.message),
  );
  await assert.rejects(client.session.list({ signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});

test("an id that makes another path is not sent", async () => {
  const fetch = (): never => assert.fail("it was sent");
  const client = new Plenary({ url: "http://127.0.0.1:1", token: "pla_any", attempts: 1, fetch });
  const groups = [client, ...Object.values(client)].filter((group) => typeof group === "object" && group !== null);
  for (const id of ["", ".", ".."]) {
    let calls = 0;
    for (const group of groups) {
      const own = Object.getPrototypeOf(group) as Record<string, (...of: string[]) => unknown>;
      for (const name of Object.getOwnPropertyNames(own)) {
        const method = own[name]!;
        if (!/^async [^*]/.test(String(method)) || !String(method).includes("pathOf(")) continue;
        calls += 1;
        await assert.rejects(async () => method.call(group, id, id, id, id), ArgumentError, name);
      }
    }
    assert.ok(calls > 100, String(calls));
    await assert.rejects(client.agent.revokeToken("@ida.ann", id), ArgumentError);
    await assert.rejects(client.streams.session(id).next(), ArgumentError);
    await assert.rejects(client.streams.run("echo", id).next(), ArgumentError);
    await assert.rejects(client.streams.ask(id, "hello").next(), ArgumentError);
  }
});

test("a token may end with a line break, and no error shows one", async (t) => {
  const server = await Server.start(t);
  const token = await server.agent("@ida.ann");
  const ann = new Plenary({ url: `${server.url}/`, token: `${token}\n` });
  assert.equal((await ann.me.get()).handle, "@ida.ann");
  for (const wrong of [
    async () => new Plenary({ url: server.url, token: `${token}\n${token}` }),
    async () => new Plenary({ url: server.url, token: `${token}é` }),
    async () => new Plenary({ url: server.url, headers: { "x-more": `${token}\n` } }),
    async () => new Plenary({ url: "127.0.0.1:7420", token }),
    () => ann.session.create({}, { idempotencyKey: `${token}\n` }),
    () => ann.streams.ask("echo", "hello", { idempotencyKey: "a\nb" }).next(),
  ]) {
    await assert.rejects(wrong, (error) => error instanceof ArgumentError && !error.message.includes(token));
  }
});

test("an empty answer comes from something else", async (t) => {
  const other = createServer((_, answer) => answer.end()).listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const client = new Plenary({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` });
  await assert.rejects(client.me.get(), UnreadableError);
});

test("any other request", async (t) => {
  const server = await Server.start(t);
  const ann = new Plenary({ url: server.url, token: await server.agent("@ida.ann") });
  const { id } = await ann.channel.create({ title: "Port" });
  const page = await ann.call("GET", `/agent-channel/${id}`, { query: { format: "markdown" } });
  assert.match(new TextDecoder().decode(page), /Port/);
});
