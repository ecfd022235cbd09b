//! `plenary acp`: an agent of the network as an agent of an editor, over the Agent Client Protocol on standard input
//! and output. Requests are read here and each is answered by its own task.
//! Must not know: how an agent is called.

mod asker;
mod conversation;
mod editor;
mod fault;
mod pending;
mod prompt;
mod question;
mod sessions;
mod thread;
mod unread;
mod updates;

use std::{sync::Arc, time::Duration};

use clap::Args;
use plenary_hosts::acp::wire::{self, CANCEL_REQUEST, ErrorCode, Message, VERSION};
use plenary_kernel::AgentHandle;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use self::{
    asker::AgentCaller,
    editor::Editor,
    fault::{Answer, Fault},
    pending::PendingRequests,
    sessions::{PromptGuard, Sessions},
};
use super::{
    context::Context,
    explain,
    failure::Failure,
    lines::{self, LINES_WAITING_MAX, Lines},
};

/// How long pending requests may take to finish after the editor has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

const HELP: &str = "\
Name it in an editor that speaks the Agent Client Protocol, with its arguments. In Zed's settings:
  \"agent_servers\": {\"Reviewer\": {\"type\": \"custom\", \"command\": \"plenary\", \"args\": [\"acp\", \"@acme.reviewer\"]}}

For an agent that the server runs, a prompt is a run and a session of the editor is a thread. For any other agent, a prompt is \
a message in a session of the network, and the next message is the answer. Both stay on the server, and the editor can load them again.

Without --as, you speak as your person.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Acp {
    /// The agent that the editor talks to
    #[arg(value_name = "@OWNER.NAME")]
    agent: AgentHandle,
}

pub(crate) async fn run(context: &Context, args: Acp) -> Result<(), Failure> {
    // An editor shows the answer to a request, and hides what a program prints.
    let speaker = context.speaker().map_err(|failure| match explain::describe(context, &failure) {
        (what, Some(next)) => format!("{what}; {next}"),
        (what, None) => what,
    });
    let me = context.used().and_then(|(identity, _)| Some(identity?.handle));
    let (out, waiting) = mpsc::channel(LINES_WAITING_MAX);
    let writing = tokio::spawn(lines::write(waiting));
    let editor = Arc::new(Editor::new(out));
    let asker = speaker.map(|client| AgentCaller::new(client, args.agent, me));
    let served = serve(editor, asker).await;
    // Every sender is dropped by now, so the writer ends.
    let written = writing.await.map_err(|e| Failure::local(format!("writing failed: {e}")))?;
    served.and(written)
}

/// Reads lines until the input ends. Work on the server continues without the editor.
async fn serve(editor: Arc<Editor>, asker: Result<AgentCaller, String>) -> Result<(), Failure> {
    let sessions = Arc::new(Sessions::new(editor.clone(), asker));
    let pending = Arc::new(PendingRequests::default());
    let mut lines = Lines::new();
    let mut tasks = JoinSet::new();
    while let Some(line) = lines.next().await? {
        while tasks.try_join_next().is_some() {}
        match wire::read(line) {
            Err(why) => {
                let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
                let code = if is_json { ErrorCode::InvalidRequest } else { ErrorCode::Parse };
                editor.send(&wire::refusal(&Value::Null, code, why)).await;
            }
            Ok(Message::Answer { id, result }) => editor.answered(id, result),
            Ok(Message::Notice { method, params }) => match method.as_str() {
                "session/cancel" => sessions.cancel(&params),
                CANCEL_REQUEST => pending.cancel(&params["requestId"]),
                _ => {}
            },
            Ok(Message::Request { id, method, params }) => {
                // Before the next line is read, which may cancel it.
                let request = PendingRequests::begin(&pending, &id);
                let turn = (method == "session/prompt")
                    .then(|| sessions.begin_turn(&params, request.canceling.clone()));
                let (sessions, editor) = (sessions.clone(), editor.clone());
                tasks.spawn(async move {
                    let answer = match turn {
                        Some(turn) => prompted(&sessions, turn, &params).await,
                        None => request.unless_canceled(answer(&sessions, &method, &params)).await,
                    };
                    editor
                        .send(&match answer {
                            Ok(result) => wire::answer(&id, &result),
                            Err(Fault { code, text }) => wire::refusal(&id, code, &text),
                        })
                        .await;
                });
            }
        }
    }
    let finished = async { while tasks.join_next().await.is_some() {} };
    let _cut = timeout(LAST_ANSWERS, finished).await;
    tasks.shutdown().await;
    Ok(())
}

/// The answer to a prompt. A canceled prompt ends with its stop reason.
async fn prompted(sessions: &Sessions, turn: Result<PromptGuard, Fault>, params: &Value) -> Answer {
    sessions.prompt(turn?, params).await
}

async fn answer(sessions: &Arc<Sessions>, method: &str, params: &Value) -> Answer {
    match method {
        "initialize" => Ok(initialized(sessions, params)),
        "authenticate" => {
            Err(Fault::params("there is no such method of authentication: the command has the token"))
        }
        "session/new" => sessions.open(params).await,
        "session/load" => sessions.load(params, true).await,
        "session/resume" => sessions.load(params, false).await,
        "session/list" => sessions.list(params).await,
        "session/close" => sessions.close(params),
        method => Err(Fault::new(ErrorCode::MethodNotFound, format!("there is no method `{method}`"))),
    }
}

/// The capabilities of this side. A client of another protocol version gets ours, and decides.
fn initialized(sessions: &Sessions, params: &Value) -> Value {
    sessions.editor().meet(&params["clientCapabilities"]);
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        },
        "agentInfo": {"name": "plenary", "title": "Plenary", "version": env!("CARGO_PKG_VERSION")},
        "authMethods": [],
    })
}
