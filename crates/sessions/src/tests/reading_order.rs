//! The events that one connection gets of one session, for every interleaving of commits, reads and new connections,
//! and with the state in memory ahead of the disk.

use std::collections::BTreeSet;

use plenary_kernel::{TimestampMs, Version};
use proptest::{collection::vec, prelude::*};

use super::{
    random::{FOUR, may_read, moves, tell_story},
    scene::{handle, name, sentence_of},
};
use crate::{
    event::SessionEvent,
    session_reader::{ReadPosition, Step},
    state::SessionState,
};

/// One step of a reader: so many events are committed, the state is so many further, and then the connection reads
/// with pages of this size; before it does, it may be a new one or have forgotten its place.
#[derive(Debug, Clone)]
struct Look {
    committed: usize,
    decided_ahead: usize,
    page: usize,
    prior_state: PriorState,
}

#[derive(Debug, Clone)]
enum PriorState {
    Unchanged,
    /// The place was dropped from memory; it is taken up at the next news.
    Forgotten,
    /// A new connection, from something that was confirmed; the higher, the older.
    NewConnection(usize),
}

fn looks() -> impl Strategy<Value = Vec<Look>> {
    let prior_state = prop_oneof![
        6 => Just(PriorState::Unchanged),
        1 => Just(PriorState::Forgotten),
        2 => (0..3_usize).prop_map(PriorState::NewConnection),
    ];
    let fields = (0..6_usize, 0..4_usize, 1..6_usize, prior_state);
    vec(
        fields.prop_map(|(committed, decided_ahead, page, prior_state)| Look {
            committed,
            decided_ahead,
            page,
            prior_state,
        }),
        1..40,
    )
}

/// A connection of an agent, as it reads one session.
struct Reader<'a> {
    agent: &'a str,
    log: &'a [SessionEvent],
    states: &'a [SessionState],
    reading: Option<ReadPosition>,
    /// Where the session is taken up when there is no place in memory.
    cursor: u64,
    /// Where this connection began, and what it was shown.
    from: u64,
    shown_versions: Vec<u64>,
}

impl Reader<'_> {
    /// Reads to the end of what is on disk, as the pump does.
    fn read(&mut self, committed: usize, ahead: usize, page: usize) -> Result<(), TestCaseError> {
        // What is decided and not on disk yet may be acted on already.
        let mut readable_versions = may_read(&self.log[..committed], self.agent);
        readable_versions.extend(may_read(&self.log[..ahead], self.agent));
        if let Some(participant) = self.states[ahead].participant(&handle(self.agent)) {
            let mut pages = 0;
            let head = Version(committed as u64);
            loop {
                let mut reading = self
                    .reading
                    .unwrap_or_else(|| ReadPosition::start(participant, Version(self.cursor), head));
                let Some(next_version) = reading.next(participant) else { break };
                let after = reading.skip_to(next_version).0;
                let rows: Vec<_> = (after + 1..=committed as u64).take(page).collect();
                for version in &rows {
                    match reading.pass(participant, Version(*version)) {
                        Step::Skip => {}
                        Step::Restart => break,
                        Step::Show => {
                            prop_assert!(
                                readable_versions.contains(version),
                                "{} is shown {version}",
                                self.agent
                            );
                            self.shown_versions.push(*version);
                        }
                    }
                }
                self.reading = Some(reading);
                if rows.is_empty() {
                    break;
                }
                pages += 1;
                prop_assert!(pages < 1_000, "a reading comes to an end");
            }
        }
        self.cursor = committed as u64;
        Ok(())
    }

    fn connect(&mut self, from: u64) {
        (self.reading, self.cursor, self.from, self.shown_versions) = (None, from, from, Vec::new());
    }

    /// The versions at which the agent came to be joined.
    fn joinings(&self) -> Vec<u64> {
        let is = |handle| name(handle) == self.agent;
        let joins = self.log.iter().zip(1..).filter(|(event, _)| match event {
            SessionEvent::SessionCreated(event) => is(&event.creator),
            SessionEvent::AgentJoined(event) => is(&event.agent),
            SessionEvent::SessionReopened(event) => is(&event.by),
            SessionEvent::MessageSent(_)
            | SessionEvent::AgentInvited(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_)
            | SessionEvent::SessionEnded(_) => false,
        });
        joins.map(|(_, version)| version).collect()
    }

    /// What was shown to this connection so far: rising, and from the beginning once for a joining at most.
    fn check_order(&self) -> Result<(), TestCaseError> {
        let joinings = self.joinings();
        let mut runs = self.shown_versions.chunk_by(|a, b| a < b).skip(1).peekable();
        let mut restarts = 0;
        while let Some(run) = runs.next() {
            restarts += 1;
            prop_assert_eq!(run[0], 2, "what is shown again begins at the beginning");
            let gap_free_end =
                run.iter().zip(2..).take_while(|(shown, expected)| **shown == *expected).count() as u64 + 1;
            let reaches_joining = joinings.iter().any(|joining| *joining > 1 && *joining <= gap_free_end);
            prop_assert!(reaches_joining || runs.peek().is_none(), "and goes on to the joining");
        }
        prop_assert!(restarts <= joinings.len());
        Ok(())
    }
}

fn check_reader(agent: &str, log: &[SessionEvent], looks: &[Look]) -> Result<(), TestCaseError> {
    let mut states = vec![SessionState::default()];
    for (event, version) in log.iter().zip(1..) {
        let mut state = states.last().unwrap().clone();
        state.evolve(Version(version), TimestampMs(version), event);
        states.push(state);
    }
    let mut reader =
        Reader { agent, log, states: &states, reading: None, cursor: 0, from: 0, shown_versions: Vec::new() };
    let (mut committed, mut confirmed, mut shown_to_any) = (0, vec![0], BTreeSet::new());
    let last = Look { committed: log.len(), decided_ahead: 0, page: 4, prior_state: PriorState::Unchanged };
    for look in looks.iter().chain([&last]) {
        match look.prior_state {
            PriorState::Unchanged => {}
            PriorState::Forgotten => reader.reading = None,
            PriorState::NewConnection(steps_back) => {
                shown_to_any.extend(reader.shown_versions.iter().copied());
                reader.check_order()?;
                reader.connect(confirmed[confirmed.len() - 1 - steps_back.min(confirmed.len() - 1)]);
            }
        }
        committed = (committed + look.committed).min(log.len());
        reader.read(committed, (committed + look.decided_ahead).min(log.len()), look.page)?;
        confirmed.push(committed as u64);
        reader.check_order()?;
    }
    shown_to_any.extend(reader.shown_versions.iter().copied());
    let (readable_versions, shown_versions) =
        (may_read(log, agent), BTreeSet::from_iter(reader.shown_versions.iter().copied()));
    let missed_versions: Vec<_> = readable_versions
        .iter()
        .filter(|version| **version > reader.from && !shown_versions.contains(version))
        .collect();
    prop_assert!(
        missed_versions.is_empty(),
        "{agent} missed {missed_versions:?} behind {}, shown {:?}",
        reader.from,
        reader.shown_versions
    );
    prop_assert!(
        readable_versions.iter().all(|version| shown_to_any.contains(version)),
        "{agent} was never shown all of {readable_versions:?}: {shown_to_any:?}"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn asp_43_to_asp_47_each_readable_event_is_shown_in_order_and_no_other(moves in moves(50), looks in looks()) {
        let turns = tell_story(&moves);
        let log = &turns.last().unwrap().after.log;
        for agent in FOUR {
            check_reader(agent, log, &looks).map_err(|error| {
                let story = log.iter().map(sentence_of).collect::<Vec<_>>().join("; ");
                TestCaseError::fail(format!("{error}\nin {story}"))
            })?;
        }
    }
}

#[test]
fn a_creation_that_is_not_known_to_be_on_disk_does_not_stop_its_creator() {
    let scene = super::scene::given("ann creates; ann says hi");
    let ann = scene.state.participant(&handle("ann")).unwrap();
    let mut reading = ReadPosition::start(ann, Version::ZERO, Version::ZERO);
    let mut shown_versions = Vec::new();
    while let Some(next) = reading.next(ann).filter(|next| *next <= scene.head()) {
        reading.skip_to(next);
        if reading.pass(ann, next) == Step::Show {
            shown_versions.push(next.0);
        }
    }
    assert_eq!(shown_versions, [2]);
}
