//! A message whose run is lost with the server is asked once more where nothing was heard of the agent yet. Must not
//! know: how a run is lost.

use serde_json::json;

use super::speak::{PUPPET, contents, joined, opened, playing, says};
use blackbox::{TempDir, eventually};

/// What stands in a file, one line for each time that a step wrote it.
fn count(path: &std::path::Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

async fn marked(path: &std::path::Path, times: usize) {
    eventually("the agent is at work", || async { (count(path) >= times).then_some(()) }).await;
}

/// Killed before the agent said anything: it is asked again, answers once, and nobody hears of it.
#[tokio::test]
async fn sc_2_a_message_that_was_lost_unheard_is_asked_again() {
    let (mut server, nick) = playing().await;
    let dir = TempDir::new();
    let (mark, gate) = (dir.path().join("mark"), dir.path().join("gate"));
    let id = opened(&nick, &[PUPPET], None).await;
    joined(&nick, &id, PUPPET).await;
    let script = format!("mark {}\ngate {}\nrequest", mark.display(), gate.display());
    let sequence = nick.say(&id, script).await;
    nick.say(&id, "text second").await;
    marked(&mark, 1).await;
    let operator = server.operator();
    eventually("the second one waits", || async {
        let threads = super::speak::threads(&operator, "puppet").await;
        (threads[0]["runs"].as_array().map(Vec::len) == Some(2)).then_some(())
    })
    .await;
    server.crash().await;
    std::fs::write(&gate, "open").expect("the file can be written");
    let said = says(&nick, &id, PUPPET, 2).await;
    assert_eq!(contents(&said)[0], "second", "what waited comes first");
    let request: serde_json::Value = serde_json::from_str(contents(&said)[1]).expect("the line that it got");
    assert_eq!(request["run_context"]["again"], true, "{request}");
    assert_eq!(said[1]["metadata"]["in_reply_to"], sequence, "{said:?}");
    nick.say(&id, "text third").await;
    let said = says(&nick, &id, PUPPET, 3).await;
    assert_eq!((said.len(), contents(&said)[2], count(&mark)), (3, "third", 2), "{said:?}");
}

/// Killed a second time it is over: a notice says so.
#[tokio::test]
async fn sc_2_a_message_that_is_lost_twice_is_told_as_lost() {
    let (mut server, nick) = playing().await;
    let dir = TempDir::new();
    let mark = dir.path().join("mark");
    let id = opened(&nick, &[PUPPET], None).await;
    joined(&nick, &id, PUPPET).await;
    let sequence = nick.say(&id, format!("mark {}\nhang", mark.display())).await;
    for times in 1..=2 {
        marked(&mark, times).await;
        server.crash().await;
    }
    let said = says(&nick, &id, PUPPET, 1).await;
    let metadata = &said[0]["metadata"];
    assert_eq!(
        (&metadata["code"], &metadata["notice"], &metadata["in_reply_to"]),
        (&json!("run_failed"), &json!(true), &json!(sequence))
    );
    nick.say(&id, "text alive").await;
    let said = says(&nick, &id, PUPPET, 2).await;
    assert_eq!((contents(&said)[1], count(&mark)), ("alive", 2), "{said:?}");
}

/// An agent that was heard of may have done a part of its work: that is not repeated, and a notice says so.
#[tokio::test]
async fn sc_2_a_message_that_was_lost_half_done_is_not_repeated() {
    let (mut server, nick) = playing().await;
    let dir = TempDir::new();
    let mark = dir.path().join("mark");
    let id = opened(&nick, &[PUPPET], None).await;
    joined(&nick, &id, PUPPET).await;
    nick.say(&id, format!("text half\nmark {}\nhang", mark.display())).await;
    marked(&mark, 1).await;
    let operator = server.operator();
    eventually("the log has what it said", || async {
        let threads = super::speak::threads(&operator, "puppet").await;
        let run = threads[0]["runs"][0].as_str().expect("a run").to_owned();
        let report = operator.get(&format!("/agent/puppet/runs/{run}")).await.ok(200);
        (report["last_event_id"] == 2).then_some(())
    })
    .await;
    server.crash().await;
    let said = says(&nick, &id, PUPPET, 1).await;
    assert_eq!(said[0]["metadata"]["code"], "run_failed", "{said:?}");
    nick.say(&id, "text alive").await;
    let said = says(&nick, &id, PUPPET, 2).await;
    assert_eq!((contents(&said)[1], count(&mark)), ("alive", 1), "{said:?}");
}
