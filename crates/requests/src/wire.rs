//! The requests and responses. Members are snake_case, times are epoch milliseconds. Pure.
//! Must not know: permissions.

use std::fmt;

use plenary_kernel::{AgentHandle, AskId, OwnerName, RuleId, form::FormSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BATCH_MAX, CHOICES_MAX, NAME_CHARS_MAX, RULE_DAYS_MAX, TITLE_CHARS_MAX, UNDO_SECONDS_MAX};

plenary_kernel::words! {
    /// The kind of a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(rename = "RequestKind")]
    pub enum Kind {
        /// An agent wants to use a tool.
        Permission = "permission",
        /// An agent asks a question.
        Question = "question",
        /// A run waits for input.
        RunInput = "run_input",
        /// A package waits for a review.
        Review = "review",
        /// Another owner's agent asks for contact.
        Contact = "contact",
        /// Another owner's agent invites to a session.
        Invitation = "invitation",
        /// Something is on hold until a person releases it.
        Hold = "hold",
    }
}

impl Kind {
    /// Whether agents may make requests of this kind; the others are made by the server itself.
    pub const fn is_asked_by_agents(self) -> bool {
        matches!(self, Self::Permission | Self::Question | Self::Hold)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

plenary_kernel::words! {
    /// The state of a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(rename = "RequestState")]
    pub enum Phase {
        /// It waits for an answer.
        Open = "open",
        /// It waits, and is not shown before `snoozed_until`.
        Snoozed = "snoozed",
        /// A person or a rule has answered.
        Answered = "answered",
        /// The agent withdrew it.
        Withdrawn = "withdrawn",
        /// Its deadline passed.
        Expired = "expired",
    }
}

/// The result of a request whose deadline passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It counts as accepted.
    Accept,
    /// It counts as ignored.
    Ignore,
    /// Nothing: it has no answer.
    #[default]
    None,
}

plenary_kernel::words! {
    /// The type of an answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AnswerType {
        /// Accepted as requested.
        Accept = "accept",
        /// Accepted with other arguments.
        Edit = "edit",
        /// A text.
        Respond = "respond",
        /// Rejected or ignored.
        Ignore = "ignore",
    }
}

/// The types of answer that a request allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Allow {
    /// Accept it as requested.
    pub accept: bool,
    /// Accept it with other arguments.
    pub edit: bool,
    /// Answer with a text.
    pub respond: bool,
    /// Reject or ignore it.
    pub ignore: bool,
}

impl Default for Allow {
    fn default() -> Self {
        Self { accept: true, edit: false, respond: true, ignore: true }
    }
}

impl Allow {
    /// Whether this type of answer is allowed.
    pub const fn takes(self, answer: AnswerType) -> bool {
        match answer {
            AnswerType::Accept => self.accept,
            AnswerType::Edit => self.edit,
            AnswerType::Respond => self.respond,
            AnswerType::Ignore => self.ignore,
        }
    }

    /// Whether no type is allowed.
    pub const fn is_empty(self) -> bool {
        !(self.accept || self.edit || self.respond || self.ignore)
    }
}

/// An action that an agent wants to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestedAction")]
pub struct Action {
    /// The tool's name.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    pub name: String,
    /// Its arguments; `null` counts as none.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub args: Map<String, Value>,
}

/// Details that a person reads before answering.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "RequestDetail")]
pub struct Detail {
    /// A command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A change of files, as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// A document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The source of a request in another protocol or program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestSource")]
pub struct SourceView {
    /// The room (sessions, runs, context, accounts), or the program that asks.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    pub room: String,
    /// Its id there.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    pub id: String,
    /// The URL at which it can be read.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The content of a request, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// One line.
    pub title: String,
    /// The agent in whose name it is asked, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<AgentHandle>,
    /// The action in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The details to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// The source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceView>,
    /// The agent's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The schema of the requested values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<FormSchema>,
}

/// The body of `POST /requests`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NewRequest {
    /// permission, question or hold.
    pub kind: Kind,
    /// The question, one line.
    #[schemars(length(min = 1, max = TITLE_CHARS_MAX))]
    pub title: String,
    /// The agent in whose name it is asked, if it is another.
    #[serde(default)]
    pub on_behalf_of: Option<AgentHandle>,
    /// The person who is asked; all people of the owner when absent.
    #[serde(default)]
    pub to: Option<AgentHandle>,
    /// The action in question.
    #[serde(default)]
    pub action: Option<Action>,
    /// The details to read.
    #[serde(default)]
    pub detail: Option<Detail>,
    /// The source.
    #[serde(default)]
    pub source: Option<SourceView>,
    /// The agent's working directory, an absolute path.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    #[serde(default)]
    pub directory: Option<String>,
    /// The types of answer that it allows; all but `edit` when absent, and for a question with choices all but `edit` and `accept`.
    #[serde(default)]
    pub allow: Option<Allow>,
    /// The choices; a free answer is accepted too.
    #[schemars(length(max = CHOICES_MAX), inner(length(min = 1, max = TITLE_CHARS_MAX)))]
    #[serde(default)]
    pub choices: Vec<String>,
    /// The requested values: the flat JSON Schema of an elicitation, with at most 50 fields. They are the `args` of
    /// the answer `edit`. When `allow` is absent, `edit` is allowed, and `accept` and `respond` are not.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub form: Option<FormSchema>,
    /// The deadline for an answer.
    #[serde(default)]
    pub deadline_at: Option<u64>,
    /// The answer that counts when the deadline passes.
    #[serde(default)]
    pub on_timeout: OnTimeout,
    /// Whether the answer is also reported in the agent's inbox; true when absent.
    #[serde(default)]
    pub inbox: Option<bool>,
}

/// The current answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestAnswer")]
pub struct AnswerView {
    /// The type of the answer.
    #[serde(rename = "type")]
    pub answer: AnswerType,
    /// The other arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The author: `~owner`, `operator`, `rule`, `link` or `deadline`.
    pub by: String,
    /// The person who answered for the owner or the operator, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
    /// The rule that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<RuleId>,
    /// When.
    pub at: u64,
    /// The time until which it can be undone; the agent gets it afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<u64>,
}

impl AnswerView {
    /// The author of the answer: the person if one was named.
    pub fn author(&self) -> &str {
        self.person.as_ref().map_or(&self.by, AgentHandle::as_str)
    }
}

/// The current state of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Request")]
pub struct RequestView {
    /// Its id.
    pub request_id: AskId,
    /// The kind of the request.
    pub kind: Kind,
    /// The question, one line.
    pub title: String,
    /// The agent that asks.
    pub from: AgentHandle,
    /// The agent in whose name it is asked, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<AgentHandle>,
    /// The owner whose people are asked.
    pub owner: OwnerName,
    /// The addressed person, if it is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentHandle>,
    /// The action that the agent wants to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The details to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// Its source in another protocol or program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceView>,
    /// The agent's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The types of answer that it allows.
    pub allow: Allow,
    /// The choices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The requested values: the flat JSON Schema of an elicitation. They are the `args` of the answer `edit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub form: Option<FormSchema>,
    /// When it was made.
    pub created_at: u64,
    /// The deadline for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<u64>,
    /// The answer that counts when the deadline passes.
    pub on_timeout: OnTimeout,
    /// Its state.
    pub state: Phase,
    /// The time until which it is postponed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<u64>,
    /// The answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
    /// Increases with every change; an answer names the version that it is for.
    pub version: u64,
}

/// The number of waiting requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestCounts")]
pub struct Counts {
    /// Those that are shown now.
    pub open: usize,
    /// Those that are postponed.
    pub snoozed: usize,
}

/// A page of requests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestPage")]
pub struct RequestPage {
    /// Open requests oldest first, others newest first.
    pub requests: Vec<RequestView>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The number of open requests, whatever the filter.
    pub counts: Counts,
}

/// A rule to create with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewRequestRule")]
pub struct NewRule {
    /// An agent of the owner.
    pub agent: AgentHandle,
    /// The tool: the name of the action.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    pub tool: String,
    /// Only in this directory and below it.
    #[schemars(length(min = 1, max = NAME_CHARS_MAX))]
    #[serde(default)]
    pub directory: Option<String>,
    /// Validity in days, 1 to 365.
    #[schemars(range(min = 1, max = RULE_DAYS_MAX))]
    pub expires_in_days: u64,
}

/// The body of `POST /requests/{id}/answer`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewRequestAnswer")]
pub struct NewAnswer {
    /// The type of the answer.
    #[serde(rename = "type")]
    pub answer: AnswerType,
    /// With `edit`: the arguments to use.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    /// The text of `respond`; with other types a note for the agent.
    #[serde(default)]
    pub text: Option<String>,
    /// The `version` of the request that the answer is for.
    pub version: u64,
    /// Seconds during which the answer can be undone and the agent does not get it; 0 when absent, at most 60.
    #[schemars(range(max = UNDO_SECONDS_MAX))]
    #[serde(default)]
    pub undo_seconds: Option<u64>,
    /// Answers later requests of this kind in the same way.
    #[serde(default)]
    pub rule: Option<NewRule>,
}

/// One answer of a batch.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OneOfBatch {
    /// The request.
    pub request_id: String,
    /// Its answer.
    #[serde(flatten)]
    pub answer: NewAnswer,
}

/// The body of `POST /requests/answers`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Batch {
    /// 1 to 100.
    #[schemars(length(min = 1, max = BATCH_MAX))]
    pub answers: Vec<OneOfBatch>,
}

/// A refusal within a batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchError {
    /// Stable, for machines.
    pub code: String,
    /// For people.
    pub message: String,
}

/// The result of one answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchResult {
    /// The id of the request, as sent.
    pub request_id: String,
    /// The request after the answer; absent if the answer was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestView>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<BatchError>,
}

/// The results of a batch, in its order.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchResults {
    /// One for each answer.
    pub results: Vec<BatchResult>,
}

/// The body of `POST /requests/{id}/snooze`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SnoozeRequest")]
pub struct Snooze {
    /// The time until which it is postponed.
    pub until: u64,
}

/// The body of `POST /requests/{id}/delegate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DelegateRequest")]
pub struct Delegate {
    /// The person who is to answer; must belong to the same owner.
    pub to: AgentHandle,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestRule")]
pub struct RuleView {
    /// Its id.
    pub rule_id: RuleId,
    /// The owner.
    pub owner: OwnerName,
    /// The agent.
    pub agent: AgentHandle,
    /// The tool.
    pub tool: String,
    /// Only in this directory and below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The answer that it gives.
    #[serde(rename = "type")]
    pub answer: AnswerType,
    /// The person who made it.
    pub by: String,
    /// The request in whose answer it was made.
    pub request_id: AskId,
    /// When.
    pub created_at: u64,
    /// When it expires.
    pub expires_at: u64,
}

/// The rules of an owner.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestRules")]
pub struct RuleList {
    /// The current rules, oldest first.
    pub rules: Vec<RuleView>,
}

/// A one-tap link.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestLink")]
pub struct TapLink {
    /// Opens the request without signing in; anyone who has it may answer.
    pub url: String,
    /// When it expires.
    pub expires_at: u64,
}

/// An error of this protocol.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestError")]
pub struct Refusal<'a> {
    /// The error.
    pub error: RefusalDetail<'a>,
    /// With `already_answered` and `request_expired`: the answer that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
}

/// The refusal itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestErrorDetail")]
pub struct RefusalDetail<'a> {
    /// Stable, for machines.
    pub code: &'a str,
    /// A text for people: what happened, and what to do.
    pub message: &'a str,
}
