// One run: its steps, its artifacts, its questions, its end; and the buttons to stop or repeat it.
// Must not know: the list of runs.

import { html, useEffect, useMemo, useRef, useState } from '../../core/preact.js';
import { mayWrite, post, request } from '../../core/api.js';
import { useKeys } from '../../core/keys.js';
import { refine } from '../../core/route.js';
import { sent } from '../../core/sse.js';
import { span } from '../../core/time.js';
import { Markdown } from '../../parts/markdown.js';
import { Age, Mark } from '../../parts/marks.js';
import { Text } from '../../parts/text.js';
import { say, sayFailure } from '../../parts/toast.js';
import { Fields, fieldsOf } from '../inbox/fields.js';
import { inputOf, reportOf, titleOf } from './runs.js';
import { Step, steps } from './steps.js';

const KEPT_MAX = 5_000;
/** Events that come within this time are drawn together. */
const DRAW_MS = 50;
const RETRY_MS = 1_500;
/** The status of a run with this end. @param {string} reason */
const statusOf = (reason) => (reason === 'success' ? 'completed' : reason === 'canceled' ? 'canceled' : 'error');

/** The events of a run from its beginning, and the text in progress. @param {import('./runs.js').Run} run */
function useEvents(run) {
  const [events, set] = useState(/** @type {any[]} */ ([]));
  const [writing, setWriting] = useState('');
  useEffect(() => {
    const stop = new AbortController();
    let last = 0;
    /** @type {any[]} */
    let come = [];
    let timer = 0;
    /** Draws what has come: many events at once are drawn once. */
    const draw = () => {
      clearTimeout(timer);
      timer = 0;
      const more = come;
      come = [];
      set((was) => [...was, ...more].slice(-KEPT_MAX));
    };
    const follow = async () => {
      while (!stop.signal.aborted) {
        try {
          const reply = await request('GET', `/agent/${encodeURIComponent(run.name)}/get_events/${run.run_id}?stream=true${last ? `&since=${last}` : '&since=0'}`, { accept: 'text/event-stream', signal: stop.signal, as: run.as });
          for await (const { data } of sent(reply)) {
            if (stop.signal.aborted) return;
            if (data.type === 'TextDelta') setWriting((was) => (was + (data.content ?? data.text ?? '')).slice(-100_000));
            else if (data.id > last) {
              last = data.id;
              come.push(data);
              timer ||= setTimeout(draw, DRAW_MS);
              if (data.type === 'TextOutput') {
                setWriting('');
                draw();
              }
              if (data.type === 'RunCompleted') return draw();
            }
          }
        } catch {}
        await new Promise((done) => setTimeout(done, RETRY_MS));
      }
    };
    follow();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [run.run_id]);
  return { events, writing };
}

/** @param {{run: import('./runs.js').Run, rerun: (what: any) => void}} props */
export function Run({ run, rerun }) {
  const report = reportOf(run).value;
  const { events, writing } = useEvents(run);
  const drawn = useMemo(() => steps(events).map((step) => html`<${Step} key=${step.id} step=${step} />`), [events]);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const near = useRef(false);
  useEffect(() => {
    if (near.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [events.length, writing]);
  const end = events.find(({ type }) => type === 'RunCompleted');
  const ended = end !== undefined;
  // The event may come before the report that it changes.
  const status = ended && report && ['running', 'waiting'].includes(report.status) ? statusOf(end.finish_reason) : report?.status;
  const path = `/agent/${encodeURIComponent(run.name)}/run`;
  const cancel = async () => {
    try {
      await post(path, { type: 'CancelRequest', run_id: run.run_id }, { as: run.as });
      say('The run is being canceled.');
    } catch (error) {
      sayFailure(error);
    }
  };
  const waiting = status === 'waiting' ? [...events].reverse().find(({ type }) => type === 'WaitForInput') : undefined;
  const again = () => rerun({ name: run.name, as: run.as, input: inputOf(run, report) });
  useKeys('Run', [
    { keys: 'R', says: 'Ask the same again', run: () => mayWrite() && report && again() },
    { keys: 'Escape', says: 'Back to the list', run: () => refine({ id: '' }), hidden: true },
  ]);
  const took = report ? Date.parse(report.updated_at) - Date.parse(report.created_at) : 0;
  return html`<article class="run" aria-labelledby="run-title">
    <header class="talk-head">
      <p class="back"><button class="quiet" onClick=${() => refine({ id: '' })}>‹ All runs</button></p>
      <div class="talk-title"><h2 id="run-title"><${Text} text=${titleOf(run, report)} /></h2>
        <div class="acts">${ended ? null : html`<button disabled=${!mayWrite()} onClick=${cancel}>Cancel</button>`}<button disabled=${!mayWrite() || !report} onClick=${again}>Ask again</button></div></div>
      <p class="people">${status ? html`<span><${Mark} state=${status} /> <b>${report?.held ? 'held' : status}</b></span>` : null} <span><${Text} text=${run.name} /></span> <span class="aside">began <${Age} at=${report?.created_at ?? run.at} suffix=" ago" />${ended && took ? `, took ${took < 1000 ? `${took} ms` : span(took)}` : ''}</span> <span class="aside"><code>${run.run_id}</code></span></p>
    </header>
    <div class="talk-scroll" ref=${box} tabindex="0" role="log" aria-label="Steps" onScroll=${() => { const node = box.current; if (node) near.current = node.scrollHeight - node.scrollTop - node.clientHeight < 60; }}>
      <ol class="steps">${drawn}
        ${writing ? html`<li class="step text writing"><${Markdown} text=${writing} /></li>` : null}
        ${ended || status === 'waiting' || writing ? null : html`<li class="step event-line" aria-live="polite">${report?.held ? 'It waits until a person of the agent’s owner accepts it.' : 'working …'}</li>`}</ol>
    </div>
    ${waiting ? html`<${Answer} key=${waiting.id} asked=${waiting} draft=${`${run.run_id} ${waiting.id}`} send=${(/** @type {any} */ request_keys) => post(path, { type: 'ResumeWithInput', run_id: run.run_id, event_id: waiting.id, request_keys }, { as: run.as })} />` : null}
  </article>`;
}

/** The key that accepts a form without values, or declines it. */
const WHOLE = 'elicitation';

/** A form for a run that waits for input without a form: for each name a text, or one of the options. @param {any} asked */
const formOf = ({ request_keys, options }) => ({
  required: Object.keys(request_keys ?? {}),
  properties: Object.fromEntries(Object.entries(request_keys ?? {}).map(([name, asks]) => [name, {
    type: 'string', title: typeof asks === 'string' ? asks : name,
    oneOf: Array.isArray(options?.[name]) ? options[name].map((/** @type {any} */ one) => ({ const: one?.id, title: one?.name })) : undefined,
  }])),
});

/** @param {{asked: any, draft: string, send: (keys: any) => Promise<any>}} props */
function Answer({ asked, draft, send }) {
  const [busy, setBusy] = useState(false);
  const give = async (/** @type {any} */ keys) => {
    setBusy(true);
    try {
      await send(keys);
      say('Answered. The run continues.');
    } catch (error) {
      sayFailure(error);
    }
    setBusy(false);
  };
  const disabled = busy || !mayWrite();
  const decline = asked.form ? html`<button type="button" disabled=${disabled} onClick=${() => give({ [WHOLE]: 'decline' })}>Decline</button>` : null;
  const isEmpty = asked.form && !fieldsOf(asked.form).length;
  return html`<footer class="answer">${asked.message ? html`<${Markdown} text=${String(asked.message)} />` : null}
    ${isEmpty ? html`<div class="answer-bar"><button class="primary" disabled=${disabled} onClick=${() => give({ [WHOLE]: 'accept' })}>Accept</button>${decline}</div>`
    : html`<${Fields} schema=${asked.form ?? formOf(asked)} draft=${draft} says="Answer" disabled=${disabled} give=${give}>${decline}<//>`}</footer>`;
}
