//! A run's events as text: output on standard output, activity on standard error. Foreign text is escaped.
//! Must not know: the source of events.

use plenary_client::{
    BaseUrl,
    runs::{EventBody, FinishReason, RunEvent},
};

use super::prompt::described;
use crate::{
    cli::failure::Failure,
    out::{Out, clean},
};

/// Maximum number of characters shown of a tool's arguments or result.
const TOOL_CHARS_MAX: usize = 200;

/// The text of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// The part for standard output, unchanged.
    pub(super) said: String,
    /// The part for standard error, without its line break.
    pub(super) aside: Option<String>,
}

/// Prints a run, and keeps the streamed text that was printed.
pub(super) struct Voice {
    out: Out,
    server: BaseUrl,
    /// The depth of the run; events at a greater depth belong to other agents.
    depth: Option<u32>,
    /// The streamed text so far.
    spoken: String,
    /// Whether the current line is unfinished.
    open: bool,
    /// Whether any text was printed.
    has_said: bool,
}

impl Voice {
    pub(super) fn new(out: Out, server: BaseUrl) -> Self {
        Self { out, server, depth: None, spoken: String::new(), open: false, has_said: false }
    }

    /// Prints an event. Runs on a blocking thread: a reader that has stopped reading must not keep signals from being
    /// handled.
    pub(super) async fn tell(&mut self, event: &RunEvent) -> Result<(), Failure> {
        let Words { said, aside } = if self.out.is_json() {
            Words { said: format!("{}\n", event.json()), aside: None }
        } else {
            self.words(event)
        };
        let out = self.out;
        if !said.is_empty() {
            let printed = tokio::task::spawn_blocking(move || out.bytes(said.as_bytes())).await;
            printed.map_err(|e| Failure::local(format!("printing failed: {e}")))??;
        }
        if let Some(aside) = aside {
            out.aside(&aside);
        }
        Ok(())
    }

    fn words(&mut self, event: &RunEvent) -> Words {
        let is_deeper = event.depth > *self.depth.get_or_insert(event.depth);
        match &event.body {
            EventBody::RunStarted => {
                *self = Self { depth: Some(event.depth), ..Self::new(self.out, self.server.clone()) };
                Words::default()
            }
            EventBody::TextDelta { .. } if is_deeper => Words::default(),
            EventBody::TextDelta { content } => {
                self.spoken.push_str(content);
                self.open = !content.ends_with('\n') && (self.open || !content.is_empty());
                Words { said: harmless(content), aside: None }
            }
            EventBody::TextOutput { content } if !is_deeper => {
                Words { said: self.text(content), aside: None }
            }
            EventBody::RunCompleted { result: Some(result), .. } if !self.has_said && !result.is_empty() => {
                Words { said: self.text(result), aside: self.aside(event) }
            }
            EventBody::TextOutput { .. }
            | EventBody::ToolCall { .. }
            | EventBody::ToolResult { .. }
            | EventBody::ToolTextOutput { .. }
            | EventBody::ToolError { .. }
            | EventBody::ArtifactGenerated { .. }
            | EventBody::WaitForInput { .. }
            | EventBody::RunCompleted { .. }
            | EventBody::Other => Words { said: self.end_line(), aside: self.aside(event) },
        }
    }

    /// The part of a complete text that was not printed yet, and the end of its line.
    fn text(&mut self, content: &str) -> String {
        self.has_said = true;
        let spoken = std::mem::take(&mut self.spoken);
        let (mut said, rest) = match content.strip_prefix(&spoken) {
            Some(rest) => (String::new(), rest),
            None => (self.end_line(), content),
        };
        said.push_str(&harmless(rest));
        let begins = self.open || !rest.is_empty() || spoken.is_empty();
        self.open = false;
        if begins && !content.ends_with('\n') {
            said.push('\n');
        }
        said
    }

    fn end_line(&mut self) -> String {
        if std::mem::take(&mut self.open) { "\n".to_owned() } else { String::new() }
    }

    fn aside(&self, event: &RunEvent) -> Option<String> {
        let told = match &event.body {
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
                let keys = request_keys.iter().map(|(key, of)| match described(of) {
                    of if of.is_empty() => key.clone(),
                    of => format!("{key} ({of})"),
                });
                format!("asks for {}", short(&keys.collect::<Vec<_>>().join(", ")))
            }
            EventBody::RunCompleted { finish_reason, error, .. } => {
                let (run, thread) = (clean(&event.run_id), clean(&event.thread_id));
                match finish_reason {
                    FinishReason::Success => format!("done: run {run}, thread {thread}"),
                    FinishReason::Canceled => format!("canceled: run {run}, thread {thread}"),
                    FinishReason::Error => {
                        let why = error.as_deref().unwrap_or("the agent does not say why");
                        format!("failed: {}: run {run}, thread {thread}", clean(why))
                    }
                }
            }
            EventBody::Other => clean(&event.kind).into_owned(),
        };
        let inset = "  ".repeat(
            usize::try_from(event.depth.saturating_sub(self.depth.unwrap_or_default())).unwrap_or_default(),
        );
        Some(format!("{inset}{told}"))
    }
}

/// The text, cleaned, with its line breaks and tabs.
fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for piece in text.split_inclusive(['\n', '\t']) {
        let kept = piece.strip_suffix(['\n', '\t']);
        safe.push_str(&clean(kept.unwrap_or(piece).trim_end_matches('\r')));
        safe.push_str(&piece[kept.map_or(piece.len(), str::len)..]);
    }
    safe
}

/// The text as one line, cut if it is long.
fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(TOOL_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    clean(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice() -> Voice {
        Voice::new(Out::new(false, true), "http://h:1".parse().unwrap())
    }

    fn tell(voice: &mut Voice, kind: &str, own: &str) -> (String, String) {
        let json = format!(
            r#"{{"id":2,"run_id":"r","thread_id":"t","agent":"echo","type":"{kind}","role":"x","depth":0{own}}}"#
        );
        let words = voice.words(&RunEvent::read(&json).unwrap());
        (words.said, words.aside.unwrap_or_default())
    }

    fn delta(voice: &mut Voice, text: &str) -> String {
        tell(voice, "TextDelta", &format!(r#","content":"{text}""#)).0
    }

    fn text(voice: &mut Voice, text: &str) -> String {
        tell(voice, "TextOutput", &format!(r#","content":"{text}""#)).0
    }

    #[test]
    fn sc_12_text_in_the_making_is_not_told_twice() {
        let mut voice = voice();
        assert_eq!([delta(&mut voice, "a "), delta(&mut voice, "b")], ["a ", "b"]);
        assert_eq!(text(&mut voice, "a bc"), "c\n");
        assert_eq!(text(&mut voice, "whole"), "whole\n");
        assert_eq!(text(&mut voice, "line\\n"), "line\n");
        assert_eq!(delta(&mut voice, "lost"), "lost");
        assert_eq!(text(&mut voice, "other"), "\nother\n");
        assert_eq!(delta(&mut voice, "cut"), "cut");
        let call = tell(&mut voice, "ToolCall", r#","function_name":"f","args":{}"#);
        assert_eq!(call, ("\n".into(), "call f {}".into()));
        assert_eq!(text(&mut voice, "cut"), "", "its line was ended");
        let end = tell(&mut voice, "RunCompleted", r#","finish_reason":"success","result":"cut""#);
        assert_eq!(end, (String::new(), "done: run r, thread t".into()));
    }

    #[test]
    fn sc_24_each_event_has_its_line_and_forges_none() {
        let long = "x".repeat(300);
        for (kind, own, aside) in [
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
            assert_eq!(tell(&mut voice(), kind, own), (String::new(), aside.to_owned()));
        }
        let cut = tell(&mut voice(), "ToolError", &format!(r#","content":"{long}""#)).1;
        assert!(cut.ends_with("x…") && cut.chars().count() == 213, "{cut}");
        let only = tell(&mut voice(), "RunCompleted", r#","finish_reason":"success","result":"42""#);
        assert_eq!(only, ("42\n".into(), "done: run r, thread t".into()), "no text came before");
        assert_eq!(harmless("a\r\n\tb\u{1b}\n\n"), "a\n\tb\\u{1b}\n\n");
    }
}
