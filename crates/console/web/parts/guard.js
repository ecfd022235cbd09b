// An error boundary: a component that fails does not break the page around it.
// Must not know: the content.

import { html, useErrorBoundary } from '../core/preact.js';

/** @param {{children?: any}} props */
export function Guard({ children }) {
  const [failure] = useErrorBoundary((error) => console.warn(error));
  return failure ? html`<p class="trouble" role="alert">This cannot be shown.</p>` : children;
}
