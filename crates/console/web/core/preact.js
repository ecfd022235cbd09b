// The only import of the vendored libraries, with their types.
// Must not know: pages.

import * as preact from '../vendor/preact.js';
import * as hooks from '../vendor/hooks.js';
import * as signals from '../vendor/signals.js';
import htm from '../vendor/htm.js';

export const h = /** @type {typeof import('preact').h} */ (preact.h);
export const render = /** @type {typeof import('preact').render} */ (preact.render);

export const useEffect = /** @type {typeof import('preact/hooks').useEffect} */ (hooks.useEffect);
export const useErrorBoundary = /** @type {typeof import('preact/hooks').useErrorBoundary} */ (hooks.useErrorBoundary);
export const useLayoutEffect = /** @type {typeof import('preact/hooks').useLayoutEffect} */ (hooks.useLayoutEffect);
export const useMemo = /** @type {typeof import('preact/hooks').useMemo} */ (hooks.useMemo);
export const useRef = /** @type {typeof import('preact/hooks').useRef} */ (hooks.useRef);
export const useState = /** @type {typeof import('preact/hooks').useState} */ (hooks.useState);

export const signal = /** @type {typeof import('@preact/signals').signal} */ (signals.signal);
export const computed = /** @type {typeof import('@preact/signals').computed} */ (signals.computed);
export const effect = /** @type {typeof import('@preact/signals').effect} */ (signals.effect);
export const batch = /** @type {typeof import('@preact/signals').batch} */ (signals.batch);

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(preact.h);
