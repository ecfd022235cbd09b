// The TypeScript SDK of the Model Context Protocol against a server: arguments are the base URL and a token. It prints
// what it saw as one JSON object.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [base, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp?toolsets=all`), { requestInit: { headers } });
const client = new Client({ name: "plenary-tests", version: "1.0.0" });
await client.connect(transport);

const tools = await client.listTools();
const again = await client.listTools();
const me = await client.readResource({ uri: "plenary://me" });
const called = await client.callTool({ name: "test_simple_text", arguments: {} });
const refused = await client.callTool({ name: "test_error_handling", arguments: {} });
const orient = await client.getPrompt({ name: "orient" });

const changed = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (notice) => resolve(notice.params.uri));
});
await client.subscribeResource({ uri: "plenary://sessions" });
const created = await fetch(`${base}/sessions`, {
  method: "POST",
  headers: { ...headers, "Content-Type": "application/json" },
  body: JSON.stringify({ topic: "told by a notice" }),
});
if (!created.ok) throw new Error(`no session: ${created.status}`);

const seen = {
  revision: transport.protocolVersion,
  tools: tools.tools.map((tool) => tool.name),
  stable: JSON.stringify(tools.tools) === JSON.stringify(again.tools),
  me: JSON.parse(me.contents[0].text).handle,
  called: called.content[0].text,
  refused: refused.isError,
  orient: orient.messages[0].content.text,
  changed: await changed,
};
await transport.terminateSession();
await client.close();
console.log(JSON.stringify(seen));
