//! One span per run, from its start to its end: which agent was invoked, and by whom. The span's id is derived from
//! the run's id.
//! Must not know: the destination of spans.

use std::time::Instant;

use plenary_accounts::Actor;
use plenary_telemetry::{
    FinishedSpan, Kind, OpenSpan, Status, TraceParent, Value,
    conventions::{
        AGENT_ID, AGENT_NAME, CONVERSATION_ID, ERROR_TYPE, GRAPH_NODE, GRAPH_PARENT, INVOKE_AGENT,
        OPERATION_NAME, PROVIDER, PROVIDER_NAME, SESSION_ID, SPAN_KIND, USER_ID,
    },
};

use crate::{
    Runs,
    event::{RunQueued, RunTrace},
    id::{RunId, ThreadId},
    registry::Agent,
    runner::FinishReason,
};

/// The span of an active run.
pub(crate) struct RunSpan {
    runs: Runs,
    open_span: OpenSpan,
    span: FinishedSpan,
}

fn parse_parent(traceparent: Option<&str>) -> Option<TraceParent> {
    TraceParent::parse(traceparent?, "")
}

impl Runs {
    fn begin_span(&self, run: RunId, trace: Option<&RunTrace>, start: Instant) -> Option<OpenSpan> {
        let parent = parse_parent(trace.and_then(|trace| trace.parent.as_deref()));
        self.0.spans.begin_as(run.number(), parent, start)
    }

    /// The span of a run as a `traceparent`, for the run's messages to others; `None` if no spans are recorded.
    pub fn traceparent(&self, run: RunId, trace: Option<&RunTrace>) -> Option<String> {
        Some(self.begin_span(run, trace, Instant::now())?.own.to_string())
    }

    /// Starts the span of a run at this process.
    pub(crate) fn invoked(&self, thread: ThreadId, agent: &Agent, queued: &RunQueued) -> Option<RunSpan> {
        let trace = queued.trace.as_deref();
        let open_span = self.begin_span(queued.run, trace, Instant::now())?;
        let agent = agent.handle.as_str();
        let session = trace.and_then(|trace| trace.session.as_deref());
        let conversation = session.map_or_else(|| thread.to_string(), str::to_owned);
        let caller = match (trace.and_then(|trace| trace.sender.as_ref()), &queued.by) {
            (Some(sender), _) => Some(sender.clone()),
            (None, Actor::Agent(by)) => Some(by.clone()),
            (None, Actor::Operator | Actor::Seed | Actor::Owner(_)) => None,
        };
        let mut attributes: Vec<(&'static str, Value)> = vec![
            (OPERATION_NAME, INVOKE_AGENT.into()),
            (PROVIDER_NAME, PROVIDER.into()),
            (AGENT_ID, agent.to_owned().into()),
            (AGENT_NAME, agent.to_owned().into()),
            (CONVERSATION_ID, conversation.clone().into()),
            (SESSION_ID, conversation.into()),
            (SPAN_KIND, "AGENT".into()),
            (GRAPH_NODE, agent.to_owned().into()),
        ];
        attributes.extend(queued.by.owner().map(|owner| (USER_ID, owner.to_string().into())));
        attributes.extend(caller.map(|caller| (GRAPH_PARENT, caller.to_string().into())));
        let span = FinishedSpan {
            name: format!("{INVOKE_AGENT} {agent}").into(),
            kind: Kind::Internal,
            parent: None,
            links: parse_parent(trace.and_then(|trace| trace.answers.as_deref())).into_iter().collect(),
            start: open_span.start,
            end: open_span.start,
            attributes,
            status: Status::Unset,
        };
        Some(RunSpan { runs: self.clone(), open_span, span })
    }
}

impl RunSpan {
    /// Ends the span. The text of an error is only in the log, not in the span.
    pub(crate) fn end(self, finish_reason: FinishReason) {
        let Self { runs, open_span, mut span } = self;
        span.end = Instant::now();
        if finish_reason == FinishReason::Error {
            span.status = Status::Error;
            span.attributes.push((ERROR_TYPE, "run_failed".into()));
        }
        runs.0.spans.end(open_span, span);
    }
}
