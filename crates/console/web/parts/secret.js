// A secret that is shown once, with a button that copies it.
// Must not know: what it opens.

import { html } from '../core/preact.js';
import { say } from './toast.js';

/** @param {{text: string, label: string}} props */
export const Secret = ({ text, label }) => html`<pre class="code wrap" tabindex="0" aria-label=${label}><code>${text}</code></pre>
  <p class="acts spaced"><button onClick=${() => navigator.clipboard?.writeText(text).then(() => say('Copied.'), () => say('This browser does not let the page copy.', { bad: true }))}>Copy</button></p>`;
