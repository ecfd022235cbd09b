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
    let mut has_output = false;
    if !assignment.send(request.line()).await {
        return ConversationEnd::Vanished { is_lost: assignment.is_revoked() };
    }
    let mut canceled: Option<Instant> = None;
    loop {
        let message = tokio::select! {
            biased;
            signal = input.wait(), if canceled.is_none() => {
                match signal {
                    // A disconnect is detected when the output ends.
                    RunSignal::Resume(keys) => {
                        let _ = assignment.send(protocol::resume(&keys.text(), request)).await;
                    }
                    RunSignal::Cancel => {
                        canceled = Some(Instant::now() + CANCEL_TIME);
                        let _ = timeout(CANCEL_TIME, assignment.send(protocol::cancel(request))).await;
                    }
                }
                continue;
            }
            () = sleep_until(canceled.unwrap_or_else(Instant::now)), if canceled.is_some() => {
                return ConversationEnd::Ended(RunEnd::canceled());
            }
            message = assignment.next_message() => message,
        };
        let event = match message {
            None => return ConversationEnd::Vanished { is_lost: has_output || assignment.is_revoked() },
            Some(InstanceMessage::Piece(text)) => {
                has_output = true;
                output.emit_delta(&text);
                continue;
            }
            Some(InstanceMessage::Program(ProgramMessage::Started)) => continue,
            Some(InstanceMessage::Program(ProgramMessage::Ended(run_end))) => {
                return ConversationEnd::Ended(run_end);
            }
            Some(InstanceMessage::Program(ProgramMessage::Event(event))) => event,
        };
        has_output = true;
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
