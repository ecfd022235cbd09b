// A dialog with the browser's own element: the focus stays inside, Escape closes it, the focus returns.
// Must not know: the content of the dialog.

import { html, useEffect, useRef } from '../core/preact.js';

/** @param {{title: string, close: () => void, children?: any, wide?: boolean}} props */
export function Dialog({ title, close, children, wide = false }) {
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
      onClick=${(/** @type {MouseEvent} */ event) => event.target === node.current && close()}>
    <div class="dialog-body">
      <header><h2>${title}</h2><button class="quiet close" aria-label="Close" onClick=${close}>×</button></header>
      ${children}
    </div>
  </dialog>`;
}
