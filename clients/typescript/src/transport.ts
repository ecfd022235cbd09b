// One HTTP call and its whole answer, repeated where that is safe.

import { ArgumentError, NetworkError, PlenaryError, UnreadableError, passing, refusal } from "./errors.js";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** What each call takes besides its own arguments. */
export interface CallOptions {
  /** Ends the call. */
  signal?: AbortSignal;
  /** How long one attempt may take. */
  timeoutMs?: number;
  headers?: Record<string, string>;
}

/** What a write takes that is carried out once under its key. */
export interface KeyedOptions extends CallOptions {
  /** A fresh one when absent: 1 to 255 visible ASCII characters. */
  idempotencyKey?: string;
}

/** What the printed operations say of a call. */
export interface Call extends KeyedOptions {
  query?: Record<string, unknown>;
  /** JSON. */
  body?: unknown;
  content?: Uint8Array | string;
  contentType?: string;
  form?: { file: Blob; filename: string };
}

export type Answer = "json" | "text" | "bytes" | "none";
/** `read`: changes nothing; `key`: carried out once under its key; `once`: never repeated. */
export type Repeat = "read" | "key" | "once";

export interface TransportOptions {
  url: string;
  token?: string;
  headers: Record<string, string>;
  timeoutMs: number;
  attempts: number;
  fetch: typeof globalThis.fetch;
  onCall: (operation: string) => void;
}

/** Sends calls, with the token, to one server. */
export class Transport {
  readonly url: string;
  readonly headers: Record<string, string>;

  constructor(readonly options: TransportOptions) {
    this.url = address(options.url);
    this.headers = sendable(options.headers);
    // A token that was read from a file ends with a line break.
    const token = options.token?.trim();
    if (token) Object.assign(this.headers, sendable({ authorization: `Bearer ${token}` }));
  }

  /** Carries an operation out. */
  async call(
    operation: string,
    method: string,
    path: string,
    answer: Answer,
    repeat: Repeat,
    call: Call,
  ): Promise<unknown> {
    this.options.onCall(operation);
    const headers: Record<string, string> = { ...this.headers, ...sendable(call.headers ?? {}) };
    if (answer === "json") headers["accept"] = "application/json";
    const key = repeat === "key" ? (call.idempotencyKey ?? randomKey()) : undefined;
    // A fresh key makes every repetition safe, also over a crash of the server.
    if (key) Object.assign(headers, sendable({ "idempotency-key": key }));
    let body: BodyInit | undefined;
    if (call.form) {
      const form = new FormData();
      form.append("file", call.form.file, call.form.filename);
      body = form;
    } else if (call.content !== undefined) {
      body = call.content as BodyInit;
      if (call.contentType) headers["content-type"] = call.contentType;
    } else if (call.body !== undefined) {
      body = JSON.stringify(call.body);
      headers["content-type"] = "application/json";
    }
    const url = this.url + path + queryOf(call.query ?? {});
    const backoff = new Backoff(FIRST_WAIT_MS, LONGEST_WAIT_MS);
    for (let left = repeat === "once" ? 1 : Math.max(this.options.attempts, 1); ; ) {
      left -= 1;
      try {
        return await this.attempt(url, { method, headers, body }, answer, call, key);
      } catch (error) {
        const again = error instanceof NetworkError || (passing(error) && [429, 503].includes(statusOf(error)));
        if (left === 0 || !again || call.signal?.aborted) throw error;
        const asked = (error as { retryAfter?: number }).retryAfter ?? 0;
        await pause(Math.max(backoff.next(), Math.min(asked * 1_000, LONGEST_WAIT_MS)), call.signal);
      }
    }
  }

  private async attempt(
    url: string,
    request: RequestInit,
    answer: Answer,
    call: Call,
    key: string | undefined,
  ): Promise<unknown> {
    const limit = AbortSignal.timeout(call.timeoutMs ?? this.options.timeoutMs);
    const signal = call.signal ? AbortSignal.any([call.signal, limit]) : limit;
    try {
      const response = await this.options.fetch(url, { ...request, signal, redirect: "manual" });
      if (!response.ok) throw refusal(response.status, response.headers, await response.text(), key);
      if (answer === "bytes") return new Uint8Array(await response.arrayBuffer());
      const text = await response.text();
      if (answer === "text") return text;
      // 202 and 204 have no body, whatever the operation answers otherwise.
      if (answer === "none" || (text === "" && [202, 204].includes(response.status))) return null;
      return parse(text);
    } catch (error) {
      if (error instanceof PlenaryError || call.signal?.aborted) throw error;
      throw new NetworkError(`${request.method} ${url}: ${describe(error)}`, key, { cause: error });
    }
  }
}

/** The address of a server, without the slash at its end. */
function address(url: string): string {
  if (!/^https?:\/\/[^/]/.test(url.trim())) {
    throw new ArgumentError("the address of the server begins with neither http:// nor https://, or names no host");
  }
  return url.trim().replace(/\/+$/, "");
}

/** These headers, if all can be sent. The error does not show the value, which may be a token. */
export function sendable(headers: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^(?:[!-~](?:[ -~]*[!-~])?)?$/.test(value)) {
      throw new ArgumentError(`the header \`${name}\` has a character that a header cannot have`);
    }
  }
  return { ...headers };
}

/**
 * Puts values into a path, percent-encoded. An id often comes from a message of somebody else. Without a value, or with
 * `.` or `..`, the path would be that of another operation, for `fetch` shortens URLs, whether a dot is encoded or not.
 */
export function pathOf(template: string, values: Record<string, string | number>): string {
  return template.replace(/{(\w+)}/g, (_, name: string) => {
    const value = String(values[name] ?? "");
    if (["", ".", ".."].includes(value)) throw new ArgumentError(`\`${name}\` is "${value}", which is no id`);
    return encodeURIComponent(value);
  });
}

/** A query of what is given. */
export function queryOf(values: Record<string, unknown>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableError(`no JSON, but ${JSON.stringify(text.slice(0, 80))}`, { cause: error });
  }
}

/** Why the network failed; `fetch` hides it in the cause. */
export function describe(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return [message, cause?.code ?? cause?.message].filter(Boolean).join(": ");
}

function statusOf(error: unknown): number {
  return (error as { status?: number }).status ?? 0;
}

export function randomKey(): string {
  const bits = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bits, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Rising waits with jitter: the nth is random between half and all of `first * 2^n`, at most `longest`, in ms. */
export class Backoff {
  private tried = 0;

  constructor(
    private readonly first: number,
    private readonly longest: number,
  ) {}

  next(): number {
    const whole = Math.min(this.first * 2 ** Math.min(this.tried, 20), this.longest);
    this.tried += 1;
    return whole * (0.5 + Math.random() / 2);
  }

  reset(): void {
    this.tried = 0;
  }
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    if (signal?.aborted) return fail(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      done();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
