//! A run's events as text: output on standard output, activity on standard error. Foreign text is escaped.
//! Must not know: the source of events.

use plenary_client::{
    BaseUrl,
    runs::{EventBody, FinishReason, RunEvent},
};

use super::prompt::described;
use crate::{
    cli::{failure::Failure, said::SaidText, stream},
    out::{Out, clean},
};

/// Maximum number of characters shown of a tool's arguments or result.
const TOOL_CHARS_MAX: usize = 200;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EventText {
    /// The part for standard output, unchanged.
    pub(super) output: String,
    /// The part for standard error, without its line break.
    pub(super) note: Option<String>,
}

/// Prints a run, and keeps the streamed text that was printed.
pub(super) struct RunPrinter {
    out: Out,
    server: BaseUrl,
    /// The depth of the run; events at a greater depth belong to other agents.
    depth: Option<u32>,
    /// The streamed text so far.
    streamed: String,
    /// Whether the current line is unfinished.
    is_line_open: bool,
    /// The whole texts that were printed.
    said: SaidText,
}

impl RunPrinter {
    pub(super) fn new(out: Out, server: BaseUrl) -> Self {
        Self {
            out,
            server,
            depth: None,
            streamed: String::new(),
            is_line_open: false,
            said: SaidText::default(),
        }
    }

    pub(super) async fn print(&mut self, event: &RunEvent) -> Result<(), Failure> {
        let out = self.out;
        let EventText { output, note } = if out.is_json() {
            EventText { output: event.json().to_owned(), note: None }
        } else {
            self.render(event)
        };
        if !output.is_empty() {
            let print = move || if out.is_json() { out.json(&output) } else { out.bytes(output.as_bytes()) };
            stream::print(print).await?;
        }
        if let Some(note) = note {
            out.note(&note);
        }
        Ok(())
    }

    fn render(&mut self, event: &RunEvent) -> EventText {
        let is_deeper = event.depth > *self.depth.get_or_insert(event.depth);
        match &event.body {
            EventBody::RunStarted => {
                *self = Self { depth: Some(event.depth), ..Self::new(self.out, self.server.clone()) };
                EventText::default()
            }
            EventBody::TextDelta { .. } if is_deeper => EventText::default(),
            EventBody::TextDelta { content } => {
                self.streamed.push_str(content);
                self.is_line_open = !content.ends_with('\n') && (self.is_line_open || !content.is_empty());
                EventText { output: harmless(content), note: None }
            }
            EventBody::TextOutput { content } if !is_deeper => {
                EventText { output: self.text(content), note: None }
            }
            EventBody::RunCompleted { result: Some(result), .. } if self.said.lacks(result) => {
                let stands_below = !self.said.is_empty() && self.streamed.is_empty();
                let mut output = String::from(if stands_below { "\n" } else { "" });
                output.push_str(&self.text(result));
                EventText { output, note: self.note(event) }
            }
            EventBody::TextOutput { .. }
            | EventBody::ToolCall { .. }
            | EventBody::ToolResult { .. }
            | EventBody::ToolTextOutput { .. }
            | EventBody::ToolError { .. }
            | EventBody::ArtifactGenerated { .. }
            | EventBody::WaitForInput { .. }
            | EventBody::RunCompleted { .. }
            | EventBody::Other => EventText { output: self.end_line(), note: self.note(event) },
        }
    }

    /// The part of a complete text that was not printed yet, and the end of its line.
    fn text(&mut self, content: &str) -> String {
        self.said.push(content);
        let streamed = std::mem::take(&mut self.streamed);
        let (mut output, rest) = match content.strip_prefix(&streamed) {
            Some(rest) => (String::new(), rest),
            None => (self.end_line(), content),
        };
        output.push_str(&harmless(rest));
        let has_line = self.is_line_open || !rest.is_empty() || streamed.is_empty();
        self.is_line_open = false;
        if has_line && !content.ends_with('\n') {
            output.push('\n');
        }
        output
    }

    fn end_line(&mut self) -> String {
        if std::mem::take(&mut self.is_line_open) { "\n".to_owned() } else { String::new() }
    }

    fn note(&self, event: &RunEvent) -> Option<String> {
        let text = match &event.body {
            EventBody::RunStarted | EventBody::TextDelta { .. } => return None,
            EventBody::TextOutput { content } => format!("{}: {}", clean(&event.agent), short(content)),
            EventBody::ToolCall { function_name, args } => {
                format!("call {} {}", clean(function_name), short(&args.to_string()))
            }
            EventBody::ToolResult { function_name, text_result } => {
                format!("result of {}: {}", clean(function_name), short(text_result))
            }
            EventBody::ToolTextOutput { content } => format!("tool: {}", short(content)),
            EventBody::ToolError { content } => format!("tool error: {}", short(content)),
            EventBody::ArtifactGenerated { name, mime_type, url, .. } => {
                let server = if url.starts_with('/') { self.server.to_string() } else { String::new() };
                format!("artifact {} ({}): {server}{}", clean(name), clean(mime_type), clean(url))
            }
            EventBody::WaitForInput { request_keys } => {
                let keys = request_keys.iter().map(|(key, description)| match described(description) {
                    description if description.is_empty() => key.clone(),
                    description => format!("{key} ({description})"),
                });
                format!("asks for {}", short(&keys.collect::<Vec<_>>().join(", ")))
            }
            EventBody::RunCompleted { finish_reason, error, .. } => {
                let (run, thread) = (clean(&event.run_id), clean(&event.thread_id));
                match finish_reason {
                    FinishReason::Success => format!("done: run {run}, thread {thread}"),
                    FinishReason::Canceled => format!("canceled: run {run}, thread {thread}"),
                    FinishReason::Error => {
                        let why = error.as_deref().unwrap_or("the agent gives no reason");
                        format!("failed: {}: run {run}, thread {thread}", clean(why))
                    }
                }
            }
            EventBody::Other => clean(&event.kind).into_owned(),
        };
        let inset = "  ".repeat(
            usize::try_from(event.depth.saturating_sub(self.depth.unwrap_or_default())).unwrap_or_default(),
        );
        Some(format!("{inset}{text}"))
    }
}

/// The text, cleaned, with its line breaks and tabs.
fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for piece in text.split_inclusive(['\n', '\t']) {
        let content = piece.strip_suffix(['\n', '\t']);
        safe.push_str(&clean(content.unwrap_or(piece).trim_end_matches('\r')));
        safe.push_str(&piece[content.map_or(piece.len(), str::len)..]);
    }
    safe
}

/// The text as one line, cut if it is long.
fn short(text: &str) -> String {
    let mut excerpt: String = text.chars().take(TOOL_CHARS_MAX).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    clean(&excerpt).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printer() -> RunPrinter {
        RunPrinter::new(Out::new(false, true), "http://h:1".parse().unwrap())
    }

    fn print_event(printer: &mut RunPrinter, kind: &str, own: &str) -> (String, String) {
        let json = format!(
            r#"{{"id":2,"run_id":"r","thread_id":"t","agent":"echo","type":"{kind}","role":"x","depth":0{own}}}"#
        );
        let text = printer.render(&RunEvent::read(&json).unwrap());
        (text.output, text.note.unwrap_or_default())
    }

    fn delta(printer: &mut RunPrinter, text: &str) -> String {
        print_event(printer, "TextDelta", &format!(r#","content":"{text}""#)).0
    }

    fn text(printer: &mut RunPrinter, text: &str) -> String {
        print_event(printer, "TextOutput", &format!(r#","content":"{text}""#)).0
    }

    #[test]
    fn sc_12_streamed_text_is_not_printed_twice() {
        let mut printer = printer();
        assert_eq!([delta(&mut printer, "a "), delta(&mut printer, "b")], ["a ", "b"]);
        assert_eq!(text(&mut printer, "a bc"), "c\n");
        assert_eq!(text(&mut printer, "whole"), "whole\n");
        assert_eq!(text(&mut printer, "line\\n"), "line\n");
        assert_eq!(delta(&mut printer, "lost"), "lost");
        assert_eq!(text(&mut printer, "other"), "\nother\n");
        assert_eq!(delta(&mut printer, "cut"), "cut");
        let call = print_event(&mut printer, "ToolCall", r#","function_name":"f","args":{}"#);
        assert_eq!(call, ("\n".into(), "call f {}".into()));
        assert_eq!(text(&mut printer, "cut"), "", "its line was ended");
        let end = print_event(&mut printer, "RunCompleted", r#","finish_reason":"success","result":"cut""#);
        assert_eq!(end, (String::new(), "done: run r, thread t".into()));
        let end = print_event(&mut printer, "RunCompleted", r#","finish_reason":"success","result":"42""#);
        assert_eq!(end, ("\n42\n".into(), "done: run r, thread t".into()), "a result that no text has");
    }

    #[test]
    fn sc_24_each_event_has_its_line_and_forges_none() {
        let long = "x".repeat(300);
        for (kind, own, note) in [
            ("ToolResult", r#","function_name":"f","text_result":"a\nb\u001b""#, "result of f: a\\nb\\u{1b}"),
            ("ToolTextOutput", r#","content":"a""#, "tool: a"),
            ("ToolError", r#","content":"a""#, "tool error: a"),
            (
                "ArtifactGenerated",
                r#","name":"a.txt","mime_type":"text/plain","url":"/artifacts/x","artifact_id":"x""#,
                "artifact a.txt (text/plain): http://h:1/artifacts/x",
            ),
            ("WaitForInput", r#","request_keys":{"a":"Why?","b":null}"#, "asks for a (Why?), b"),
            ("CompletionCall", "", "CompletionCall"),
            ("RunCompleted", r#","finish_reason":"canceled""#, "canceled: run r, thread t"),
            ("RunCompleted", r#","finish_reason":"error","error":"no""#, "failed: no: run r, thread t"),
        ] {
            assert_eq!(print_event(&mut printer(), kind, own), (String::new(), note.to_owned()));
        }
        let cut = print_event(&mut printer(), "ToolError", &format!(r#","content":"{long}""#)).1;
        assert!(cut.ends_with("x…") && cut.chars().count() == 213, "{cut}");
        let only = print_event(&mut printer(), "RunCompleted", r#","finish_reason":"success","result":"42""#);
        assert_eq!(only, ("42\n".into(), "done: run r, thread t".into()), "there was no text before");
        assert_eq!(harmless("a\r\n\tb\u{1b}\n\n"), "a\n\tb\\u{1b}\n\n");
    }
}
