//! The refusals of this protocol: `{"detail","code"}` (wire.md D.3, D.8).
//! Must not know: the request.

use axum::response::{IntoResponse as _, Response};
use plenary_edge::refused;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;
use plenary_room::{CannotWatch, Form, fault_refusal};

use crate::{
    configuration::ConfigureRejection,
    decide::Rejection,
    enlistment::EnlistRejection,
    limits::{
        AGENT_TOOLS_MAX, AGENTS_MAX, ARGS_BYTES_MAX, ENLISTED_PER_OWNER_MAX, PURPOSE_CHARS_MAX,
        QUEUED_RUNS_MAX, RUNS_PER_THREAD_MAX, TOOL_CHARS_MAX,
    },
    switch::SwitchRejection,
    wire::ErrorBody,
};

/// The form of the refusals of this room, and of the agents that attach themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunForm;

/// A refusal in this form.
pub type RunRefusal = plenary_room::ErrorReply<RunForm>;

impl Form for RunForm {
    fn response(self, refusal: &Refusal) -> Response {
        let body = ErrorBody { detail: &refusal.message, code: refusal.code };
        refused(refusal.class, serde_json::to_vec(&body).expect("two strings can be written"))
    }

    fn key_reused() -> Refusal {
        let text = "This Idempotency-Key was used by another request; use a new one.";
        Refusal::conflict("idempotency_key_reused", text)
    }
}

/// A refusal as a response.
pub fn refused_response(refusal: Refusal) -> Response {
    RunRefusal::new(refusal).into_response()
}

pub(crate) fn agent_not_found() -> RunRefusal {
    Refusal::new(Class::NotFound, "agent_not_found", "This server runs no such agent.").into()
}

pub(crate) fn run_not_found() -> RunRefusal {
    Refusal::new(Class::NotFound, "run_not_found", "This agent has no such run.").into()
}

pub(crate) fn thread_not_found() -> RunRefusal {
    Refusal::new(Class::NotFound, "thread_not_found", "This agent has no such thread.").into()
}

pub(crate) fn artifact_not_found() -> RunRefusal {
    Refusal::new(Class::NotFound, "artifact_not_found", "There is no such artifact.").into()
}

/// A stored blob cannot be read, or its content does not match.
pub(crate) fn damaged(fault: &plenary_blobs::Fault) -> RunRefusal {
    tracing::error!(%fault, "an artifact cannot be read");
    Refusal::new(Class::Internal, "internal", "The server cannot answer this request.").into()
}

/// 422: the request has not the required shape.
pub(crate) fn shape(code: &'static str, detail: impl Into<std::borrow::Cow<'static, str>>) -> RunRefusal {
    Refusal::new(Class::Unprocessable, code, detail).into()
}

pub(crate) fn stopping() -> RunRefusal {
    Refusal::new(Class::Unavailable, "stopping", "The server is stopping; try again later.").into()
}

fn agent_stopped() -> RunRefusal {
    let text = "The agent is stopped and accepts no runs until its owner or the operator starts it.";
    Refusal::conflict("agent_stopped", text).into()
}

pub(crate) fn too_many_readers() -> RunRefusal {
    let text = "The run has the maximum number of polling readers; use ?since= instead.";
    Refusal::new(Class::TooMany, "too_many_readers", text).into()
}

/// Why a run cannot be followed.
pub(crate) fn not_followed(rejection: CannotWatch) -> RunRefusal {
    match rejection {
        CannotWatch::TooMany => {
            let text = "Your owner follows the maximum number of runs; end a stream or a wait and retry.";
            Refusal::new(Class::TooMany, "too_many_streams", text).into()
        }
        CannotWatch::Stopping => stopping(),
    }
}

pub(crate) fn run_not_active() -> RunRefusal {
    Rejection::RunNotActive.into()
}

/// The caller sent no token, or an invalid one.
pub(crate) fn not_signed_in(has_sent: bool) -> RunRefusal {
    let code = if has_sent { "invalid_authorization" } else { "missing_authorization" };
    let text = "Send a valid token, as a bearer token or as the password.";
    Refusal::new(Class::Unauthenticated, code, text).into()
}

fn unauthenticated() -> RunRefusal {
    Refusal::new(Class::Unauthenticated, "invalid_authorization", "The token is no longer valid.").into()
}

impl From<Rejection> for RunRefusal {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unauthenticated => unauthenticated(),
            Rejection::AgentNotFound => agent_not_found(),
            Rejection::AgentStopped => agent_stopped(),
            Rejection::ThreadNotFound => thread_not_found(),
            Rejection::RunNotFound => run_not_found(),
            // Ids are random, so a caller never sees this.
            Rejection::IdTaken => fault_refusal(&Fault::Overloaded).into(),
            Rejection::ThreadFull => {
                let text =
                    format!("The thread has {RUNS_PER_THREAD_MAX} runs, the maximum; start a new thread.");
                Refusal::conflict("thread_full", text).into()
            }
            Rejection::TooManyQueued => {
                let text = format!(
                    "{QUEUED_RUNS_MAX} runs of the thread are waiting, the maximum; try again later."
                );
                Refusal::new(Class::TooMany, "too_many_queued_runs", text).into()
            }
            Rejection::TooManyRuns => {
                let text = "The server has the maximum number of active runs; try again later.";
                Refusal::new(Class::TooMany, "too_many_runs", text).into()
            }
            Rejection::TooManyRunsOfOwner => {
                let text =
                    "Your owner has the maximum number of active runs; wait until one ends, or cancel one.";
                Refusal::new(Class::TooMany, "too_many_runs_of_owner", text).into()
            }
            Rejection::TooManyQueuedOfOwner => {
                let text = "Your owner has the maximum number of waiting runs; try again later.";
                Refusal::new(Class::TooMany, "too_many_queued_runs_of_owner", text).into()
            }
            Rejection::RunNotActive => {
                Refusal::conflict("run_not_active", "The run has ended, or does not wait for this input.")
                    .into()
            }
        }
    }
}

impl From<EnlistRejection> for RunRefusal {
    fn from(rejection: EnlistRejection) -> Self {
        Refusal::from(rejection).into()
    }
}

impl From<EnlistRejection> for Refusal {
    fn from(rejection: EnlistRejection) -> Self {
        match rejection {
            EnlistRejection::Unauthenticated => unauthenticated().refusal,
            EnlistRejection::Forbidden => {
                let text = "Only the agent itself can register; only the agent, its owner and the operator can dismiss it.";
                Refusal::new(Class::Forbidden, "forbidden", text)
            }
            EnlistRejection::TooLong => {
                let text = format!(
                    "An agent's purpose may have at most {PURPOSE_CHARS_MAX} characters; the agent may list \
                     {AGENT_TOOLS_MAX} tools of at most {TOOL_CHARS_MAX} characters each."
                );
                Refusal::new(Class::Unprocessable, "introduction_too_long", text)
            }
            EnlistRejection::Hidden => {
                let text = "An agent's purpose and the name of each tool must be one line without control, \
                            direction or invisible characters.";
                Refusal::new(Class::Unprocessable, "invalid_introduction", text)
            }
            EnlistRejection::TooMany => {
                let text = format!(
                    "The server has {AGENTS_MAX} agents, the maximum, or the owner has \
                     {ENLISTED_PER_OWNER_MAX} agents that registered themselves, the maximum."
                );
                Refusal::new(Class::TooMany, "too_many_agents", text)
            }
        }
    }
}

impl From<ConfigureRejection> for RunRefusal {
    fn from(rejection: ConfigureRejection) -> Self {
        match rejection {
            ConfigureRejection::Unauthenticated => unauthenticated(),
            ConfigureRejection::Forbidden => {
                let text = "Only the agent's owner and the operator may configure it.";
                Refusal::new(Class::Forbidden, "forbidden", text).into()
            }
            ConfigureRejection::TooLarge => {
                let text = format!("The arguments together may have at most {ARGS_BYTES_MAX} bytes.");
                shape("args_too_large", text)
            }
        }
    }
}

impl From<SwitchRejection> for RunRefusal {
    fn from(rejection: SwitchRejection) -> Self {
        match rejection {
            SwitchRejection::Unauthenticated => unauthenticated(),
            SwitchRejection::Forbidden => {
                let text = "Only the agent's owner and the operator may stop or start it.";
                Refusal::new(Class::Forbidden, "forbidden", text).into()
            }
        }
    }
}
