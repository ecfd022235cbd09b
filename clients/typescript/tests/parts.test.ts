// The parts of streams: server-sent events out of pieces, and the memory of what was handed on.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { SessionEvent } from "../src/index.js";
import { SESSIONS_MAX, STRETCHES_MAX, SeenEvents } from "../src/seen.js";
import { EventParser, type ServerEvent } from "../src/sse.js";

test("events are the same however the bytes come", () => {
  const text =
    ': hello\n\nretry: 1\nid: 6\n\nid: 7\ndata: {"a":\ndata:1}\n\nevent: x\r\nid: ü\r\ndata: y\r\n\r\ndata: w\r\n\ndata: z\r\rid: 9\ndata: cut';
  const bytes = new TextEncoder().encode(text);
  const wanted: ServerEvent[] = [
    { id: "6", name: "message", data: "" },
    { id: "7", name: "message", data: '{"a":\n1}' },
    { id: "ü", name: "x", data: "y" },
    { id: null, name: "message", data: "w" },
    { id: null, name: "message", data: "z" },
  ];
  for (let size = 1; size <= bytes.length; size += 1) {
    const parser = new EventParser();
    const found: ServerEvent[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...parser.feed(bytes.slice(at, at + size)));
    assert.deepEqual(found, wanted, String(size));
  }
});

function event(session: string, sequence: number): SessionEvent {
  return { session_id: session, sequence, event_id: `${session}${sequence}` } as SessionEvent;
}

test("stretches behave as a set", () => {
  const [seen, known] = [new SeenEvents(), new Set<number>()];
  let draw = 7;
  for (let n = 0; n < 3_000; n += 1) {
    draw = (draw * 48_271) % 2_147_483_647;
    const sequence = 1 + (draw % 99);
    assert.equal(seen.isNew(event("sess_A", sequence)), !known.has(sequence));
    known.add(sequence);
  }
  assert.deepEqual(seen.sessions.get("sess_A"), [[1, 99]]);
});

test("memory is bounded", () => {
  const seen = new SeenEvents();
  for (let n = 0; n < SESSIONS_MAX + 10; n += 1) assert.ok(seen.isNew(event(`sess_${n}`, 1)));
  assert.equal(seen.sessions.size, SESSIONS_MAX);
  for (let n = 0; n < 200; n += 1) seen.isNew(event("sess_HOLES", n * 2));
  assert.equal(seen.sessions.get("sess_HOLES")?.length, STRETCHES_MAX);
});
