//! FO-47, FO-51: frames between owners pass the same gates as sessions, agent by agent, and who is refused cannot tell
//! why. Must not know: organisations.

use blackbox::{Agent, Server};
use serde_json::json;

use super::speak::{
    Field, advisory, before_fence, patient_server, refused, submit, submit_to, subscribe, subscribe_as, tell,
    tilde, uuid,
};

/// How one side stands to the other: policy, and what its list holds.
#[derive(Debug, Clone, Copy)]
enum Gate {
    Open,
    OpenListingOthers,
    Empty,
    ListingOthers,
    Exact,
    Glob,
}

const GATES: [Gate; 6] =
    [Gate::Open, Gate::OpenListingOthers, Gate::Empty, Gate::ListingOthers, Gate::Exact, Gate::Glob];

impl Gate {
    fn lets(self) -> bool {
        match self {
            Self::Open | Self::OpenListingOthers | Self::Exact | Self::Glob => true,
            Self::Empty | Self::ListingOthers => false,
        }
    }

    async fn make(self, server: &Server, handle: &str, other: &str) -> Agent {
        let glob = format!("{}.*", other.split('.').next().unwrap_or(other));
        let (policy, entries) = match self {
            Self::Open => ("open", vec![]),
            Self::OpenListingOthers => ("open", vec!["@somebody.else".to_owned()]),
            Self::Empty => ("allowlist", vec![]),
            Self::ListingOthers => ("allowlist", vec!["@somebody.*".to_owned()]),
            Self::Exact => ("allowlist", vec![other.to_owned()]),
            Self::Glob => ("allowlist", vec![glob]),
        };
        server.agent_as(json!({"handle": handle, "policy": policy, "allowlist": entries})).await
    }
}

/// A frame passes when both sides let it, whoever sends.
#[tokio::test]
async fn fo_47_a_frame_passes_two_gates() {
    let server = Server::start().await;
    for (row, mine) in GATES.iter().enumerate() {
        for (column, theirs) in GATES.iter().enumerate() {
            let (one, two) = (format!("@one{row}{column}.bot"), format!("@two{row}{column}.bot"));
            let sender = mine.make(&server, &one, &two).await;
            let receiver = theirs.make(&server, &two, &one).await;
            let mut stream = subscribe(&receiver).await;
            let frame = advisory(&sender, &tilde(&receiver), "across");
            let answer = submit(&sender, &frame).await;
            let allowed = mine.lets() && theirs.lets();
            assert_eq!(answer.status, if allowed { 200 } else { 403 }, "{mine:?} to {theirs:?}: {answer}");
            let heard = before_fence(&receiver, &receiver, &mut stream).await;
            assert_eq!(heard.len(), usize::from(allowed), "{mine:?} to {theirs:?}");
        }
    }
}

/// A block is stronger than any policy, in both directions; lifting it lifts it.
#[tokio::test]
async fn fo_47_blocks_hold_both_ways() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let bob = server.closed_agent("@bob.bot", &["@alice.bot"]).await;
    let mut to_alice = subscribe(&alice).await;
    let mut to_bob = subscribe(&bob).await;
    assert_eq!(tell(&alice, "~bob", "~bob", "before").await, 1);
    server.block(&bob, "@alice.bot").await;
    for (from, to) in [(&alice, "~bob"), (&bob, "~alice")] {
        let answer = submit(from, &advisory(from, to, "blocked")).await;
        refused(&answer, 403, "scope-unauthorised", Field::Any);
    }
    let path = format!("/_admin/agents/{}/blocks/{}", bob.handle, alice.handle);
    server.operator().delete(&path).await;
    assert_eq!(tell(&alice, "~bob", "~bob", "after").await, 1);
    assert_eq!(before_fence(&bob, &bob, &mut to_bob).await, ["before", "after"]);
    assert!(before_fence(&alice, &alice, &mut to_alice).await.is_empty());
}

/// Trust is asked at each frame: a change is in force for the next one.
#[tokio::test]
async fn fo_47_trust_is_asked_each_time() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut stream = subscribe(&bob).await;
    for round in 0..10 {
        assert_eq!(tell(&alice, "~bob", "~bob", &format!("open {round}")).await, 1);
        server.operator().patch("/_admin/agents/@bob.bot", json!({"policy": "allowlist"})).await.ok(200);
        let answer = submit(&alice, &advisory(&alice, "~bob", "closed")).await;
        refused(&answer, 403, "scope-unauthorised", Field::Any);
        server.operator().patch("/_admin/agents/@bob.bot", json!({"policy": "open"})).await.ok(200);
    }
    let heard = before_fence(&alice, &bob, &mut stream).await;
    assert_eq!(heard, (0..10).map(|round| format!("open {round}")).collect::<Vec<_>>());
}

/// Each session stands behind its own agent's gate: those that accept the sender get the frame, the others do not, and
/// the count is of the former.
#[tokio::test]
async fn fo_47_each_agent_has_its_own_gate() {
    let (server, [alice, open]) = Server::with(["@alice.bot", "@bob.open"]).await;
    let listed = server.closed_agent("@bob.listed", &["@alice.bot"]).await;
    let closed = server.closed_agent("@bob.closed", &["@carol.bot"]).await;
    let blocking = server.agent("@bob.blocking").await;
    server.block(&blocking, "@alice.bot").await;
    let mut reached = [subscribe(&open).await, subscribe(&listed).await];
    let mut unreached = [subscribe(&closed).await, subscribe(&blocking).await];
    assert_eq!(tell(&alice, "~bob", "~bob", "hello").await, 2);
    assert_eq!(tell(&alice, "~bob", "~bob/closed*", "hello").await, 0, "reachable handle, empty set");
    assert_eq!(tell(&alice, "~bob", "~bob/*", "again").await, 2);
    for stream in &mut reached {
        let heard = before_fence(&open, &open, stream).await;
        assert_eq!(&heard[..2], ["hello", "again"]);
    }
    for stream in &mut unreached {
        let heard = before_fence(&open, &open, stream).await;
        assert!(heard.iter().all(|text| text == "fence"), "{heard:?}");
    }
}

/// The gate belongs to the agent, not to the instrument that a session gives itself.
#[tokio::test]
async fn fo_47_an_instrument_is_no_identity() {
    let (server, [alice, open]) = Server::with(["@alice.bot", "@bob.open"]).await;
    let closed = server.closed_agent("@bob.closed", &[]).await;
    let mut disguised = subscribe_as(&closed, "open", "s1").await;
    let mut plain = subscribe_as(&open, "closed", "s1").await;
    assert_eq!(tell(&alice, "~bob", "~bob/open@s1", "one").await, 0);
    assert_eq!(tell(&alice, "~bob", "~bob/closed@s1", "two").await, 1);
    assert_eq!(before_fence(&open, &open, &mut plain).await, ["two"]);
    assert_eq!(before_fence(&open, &open, &mut disguised).await, ["fence"]);
}

/// Within one owner nothing is gated, whatever policies and blocks say.
#[tokio::test]
async fn fo_47_nothing_is_gated_within_an_owner() {
    let server = Server::start().await;
    let laptop = server.closed_agent("@nick.laptop", &[]).await;
    let phone = server.closed_agent("@nick.phone", &["@somebody.else"]).await;
    server.block(&laptop, "@nick.phone").await;
    let mut on_laptop = subscribe(&laptop).await;
    let mut on_phone = subscribe(&phone).await;
    assert_eq!(tell(&phone, "~nick", "~nick", "from the phone").await, 2);
    assert_eq!(tell(&laptop, "~nick", "~nick/phone*", "from the laptop").await, 1);
    assert_eq!(before_fence(&phone, &laptop, &mut on_laptop).await, ["from the phone"]);
    assert_eq!(before_fence(&phone, &phone, &mut on_phone).await[..2], ["from the phone", "from the laptop"]);
}

/// A handle that is unknown, one that has no agents, and one none of whose agents the sender may reach answer with the
/// same bytes, in every form of the scope: status, headers, body.
#[tokio::test]
async fn fo_47_unknown_and_unreachable_are_one_answer() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let closed = server.closed_agent("@closed.bot", &[]).await;
    let blocking = server.agent("@blocks.bot").await;
    server.block(&blocking, "@alice.bot").await;
    let gone = server.agent("@going.bot").await;
    server.operator().delete("/_admin/agents/@going.bot").await;
    server.owner("vacant").await;
    let mut streams = [subscribe(&closed).await, subscribe(&blocking).await];
    for rest in [None, Some(""), Some("/*"), Some("/bot*"), Some("/bot@s1")] {
        let mut answers = Vec::new();
        for owner in ["closed", "blocks", "going", "vacant", "nobody"] {
            let mut frame = advisory(&alice, &format!("~{owner}"), "knock");
            frame["frame_id"] = json!(uuid());
            let answer = match rest {
                None => submit(&alice, &frame).await,
                Some(rest) => submit_to(&alice, &format!("~{owner}{rest}"), &frame).await,
            };
            refused(&answer, 403, "scope-unauthorised", Field::Any);
            answers.push((owner, answer.fingerprint()));
        }
        for (owner, answer) in &answers[1..] {
            assert_eq!(*answer, answers[0].1, "{owner} and {}, {rest:?}", answers[0].0);
        }
    }
    for (agent, stream) in [&closed, &blocking].into_iter().zip(&mut streams) {
        assert!(before_fence(agent, agent, stream).await.is_empty());
    }
    drop(gone);
}
