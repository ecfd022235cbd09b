//! Finds the other processes of a store that have instances of an agent: all processes are asked when a run finds no
//! instance here.
//! Must not know: runs, or the attachment of an instance.

use std::fmt;

use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::{
    Signals,
    signals::{ANSWERS_WAIT, Publication},
};
use serde::{Deserialize, Serialize};

const TOPIC: &str = "hosts";
/// Most processes that an answer names.
const NAMED_MAX: usize = 3;

#[derive(Clone)]
pub(super) struct OtherProcesses {
    pub(super) signals: Signals,
    /// The address of this process.
    pub(super) address: String,
}

impl fmt::Debug for OtherProcesses {
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

impl OtherProcesses {
    /// The addresses of the processes with instances of the agent; empty if they cannot be determined.
    pub(super) async fn addresses(&self, agent: &AgentHandle) -> Vec<String> {
        let question = AddressQuestion { agent: agent.clone() };
        let body = serde_json::to_vec(&question).expect("texts can be written").into();
        // Without counters the publication is not numbered or ordered.
        let publication = Publication { topic: TOPIC, counters: Vec::new(), at: TimestampMs(0), body };
        let answers = match self.signals.ask(publication, ANSWERS_WAIT).await {
            Ok(answers) => answers.answers,
            Err(error) => {
                tracing::warn!(%error, "the other processes could not be asked for instances");
                return Vec::new();
            }
        };
        let parse = |answer: &bytes::Bytes| serde_json::from_slice::<AddressAnswer>(answer).ok();
        let mut addresses: Vec<_> = answers.iter().filter_map(parse).map(|answer| answer.address).collect();
        addresses.sort_unstable();
        addresses.truncate(NAMED_MAX);
        addresses
    }

    /// Answers the questions of other processes until the log is closed.
    pub(super) async fn answering(&self, has: impl Fn(&AgentHandle) -> bool) {
        let mut questions = self.signals.subscribe(TOPIC);
        while let Some(signal) = questions.next().await {
            let Some(responder) = signal.responder.filter(|_| !signal.own) else { continue };
            let Ok(question) = serde_json::from_slice::<AddressQuestion>(&signal.body) else { continue };
            if has(&question.agent) {
                let answer = AddressAnswer { address: self.address.clone() };
                responder.answer(serde_json::to_vec(&answer).expect("texts can be written").into());
            }
        }
    }
}
