//! Given, when, then: the events of a session's stream, a command and its caller, and the decision.
//!
//! The givens are sentences of what has happened, and of trust: `bob blocks ann`, `bob is-closed`, `bob lists ann`,
//! `bob is-unknown`, `bob is-deleted`, `ann is-revoked`. Without one everybody exists and is open.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use plenary_accounts::{KnownAgent, TokenDigest};
use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, Refusal, SessionId, Stamp, TimestampMs, Version};
use serde_json::json;

use super::sentences::{draft, event};
pub(super) use super::sentences::{handle, id, name, sentence_of};
use crate::{
    command::{
        Acknowledgement as Done, Caller, CreateBody, CreateSession, EndSession, EvictAgent, ExpireGrace,
        InviteAgents, InviteReceipt, JoinSession, LeaveSession, MessageAccepted, NoteDisconnect,
        NoteReconnect, ReopenBody, ReopenSession, SendMessage, SessionOpened,
    },
    crossing::Crossing,
    decide::{self, People, Rejection},
    event::SessionEvent,
    refusals::SessionRefusal,
    state::SessionState,
};

pub(super) fn session() -> SessionId {
    "sess_01SCENE".parse().unwrap()
}

pub(super) fn caller(name: &str) -> Caller {
    Caller { handle: handle(name), token: TokenDigest::of(name) }
}

pub(super) fn stamp(ms: u64) -> Stamp {
    Stamp::new(TimestampMs(ms), [7; 10])
}

/// What trust there is: everybody exists and is open unless it is said otherwise.
#[derive(Debug, Clone, Default)]
pub(super) struct Trust {
    pub(super) blocks: BTreeSet<(String, String)>,
    lists: BTreeSet<(String, String)>,
    closed: BTreeSet<String>,
    unknown: BTreeSet<String>,
    deleted: BTreeSet<String>,
    revoked: BTreeSet<String>,
    crowded_agents: BTreeSet<String>,
}

impl Trust {
    pub(super) fn add_fact(&mut self, sentence: &str) {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        let name = words[0].to_owned();
        match words[1..] {
            ["blocks", target] => self.blocks.insert((name, target.to_owned())),
            ["lists", entry] => self.lists.insert((name, entry.to_owned())),
            ["is-closed"] => self.closed.insert(name),
            ["is-unknown"] => self.unknown.insert(name),
            ["is-deleted"] => self.deleted.insert(name),
            ["is-revoked"] => self.revoked.insert(name),
            ["is-crowded"] => self.crowded_agents.insert(name),
            _ => panic!("what does `{sentence}` say?"),
        };
    }

    pub(super) fn known_agent(&self, name: &str) -> KnownAgent {
        let entries_of = |pairs: &BTreeSet<(String, String)>| {
            pairs
                .iter()
                .filter(|(subject, _)| subject == name)
                .map(|(_, target)| target.clone())
                .collect::<Vec<_>>()
        };
        if self.unknown.contains(name) {
            return KnownAgent {
                handle: handle(name),
                state: Arc::default(),
                version: Version::ZERO,
                upon: None,
            };
        }
        let token = if self.revoked.contains(name) { "another" } else { name };
        let blocks: BTreeMap<_, _> = entries_of(&self.blocks)
            .iter()
            .map(|target| (handle(target), json!({"at": 1, "version": 1})))
            .collect();
        let allowlist_entry =
            |entry: &String| if entry.starts_with('@') { entry.clone() } else { handle(entry).to_string() };
        let state = json!({
            "created_at": 1,
            "deleted": self.deleted.contains(name),
            "policy": if self.closed.contains(name) { "allowlist" } else { "open" },
            "allowlist": entries_of(&self.lists).iter().map(allowlist_entry).collect::<Vec<_>>(),
            "blocks": blocks,
            "self_service": false,
            "profile": {"visibility": "private"},
            "token": TokenDigest::of(token),
        });
        let state = Arc::new(serde_json::from_value(state).unwrap());
        KnownAgent { handle: handle(name), state, version: Version(1), upon: None }
    }

    /// The trust data of a command of the agent `name`, with these other agents.
    pub(super) fn people(&self, name: &str, others: &[&str]) -> People {
        let others = others.iter().filter(|other| **other != name);
        let others = others.map(|other| (handle(other), self.known_agent(other))).collect();
        let crowded = self.crowded_agents.iter().map(|name| handle(name)).collect();
        People {
            caller: self.known_agent(name),
            others,
            crowded_agents: crowded,
            files: BTreeMap::new(),
            consent: None,
            crossing: Crossing::default(),
        }
    }
}

/// What stands on the stream, and what trust there is.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    pub(super) log: Vec<SessionEvent>,
    pub(super) state: SessionState,
    pub(super) trust: Trust,
}

pub(super) const EVERYBODY: [&str; 6] = ["ann", "bob", "cid", "dan", "eve", "fay"];

/// What has happened, sentence by sentence.
pub(super) fn given(sentences: &str) -> Scene {
    let mut scene = Scene::default();
    for sentence in sentences.split(';').map(str::trim).filter(|sentence| !sentence.is_empty()) {
        match event(sentence) {
            Some(event) => scene.add(event),
            None => scene.trust.add_fact(sentence),
        }
    }
    scene
}

impl Scene {
    pub(super) fn head(&self) -> Version {
        Version(self.log.len() as u64)
    }

    /// One more event; the time is its version times a thousand.
    pub(super) fn add(&mut self, event: SessionEvent) {
        let version = self.head().next();
        self.state.evolve(version, TimestampMs(version.0 * 1_000), &event);
        self.log.push(event);
    }

    /// What comes of a request, as sentences: events `=>` the answer, or `!` and the refusal.
    pub(super) fn when(&self, request: &str) -> String {
        self.decide(request).map_or_else(
            |rejection| {
                let refusal = SessionRefusal::from(rejection).refusal;
                format!("! {} {}", refusal.class.status(), refusal.code)
            },
            |(events, reply)| {
                let events = events.iter().map(sentence_of).collect::<Vec<_>>().join("; ");
                format!("{events} => {reply}").trim_start().to_owned()
            },
        )
    }

    /// The events of a request, and the answer in words.
    pub(super) fn decide(&self, request: &str) -> Result<(Vec<SessionEvent>, String), Rejection> {
        let words: Vec<&str> = request.split_whitespace().collect();
        let decision = match words[..] {
            ["drop", agent] => {
                plain(decide::disconnect(&self.state, &NoteDisconnect(handle(agent)), &self.now()))
            }
            ["return", agent] => {
                plain(decide::reconnect(&self.state, &NoteReconnect(handle(agent)), &self.now()))
            }
            ["expire", agent, "since", since] => {
                let command = ExpireGrace { agent: handle(agent), since: Version(since.parse().unwrap()) };
                plain(decide::expire(&self.state, &command, &self.now()))
            }
            ["evict", agent] => self.evict(agent, None),
            ["evict", agent, "for", blocker] => self.evict(agent, Some(blocker)),
            [name, verb, ref rest @ ..] => self.command_of(name, verb, rest)?,
            _ => panic!("what does `{request}` ask?"),
        };
        let mut ids: Vec<&str> = decision.0.iter().filter_map(id).collect();
        assert!(ids.iter().all(|id| id.len() == 26), "{ids:?}");
        ids.dedup();
        assert!(
            ids.is_sorted() && ids.len() == decision.0.iter().filter_map(id).count(),
            "ids rise: {ids:?}"
        );
        Ok(decision)
    }

    fn now(&self) -> Stamp {
        stamp((self.head().0 + 1) * 1_000)
    }

    fn evict(&self, agent: &str, blocker: Option<&str>) -> (Vec<SessionEvent>, String) {
        let command = EvictAgent { agent: handle(agent), blocker: blocker.map(handle) };
        plain(decide::evict(&self.state, &command, &self.now()))
    }

    fn command_of(
        &self,
        agent_name: &str,
        verb: &str,
        rest: &[&str],
    ) -> Result<(Vec<SessionEvent>, String), Rejection> {
        let (state, stamp, caller) = (&self.state, &self.now(), caller(agent_name));
        let people = &self.trust.people(agent_name, &EVERYBODY);
        let body = Body::read(rest);
        Ok(match verb {
            "creates" => {
                let command = CreateSession { caller, body: body.create() };
                in_words(
                    decide::create(&session(), &command, people, stamp)?,
                    |SessionOpened { session_id, sequence }| {
                        assert_eq!(session_id, session());
                        sequence.map_or("session".into(), |sequence| format!("session at {sequence}"))
                    },
                )
            }
            "joins" => plain(decide::join(state, &JoinSession(caller), people, stamp)?),
            "leaves" => plain(decide::leave(state, &LeaveSession(caller), people, stamp)?),
            "ends" => plain(decide::end(state, &EndSession(caller), people, stamp)?),
            "says" => {
                let draft = if rest == ["!"] { Err(invalid_body()) } else { Ok(draft(rest[0])) };
                let command = SendMessage { caller, draft };
                let decision = decide::send(state, self.head(), &command, people, stamp)?;
                let message_id_of_event = decision.events.iter().find_map(id).map(|id| format!("msg_{id}"));
                in_words(decision, |MessageAccepted { message_id, sequence }| {
                    assert_eq!(
                        Some(message_id.to_string()),
                        message_id_of_event,
                        "the message is the event's"
                    );
                    format!("at {sequence}")
                })
            }
            "invites" => {
                let invite =
                    if rest == ["!"] { Err(invalid_body()) } else { Ok(body.invite.unwrap_or_default()) };
                let command = InviteAgents { caller, invite };
                in_words(decide::invite(state, &command, people, stamp)?, |InviteReceipt { invited }| {
                    format!("invited{}", invited.iter().map(|h| format!(" {}", name(h))).collect::<String>())
                })
            }
            "reopens" => {
                let command = ReopenSession { caller, body: body.reopen() };
                plain(decide::reopen(state, self.head(), &command, people, stamp)?)
            }
            _ => panic!("who can do `{verb}`?"),
        })
    }

    /// The sequence numbers that an agent may read.
    pub(super) fn reads(&self, name: &str) -> Vec<u64> {
        let Some(participant) = self.state.participant(&handle(name)) else { return Vec::new() };
        (2..=self.head().0).filter(|v| participant.may_read(Version(*v))).map(|v| v - 1).collect()
    }
}

/// What stands behind a verb: names, `topic=T`, `message=hi`, `and-ends`, `nobody`, or `!` for a body that is refused.
#[derive(Default)]
struct Body<'a> {
    invite: Option<Vec<AgentHandle>>,
    topic: Option<&'a str>,
    message: Option<&'a str>,
    and_ends: bool,
    is_invalid: bool,
}

fn invalid_body() -> Refusal {
    Refusal::malformed("invalid_body", "A test.")
}

impl<'a> Body<'a> {
    fn read(words: &[&'a str]) -> Self {
        let mut body = Self::default();
        for word in words {
            match word.split_once('=') {
                Some(("topic", topic)) => body.topic = Some(topic),
                Some(("message", text)) => body.message = Some(text),
                _ if *word == "and-ends" => body.and_ends = true,
                _ if *word == "nobody" => body.invite = Some(Vec::new()),
                _ if *word == "!" => body.is_invalid = true,
                _ => body.invite.get_or_insert_default().push(handle(word)),
            }
        }
        body
    }
    fn create(self) -> Result<CreateBody, Refusal> {
        if self.is_invalid {
            return Err(invalid_body());
        }
        Ok(CreateBody {
            invite: self.invite.unwrap_or_default(),
            topic: self.topic.map(str::to_owned),
            initial_message: self.message.map(draft),
            end_after_send: self.and_ends,
        })
    }
    fn reopen(self) -> Result<ReopenBody, Refusal> {
        if self.is_invalid {
            return Err(invalid_body());
        }
        Ok(ReopenBody { invite: self.invite, initial_message: self.message.map(draft) })
    }
}

fn plain(decision: Decision<SessionEvent, Done>) -> (Vec<SessionEvent>, String) {
    in_words(decision, |Done { ok }| {
        assert!(ok);
        "ok".into()
    })
}

fn in_words<T>(
    decision: Decision<SessionEvent, T>,
    describe: impl FnOnce(T) -> String,
) -> (Vec<SessionEvent>, String) {
    (decision.events, describe(decision.reply))
}

/// Rows of `(given, when, then)`.
#[track_caller]
pub(super) fn table(rows: &[(&str, &str, &str)]) {
    for (facts, request, expected) in rows {
        assert_eq!(given(facts).when(request), *expected, "\n given {facts}\n when  {request}");
    }
}
