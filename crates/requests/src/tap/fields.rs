//! The editable fields of a one-tap page, as HTML, and the answer in its submitted form. Pure.
//! Must not know: the rest of the page.

use std::fmt::Write as _;

use plenary_kernel::{
    Refusal,
    form::{Field, FieldKind, Form, Range, TextFormat},
    text::is_hidden,
};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::page::escape;
use crate::{
    command::Answer,
    request::{answer, check_form},
    wire::{AnswerType, Kind, RequestView},
};

/// The prefix of a value's name in the form.
const VALUE: &str = "arg.";
/// Most visible lines of an argument; more scroll.
const ROWS_MAX: usize = 12;

/// An editable argument.
pub(super) struct Argument<'a> {
    name: &'a str,
    /// The question of a run for this key.
    question: Option<String>,
    /// The initial text.
    text: String,
    /// Whether the value is text; otherwise it is JSON.
    is_text: bool,
}

/// The fields of the page.
pub(super) enum Changes<'a> {
    Form(Form),
    Arguments(Vec<Argument<'a>>),
}

impl<'a> Changes<'a> {
    /// The fields; `None` if the request does not allow `edit`, or has nothing that an HTML form can carry.
    pub(super) fn of(view: &'a RequestView) -> Option<Self> {
        if !view.allow.edit {
            return None;
        }
        if let Some(form) = &view.form {
            return form.read().ok().map(Self::Form);
        }
        let args = view.action.as_ref()?.args.iter();
        // Text that a browser would change or not show is not editable.
        let is_plain = |text: &str| !text.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t');
        let argument = |(name, value): (&'a String, &'a Value)| {
            let string = value.as_str().map(str::to_owned);
            let is_text = string.is_some();
            let text = string.unwrap_or_else(|| serde_json::to_string_pretty(value).unwrap_or_default());
            match view.kind {
                Kind::RunInput => Argument { name, question: Some(text), text: String::new(), is_text: true },
                Kind::Permission
                | Kind::Question
                | Kind::Review
                | Kind::Contact
                | Kind::Invitation
                | Kind::Hold => Argument { name, question: None, text, is_text },
            }
        };
        let arguments =
            args.map(argument).filter(|argument| is_plain(&argument.text) && is_plain(argument.name));
        Some(Self::Arguments(arguments.collect()))
            .filter(|arguments| !matches!(arguments, Self::Arguments(arguments) if arguments.is_empty()))
    }

    /// Writes the inputs; returns the label of the button.
    pub(super) fn html(&self, html: &mut String) -> &'static str {
        match self {
            Self::Form(form) => {
                form.fields().iter().for_each(|field| input(html, field));
                "Send"
            }
            Self::Arguments(arguments) => {
                arguments.iter().for_each(|argument| textarea(html, argument));
                if arguments.iter().any(|argument| argument.question.is_some()) {
                    "Send"
                } else {
                    "Accept with these changes"
                }
            }
        }
    }

    /// The arguments of the answer.
    fn read(&self, view: &RequestView, members: &[(String, String)]) -> Result<Map<String, Value>, Refusal> {
        let values = |name: &str| {
            let is_named = |key: &str| key.strip_prefix(VALUE) == Some(name);
            members
                .iter()
                .filter(move |(key, _)| is_named(key))
                .map(|(_, value)| value.as_str())
                .collect::<Vec<_>>()
        };
        match self {
            Self::Form(form) => {
                let mut args = Map::new();
                for field in form.fields() {
                    let arguments = values(&field.name);
                    let value = match &field.kind {
                        FieldKind::Choices(..) => Value::from(arguments.clone()),
                        FieldKind::Text(..)
                        | FieldKind::Choice(_)
                        | FieldKind::Number { .. }
                        | FieldKind::Truth => Value::from(arguments.first().copied().unwrap_or_default()),
                    };
                    // The field was left empty.
                    let is_absent = arguments.iter().all(|value| value.is_empty()) && !field.is_required;
                    if !is_absent {
                        args.insert(field.name.clone(), value);
                    }
                }
                Ok(form.typed(&args))
            }
            Self::Arguments(arguments) => {
                let original = view.action.as_ref().map(|action| action.args.clone());
                let mut args = original.filter(|_| view.kind != Kind::RunInput).unwrap_or_default();
                for Argument { name, is_text, .. } in arguments {
                    let Some(text) = values(name).first().copied() else { continue };
                    let value = if *is_text { Ok(text.into()) } else { serde_json::from_str(text) };
                    let value = value.map_err(|_| invalid_answer(format!("`{name}` must be JSON.")))?;
                    args.insert((*name).to_owned(), value);
                }
                Ok(args)
            }
        }
    }
}

fn invalid_answer(text: String) -> Refusal {
    Refusal::malformed("invalid_answer", text)
}

/// The answer in the submitted form.
///
/// # Errors
/// What is wrong with the form.
pub(crate) fn answer_of_form(view: &RequestView, form: &[u8]) -> Result<Answer, Refusal> {
    // A browser sends a line end as two characters.
    let members =
        form_urlencoded::parse(form).map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n")));
    let members: Vec<_> = members.collect();
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match member("answer") {
        Some("accept") => answer(AnswerType::Accept, None, None),
        Some("ignore") => answer(AnswerType::Ignore, None, None),
        Some("respond") => answer(AnswerType::Respond, None, member("text").map(str::trim)),
        Some("edit") => {
            let changes =
                Changes::of(view).ok_or_else(|| invalid_answer("There is nothing to change.".to_owned()))?;
            let args = changes.read(view, &members)?;
            check_form(view, AnswerType::Edit, Some(&args))?;
            answer(AnswerType::Edit, Some(&args), None)
        }
        Some(_) | None => Err(invalid_answer("`answer` must be accept, ignore, respond or edit.".to_owned())),
    }
}

fn textarea(html: &mut String, Argument { name, question, text, is_text }: &Argument<'_>) {
    let rows = text.lines().count().clamp(1, ROWS_MAX);
    let name = escape(name);
    let label = question.as_ref().map(|question| format!(": {}", escape(question))).unwrap_or_default();
    let json = if *is_text { "" } else { " (JSON)" };
    let required = if question.is_some() { " required" } else { "" };
    // HTML drops the first line end after the tag.
    let _ = write!(
        html,
        "<p><label>{name}{label}{json}<textarea name=\"{VALUE}{name}\" rows={rows}{required}>\n{}</textarea></label></p>",
        escape(text)
    );
}

fn input(html: &mut String, Field { name, texts, kind, is_required }: &Field) {
    let label = if texts.is_empty() { name.clone() } else { texts.join(". ") };
    let (label, required) = (escape(&label), if *is_required { " required" } else { "" });
    let name = format!("name=\"{VALUE}{}\"", escape(name));
    let select = |options: &[(&str, &str)]| {
        let mut html_text = format!("<label>{label} <select {name}{required}><option value=\"\"></option>");
        for (value, text) in options {
            let _ = write!(html_text, "<option value=\"{}\">{}</option>", escape(value), escape(text));
        }
        html_text + "</select></label>"
    };
    let field_html = match kind {
        FieldKind::Text(_, format) => {
            let kind = match format {
                Some(TextFormat::Date) => "date",
                Some(TextFormat::Email) => "email",
                Some(TextFormat::Uri) => "url",
                // A browser's field for a time has no zone.
                Some(TextFormat::DateTime) | None => "text",
            };
            format!("<label>{label} <input type={kind} {name}{required}></label>")
        }
        FieldKind::Number { range: Range(min, max), is_whole } => {
            let bound = |name: &str, bound: &Option<f64>| {
                bound.map(|bound| format!(" {name}={bound}")).unwrap_or_default()
            };
            let step = if *is_whole { "1" } else { "any" };
            let (min, max) = (bound("min", min), bound("max", max));
            format!("<label>{label} <input type=number step={step}{min}{max} {name}{required}></label>")
        }
        FieldKind::Truth => select(&[("true", "Yes"), ("false", "No")]),
        FieldKind::Choice(choices) => {
            select(&choices.iter().map(|choice| (choice.as_str(), choice.as_str())).collect::<Vec<_>>())
        }
        FieldKind::Choices(choices, _) => {
            let mut html_text = format!("<fieldset><legend>{label}</legend>");
            for choice in choices {
                let choice = escape(choice);
                let _ = write!(
                    html_text,
                    "<label><input type=checkbox {name} value=\"{choice}\"> {choice}</label> "
                );
            }
            html_text + "</fieldset>"
        }
    };
    // A paragraph cannot contain a group of fields.
    let _ = match kind {
        FieldKind::Choices(..) => write!(html, "{field_html}"),
        FieldKind::Text(..) | FieldKind::Number { .. } | FieldKind::Truth | FieldKind::Choice(_) => {
            write!(html, "<p>{field_html}</p>")
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(kind: &str, args: &Value) -> RequestView {
        let view = json!({
            "request_id": "ask_01HW7AB12CDEFGHJKMNPQRSTVW", "kind": kind, "title": "t", "from": "@ann.cc", "owner": "ann",
            "action": {"name": "builder", "args": args}, "choices": [], "created_at": 1, "on_timeout": "none",
            "allow": {"accept": false, "edit": true, "respond": false, "ignore": true}, "state": "open", "version": 1,
        });
        serde_json::from_value(view).unwrap()
    }

    fn args_of(view: &RequestView, form: &str) -> Result<Value, String> {
        let answer = answer_of_form(view, form.as_bytes()).map_err(|refusal| refusal.message.into_owned())?;
        Ok(serde_json::from_slice::<Value>(&answer.content).unwrap()["args"].clone())
    }

    fn html_of(view: &RequestView) -> Option<String> {
        let mut html = String::new();
        Changes::of(view)?.html(&mut html);
        Some(html)
    }

    #[test]
    fn given_arguments_when_some_are_changed_then_the_others_stay() {
        let view = view("permission", &json!({"command": "ls\n", "depth": 2, "odd": "a\u{200b}b"}));
        let form = "answer=edit&arg.command=%0D%0Apwd&arg.depth=[3]&arg.odd=c&arg.more=d";
        assert_eq!(args_of(&view, form), Ok(json!({"command": "\npwd", "depth": [3], "odd": "a\u{200b}b"})));
        assert_eq!(args_of(&view, "answer=edit&arg.depth=many"), Err("`depth` must be JSON.".into()));
        assert!(!html_of(&view).unwrap().contains("arg.odd"));
    }

    #[test]
    fn given_a_run_that_asks_then_each_value_is_asked_for_by_its_question() {
        let view = view("run_input", &json!({"branch": "Which <branch>?"}));
        let html = html_of(&view).unwrap();
        assert!(
            html.contains("branch: Which &lt;branch&gt;?<textarea name=\"arg.branch\" rows=1 required>\n<"),
            "{html}"
        );
        assert_eq!(args_of(&view, "answer=edit&arg.branch=main"), Ok(json!({"branch": "main"})));
    }

    #[test]
    fn given_a_form_with_several_choices_then_their_group_is_in_no_paragraph() {
        let form = json!({"type": "object", "properties": {
            "where": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "why": {"type": "string"},
        }});
        let form = form.as_object().cloned().map(Into::into);
        let html = html_of(&RequestView { form, ..view("question", &json!({})) }).unwrap();
        assert!(html.contains("</fieldset>") && html.contains("name=\"arg.why\""), "{html}");
        for paragraph in html.split("<p>").skip(1) {
            assert!(!paragraph.split("</p>").next().unwrap().contains("fieldset"), "{html}");
        }
    }

    #[test]
    fn given_nothing_to_change_then_there_are_no_inputs() {
        let without_arguments = view("permission", &json!({}));
        assert_eq!(html_of(&without_arguments), None);
        assert!(args_of(&without_arguments, "answer=edit").is_err());
        let without_edit =
            RequestView { allow: crate::Allow::default(), ..view("permission", &json!({"a": 1})) };
        assert_eq!(html_of(&without_edit), None);
    }
}
