// The types of the server's responses.
// Must not know: their presentation.

/**
 * @typedef {{session_id: string, role: 'owner' | 'viewer' | 'operator', owner: string | null, person: string | null,
 *   csrf: string, expires_at: number}} Me
 * @typedef {{cursor?: string, head?: string, at: number, room: string, kind: string, stream: string, agents: string[],
 *   trace_id?: string, data: Record<string, any>}} WatchEvent
 * @typedef {'working' | 'waiting' | 'idle' | 'gone'} AgentState
 * @typedef {{handle: string, kind: string, display_name: string | null, state: AgentState, since: number | null, unread: number,
 *   oldest_unread_at: number | null, delivered_to: number, seen_to: number, acknowledged_to: number, sessions_active: number, runs_active: number, runs_waiting: number}} AgentNow
 * @typedef {{accepted: number, delivered: number, shown: number, in_context: number, expired: number}} DeliveryCounts
 * @typedef {{agents: AgentNow[], counts: {messages_today: number, runs_today: number, runs_failed_today: number},
 *   waiting: {count: number, oldest_at: number | null}, delivery?: DeliveryCounts, more?: boolean}} Overview
 * @typedef {'accept' | 'edit' | 'respond' | 'ignore'} AnswerType
 * @typedef {{request_id: string, kind: string, title: string, from: string, on_behalf_of?: string, owner: string, to?: string,
 *   action?: {name: string, args?: any}, detail?: {command?: string, diff?: string, document?: string, text?: string},
 *   source?: {room: string, id: string, url?: string}, directory?: string,
 *   allow: {accept: boolean, edit: boolean, respond: boolean, ignore: boolean}, choices?: string[], form?: any, created_at: number,
 *   deadline_at?: number | null, on_timeout: string, state: string, snoozed_until?: number | null, answer?: any,
 *   version: number}} PersonRequest
 * @typedef {{handle: string, status: string, joined_at?: number, left_at?: number}} Participant
 * @typedef {{id: string, state: string, topic?: string | null, participants: Participant[], created_at: number,
 *   ended_at?: number | null, last_event_at?: number}} Session
 * @typedef {{handle: string, kind: string, tokens_issued: number, display_name: string, description: string | null, policy: 'allowlist' | 'open',
 *   allowlist: string[], visibility: string, self_service: boolean, hold_runs?: boolean, hold_invitations?: boolean, card_body: string | null, created_at: number}} Agent
 * @typedef {{name: string, purpose: string, handle: string, stopped?: boolean, instances?: number, operations?: any[],
 *   tools?: any[]}} Runner
 * @typedef {{thread_id: string, agent: string, created_at: string, updated_at: string, runs: string[], title?: string}} Thread
 */

export {};
