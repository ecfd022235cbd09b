//! A request: the fold of its stream. The texts of the request and the answer stay in the log. Pure.
//! Must not know: permissions to read it.

use plenary_kernel::{AgentHandle, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::{
    event::{AnswerAuthor, RequestEvent, RequestSubject},
    wire::{Allow, AnswerType, NewRule, OnTimeout},
};

/// A request. The default value belongs to an id without a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestState {
    /// How it was made; `None` if it does not exist.
    #[serde(rename = "made")]
    pub creation: Option<Creation>,
    /// The progress of the request.
    pub progress: Progress,
    /// The time until which it is postponed.
    pub snoozed_until: Option<TimestampMs>,
    /// The number of its changes.
    pub changes: u32,
    /// The version for clients; increases with every change that a person sees.
    pub version: Version,
    /// What made the outcome final; `None` if it is not.
    pub settlement: Option<Settlement>,
}

/// The event that made the outcome of a request final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// Its version.
    pub version: Version,
    /// Whether the agent's inbox reports it.
    pub reaches_inbox: bool,
}

/// The data of a request from its first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The subject.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The addressed person.
    pub to: Option<AgentHandle>,
    /// The types of answer that it allows.
    pub allow: Allow,
    /// The answer that counts when the deadline passes.
    pub on_timeout: OnTimeout,
    /// The tool in question.
    pub tool: Option<String>,
    /// Whether the outcome is reported in the agent's inbox.
    #[serde(rename = "told")]
    pub notifies_inbox: bool,
    /// Whether the server made the request by itself.
    pub by_server: bool,
}

/// The progress of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// It waits for an answer.
    #[default]
    Open,
    /// It was answered.
    Answered {
        /// The type of the answer.
        answer: AnswerType,
        /// The author.
        by: AnswerAuthor,
        /// When.
        at: TimestampMs,
        /// The time until which it can be undone; `None` if it is final.
        undo_until: Option<TimestampMs>,
        /// The rule to create once the answer is final.
        rule: Option<NewRule>,
    },
    /// The agent withdrew it.
    Withdrawn,
    /// Its deadline passed.
    Expired,
}

impl RequestState {
    /// Whether the outcome is final: an answer, a withdrawal or the end of the deadline.
    pub fn is_settled(&self) -> bool {
        match &self.progress {
            Progress::Open => false,
            Progress::Answered { undo_until, .. } => undo_until.is_none(),
            Progress::Withdrawn | Progress::Expired => true,
        }
    }

    /// Whether the deadline has passed.
    pub fn is_late(&self, now: TimestampMs) -> bool {
        self.creation
            .as_ref()
            .and_then(|creation| creation.subject.deadline)
            .is_some_and(|deadline| now >= deadline)
    }

    pub(crate) fn evolve(&mut self, version: Version, event: &RequestEvent) {
        // A link does not change what a person sees.
        if !matches!(event, RequestEvent::LinkMade(_)) {
            self.version = version;
        }
        match event {
            RequestEvent::RequestMade(event) => {
                self.creation = Some(Creation {
                    subject: event.subject.clone(),
                    to: event.to.clone(),
                    allow: event.allow,
                    on_timeout: event.on_timeout,
                    tool: event.tool.clone(),
                    notifies_inbox: event.notifies_inbox,
                    by_server: event.by_server,
                });
            }
            RequestEvent::RequestAnswered(event) => {
                self.progress = Progress::Answered {
                    answer: event.answer,
                    by: event.by.clone(),
                    at: event.at,
                    undo_until: event.undo_until,
                    rule: event.rule.clone(),
                };
            }
            RequestEvent::AnswerSettled(_) => {
                if let Progress::Answered { undo_until, rule, .. } = &mut self.progress {
                    (*undo_until, *rule) = (None, None);
                }
            }
            RequestEvent::AnswerUndone(_) => {
                self.changes += 1;
                (self.progress, self.snoozed_until) = (Progress::Open, None);
            }
            RequestEvent::RequestSnoozed(event) => {
                self.changes += 1;
                self.snoozed_until = Some(event.until);
            }
            RequestEvent::RequestDelegated(event) => {
                self.changes += 1;
                if let Some(creation) = &mut self.creation {
                    creation.to = Some(event.to.clone());
                }
            }
            RequestEvent::RequestWithdrawn(_) => self.progress = Progress::Withdrawn,
            RequestEvent::RequestExpired(_) => self.progress = Progress::Expired,
            RequestEvent::LinkMade(_) => self.changes += 1,
        }
        if self.is_settled() && self.settlement.is_none() {
            self.settlement = Some(Settlement { version, reaches_inbox: event.reaches_inbox() });
        }
    }
}
