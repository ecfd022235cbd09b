// The server's writes: commits per second, their duration, and the depth of its queues.
// Must not know: the names of metrics.

import { html, useEffect, useState } from '../../core/preact.js';
import { commits, queues } from './samples.js';

/** @param {number | undefined} seconds */
const time = (seconds) => (seconds === undefined ? '–' : seconds === Infinity ? 'over 10 s' : seconds < 1 ? `${(seconds * 1000).toFixed(1)} ms` : `${seconds.toFixed(1)} s`);

/** @typedef {{at: number, samples: import('./samples.js').Sample[]}} Look */

/** @param {{samples: import('./samples.js').Sample[]}} props */
export function Writing({ samples }) {
  const [looks, add] = useState(/** @type {Look[]} */ ([]));
  useEffect(() => {
    if (samples.length) add((before) => [...before.slice(-1), { at: Date.now(), samples }]);
  }, [samples]);
  const [before, now] = looks;
  const done = before && now ? commits(before.samples, now.samples, (now.at - before.at) / 1000) : undefined;
  return html`<dl class="gauges">
      <div><dd class="num">${done ? done.rate.toFixed(1) : '…'}</dd><dt>commits a second</dt></div>
      <div><dd class="num">${done ? time(done.mean) : '…'}</dd><dt>a commit takes, on average</dt></div>
      <div><dd class="num">${done ? time(done.most) : '…'}</dd><dt>95 of 100 take no longer</dt></div>
    </dl>
    <table class="table"><thead><tr><th scope="col">Queue</th><th scope="col" class="r">Now</th></tr></thead><tbody>${queues(samples).map(([says, value]) => html`<tr key=${says}><th scope="row">${says}</th><td class="r num">${value.toLocaleString('en')}</td></tr>`)}</tbody></table>`;
}
