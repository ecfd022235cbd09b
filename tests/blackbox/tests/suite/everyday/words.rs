//! `send`, `reply`, `ask` and `inbox`, by agents and by a person who has the owner's token.

use blackbox::{Cli, Server};
use serde_json::{Value, json};

/// A server, the command line of the owner `nick`, and that of its agent.
async fn desk() -> (Server, Cli, Cli) {
    let server = Server::start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.claude-parser").await);
    let person = Cli::new(&[
        ("PLENARY_URL", &server.url()),
        ("PLENARY_TOKEN", owner.token()),
        ("USER", "Nick"),
        ("PATH", "/usr/bin:/bin"),
    ]);
    let agent = Cli::of(&server, &agent, "s-1");
    (server, person, agent)
}

pub(super) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn no_agent_takes_the_account_of_a_person() {
    let (_server, person, _agent) = desk().await;
    let refused = person.run(&["agent", "add", "@nick.nick"]).await;
    assert!(refused.code == 1 && refused.err.contains("the owner's person"), "{refused:?}");
    person.run_ok(&["--as", "@nick", "send", "@nick.claude-parser", "Hello"]).await;
}

#[tokio::test]
async fn a_person_sends_and_an_agent_replies_and_it_stays_one_session() {
    let (_server, person, agent) = desk().await;
    let sent =
        json_of(&person.run_ok(&["send", "@nick.claude-parser", "The schema changed", "--json"]).await);
    assert_eq!((&sent["sequence"], &sent["state"]), (&1.into(), &"accepted".into()), "{sent}");
    assert_eq!(sent["to"], json!(["@nick.claude-parser"]));
    let id = sent["session_id"].as_str().expect("a session");
    let answered = agent.run(&["reply", "I rebase"]).await;
    assert!(answered.out.contains(id) && answered.out.trim_end().ends_with("to @nick.nick"), "{answered:?}");
    assert!(
        answered.err.contains("had written: The schema changed"),
        "the invitation did not show it: {answered:?}"
    );
    let inbox = person.run_ok(&["inbox"]).await;
    assert!(inbox.contains("I rebase") && inbox.contains("@nick.claude-parser"), "{inbox}");
    let again = json_of(&person.run_ok(&["send", "@nick.claude-parser", "Thanks", "--json"]).await);
    assert_eq!(again["session_id"], id, "it is the one that they share");
    let apart = person.run_ok(&["send", "@nick.claude-parser", "Other", "--topic", "Tabs", "--json"]).await;
    assert_ne!(json_of(&apart)["session_id"], id, "another topic is another session");
    let told = person.run_ok(&["message", "status", id, "1"]).await;
    assert!(told.contains("answered"), "{told}");
}

#[tokio::test]
async fn a_reply_goes_to_the_last_that_came_also_when_it_was_read_before() {
    let (server, person, agent) = desk().await;
    let other = Cli::of(&server, &server.agent("@acme.support").await, "s-2");
    other.run_ok(&["send", "@nick.claude-parser", "first"]).await;
    agent.run_ok(&["inbox", "--ack"]).await;
    let later = json_of(&person.run_ok(&["send", "@nick.claude-parser", "second", "--json"]).await);
    let replied = json_of(&agent.run_ok(&["reply", "to the second", "--json"]).await);
    assert_eq!(replied["session_id"], later["session_id"]);
    person.run_ok(&["reply", "third"]).await;
    agent.run_ok(&["inbox", "--ack"]).await;
    let replied = json_of(&agent.run_ok(&["reply", "to the third", "--json"]).await);
    assert_eq!(replied["session_id"], later["session_id"], "nothing is unread, and this came last");
    let named = json_of(&agent.run_ok(&["reply", "--to", "@acme.support", "to the first", "--json"]).await);
    assert_eq!(named["to"], json!(["@acme.support"]));
    let nobody = Cli::of(&server, &server.agent("@acme.new").await, "s-3").run(&["reply", "Hm"]).await;
    assert_eq!(nobody.code, 2, "{nobody:?}");
    assert!(nobody.err.contains("plenary send"), "{nobody:?}");
}

#[tokio::test]
async fn a_reply_says_what_it_answers_and_the_inbox_how_an_invitation_is_accepted() {
    let (_server, person, agent) = desk().await;
    let sent = json_of(&person.run_ok(&["send", "@nick.claude-parser", "Which port?", "--json"]).await);
    let id = sent["session_id"].as_str().expect("a session");
    let inbox = agent.run(&["inbox"]).await;
    for command in ["show", "join", "events"] {
        assert!(inbox.err.contains(&format!("`plenary session {command} {id}`")), "{inbox:?}");
    }
    assert!(inbox.err.contains("plenary reply TEXT"), "{inbox:?}");
    let replied = agent.run(&["reply", "7447"]).await;
    assert!(replied.err.contains("answers the invitation of @nick.nick: Which port?"), "{replied:?}");
    let replied = person.run(&["reply", "Thanks"]).await;
    assert!(replied.err.contains("answers the message of @nick.claude-parser: 7447"), "{replied:?}");
    agent.run_ok(&["inbox", "--ack"]).await;
    let replied = agent.run(&["reply", "Bye"]).await;
    assert!(replied.err.contains("answers the message of @nick.nick: Thanks"), "{replied:?}");
}

/// The invitation shows no message; whoever answers it sees to what, and only what was shown counts as seen.
#[tokio::test]
async fn a_reply_to_an_invitation_shows_the_newest_messages() {
    let (server, _person, agent) = desk().await;
    let program = server.agent("@nick.program").await;
    let opened = program.post("/sessions", json!({"invite": ["@nick.claude-parser"]})).await.ok(201);
    let id = opened["session_id"].as_str().expect("a session");
    for text in ["one", "two", "three", "four"] {
        program.post(&format!("/sessions/{id}/messages"), json!({"content": text})).await.ok(201);
    }
    let replied = agent.run(&["reply", "Yes"]).await;
    for (text, is_shown) in [("one", false), ("two", true), ("three", true), ("four", true)] {
        let written = format!("@nick.program had written: {text}");
        assert_eq!(replied.err.contains(&written), is_shown, "{text}: {replied:?}");
    }
    assert!(replied.err.contains(&format!("`plenary session events {id}`")), "{replied:?}");
    let unread = json_of(&agent.run_ok(&["inbox", "--json"]).await);
    let texts: Vec<_> = unread["items"].as_array().expect("items").iter().map(|item| &item["text"]).collect();
    assert_eq!(texts, ["one"], "{unread}");
}

#[tokio::test]
async fn a_reply_goes_to_no_older_invitation_of_a_stranger() {
    let (server, person, agent) = desk().await;
    let stranger = server.agent("@acme.stranger").await;
    stranger.post("/sessions", json!({"invite": ["@nick.claude-parser"]})).await.ok(201);
    let sent = json_of(&person.run_ok(&["send", "@nick.claude-parser", "Which port?", "--json"]).await);
    let replied = json_of(&agent.run_ok(&["reply", "7447", "--json"]).await);
    assert_eq!(replied["session_id"], sent["session_id"]);
    let asked = Cli::of(&server, &stranger, "s-9");
    let last = json_of(&asked.run_ok(&["send", "@nick.claude-parser", "And I?", "--json"]).await);
    let replied = json_of(&agent.run_ok(&["reply", "You too", "--json"]).await);
    assert_eq!(replied["session_id"], last["session_id"], "this one came last");
}

/// An invitation that was shown and acknowledged keeps no later message away.
#[tokio::test]
async fn a_seen_invitation_comes_again_with_the_next_message() {
    let (_server, person, agent) = desk().await;
    agent.run_ok(&["send", "@nick", "build is green"]).await;
    person.run_ok(&["inbox", "--ack"]).await;
    assert!(person.run(&["inbox"]).await.err.contains("nothing new"));
    agent.run_ok(&["send", "@nick", "production is down"]).await;
    let inbox = person.run_ok(&["inbox"]).await;
    assert!(inbox.contains("which has new messages"), "{inbox}");
}

#[tokio::test]
async fn a_message_without_a_topic_goes_into_no_session_that_its_sender_opened_with_one() {
    let (_server, person, agent) = desk().await;
    let send = async |from: &Cli, to: &str, text: &str, more: &[&str]| {
        let sent = json_of(&from.run_ok(&[&["send", to, text, "--json"], more].concat()).await);
        sent["session_id"].as_str().expect("a session").to_owned()
    };
    let to = "@nick.claude-parser";
    let titled = send(&person, to, "about tabs", &["--topic", "Tabs"]).await;
    let plain = send(&person, to, "plain 1", &[]).await;
    assert_ne!(plain, titled);
    let made = ["session", "create", "--invite", to, "--topic", "Created", "--message", "m", "--as", "@nick"];
    person.run_ok(&made).await;
    assert_eq!(send(&person, to, "plain 2", &[]).await, plain);
    let answered = send(&agent, "@nick", "an answer", &[]).await;
    assert!(answered != plain && answered != titled, "the last that the other side has opened");
    assert_eq!(send(&agent, "@nick", "tabs", &["--topic", "Tabs"]).await, titled);
}

#[tokio::test]
async fn a_request_that_expired_is_said_to_take_no_later_answer() {
    let (_server, _person, agent) = desk().await;
    let asked = agent.run(&["ask", "@nick", "Now?", "--deadline", "1s", "--wait", "30"]).await;
    assert!(asked.code == 5 && asked.err.contains("the request is expired"), "{asked:?}");
    assert!(!asked.err.contains("later answer"), "{asked:?}");
}

#[tokio::test]
async fn an_agent_is_asked_and_its_answer_printed() {
    let (server, person, agent) = desk().await;
    let mut asking = person.start(&["ask", "@nick.claude-parser", "Tabs?", "--wait", "60"]);
    asking.note_with("asked @nick.claude-parser").await;
    agent.run_ok(&["reply", "Tabs it is"]).await;
    asking.line_with("Tabs it is").await;
    assert_eq!(asking.end().await.code, 0);
    let silent = person.run(&["ask", "@nick.claude-parser", "And now?", "--wait", "1"]).await;
    assert_eq!(silent.code, 5, "{silent:?}");
    assert!(silent.err.contains("waiting up to 1 s"), "{silent:?}");
    drop(server);
}

#[tokio::test]
async fn a_slip_in_a_handle_or_a_command_is_answered_with_what_may_be_meant() {
    let (server, person, agent) = desk().await;
    let slip = person.run(&["send", "@nick.claude-praser", "Hi"]).await;
    assert_eq!(slip.code, 1, "{slip:?}");
    assert!(slip.err.contains("did you mean @nick.claude-parser?"), "{slip:?}");
    let slip = person.run(&["send", "@nick.claude-praser", "Hi", "--json"]).await;
    let error = json_of(slip.err.lines().last().expect("an error"));
    assert!(slip.err.contains("not_found") && error.to_string().contains("did you mean"), "{slip:?}");
    server.closed_agent("@acme.secret", &[]).await;
    let hidden = agent.run(&["send", "@acme.secrets", "Hi"]).await;
    assert!(!hidden.err.contains("@acme.secret?"), "who is out of reach is not named: {hidden:?}");
    let command = person.run(&["sned", "@nick.claude-parser", "Hi"]).await;
    assert_eq!(command.code, 2);
    assert!(command.err.contains("send"), "{command:?}");
    let nobody =
        Cli::new(&[("PLENARY_URL", &server.url()), ("USER", "Nick")]).run(&["send", "@a.b", "Hi"]).await;
    assert_eq!(nobody.code, 4, "{nobody:?}");
}

/// The first message of a person whose login name is not the name of an owner: each advice works when it is pasted.
#[tokio::test]
async fn the_advice_for_a_first_message_leads_to_its_recipient() {
    let server = Server::start().await;
    let cli = Cli::new(&[
        ("PLENARY_URL", &server.url()),
        ("PLENARY_OPERATOR_TOKEN", server.operator().token()),
        ("USER", "sam"),
    ]);
    let unknown = cli.run(&["send", "@nick.parser", "hello"]).await;
    assert!(unknown.code == 4 && unknown.err.contains("plenary agent add @sam.assistant"), "{unknown:?}");
    cli.run_ok(&["agent", "add", "@nick.parser"]).await;
    cli.run_ok(&["agent", "add", "@nick.parse2", "--allow", "@nick.*"]).await;
    let unknown = cli.run(&["send", "@nick.parser", "hello"]).await;
    assert!(unknown.code == 4 && unknown.err.contains("no owner `sam`"), "{unknown:?}");
    assert!(unknown.err.contains("`--as @nick`"), "{unknown:?}");
    let denied = cli.run(&["--as", "@nick", "send", "@nick.parser", "hello"]).await;
    let command = "`plenary agent allow @nick.parser '@nick.*'`";
    assert!(denied.code == 1 && denied.err.contains(command), "{denied:?}");
    assert!(!denied.err.contains("did you mean"), "{denied:?}");
    cli.run_ok(&["agent", "allow", "@nick.parser", "@nick.*"]).await;
    cli.run_ok(&["--as", "@nick", "send", "@nick.parser", "hello"]).await;
    let slip = cli.run(&["--as", "@nick", "send", "@nick.praser", "hello"]).await;
    assert!(slip.code == 1 && slip.err.contains("did you mean @nick.parser"), "{slip:?}");
    let attached = cli.run(&["--as", "@nick", "send", "@nick.parser", "--attach", "nowhere.txt"]).await;
    assert!(attached.code == 1 && attached.err.contains("nowhere.txt cannot be read"), "{attached:?}");
}

#[tokio::test]
async fn the_help_has_groups_and_examples() {
    let (_server, person, _agent) = desk().await;
    let help = person.run_ok(&["--help"]).await;
    for words in ["Talk:", "Begin:", "e.g. plenary send", "Exit codes:", "--as <@OWNER.NAME>"] {
        assert!(help.contains(words), "{words}: {help}");
    }
}

#[tokio::test]
async fn a_person_watches_what_its_agents_do() {
    let (_server, person, agent) = desk().await;
    let mut watches = [person.start(&["watch"]), person.start(&["watch", "--as", "@nick"])];
    for watch in &mut watches {
        watch.note_with("watching").await;
    }
    person.run_ok(&["send", "@nick.claude-parser", "The schema changed"]).await;
    agent.run_ok(&["reply", "I rebase"]).await;
    for watch in &mut watches {
        watch.line_with("The schema changed").await;
    }
}

/// What was sent with an end is answered by reopening.
#[tokio::test]
async fn a_reply_to_what_was_sent_and_ended_reopens_the_session() {
    let (server, _person, agent) = desk().await;
    let sender = server.agent("@acme.reporter").await;
    let body = json!({"invite": ["@nick.claude-parser"], "end_after_send": true,
        "initial_message": {"content": "The report is wrong"}});
    let id = sender.open(body).await["session_id"].as_str().expect("a session").to_owned();
    let inbox = agent.run(&["inbox"]).await;
    assert!(inbox.err.contains(&format!("`plenary session reopen {id} --message TEXT`")), "{inbox:?}");
    assert!(!inbox.err.contains("session join"), "it cannot be joined: {inbox:?}");
    let replied = agent.run(&["reply", "Thanks", "--json"]).await;
    assert!(
        replied.err.contains("answers the message of @acme.reporter: The report is wrong"),
        "{replied:?}"
    );
    let sent = json_of(&replied.out);
    assert_eq!((&sent["session_id"], &sent["to"]), (&id.clone().into(), &json!(["@acme.reporter"])));
    sender.join(&id).await;
    let history = sender.history(&id).await;
    let said = history.iter().find(|event| event["payload"]["content"] == "Thanks").expect("the answer");
    assert_eq!(said["sequence"], sent["sequence"]);
    let inbox = agent.run(&["inbox"]).await;
    assert!(inbox.err.contains("nothing new"), "{inbox:?}");
}

#[tokio::test]
async fn a_denial_by_the_callers_own_allowlist_says_so_and_nothing_else() {
    let (server, person, _) = desk().await;
    let lea = Cli::of(&server, &server.closed_agent("@lea.parser", &["@lea.*"]).await, "s-2");
    let denied = async |to: &str| {
        let ran = lea.run(&["send", to, "Hi"]).await;
        assert_eq!(ran.code, 1, "{ran:?}");
        ran.err.replace(to, "X")
    };
    let (open, absent) = (denied("@nick.claude-parser").await, denied("@nick.nobody").await);
    assert!(open.contains("your own allowlist does not name X"), "{open}");
    assert_eq!(open, absent, "the text is the same for an agent that does not exist");
    assert!(!denied("@lea.nobody").await.contains("allowlist does not name"));
    let ran = person.run(&["send", "@lea.parser", "Hi"]).await;
    assert!(!ran.err.contains("allowlist does not name"), "the list of another is not told: {ran:?}");
}
