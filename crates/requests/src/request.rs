//! Checks bodies: each invalid member has its own code.
//! Must not know: the caller.

use bytes::Bytes;
use plenary_kernel::{AgentHandle, AskId, Class, Refusal, request_texts::effects, text};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    ANSWER_BYTES_MAX, CHOICES_MAX, CONTENT_BYTES_MAX, NAME_CHARS_MAX, RULE_DAYS_MAX, TITLE_CHARS_MAX,
    UNDO_SECONDS_MAX,
    command::{Answer, MakeRequest, Source},
    wire::{Allow, AnswerType, Content, Kind, NewAnswer, NewRequest, NewRule, RequestView},
};

fn malformed(code: &'static str, text: impl Into<String>) -> Refusal {
    Refusal::malformed(code, text.into())
}

/// A line of limited length, without invisible characters.
fn line(name: &str, value: &str, chars_max: usize, code: &'static str) -> Result<(), Refusal> {
    if value.is_empty() || value.chars().count() > chars_max {
        return Err(malformed(code, format!("`{name}` must have 1 to {chars_max} characters.")));
    }
    text::check_line(value).map_err(|reason| malformed(code, format!("`{name}` {reason}.")))
}

fn json(value: &impl Serialize, bytes_max: usize, code: &'static str) -> Result<Bytes, Refusal> {
    let json = serde_json::to_vec(value).expect("texts, numbers, lists and maps can be written");
    if json.len() > bytes_max {
        let text = format!("The whole request may have at most {bytes_max} bytes of JSON.");
        return Err(Refusal::new(Class::TooLarge, code, text));
    }
    Ok(json.into())
}

/// Checks the content of a request, and returns its stored form.
pub(crate) fn content(content: &Content) -> Result<Bytes, Refusal> {
    line("title", &content.title, TITLE_CHARS_MAX, "invalid_title")?;
    if let Some(action) = &content.action {
        line("action.name", &action.name, NAME_CHARS_MAX, "invalid_action")?;
    }
    if let Some(directory) = &content.directory {
        line("directory", directory, NAME_CHARS_MAX, "invalid_directory")?;
    }
    if let Some(source) = &content.source {
        let url = source.url.as_deref().unwrap_or("-");
        for (name, value) in
            [("source.room", source.room.as_str()), ("source.id", &source.id), ("source.url", url)]
        {
            line(name, value, NAME_CHARS_MAX, "invalid_source")?;
        }
    }
    if content.choices.len() > CHOICES_MAX {
        return Err(malformed("invalid_choices", format!("There may be at most {CHOICES_MAX} choices.")));
    }
    for choice in &content.choices {
        line("choices", choice, TITLE_CHARS_MAX, "invalid_choices")?;
    }
    if let Some(form) = &content.form {
        form.read().map_err(|reason| malformed("invalid_form", format!("`form` {reason}.")))?;
    }
    json(content, CONTENT_BYTES_MAX, "request_too_large")
}

impl NewRequest {
    /// The types of answer if the agent names none.
    fn default_allow(&self) -> Allow {
        if self.form.is_some() {
            return Allow { accept: false, edit: true, respond: false, ignore: true };
        }
        // To accept a question with choices would choose none of them.
        let is_choice = self.kind == Kind::Question && !self.choices.is_empty();
        Allow { accept: !is_choice, ..Allow::default() }
    }

    pub(crate) fn command(self, source: Source, agent: AgentHandle) -> Result<MakeRequest, Refusal> {
        if !self.kind.is_asked_by_agents() {
            let text = "`kind` must be `permission`, `question` or `hold`; only the server makes requests of other kinds.";
            return Err(malformed("invalid_kind", text));
        }
        // Pages describe what the server does with the answer; an agent must not be able to claim that for its own
        // request.
        if self
            .source
            .as_ref()
            .is_some_and(|source| effects(self.kind.as_str(), Some(&source.room)).is_some())
        {
            let text =
                "A `hold` of an agent may not have the `source.room` of a request that the server makes.";
            return Err(malformed("invalid_source", text));
        }
        let allow = self.allow.unwrap_or_else(|| self.default_allow());
        if allow.is_empty() {
            return Err(malformed("invalid_allow", "`allow` must permit at least one type of answer."));
        }
        if allow.accept && self.form.is_some() {
            return Err(malformed(
                "invalid_allow",
                "`allow` may not permit `accept` with a form; its values come with `edit`.",
            ));
        }
        let tool = self.action.as_ref().map(|action| action.name.clone());
        let stored_content = Content {
            title: self.title,
            on_behalf_of: self.on_behalf_of,
            action: self.action,
            detail: self.detail,
            source: self.source,
            directory: self.directory,
            choices: self.choices,
            form: self.form,
        };
        Ok(MakeRequest {
            source,
            agent,
            stranger: None,
            kind: self.kind,
            to: self.to,
            allow,
            deadline: self.deadline_at.map(plenary_kernel::TimestampMs),
            on_timeout: self.on_timeout,
            tool,
            directory: stored_content.directory.clone(),
            notifies_inbox: self.inbox.unwrap_or(true),
            content: content(&stored_content)?,
        })
    }
}

#[derive(Serialize)]
struct AnswerText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// A checked answer.
pub(crate) fn answer(
    answer: AnswerType,
    args: Option<&Map<String, Value>>,
    text: Option<&str>,
) -> Result<Answer, Refusal> {
    match answer {
        AnswerType::Edit if args.is_none() => {
            return Err(malformed("invalid_answer", "`edit` needs `args`: the arguments to use."));
        }
        AnswerType::Respond if text.is_none_or(str::is_empty) => {
            return Err(malformed("invalid_answer", "`respond` needs `text`."));
        }
        AnswerType::Accept | AnswerType::Respond | AnswerType::Ignore if args.is_some() => {
            return Err(malformed("invalid_answer", "`args` is valid only with `edit`."));
        }
        AnswerType::Accept | AnswerType::Edit | AnswerType::Respond | AnswerType::Ignore => {}
    }
    Ok(Answer { answer, content: json(&AnswerText { args, text }, ANSWER_BYTES_MAX, "answer_too_large")? })
}

impl NewAnswer {
    /// The answer, the time in which it can be undone in milliseconds, and the rule to create.
    pub(crate) fn check(&self) -> Result<(Answer, u64, Option<NewRule>), Refusal> {
        let answer = answer(self.answer, self.args.as_ref(), self.text.as_deref())?;
        self.check_bounds()?;
        Ok((answer, self.undo_seconds.unwrap_or(0) * 1_000, self.rule.clone()))
    }

    /// Checks what does not depend on the request: the time for undoing, and the rule.
    pub(crate) fn check_bounds(&self) -> Result<(), Refusal> {
        if self.undo_seconds.is_some_and(|undo| undo > UNDO_SECONDS_MAX) {
            let text = format!("`undo_seconds` must be 0 to {UNDO_SECONDS_MAX}.");
            return Err(malformed("invalid_undo_seconds", text));
        }
        if let Some(rule) = &self.rule {
            line("rule.tool", &rule.tool, NAME_CHARS_MAX, "invalid_rule")?;
            if !(1..=RULE_DAYS_MAX).contains(&rule.expires_in_days) {
                let text = format!("`rule.expires_in_days` must be 1 to {RULE_DAYS_MAX}.");
                return Err(malformed("invalid_rule", text));
            }
            if let Some(directory) = &rule.directory {
                line("rule.directory", directory, NAME_CHARS_MAX, "invalid_rule")?;
                if !directory.starts_with('/') || directory.split('/').any(|part| part == "..") {
                    return Err(malformed(
                        "invalid_rule",
                        "`rule.directory` must be an absolute path without `..`.",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether the arguments of an answer match the form of the request, or the values that a run waits for.
pub(crate) fn check_form(
    request: &RequestView,
    answer: AnswerType,
    args: Option<&Map<String, Value>>,
) -> Result<(), Refusal> {
    let (AnswerType::Edit, Some(args)) = (answer, args) else { return Ok(()) };
    let Some(form) = &request.form else { return check_values(request, args) };
    let result = form.read().and_then(|form| form.check(args));
    result.map_err(|reason| malformed("invalid_answer", format!("`args`: {reason}.")))
}

/// Whether the answer to a run has a value for each key that the run asks for, and no other. The run would get the
/// answer as it is, and it cannot be corrected.
fn check_values(request: &RequestView, args: &Map<String, Value>) -> Result<(), Refusal> {
    let asked = request.action.as_ref().filter(|_| request.kind == Kind::RunInput);
    let Some(asked) = asked.map(|action| &action.args).filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    if asked.keys().eq(args.keys()) {
        return Ok(());
    }
    let keys = asked.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(malformed("invalid_answer", format!("`args` must have exactly these values: {keys}.")))
}

/// The id in a path; an invalid id counts as an unknown request.
pub(crate) fn id(text: &str) -> Result<AskId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found())
}
