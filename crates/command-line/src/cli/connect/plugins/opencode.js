// Written by `plenary connect`; `plenary disconnect` removes it.
// Runs the hooks of `plenary` at the moments of a session, and puts what they print before the model.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";

const LINES = "@LINES@";
const WITHIN_MS = 10_000;
/** What stands before a message that no person wrote. */
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

/** An id as parts have: it sorts behind those that are there. */
function partId() {
  const time = (BigInt(Date.now()) * 0x1000n + 0xfffn).toString(16).slice(-12).padStart(12, "0");
  return `prt_${time}${randomBytes(7).toString("hex")}`;
}

export const Plenary = async ({ client, directory }) => {
  /** Sessions of agents within a session: what is put before those, the session never sees. */
  const within = new Set();
  const begun = new Set();
  /** Sessions whose last turn a hook has continued. */
  const continued = new Set();
  /** Sessions whose end of a turn is being told. */
  const ending = new Set();
  /** The agent and model that a session was last spoken to with. */
  const last = new Map();

  const hook = (event, id, more = {}, time = WITHIN_MS) => run(event, { session_id: id, ...more }, directory, time);
  const say = (id, text) =>
    client.session.promptAsync({ path: { id }, body: { ...last.get(id), parts: [{ type: "text", text: OWN + text }] } });

  async function idle(id) {
    if (within.has(id) || ending.has(id)) return;
    ending.add(id);
    try {
      const { text } = await hook("Stop", id, { stop_hook_active: continued.has(id) });
      if (text) {
        continued.add(id);
        await say(id, text);
        return;
      }
      continued.delete(id);
      if (!LINES.Wait) return;
      // It ends by itself when the session is spoken to, or a later one begins.
      hook("Wait", id, {}, 0).then(({ woken }) => woken && say(id, woken)).catch(() => {});
    } catch { /* the session goes on without it */ } finally {
      ending.delete(id);
    }
  }

  return {
    event: async ({ event }) => {
      if (event.type === "session.created" && event.properties.info?.parentID) within.add(event.properties.info.id);
      if (event.type === "session.idle") await idle(event.properties.sessionID);
    },
    "chat.message": async (input, output) => {
      const id = input.sessionID;
      if (within.has(id)) return;
      last.set(id, { ...(input.agent && { agent: input.agent }), ...(input.model && { model: input.model }) });
      const prompt = output.parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n");
      if (!prompt.startsWith(OWN)) continued.delete(id);
      const texts = [];
      if (!begun.has(id)) {
        begun.add(id);
        texts.push((await hook("SessionStart", id, { source: "startup" })).text);
      }
      texts.push((await hook("UserPromptSubmit", id, { prompt })).text);
      const text = texts.filter(Boolean).join("\n\n");
      if (text) {
        output.parts.push({ id: partId(), sessionID: id, messageID: output.message.id, type: "text", text, synthetic: true });
      }
    },
    "tool.execute.after": async (input, output) => {
      const more = within.has(input.sessionID) ? { agent_id: "within" } : { tool_response: output.output ?? output.content };
      const { text } = await hook("PostToolUse", input.sessionID, more);
      if (!text) return;
      if (typeof output.output === "string") output.output += `\n\n${text}`;
      else if (Array.isArray(output.content)) output.content.push({ type: "text", text });
    },
    "experimental.session.compacting": async (input) => {
      await hook("PreCompact", input.sessionID);
    },
  };
};
