//! The other processes on a store to which instances of an agent are attached: asked of all processes for a run that
//! found no instance here.
//! Must not know: runs, or how an instance is attached.

use std::fmt;

use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::{
    Signals,
    signals::{ANSWERS_WAIT, Publication},
};
use serde::{Deserialize, Serialize};

const TOPIC: &str = "hosts";
/// Most processes that are named.
const NAMED_MAX: usize = 3;

/// The other processes.
#[derive(Clone)]
pub(super) struct Elsewhere {
    pub(super) signals: Signals,
    /// Where this one listens.
    pub(super) address: String,
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct AddressQuestion {
    agent: AgentHandle,
}

#[derive(Serialize, Deserialize)]
struct AddressAnswer {
    address: String,
}

impl Elsewhere {
    /// Where instances of the agent are attached; nothing where that can't be told.
    pub(super) async fn attached(&self, agent: &AgentHandle) -> Vec<String> {
        let asked = AddressQuestion { agent: agent.clone() };
        let body = serde_json::to_vec(&asked).expect("texts can be written").into();
        // Without counters it has no number, and none begins at a time.
        let publication = Publication { topic: TOPIC, counters: Vec::new(), at: TimestampMs(0), body };
        let answers = match self.signals.ask(publication, ANSWERS_WAIT).await {
            Ok(answers) => answers.answers,
            Err(error) => {
                tracing::warn!(%error, "the other processes could not be asked for instances");
                return Vec::new();
            }
        };
        let read = |answer: &bytes::Bytes| serde_json::from_slice::<AddressAnswer>(answer).ok();
        let mut places: Vec<_> = answers.iter().filter_map(read).map(|answered| answered.address).collect();
        places.sort_unstable();
        places.truncate(NAMED_MAX);
        places
    }

    /// Answers the others until the log is closed.
    pub(super) async fn answering(&self, has: impl Fn(&AgentHandle) -> bool) {
        let mut questions = self.signals.subscribe(TOPIC);
        while let Some(signal) = questions.next().await {
            let Some(responder) = signal.responder.filter(|_| !signal.own) else { continue };
            let Ok(asked) = serde_json::from_slice::<AddressQuestion>(&signal.body) else { continue };
            if has(&asked.agent) {
                let answered = AddressAnswer { address: self.address.clone() };
                responder.answer(serde_json::to_vec(&answered).expect("texts can be written").into());
            }
        }
    }
}
