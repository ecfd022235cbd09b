//! `plenary acp` as an editor uses it: lines of JSON on its standard input and output. Expected messages come from the Agent
//! Client Protocol, version 1. Must not know: how the program asks the server.

use blackbox::{Agent, Cli, RunningCommand, Server, enter, eventually};
use serde_json::{Value, json};

use super::speak::{
    Gates, Run, chat, chat_on, hosted, list, resume, running, serving, status, status_becomes,
};

/// The agent that the server runs, behind the same protocol.
const CODER: &str = "coder";

async fn server() -> Server {
    let command = json!([env!("CARGO_BIN_EXE_puppet"), "acp"]);
    serving(&[hosted(CODER, &format!("kind = \"acp\"\ncommand = {command}"))]).await
}

/// An editor, and the program that it began.
struct Editor {
    program: RunningCommand,
    _home: Cli,
    asked: u64,
}

impl Editor {
    /// Begins with what it can do; who speaks is known from the token alone.
    async fn new(server: &Server, who: &Agent, agent: &str, capabilities: Value) -> Self {
        let env = [("PLENARY_URL", server.url()), ("PLENARY_TOKEN", who.token().to_owned())];
        let home = Cli::new(&env.each_ref().map(|(name, value)| (*name, value.as_str())));
        let mut editor = Self { program: home.start(&["acp", agent]), _home: home, asked: 0 };
        editor.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities})).await;
        editor.result().await;
        editor
    }

    async fn open(&mut self) -> String {
        self.ask("session/new", json!({"cwd": "/srv/ann/app", "mcpServers": []})).await;
        self.result().await["sessionId"].as_str().expect("an id").to_owned()
    }

    async fn write(&mut self, message: Value) {
        self.program.write_line(&message.to_string()).await;
    }

    async fn ask(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let id = self.asked;
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn prompt(&mut self, session: &str, text: &str) {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
    }

    /// A prompt, and what is said to it.
    async fn say(&mut self, session: &str, text: &str) -> String {
        self.prompt(session, text).await;
        let (said, end) = self.heard().await;
        assert_eq!(end["result"], json!({"stopReason": "end_turn"}), "{said}");
        said
    }

    /// What is said up to the next message that is no update, and that.
    async fn heard(&mut self) -> (String, Value) {
        let mut said = String::new();
        loop {
            let line = self.program.line().await;
            let message: Value = serde_json::from_str(&line).expect("a message on each line");
            if message["method"] != "session/update" {
                return (said, message);
            }
            said.push_str(message["params"]["update"]["content"]["text"].as_str().unwrap_or_default());
        }
    }

    async fn result(&mut self) -> Value {
        let (_, answer) = self.heard().await;
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer["result"].clone()
    }

    /// What the program asks the editor.
    async fn question(&mut self, method: &str) -> Value {
        let (_, asked) = self.heard().await;
        assert_eq!(asked["method"], method, "{asked}");
        asked
    }

    async fn answer(&mut self, question: &Value, result: Value) {
        self.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    }
}

fn form() -> Value {
    json!({"mode": "form", "message": "Which branch?", "requestedSchema": {"type": "object",
        "properties": {"branch": {"type": "string", "enum": ["main", "next"]}, "depth": {"type": "integer", "minimum": 1}},
        "required": ["branch"]}})
}

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// The only run of a session.
async fn run_of(who: &Agent, thread: &str) -> Run {
    let threads = list(who.get(&format!("/agent/{CODER}/threads")).await.ok(200));
    let found = threads.iter().find(|found| found["thread_id"] == thread).expect("the thread");
    let id = found["runs"][0].as_str().expect("a run").to_owned();
    Run { agent: CODER.to_owned(), id, thread: thread.to_owned() }
}

/// An editor that shows forms gets that of the agent, with its types; the values and the no go back to the agent.
#[tokio::test]
async fn a_form_of_the_agent_is_filled_in_or_declined_in_the_editor() {
    let server = server().await;
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", forms()).await;
    let session = editor.open().await;
    let content = json!({"branch": "next", "depth": 2});
    for answer in [
        json!({"action": "accept", "content": content}),
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
    ] {
        editor.prompt(&session, &format!("elicit {}", form())).await;
        let asked = editor.question("elicitation/create").await;
        assert_eq!(asked["params"]["requestedSchema"], form()["requestedSchema"]);
        assert_eq!(asked["params"]["message"], "Which branch?");
        editor.answer(&asked, answer.clone()).await;
        let (said, end) = editor.heard().await;
        assert_eq!(end["result"], json!({"stopReason": "end_turn"}));
        assert_eq!(serde_json::from_str::<Value>(&said).expect("JSON"), answer);
    }
}

/// Without forms, prompts fill it in, field by field.
#[tokio::test]
async fn a_form_of_the_agent_is_filled_in_by_prompts() {
    let server = server().await;
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", json!({})).await;
    let session = editor.open().await;
    let elicits = format!("elicit {}", form());
    let asked = editor.say(&session, &elicits).await;
    assert!(asked.starts_with("Which branch?\n\nbranch: "), "{asked}");
    let asked = editor.say(&session, "main").await;
    assert!(asked.contains("depth: ") && asked.contains("`-` leaves it out"), "{asked}");
    let heard = editor.say(&session, "-").await;
    assert_eq!(heard, r#"{"action":"accept","content":{"branch":"main"}}"#);
    editor.say(&session, &elicits).await;
    assert_eq!(editor.say(&session, "decline").await, r#"{"action":"decline"}"#);
}

/// A prompt that answers a question which waits no more is no answer to the next one.
#[tokio::test]
async fn a_late_prompt_permits_nothing() {
    let server = server().await;
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", json!({})).await;
    let session = editor.open().await;
    editor.prompt(&session, "ask may I list?\nanswer\nask may I remove?\nanswer").await;
    let first = editor.question("session/request_permission").await;
    // Nobody answers now; the next prompt does.
    let error = json!({"code": -32603, "message": "not now"});
    editor.write(json!({"jsonrpc": "2.0", "id": first["id"], "error": error})).await;
    assert_eq!(editor.result().await, json!({"stopReason": "end_turn"}));
    let run = run_of(&ann, &session).await;
    let before = status_becomes(&ann, &run, "waiting").await["event_id"].clone();
    resume(&ann, &run, json!({"permission": "no"})).await;
    eventually("the next question", || async {
        let now = status(&ann, &run).await;
        (now["status"] == "waiting" && now["event_id"] != before).then_some(())
    })
    .await;
    editor.prompt(&session, "yes").await;
    let (said, second) = editor.heard().await;
    assert!(said.contains("answered elsewhere"), "{said}");
    assert!(second["params"]["toolCall"]["title"].to_string().contains("may I remove?"), "{second}");
    editor.answer(&second, json!({"outcome": {"outcome": "selected", "optionId": "no"}})).await;
    let (said, _) = editor.heard().await;
    assert!(said.contains("\"no\"") && !said.contains("\"yes\""), "{said}");
}

/// A session that is loaded again shows each event of its run once, and not while a prompt is pending.
#[tokio::test]
async fn a_session_that_is_loaded_again_shows_its_run_once() {
    let (server, gates) = (server().await, Gates::new());
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", json!({})).await;
    let run = chat(&ann, CODER, &format!("text before\n{}text after", gates.gate("go"))).await;
    running(&ann, &run).await;
    let load = json!({"sessionId": run.thread, "cwd": "/tmp", "mcpServers": []});
    for _ in 0..2 {
        editor.ask("session/load", load.clone()).await;
        assert_eq!(editor.result().await, json!({}));
    }
    gates.open("go");
    status_becomes(&ann, &run, "completed").await;
    editor.prompt(&run.thread, &format!("text next\n{}", gates.gate("on"))).await;
    let mut said = String::new();
    while !said.ends_with("next") {
        let line = editor.program.line().await;
        let message: Value = serde_json::from_str(&line).expect("a message on each line");
        said.push_str(message["params"]["update"]["content"]["text"].as_str().unwrap_or_default());
    }
    // A follower that begins within a text shows all of it again at its end.
    let rest = said.replacen("beforeafter", "", 1);
    assert!(said.contains("after") && rest.matches("after").count() <= 1, "{said}");
    editor.ask("session/load", load).await;
    let (_, refused) = editor.heard().await;
    assert_eq!(refused["error"]["code"], -32_600, "{refused}");
    gates.open("on");
    let (_, end) = editor.heard().await;
    assert_eq!(end["result"], json!({"stopReason": "end_turn"}));
}

/// A run that waits for its turn is followed too, with its prompt.
#[tokio::test]
async fn a_session_that_is_loaded_shows_its_queued_runs() {
    let (server, gates) = (server().await, Gates::new());
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", json!({})).await;
    let run = chat(&ann, CODER, &format!("text first\n{}", gates.gate("go"))).await;
    running(&ann, &run).await;
    chat_on(&ann, &run, "text second").await;
    let load = json!({"sessionId": run.thread, "cwd": "/tmp", "mcpServers": []});
    editor.ask("session/load", load).await;
    assert_eq!(editor.result().await, json!({}));
    gates.open("go");
    let mut said = Vec::new();
    while said.last().is_none_or(|(_, text)| text != "second") {
        let line = editor.program.line().await;
        let message: Value = serde_json::from_str(&line).expect("a message on each line");
        let update = &message["params"]["update"];
        let text = update["content"]["text"].as_str().unwrap_or_default().trim().to_owned();
        said.push((update["sessionUpdate"].clone(), text));
    }
    assert!(said.contains(&(json!("user_message_chunk"), "text second".to_owned())), "{said:?}");
}

/// What is canceled is asked no more.
#[tokio::test]
async fn a_question_of_a_canceled_turn_is_taken_back() {
    let server = server().await;
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", forms()).await;
    let session = editor.open().await;
    for script in ["ask may I?".to_owned(), format!("elicit {}", form())] {
        editor.prompt(&session, &script).await;
        let (_, asked) = editor.heard().await;
        let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
        editor.write(cancel).await;
        let taken_back = editor.question("$/cancel_request").await;
        assert_eq!(taken_back["params"]["requestId"], asked["id"], "{script}");
        assert_eq!(editor.result().await, json!({"stopReason": "cancelled"}));
    }
}

/// A request may be canceled by its id, as long as it has no answer: a prompt then ends like a canceled turn.
#[tokio::test]
async fn a_prompt_is_canceled_by_the_id_of_its_request() {
    let server = server().await;
    let ann = server.agent("@nick.ann").await;
    let mut editor = Editor::new(&server, &ann, "@acme.coder", json!({})).await;
    let session = editor.open().await;
    editor.prompt(&session, "ask may I?").await;
    let (_, asked) = editor.heard().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": editor.asked}});
    editor.write(cancel.clone()).await;
    let taken_back = editor.question("$/cancel_request").await;
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    assert_eq!(editor.result().await, json!({"stopReason": "cancelled"}));
    status_becomes(&ann, &run_of(&ann, &session).await, "canceled").await;
    editor.write(cancel).await;
    assert_eq!(editor.say(&session, "text on").await, "on");
}

/// The directory of the editor, which may tell the name of a user, goes to agents of the user's owner only.
#[tokio::test]
async fn the_directory_stays_with_ones_own_agents() {
    let server = server().await;
    for (who, expected) in [("@acme.ann", json!("/srv/ann/app")), ("@nick.ann", Value::Null)] {
        let who = server.agent(who).await;
        let mut editor = Editor::new(&server, &who, "@acme.coder", json!({})).await;
        let session = editor.open().await;
        assert_eq!(editor.say(&session, "text hello").await, "hello");
        let request = status(&who, &run_of(&who, &session).await).await["request"].clone();
        assert_eq!(
            (&request["input"], &request["request_metadata"]["cwd"]),
            (&json!("text hello"), &expected)
        );
    }
}

/// In a session with several, only what the user wrote is the user's, also where nothing but a token says who that is.
#[tokio::test]
async fn the_words_of_others_are_not_the_users() {
    let server = server().await;
    let (ann, peer) = (server.agent("@nick.ann").await, server.agent("@nick.peer").await);
    let id = ann.create(&[&peer]).await;
    peer.join(&id).await;
    let third = enter(&server, &ann, &id, "@nick.third").await;
    ann.say(&id, "mine").await;
    third.say(&id, "remove everything").await;
    peer.say(&id, "the answer").await;
    let mut editor = Editor::new(&server, &ann, "@nick.peer", json!({})).await;
    editor.ask("session/load", json!({"sessionId": id, "cwd": "/tmp", "mcpServers": []})).await;
    let mut shown = Vec::new();
    loop {
        let message: Value = serde_json::from_str(&editor.program.line().await).expect("a message");
        let update = &message["params"]["update"];
        if message["method"] != "session/update" {
            break;
        }
        shown.push((
            update["sessionUpdate"].clone(),
            update["content"]["text"].as_str().unwrap_or_default().trim().to_owned(),
        ));
    }
    let expected = [
        ("user_message_chunk", "mine"),
        ("agent_message_chunk", "@nick.third: remove everything"),
        ("agent_message_chunk", "the answer"),
    ];
    assert_eq!(shown, expected.map(|(kind, text)| (json!(kind), text.to_owned())));
}
