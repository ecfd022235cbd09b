// Written by `plenary connect`; `plenary disconnect` removes it.
// Runs the hooks of `plenary` at the moments of a session, and puts what they print before the model.
import { spawn } from "node:child_process";

const LINES = "@LINES@";
const WITHIN_MS = 10_000;
const OWN = "<task-notification>\n";

/** Runs a hook; what it printed, and whether it wants the session to be woken. It never fails. */
function run(event, told, directory, within) {
  return new Promise((resolve) => {
    let [out, err] = ["", ""];
    const child = spawn(LINES[event], { shell: true, cwd: directory, stdio: ["pipe", "pipe", "pipe"] });
    const timer = within ? setTimeout(() => child.kill(), within) : undefined;
    const done = (code) => {
      clearTimeout(timer);
      let text = "";
      try { text = JSON.parse(out).text ?? ""; } catch { /* it had nothing to say */ }
      resolve({ text, woken: code === 2 ? err.trim() : "" });
    };
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.stderr.on("data", (chunk) => { err += chunk; });
    child.on("error", () => done(1));
    child.on("close", done);
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ ...told, hook_event_name: event, cwd: directory }));
  });
}

export default function (pi) {
  let opening = "";
  let continued = false;
  const hook = (event, context, more = {}, time = WITHIN_MS) =>
    run(event, { session_id: context.sessionManager.getSessionId(), ...more }, context.cwd, time);
  const say = (text) =>
    pi.sendMessage({ customType: "plenary", content: OWN + text, display: true }, { triggerTurn: true, deliverAs: "followUp" });

  pi.on("session_start", async (_event, context) => {
    opening = (await hook("SessionStart", context, { source: "startup" })).text;
  });
  pi.on("before_agent_start", async (event, context) => {
    if (!String(event.prompt).startsWith(OWN)) continued = false;
    const { text } = await hook("UserPromptSubmit", context, { prompt: event.prompt });
    const content = [opening, text].filter(Boolean).join("\n\n");
    opening = "";
    if (content) return { message: { customType: "plenary", content, display: false } };
  });
  pi.on("tool_result", async (event, context) => {
    const { text } = await hook("PostToolUse", context, { tool_response: event.content });
    if (text) return { content: [...event.content, { type: "text", text }] };
  });
  pi.on("agent_end", async (_event, context) => {
    const { text } = await hook("Stop", context, { stop_hook_active: continued });
    continued = Boolean(text);
    if (text) return void say(text);
    if (!LINES.Wait) return;
    hook("Wait", context, {}, 0).then(({ woken }) => woken && say(woken)).catch(() => {});
  });
  pi.on("session_before_compact", async (_event, context) => {
    await hook("PreCompact", context);
  });
}
