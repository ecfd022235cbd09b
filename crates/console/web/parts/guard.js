// What cannot be shown costs its own place, and not the page around it.
// Must not know: what stands in it.

import { html, useErrorBoundary } from '../core/preact.js';

/** @param {{children?: any}} props */
export function Guard({ children }) {
  const [failure] = useErrorBoundary((error) => console.warn(error));
  return failure ? html`<p class="trouble" role="alert">This cannot be shown.</p>` : children;
}
