// The texts for each kind of request, and a one-line summary.
// Must not know: the presentation.

/** @type {Record<string, string>} */
export const KINDS = {
  permission: 'Permission', question: 'Question', run_input: 'Run waits', review: 'Review', contact: 'Contact',
  invitation: 'Invitation', hold: 'Held',
};

/**
 * The agents and people of a request with labels for its kind, the sender first.
 * @param {import('../../core/types.js').PersonRequest} one @returns {[string, string][]} a label and a name
 */
export const parties = ({ kind, from, on_behalf_of: behalf, action, source }) => {
  if (kind === 'run_input' && action) return [['Asks', action.name], ['On behalf of', behalf ?? from]];
  // In these requests another agent wants something of the owner's own agent.
  if (kind === 'contact' && behalf) return [['Asks', behalf], ['To write to', from]];
  if (kind === 'invitation' && behalf) return [['Asks', behalf], ['To take part', from]];
  if (kind === 'hold' && behalf && source?.room === 'runs') return [['Asks', behalf], ['For a run of', from]];
  if (kind === 'hold' && behalf && source?.room === 'sessions') return [['Asks', behalf], ['To take part', from]];
  return behalf && behalf !== from ? [['Asks', from], ['On behalf of', behalf]] : [['Asks', from]];
};

/** @param {import('../../core/types.js').PersonRequest} one */
export const askerOf = (one) => parties(one)[0][1];

/** A row with a longer text does not show it whole. */
const WHOLE_MAX = 240;

/**
 * A summary in a line, and whether it has all that is accepted: only then is a request answered where it is not shown in full.
 * @param {import('../../core/types.js').PersonRequest} one
 */
export const gist = (one) => {
  const { detail = {}, action } = one;
  const args = one.kind === 'run_input' || one.form ? undefined : action?.args;
  const others = Object.entries(args ?? {}).filter(([, value]) => value !== detail.command);
  const said = detail.command ? [detail.command, ...others.map(([name, value]) => `${name}: ${JSON.stringify(value)}`)] : others.length ? [`${action?.name} ${JSON.stringify(args)}`] : [];
  const paths = [...(detail.diff ?? '').matchAll(/^\+\+\+ (?:b\/)?(.+)$/gm)].map(([, path]) => path.trim());
  const all = [...(paths.length ? [paths.join(', ')] : said), detail.text, one.directory && `in ${one.directory}`].filter(Boolean).join(' · ');
  const isWhole = !detail.diff && !detail.document && all.length + one.title.length <= WHOLE_MAX && !/[\n\r\u2028\u2029]/.test(all);
  return { text: all.slice(0, WHOLE_MAX), isWhole };
};

/** Whether an argument is sent that the request's page shows nowhere else. @param {import('../../core/types.js').PersonRequest} one */
export const sendsUnseen = ({ kind, title, detail = {}, action, directory }) => {
  // Markdown hides some characters of a text.
  const shown = [detail.command, kind === 'permission' ? detail.document : undefined, directory, title.slice(title.indexOf(': ') + 2)];
  const lines = new Set((detail.diff ?? '').split('\n').map((line) => line.slice(1)));
  const isSeen = (/** @type {any} */ value) => typeof value === 'string' && (shown.includes(value) || (detail.diff && value.trimEnd().split('\n').every((line) => lines.has(line))));
  return typeof action?.args !== 'object' || !Object.values(action.args ?? {}).every(isSeen);
};

const joins = 'The agent joins the conversation.';
/** The effects of accepting and of ignoring. @type {Record<string, [string, string]>} */
const EFFECTS = {
  'contact accounts': ['Each allows the other.', 'The request is declined.'],
  'invitation sessions': [joins, 'The agent may still join.'],
  'hold sessions': [joins, 'The invitation is declined.'],
  'hold runs': ['The run begins.', 'The run is canceled.'],
  'review context': ['The package is complete.', 'It keeps waiting.'],
};

/** @param {import('../../core/types.js').PersonRequest} one */
export const effectsOf = ({ kind, source }) => EFFECTS[`${kind} ${source?.room}`];

/** The label of the button that ignores. @param {import('../../core/types.js').PersonRequest} one */
export const ignoring = (one) => (one.form || (effectsOf(one) && /contact|hold/.test(one.kind)) ? 'Decline' : 'Ignore');

/** An answer in a word. @param {import('../../core/types.js').PersonRequest} one */
export const doneOf = (one) => ({ accept: 'accepted', edit: one.form ? 'filled in' : 'accepted with changes', respond: 'replied', ignore: ignoring(one) === 'Decline' ? 'declined' : 'ignored' }[one.answer?.type ?? ''] ?? one.state);

/** The effect of the deadline. @param {import('../../core/types.js').PersonRequest} one */
export const thenOf = (one) => (one.on_timeout === 'ignore' && ignoring(one) === 'Decline' ? 'decline' : one.on_timeout);

/** The effect if nobody answers. @type {Record<string, string>} */
export const TIMEOUT = {
  accept: 'If nobody answers in time, it is accepted.',
  ignore: 'If nobody answers in time, it is ignored.',
  decline: 'If nobody answers in time, it is declined.',
  none: 'If nobody answers in time, it gets no answer.',
};
export const NO_DEADLINE = 'It waits until somebody answers.';
