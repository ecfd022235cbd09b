//! Machines that sleep, and clocks that are wrong or set while programs run.
//! Must not know: how the server keeps time.

use blackbox::{Agent, Cli, Server, ShiftedClock, eventually, room};
use serde_json::{Value, json};

const HOUR_S: i64 = 3_600;

/// A server whose clock moves.
async fn server_by(clock: &ShiftedClock) -> Server {
    let mut builder = Server::builder();
    for (name, value) in clock.moving() {
        builder = builder.env(name, &value);
    }
    builder.start().await
}

async fn moment(agent: &Agent, session: &str, event: &str) {
    let body = json!({"session": session, "client": "claude", "event": event});
    agent.post("/inbox/session", body).await.ok(200);
}

/// The live coding sessions of an agent.
async fn live(agent: &Agent) -> Vec<String> {
    let listed = agent.get("/inbox/sessions").await.ok(200);
    let mut names: Vec<String> = listed["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .filter(|coding| coding["live"] == true)
        .filter_map(|coding| coding["session"].as_str().map(str::to_owned))
        .collect();
    names.sort_unstable();
    names
}

/// What a coding session would be shown.
async fn unread(agent: &Agent, session: &str) -> Value {
    agent.get(&format!("/inbox?coding_session={session}&kinds=session.message")).await.ok(200)
}

/// Until the state is known, no other session of the agent gets the message: at the wake neither session can have reported.
#[tokio::test]
async fn coding_sessions_that_slept_with_the_server_are_live_when_it_wakes() {
    let Some(clock) = ShiftedClock::make() else { return };
    let server = server_by(&clock).await;
    let (nick, bob) = (server.agent("@nick.cc").await, server.agent("@bob.bot").await);
    let id = room(&[&nick, &bob]).await;
    moment(&nick, "s-2", "start").await;
    moment(&nick, "s-1", "prompt").await;
    bob.say(&id, "hello").await;
    let page = unread(&nick, "s-1").await;
    let ids: Vec<&Value> = page["items"].as_array().expect("items").iter().map(|item| &item["id"]).collect();
    assert_eq!(ids.len(), 1, "{page}");
    let shown = json!({"session": "s-1", "client": "claude", "event": "prompt", "items": ids,
        "cursor": page["cursor"]});
    nick.post("/inbox/shown", shown).await.ok(200);
    clock.move_to(8 * HOUR_S);
    assert_eq!(live(&nick).await, ["s-1", "s-2"]);
    moment(&nick, "s-2", "prompt").await;
    assert_eq!(unread(&nick, "s-2").await["items"], json!([]), "s-1 has it");
    moment(&nick, "s-1", "tool").await;
    assert_eq!(unread(&nick, "s-2").await["items"], json!([]));
}

/// The same at a start: the sessions had nowhere to report.
#[tokio::test]
async fn coding_sessions_are_live_after_a_restart_that_took_long() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = server_by(&clock).await;
    let nick = server.agent("@nick.cc").await;
    moment(&nick, "s-1", "prompt").await;
    server.stop().await;
    clock.move_to(HOUR_S / 2);
    server.restart().await;
    assert_eq!(live(&nick).await, ["s-1"]);
    server.stop().await;
    clock.move_to(2 * HOUR_S);
    server.restart().await;
    assert_eq!(live(&nick).await, Vec::<String>::new(), "nobody can say that it was live an hour ago");
}

/// The agent gets the answer when its undo window is over, whatever the clock says then.
#[tokio::test]
async fn an_undo_window_is_over_after_the_clock_was_set_back() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = server_by(&clock).await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    for restarts in [false, true] {
        clock.move_to(0);
        let request = json!({"kind": "question", "title": "Which port?"});
        let made = agent.post("/requests", request).await.ok(201);
        let path = format!("/requests/{}", made["request_id"].as_str().expect("an id"));
        let answer = json!({"type": "respond", "text": "7420", "version": 1, "undo_seconds": 5});
        owner.post(&format!("{path}/answer"), answer).await.ok(200);
        clock.move_to(-HOUR_S);
        if restarts {
            server.stop().await;
            server.restart().await;
        }
        eventually("the agent has the answer", || async {
            (agent.get(&path).await.ok(200)["answer"]["text"] == "7420").then_some(())
        })
        .await;
    }
}

/// Times from now are the server's: the clock of a client may be wrong.
#[tokio::test]
async fn times_from_now_do_not_depend_on_the_clock_of_the_client() {
    let Some(clock) = ShiftedClock::make() else { return };
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    for ahead in [-HOUR_S, HOUR_S] {
        let [preload, shift] = clock.ahead(ahead);
        let cli = Cli::new(&[
            ("PLENARY_URL", &server.url()),
            ("PLENARY_AS", &nick.handle),
            ("PLENARY_TOKEN", nick.token()),
            (preload.0, &preload.1),
            (shift.0, &shift.1),
        ]);
        let id = cli.run_ok(&["ask", "@nick", "Which port?", "--deadline", "1m", "--wait", "0"]).await;
        let request = nick.get(&format!("/requests/{}", id.trim())).await.ok(200);
        let time = |name: &str| request[name].as_u64().expect("a time");
        let open_ms = time("deadline_at") - time("created_at");
        assert!((55_000..65_000).contains(&open_ms), "{ahead}: {request}");
        cli.run_ok(&["attention", "dnd", "--until", "1m"]).await;
        let me = cli.run_ok(&["attention"]).await;
        assert!(me.starts_with("dnd until"), "{ahead}: {me}");
    }
}
