// The fields of a form that an agent or its tool server sends, and their values.
// Must not know: the use of the values.

import { useDraft } from '../../core/drafts.js';
import { html, useEffect, useRef } from '../../core/preact.js';
import { Text, plainly } from '../../parts/text.js';

/**
 * @typedef {{value: string, title: string}} Choice
 * @typedef {{name: string, title: string, description: string, kind: 'text' | 'number' | 'truth' | 'choice' | 'choices', type: string,
 *   required: boolean, choices: Choice[], schema: any}} Field
 */

/** The input type for a format of a text. */
const TYPES = new Map([['email', 'email'], ['uri', 'url'], ['date', 'date']]);

// Agents write the schemas. The server checks only the parts that it validates values with; the rest may have any type.
const list = (/** @type {any} */ value) => (Array.isArray(value) ? value : []);
const word = (/** @type {any} */ value, /** @type {string} */ otherwise = '') => (typeof value === 'string' ? value : otherwise);

/** @param {any} schema @returns {Choice[] | undefined} */
const choicesOf = (schema) => {
  if (Array.isArray(schema?.enum)) return schema.enum.map((/** @type {any} */ value, /** @type {number} */ n) => ({ value: word(value), title: word(list(schema.enumNames)[n], word(value)) }));
  const titled = [schema?.oneOf, schema?.anyOf].find(Array.isArray);
  return titled?.map((/** @type {any} */ one) => ({ value: word(one?.const), title: word(one?.title, word(one?.const)) }));
};

/** The fields of a schema. @param {any} schema @returns {Field[]} */
export const fieldsOf = (schema) =>
  Object.entries(schema?.properties ?? {}).map(([name, of]) => {
    const choices = of.type === 'array' ? choicesOf(of.items) : of.type === 'string' ? choicesOf(of) : undefined;
    const kind = of.type === 'array' ? 'choices' : choices ? 'choice' : of.type === 'boolean' ? 'truth' : of.type === 'number' || of.type === 'integer' ? 'number' : 'text';
    return { name, title: word(of.title, name), description: word(of.description), kind, type: TYPES.get(word(of.format)) ?? 'text', required: list(schema.required).includes(name), choices: choices ?? [], schema: of };
  });

/** The initial value of a field. @param {Field} field */
export const initial = ({ kind, choices, schema: { default: first } }) => {
  const isChoice = (/** @type {any} */ one) => choices.some(({ value }) => value === one);
  if (kind === 'choices') return list(first).filter(isChoice);
  if (kind === 'truth') return first === true;
  return (kind === 'choice' ? isChoice(first) : ['string', 'number'].includes(typeof first)) ? String(first) : '';
};

/** The values to send, without empty optional ones. @param {Field[]} fields @param {Record<string, any>} held */
export function valuesOf(fields, held) {
  /** @type {Record<string, any>} */
  const values = {};
  for (const { name, kind, required } of fields) {
    const value = held[name];
    if (!required && (value === '' || (kind === 'choices' && !value.length))) continue;
    values[name] = kind === 'number' ? Number(value) : value;
  }
  return values;
}

/** The fields of a form as a list, before it is opened. @param {{schema: any}} props */
export const Asked = ({ schema }) => html`<dl class="facts stack">${fieldsOf(schema).map((field) => html`<div><dt><${Text} text=${field.title} /></dt><dd>${field.description ? html`<${Text} text=${field.description} />` : null}${field.choices.length ? html`${field.description ? ': ' : ''}<${Text} text=${field.choices.map(({ title }) => title).join(', ')} />` : null} <span class="aside">${[field.required ? 'required' : 'optional', ...limitsOf(field)].join(', ')}</span></dd></div>`)}</dl>`;

/** The limits of a field, in words. @param {Field} field */
const limitsOf = ({ kind, schema }) => {
  const [low, high, unit] = kind === 'number' ? [schema.minimum, schema.maximum, ''] : [schema.minLength, schema.maxLength, ' characters'];
  return [['at least', low], ['at most', high]].flatMap(([says, limit]) => (Number.isFinite(limit) ? [`${says} ${limit}${unit}`] : []));
};

/**
 * The form. A form that can be closed was opened by the person, and gets the focus.
 * @param {{schema: any, draft: string, close?: () => void, give: (values: any) => void, says?: string, disabled?: boolean, children?: any}} props
 */
export function Fields({ schema, draft, close, give, says = 'Send', disabled = false, children }) {
  const fields = fieldsOf(schema);
  const [held, hold] = useDraft(draft, /** @type {Record<string, any>} */ (Object.fromEntries(fields.map((field) => [field.name, initial(field)]))));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    if (close) /** @type {HTMLElement | null} */ (form.current?.querySelector('input, select, textarea'))?.focus();
  }, []);
  const send = () => !disabled && form.current?.reportValidity() && give(valuesOf(fields, held));
  const byKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    }
  };
  return html`<form class=${close ? 'answer-form fields' : 'answer-form fields last'} ref=${form} onKeyDown=${byKey} onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); send(); }}>
    ${fields.map((field, n) => html`<${Input} key=${field.name} field=${field} n=${n} value=${held[field.name]} set=${(/** @type {any} */ value) => hold({ ...held, [field.name]: value })} />`)}
    <div class="answer-bar"><button class="primary" disabled=${disabled}>${says} <kbd>Ctrl ↵</kbd></button>${children}${close ? html`<button type="button" class="quiet" onClick=${close}>Cancel</button>` : null}</div>
  </form>`;
}

/** @param {{field: Field, n: number, value: any, set: (value: any) => void}} props */
function Input({ field: { title, description, kind, type, required, choices, schema }, n, value, set }) {
  const note = description ? html`<span class="aside" id=${`field-${n}`}><${Text} text=${description} /></span>` : null;
  const about = { 'aria-describedby': description ? `field-${n}` : null, required };
  const typed = (/** @type {any} */ event) => set(event.target.value);
  if (kind === 'truth') return html`<div><label class="check"><input type="checkbox" aria-describedby=${about['aria-describedby']} checked=${value} onChange=${(/** @type {any} */ event) => set(event.target.checked)} /> ${plainly(title)}</label>${note}</div>`;
  if (kind === 'choices') {
    const pick = (/** @type {string} */ one) => set(value.includes(one) ? value.filter((/** @type {string} */ other) => other !== one) : [...value, one]);
    return html`<fieldset aria-describedby=${about['aria-describedby']}><legend>${plainly(title)}</legend>${note}${choices.map((choice) => html`<label class="check"><input type="checkbox" checked=${value.includes(choice.value)} onChange=${() => pick(choice.value)} /> ${plainly(choice.title)}</label>`)}</fieldset>`;
  }
  const input = kind === 'choice'
    ? html`<select ...${about} value=${value} onChange=${typed}><option value=""></option>${choices.map((choice) => html`<option value=${choice.value}>${plainly(choice.title)}</option>`)}</select>`
    : html`<input ...${about} type=${kind === 'number' ? 'number' : type} step=${schema.type === 'integer' ? 1 : 'any'} min=${schema.minimum} max=${schema.maximum} minlength=${schema.minLength} maxlength=${schema.maxLength} autocomplete="off" value=${value} onInput=${typed} />`;
  return html`<label><span>${plainly(title)}</span>${input}${note}</label>`;
}
