//! One run at one instance, from the request to the end.
//! Must not know: connections, or other instances.

use plenary_runs::{Asked, Ended, Input, NotTaken, Output, RunRequest, Said};
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    CANCEL_TIME,
    instance::{Heard, Place},
};
use crate::spoken;

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// It is over.
    Ended(Ended),
    /// The instance went away. The run is lost with it once it has said anything of it, or when its token was taken away.
    Vanished { is_lost: bool },
}

/// Carries out a run at an instance.
pub(super) async fn serve(
    mut place: Place,
    request: &RunRequest,
    output: &Output,
    input: &mut Input,
) -> Served {
    let mut said = false;
    if !place.tell(request.line()).await {
        return Served::Vanished { is_lost: place.is_revoked() };
    }
    let mut canceled: Option<Instant> = None;
    loop {
        let heard = tokio::select! {
            biased;
            asked = input.wait(), if canceled.is_none() => {
                match asked {
                    // An instance that is gone is noticed by what it no longer says.
                    Asked::Resume(keys) => {
                        let _ = place.tell(spoken::resume(&keys, request)).await;
                    }
                    Asked::Cancel => {
                        canceled = Some(Instant::now() + CANCEL_TIME);
                        let _ = timeout(CANCEL_TIME, place.tell(spoken::cancel(request))).await;
                    }
                }
                continue;
            }
            () = sleep_until(canceled.unwrap_or_else(Instant::now)), if canceled.is_some() => {
                return Served::Ended(Ended::canceled());
            }
            heard = place.heard() => heard,
        };
        let event = match heard {
            None => return Served::Vanished { is_lost: said || place.is_revoked() },
            Some(Heard::Piece(text)) => {
                said = true;
                output.emit_delta(&text);
                continue;
            }
            Some(Heard::Said(Said::Started)) => continue,
            Some(Heard::Said(Said::Ended(ended))) => return Served::Ended(ended),
            Some(Heard::Said(Said::Event(event))) => event,
        };
        said = true;
        match output.emit(event).await {
            Ok(()) => {}
            // Left out, it would be missing in what the run came to.
            Err(fault @ NotTaken::TooLarge) => return Served::Ended(Ended::error(fault.to_string())),
            // The room has its own word for this end.
            Err(NotTaken::Over) => return Served::Ended(Ended::canceled()),
        }
    }
}
