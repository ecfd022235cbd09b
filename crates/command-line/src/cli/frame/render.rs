//! Frames, claims and streams as text for people; foreign text is escaped.
//! Must not know: their source.

mod payload;

use plenary_client::frames::{Change, Lease, Payload, ReceivedFrame, now};
use plenary_kernel::TimestampMs;
use serde_json::{Value, json};

use super::seat::Speaker;
use crate::out::{Out, Style, clean, clean_block, span, utc};

/// The indent of a frame's second and later lines.
const INDENT: &str = "    ";

/// A frame as text, or its JSON unchanged.
pub(super) fn line(out: Out, received: &ReceivedFrame) -> String {
    if out.is_json() { received.json().to_owned() } else { frame(&out, received, now()) }
}

/// A frame: its time, age, sender and text.
pub(super) fn frame(out: &Out, received: &ReceivedFrame, now: TimestampMs) -> String {
    let frame = &received.frame;
    let created_at = frame.creation_time();
    let kind = frame.kind.as_str();
    let kind = kind.strip_prefix("agent_").unwrap_or(kind).replace('_', " ");
    let (main_text, rest) = payload::texts(&received.payload);
    let mut text = format!(
        "{} {} {} {}: {}",
        out.paint(Style::Dim, &format!("{} ({})", utc(created_at), age(created_at, now))),
        out.paint(Style::Bold, frame.sender_handle.as_str()),
        out.paint(Style::Dim, &format!("via {}", clean(&frame.drafted_with))),
        out.paint(Style::Green, &kind),
        clean_block(&main_text, INDENT),
    );
    for line in rest {
        // The further line of a question is not foreign text: it suggests how to answer.
        let line = if let Payload::Query(_) = received.payload { out.suggestion(&line) } else { line };
        text.push('\n');
        text.push_str(INDENT);
        text.push_str(&clean(&line));
    }
    text
}

fn age(created_at: TimestampMs, now: TimestampMs) -> String {
    match now.0.saturating_sub(created_at.0) {
        0..1_000 => "now".to_owned(),
        ms => format!("{} ago", span(ms)),
    }
}

/// The line at the start of listening.
pub(super) fn listening(speaker: &Speaker) -> String {
    let instrument = speaker.seat.instrument.as_deref().unwrap_or_default();
    format!("listening as {}/{instrument}@{}; stop with Ctrl-C", speaker.handle, speaker.session())
}

/// The holder of a claim.
pub(super) fn holder(lease: &Lease) -> String {
    format!("{} via {}", lease.holder, lease.drafted_with)
}

/// The remaining time of a claim.
pub(super) fn remaining(lease: &Lease, now: TimestampMs) -> String {
    let seconds = lease.expires_at.0.saturating_sub(now.0).div_ceil(1_000);
    format!("in {}", span(seconds * 1_000))
}

/// A claim in one line.
pub(super) fn lease(out: &Out, lease: &Lease, now: TimestampMs) -> String {
    let why = lease.intent.as_deref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
    format!(
        "{} {} {}{why}",
        clean(&lease.resource),
        out.paint(Style::Bold, &clean(&holder(lease))),
        out.paint(Style::Dim, &format!("ends {} (lease {})", remaining(lease, now), lease.lease_id)),
    )
}

/// A claim as JSON; times in milliseconds since 1970.
pub(super) fn lease_json(lease: &Lease) -> Value {
    json!({
        "resource": lease.resource, "lease_id": lease.lease_id.as_str(), "holder": lease.holder.as_str(),
        "drafted_with": lease.drafted_with, "intent": lease.intent, "claimed_at": lease.claimed_at,
        "expires_at": lease.expires_at,
    })
}

fn change_json(verb: &str, lease: &Lease) -> String {
    let mut json = lease_json(lease);
    json["change"] = verb.into();
    json.to_string()
}

/// A change of a claim.
pub(super) fn change(out: &Out, change: &Change, now: TimestampMs) -> String {
    let (verb, style, claim) = match change {
        Change::Claimed(claim) => ("claimed ", Style::Green, claim),
        Change::Extended(claim) => ("extended", Style::Dim, claim),
        Change::Released(claim) => ("released", Style::Yellow, claim),
    };
    if out.is_json() {
        return change_json(verb.trim_end(), claim);
    }
    let verb = out.paint(style, verb);
    match change {
        Change::Released(_) => format!("{verb} {} {}", clean(&claim.resource), clean(&holder(claim))),
        Change::Claimed(_) | Change::Extended(_) => format!("{verb} {}", lease(out, claim, now)),
    }
}

/// A claim that expired.
pub(super) fn ended(out: &Out, lease: &Lease) -> String {
    if out.is_json() {
        return change_json("ended", lease);
    }
    format!("{} {} {}", out.paint(Style::Yellow, "ended   "), clean(&lease.resource), clean(&holder(lease)))
}

#[cfg(test)]
mod tests {
    use plenary_client::frames::{
        Advisory, ComputeLocation, ContextCheck, Frame, Payload, Query, Response, Uuid, VERSION,
    };
    use plenary_kernel::SovereignHandle;

    use super::*;

    fn line(payload: &Payload) -> String {
        let nick: SovereignHandle = "~nick".parse().unwrap();
        let frame = Frame {
            envelope_version: VERSION.into(),
            frame_id: Uuid::random(),
            kind: payload.kind(),
            sender_handle: nick.clone(),
            recipient_handle: nick.clone(),
            created_at: "1970-01-01T00:00:01Z".into(),
            ttl_ms: None,
            payload: payload.to_object(),
            acted_by: nick,
            drafted_with: "~cc\u{1b}".into(),
            provenance_compute_location: ComputeLocation::LocalOnly,
            provenance_method: vec!["test".into()],
            provenance_return_ref: None,
            provenance_context_check: ContextCheck::Passed,
            provenance_basis: "test".into(),
        };
        let json = serde_json::to_string(&frame).unwrap();
        let received = ReceivedFrame::read(None, &json).unwrap();
        super::frame(&Out::new(false, true), &received, TimestampMs(13_000))
    }

    #[test]
    fn a_frame_shows_time_age_sender_and_text_and_forges_no_line() {
        let text = line(&Payload::Advisory(Advisory {
            advisory_text: "one\n1970-01-01 two\u{1b}[2J".into(),
            file_refs: Some(vec!["a\nb".into()]),
            ..Advisory::default()
        }));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "1970-01-01 00:00:01Z (12 s ago) ~nick via ~cc\\u{1b} advisory: one",
                "    1970-01-01 two\\u{1b}[2J",
                "    files: a\\nb",
            ]
        );
    }

    #[test]
    fn a_question_shows_how_to_answer_and_an_answer_names_its_session() {
        let query_id = Uuid::random();
        let question = line(&Payload::Query(Query {
            query_text: "Who has it?".into(),
            query_id: query_id.clone(),
            response_scope: "~nick/*".into(),
            timeout_ms: 30_000,
        }));
        assert!(question.contains("query: Who has it?"), "{question}");
        assert!(question.ends_with(&format!("plenary frame answer {query_id} TEXT")), "{question}");
        let answer = line(&Payload::Response(Response {
            query_id,
            session_id: "s-1".into(),
            response_text: "I do".into(),
            refs: None,
        }));
        assert!(answer.contains("response: I do") && answer.contains("session s-1"), "{answer}");
    }
}
