//! The states of messages that a participant was told. It is told no less after it has left, and no more.
//! Must not know: how a state is determined.

use std::collections::BTreeMap;

use bytes::Bytes;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::{Batch, Fault, RowOp};
use serde::{Deserialize, Serialize};

use crate::{Inbox, TOLD_STATES_MAX, marks::State, wire::RecipientStatus};

/// The states that one agent was told in one session, by message and recipient.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ToldStates(BTreeMap<u64, BTreeMap<AgentHandle, State>>);

impl ToldStates {
    /// The state of a message that was last told for a recipient.
    pub(crate) fn of(&self, sequence: u64, recipient: &AgentHandle) -> State {
        self.0.get(&sequence).and_then(|told| told.get(recipient)).copied().unwrap_or_default()
    }

    /// Notes the states of a message; returns whether one rose. Too many states drop those of the oldest messages.
    fn note(&mut self, sequence: u64, recipients: &[RecipientStatus]) -> bool {
        let mut rose = false;
        for recipient in recipients {
            let known = self.of(sequence, &recipient.agent);
            // An invitee whose invitation ended may be invited again.
            if recipient.state > known || known == State::Expired && recipient.state != known {
                let told = self.0.entry(sequence).or_default();
                told.insert(recipient.agent.clone(), recipient.state);
                rose = true;
            }
        }
        while self.0.len() > 1 && self.0.values().map(BTreeMap::len).sum::<usize>() > TOLD_STATES_MAX {
            self.0.pop_first();
        }
        rose
    }
}

fn row(me: &AgentHandle, id: &SessionId) -> String {
    format!("inbox_told/{me}/{id}")
}

impl Inbox {
    /// The states that an agent was told in a session.
    pub(crate) async fn told(&self, me: &AgentHandle, id: &SessionId) -> Result<ToldStates, Fault> {
        Ok(self.told_row(me, id).await?.0)
    }

    async fn told_row(&self, me: &AgentHandle, id: &SessionId) -> Result<(ToldStates, u64), Fault> {
        let name = row(me, id);
        let Some(row) = self.0.log.read_row(&name).await? else { return Ok((ToldStates::default(), 0)) };
        let told = serde_json::from_slice(&row.value)
            .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
        Ok((told, row.revision))
    }

    /// Notes the states that an agent is told. States that another process stores at the same time, or that a fault
    /// loses, are noted when they are told again.
    pub(crate) async fn note_told(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        sequence: u64,
        recipients: &[RecipientStatus],
    ) -> Result<(), Fault> {
        let (mut told, revision) = self.told_row(me, id).await?;
        if told.note(sequence, recipients) {
            let value = serde_json::to_vec(&told).map_err(|error| Fault::Corrupt(error.to_string()))?;
            let row = RowOp { name: row(me, id), expected: Some(revision), value: Some(Bytes::from(value)) };
            self.0.log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(agents: &[(&str, State)]) -> Vec<RecipientStatus> {
        let status = |(agent, state): &(&str, State)| RecipientStatus {
            agent: agent.parse().unwrap(),
            state: *state,
            at: None,
            waiting: None,
            shown_characters: None,
            characters: None,
        };
        agents.iter().map(status).collect()
    }

    #[test]
    fn what_was_told_only_rises_and_the_oldest_messages_are_dropped() {
        let (bob, mut told) = ("@bob.cli".parse().unwrap(), ToldStates::default());
        assert!(!told.note(1, &states(&[("@bob.cli", State::Accepted)])), "nothing to keep");
        assert!(told.note(1, &states(&[("@bob.cli", State::InContext)])));
        assert!(!told.note(1, &states(&[("@bob.cli", State::Delivered)])));
        assert_eq!((told.of(1, &bob), told.of(2, &bob)), (State::InContext, State::Accepted));
        told.note(1, &states(&[("@bob.cli", State::Expired)]));
        assert!(told.note(1, &states(&[("@bob.cli", State::Delivered)])), "it was invited again");
        for sequence in 2..=TOLD_STATES_MAX as u64 + 1 {
            told.note(sequence, &states(&[("@bob.cli", State::Acknowledged)]));
        }
        assert_eq!((told.of(1, &bob), told.of(2, &bob)), (State::Accepted, State::Acknowledged));
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let mut told = ToldStates::default();
        told.note(3, &states(&[("@bob.cli", State::InContext)]));
        let form = r#"{"3":{"@bob.cli":"in_context"}}"#;
        assert_eq!(serde_json::to_string(&told).unwrap(), form);
        assert_eq!(serde_json::from_str::<ToldStates>(form).unwrap(), told);
    }
}
