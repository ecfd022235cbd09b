//! The text of a payload: its main text, and further lines. It is not escaped here; the caller does that.
//! Must not know: envelopes, terminals.

use plenary_client::frames::{BindingMoment, IntentDeclare, Payload};

use crate::out::span;

type Wording = (String, Vec<String>);

/// The main text, which may have several lines, and additional single lines.
pub(super) fn said(payload: &Payload) -> Wording {
    match payload {
        Payload::Advisory(it) => (
            it.advisory_text.clone(),
            lines([list("files", &it.file_refs), one("worktree", &it.worktree), one("branch", &it.branch)]),
        ),
        Payload::Broadcast(it) => {
            (format!("[{}] {}", it.event_class, it.broadcast_text), lines([list("refs", &it.refs)]))
        }
        Payload::Handover(it) => (
            it.handover_body.clone(),
            lines([
                Some(format!("from session {}", it.previous_session_id)),
                one("taken over by session", &it.next_session_id),
                list("see", &it.pointer_refs),
            ]),
        ),
        Payload::LockRequest(it) => {
            let why = it.intent.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            (
                format!("{} for {}{why}", it.resource, span(it.ttl_ms)),
                lines([Some(format!("lease {}", it.lease_id))]),
            )
        }
        Payload::LockRelease(it) => {
            let what = it.resource.as_deref().filter(|resource| !resource.is_empty());
            let lease = format!("lease {}", it.lease_id);
            (what.unwrap_or(&lease).to_owned(), lines([what.map(|_| lease.clone())]))
        }
        Payload::LeaseExtend(it) => (format!("lease {} by {}", it.lease_id, span(it.ttl_ms)), Vec::new()),
        Payload::Query(it) => (
            it.query_text.clone(),
            lines([Some(format!("answer: plenary frame answer {} TEXT", it.query_id))]),
        ),
        Payload::Response(it) => (
            it.response_text.clone(),
            lines([
                Some(format!("to question {}, from session {}", it.query_id, it.session_id)),
                list("refs", &it.refs),
            ]),
        ),
        Payload::ReturnEvent(it) => {
            let query = it.query_id.as_ref().map(|id| format!("closes question {id}"));
            (it.summary.clone(), lines([Some(format!("record {}", it.return_event_ref)), query]))
        }
        Payload::BindingMoment(it) => decision(it),
        Payload::DiagnosticRequest(it) => (
            format!("[{}] {}", it.severity, it.symptom),
            lines([Some(format!("diagnostic {}", it.diagnostic_id)), list("refs", &it.substrate_refs)]),
        ),
        Payload::DiagnosticResponse(it) => (
            it.finding.clone(),
            lines([
                one("remedy", &it.remediation),
                Some(format!("diagnostic {}", it.diagnostic_id)),
                list("refs", &it.substrate_refs),
            ]),
        ),
        Payload::IntentDeclare(it) => intent(it),
        Payload::IntentWithdraw(it) => (format!("{} {}", it.convergence_class, it.intent_ref), Vec::new()),
        Payload::FlushExecuted(it) => (
            format!("{} as {}", it.convergence_class, it.result_ref),
            lines([list("took in", &it.batch_refs)]),
        ),
    }
}

fn decision(it: &BindingMoment) -> Wording {
    let mut rest: Vec<String> = it.findings.iter().map(|finding| format!("found: {finding}")).collect();
    rest.extend(it.recommendations.iter().map(|advice| format!("recommended: {advice}")));
    rest.push(format!("offer: {}", it.offer));
    rest.push(it.question.stem.clone());
    for (n, option) in (0_u64..).zip(&it.question.options) {
        let mark = if n == it.question.recommended_idx { '*' } else { ' ' };
        rest.push(format!("{mark} {n}. {}: {}", option.label, option.reasoning));
    }
    (it.synopsis.clone(), rest)
}

fn intent(it: &IntentDeclare) -> Wording {
    let urgency = it.urgency.map(|urgency| format!(" ({urgency})")).unwrap_or_default();
    let fixed = (!it.withdrawable).then(|| "cannot be withdrawn".to_owned());
    (
        format!("{} {}{urgency}", it.convergence_class, it.payload_ref),
        lines([Some(format!("holds for {}", span(it.ttl))), fixed]),
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
