//! Composes and sends a frame from the command line: scope, attribution and provenance, each with a default and a
//! flag, and prints the result.
//! Must not know: kinds and their payloads.

use std::time::Duration;

use clap::Args;
use plenary_client::{
    Reply,
    frames::{
        ComputeLocation, ContextCheck, Frame, FrameReceipt, Kind, Payload, Scope, Seat, Uuid, VERSION, now,
    },
};
use plenary_kernel::SovereignHandle;
use serde_json::{Map, Value};

use super::seat::{SeatArgs, Speaker};
use crate::{
    cli::{context::Context, failure::Failure},
    duration::parse_duration,
    out::counted,
};

/// The members of a frame other than its kind and payload, and the session that sends it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The frame")]
pub(crate) struct FrameArgs {
    /// Recipients: `~owner/*`, `~owner/cc-*`, `~owner/instrument@session`, `org:name/members/*`,
    /// `org:name/members/role/*`, `accord:peer/grant:name` [default: all sessions of this agent's owner]
    #[arg(long, visible_alias = "to", value_name = "SCOPE")]
    pub(super) scope: Option<Scope>,
    /// Lifetime, e.g. 10m; readers drop the frame after it [default: each reader decides]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(super) ttl: Option<Duration>,
    /// Owner on whose behalf the frame is sent [default: this agent's owner]
    #[arg(long, value_name = "~OWNER")]
    acted_by: Option<SovereignHandle>,
    /// Tool that composed the frame [env: PLENARY_DRAFTED_WITH] [default: ~ and the agent's name]
    #[arg(long, value_name = "~INSTRUMENT")]
    drafted_with: Option<String>,
    /// Where the content was computed: server-active, server-aggregate or local-only [default: server-active]
    #[arg(long, value_name = "WHERE")]
    compute_location: Option<ComputeLocation>,
    /// Method by which the content was produced, a tag; may be repeated [default: command-line]
    #[arg(long, value_name = "TAG")]
    method: Vec<String>,
    /// Return record that the frame belongs to
    #[arg(long, value_name = "REF")]
    return_ref: Option<String>,
    /// Result of the policy check: passed or skipped [default: skipped]
    #[arg(long, value_name = "CHECK")]
    context_check: Option<ContextCheck>,
    /// Stream and basis of the frame, a tag [default: agent-channel/own-request]
    #[arg(long, value_name = "TAG")]
    basis: Option<String>,
    #[command(flatten)]
    pub(super) seat: SeatArgs,
}

/// A composed frame and its scope.
pub(super) struct ComposedFrame {
    pub(super) frame: Frame,
    pub(super) scope: Scope,
}

impl FrameArgs {
    /// Sets the default scope, which a flag overrides.
    pub(super) fn or_scope(mut self, scope: impl FnOnce() -> Scope) -> Self {
        self.scope.get_or_insert_with(scope);
        self
    }

    /// Sets the default lifetime, which a flag overrides.
    pub(super) fn or_ttl(mut self, ttl: Duration) -> Self {
        self.ttl.get_or_insert(ttl);
        self
    }

    /// The tool that composed the frame.
    pub(super) fn drafted_with(&self, context: &Context, speaker: &Speaker) -> String {
        let option = self.drafted_with.clone().or_else(|| context.environment.var("PLENARY_DRAFTED_WITH"));
        option.unwrap_or_else(|| format!("~{}", speaker.agent.name()))
    }

    /// The owner on whose behalf the frame is sent.
    pub(super) fn acted_by(&self, speaker: &Speaker) -> SovereignHandle {
        self.acted_by.clone().unwrap_or_else(|| speaker.handle.clone())
    }

    /// Composes a frame with the current time.
    pub(super) fn compose(
        &self,
        context: &Context,
        speaker: &Speaker,
        kind: Kind,
        payload: Map<String, Value>,
    ) -> ComposedFrame {
        let scope = self.scope.clone().unwrap_or_else(|| speaker.own_sessions());
        let method =
            if self.method.is_empty() { vec!["command-line".to_owned()] } else { self.method.clone() };
        let frame = Frame {
            envelope_version: VERSION.to_owned(),
            frame_id: Uuid::random(),
            kind,
            sender_handle: speaker.handle.clone(),
            recipient_handle: scope.recipient().clone(),
            created_at: Frame::time(now()),
            ttl_ms: self.ttl.map(whole_ms),
            payload,
            acted_by: self.acted_by(speaker),
            drafted_with: self.drafted_with(context, speaker),
            provenance_compute_location: self.compute_location.unwrap_or(ComputeLocation::ServerActive),
            provenance_method: method,
            provenance_return_ref: self.return_ref.clone(),
            provenance_context_check: self.context_check.unwrap_or(ContextCheck::Skipped),
            provenance_basis: self.basis.clone().unwrap_or_else(|| "agent-channel/own-request".to_owned()),
        };
        ComposedFrame { frame, scope }
    }

    pub(super) async fn send(
        &self,
        context: &Context,
        speaker: &Speaker,
        payload: &Payload,
    ) -> Result<Reply<FrameReceipt>, Failure> {
        self.compose(context, speaker, payload.kind(), payload.to_object()).send(speaker, &speaker.seat).await
    }
}

impl ComposedFrame {
    /// Sends the frame from this session.
    pub(super) async fn send(&self, speaker: &Speaker, seat: &Seat) -> Result<Reply<FrameReceipt>, Failure> {
        Ok(speaker.client.submit_frame(&self.frame, Some(&self.scope), seat).await?)
    }
}

/// The number of sessions reached, in words.
pub(super) fn reach(sessions: u64) -> String {
    match sessions {
        0 => "reached 0 sessions: nobody is listening".to_owned(),
        sessions => format!("reached {}", counted(sessions, "session")),
    }
}

/// A note on what to do if the frame reached nobody.
pub(super) fn note_no_listener(context: &Context, sessions: u64) {
    if sessions == 0 && !context.out.is_json() {
        context.out.note(
            "next: listen in another terminal with `plenary frame listen`, list the listeners with `plenary frame roster`, \
             or name other recipients with --scope",
        );
    }
}

/// Reports that the frame was sent, and how many sessions it reached.
pub(super) fn report(context: &Context, reply: &Reply<FrameReceipt>) -> Result<(), Failure> {
    context.answer(reply, |emitted| Ok(context.out.line(&reach(emitted.delivered_count))?))?;
    note_no_listener(context, reply.delivered_count);
    Ok(())
}

/// The server's answer for `--json` with one more member, which identifies the frame.
pub(super) fn answer_with(reply: &Reply<FrameReceipt>, member: &str, value: &Uuid) -> String {
    let mut answer: Value = serde_json::from_str(reply.json()).unwrap_or_default();
    answer[member] = value.as_str().into();
    answer.to_string()
}

/// A duration in whole milliseconds.
pub(super) fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
