//! The text of a payload: its main text, and further lines. It is not escaped here; the caller does that.
//! Must not know: envelopes, terminals.

use plenary_client::frames::{Advisory, BindingMoment, IntentDeclare, Payload};

use crate::out::span;

type Wording = (String, Vec<String>);

/// The main text, which may have several lines, and additional single lines.
pub(super) fn texts(payload: &Payload) -> Wording {
    match payload {
        Payload::Advisory(body) => advisory(body),
        Payload::Broadcast(body) => {
            (format!("[{}] {}", body.event_class, body.broadcast_text), lines([list("refs", &body.refs)]))
        }
        Payload::Handover(body) => (
            body.handover_body.clone(),
            lines([
                Some(format!("from session {}", body.previous_session_id)),
                one("taken over by session", &body.next_session_id),
                list("see", &body.pointer_refs),
            ]),
        ),
        Payload::LockRequest(body) => {
            let why = body.intent.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            (
                format!("{} for {}{why}", body.resource, span(body.ttl_ms)),
                lines([Some(format!("lease {}", body.lease_id))]),
            )
        }
        Payload::LockRelease(body) => {
            let what = body.resource.as_deref().filter(|resource| !resource.is_empty());
            let lease = format!("lease {}", body.lease_id);
            (what.unwrap_or(&lease).to_owned(), lines([what.map(|_| lease.clone())]))
        }
        Payload::LeaseExtend(body) => {
            (format!("lease {} by {}", body.lease_id, span(body.ttl_ms)), Vec::new())
        }
        Payload::Query(body) => (
            body.query_text.clone(),
            lines([Some(format!("answer: plenary frame answer {} TEXT", body.query_id))]),
        ),
        Payload::Response(body) => (
            body.response_text.clone(),
            lines([
                Some(format!("to question {}, from session {}", body.query_id, body.session_id)),
                list("refs", &body.refs),
            ]),
        ),
        Payload::ReturnEvent(body) => {
            let query = body.query_id.as_ref().map(|id| format!("closes question {id}"));
            (body.summary.clone(), lines([Some(format!("record {}", body.return_event_ref)), query]))
        }
        Payload::BindingMoment(body) => decision(body),
        Payload::DiagnosticRequest(body) => (
            format!("[{}] {}", body.severity, body.symptom),
            lines([Some(format!("diagnostic {}", body.diagnostic_id)), list("refs", &body.substrate_refs)]),
        ),
        Payload::DiagnosticResponse(body) => (
            body.finding.clone(),
            lines([
                one("remedy", &body.remediation),
                Some(format!("diagnostic {}", body.diagnostic_id)),
                list("refs", &body.substrate_refs),
            ]),
        ),
        Payload::IntentDeclare(body) => intent(body),
        Payload::IntentWithdraw(body) => {
            (format!("{} {}", body.convergence_class, body.intent_ref), Vec::new())
        }
        Payload::FlushExecuted(body) => (
            format!("{} as {}", body.convergence_class, body.result_ref),
            lines([list("took in", &body.batch_refs)]),
        ),
    }
}

fn advisory(body: &Advisory) -> Wording {
    let rest = [list("files", &body.file_refs), one("worktree", &body.worktree), one("branch", &body.branch)];
    (body.advisory_text.clone(), lines(rest))
}

fn decision(body: &BindingMoment) -> Wording {
    let mut rest: Vec<String> = body.findings.iter().map(|finding| format!("found: {finding}")).collect();
    rest.extend(body.recommendations.iter().map(|advice| format!("recommended: {advice}")));
    rest.push(format!("offer: {}", body.offer));
    rest.push(body.question.stem.clone());
    for (n, option) in (0_u64..).zip(&body.question.options) {
        let mark = if n == body.question.recommended_idx { '*' } else { ' ' };
        rest.push(format!("{mark} {n}. {}: {}", option.label, option.reasoning));
    }
    (body.synopsis.clone(), rest)
}

fn intent(body: &IntentDeclare) -> Wording {
    let urgency = body.urgency.map(|urgency| format!(" ({urgency})")).unwrap_or_default();
    let fixed = (!body.withdrawable).then(|| "cannot be withdrawn".to_owned());
    (
        format!("{} {}{urgency}", body.convergence_class, body.payload_ref),
        lines([Some(format!("holds for {}", span(body.ttl))), fixed]),
    )
}

fn lines<const N: usize>(lines: [Option<String>; N]) -> Vec<String> {
    lines.into_iter().flatten().collect()
}

fn list(name: &str, items: &Option<Vec<String>>) -> Option<String> {
    items.as_ref().filter(|items| !items.is_empty()).map(|items| format!("{name}: {}", items.join(" ")))
}

fn one(name: &str, item: &Option<String>) -> Option<String> {
    item.as_ref().map(|item| format!("{name}: {item}"))
}
