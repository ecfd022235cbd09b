//! One exhaustive mapping from rejections to errors on the wire: the common form, with the final answer if there is
//! one.
//! Must not know: the request.

use axum::response::Response;
use plenary_edge::refused;
use plenary_kernel::{Class, Refusal};
use plenary_room::{CannotWatch, Form, House};

use crate::{
    CHANGES_MAX, OPEN_PER_AGENT_MAX, OPEN_PER_OWNER_MAX, RULES_MAX, WAITS_PER_OWNER_MAX,
    decide::Rejection,
    rules::RuleRejection,
    wire::{self, AnswerView},
};

/// The form of the refusals of this room.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestForm {
    /// The answer that counts.
    pub(crate) answer: Option<Box<AnswerView>>,
}

pub(crate) type RequestRefusal = plenary_room::ErrorReply<RequestForm>;

impl Form for RequestForm {
    fn response(self, refusal: &Refusal) -> Response {
        // The 404 has the common form.
        let Some(answer) = self.answer else { return House.response(refusal) };
        let error = wire::RefusalDetail { code: refusal.code, message: &refusal.message };
        let body = wire::Refusal { error, answer: Some(*answer) };
        refused(refusal.class, serde_json::to_vec(&body).expect("texts and numbers can be written"))
    }
}

/// The token was revoked.
pub(crate) fn revoked() -> Refusal {
    Refusal::new(Class::Unauthenticated, "invalid_authorization", "The token is no longer valid.")
}

impl From<Rejection> for RequestRefusal {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::Unauthenticated => revoked(),
            Rejection::NoSuchRequest => Refusal::not_found(),
            Rejection::TooMany => Refusal::new(
                Class::TooMany,
                "too_many_requests",
                format!(
                    "An agent may have at most {OPEN_PER_AGENT_MAX} open requests and an owner {OPEN_PER_OWNER_MAX}; withdraw \
                     one, or wait for an answer."
                ),
            ),
            Rejection::InvalidDeadline => Refusal::malformed(
                "invalid_deadline",
                "`deadline_at` must be a time in the future, at most 30 days ahead, in epoch milliseconds.",
            ),
            Rejection::InvalidUntil => Refusal::malformed(
                "invalid_until",
                "`until` must be a time in the future, at most 30 days ahead, in epoch milliseconds.",
            ),
            Rejection::UnknownPerson => {
                Refusal::malformed("unknown_person", "The owner has no person with this handle.")
            }
            Rejection::NotAllowed => Refusal::conflict(
                "answer_not_allowed",
                "The request does not allow this type of answer; see its `allow`.",
            ),
            Rejection::AlreadyAnswered => {
                Refusal::conflict("already_answered", "The request is already answered; see `answer`.")
            }
            Rejection::Withdrawn => Refusal::conflict("request_withdrawn", "The agent withdrew the request."),
            Rejection::Expired => Refusal::conflict("request_expired", "The deadline of the request passed."),
            Rejection::StaleVersion => Refusal::conflict(
                "stale_version",
                "The request has changed since this version; read it again and send its current `version`.",
            ),
            Rejection::InvalidRule => Refusal::malformed(
                "invalid_rule",
                "A rule needs `accept` or `ignore` of a request with an action, from an agent of the same owner.",
            ),
            Rejection::TooManyRules => Refusal::conflict(
                "too_many_rules",
                format!("An owner may have at most {RULES_MAX} rules; remove one first."),
            ),
            Rejection::NotAnswered => Refusal::conflict("not_answered", "There is no answer to undo."),
            Rejection::TooLate => {
                Refusal::conflict("too_late", "The answer is final; the agent may have received it.")
            }
            Rejection::TooManyChanges => Refusal::conflict(
                "too_many_changes",
                format!("The request was changed {CHANGES_MAX} times, the maximum; it can only be answered."),
            ),
        })
    }
}

impl From<RuleRejection> for RequestRefusal {
    fn from(rejection: RuleRejection) -> Self {
        Self::new(match rejection {
            RuleRejection::Unauthenticated => revoked(),
            RuleRejection::NoSuchRule => Refusal::not_found(),
        })
    }
}

pub(crate) fn cannot_wait(reason: CannotWatch) -> Refusal {
    match reason {
        CannotWatch::TooMany => Refusal::new(
            Class::TooMany,
            "too_many_waits",
            format!("This owner has {WAITS_PER_OWNER_MAX} open waits, the maximum; end one first."),
        ),
        CannotWatch::Stopping => {
            Refusal::new(Class::Unavailable, "stopping", "The server is restarting; retry.")
        }
    }
}
