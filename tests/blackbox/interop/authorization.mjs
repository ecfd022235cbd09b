// The conformance suite against the authorization server: arguments are the base URL, the link with which a person signs in,
// the suite, and where it writes. The suite prints where a person should go; the person is played here. It prints what the
// suite says, and ends as the suite does.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { browser } from "./browser.mjs";

const [base, link, suite, results] = process.argv.slice(2);
const person = browser(base, link);

const port = await new Promise((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const registered = await fetch(`${base}/oauth/register`, { method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ client_name: "Conformance", redirect_uris: [`http://127.0.0.1:${port}/callback`] }) });
const { client_id } = await registered.json();

const running = spawn(process.execPath, [suite, "authorization", "--url", base, "--client-id", client_id, "--port",
  String(port), "--output-dir", results], { stdio: ["ignore", "pipe", "inherit"] });
let said = "";
let went = false;
running.stdout.on("data", async (chunk) => {
  said += chunk;
  process.stdout.write(chunk);
  const url = said.match(/^http\S*\/oauth\/authorize\?\S+\n/m)?.[0];
  if (!url || went) return;
  went = true;
  await fetch(await person.consent(url.trim(), "@nick.bot", "write"));
});
running.on("exit", (code) => process.exit(code ?? 1));
