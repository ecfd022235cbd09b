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

/** A one-line summary. @param {import('../../core/types.js').PersonRequest} one */
export const gist = (one) => {
  const { detail = {}, action } = one;
  if (detail.command) return detail.command.split('\n')[0];
  if (detail.diff) return (/^\+\+\+ (?:b\/)?(.+)$/m.exec(detail.diff)?.[1] ?? action?.name ?? '').trim();
  if (one.kind !== 'run_input' && action?.args && typeof action.args === 'object') return `${action.name} ${JSON.stringify(action.args)}`.slice(0, 200);
  return '';
};

const joins = 'The agent joins the conversation.';
/** The effects of accepting and of ignoring. @type {Record<string, [string, string]>} */
const EFFECTS = {
  'contact accounts': ['Each allows the other.', 'The request is declined.'],
  'invitation sessions': [joins, 'The agent may still join.'],
  'hold sessions': [joins, 'The invitation is declined.'],
  'hold runs': ['The run begins.', 'The run is canceled.'],
  'review context': ['The package is complete.', 'It goes on waiting.'],
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
