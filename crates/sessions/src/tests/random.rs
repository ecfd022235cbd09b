//! Random stories: commands of four agents, one after the other.

use proptest::{collection::vec, prelude::*};

use super::scene::{Scene, given, handle, name};
use crate::event::SessionEvent;

pub(super) const FOUR: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// One random move: what is done, by whom, and to whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    kind: u8,
    actor: usize,
    target: u8,
}

pub(super) fn moves(count: usize) -> impl Strategy<Value = Vec<Move>> {
    vec(
        (0..24_u8, 0..4_usize, any::<u8>()).prop_map(|(kind, actor, target)| Move { kind, actor, target }),
        1..count,
    )
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
pub(super) fn tell_story(moves: &[Move]) -> Vec<Turn> {
    let mut scene = given("");
    let mut story = Vec::new();
    turn(&mut scene, "ann creates bob message=hi".into(), &mut story);
    for step in moves {
        for request in step.requests(&mut scene) {
            turn(&mut scene, request, &mut story);
        }
    }
    story
}

fn turn(scene: &mut Scene, request: String, story: &mut Vec<Turn>) {
    let before = scene.clone();
    let events = scene.decide(&request).ok().map(|(events, _)| events);
    for event in events.iter().flatten() {
        scene.add(event.clone());
    }
    story.push(Turn { request, before, events, after: scene.clone() });
}

impl Move {
    /// What is asked; trust changes on the way, and is followed by what follows from it.
    fn requests(self, scene: &mut Scene) -> Vec<String> {
        let actor = FOUR[self.actor];
        let target = FOUR[(self.actor + 1 + usize::from(self.target % 3)) % 4];
        let names: Vec<_> =
            FOUR.iter().enumerate().filter(|(nth, _)| self.target >> nth & 1 == 1).map(|(_, n)| *n).collect();
        let names = names.join(" ");
        vec![match self.kind {
            0..=3 => format!("{actor} says ho"),
            4..=7 => format!("{actor} joins"),
            8..=10 if !names.is_empty() => format!("{actor} invites {names}"),
            11 => format!("{actor} leaves"),
            12 => format!("{actor} ends"),
            13 if self.target & 0x80 == 0 => format!("{actor} reopens"),
            13 | 14 if names.is_empty() => format!("{actor} reopens nobody message=re"),
            13 | 14 => format!("{actor} reopens {names} message=re"),
            15 | 16 => format!("drop {actor}"),
            17 | 18 => format!("return {actor}"),
            19 | 20 => {
                let away = scene.state.participant(&handle(actor)).and_then(|participant| participant.away);
                format!("expire {actor} since {}", away.map_or(u64::from(self.target), |since| since.0))
            }
            21 => {
                scene.trust.blocks.insert((actor.to_owned(), target.to_owned()));
                format!("evict {target} for {actor}")
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
    let (mut status, mut readable_versions, mut ended) =
        (Status::Stranger, std::collections::BTreeSet::new(), 0);
    for (event, version) in log.iter().zip(1_u64..) {
        match event {
            SessionEvent::SessionCreated(event) if is(&event.creator) => status = Status::Joined,
            SessionEvent::AgentInvited(event) if is(&event.invitee) => {
                status = Status::Invited;
                readable_versions.insert(version);
            }
            SessionEvent::AgentJoined(event) if is(&event.agent) => status = Status::Joined,
            SessionEvent::AgentLeft(event) if is(&event.agent) => {
                if status == Status::Joined {
                    readable_versions.extend(1..=version);
                }
                status = Status::Left;
            }
            SessionEvent::SessionEnded(_) => {
                ended = version;
                if status == Status::Invited {
                    readable_versions.insert(version);
                    status = Status::Left;
                }
            }
            SessionEvent::SessionReopened(event) => {
                if is(&event.by) {
                    status = Status::Joined;
                } else if status == Status::Joined {
                    readable_versions.extend(1..=ended);
                    status = Status::Left;
                }
                if event.returning.iter().any(is) {
                    readable_versions.insert(version);
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
        readable_versions.extend(1..=log.len() as u64);
    }
    readable_versions.into_iter().filter(|version| *version > 1).collect()
}
