// A dialog with the browser's own element: the focus stays inside, Escape closes it, the focus returns.
// Must not know: the content of the dialog.

import { html, useEffect, useRef } from '../core/preact.js';
import { say } from './toast.js';

/**
 * A click beside it closes it, unless it is `firm`: what it shows is not shown again.
 * @param {{title: string, close: () => void, children?: any, wide?: boolean, firm?: boolean}} props
 */
export function Dialog({ title, close, children, wide = false, firm = false }) {
  // A text that is selected out of the dialog ends its click beside it.
  const pressed = useRef(/** @type {EventTarget | null} */ (null));
  const node = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = node.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return html`<dialog ref=${node} class=${wide ? 'dialog wide' : 'dialog'} aria-label=${title} onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); close(); }}
      onMouseDown=${(/** @type {MouseEvent} */ event) => (pressed.current = event.target)}
      onClick=${(/** @type {MouseEvent} */ event) => !firm && event.target === node.current && pressed.current === node.current && close()}>
    <div class="dialog-body">
      <header><h2>${title}</h2><button class="quiet close" aria-label="Close" onClick=${close}>×</button></header>
      ${children}
    </div>
  </dialog>`;
}

/** @param {{text: string}} props */
export const Copy = ({ text }) => html`<button onClick=${() => navigator.clipboard?.writeText(text).then(() => say('Copied.'), () => say('This browser does not let the page copy.', { bad: true }))}>Copy</button>`;

/** A dialog with a secret that is shown once. @param {{title: string, close: () => void, label: string, text: string, children?: any}} props */
export const Secret = ({ title, close, label, text, children }) => html`<${Dialog} title=${title} close=${close} firm><p>${children}</p><pre class="code wrap" tabindex="0" aria-label=${label}><code>${text}</code></pre><p class="acts spaced"><${Copy} text=${text} /></p><//>`;
