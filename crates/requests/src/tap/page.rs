//! The page of a one-tap link. All text of agents is plain text on it. Pure.
//! Must not know: HTTP.

use std::fmt::Write as _;

use plenary_kernel::{
    TimestampMs,
    request_texts::{describe_request, effects, ignoring, split_arguments},
    rfc3339::Utc,
    text::is_hidden,
};
use serde_json::Value;

use super::fields::Changes;
use crate::wire::{AnswerType, AnswerView, Kind, OnTimeout, Phase, RequestView};

/// The content of the page.
pub(crate) enum Page<'a> {
    /// The request, with a form if it waits.
    Request(&'a RequestView),
    /// An error in the submitted form.
    InvalidAnswer(&'a str),
    /// There is no such link.
    Unknown,
}

const STYLE: &str = "body{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:1.5rem auto;padding:0 1rem;\
color:#1c1b19;background:#f4f1ea}h1{font-size:1.25rem;line-height:1.3}pre{white-space:pre-wrap;\
overflow-wrap:anywhere;background:#e9e6de;padding:.75rem;border-radius:4px}button{font:inherit;color:inherit;\
background:#fff;padding:.7rem 1.4rem;margin:.3rem .3rem .3rem 0;border-radius:4px;border:1px solid #8a877f}\
button[value=accept]{color:#fff;background:#1c1b19;border-color:#1c1b19}textarea,input,select{font:inherit;\
color:inherit;background:#fff;border:1px solid #8a877f;border-radius:4px;padding:.4rem}textarea,input[type=text],\
input[type=number]{width:100%;box-sizing:border-box}@media(prefers-color-scheme:dark){body{color:#e8e6df;\
background:#141412}pre{background:#232220}button,textarea,input,select{background:#232220;border-color:#77746c}\
button[value=accept]{color:#141412;background:#ecebe3;border-color:#ecebe3}}";

/// The page as HTML.
pub(crate) fn page(page: &Page<'_>) -> String {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta name=robots content=noindex><title>Plenary</title><style>{STYLE}</style><main>"
    );
    match page {
        Page::Request(view) => request(&mut html, view),
        Page::InvalidAnswer(reason) => {
            let reason = escape(reason);
            let _ = write!(
                html,
                "<h1>The answer was not accepted</h1><p>{reason}</p><p>Go back and change it.</p>"
            );
        }
        Page::Unknown => html.push_str("<h1>Not found</h1><p>This link is no longer valid.</p>"),
    }
    html.push_str("</main></html>");
    html
}

fn request(html: &mut String, view: &RequestView) {
    let other = view.on_behalf_of.as_ref().map(|other| other.as_str());
    let action = view.action.as_ref().map(|action| action.name.as_str());
    let about = (view.kind.as_str(), room(view));
    let sentence = describe_request(about, view.from.as_str(), other, action);
    let _ = write!(html, "<h1>{}</h1><p>{}", escape(&view.title), escape(&sentence));
    if let Some(directory) = &view.directory {
        let _ = write!(html, " in {}", escape(directory));
    }
    html.push('.');
    if let Some(person) = &view.to {
        let _ = write!(html, " Given to {}.", escape(person.as_str()));
    }
    html.push_str("</p>");
    // The question of a run is in its text and in the fields below.
    if let Some(action) = view.action.as_ref().filter(|_| view.kind != Kind::RunInput) {
        let _ = write!(html, "<p>Tool: <b>{}</b></p>", escape(&action.name));
        arguments(html, &Value::Object(action.args.clone()));
    }
    let detail = view.detail.clone().unwrap_or_default();
    for part in [detail.text, detail.command, detail.document, detail.diff].into_iter().flatten() {
        let _ = write!(html, "<pre>{}</pre>", escape(&part));
    }
    match view.state {
        Phase::Open | Phase::Snoozed => {
            if let Some([accepted, ignored]) = effects(view.kind.as_str(), room(view)) {
                let _ = write!(html, "<p>Accept: {accepted}. {}: {ignored}.</p>", no(view));
            }
            let _ = write!(html, "<p>{}</p>", escape(&deadline(view)));
            form(html, view);
        }
        Phase::Answered => {}
        Phase::Withdrawn => html.push_str("<p><b>The request was withdrawn.</b></p>"),
        Phase::Expired if view.answer.is_some() => html.push_str("<p><b>The deadline has passed.</b></p>"),
        Phase::Expired => html.push_str("<p><b>The deadline has passed. There is no answer.</b></p>"),
    }
    if let Some(answer) = &view.answer {
        outcome(html, view, answer);
    }
}

/// JSON, and each text of several lines below its name.
fn arguments(html: &mut String, args: &Value) {
    let (texts, others) = split_arguments(args);
    if texts.is_empty() || others.as_object().is_some_and(|others| !others.is_empty()) {
        let text = serde_json::to_string_pretty(&others).unwrap_or_default();
        let _ = write!(html, "<pre>{}</pre>", escape(&text));
    }
    for (name, text) in texts {
        // HTML drops the first line end after the tag.
        let _ = write!(html, "<p>{}:</p><pre>\n{}</pre>", escape(name), escape(text));
    }
}

fn room(view: &RequestView) -> Option<&str> {
    view.source.as_ref().map(|source| source.room.as_str())
}

/// The label of the button for `ignore`.
fn no(view: &RequestView) -> &'static str {
    ignoring(view.kind.as_str(), room(view), view.form.is_some())
}

/// A time for people, in UTC: without a script the page does not know the reader's time zone.
fn minute(at: u64) -> String {
    let text = Utc(TimestampMs(at)).to_string().replace('T', " ");
    format!("{} UTC", text.get(..16).unwrap_or(&text))
}

/// The deadline, and its effect.
fn deadline(view: &RequestView) -> String {
    let Some(deadline) = view.deadline_at else { return "It waits until somebody answers.".to_owned() };
    let effect = match view.on_timeout {
        OnTimeout::Accept => "it counts as accepted",
        OnTimeout::Ignore if no(view) == "Decline" => "it counts as declined",
        OnTimeout::Ignore => "it counts as ignored",
        OnTimeout::None => "it has no answer",
    };
    format!("It waits until {}; then {effect}.", minute(deadline))
}

/// The answer and its author.
fn outcome(html: &mut String, view: &RequestView, answer: &AnswerView) {
    let author = match answer.author() {
        "link" => "Through a one-tap link".to_owned(),
        "rule" => "By a rule".to_owned(),
        "deadline" => "By the deadline".to_owned(),
        person => format!("By {}", escape(person)),
    };
    let done = match answer.answer {
        AnswerType::Accept => "Accepted",
        AnswerType::Edit if view.form.is_some() || view.kind == Kind::RunInput => "Answered",
        AnswerType::Edit => "Accepted with changes",
        AnswerType::Respond => "Answered",
        AnswerType::Ignore if no(view) == "Decline" => "Declined",
        AnswerType::Ignore => "Ignored",
    };
    let _ = write!(html, "<p><b>{done}.</b> {author}, {}.</p>", minute(answer.at));
    if let Some(args) = &answer.args {
        arguments(html, &Value::Object(args.clone()));
    }
    if let Some(text) = &answer.text {
        let _ = write!(html, "<pre>{}</pre>", escape(text));
    }
}

fn form(html: &mut String, view: &RequestView) {
    let plain = [(view.allow.accept, "accept", "Accept"), (view.allow.ignore, "ignore", no(view))];
    html.push_str("<form method=post>");
    for (_, answer, label) in plain.into_iter().filter(|(is_allowed, ..)| *is_allowed) {
        let _ = write!(html, "<button name=answer value={answer}>{label}</button>");
    }
    html.push_str("</form>");
    if let Some(changes) = Changes::of(view) {
        html.push_str("<form method=post><input type=hidden name=answer value=edit>");
        let label = changes.html(html);
        let _ = write!(html, "<button>{label}</button></form>");
    }
    if view.allow.respond {
        html.push_str("<form method=post><input type=hidden name=answer value=respond>");
        for choice in &view.choices {
            let choice = escape(choice);
            let _ = write!(html, "<button name=text value=\"{choice}\">{choice}</button>");
        }
        html.push_str("</form><form method=post><input type=hidden name=answer value=respond>");
        html.push_str("<p><textarea name=text rows=3 required aria-label=Reply></textarea></p><button>Reply</button></form>");
    }
}

/// Text as HTML; invisible characters are shown by their code.
pub(super) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\n' | '\t' => html.push(c),
            c if is_hidden(c) => {
                let _ = write!(html, "[U+{:04X}]", u32::from(c));
            }
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_is_text() {
        assert_eq!(
            escape("<script>\"'&\u{202e}\u{1b}\n"),
            "&lt;script&gt;&quot;&#39;&amp;[U+202E][U+001B]\n"
        );
    }
}
