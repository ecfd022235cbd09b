// Live streams, opened again whenever they break, behind what was read of them.
//
// A stream is an async iterator: it works while its next event is awaited. The first failure is the caller's; once a
// stream stood, it is opened again until the server refuses it, or its signal ends it.

import { NetworkError, PlenaryError, UnreadableError, passing, refusal } from "./errors.js";
import type { ContextEvent, RunStreamEvent, SessionEvent, WatchEvent } from "./events.js";
import type { Event as ChannelEvent, EventPage, Frame, JsonObject, RunReport, TicketMade } from "./generated/types.js";
import { SeenEvents, SeenIds } from "./seen.js";
import { EventParser, type ServerEvent } from "./sse.js";
import { Backoff, describe, parse, pathOf, pause, queryOf, randomKey, sendable, type Transport } from "./transport.js";

/** The first wait before opening again: short, for the server counts the grace of a participant. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** How long a stream may be silent: three keepalives of the server. */
const SILENCE_MAX_MS = 45_000;
/** How long opening may take. */
const OPEN_MAX_MS = 10_000;
/** How often a WebSocket is asked for a sign of life. */
const PING_MS = 10_000;
const ASK_ATTEMPTS = 5;
/** The states of a run that has not ended. */
const ACTIVE: readonly string[] = ["queued", "running", "waiting"];

export interface StreamOptions {
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Called whenever the connection stands. */
  onOpen?: () => void;
}

export interface FrameOptions extends StreamOptions {
  filter?: string;
  instrument?: string;
  sessionId?: string;
  tool?: string;
  /** Begin with what the server still has. */
  retained?: boolean;
  /** Begin behind the frame that came with this id. */
  after?: string;
}

export interface AskOptions extends StreamOptions {
  threadId?: string;
  /** Further members of the request, such as `request_metadata`. */
  more?: JsonObject;
  idempotencyKey?: string;
}

/** The live streams. */
export class Streams {
  constructor(
    private readonly transport: Transport,
    private readonly socket: typeof WebSocket | undefined,
  ) {}

  /**
   * Every event of the agent's sessions: what it missed first, then what is new, each once.
   *
   * The platform's WebSocket tells the server by itself that an event arrived, before the program has dealt with it. A
   * program that must deal with everything, whatever becomes of it, follows `session`, whose place it keeps itself.
   */
  async *events(options: StreamOptions = {}): AsyncGenerator<SessionEvent, void> {
    for await (const event of this.live(options.signal)) {
      if (event) yield event;
      else options.onOpen?.();
    }
  }

  /**
   * The events of one session behind `afterSequence`, each once and in order, without end. The place is the caller's:
   * keep the `sequence` of the last event that was dealt with, and begin there again.
   */
  async *session(
    sessionId: string,
    options: StreamOptions & { afterSequence?: number } = {},
  ): AsyncGenerator<SessionEvent, void> {
    let after = options.afterSequence ?? 0;
    const path = pathOf("/sessions/{id}/events", { id: sessionId });
    for await (const event of this.live(options.signal)) {
      if (!event) options.onOpen?.();
      else if (!("sequence" in event) || event.session_id !== sessionId || event.sequence <= after) continue;
      // Something is new, or may have become so before the connection stood.
      for (;;) {
        const asked = this.transport.call("session.events", "GET", path, "json", "read", {
          query: { after_sequence: after },
          signal: options.signal,
        });
        const page = await ended(asked as Promise<EventPage>, options.signal);
        if (!page) return;
        const found = page.events as unknown as Extract<SessionEvent, { sequence: number }>[];
        for (const one of found) {
          yield one;
          after = one.sequence;
        }
        if (found.length === 0) break;
      }
    }
  }

  /** Frames for a handle (`~owner`), each once. What was sent during a break comes as far as the server has it. */
  async *frames(handle: string, options: FrameOptions = {}): AsyncGenerator<Frame, void> {
    const seen = new SeenIds();
    const { filter, instrument, sessionId, tool, retained, after, signal, onOpen } = options;
    const path = pathOf("/handles/{handle}/stream", { handle });
    const query = { filter, instrument, session_id: sessionId, tool, retained };
    for await (const event of this.feed("frame.stream", path, query, after, { signal, onOpen })) {
      const frame = parse(event.data) as Frame;
      if (seen.isNew(frame.frame_id)) yield frame;
    }
  }

  /** The events of a run behind the event `after`, each once, up to its RunCompleted. */
  async *run(
    agent: string,
    runId: string,
    options: StreamOptions & { after?: number } = {},
  ): AsyncGenerator<RunStreamEvent, void> {
    let last = options.after ?? 0;
    const path = pathOf("/agent/{name}/get_events", { name: agent });
    const report = pathOf("/agent/{name}/runs/{run_id}", { name: agent, run_id: runId });
    const isOver = async (): Promise<boolean> => {
      // Behind the last event of a run, its stream has nothing.
      const asked = this.transport.call("run.show", "GET", report, "json", "read", { signal: options.signal });
      const shown = (await asked) as RunReport;
      return !ACTIVE.includes(shown.status) && shown.last_event_id <= last;
    };
    const start = last ? String(last) : undefined;
    const query = { run_id: runId, stream: true };
    for await (const event of this.feed("run.events", path, query, start, options, isOver)) {
      const found = parse(event.data) as RunStreamEvent;
      if (found.id !== undefined && found.id <= last) continue;
      last = found.id ?? last;
      yield found;
      if (found.type === "RunCompleted") return;
    }
  }

  /** Asks an agent, and gives the events of the run up to its RunCompleted, over every break of the stream. */
  async *ask(agent: string, input: string, options: AskOptions = {}): AsyncGenerator<RunStreamEvent, void> {
    const key = options.idempotencyKey ?? randomKey();
    const path = pathOf("/agent/{name}/stream_request", { name: agent });
    const body = JSON.stringify({ ...options.more, input, thread_id: options.threadId });
    const own = sendable({ "idempotency-key": key, "content-type": "application/json" });
    const headers = { ...this.transport.headers, ...own };
    const backoff = new Backoff(FIRST_WAIT_MS, LONGEST_WAIT_MS);
    let [last, runId] = [0, ""];
    for (let left = ASK_ATTEMPTS; !runId && !options.signal?.aborted; ) {
      left -= 1;
      try {
        // Under one key a repetition is about the same run.
        for await (const event of this.open("run.stream", path, { method: "POST", headers, body }, options.signal)) {
          if (!event?.data) continue;
          const found = parse(event.data) as RunStreamEvent;
          [last, runId] = [Math.max(last, found.id ?? 0), found.run_id];
          yield found;
          if (found.type === "RunCompleted") return;
        }
      } catch (error) {
        if (options.signal?.aborted) return;
        if (!passing(error) || (left === 0 && !runId)) throw error;
      }
      if (runId) break;
      if (left === 0) throw new NetworkError(`${path} ended before the run began`, key);
      if (!(await rest(backoff.next(), options.signal))) return;
    }
    if (runId) yield* this.run(agent, runId, { after: last, signal: options.signal });
  }

  /** The events of a channel behind the event `after`, or from now on, each once. */
  async *channel(
    channelId: string,
    options: StreamOptions & { key?: string; kind?: string; after?: number } = {},
  ): AsyncGenerator<ChannelEvent, void> {
    const path = pathOf("/agent-channel/{id}/events/stream", { id: channelId });
    const { key, kind, after, signal, onOpen } = options;
    let last = after ?? 0;
    for await (const event of this.feed("channel.watch", path, { key, kind }, after?.toString(), { signal, onOpen })) {
      const found = parse(event.data) as ChannelEvent;
      if (found.id <= last) continue;
      last = found.id;
      yield found;
    }
  }

  /** What happens in a project, behind the event with the id `after`, or from now on. */
  async *context(
    projectId: string,
    options: StreamOptions & { types?: string; after?: string } = {},
  ): AsyncGenerator<ContextEvent, void> {
    const path = pathOf("/v1/projects/{id}/events", { id: projectId });
    const { types, after, signal, onOpen } = options;
    for await (const event of this.feed("context.events", path, { types }, after, { signal, onOpen })) {
      yield { id: event.id, name: event.name, data: parse(event.data) };
    }
  }

  /** Everything that the token may see, in the order of the log, behind the cursor `after`, or from now on. */
  async *watch(
    options: StreamOptions & { agents?: string; kinds?: string; rooms?: string; after?: string } = {},
  ): AsyncGenerator<WatchEvent, void> {
    const { agents, kinds, rooms, after, signal, onOpen } = options;
    for await (const event of this.feed("watch", "/watch", { agents, kinds, rooms }, after, { signal, onOpen })) {
      // `hello` and `head` say how far the server is.
      const found = parse(event.data) as WatchEvent;
      if ("stream" in found) yield found;
    }
  }

  /** The events of the agent, over every break of the connection; null whenever it stands. */
  private async *live(signal?: AbortSignal): AsyncGenerator<SessionEvent | null, void> {
    const [seen, backoff] = [new SeenEvents(), new Backoff(FIRST_WAIT_MS, LONGEST_WAIT_MS)];
    let reached = false;
    while (!signal?.aborted) {
      try {
        // A WebSocket of the platform has no headers, so a ticket stands for the token.
        const made = await this.transport.call("auth.ticket", "POST", "/auth/ticket", "json", "once", { signal });
        this.transport.options.onCall("connect");
        const query = queryOf({ events: "envelope", ticket: (made as TicketMade).ticket });
        for await (const text of this.texts(`ws${this.transport.url.slice(4)}/connect${query}`, signal)) {
          if (text === null) {
            reached = true;
            yield null;
            continue;
          }
          backoff.reset();
          const event = parse(text) as SessionEvent;
          if (seen.isNew(event)) yield event;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!reached || !passing(error)) throw error;
      }
      if (!(await rest(backoff.next(), signal))) return;
    }
  }

  /** The texts of one WebSocket; null first, when it stands. */
  private async *texts(url: string, signal?: AbortSignal): AsyncGenerator<string | null, void> {
    if (!this.socket) {
      throw new PlenaryError(
        "this platform has no WebSocket: use Node 22 or newer, start Node 20 with --experimental-websocket, or give one " +
          "as the option `WebSocket`",
      );
    }
    const socket = new this.socket(url);
    const queue: (string | null)[] = [];
    let [stands, over, heard] = [false, false, Date.now()];
    let wake = (): void => {};
    const tell = (then: () => void) => (): void => {
      then();
      heard = Date.now();
      wake();
    };
    const finish = tell(() => (over = true));
    socket.addEventListener("open", tell(() => ((stands = true), queue.push(null))));
    socket.addEventListener("message", (message) => {
      const text: unknown = message.data;
      // `{"type":"pong"}` answers what is sent below.
      tell(() => typeof text === "string" && text !== '{"type":"pong"}' && queue.push(text))();
    });
    socket.addEventListener("close", finish);
    socket.addEventListener("error", finish);
    const watch = setInterval(() => {
      const silent = Date.now() - heard;
      if (silent > SILENCE_MAX_MS || (!stands && silent > OPEN_MAX_MS)) finish();
      else if (stands) socket.send('{"type":"ping"}');
    }, PING_MS);
    const end = (): void => {
      clearInterval(watch);
      socket.close();
      finish();
    };
    signal?.addEventListener("abort", end);
    try {
      for (;;) {
        const next = queue.shift();
        if (next !== undefined) yield next;
        else if (over) break;
        else await new Promise<void>((done) => (wake = done));
      }
      if (!stands && !signal?.aborted) throw new NetworkError(`no WebSocket at ${this.transport.url}/connect`);
    } finally {
      signal?.removeEventListener("abort", end);
      end();
    }
  }

  /** Server-sent events, opened again behind the last id, unless `isOver` says that no more come. */
  private async *feed(
    operation: string,
    path: string,
    query: Record<string, unknown>,
    after: string | undefined,
    options: StreamOptions,
    isOver?: () => Promise<boolean>,
  ): AsyncGenerator<ServerEvent, void> {
    const { signal, onOpen } = options;
    const backoff = new Backoff(FIRST_WAIT_MS, LONGEST_WAIT_MS);
    let reached = false;
    while (!signal?.aborted) {
      const headers = { ...this.transport.headers };
      // What is retained is asked for once.
      const wanted = after ? { ...query, retained: undefined } : query;
      if (after) headers["last-event-id"] = after;
      try {
        for await (const event of this.open(operation, path + queryOf(wanted), { headers }, signal)) {
          if (event) {
            if (event.data) {
              backoff.reset();
              yield event;
            }
            // What was not handed on is asked for again.
            after = event.id ?? after;
          } else {
            reached = true;
            onOpen?.();
          }
        }
        if (await isOver?.()) return;
      } catch (error) {
        if (signal?.aborted) return;
        if (!reached || !passing(error)) throw error;
      }
      if (!(await rest(backoff.next(), signal))) return;
    }
  }

  /** The events of one connection; null first, when it stands. */
  private async *open(
    operation: string,
    path: string,
    request: { method?: string; headers: Record<string, string>; body?: string },
    signal?: AbortSignal,
  ): AsyncGenerator<ServerEvent | null, void> {
    this.transport.options.onCall(operation);
    const ending = new AbortController();
    const end = (): void => ending.abort(signal?.reason);
    signal?.addEventListener("abort", end);
    let watch = setTimeout(end, OPEN_MAX_MS);
    try {
      const headers = { ...request.headers, accept: "text/event-stream", "cache-control": "no-store" };
      const url = this.transport.url + path;
      const wanted: RequestInit = { ...request, headers, signal: ending.signal, redirect: "manual" };
      const response = await this.transport.options.fetch(url, wanted);
      if (!response.ok) throw refusal(response.status, response.headers, await response.text());
      // Nothing follows the last event.
      if (response.status === 204) return;
      const kind = response.headers.get("content-type") ?? "";
      if (!kind.startsWith("text/event-stream") || !response.body) {
        throw new UnreadableError(`no event stream at ${path}, but \`${kind}\``);
      }
      yield null;
      const parser = new EventParser();
      const reader = response.body.getReader();
      for (;;) {
        clearTimeout(watch);
        watch = setTimeout(end, SILENCE_MAX_MS);
        const { done, value } = await reader.read();
        clearTimeout(watch);
        if (done) return;
        yield* parser.feed(value);
      }
    } catch (error) {
      if (error instanceof PlenaryError) throw error;
      throw new NetworkError(`${path}: ${describe(error)}`, request.headers["idempotency-key"], { cause: error });
    } finally {
      clearTimeout(watch);
      signal?.removeEventListener("abort", end);
      ending.abort();
    }
  }
}

/** What a call gives; undefined when the signal ended it. */
async function ended<T>(call: Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

/** Waits; false when the signal ended it. */
async function rest(ms: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await pause(ms, signal);
    return true;
  } catch {
    return false;
  }
}
