// The words for the kinds of requests, and the gist of one.
// Must not know: how it is shown.

/** @type {Record<string, string>} */
export const KINDS = {
  permission: 'Permission', question: 'Question', run_input: 'Run waits', review: 'Review', contact: 'Contact',
  invitation: 'Invitation', hold: 'Held',
};

/** What it is about in one line. @param {import('../../core/types.js').PersonRequest} one */
export const gist = (one) => {
  const { detail = {}, action } = one;
  if (detail.command) return detail.command.split('\n')[0];
  if (detail.diff) return (/^\+\+\+ (?:b\/)?(.+)$/m.exec(detail.diff)?.[1] ?? action?.name ?? '').trim();
  if (one.kind !== 'run_input' && action?.args && typeof action.args === 'object') return `${action.name} ${JSON.stringify(action.args)}`.slice(0, 200);
  return '';
};

/** What happens when nobody answers. @type {Record<string, string>} */
export const TIMEOUT = {
  accept: 'If nobody answers in time, it is accepted.',
  ignore: 'If nobody answers in time, it is ignored.',
  none: 'It waits until somebody answers.',
};
