//! The states of messages as they were reported to a participant. After it has left it gets these, and no others.
//! Must not know: how a state is determined.

use std::collections::BTreeMap;

use bytes::Bytes;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp};
use serde::{Deserialize, Serialize};

use crate::{Inbox, REPORTED_STATES_MAX, inbox::ATTEMPTS_MAX, marks::State, wire::RecipientStatus};

/// The states that were reported to one agent in one session, by message and recipient.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ReportedStates(BTreeMap<u64, BTreeMap<AgentHandle, State>>);

impl ReportedStates {
    /// The state of a message that was last reported for a recipient.
    pub(crate) fn of(&self, sequence: u64, recipient: &AgentHandle) -> State {
        self.0.get(&sequence).and_then(|reported| reported.get(recipient)).copied().unwrap_or_default()
    }

    /// Notes the states of a message; returns whether one rose. Too many states drop those of the oldest messages.
    fn note(&mut self, sequence: u64, recipients: &[RecipientStatus]) -> bool {
        let mut rose = false;
        for recipient in recipients {
            let reported_state = self.of(sequence, &recipient.agent);
            // An invitee whose invitation ended may be invited again.
            if recipient.state > reported_state
                || reported_state == State::Expired && recipient.state != reported_state
            {
                let of_message = self.0.entry(sequence).or_default();
                of_message.insert(recipient.agent.clone(), recipient.state);
                rose = true;
            }
        }
        while self.0.len() > 1 && self.0.values().map(BTreeMap::len).sum::<usize>() > REPORTED_STATES_MAX {
            self.0.pop_first();
        }
        rose
    }
}

fn row(me: &AgentHandle, id: &SessionId) -> String {
    format!("inbox_told/{me}/{id}")
}

impl Inbox {
    pub(crate) async fn reported(&self, me: &AgentHandle, id: &SessionId) -> Result<ReportedStates, Fault> {
        Ok(read(&self.0.log, &row(me, id)).await?.0)
    }

    /// Notes the states that are reported to an agent. States that a fault loses are noted when they are reported again.
    pub(crate) async fn note_reported(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        sequence: u64,
        recipients: &[RecipientStatus],
    ) -> Result<(), Fault> {
        note_in(&self.0.log, row(me, id), sequence, recipients).await
    }
}

async fn read(log: &Log, name: &str) -> Result<(ReportedStates, u64), Fault> {
    let Some(row) = log.read_row(name).await? else { return Ok((ReportedStates::default(), 0)) };
    let reported = serde_json::from_slice(&row.value)
        .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
    Ok((reported, row.revision))
}

/// Adds states to a row, even if other processes change it too.
async fn note_in(
    log: &Log,
    name: String,
    sequence: u64,
    recipients: &[RecipientStatus],
) -> Result<(), Fault> {
    for _ in 0..ATTEMPTS_MAX {
        let (mut reported, revision) = read(log, &name).await?;
        if !reported.note(sequence, recipients) {
            return Ok(());
        }
        let value = serde_json::to_vec(&reported).map_err(|error| Fault::Corrupt(error.to_string()))?;
        let row = RowOp { name: name.clone(), expected: Some(revision), value: Some(Bytes::from(value)) };
        if let Outcome::Appended(_) = log.append(Batch { rows: vec![row], ..Batch::default() }).await? {
            return Ok(());
        }
    }
    Err(Fault::Overloaded)
}

#[cfg(test)]
mod tests {
    use plenary_log::rigged::Store;

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
    fn a_reported_state_only_rises_and_those_of_the_oldest_messages_are_dropped() {
        let (bob, mut reported) = ("@bob.cli".parse().unwrap(), ReportedStates::default());
        assert!(!reported.note(1, &states(&[("@bob.cli", State::Accepted)])), "nothing to store");
        assert!(reported.note(1, &states(&[("@bob.cli", State::InContext)])));
        assert!(!reported.note(1, &states(&[("@bob.cli", State::Delivered)])));
        assert_eq!((reported.of(1, &bob), reported.of(2, &bob)), (State::InContext, State::Accepted));
        reported.note(1, &states(&[("@bob.cli", State::Expired)]));
        assert!(reported.note(1, &states(&[("@bob.cli", State::Delivered)])), "it was invited again");
        for sequence in 2..=REPORTED_STATES_MAX as u64 + 1 {
            reported.note(sequence, &states(&[("@bob.cli", State::Acknowledged)]));
        }
        assert_eq!((reported.of(1, &bob), reported.of(2, &bob)), (State::Accepted, State::Acknowledged));
    }

    #[tokio::test]
    async fn two_processes_note_states_at_the_same_time() {
        let store = Store::new();
        let (here, there) = (store.process(true), store.process(true));
        here.rigging.hold();
        let noting = tokio::spawn(async move {
            note_in(&here.log, "row".into(), 1, &states(&[("@bob.cli", State::InContext)])).await
        });
        while here.rigging.counted().reads == 0 {
            tokio::task::yield_now().await;
        }
        let acknowledged = states(&[("@bob.cli", State::Acknowledged)]);
        note_in(&there.log, "row".into(), 2, &acknowledged).await.unwrap();
        here.rigging.release();
        noting.await.unwrap().unwrap();
        let (bob, (reported, _)) = ("@bob.cli".parse().unwrap(), read(&there.log, "row").await.unwrap());
        assert_eq!((reported.of(1, &bob), reported.of(2, &bob)), (State::InContext, State::Acknowledged));
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let mut reported = ReportedStates::default();
        reported.note(3, &states(&[("@bob.cli", State::InContext)]));
        let form = r#"{"3":{"@bob.cli":"in_context"}}"#;
        assert_eq!(serde_json::to_string(&reported).unwrap(), form);
        assert_eq!(serde_json::from_str::<ReportedStates>(form).unwrap(), reported);
    }
}
