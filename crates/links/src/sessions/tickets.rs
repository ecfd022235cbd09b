//! Tickets for files of this network. A ticket is given with a message that names the file, to the host of its session; with it
//! the host gets the content, for a short time and as long as the accord is active. This network signs its tickets, so that every
//! process knows them and nothing is stored.
//! Must not know: how a file is stored.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_kernel::{AccordId, AgentHandle, FileId, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{
    key::NetworkKey,
    limits::{TICKET_BYTES_MAX, TICKET_MS},
};

/// Separates these signatures from those of requests.
const PURPOSE: &str = "plenary-file-ticket";

/// A file that an agent of this network sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ticket {
    pub(super) agent: AgentHandle,
    pub(super) file: FileId,
    /// When the ticket expires, in epoch milliseconds.
    until: u64,
}

fn base(accord: &AccordId, content: &str) -> String {
    format!("{PURPOSE}\n{accord}\n{content}")
}

impl Ticket {
    pub(super) fn new(agent: &AgentHandle, file: &FileId, now: TimestampMs) -> Self {
        Self { agent: agent.clone(), file: file.clone(), until: now.0.saturating_add(TICKET_MS) }
    }

    /// The ticket as the peer of an accord gets it.
    pub(super) fn sign(&self, accord: &AccordId, key: &NetworkKey) -> String {
        let content = serde_json::to_vec(self).expect("texts and numbers can be written");
        let content = URL_SAFE_NO_PAD.encode(content);
        let signature = URL_SAFE_NO_PAD.encode(key.sign(base(accord, &content).as_bytes()));
        format!("{content}.{signature}")
    }

    /// Reads a ticket of the peer of an accord; `None` if this network did not give it to that peer, or if it has expired.
    pub(super) fn read(text: &str, accord: &AccordId, key: &NetworkKey, now: TimestampMs) -> Option<Self> {
        let (content, signature) = text.split_once('.').filter(|_| text.len() <= TICKET_BYTES_MAX)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        key.public().verifies(base(accord, content).as_bytes(), &signature).then_some(())?;
        let ticket: Self = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(content).ok()?).ok()?;
        (now.0 < ticket.until).then_some(ticket)
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Stamp;

    use super::*;
    use crate::key::tests::key;

    #[test]
    fn a_ticket_is_good_for_one_accord_and_a_short_time() {
        let (ours, theirs) = (key(), key());
        let accord = |nth| AccordId::mint(&Stamp::new(TimestampMs(nth), [0; 10]), 0);
        let at = TimestampMs(1_000);
        let ticket = Ticket::new(&"@ida.bot".parse().unwrap(), &"file_1".parse().unwrap(), at);
        let text = ticket.sign(&accord(1), &ours);
        let read = |text: &str, nth, now| Ticket::read(text, &accord(nth), &ours, TimestampMs(now));
        assert_eq!(read(&text, 1, 1_000), Some(ticket.clone()));
        assert_eq!(read(&text, 1, 1_000 + TICKET_MS), None);
        assert_eq!(read(&text, 2, 1_000), None);
        assert_eq!(read(&ticket.sign(&accord(1), &theirs), 1, 1_000), None);
        let other = Ticket::new(&"@ida.bot".parse().unwrap(), &"file_2".parse().unwrap(), at);
        let (content, _) = text.split_once('.').unwrap();
        let forged = other.sign(&accord(1), &ours);
        let (_, signature) = forged.split_once('.').unwrap();
        assert_eq!(read(&format!("{content}.{signature}"), 1, 1_000), None);
        for malformed in ["", ".", "a.b", &"x".repeat(TICKET_BYTES_MAX + 1)] {
            assert_eq!(read(malformed, 1, 1_000), None);
        }
    }
}
