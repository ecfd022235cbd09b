// Parses the server-sent events of one response.
// Must not know: the content of events.

/** @typedef {{id: string | undefined, event: string | undefined, data: any}} Sent */

/**
 * @param {Response} reply
 * @param {(alive: boolean) => void} [sign] called for each block that arrives, including comments
 * @returns {AsyncGenerator<Sent>}
 */
export async function* sent(reply, sign = () => {}) {
  if (!reply.body) return;
  const reader = reply.body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      sign(true);
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const one = parse(block);
        if (one) yield one;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} block @returns {Sent | undefined} */
function parse(block) {
  let id;
  let event;
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    else if (line.startsWith('id:')) id = line.slice(3).trim();
    else if (line.startsWith('event:')) event = line.slice(6).trim();
  }
  if (data.length === 0) return undefined;
  try {
    return { id, event, data: JSON.parse(data.join('\n')) };
  } catch {
    return undefined;
  }
}
