//! What peers of this protocol are told: `{"detail","code"}` (wire.md D.3, D.8).
//! Must not know: which request is answered.

use axum::response::{IntoResponse as _, Response};
use plenary_edge::refused;
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_log::Fault;
use plenary_room::{CannotWatch, Form, fault_refusal};

use crate::{
    configured::NotConfigured,
    decide::Rejection,
    enlisted::NotEnlisted,
    limits::{
        AGENT_TOOLS_MAX, AGENTS_MAX, ARGS_OCTETS_MAX, ENLISTED_PER_OWNER_MAX, PURPOSE_CHARS_MAX,
        QUEUED_RUNS_MAX, RUNS_PER_THREAD_MAX, TOOL_CHARS_MAX,
    },
    switch::NotSwitched,
    wire::ErrorBody,
};

/// How this room, and agents that attach themselves, write refusals.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunForm;

/// A refusal on its way out.
pub type Refused = plenary_room::Refused<RunForm>;

impl Form for RunForm {
    fn response(self, refusal: &Refusal) -> Response {
        let body = ErrorBody { detail: &refusal.message, code: refusal.code };
        refused(refusal.class, serde_json::to_vec(&body).expect("two strings can be written"))
    }

    fn key_reused() -> Refusal {
        let text = "This Idempotency-Key was used by another request; use a new one.";
        Refusal::conflict(ErrorCode::IdempotencyKeyReused, text)
    }
}

/// A refusal in the form of this protocol.
#[must_use]
pub fn refused_response(refusal: Refusal) -> Response {
    Refused::new(refusal).into_response()
}

pub(crate) fn agent_not_found() -> Refused {
    Refusal::new(Class::NotFound, ErrorCode::AgentNotFound, "There is no such agent; GET / lists them.")
        .into()
}

pub(crate) fn run_not_found() -> Refused {
    Refusal::new(Class::NotFound, ErrorCode::RunNotFound, "This agent has no such run.").into()
}

pub(crate) fn thread_not_found() -> Refused {
    Refusal::new(Class::NotFound, ErrorCode::ThreadNotFound, "This agent has no such thread.").into()
}

pub(crate) fn artifact_not_found() -> Refused {
    Refusal::new(Class::NotFound, ErrorCode::ArtifactNotFound, "There is no such artifact.").into()
}

/// What is kept can't be got, or is not what was made.
pub(crate) fn damaged(fault: &plenary_blobs::Fault) -> Refused {
    tracing::error!(%fault, "an artifact can't be given out");
    Refusal::new(Class::Internal, ErrorCode::Internal, "The server can't answer this.").into()
}

/// 422: not of the shape that is asked for.
pub(crate) fn shape(
    code: impl Into<&'static str>,
    detail: impl Into<std::borrow::Cow<'static, str>>,
) -> Refused {
    Refusal::new(Class::Unprocessable, code, detail).into()
}

pub(crate) fn stopping() -> Refused {
    Refusal::new(Class::Unavailable, ErrorCode::Stopping, "The server stops; try again later.").into()
}

pub(crate) fn agent_stopped() -> Refused {
    let text = "The agent is stopped and takes no runs until its owner or the operator starts it.";
    Refusal::conflict(ErrorCode::AgentStopped, text).into()
}

pub(crate) fn too_many_readers() -> Refused {
    let text = "The run has as many polling readers as it may; use ?since= instead.";
    Refusal::new(Class::TooMany, ErrorCode::TooManyReaders, text).into()
}

/// Why a run is not followed.
pub(crate) fn not_followed(why: CannotWatch) -> Refused {
    match why {
        CannotWatch::TooMany => {
            let text =
                "Your owner follows as many runs as one owner may; end a stream, or wait less at a time.";
            Refusal::new(Class::TooMany, ErrorCode::TooManyStreams, text).into()
        }
        CannotWatch::Stopping => stopping(),
    }
}

fn unauthenticated() -> Refused {
    Refusal::new(Class::Unauthenticated, ErrorCode::InvalidAuthorization, "The token is not valid any more.")
        .into()
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unauthenticated => unauthenticated(),
            Rejection::AgentNotFound => agent_not_found(),
            Rejection::ThreadNotFound => thread_not_found(),
            Rejection::RunNotFound => run_not_found(),
            // Ids are random: whoever asks never meets it.
            Rejection::IdTaken => fault_refusal(&Fault::Overloaded).into(),
            Rejection::ThreadFull => {
                let text = format!("The thread has {RUNS_PER_THREAD_MAX} runs; begin a new one.");
                Refusal::conflict(ErrorCode::ThreadFull, text).into()
            }
            Rejection::TooManyQueued => {
                let text = format!("{QUEUED_RUNS_MAX} runs of the thread wait already; try again later.");
                Refusal::new(Class::TooMany, ErrorCode::TooManyQueuedRuns, text).into()
            }
            Rejection::TooManyRuns => {
                let text = "The server carries out as many runs as it may; try again later.";
                Refusal::new(Class::TooMany, ErrorCode::TooManyRuns, text).into()
            }
            Rejection::TooManyRunsOfOwner => {
                let text = "As many runs of your owner go on as one owner may have; wait until one ends, or cancel one.";
                Refusal::new(Class::TooMany, ErrorCode::TooManyRunsOfOwner, text).into()
            }
            Rejection::TooManyQueuedOfOwner => {
                let text =
                    "As many runs of your owner wait for their turn as one owner may have; try again later.";
                Refusal::new(Class::TooMany, ErrorCode::TooManyQueuedRunsOfOwner, text).into()
            }
            Rejection::RunNotActive => {
                Refusal::conflict(ErrorCode::RunNotActive, "The run is over, or does not wait for input.")
                    .into()
            }
        }
    }
}

impl From<NotEnlisted> for Refused {
    fn from(why: NotEnlisted) -> Self {
        Refusal::from(why).into()
    }
}

impl From<NotEnlisted> for Refusal {
    fn from(why: NotEnlisted) -> Self {
        match why {
            NotEnlisted::Unauthenticated => unauthenticated().refusal,
            NotEnlisted::Forbidden => {
                let text = "An agent enlists itself; it, its owner and the operator let it go.";
                Refusal::new(Class::Forbidden, ErrorCode::Forbidden, text)
            }
            NotEnlisted::TooLong => {
                let text = format!(
                    "An agent's purpose has at most {PURPOSE_CHARS_MAX} characters, and it tells of at most \
                     {AGENT_TOOLS_MAX} tools of at most {TOOL_CHARS_MAX} characters each."
                );
                Refusal::new(Class::Unprocessable, ErrorCode::IntroductionTooLong, text)
            }
            NotEnlisted::Hidden => {
                let text = "An agent's purpose and the names of its tools are one line each, without control, \
                            direction or invisible characters.";
                Refusal::new(Class::Unprocessable, ErrorCode::InvalidIntroduction, text)
            }
            NotEnlisted::TooMany => {
                let text = format!(
                    "The server has {AGENTS_MAX} agents, as many as it may, or the owner has \
                     {ENLISTED_PER_OWNER_MAX} that came by themselves."
                );
                Refusal::new(Class::TooMany, ErrorCode::TooManyAgents, text)
            }
        }
    }
}

impl From<NotConfigured> for Refused {
    fn from(why: NotConfigured) -> Self {
        match why {
            NotConfigured::Unauthenticated => unauthenticated(),
            NotConfigured::Forbidden => {
                let text = "Only the agent's owner and the operator configure it.";
                Refusal::new(Class::Forbidden, ErrorCode::Forbidden, text).into()
            }
            NotConfigured::TooLarge => {
                let text = format!("The arguments together would have more than {ARGS_OCTETS_MAX} octets.");
                shape("args_too_large", text)
            }
        }
    }
}

impl From<NotSwitched> for Refused {
    fn from(why: NotSwitched) -> Self {
        match why {
            NotSwitched::Unauthenticated => unauthenticated(),
            NotSwitched::Forbidden => {
                let text = "Only the agent's owner and the operator stop and start it.";
                Refusal::new(Class::Forbidden, ErrorCode::Forbidden, text).into()
            }
        }
    }
}
