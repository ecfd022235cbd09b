// Issues a token of an agent with a scope and an expiry. Its secret is shown once.
// Must not know: the existing tokens.

import { html, useState } from '../../core/preact.js';
import { post } from '../../core/api.js';
import { useSend } from '../../core/send.js';
import { Dialog, Secret } from '../../parts/dialog.js';
import { Handle } from '../../parts/text.js';

const ROOMS = ['accounts', 'sessions', 'frames', 'channels', 'context', 'runs', 'requests', 'inbox'];
/** @type {[string, number][]} In seconds. */
const LASTS = [['an hour', 3_600], ['a day', 86_400], ['30 days', 2_592_000], ['a year', 31_536_000], ['until it is revoked', 0]];

/** The scope of a form. @param {FormData} fields */
const scopeIn = (fields) => {
  const may = String(fields.get('may'));
  const rooms = may === 'rooms' ? ROOMS.flatMap((room) => (fields.get(room) ? [`${room}:${fields.get(room)}`] : [])) : [may];
  const only = String(fields.get('only') ?? '').split(/\s+/).filter(Boolean);
  return [...rooms, ...only].join(' ');
};

/** @param {{agents: import('../../core/types.js').Agent[], handle: string, close: () => void, made: () => void}} props */
export function Issue({ agents, handle, close, made }) {
  const [may, choose] = useState('read');
  const [token, setToken] = useState(/** @type {any} */ (undefined));
  const [of, setOf] = useState(handle);
  const [trouble, setTrouble] = useState('');
  const { busy, send: sendOnce } = useSend('new token');
  const send = async (/** @type {any} */ event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    const [name, seconds] = [String(fields.get('name')).trim(), Number(fields.get('lasts'))];
    const body = { scope: scopeIn(fields), ...(name ? { name } : {}), ...(seconds ? { expires_in: seconds } : {}) };
    try {
      await sendOnce([of, body], async (key) => setToken(await post(`/_admin/agents/${of}/tokens`, body, { key })));
      made();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  if (token) {
    return html`<${Secret} title="The token is made" close=${close} text=${token.token} label="The token"><${Handle} handle=${of} /> has this token. It is shown once.<//>`;
  }
  const value = (/** @type {any} */ event) => event.target.value;
  return html`<${Dialog} title="A new token" close=${close}><form class="form" onSubmit=${send}>
    <label>Agent <select name="agent" autofocus value=${of} onChange=${(/** @type {any} */ event) => setOf(value(event))}>${agents.map((agent) => html`<option value=${agent.handle}>${agent.handle}</option>`)}</select></label>
    <label>Name <input name="name" maxlength="100" placeholder="what it is for" autocomplete="off" /></label>
    <label>It may <select name="may" value=${may} onChange=${(/** @type {any} */ event) => choose(value(event))}><option value="read">read everything</option><option value="write">read and write everything</option><option value="rooms">what is chosen here</option></select></label>
    ${may === 'rooms' ? html`<fieldset class="choices-grid"><legend class="unseen">Rooms</legend>${ROOMS.map((room) => html`<label>${room} <select name=${room}><option value="">nothing</option><option value="read">read</option><option value="write">write</option></select></label>`)}</fieldset>
      <label>Only these sessions, channels and projects <input name="only" placeholder="session:ID channel:ID project:ID" spellcheck=${false} autocomplete="off" /></label>` : null}
    <label>It lasts <select name="lasts">${LASTS.map(([says, seconds]) => html`<option value=${seconds} selected=${seconds === 2_592_000}>${says}</option>`)}</select></label>
    ${trouble ? html`<p class="trouble" role="alert">${trouble}</p>` : null}
    <div class="answer-bar"><button class="primary" disabled=${busy}>Make it</button><button type="button" class="quiet" onClick=${close}>Cancel</button></div></form><//>`;
}
