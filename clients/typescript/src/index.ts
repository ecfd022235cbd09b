// A client of a Plenary server: every operation, and the live streams.

import { Operations } from "./generated/operations.js";
import { Streams } from "./streams.js";
import { Transport, type CallOptions } from "./transport.js";

export * from "./errors.js";
export type * from "./events.js";
export type * as types from "./generated/types.js";
export type { AskOptions, FrameOptions, StreamOptions, Streams } from "./streams.js";
export type { CallOptions, KeyedOptions } from "./transport.js";

export interface PlenaryOptions {
  /** Default: `http://127.0.0.1:7420`. */
  url?: string;
  token?: string;
  /** How long one attempt may take; default 90 s, longer than the server lets anybody wait for news. */
  timeoutMs?: number;
  /** How often a call is tried in all: a read, or a write that has an idempotency key. Default 5. */
  attempts?: number;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** In place of the platform's. */
  fetch?: typeof globalThis.fetch;
  /** In place of the platform's. Node 20 has one with `--experimental-websocket`. */
  WebSocket?: typeof globalThis.WebSocket;
  /** Told the name of each operation. */
  onCall?: (operation: string) => void;
}

/**
 * A client of one server, with one token. Operations are methods in groups, as /openapi.json names them:
 * `session.create` is `client.session.create(…)`. `client.streams` has what is live.
 *
 * Bodies and answers are as JSON has them on the wire; names of methods and parameters are in camel case.
 */
export class Plenary extends Operations {
  readonly streams: Streams;

  constructor(options: PlenaryOptions = {}) {
    const transport = new Transport({
      url: options.url ?? "http://127.0.0.1:7420",
      token: options.token,
      headers: options.headers ?? {},
      timeoutMs: options.timeoutMs ?? 90_000,
      attempts: options.attempts ?? 5,
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
      onCall: options.onCall ?? (() => {}),
    });
    super(transport);
    this.streams = new Streams(transport, options.WebSocket ?? globalThis.WebSocket);
  }

  /** Any other request, once; the answer as it came. */
  async call(
    method: string,
    path: string,
    options: CallOptions & { query?: Record<string, unknown>; body?: unknown } = {},
  ): Promise<Uint8Array> {
    const answer = await this.transport.call(`${method} ${path}`, method, path, "bytes", "once", options);
    return answer as Uint8Array;
  }
}
