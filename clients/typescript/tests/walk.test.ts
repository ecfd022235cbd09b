// Every operation that the server describes is called.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Server } from "./server.js";
import { walk } from "./walk.js";

// As in clients/generate.py: attached agents; streams; the Model Context Protocol, which its own SDKs speak; pages in a browser; signing in.
const LEFT_OUT = new Set([
  "a2a.card",
  "a2a.server_card",
  "a2a.keys",
  "a2a.rpc",
  "a2a.grpc",
  "a2a.read",
  "a2a.write",
  "a2a.delete",
  "account.get",
  "account.agents",
  "account.agent_names",
  "account.create_agent",
  "account.update_agent",
  "account.delete_agent",
  "account.sessions",
  "message.receipts",
  "frame.capability",
  "frame.events",
  "agentic.events",
  "agentic.login",
  "agentic.logs",
  "agentic.process",
  "agentic.reset",
  "agentic.resume",
  "langgraph.read",
  "langgraph.write",
  "openai.models",
  "openai.model",
  "openai.chat",
  "openai.response",
  "openai.stored",
  "openai.cancel",
  "openai.input_items",
  "run.attach",
  "mcp.post",
  "mcp.listen",
  "mcp.close",
  "console.file",
  "console.sign_in",
  "console.session",
  "console.issuers",
  "console.sign_in_at",
  "console.signed_in_at",
  "oauth.metadata",
  "oauth.authorize",
  "oauth.decide",
  "oauth.register",
  "oauth.revoke",
  "oauth.sign_in",
  "oauth.token",
  "link.network",
  "link.accept",
  "link.frame",
  "link.read",
  "link.revoke",
  "link.command",
  "link.events",
  "link.file",
  "link.news",
  "link.offer",
  "link.states",
  "link.guest_read",
  "link.guest_write",
  "link.guest_edit",
  "link.guest_delete",
  "peer.read",
  "peer.write",
  "peer.edit",
  "peer.delete",
  "request.tap",
  "request.tapped",
]);

test("every operation is called", async (t) => {
  const server = await Server.start(t);
  const calls = new Set<string>();
  await walk(server, calls);
  const answer = await fetch(`${server.url}/openapi.json`);
  const { paths } = (await answer.json()) as { paths: Record<string, Record<string, { operationId: string }>> };
  const described = Object.values(paths).flatMap((item) => Object.values(item).map((one) => one.operationId));
  assert.deepEqual(described.filter((id) => !LEFT_OUT.has(id) && !calls.has(id)), []);
});
