//! One run at one instance, from the request to the end.
//! Must not know: connections, or other instances.

use plenary_runs::{EmitError, Input, Output, ProgramMessage, RunEnd, RunRequest, RunSignal};
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    CANCEL_TIME,
    instance::{Assignment, InstanceMessage},
};
use crate::protocol;

/// How the conversation ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConversationEnd {
    /// The run is over.
    Ended(RunEnd),
    /// The instance disconnected. The run is lost if the instance had sent output for it, or if its token was
    /// revoked.
    Vanished { is_lost: bool },
}

/// Carries out a run at an instance.
pub(super) async fn serve(
    mut assignment: Assignment,
    request: &RunRequest,
    output: &Output,
    input: &mut Input,
) -> ConversationEnd {
    let mut said = false;
    if !assignment.tell(request.line()).await {
        return ConversationEnd::Vanished { is_lost: assignment.is_revoked() };
    }
    let mut canceled: Option<Instant> = None;
    loop {
        let heard = tokio::select! {
            biased;
            asked = input.wait(), if canceled.is_none() => {
                match asked {
                    // A disconnect is detected when the output ends.
                    RunSignal::Resume(keys) => {
                        let _ = assignment.tell(protocol::resume(&keys, request)).await;
                    }
                    RunSignal::Cancel => {
                        canceled = Some(Instant::now() + CANCEL_TIME);
                        let _ = timeout(CANCEL_TIME, assignment.tell(protocol::cancel(request))).await;
                    }
                }
                continue;
            }
            () = sleep_until(canceled.unwrap_or_else(Instant::now)), if canceled.is_some() => {
                return ConversationEnd::Ended(RunEnd::canceled());
            }
            heard = assignment.heard() => heard,
        };
        let event = match heard {
            None => return ConversationEnd::Vanished { is_lost: said || assignment.is_revoked() },
            Some(InstanceMessage::Piece(text)) => {
                said = true;
                output.emit_delta(&text);
                continue;
            }
            Some(InstanceMessage::Said(ProgramMessage::Started)) => continue,
            Some(InstanceMessage::Said(ProgramMessage::Ended(ended))) => {
                return ConversationEnd::Ended(ended);
            }
            Some(InstanceMessage::Said(ProgramMessage::Event(event))) => event,
        };
        said = true;
        match output.emit(event).await {
            Ok(()) => {}
            // If the event were skipped, the output of the run would be incomplete.
            Err(fault @ EmitError::TooLarge) => {
                return ConversationEnd::Ended(RunEnd::error(fault.to_string()));
            }
            // The room decides how this run ends.
            Err(EmitError::Over) => return ConversationEnd::Ended(RunEnd::canceled()),
        }
    }
}
