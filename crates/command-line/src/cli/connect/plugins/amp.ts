// Written by `plenary connect`; `plenary disconnect` removes it.
// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// Runs the hooks of `plenary` at the moments of a thread, and puts what they print before the model.
import { spawn } from "node:child_process";

const LINES: any = "@LINES@";
const WITHIN_MS = 10_000;

/** Runs a hook; what it printed. It never fails. */
function run(event: string, told: object): Promise<string> {
  return new Promise((resolve) => {
    let out = "";
    const child = spawn(LINES[event], { shell: true, stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill(), WITHIN_MS);
    const done = () => {
      clearTimeout(timer);
      let text = "";
      try { text = JSON.parse(out).text ?? ""; } catch { /* it had nothing to say */ }
      resolve(text);
    };
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.on("error", done);
    child.on("close", done);
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ ...told, hook_event_name: event, cwd: process.cwd() }));
  });
}

export default function (amp: any) {
  const begun = new Set<string>();
  const continued = new Set<string>();
  const hook = (event: string, of: any, more: object = {}) => run(event, { session_id: String(of.thread?.id ?? ""), ...more });

  amp.on("agent.start", async (event: any) => {
    const id = String(event.thread?.id ?? "");
    const texts: string[] = [];
    if (!begun.has(id)) {
      begun.add(id);
      texts.push(await hook("SessionStart", event, { source: "startup" }));
    }
    texts.push(await hook("UserPromptSubmit", event, { prompt: event.message }));
    const content = texts.filter(Boolean).join("\n\n");
    return content ? { message: { content, display: true } } : {};
  });
  amp.on("tool.result", async (event: any) => {
    const text = await hook("PostToolUse", event, { tool_response: event.output });
    if (!text || typeof event.output !== "string") return;
    return { status: event.status, output: `${event.output}\n\n${text}`, error: event.error };
  });
  amp.on("agent.end", async (event: any) => {
    if (event.status !== "done") return;
    const id = String(event.thread?.id ?? "");
    const text = await hook("Stop", event, { stop_hook_active: continued.has(id) });
    if (!text) return void continued.delete(id);
    continued.add(id);
    return { action: "continue", userMessage: text };
  });
}
