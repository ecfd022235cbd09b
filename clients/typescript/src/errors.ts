// What a call can end in but its answer: refused by the server, cut off by the network, or unreadable.

import type { ErrorCode } from "./generated/types.js";

/** The base of every error of this package. */
export class PlenaryError extends Error {
  override name = "PlenaryError";
}

/** An argument that no request can have, such as the id `..`. Nothing was sent. */
export class ArgumentError extends PlenaryError {
  override name = "ArgumentError";
}

/**
 * The server was not reached, or the connection broke before the answer was whole. A write that was sent with a key may
 * be repeated with the same `idempotencyKey`: it is carried out once.
 */
export class NetworkError extends PlenaryError {
  override name = "NetworkError";

  constructor(
    message: string,
    readonly idempotencyKey?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The answer is not what the server's description says: perhaps it is not a Plenary server. */
export class UnreadableError extends PlenaryError {
  override name = "UnreadableError";
}

/** What a refusal says. */
export interface Refusal {
  status: number;
  /** Stable, for programs. */
  code: ErrorCode | (string & {});
  /** For people. */
  message: string;
  /** The member or parameter that is wrong, where the server names one. */
  field?: string;
  /** In how many seconds one may try again, where the server says so. */
  retryAfter?: number;
  body?: unknown;
  /** The key that the call was sent with. */
  idempotencyKey?: string;
}

/** The server refused. `code` is stable and for programs, `reason` is for people. */
export class RefusedError extends PlenaryError {
  override name = "RefusedError";
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly reason: string;
  readonly field?: string;
  readonly retryAfter?: number;
  readonly body?: unknown;
  readonly idempotencyKey?: string;

  constructor(refusal: Refusal) {
    super(`${refusal.status} ${refusal.code}: ${refusal.message}`);
    this.status = refusal.status;
    this.code = refusal.code;
    this.reason = refusal.message;
    this.field = refusal.field;
    this.retryAfter = refusal.retryAfter;
    this.body = refusal.body;
    this.idempotencyKey = refusal.idempotencyKey;
  }
}

/** 400, 413, 415, 416, 422, 431: the request itself is wrong. */
export class InvalidError extends RefusedError {
  override name = "InvalidError";
}

/** 401: the token is missing or not valid. */
export class UnauthorizedError extends RefusedError {
  override name = "UnauthorizedError";
}

/** 403: the token may not do this, or a quota is used up. */
export class ForbiddenError extends RefusedError {
  override name = "ForbiddenError";
}

/** 404: absent, or not for this token. The server makes no difference. */
export class NotFoundError extends RefusedError {
  override name = "NotFoundError";
}

/** 409: the state of things does not allow it. */
export class ConflictError extends RefusedError {
  override name = "ConflictError";
}

/** 429: a limit of this caller. */
export class TooManyError extends RefusedError {
  override name = "TooManyError";
}

/** 408 and 5xx: the server could not. What became of a write is unknown; repeat it with the same key. */
export class ServerError extends RefusedError {
  override name = "ServerError";
}

const CLASSES: Record<number, typeof RefusedError> = {
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  408: ServerError,
  409: ConflictError,
  429: TooManyError,
};

/** Reads the shapes that refusals of the rooms have. */
export function refusal(status: number, headers: Headers, text: string, idempotencyKey?: string): RefusedError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // A page of something else that listens there.
  }
  const outer = record(body);
  const detail = record(outer["error"] ?? outer);
  const word = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const asked = Number.parseInt(headers.get("retry-after") ?? "", 10);
  const made = CLASSES[status] ?? (status >= 500 ? ServerError : InvalidError);
  return new made({
    status,
    code: word(detail["code"]) ?? `http_${status}`,
    message: word(detail["message"]) ?? word(detail["detail"]) ?? text.slice(0, 200),
    field: word(detail["field"]),
    retryAfter: Number.isNaN(asked) ? undefined : asked,
    body,
    idempotencyKey,
  });
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** Whether it may be over soon. */
export function passing(error: unknown): boolean {
  if (error instanceof NetworkError) return true;
  return error instanceof RefusedError && (error.status === 429 || (error.status >= 500 && error.status !== 501));
}
