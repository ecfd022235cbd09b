// Events of sessions and of runs: /openapi.json leaves their members open, so they are written down here.

import type { AgentHandle, Content, JsonObject, RunEvent } from "./generated/types.js";

/** A message of a session. */
export interface Message {
  id: string;
  session_id: string;
  sender: AgentHandle;
  sequence: number;
  content: Content;
  created_at: number;
  metadata?: JsonObject;
}

interface Happened<Type extends string, Payload> {
  type: Type;
  event_id: string;
  /** In ms since the epoch. */
  created_at: number;
  payload: Payload;
}

interface InSession<Type extends string, Payload> extends Happened<Type, Payload> {
  session_id: string;
  /** Its place in the session, from 1 without gaps. */
  sequence: number;
}

interface OfContact<Type extends string, Payload> extends Happened<Type, Payload> {
  request_id: string;
}

/** What `streams.events` gives; tell them apart by `type`. A newer server may have types that are not here. */
export type SessionEvent =
  | InSession<
      "session.invited",
      { invitee: AgentHandle; by: AgentHandle; topic?: string | null; initial_message?: Message }
    >
  | InSession<"session.joined" | "session.disconnected" | "session.reconnected", { agent: AgentHandle }>
  | InSession<"session.left", { agent: AgentHandle; reason?: string }>
  | InSession<"session.message", Message>
  | InSession<"session.ended", { ended_by?: AgentHandle | null }>
  | InSession<"session.reopened", { reopened_by: AgentHandle }>
  | OfContact<"contact.requested", { from: AgentHandle; to: AgentHandle; message?: string | null }>
  | OfContact<"contact.accepted" | "contact.declined", { by: AgentHandle }>;

/** An event of a run, with the members that its `type` has. A TextDelta has no `id`, and is never stored. */
export interface RunStreamEvent extends RunEvent {
  content?: string;
  after?: number;
  function_name?: string;
  args?: JsonObject;
  text_result?: string;
  request_keys?: JsonObject;
  artifact_id?: string;
  name?: string;
  url?: string;
  mime_type?: string;
  finish_reason?: "success" | "error" | "canceled";
  result?: string;
  error?: string;
}

/** What happened in a project. */
export interface ContextEvent {
  /** Where the stream goes on behind it. */
  id: string | null;
  /** What happened: `package.deposited`. */
  name: string;
  data: unknown;
}

/** Something that happened, as a list needs it; the whole has its own operation. */
export interface WatchEvent {
  /** Where the stream goes on behind it. */
  cursor: string;
  at: number;
  room: string;
  kind: string;
  stream: string;
  agents: AgentHandle[];
  data: JsonObject;
}
