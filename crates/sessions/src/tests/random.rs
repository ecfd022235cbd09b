//! Random stories: commands of four agents, one after the other.

use proptest::{collection::vec, prelude::*};

use super::scene::{Scene, given, handle, name};
use crate::event::SessionEvent;

pub(super) const FOUR: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// One random move: what is done, by whom, and to whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    what: u8,
    who: usize,
    whom: u8,
}

pub(super) fn moves(count: usize) -> impl Strategy<Value = Vec<Move>> {
    vec((0..24_u8, 0..4_usize, any::<u8>()).prop_map(|(what, who, whom)| Move { what, who, whom }), 1..count)
}

/// One move of a story.
pub(super) struct Turn {
    pub(super) request: String,
    pub(super) before: Scene,
    /// `None` when it was refused.
    pub(super) events: Option<Vec<SessionEvent>>,
    pub(super) after: Scene,
}

/// Tells the story of these moves, from a session that `ann` creates.
pub(super) fn tell(moves: &[Move]) -> Vec<Turn> {
    let mut scene = given("");
    let mut story = Vec::new();
    turn(&mut scene, "ann creates bob message=hi".into(), &mut story);
    for next in moves {
        for request in next.requests(&mut scene) {
            turn(&mut scene, request, &mut story);
        }
    }
    story
}

fn turn(scene: &mut Scene, request: String, story: &mut Vec<Turn>) {
    let before = scene.clone();
    let events = scene.decided(&request).ok().map(|(events, _)| events);
    for event in events.iter().flatten() {
        scene.add(event.clone());
    }
    story.push(Turn { request, before, events, after: scene.clone() });
}

impl Move {
    /// What is asked; trust changes on the way, and is followed by what follows from it.
    fn requests(self, scene: &mut Scene) -> Vec<String> {
        let who = FOUR[self.who];
        let other = FOUR[(self.who + 1 + usize::from(self.whom % 3)) % 4];
        let some: Vec<_> =
            FOUR.iter().enumerate().filter(|(nth, _)| self.whom >> nth & 1 == 1).map(|(_, n)| *n).collect();
        let some = some.join(" ");
        vec![match self.what {
            0..=3 => format!("{who} says ho"),
            4..=7 => format!("{who} joins"),
            8..=10 if !some.is_empty() => format!("{who} invites {some}"),
            11 => format!("{who} leaves"),
            12 => format!("{who} ends"),
            13 if self.whom & 0x80 == 0 => format!("{who} reopens"),
            13 | 14 if some.is_empty() => format!("{who} reopens nobody message=re"),
            13 | 14 => format!("{who} reopens {some} message=re"),
            15 | 16 => format!("drop {who}"),
            17 | 18 => format!("return {who}"),
            19 | 20 => {
                let away = scene.state.participant(&handle(who)).and_then(|participant| participant.away);
                format!("expire {who} since {}", away.map_or(u64::from(self.whom), |since| since.0))
            }
            21 => {
                scene.trust.blocks.insert((who.to_owned(), other.to_owned()));
                format!("evict {other} for {who}")
            }
            22 => {
                scene.trust.blocks.clear();
                return vec![];
            }
            _ => "eve says hi".to_owned(),
        }]
    }
}

/// What an agent may read, said event by event as the protocol says it (C.5; D.9 for what it leaves open), without
/// the creation, which is no event of the wire.
pub(super) fn may_read(log: &[SessionEvent], agent: &str) -> Vec<u64> {
    #[derive(PartialEq)]
    enum Status {
        Stranger,
        Invited,
        Joined,
        Left,
    }
    let is = |handle: &plenary_kernel::AgentHandle| name(handle) == agent;
    let (mut status, mut may, mut ended) = (Status::Stranger, std::collections::BTreeSet::new(), 0);
    for (event, version) in log.iter().zip(1_u64..) {
        match event {
            SessionEvent::SessionCreated(event) if is(&event.creator) => status = Status::Joined,
            SessionEvent::AgentInvited(event) if is(&event.invitee) => {
                status = Status::Invited;
                may.insert(version);
            }
            SessionEvent::AgentJoined(event) if is(&event.agent) => status = Status::Joined,
            SessionEvent::AgentLeft(event) if is(&event.agent) => {
                if status == Status::Joined {
                    may.extend(1..=version);
                }
                status = Status::Left;
            }
            SessionEvent::SessionEnded(_) => {
                ended = version;
                if status == Status::Invited {
                    may.insert(version);
                    status = Status::Left;
                }
            }
            SessionEvent::SessionReopened(event) => {
                if is(&event.by) {
                    status = Status::Joined;
                } else if status == Status::Joined {
                    may.extend(1..=ended);
                    status = Status::Left;
                }
                if event.returning.iter().any(is) {
                    may.insert(version);
                }
            }
            SessionEvent::SessionCreated(_)
            | SessionEvent::MessageSent(_)
            | SessionEvent::AgentInvited(_)
            | SessionEvent::AgentJoined(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_) => {}
        }
    }
    if status == Status::Joined {
        may.extend(1..=log.len() as u64);
    }
    may.into_iter().filter(|version| *version > 1).collect()
}
