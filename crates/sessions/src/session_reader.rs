//! How one connection reads one session: from its own cursor, filtered by what its agent may see (ASP-25 to ASP-28,
//! ASP-43 to ASP-47). Pure.
//!
//! An agent that is not a member sees single events. When the read reaches the agent's own joining, it restarts from
//! the beginning: the transcript, then the joining, then the later events (2.5 row 13).

use plenary_kernel::Version;

use crate::state::Participant;

/// The version of the creation, which has no form on the wire.
const CREATION: Version = Version(1);

/// The read position of a connection in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadPosition {
    /// Every event up to this version has been handled: shown or skipped.
    cursor: Version,
    /// Whether the connection has read, or confirmed, everything up to the cursor as a member.
    is_complete: bool,
}

impl ReadPosition {
    /// Starts reading a session after `cursor`. Only changes of the participant that are on disk count.
    pub(crate) fn start(participant: &Participant, cursor: Version, committed: Version) -> Self {
        let since = participant.since;
        let was_member = since > Version::ZERO && since <= committed;
        if was_member && since > cursor {
            return Self { cursor: Version::ZERO, is_complete: true };
        }
        Self {
            cursor,
            is_complete: was_member && (participant.stay.is_some() || cursor < participant.frozen),
        }
    }

    /// A plain cursor, for a stream that is shown completely.
    pub(crate) fn at(cursor: Version) -> Self {
        Self { cursor, is_complete: true }
    }

    /// The version up to which every event has been handled.
    pub(crate) fn cursor(&self) -> Version {
        self.cursor
    }

    /// The next version worth reading; `None` if the agent may currently read nothing after the cursor.
    pub(crate) fn next(&self, participant: &Participant) -> Option<Version> {
        let next = self.cursor.next();
        if self.is_complete && participant.stay.is_some() || next <= participant.frozen {
            return Some(next);
        }
        let single = participant.glimpses.iter().copied().chain(participant.stay);
        single.filter(|version| *version >= next).min()
    }

    /// Moves the cursor to directly before `next`, and returns it.
    pub(crate) fn skip_to(&mut self, next: Version) -> Version {
        if next > self.cursor.next() {
            self.is_complete = false;
        }
        self.cursor = Version(next.0.saturating_sub(1));
        self.cursor
    }

    /// Handles the event at `version`, which directly follows the cursor.
    pub(crate) fn pass(&mut self, participant: &Participant, version: Version) -> Step {
        // Applies also if the agent has left again since: the joining brought the transcript.
        if !self.is_complete && participant.since == version {
            if version > CREATION {
                *self = Self { cursor: Version::ZERO, is_complete: true };
                return Step::Restart;
            }
            self.is_complete = true;
        }
        self.cursor = version;
        if participant.stay.is_none() && version >= participant.frozen {
            self.is_complete = false;
        }
        let is_readable = self.is_complete && participant.stay.is_some() || participant.has_glimpse(version);
        if is_readable && version > CREATION { Step::Show } else { Step::Skip }
    }
}

/// What to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Show,
    /// Not for this agent.
    Skip,
    /// The agent joined here: read again from the beginning.
    Restart,
}

#[cfg(test)]
mod tests {
    use plenary_kernel::TimestampMs;

    use super::*;
    use crate::{
        event::{
            AgentInvited, AgentLeft, AgentMoved, LeftReason, MessageSent, SessionCreated, SessionEnded,
            SessionEvent,
        },
        state::SessionState,
    };

    const ME: &str = "@me.a";

    /// `c` created by another, `C` by me, `m` a message, `i` I am invited, `j` I join, `l` I leave, `e` the end.
    fn event(letter: char) -> SessionEvent {
        let (me, other, id) = (ME.parse().unwrap(), "@o.a".parse().unwrap(), String::new());
        match letter {
            'c' => SessionEvent::SessionCreated(SessionCreated { creator: other, topic: None, host: None }),
            'C' => SessionEvent::SessionCreated(SessionCreated { creator: me, topic: None, host: None }),
            'm' => SessionEvent::MessageSent(MessageSent {
                id,
                sender: other,
                origin: None,
                names: None,
                trace: None,
                members: bytes::Bytes::new(),
            }),
            'i' => SessionEvent::AgentInvited(AgentInvited {
                id,
                invitee: me,
                by: other,
                inline: false,
                offered: false,
                held: false,
                settles: None,
                denied: false,
                elsewhere: false,
            }),
            'j' => SessionEvent::AgentJoined(AgentMoved { id, agent: me, released: false, settles: None }),
            'l' => SessionEvent::AgentLeft(AgentLeft {
                id,
                agent: me,
                reason: LeftReason::Left,
                forced: false,
                held: false,
                settles: None,
            }),
            'e' => SessionEvent::SessionEnded(SessionEnded {
                id,
                by: None,
                joined: vec![other],
                uncounted: Vec::new(),
            }),
            _ => panic!("{letter}"),
        }
    }

    fn fold(log: &str) -> Participant {
        let mut state = SessionState::default();
        for (nth, letter) in log.chars().enumerate() {
            state.evolve(Version(nth as u64 + 1), TimestampMs(0), &event(letter));
        }
        state.participants.get(&ME.parse().unwrap()).cloned().unwrap()
    }

    /// What a connection is shown that reads `log` in the given steps, each with the state of its moment.
    fn versions_shown(log: &str, cursor: u64, moments: &[usize]) -> Vec<u64> {
        let (mut versions, mut reading) = (Vec::new(), None);
        for moment in moments {
            let participant = fold(&log[..*moment]);
            let head = Version(*moment as u64);
            let reading =
                reading.get_or_insert_with(|| ReadPosition::start(&participant, Version(cursor), head));
            while let Some(next) = reading.next(&participant).filter(|next| *next <= head) {
                reading.skip_to(next);
                if reading.pass(&participant, next) == Step::Show {
                    versions.push(next.0);
                }
            }
        }
        versions
    }

    #[test]
    fn asp_26_the_creator_sees_everything() {
        assert_eq!(versions_shown("Cmmi", 0, &[1, 2, 4]), [2, 3, 4]);
        assert_eq!(versions_shown("Cmmi", 2, &[4]), [3, 4], "behind its cursor");
    }

    #[test]
    fn asp_25_asp_46_an_invitee_sees_its_invitation_and_the_end() {
        assert_eq!(versions_shown("cmimme", 0, &[6]), [3, 6]);
        assert_eq!(versions_shown("cmimme", 0, &[3, 4, 6]), [3, 6]);
        assert_eq!(versions_shown("cmimme", 3, &[6]), [6]);
    }

    #[test]
    fn asp_47_asp_58_joining_brings_the_transcript_then_the_joining() {
        assert_eq!(versions_shown("cmimjm", 0, &[3, 6]), [3, 2, 3, 4, 5, 6]);
        assert_eq!(versions_shown("cmimjm", 3, &[6]), [2, 3, 4, 5, 6], "joined while away: once, in order");
        assert_eq!(versions_shown("cmimjm", 5, &[6]), [6], "the joining was confirmed");
    }

    #[test]
    fn asp_27_asp_80_after_leaving_nothing_more() {
        assert_eq!(versions_shown("cijmlmm", 0, &[3, 4, 7]), [2, 3, 4, 5]);
        assert_eq!(versions_shown("cijmlmm", 3, &[7]), [4, 5]);
        assert_eq!(versions_shown("cijmlmm", 1, &[7]), [2, 3, 4, 5], "joined and left while away");
    }

    #[test]
    fn asp_81_a_former_member_sees_its_new_invitation_and_everything_once_it_joins_again() {
        let log = "cijlmimjm";
        assert_eq!(versions_shown(log, 0, &[3, 4, 5, 6, 7]), [2, 3, 4, 6]);
        assert_eq!(versions_shown(log, 4, &[7, 9]), [6, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}
