// What was handed on already: a stream may repeat an event after a break, and never skips one.

import type { SessionEvent } from "./events.js";

/** Sessions remembered; past it the one first seen is forgotten, which can only let a repeat through. */
export const SESSIONS_MAX = 10_000;
/** Separate stretches remembered in one session. */
export const STRETCHES_MAX = 64;
/** Ids remembered. */
export const IDS_MAX = 4_096;

/** The newest ids. */
export class SeenIds {
  private readonly ids = new Set<string>();

  isNew(id: string): boolean {
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    if (this.ids.size > IDS_MAX) this.ids.delete(this.ids.values().next().value as string);
    return true;
  }
}

/**
 * Events of sessions by `(session_id, sequence)`, the others by id. An invitee sees 2, and at its join 1 to 9: what is
 * below the highest is not always old. So each session has stretches `[first, last]`, rising and never touching.
 */
export class SeenEvents {
  readonly sessions = new Map<string, [number, number][]>();
  private readonly ids = new SeenIds();

  isNew(event: SessionEvent): boolean {
    if (!("sequence" in event)) return this.ids.isNew(event.event_id);
    const { session_id: session, sequence } = event;
    let stretches = this.sessions.get(session);
    if (!stretches) {
      this.sessions.set(session, (stretches = []));
      if (this.sessions.size > SESSIONS_MAX) this.sessions.delete(this.sessions.keys().next().value as string);
    }
    let at = stretches.findIndex(([, last]) => sequence <= last);
    if (at < 0) at = stretches.length;
    const right = stretches[at];
    if (right && right[0] <= sequence) return false;
    const left = stretches[at - 1];
    const joinsLeft = left !== undefined && left[1] === sequence - 1;
    const joinsRight = right !== undefined && right[0] === sequence + 1;
    if (joinsLeft && joinsRight) {
      left[1] = right[1];
      stretches.splice(at, 1);
    } else if (joinsLeft) left[1] = sequence;
    else if (joinsRight) right[0] = sequence;
    else stretches.splice(at, 0, [sequence, sequence]);
    if (stretches.length > STRETCHES_MAX) stretches.shift();
    return true;
  }
}
