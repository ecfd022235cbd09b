//! Encodes an agent's output: one JSON object per text frame, each with its run. For hosts of agents, whose server
//! runs elsewhere.
//! Must not know: the transport of frames.

use base64::{Engine, engine::general_purpose::STANDARD};
use plenary_runs::{Event, ReceivedOutput, RunEnd, id::RunId};
use serde_json::json;

use crate::program::lines::LINE_BYTES_MAX;

/// The frame of an event or a piece of unfinished text. `Err` if it cannot be sent: if the event were skipped, the
/// output of the run would be incomplete.
pub(crate) fn output_frame(run: RunId, output: &ReceivedOutput) -> Result<String, String> {
    let frame = match output {
        ReceivedOutput::Piece(text) => {
            json!({"type": "TextDelta", "run_id": run, "content": text}).to_string()
        }
        ReceivedOutput::Event(output_event) => event(run, output_event),
    };
    if frame.len() > LINE_BYTES_MAX {
        return Err(format!(
            "the agent said more at once than it may: {} bytes, and {LINE_BYTES_MAX} are the most",
            frame.len()
        ));
    }
    Ok(frame)
}

/// The frame of a run's end.
pub(crate) fn completed(run: RunId, end: &RunEnd) -> String {
    let reason = if end.rejected { json!("rejected") } else { json!(end.finish_reason) };
    let mut frame = json!({"type": "RunCompleted", "run_id": run, "finish_reason": reason});
    if let Some(result) = &end.result {
        frame["result"] = result.as_str().into();
    }
    if let Some(error) = &end.error {
        frame["error"] = error.as_str().into();
    }
    frame.to_string()
}

fn event(run: RunId, event: &Event) -> String {
    let role = json!(event.role);
    let mut frame = format!(r#"{{"type":"{}","run_id":"{run}","role":{role}"#, event.kind.as_str());
    if let Some(artifact) = &event.artifact {
        frame.push_str(&content(artifact));
    }
    // Its own members unchanged, numbers included.
    let own = event.json().trim_start_matches('{');
    if own != "}" {
        frame.push(',');
    }
    frame.push_str(own);
    frame
}

/// The content of an artifact in the shorter encoding, so that it stays within the limits.
fn content(artifact: &[u8]) -> String {
    let text = std::str::from_utf8(artifact).ok().map(|text| json!(text).to_string());
    match text.filter(|text| text.len() <= artifact.len().div_ceil(3) * 4 + 2) {
        Some(text) => format!(r#","content":{text}"#),
        None => format!(r#","content_base64":"{}""#, STANDARD.encode(artifact)),
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};
    use plenary_runs::{FinishReason, ProgramMessage};

    use super::*;
    use crate::protocol;

    fn run() -> RunId {
        RunId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0)
    }

    fn event(line: &str) -> Event {
        let ProgramMessage::Event(event) = protocol::read(line.as_bytes()).unwrap() else {
            panic!("an event: {line}")
        };
        event
    }

    #[test]
    fn what_was_read_is_written_so_that_it_is_read_again() {
        for line in [
            r#"{"type":"TextOutput","content":"a \"b\"\n"}"#,
            r#"{"type":"TextOutput","content":"x","role":"user"}"#,
            r#"{"type":"CompletionCall"}"#,
            r#"{"type":"ToolCall","function_name":"f","args":{"n":1.0e2,"m":12345678901234567890123}}"#,
            r#"{"type":"ArtifactGenerated","name":"a.md","content":"A \"quote\""}"#,
            r#"{"type":"ArtifactGenerated","name":"a","mime_type":"x/y","content_base64":"AP8="}"#,
            r#"{"type":"ArtifactGenerated","name":"a","mime_type":"x/y","url":"https://x.example/a"}"#,
            r#"{"type":"WaitForInput","request_keys":{"a":"A?"}}"#,
        ] {
            let expected = event(line);
            let frame = output_frame(run(), &ReceivedOutput::Event(expected.clone())).unwrap();
            assert_eq!(protocol::line_run(frame.as_bytes()), Ok(Some(Some(run().to_string()))), "{frame}");
            assert_eq!(event(&frame), expected, "{frame}");
        }
        for end in [
            RunEnd::with("done"),
            RunEnd::error("no"),
            RunEnd::rejected("no"),
            RunEnd::canceled(),
            RunEnd::success(),
        ] {
            let frame = completed(run(), &end);
            assert_eq!(protocol::read(frame.as_bytes()), Ok(ProgramMessage::Ended(end)), "{frame}");
        }
        let piece = output_frame(run(), &ReceivedOutput::Piece("a\n".into())).unwrap();
        assert_eq!(piece, format!(r#"{{"content":"a\n","run_id":"{}","type":"TextDelta"}}"#, run()));
        assert_eq!(json!(FinishReason::Success), "success");
    }

    #[test]
    fn sc_47_an_artifact_that_no_frame_holds_is_refused() {
        let artifact = |bytes: usize| {
            let content = vec![b'x'; bytes].into();
            output_frame(run(), &ReceivedOutput::Event(Event::artifact("a", "text/plain", content)))
        };
        assert!(artifact(LINE_BYTES_MAX - 1_000).unwrap().contains("\"content\":"));
        assert!(artifact(LINE_BYTES_MAX).unwrap_err().contains("more at once"));
        let control =
            output_frame(run(), &ReceivedOutput::Event(Event::artifact("a", "x/y", vec![1; 9].into())))
                .unwrap();
        assert!(control.contains("\"content_base64\":\"AQEBAQEBAQEB\""), "the shorter form: {control}");
    }
}
