//! Agents that ask back in a session. Must not know: how a run waits.

use blackbox::ShiftedClock;
use serde_json::json;

use super::speak::{PUPPET, contents, joined, opened, playing, playing_by, said_by, say_with, says};

/// WaitForInput is a message, and the next one is its answer.
#[tokio::test]
async fn sc_44_sc_45_a_question_is_a_message_and_the_next_one_answers() {
    let (server, nick) = playing().await;
    let bob = server.agent("@bob.bot").await;
    let id = opened(&nick, &[PUPPET], Some("ask name=Who are you?\nanswer")).await;
    let said = says(&nick, &id, PUPPET, 1).await;
    assert_eq!(contents(&said), ["Who are you?"]);
    assert_eq!(said[0]["metadata"]["request_keys"], json!({"name": "Who are you?"}));
    // Whoever is there may answer, without naming anybody.
    nick.invite(&id, &["@bob.bot"]).await;
    bob.join(&id).await;
    bob.say(&id, "Bob").await;
    let said = says(&nick, &id, PUPPET, 2).await;
    assert_eq!(contents(&said)[1], "{\"name\":\"Bob\"}");
    assert_eq!(said[1]["metadata"]["run_id"], said[0]["metadata"]["run_id"]);
}

/// It answers after the clock was set back too.
#[tokio::test]
async fn sc_45_an_answer_counts_whatever_the_clock_says() {
    let Some(clock) = ShiftedClock::make() else { return };
    let (_server, nick) = playing_by(&clock).await;
    let id = opened(&nick, &[PUPPET], Some("ask name=Who are you?\nanswer")).await;
    says(&nick, &id, PUPPET, 1).await;
    clock.move_to(-3_600);
    nick.say(&id, "Nick").await;
    assert_eq!(contents(&says(&nick, &id, PUPPET, 2).await)[1], "{\"name\":\"Nick\"}");
}

/// Several keys are answered by name.
#[tokio::test]
async fn sc_45_keys_are_answered_by_name() {
    let (_server, nick) = playing().await;
    let id = opened(&nick, &[PUPPET], Some("ask a=A? b=B?\nanswer")).await;
    says(&nick, &id, PUPPET, 1).await;
    say_with(&nick, &id, "see", json!({"request_keys": {"a": 1, "b": 2}})).await;
    let said = says(&nick, &id, PUPPET, 2).await;
    assert_eq!(contents(&said)[1], "{\"a\":1,\"b\":2}");
}

/// After a crash the run that waited has failed, and what is said next is no answer to it.
#[tokio::test]
async fn sc_48_a_crash_ends_the_question() {
    let (mut server, nick) = playing().await;
    let id = opened(&nick, &[PUPPET], Some("ask a=A?\nanswer")).await;
    joined(&nick, &id, PUPPET).await;
    says(&nick, &id, PUPPET, 1).await;
    server.crash().await;
    let said = says(&nick, &id, PUPPET, 2).await;
    assert_eq!(said[1]["metadata"]["code"], "run_failed");
    nick.say(&id, "text fresh").await;
    assert_eq!(contents(&says(&nick, &id, PUPPET, 3).await)[2], "fresh");
    assert_eq!(said_by(&nick, &id, PUPPET).await.len(), 3);
}
