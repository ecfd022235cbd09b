//! FO-58 to FO-60, FO-76: what ends a stream, and what a restart may not change. Must not know: what a frame says.

use blackbox::{Agent, Server, StreamItem, eventually, in_time};

use super::speak::{
    advisory, before_fence, resume, sent, stream_path, submit, subscribe, subscribe_to, tell,
};

/// Waits until so many streams of `~alice` are open: those of a dead token end in the background.
async fn open_streams(asking: &Agent, count: usize) {
    eventually(&format!("{count} streams are open"), || async {
        let roster = asking.get("/handles/~alice/roster").await.ok(200);
        roster["roster"].as_array().is_some_and(|rows| rows.len() == count).then_some(())
    })
    .await;
}

/// FO-76: a rotated token ends its streams, nothing is emitted after, and the new one works.
#[tokio::test]
async fn fo_76_rotation_ends_streams() {
    let (server, [alice, other]) = Server::with(["@alice.bot", "@alice.other"]).await;
    let mut streams = [subscribe(&alice).await, subscribe_to(&alice, "kind:agent_advisory").await];
    let mut kept = subscribe(&other).await;
    assert_eq!(tell(&other, "~alice", "~alice", "before").await, 3);
    let path = format!("/_admin/agents/{}/rotate-token", alice.handle);
    let rotated = server.operator().post_empty(&path).await.ok(200);
    assert_eq!(submit(&alice, &advisory(&alice, "~alice", "late")).await.status, 401);
    assert_eq!(alice.get(&stream_path(&alice, "")).await.status, 401);
    open_streams(&other, 1).await;
    assert_eq!(tell(&other, "~alice", "~alice", "after").await, 1, "the dead are no subscriptions");
    for stream in &mut streams {
        let (events, _) = in_time("a stream of a dead token ends", stream.ending()).await;
        assert_eq!(super::speak::texts(&events), ["before"], "nothing is emitted after the revocation");
    }
    assert_eq!(before_fence(&other, &other, &mut kept).await, ["before", "after"], "another agent's goes on");
    let token = rotated["token"].as_str().expect("the new token");
    let alice = Agent::new(&alice.handle, server.address().clone(), token);
    let mut again = subscribe(&alice).await;
    assert_eq!(tell(&other, "~alice", "~alice", "again").await, 2);
    again.event().await;
}

/// FO-76: so does the deletion of the agent.
#[tokio::test]
async fn fo_76_deletion_ends_streams() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut stream = subscribe(&alice).await;
    assert_eq!(tell(&bob, "~alice", "~alice", "before").await, 1);
    let answer = server.operator().delete("/_admin/agents/@alice.bot").await;
    assert_eq!(answer.status, 204, "{answer}");
    let late = submit(&bob, &advisory(&bob, "~alice", "after")).await;
    assert_eq!(late.status, 403, "none of its agents can be reached: {late}");
    let (events, _) = in_time("a stream of a deleted agent ends", stream.ending()).await;
    assert_eq!(super::speak::texts(&events), ["before"]);
}

/// A stop ends streams as HTTP ends a body, after everything that was accepted.
#[tokio::test]
async fn fo_58_a_stop_ends_streams() {
    let (mut server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(subscribe(&alice).await);
    }
    assert_eq!(tell(&alice, "~alice", "~alice", "last words").await, 20);
    server.stop().await;
    for stream in &mut streams {
        let (events, end) = stream.ending().await;
        assert_eq!(super::speak::texts(&events), ["last words"]);
        assert_eq!(end, StreamItem::End, "the body is ended, not cut");
    }
}

/// A stop does not wait for somebody who does not read.
#[tokio::test]
async fn fo_58_a_stop_does_not_wait_for_a_stalled_subscriber() {
    let mut server = super::speak::patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let stalled = super::crowd::stall(&alice).await;
    let mut stream = subscribe(&alice).await;
    for number in 0..600 {
        let frame = super::crowd::big(&alice, number);
        sent(&submit(&alice, &frame).await, &frame);
        stream.event().await;
    }
    // The harness demands an end in time.
    server.stop().await;
    drop(stalled);
}

/// FO-59: numbers go on rising over a stop and over a crash, for each handle; an old cursor is no error (FO-60).
#[tokio::test]
async fn fo_59_ids_rise_over_restarts() {
    let (mut server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut last = [0, 0];
    for round in 0..4 {
        for number in 0..30 {
            for (agent, last) in [&alice, &bob].into_iter().zip(&mut last) {
                let frame = advisory(agent, &super::speak::tilde(agent), &format!("{round}-{number}"));
                let answer = sent(&submit(agent, &frame).await, &frame);
                assert!(answer.event_id > *last, "round {round}: {} after {last}", answer.event_id);
                *last = answer.event_id;
            }
        }
        if round % 2 == 0 {
            server.crash().await;
        } else {
            server.stop().await;
            server.restart().await;
        }
        let mut stream = resume(&alice, &last[0].to_string()).await;
        let fence = advisory(&alice, "~alice", "fence");
        let answer = sent(&submit(&alice, &fence).await, &fence);
        assert!(answer.event_id > last[0]);
        assert_eq!(stream.event().await.frame, fence, "an old cursor is no error, and nothing comes twice");
        last[0] = answer.event_id;
    }
}

/// A subscriber that went away without a word is soon no subscription.
#[tokio::test]
async fn fo_93_the_gone_are_forgotten() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for _ in 0..20 {
        subscribe(&alice).await.cut().await;
    }
    open_streams(&alice, 0).await;
    assert_eq!(tell(&alice, "~alice", "~alice", "nobody").await, 0);
}
