//! Agents that would answer each other for ever, and parties that say too much. Must not know: how hops are kept.

use blackbox::{Agent, Server};
use serde_json::json;

use super::speak::{contents, joined, messages, open, opened, playing, say_with, says};

/// A server with two agents that answer everything.
async fn two(limits: &str) -> (Server, Agent, String) {
    let lines = format!("kind = \"echo\"\nanswers = \"always\"\n{limits}");
    let config = [open("one", &lines), open("two", &lines)].concat();
    let server = Server::builder().config(&config).start().await;
    let nick = server.agent("@nick.ann").await;
    let id = opened(&nick, &["@acme.one", "@acme.two"], None).await;
    for handle in ["@acme.one", "@acme.two"] {
        joined(&nick, &id, handle).await;
    }
    (server, nick, id)
}

/// Two agents that answer each other come to an end, and say so.
#[tokio::test]
async fn two_agents_stop_at_the_hops() {
    let (server, nick, id) = two("hops_max = 3").await;
    // What a client says of hops counts for nothing.
    say_with(&nick, &id, "ping", json!({"hops": 0, "notice": true, "origin": {"hops": 99}})).await;
    // One and two answer (1), each the other (2), and again (3); what has three hops is answered by a word.
    for handle in ["@acme.one", "@acme.two"] {
        let said = says(&nick, &id, handle, 4).await;
        let answers = contents(&said).into_iter().filter(|text| *text == "ping").count();
        let words = said.iter().filter(|message| message["metadata"]["code"] == "too_many_hops").count();
        assert_eq!((answers, words), (3, 1), "{said:?}");
    }
    // A fence: somebody else begins anew, and nothing stands before that.
    let before = messages(&nick, &id).await.len();
    assert_eq!(before, 1 + 8, "no word is answered");
    nick.say(&id, "pong").await;
    says(&nick, &id, "@acme.one", 8).await;
    server.wait_for_log("TooManyHops").await;
}

/// One party that says too much is told once, and others are answered.
#[tokio::test]
async fn past_its_rate_a_party_is_told_once() {
    let config = open("echo", "kind = \"echo\"\nmessages_per_minute_max = 3\nanswers = \"always\"");
    let server = Server::builder().config(&config).start().await;
    let (nick, bob) = (server.agent("@nick.ann").await, server.agent("@bob.bot").await);
    let id = opened(&nick, &["@acme.echo", "@bob.bot"], None).await;
    bob.join(&id).await;
    joined(&nick, &id, "@acme.echo").await;
    for n in 0..6 {
        nick.say(&id, format!("{n}")).await;
    }
    bob.say(&id, "and me").await;
    let said = says(&nick, &id, "@acme.echo", 5).await;
    let notices = said.iter().filter(|message| message["metadata"]["code"] == "too_many_messages").count();
    let answers: Vec<_> = contents(&said).into_iter().filter(|text| text.len() < 10).collect();
    // A minute may end in between: then it is told once more.
    assert!((1..=2).contains(&notices), "{said:?}");
    assert!(answers.starts_with(&["0"]) && answers.contains(&"and me"), "{said:?}");
    server.wait_for_log("TooFast").await;
}

/// A session in which too much waits says so.
#[tokio::test]
async fn past_what_may_wait_it_says_so() {
    let config = open("puppet", &format!("{}\nmessages_per_minute_max = 1000", super::speak::puppet()));
    let server = Server::builder().config(&config).start().await;
    let nick = server.agent("@nick.ann").await;
    let id = opened(&nick, &["@acme.puppet"], Some("hang")).await;
    joined(&nick, &id, "@acme.puppet").await;
    for n in 0..33 {
        nick.say(&id, format!("text {n}")).await;
    }
    let said = says(&nick, &id, "@acme.puppet", 1).await;
    assert_eq!(said[0]["metadata"]["code"], "too_many_pending", "{said:?}");
}

/// An agent never answers itself.
#[tokio::test]
async fn nobody_answers_itself() {
    let (_server, nick) = playing().await;
    let id = opened(&nick, &["@acme.echo"], Some("hello @acme.echo")).await;
    says(&nick, &id, "@acme.echo", 1).await;
    nick.say(&id, "fence").await;
    assert_eq!(contents(&says(&nick, &id, "@acme.echo", 2).await), ["hello @acme.echo", "fence"]);
}
