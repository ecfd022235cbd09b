// The steps of a run. A tool call and its result are one step.
// Must not know: the source of the events.

import { html } from '../../core/preact.js';
import { download } from '../../parts/download.js';
import { Markdown } from '../../parts/markdown.js';
import { Mark } from '../../parts/marks.js';
import { Code, Json, Text } from '../../parts/text.js';

/** @typedef {{id: number, event: any, result?: any, more?: any[]}} Shown */

/** @param {any[]} events @returns {Shown[]} */
export function steps(events) {
  /** @type {Shown[]} */
  const all = [];
  /** The calls that may be without a result, together and by function. @type {Map<string | undefined, Shown[]>} */
  const calls = new Map();
  const callsOf = (/** @type {string | undefined} */ name) => {
    const found = calls.get(name) ?? [];
    calls.set(name, found);
    return found;
  };
  const latest = (/** @type {Shown[]} */ of) => {
    while (of.at(-1)?.result) of.pop();
    return of.pop();
  };
  for (const event of events) {
    const open = /^(ToolResult|ToolError|ToolTextOutput|CompletionResult)$/.test(event.type) ? latest(callsOf(event.function_name)) : undefined;
    const last = all[all.length - 1];
    if (open) open.result = event;
    else if (event.type === 'ToolTextOutput' && last?.event.type === 'ToolTextOutput' && last.event.depth === event.depth) (last.more ??= []).push(event);
    else {
      const step = { id: event.id, event };
      all.push(step);
      if (/^(ToolCall|CompletionCall)$/.test(event.type)) new Set([undefined, event.function_name]).forEach((name) => callsOf(name).push(step));
    }
  }
  return all;
}

/** @param {any} event */
const said = (event) => event?.text_result ?? event?.content ?? event?.result ?? event?.error;

/** @param {{step: Shown}} props */
export function Step({ step: { event, result, more } }) {
  const inset = event.depth ? { marginLeft: `${Math.min(event.depth, 8) * 16}px` } : undefined;
  switch (event.type) {
    case 'RunStarted': return html`<li class="step event-line">started</li>`;
    case 'TextOutput': return html`<li class="step text" style=${inset}><${Markdown} text=${event.content} /></li>`;
    case 'ToolCall':
    case 'CompletionCall': {
      const failed = result?.type === 'ToolError';
      const out = said(result);
      return html`<li class="step tool" style=${inset}><details open=${failed}>
        <summary><${Mark} state=${failed ? 'failed' : result ? 'done' : 'running'} /> <b><${Text} text=${event.function_name ?? event.model ?? event.type} /></b> <code class="gist"><${Text} text=${gist(event.args)} /></code></summary>
        ${event.args ? html`<${Json} value=${event.args} />` : null}
        ${out === undefined ? null : typeof out === 'string' ? html`<${Code} text=${out} label="Result" />` : html`<${Json} value=${out} />`}
      </details></li>`;
    }
    case 'ToolTextOutput': return html`<li class="step output" style=${inset}><${Code} text=${[event, ...(more ?? [])].map(said).join('\n')} label="Output" grows /></li>`;
    case 'ToolResult': return html`<li class="step output" style=${inset}><code><${Text} text=${said(event)} /></code></li>`;
    case 'ToolError': return html`<li class="step bad" style=${inset}><p><${Mark} state="failed" /> a tool failed</p><${Code} text=${String(said(event) ?? '')} label="Error" /></li>`;
    case 'ArtifactGenerated': return html`<li class="step file" style=${inset}><b><${Text} text=${event.name ?? event.artifact_id} /></b><span class="aside"><${Text} text=${event.mime_type} /> ${event.artifact?.octets ?? event.artifact?.bytes ? `${(event.artifact.octets ?? event.artifact.bytes).toLocaleString('en')} bytes` : ''}</span>
      ${event.artifact_id && String(event.url ?? '').startsWith('/artifacts/') ? html`<button onClick=${() => download(`/artifacts/${encodeURIComponent(event.artifact_id)}`, event.name ?? event.artifact_id)}>Save</button>` : html`<span class="aside"><${Text} text=${event.url} /></span>`}</li>`;
    case 'WaitForInput': return html`<li class="step asks" style=${inset}><p><${Mark} state="waiting" /> asks</p>${Object.entries(event.request_keys ?? {}).map(([name, asks]) => html`<p><b><${Text} text=${name} /></b> <${Text} text=${asks} /></p>`)}</li>`;
    case 'RunCompleted': return html`<li class=${`step end ${event.finish_reason}`}><p><${Mark} state=${event.finish_reason === 'success' ? 'done' : event.finish_reason === 'canceled' ? 'gone' : 'failed'} /> <b>${event.finish_reason === 'error' ? 'failed' : event.finish_reason}</b></p>
      ${event.error ? html`<${Code} text=${String(event.error)} label="Error" />` : null}${event.result ? html`<${Markdown} text=${String(event.result)} />` : null}</li>`;
    default: return html`<li class="step" style=${inset}><details><summary><${Text} text=${event.type} /></summary><${Json} value=${event} /></details></li>`;
  }
}

/** @param {any} args */
const gist = (args) => {
  if (!args) return '';
  const first = args.command ?? args.path ?? args.query ?? Object.values(args)[0];
  return (typeof first === 'string' ? first : JSON.stringify(args)).slice(0, 160);
};
